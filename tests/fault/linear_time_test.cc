// SPDX-License-Identifier: MIT
// Time is linear in the text, and in proportion to the file for a loader, also for inputs made to be
// slow. Times are processor time of this thread; what is compared are the least of interleaved rounds,
// so that a busy machine changes neither side.
//
// The bound: an adversarial text costs at most kFactor times as much per byte as plain text, or kGeneralFactor
// times as much as plain text on the general path, which is less than kFactor times plain text of XLM-RoBERTa's
// vocabulary took with offsets before its words were placed in a few steps (3.9 ns a byte, 15.4 on the general
// path): plain text may become faster, and what other texts cost may not grow with that. Ten times the text
// takes at most 2.5 times as much per byte (quadratic would be 10), which 250 KB shows as well as 1 MB.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>

#include "reference/sp_model_proto.h"
#include "reference/sp_texts.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed {
namespace {

using test::TestEngine;

constexpr double kFactor = 16, kGeneralFactor = 4;
constexpr size_t kLong = kSanitized ? 20'000 : 250'000;

double Seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string Repeat(const std::string& unit, size_t size) {
  std::string text;
  while (text.size() < size) text += unit;
  return text;
}

// The least times of the functions over rounds in which they take turns, the first that hold or else
// those of kRounds: other work on the machine only ever adds to a time.
template <class Hold>
std::vector<double> LeastTimes(const std::vector<std::function<void()>>& functions, Hold hold) {
  constexpr int kRounds = 12;
  std::vector<double> least(functions.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < functions.size(); ++i) {
      const double start = Seconds();
      functions[i]();
      least[i] = std::min(least[i], Seconds() - start);
    }
    if (hold(least)) break;
  }
  return least;
}

struct Text {
  const char* name;
  std::string unit;
};

// The plain one first.
const std::vector<Text>& Units() {
  static const std::vector<Text> units = {
      {"plain", "the quick brown fox jumps over the lazy dog and runs to the river "},
      {"one character", "a"},
      {"spaces", " "},
      {"no spaces", "thequickbrownfox"},
      {"near matches", "aaaaaaab"},
      {"unknown characters", "\U0001f9ff\u1fff"},
      {"combining marks", "\u0301"},
      {"marks on letters", "e\u0301\u0323\u0302\u0308"},
      {"deepest piece", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
      {"half-width kana", "\uff76\uff9e"},
      {"zero width joiners", "\U0001f468\u200d"},
      {"prepend characters", "\u0600"},
      {"expanding", "\ufdfa"},
      {"bad bytes", "\xe2\x96"},
      {"special tokens", "</s>"},
      {"almost special tokens", "</s</s"}};
  return units;
}

// Pieces a, aa, ... of 32 letters beside words: the deepest walk from every position.
std::vector<std::pair<std::string, float>> Pieces() {
  std::vector<std::pair<std::string, float>> pieces = {{"\u2581", -3.f}};
  for (size_t n = 1; n <= 32; ++n) pieces.emplace_back(std::string(n, 'a'), -1.f * n - 0.01f * (n % 7));
  for (const char* word : {"the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "and", "runs", "to",
                           "river"}) {
    pieces.emplace_back(std::string("\u2581") + word, -4.f);
  }
  for (char c = 'b'; c <= 'z'; ++c) pieces.emplace_back(std::string(1, c), -6.f);
  return pieces;
}

std::string SentencePieceFile() {
  sp_test::ModelProto model;
  model.AddSpecials();
  for (const auto& [text, score] : Pieces()) model.Add(text, score);
  model.normalizer.charsmap = sp_test::MakeCharsmap(
      {{"e\u0301", "\u00e9"}, {"\uff76\uff9e", "\u30ac"}, {"\ufdfa", "aba bab aba"}, {"\t", " "}});
  return sp_test::Serialize(model);
}

std::string HuggingFaceFile(const std::string& normalizer, const std::string& pre_tokenizer) {
  std::string vocab = R"(["<unk>",0],["</s>",0])";
  for (const auto& [text, score] : Pieces()) {
    vocab += ",[\"" + text + "\"," + std::to_string(score) + "]";
  }
  return R"({"added_tokens":[{"id":1,"content":"</s>","special":true,"normalized":false,"lstrip":true,"rstrip":true,"single_word":false}],"normalizer":)" +
         normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer +
         R"(,"decoder":null,"post_processor":null,"model":{"type":"Unigram","unk_id":0,"vocab":[)" + vocab + "]}}";
}

void CheckTexts(const std::string& file, const char* name, uint32_t flags = 0) {
  TestEngine engine(file, static_cast<uint32_t>(2 * kLong)), general(file, static_cast<uint32_t>(2 * kLong));
  general.LeaveFastRoad();
  const std::string plain = Repeat(Units()[0].unit, kLong);
  for (const Text& unit : Units()) {
    const std::string text = Repeat(unit.unit, kLong), tenth = Repeat(unit.unit, kLong / 10);
    const auto encode = [&](const std::string& what) {
      return [&engine, &what, flags] { ASSERT_EQ(engine.Encode(what, flags).status, RANKFEED_OK); };
    };
    const auto bound = [](const std::vector<double>& times) {
      return std::max(kFactor * times[0], kGeneralFactor * times[3]);
    };
    const std::vector<double> seconds = LeastTimes(
        {encode(plain), encode(text),
         [&] {
           for (int i = 0; i < 10; ++i) encode(tenth)();
         },
         [&] { ASSERT_EQ(general.Encode(plain, flags).status, RANKFEED_OK); }},
        [&](const auto& times) { return times[1] < bound(times) && times[1] < 2.5 * times[2]; });
    const double growth = seconds[1] / seconds[2];
    std::printf("%-14s %-22s %6.2f times plain text, %5.2f times that on the general path, %5.2f times its tenths\n", name,
                unit.name, seconds[1] / seconds[0], seconds[1] / seconds[3], growth);
    EXPECT_LT(seconds[1], bound(seconds)) << name << ", " << unit.name;
    EXPECT_LT(growth, 2.5) << name << ", " << unit.name;
  }
}

TEST(LinearTime, SentencePieceTexts) { CheckTexts(SentencePieceFile(), "sentencepiece"); }

TEST(LinearTime, HuggingFaceTexts) {
  constexpr char kMeta[] =
      R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})";
  const std::string words = HuggingFaceFile(
      "null", std::string(R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)") + kMeta + "]}");
  CheckTexts(words, "words");
  CheckTexts(words, "escaped", RANKFEED_SPECIALS_ESCAPE);
  const std::string signs = HuggingFaceFile(
      "null", std::string(R"({"type":"Sequence","pretokenizers":[{"type":"Whitespace"},)") + kMeta + "]}");
  CheckTexts(signs, "beside signs");
  const std::string kinds = HuggingFaceFile(
      "null", std::string(R"({"type":"Sequence","pretokenizers":[{"type":"Whitespace"},)") +
                  R"({"type":"Digits","individual_digits":true},)" + kMeta + "]}");
  CheckTexts(kinds, "beside signs of two kinds");
  CheckTexts(HuggingFaceFile(R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},
             {"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]})", kMeta), "nfkc");
}

