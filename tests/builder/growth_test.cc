// SPDX-License-Identifier: MIT
// The bound on growth, by encoding texts with scratch sized for exactly their length: a stage that
// outgrows its buffers answers E_LIMIT.
#include "builder/normalize/growth.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "builder/base/code_points.h"
#include "builder/builder_test_util.h"
#include "builder/hf_file.h"
#include "builder/normalizers.h"
#include "rankfeed/encode.h"
#include "reference/sp_model_proto.h"
#include "support/base64.h"
#include "support/sanitizers.h"

namespace rankfeed::builder {
namespace {

using builder_test::Added;
using builder_test::Compiled;
using builder_test::HfFile;

// Encodes with the least scratch that the limits give.
rankfeed_status EncodeTight(const Compiled& compiled, std::string_view text) {
  rankfeed_limits limits{};
  limits.struct_size = sizeof limits;
  limits.max_text_bytes = static_cast<uint32_t>(text.size());
  rankfeed_mem_req need;
  if (const auto status = rankfeed_encoder_mem_req(compiled.model, &limits, &need)) return status;
  void* scratch = std::aligned_alloc(need.alignment, (need.size + 63) / 64 * 64);
  rankfeed_encoder* encoder = nullptr;
  rankfeed_status status =
      rankfeed_encoder_init(compiled.model, &limits, scratch, need.size, &encoder);
  if (status == RANKFEED_OK) {
    rankfeed_encoding io{};
    io.struct_size = sizeof io;
    status = rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io);
    // Nothing to write to is expected; the tokens were counted, within the public bound.
    if (status == RANKFEED_E_OUTPUT_SIZE) status = RANKFEED_OK;
    EXPECT_LE(io.count, rankfeed_token_bound(compiled.model, text.size()));
  }
  std::free(scratch);
  return status;
}

// Characters that grow, shrink, split, compose or mark words in some stage, and added tokens.
const char* const kParts[] = {"a",
                              "Z",
                              " ",
                              "  ",
                              "\t",
                              "\n",
                              "\r\n",
                              "!",
                              "1",
                              "\xff",
                              "\xc3",
                              "\xe2\x96\x81",
                              "\xef\xb7\xba",
                              "\xef\xbf\xbd",
                              "\xc2\xa0",
                              "\xc2\x85",
                              "\xe3\x80\x80",
                              "\xef\xac\x81",
                              "\xe2\x80\x8d",
                              "\xcc\x81",
                              "\xc3\xa9",
                              "\xce\x90",
                              "\xf0\x9d\x85\xa0",
                              "\xc4\xb0",
                              "\xe3\x8e\x8f",
                              "\xea\xb0\x80",
                              "\xe2\x91\xab",
                              "\xf0\x9f\x98\x80",
                              "\xef\xbd\xb6\xef\xbe\x9e",
                              "\xc2\xbd",
                              "\xe1\xbe\x82",
                              "``",
                              "''",
                              "X",
                              "<m>",
                              "Y"};

void CheckModel(const Compiled& compiled, const std::string& name, size_t rounds) {
  ASSERT_EQ(compiled.status, RANKFEED_OK) << name << ": " << compiled.message();
  std::mt19937 random(1);
  for (const char* part : kParts) {
    for (const size_t times : {1, 2, 7, 40}) {
      std::string text;
      for (size_t i = 0; i < times; ++i) text += part;
      ASSERT_EQ(EncodeTight(compiled, text), RANKFEED_OK) << name << ": " << times << " * " << part;
    }
  }
  for (size_t round = 0; round < rounds; ++round) {
    std::string text;
    const int mode = static_cast<int>(random() % 3);
    for (uint32_t n = 1 + random() % 12; n > 0; --n) {
      if (mode == 0) {
        text += kParts[random() % std::size(kParts)];
      } else if (mode == 1) {
        uint32_t cp = random() % (random() % 2 == 0 ? 0x110000 : 0x3400);
        if (cp >= 0xd800 && cp < 0xe000) cp = ' ';
        AppendUtf8(cp, &text);
      } else {
        text += static_cast<char>(random());
      }
    }
    ASSERT_EQ(EncodeTight(compiled, text), RANKFEED_OK) << name << ": " << text;
  }
}

// Every character, in runs and between spaces.
void CheckEveryCharacter(const Compiled& compiled, uint32_t step) {
  for (uint32_t cp = 1; cp < 0x110000; cp += step) {
    if (cp >= 0xd800 && cp < 0xe000) continue;
    std::string text;
    for (int i = 0; i < 3; ++i) AppendUtf8(cp, &text);
    ASSERT_EQ(EncodeTight(compiled, text), RANKFEED_OK) << cp;
  }
}

constexpr const char* kMetaspace = R"({"type":"Metaspace","replacement":"\u2581"})";

std::string Sequence(const char* member, const std::vector<std::string>& items) {
  std::string text = std::string(R"({"type":"Sequence",")") + member + "\":[";
  for (const std::string& item : items) text += (text.back() == '[' ? "" : ",") + item;
  return text + "]}";
}

std::string Replace(const char* pattern, const char* content) {
  return std::string(R"({"type":"Replace","pattern":)") + pattern + R"(,"content":")" + content +
         "\"}";
}

