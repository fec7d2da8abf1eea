// SPDX-License-Identifier: MIT
// A call needs no more of its thread's stack than RANKFEED_STACK_BYTES (rankfeed/encode.h), whatever the
// text and its length. Every call runs on a stack of 64 KiB, which was filled with a pattern before.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "rankfeed/builder.hpp"
#include "rankfeed/rerank.hpp"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

constexpr size_t kStack = 64 << 10, kGuard = 64 << 10;
constexpr unsigned char kPattern = 0xA5;

void* Run(void* function) {
  (*static_cast<std::function<void()>*>(function))();
  return nullptr;
}

// Bytes of the stack that a thread touched which ran the function. Its own frames are among them.
size_t Touched(std::function<void()> function) {
  auto* const memory = static_cast<unsigned char*>(
      mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_NE(memory, MAP_FAILED);
  EXPECT_EQ(mprotect(memory, kGuard, PROT_NONE), 0);
  unsigned char* const stack = memory + kGuard;
  std::memset(stack, kPattern, kStack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, kStack), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attributes, Run, &function), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  size_t untouched = 0;
  while (untouched < kStack && stack[untouched] == kPattern) ++untouched;
  munmap(memory, kGuard + kStack);
  return kStack - untouched;
}

std::string Repeat(std::string_view unit, size_t size) {
  std::string out;
  while (out.size() < size) out += unit;
  return out;
}

std::string DefaultModel() {
  const char* const source = std::getenv("RANKFEED_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/data/default.model";
}

constexpr const char* kUnigram = R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [{"id": 0, "content": "<unk>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false},
  {"id": 10, "content": "xa", "special": false, "single_word": false, "lstrip": false, "rstrip": false, "normalized": true}],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "NFC"},
  {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Isolated"},
  {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]},
 "post_processor": null, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
 "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [["<unk>", 0], ["▁", -2.5], ["a", -3.1], ["b", -3.3], ["ab", -3.4],
  ["ba", -3.6], ["▁a", -3.2], ["aa", -3.9], ["é", -4], ["e", -3]]}})";
constexpr const char* kWordPiece = R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [{"id": 0, "content": "[UNK]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
 "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
 "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 1000000,
  "vocab": {"[UNK]": 0, "a": 1, "##a": 2, "b": 3, "##b": 4, "##ab": 5, "e": 6, "##e": 7}}})";

class Stack : public testing::Test {
 protected:
  // Every call of an encoder and a reranker on texts that take every road.
  void Check(const char* name, const Vocabulary& vocabulary) {
    for (const bool offsets : {false, true}) {
      auto encoder = Encoder::Create(vocabulary.model(), kLong + 100, offsets, 1 << 20, 2 * kLong);
      ASSERT_TRUE(encoder) << encoder.error().message;
      for (const char* unit : {"a", "ab b", "e\u0301", "\u0301", "\xEA\xB0\x80\xE1\x86\xA8", " ", "xa", "\u2581a", "\xFF", "中", "<unk>", ".a"}) {
        const std::string text = Repeat(unit, unit == std::string_view("a") ? kLong : kOther);
        Encoding one;
        Encodings several;
        const std::vector<std::string_view> texts(3, text);
        rankfeed_encode_options options{};
        options.struct_size = sizeof(options);
        std::string decoded;
        const size_t touched = Touched([&] {
          EXPECT_FALSE(encoder->Encode(text, options, &one));
          EXPECT_FALSE(encoder->EncodeBatch(texts, options, &several));
          const Error error = encoder->Decode(one.input_ids, false, &decoded);
          EXPECT_FALSE(error) << unit << ": " << error.message;
        });
        EXPECT_GT(touched, 100u);  // the pattern was there to be seen
        EXPECT_LE(touched, size_t{RANKFEED_STACK_BYTES}) << name << ", " << offsets << ", " << unit;
        most_ = std::max(most_, touched);
      }
    }
    rankfeed_rerank_options options = RerankOptions();
    options.max_length = 512;
    options.layout = RANKFEED_PACKED;
    options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    rankfeed_rerank_limits limits{};
    limits.max_documents = 4;
    limits.max_rows = 4;
    limits.max_text_bytes = kLong + 100;
    limits.max_stretch_bytes = 2 * kLong;
    limits.max_tokens = 1 << 16;
    auto reranker = Reranker::Create(vocabulary.model(), limits, options);
    ASSERT_TRUE(reranker) << reranker.error().message;
    const std::string text = Repeat("ab e\u0301", kOther);
    std::vector<rankfeed_source> sources(4);
    for (rankfeed_source& source : sources) source.text = Text(text);
    const size_t touched = Touched([&] {
      EXPECT_FALSE(reranker->Begin(sources[0], sources));
      rankfeed_batch batch;
      EXPECT_FALSE(reranker->Next(&batch));
    });
    EXPECT_LE(touched, size_t{RANKFEED_STACK_BYTES}) << name << ", reranker";
    most_ = std::max(most_, touched);
    std::printf("%s: at most %zu bytes of stack\n", name, most_);
  }

  static constexpr size_t kLong = 900'000, kOther = 60'000;
  size_t most_ = 0;
};

TEST_F(Stack, CallsNeedLittle) {
  if (kSanitized) GTEST_SKIP() << "frames are larger with sanitizers";
  auto vocabulary = Vocabulary::Load(DefaultModel());
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  Check("SentencePiece", *vocabulary);
  for (const auto& [name, source] : {std::pair{"Unigram of a tokenizer.json", kUnigram}, {"WordPiece", kWordPiece}}) {
    const std::string path = testing::TempDir() + "/stack_test.json";
    std::ofstream(path) << source;
    auto compiled = Vocabulary::Load(path);
    ASSERT_TRUE(compiled) << compiled.error().message;
    Check(name, *compiled);
  }
}

}  // namespace
}  // namespace rankfeed