// Bytes of unknown characters in a row are tokens that all have the place of the whole row.
// Counting its characters anew for each of them would take the square of the time.
TEST(LinearTime, OffsetsOfByteTokens) {
  std::string vocab = R"(["<unk>",0],["\u2581",-2],["a",-3])";
  for (int byte = 0; byte < 256; ++byte) {
    char piece[24];
    std::snprintf(piece, sizeof(piece), ",[\"<0x%02X>\",-9]", byte);
    vocab += piece;
  }
  const std::string file =
      R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁",)"
      R"("prepend_scheme":"always","split":true},"decoder":null,"post_processor":null,"model":{)"
      R"("type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[)" +
      vocab + "]}}";
  constexpr size_t kRow = kSanitized ? 10'000 : 40'000;
  TestEngine engine(file, 2 * kRow);
  for (const char* const unit : {"\U0001f9ff\u1fff", "\u1fff", "\U0001f9ff"}) {
    const std::string text = Repeat(unit, kRow), tenth = Repeat(unit, kRow / 10);
    for (const uint32_t flags : {RANKFEED_OFFSETS_CODE_POINTS, RANKFEED_OFFSETS_UTF16}) {
      const auto encode = [&](const std::string& what) {
        const test::Encoding encoding = engine.Encode(what, flags);
        ASSERT_EQ(encoding.status, RANKFEED_OK);
        ASSERT_EQ(encoding.ids.size(), what.size() + 1);  // and the U+2581
        ASSERT_EQ(encoding.begin.back(), encoding.begin[1]);
      };
      const std::vector<double> seconds =
          LeastTimes({[&] { encode(text); },
                      [&] {
                        for (int i = 0; i < 10; ++i) encode(tenth);
                      }},
                     [](const auto& times) { return times[0] < 2.5 * times[1]; });
      const double growth = seconds[0] / seconds[1];
      std::printf("byte tokens, %s: %5.2f times its tenths\n",
                  flags == RANKFEED_OFFSETS_UTF16 ? "UTF-16" : "code points", growth);
      EXPECT_LT(growth, 2.5) << unit;
    }
  }
}