std::string Precompiled(const std::string& blob) {
  return R"({"type":"Precompiled","precompiled_charsmap":")" + test::Base64(blob) + "\"}";
}

TEST(Growth, HuggingFacePipelines) {
  const std::string charsmap = sp_test::MakeCharsmap({{"a", "bcd e"},
                                                      {"\xc3\xa9", "\xef\xb7\xba\xef\xb7\xba"},
                                                      {"\t", " "},
                                                      {"Z!", "one two three"},
                                                      {"\xef\xbf\xbd", " "}});
  std::vector<std::string> normalizers = {
      "null",
      R"({"type":"Prepend","prepend":"long \u2581 prefix"})",
      Replace(R"({"String":"a"})", "xyz \\u2581"),
      Replace(R"({"String":"``"})", "abcdefgh"),
      Replace(R"({"Regex":" {2,}"})", "\\u2581\\u2581\\u2581"),
      Replace(R"({"Regex":"1+"})", " - "),
      Replace(R"({"Regex":"\\s{2,}|[\\n\\r\\t]"})", "<gap>"),
      Precompiled(charsmap),
      Sequence("normalizers", {Replace(R"({"String":"a"})", "Z!"), Precompiled(charsmap)}),
      Sequence("normalizers", {R"({"type":"NFKD"})", R"({"type":"StripAccents"})",
                               Precompiled(charsmap), Replace(R"({"Regex":" {2,}"})", " ")}),
      Sequence("normalizers", {R"({"type":"Lowercase"})", R"({"type":"NFKC"})",
                               Replace(R"({"String":"i"})", "\\u0390"), R"({"type":"NFD"})"}),
      Sequence("normalizers",
               {R"({"type":"Prepend","prepend":"a"})", R"({"type":"Prepend","prepend":"a"})",
                Replace(R"({"String":"a"})", "aa"), Replace(R"({"String":"a"})", "aa")}),
      // The text between the two steps is longer than the texts before and after them.
      Sequence("normalizers", {Replace(R"({"String":"a"})", "\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000"),
                               R"({"type":"NFKD"})"})};
  for (const auto& [json, steps] : builder_test::Normalizers()) normalizers.push_back(json);
  const std::vector<std::string> pre_tokenizers = {
      "null",
      kMetaspace,
      Sequence("pretokenizers", {R"({"type":"WhitespaceSplit"})", kMetaspace}),
      Sequence("pretokenizers", {R"({"type":"Whitespace"})", kMetaspace}),
      Sequence("pretokenizers", {R"({"type":"Punctuation"})", kMetaspace}),
      Sequence("pretokenizers", {R"({"type":"Digits","individual_digits":true})", kMetaspace}),
      Sequence("pretokenizers", {kMetaspace, R"({"type":"Metaspace","replacement":"_"})"}),
      R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first","split":false})"};
  const std::vector<std::string> added = {
      "[]", "[" + Added(8, "X") + "]", "[" + Added(8, "X", "00010") + "," + Added(9, "<m>") + "]",
      "[" + Added(8, "X", "01100") + "," + Added(9, "Y", "00010") + "]"};
  for (size_t i = 0; i < normalizers.size(); ++i) {
    // Each normalizer with three pre-tokenizers, each pre-tokenizer with most normalizers.
    for (size_t j = 0; j < 3; ++j) {
      const size_t k = (i + 3 * j) % pre_tokenizers.size();
      HfFile file;
      file.normalizer = normalizers[i];
      file.pre_tokenizer = pre_tokenizers[k];
      file.added_tokens = added[(i + k) % added.size()];
      CheckModel(Compiled(file.Text()), file.normalizer + file.pre_tokenizer + file.added_tokens,
                 Scaled(200));
    }
  }
}

