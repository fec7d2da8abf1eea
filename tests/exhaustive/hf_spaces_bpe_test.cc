// SPDX-License-Identifier: MIT
// Every short text of spaces, U+2581 and letters of each class and size, under small BPE vocabularies of characters in which
// merges join letters or what is around them, with and without byte fallback and fused unknown characters, in the forms in
// which a space becomes a U+2581: ids by plain code, and those and offsets of the general path.
#include <gtest/gtest.h>

#include <cstdio>

#include "builder/hf_file.h"
#include "exhaustive/worlds.h"
#include "plain/hf_bpe.h"
#include "support/engine.h"
#include "support/sanitizers.h"

namespace rankfeed::exhaustive {
namespace {

using test::Encoding;
using test::Escape;
using test::Show;
using test::TestEngine;

using Merges = std::vector<std::pair<std::string, std::string>>;

struct World {
  std::vector<std::string> letters;  // the first few are pieces
  size_t known;
  Merges merges;
};

// In the first the classes are apart, in the second no class is, in the third two characters of three bytes are joined.
const std::vector<World>& Worlds() {
  static const std::vector<World> worlds = {
      {{"a", "1", ",", "é", "▁", " "}, 3, {{"▁", "a"}, {"▁", "▁"}, {"a", "a"}, {"▁▁", "▁a"}, {",", ","}, {"▁", ","}, {"▁a", "a"}, {"▁aa", "a"}}},
      {{"a", "1", "中", "\n", "▁", " "}, 3, {{"a", "1"}, {"▁", "a1"}, {"1", "中"}, {"▁▁", "a"}, {"▁", "▁"}, {"a1", "中"}}},
      {{"中", "国", "。", "a", "😀", " "}, 3, {{"中", "国"}, {"▁", "中"}, {"。", "。"}, {"▁中", "国"}, {"▁", "▁"}}}};
  return worlds;
}

struct Form {
  const char* normalizer;
  const char* pre_tokenizer;
  bool prefixed, prefixes_spaces;  // of a text that begins with neither, and with, a space or U+2581
};
constexpr char kReplace[] = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
constexpr char kPrepend[] = R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)"
                            R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]})";
constexpr char kFirst[] = R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false})";
constexpr Form kForms[] = {{kReplace, "null", false, false}, {kPrepend, "null", true, true}, {"null", kFirst, true, false}};

class HfSpacesBpe : public ::testing::TestWithParam<size_t> {
 protected:
  static plain::HfBpe::Vocabulary VocabularyOf(const World& world, bool falls_back) {
    plain::HfBpe::Vocabulary vocabulary;
    const auto add = [&](const std::string& piece) { vocabulary.try_emplace(piece, static_cast<uint32_t>(vocabulary.size())); };
    add("<unk>");
    add("▁");
    for (size_t i = 0; i < world.known; ++i) add(world.letters[i]);
    for (const auto& [left, right] : world.merges) add(left + right);
    for (int byte = 0; byte < 256 && falls_back; ++byte) {
      char name[8];
      std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
      add(name);
    }
    return vocabulary;
  }

  static std::string FileOf(const plain::HfBpe::Vocabulary& vocabulary, const World& world, const Form& form, const std::string& members) {
    std::string pieces, merges;
    for (const auto& [piece, id] : vocabulary) {
      pieces += (pieces.empty() ? "\"" : ",\"") + (piece == "\n" ? "\\n" : piece) + "\":" + std::to_string(id);
    }
    for (const auto& [left, right] : world.merges) merges += (merges.empty() ? "[\"" : ",[\"") + left + "\",\"" + right + "\"]";
    return std::string(R"({"normalizer":)") + form.normalizer + R"(,"pre_tokenizer":)" + form.pre_tokenizer +
           R"(,"model":{"type":"BPE","unk_token":"<unk>",)" + members + R"("vocab":{)" + pieces + R"(},"merges":[)" + merges + "]}}";
  }

  static std::string Normalized(const std::string& text, const Form& form) {
    std::string out;
    for (const char c : text) c == ' ' ? out.append("▁") : out.append(1, c);
    const bool spaced = out.starts_with("▁");
    return !text.empty() && (spaced ? form.prefixes_spaces : form.prefixed) ? "▁" + out : out;
  }
};

TEST_P(HfSpacesBpe, EncodesEveryShortTextAsMergesDo) {
  const World& world = Worlds()[GetParam()];
  const auto texts = Sequences(world.letters, kSanitized ? 3 : SweepsAll() ? 7 : 5);
  for (const Form& form : kForms) {
    for (int options = 0; options < 4; ++options) {
      const bool falls_back = options % 2 != 0, fuses = options / 2 != 0;
      const auto vocabulary = VocabularyOf(world, falls_back);
      const std::string file = FileOf(vocabulary, world, form, std::string(R"("byte_fallback":)") + (falls_back ? "true" : "false") +
                                                                   R"(,"fuse_unk":)" + (fuses ? "true," : "false,"));
      SCOPED_TRACE(file);
      const plain::HfBpe plain(vocabulary, world.merges, {.unk_token = "<unk>", .fuse_unk = fuses, .byte_fallback = falls_back});
      TestEngine fast(file, 1 << 20), general(file, 1 << 20);
      ASSERT_TRUE(fast.encoder()->has_fast_road());
      general.LeaveFastRoad();
      std::string many;  // a text of several blocks
      const auto check = [&](const std::string& text) {
        const Encoding wanted = general.Encode(text), got = fast.Encode(text);
        EXPECT_EQ(got, wanted) << Escape(text) << "\n  " << Show(got) << "\n  " << Show(wanted);
        EXPECT_EQ(fast.Ids(text), wanted.ids) << Escape(text);
        return wanted.ids;
      };
      for (const std::string& text : texts) {
        std::vector<int32_t> ids;
        const auto tokens = plain.Encode(Normalized(text, form));
        for (const plain::HfToken& token : *tokens) ids.push_back(static_cast<int32_t>(token.id));
        ASSERT_EQ(check(text), ids) << Escape(text);
        many += text + (text.size() % 2 != 0 ? " " : "");
        if (many.size() < 20000 && &text != &texts.back()) continue;
        check(many);
        if (HasFailure()) return;
        many.clear();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, HfSpacesBpe, ::testing::Range(size_t{0}, Worlds().size()));

}  // namespace
}  // namespace rankfeed::exhaustive