TEST(LinearTime, RealVocabulary) {
  const std::string path = sp_test::SharedData("xlmr.tokenizer.json");
  if (path.empty()) GTEST_SKIP() << "xlmr.tokenizer.json is absent";
  if (kSanitized) GTEST_SKIP() << "takes too long under a sanitizer";
  CheckTexts(sp_test::ReadFile(path), "XLM-RoBERTa");
}

// Stretches that cannot be cut and take the general path as a whole.
TEST(LinearTime, StretchesThatCannotBeCut) {
  const std::string path = sp_test::SharedData("xlmr.tokenizer.json");
  if (path.empty()) GTEST_SKIP() << "xlmr.tokenizer.json is absent";
  if (kSanitized) GTEST_SKIP() << "takes too long under a sanitizer";
  constexpr size_t kBytes = 250'000;  // nearly max_stretch_bytes
  const std::string plain = Repeat(Units()[0].unit, kBytes);
  for (const bool offsets : {false, true}) {
    TestEngine engine(sp_test::ReadFile(path), kBytes + 100, 1 << 16, RANKFEED_PARITY_AUTO,
                      offsets);
    for (const char* const unit : {"a", "thequickbrownfox", "e\u0301\u0323\u0302\u0308"}) {
      const std::string text = Repeat(unit, kBytes), half = Repeat(unit, kBytes / 2);
      const auto encode = [&](const std::string& what) {
        return [&engine, &what] { ASSERT_EQ(engine.Encode(what).status, RANKFEED_OK); };
      };
      const std::vector<double> seconds =
          LeastTimes({encode(plain), encode(text), [&] { encode(half)(), encode(half)(); }},
                     [](const auto& times) {
                       return times[1] < 40 * times[0] && times[1] < 2 * times[2];
                     });
      const double factor = seconds[1] / seconds[0], growth = seconds[1] / seconds[2];
      std::printf("%-8s %-22s %6.2f times plain text, %5.2f times its halves\n",
                  offsets ? "offsets" : "ids", unit, factor, growth);
      EXPECT_LT(factor, 40) << unit;
      EXPECT_LT(growth, 2) << unit;
    }
  }
}

// A loader takes time in proportion to the file; long pieces nest. The search for places in the double
// array tries at most 2,048 for each node (builder/trie/double_array_build.cc), and a larger vocabulary comes
// nearer to that, so the time of a piece may grow by a factor; with the square of the size it would be 10.
TEST(LinearTime, Loaders) {
  const auto model = [](size_t count) {
    sp_test::ModelProto proto;
    proto.AddSpecials();
    for (size_t i = 0; i < count; ++i) {
      std::string text(1 + i % 40, 'a');
      for (size_t n = i; n > 0; n /= 26) text += static_cast<char>('a' + n % 26);
      proto.Add(text + std::to_string(i), -1);
    }
    return sp_test::Serialize(proto);
  };
  const auto json = [](size_t count) {
    std::string vocab = R"(["<unk>",0])";
    for (size_t i = 0; i < count; ++i) {
      vocab += ",[\"" + std::string(1 + i % 40, 'a') + std::to_string(i) + "\",-1.5]";
    }
    return R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"model":{"type":"Unigram","unk_id":0,"vocab":[)" +
           vocab + "]}}";
  };
  const size_t size = kSanitized ? 5'000 : 50'000;
  for (const bool huggingface : {false, true}) {
    const std::string large = huggingface ? json(size) : model(size);
    const std::string small = huggingface ? json(size / 10) : model(size / 10);
    const auto compile = [](const std::string& file) {
      rankfeed_image image{};
      ASSERT_EQ(rankfeed_compile(file.data(), file.size(), "x", nullptr, &image, nullptr), RANKFEED_OK);
      EXPECT_LT(image.size, 64 * file.size() + (1u << 20));
      rankfeed_image_free(&image);
    };
    compile(small);  // what is worked out once in a process
    const std::vector<double> seconds =
        LeastTimes({[&] { compile(large); },
                    [&] {
                      for (int i = 0; i < 10; ++i) compile(small);
                    }},
                   [](const auto& times) { return times[0] < 6 * times[1]; });
    std::printf("%s: %.3f s for %zu pieces, %.3f s for ten tenths\n", huggingface ? "tokenizer.json" : ".model",
                seconds[0], size, seconds[1]);
    EXPECT_LT(seconds[0], 6 * seconds[1]);
  }
}

}  // namespace
}  // namespace rankfeed