TEST(Growth, SentencePieceFlags) {
  for (uint32_t flags = 0; flags < 16; ++flags) {
    sp_test::ModelProto model;
    model.AddSpecials();
    model.Add("a", -1);
    model.Add("X Y", 0, sp_test::kUserDefined);
    model.normalizer.add_dummy_prefix = (flags & 1) != 0;
    model.normalizer.remove_extra_whitespaces = (flags & 2) != 0;
    model.normalizer.escape_whitespaces = (flags & 4) != 0;
    model.treat_whitespace_as_suffix = (flags & 8) != 0;
    if (flags % 3 != 0) {
      model.normalizer.charsmap = sp_test::MakeCharsmap(
          {{"a", "b c d"}, {"ab", ""}, {"\xc3\xa9", " \xef\xb7\xba"}, {"!", " "}});
    }
    CheckModel(Compiled(Serialize(model)), "flags " + std::to_string(flags), Scaled(1000));
  }
}

// The ratio itself, where it is known by hand.
TEST(Growth, KnownRatios) {
  const auto ratio = [](const std::string& source) {
    const Compiled compiled(source);
    EXPECT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const image::Config& c = *compiled.view().config;
    return std::pair<double, uint32_t>(c.growth_numerator / 256.0, c.growth_constant);
  };
  HfFile file;
  // Nothing but U+FFFD for a bad byte.
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(3, 0)));
  file.pre_tokenizer = kMetaspace;
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(3, 3)));
  file.normalizer = R"({"type":"NFKD"})";
  // U+FDFA: 3 bytes to 33, of which 3 are spaces that become U+2581.
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(13, 3)));
  file.pre_tokenizer = "null";
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(11, 0)));
  file.normalizer = R"({"type":"NFD"})";
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(3, 0)));
  file.normalizer = Replace(R"({"String":"a"})", "0123456789");
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(10, 0)));
  // Ten ideographic spaces, which become ten spaces: the text between the two steps is the longest.
  file.normalizer = Sequence("normalizers", {Replace(R"({"String":"a"})", "\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000\\u3000"),
                                             R"({"type":"NFKD"})"});
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(30, 0)));
  // Added tokens of one byte: every other byte can be a section that gains U+2581.
  file.normalizer = "null";
  file.pre_tokenizer = Sequence("pretokenizers", {R"({"type":"Punctuation"})", kMetaspace});
  EXPECT_EQ(ratio(file.Text()), (std::pair<double, uint32_t>(6, 3)));
}

TEST(Growth, UnboundedIsRefused) {
  HfFile file;
  std::vector<std::string> steps(13, Replace(R"({"String":"a"})", "aa"));
  file.normalizer = Sequence("normalizers", steps);
  const Compiled compiled(file.Text());
  EXPECT_TRUE(builder_test::FailsWith(compiled, RANKFEED_E_LIMIT, "more than 4096 times longer"));
}

TEST(Growth, SharedXlmRoberta) {
  RANKFEED_SHARED_FILE(json, "xlmr.tokenizer.json");
  RANKFEED_SHARED_FILE(model, "xlmr.model");
  for (const std::string& source : {json, model}) {
    const Compiled compiled(source);
    ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    // U+FDFA again: 30 bytes of letters and 3 spaces.
    EXPECT_EQ(compiled.view().config->growth_numerator, 13u * 256);
    CheckModel(compiled, "xlmr", Scaled(2000));
    CheckEveryCharacter(compiled, kSanitized ? 1009 : 53);
    CheckEveryCharacter(compiled, 0x110000);  // U+0001
  }
}

}  // namespace
}  // namespace rankfeed::builder
