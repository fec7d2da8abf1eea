// SPDX-License-Identifier: MIT
// Long texts on the general path: in parts they have the ids and offsets of the whole text, scratch
// does not grow with them, scores are carried, and a stretch that cannot be cut meets a limit that
// is its text's alone.
#include "support/cut_everywhere.h"  // before the wrapper, which has a Model too

#include "encode/text_encoder.h"
#include "reference/hf_encode.h"
#include "reference/sp_encode.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>

#include "fast/word_forms.h"
#include "rankfeed/rerank.hpp"
#include "reference/hf_tiny.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

// What leaves the fast road with what it stands in: more than a thousand bytes that are normalized
// together.
const std::string kOdd = [] {
  std::string text = "e";
  for (int i = 0; i < 1000; ++i) text += "\u0301";
  return text;
}();

struct Result {
  rankfeed_status status;
  std::vector<int32_t> ids;
  std::vector<uint32_t> begin, end;
  bool operator==(const Result&) const = default;
};

Result EncodeWith(Encoder& encoder, std::string_view text, const rankfeed_encode_options& options) {
  Encoding encoding;
  const bool offsets = encoder.get()->limits.with_offsets != 0;
  const Error error = encoder.Encode(text, options, &encoding);
  if (error) return {error.status, {}, {}, {}};
  Result result{RANKFEED_OK, encoding.input_ids, {}, {}};
  if (offsets) result.begin = encoding.offset_begin, result.end = encoding.offset_end;
  return result;
}

rankfeed_encode_options Options(uint32_t flags) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  return options;
}

// One model whose general path cuts texts wherever it can, and takes them whole.
class Pair {
 public:
  explicit Pair(const rankfeed_model* model) : whole_(Create(model)), parts_(Create(model)) {
    for (Encoder* const encoder : {&whole_, &parts_}) {
      encoder->get()->engine.emplace<std::monostate>();
    }
    whole_.get()->cuts.set_part_bytes(~uint32_t{0});
    cuts_ = test::CutEverywhere(parts_.get());
  }
  bool cuts() const { return cuts_; }

  void Check(std::string_view text, const rankfeed_encode_options& options) {
    const Result expected = EncodeWith(whole_, text, options);
    const Result result = EncodeWith(parts_, text, options);
    ASSERT_EQ(result.status, expected.status) << testing::PrintToString(text);
    ASSERT_EQ(result.ids, expected.ids) << testing::PrintToString(text);
    ASSERT_EQ(result.begin, expected.begin) << testing::PrintToString(text);
    ASSERT_EQ(result.end, expected.end) << testing::PrintToString(text);
    if (options.flags != RANKFEED_ERROR_ON_SPECIAL) return;
    const auto [found, at] = Special(whole_, text);
    const auto [found_in_parts, in_parts] = Special(parts_, text);
    ASSERT_EQ(found_in_parts, found) << testing::PrintToString(text);
    ASSERT_EQ(in_parts.id, at.id) << testing::PrintToString(text);
    ASSERT_EQ(in_parts.byte_begin, at.byte_begin) << testing::PrintToString(text);
    ASSERT_EQ(in_parts.byte_end, at.byte_end) << testing::PrintToString(text);
  }

 private:
  static std::pair<rankfeed_status, rankfeed_special_match> Special(Encoder& encoder,
                                                                    std::string_view text) {
    rankfeed_special_match match{};
    match.struct_size = sizeof(match);
    return {rankfeed_find_special(encoder.get(), {text.data(), text.size()}, &match), match};
  }
  static Encoder Create(const rankfeed_model* model) {
    auto encoder = Encoder::Create(model, 1 << 12, /*with_offsets=*/true, 0);
    EXPECT_TRUE(encoder) << encoder.error().message;
    return std::move(*encoder);
  }

  Encoder whole_, parts_;
  bool cuts_ = false;
};

class LongText : public EachForm {};
RANKFEED_EACH_FORM(LongText);

// Every form, with characters in front that a charsmap drops: the reference forgets those that come
// first, and what follows has places of characters before it.
TEST_P(LongText, PartsHaveIdsAndOffsetsOfTheWhole) {
  static const char* const kFirst[] = {"\x01", "\x7f", "\x02\u0301", "</s>", " ", "\u1e9b", "\u200b"};
  static constexpr uint32_t kFlags[] = {0, RANKFEED_SPLIT_SPECIAL_TOKENS, RANKFEED_ESCAPE_SPECIAL,
                                        RANKFEED_ERROR_ON_SPECIAL};
  std::mt19937_64 random(20261127 + GetParam());
  Pair pair(model());
  ASSERT_EQ(pair.cuts(), form().name != "SentencePiece no prefix");
  if (!pair.cuts()) return;
  for (int round = 0; round < (kSanitized ? 40 : 150); ++round) {
    std::string text;
    for (size_t n = random() % 4 == 0 ? 1 + random() % 6 : 0; n-- > 0;) {
      text += kFirst[random() % std::size(kFirst)];
    }
    while (text.size() < 3000 && random() % 8 != 0) text += Text(random);
    text.resize(std::min<size_t>(text.size(), 4000));
    pair.Check(text, Options(kFlags[random() % 4]));
    if (HasFatalFailure()) return;
  }
}

// The ids of a text in parts, backwards.
TEST(LongText, PartsAreReversedTogether) {
  const Image& image = ImageOf(Form("SentencePiece"));
  std::string text;
  while (text.size() < 90'000) text += "the panda well-known, a bear \u4e2d\u6587 ";
  auto parts = Encoder::Create(image.model(), 1 << 20, true, 0, 50'000);
  auto whole = Encoder::Create(image.model(), 1 << 20, true, 0);
  ASSERT_TRUE(parts && whole);
  rankfeed_encode_options options = Options(0);
  options.sp_extra[0] = RANKFEED_SP_REVERSE;
  options.sp_extra[1] = RANKFEED_SP_EOS;
  const Result expected = EncodeWith(*whole, text, options);
  ASSERT_EQ(expected.status, RANKFEED_OK);
  EXPECT_GT(expected.ids.size(), 20'000u);
  EXPECT_EQ(EncodeWith(*parts, text, options), expected);
}

// `bytes` bytes that cannot be cut and leave the fast road.
std::string Uncut(size_t bytes) {
  std::string text = kOdd + "iVBORw0KGgo";
  while (text.size() < bytes) text += "AAAANSUhEUgAAB4AAAAQ4CAYAAADo08FDAAAABH";
  text.resize(bytes);
  return text;
}

// A base64 image of three quarters of the limit inside a document is encoded, a longer one is LIMIT
// for its text alone.
TEST(LongText, AStretchThatCannotBeCutMeetsItsLimitAlone) {
  constexpr uint32_t kStretch = 100'000;
  for (const char* const name : {"A", "SentencePiece", "normalized tokens"}) {
    for (const bool offsets : {false, true}) {
      SCOPED_TRACE(std::string(name) + (offsets ? ", offsets" : ""));
      const Image& image = ImageOf(Form(name));
      auto limited = Encoder::Create(image.model(), 1 << 20, offsets, 0, kStretch);
      auto roomy = Encoder::Create(image.model(), 1 << 20, offsets, 0, 1 << 20);
      ASSERT_TRUE(limited && roomy);
      std::string words;
      while (words.size() < 70'000) words += "the panda well-known, a bear ";
      const std::string fits = words + Uncut(75'000) + " " + words;
      const std::string exact = Uncut(kStretch), over = Uncut(kStretch + 1);
      const auto options = Options(0);
      for (const std::string* const text : std::initializer_list<const std::string*>{&fits, &exact, &words}) {
        const Result result = EncodeWith(*limited, *text, options);
        ASSERT_EQ(result.status, RANKFEED_OK);
        EXPECT_EQ(result, EncodeWith(*roomy, *text, options));
      }
      EXPECT_EQ(EncodeWith(*roomy, over, options).status, RANKFEED_OK);
      Encoding encoding;
      const Error error = limited->Encode(over, options, &encoding);
      EXPECT_EQ(error.status, RANKFEED_E_LIMIT);
      for (const char* const word : {"100001 bytes", "max_stretch_bytes, 100000", "is enough"}) {
        EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
      }
      // In a batch the texts before it are complete, and the call goes on after it.
      const std::vector<std::string_view> texts = {words, over, fits};
      std::vector<int32_t> ids;
      std::vector<uint32_t> bounds;
      EXPECT_EQ(limited->EncodeBatch(texts, options, &ids, &bounds).status, RANKFEED_E_LIMIT);
      ASSERT_EQ(bounds.size(), 2u);
      EXPECT_EQ(ids, EncodeWith(*roomy, words, options).ids);
      EXPECT_FALSE(limited->EncodeBatch(std::span(texts).subspan(2), options, &ids, &bounds));
      EXPECT_EQ(ids, EncodeWith(*roomy, fits, options).ids);
    }
  }
}

TEST(LongText, ARequestLosesOnlyTheDocumentThatExceedsTheLimit) {
  const Image& image = ImageOf(Form("A"));
  rankfeed_rerank_options options = RerankOptions();
  options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options.layout = RANKFEED_PACKED;
  options.max_length = 512;
  options.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
  rankfeed_pair_template parts{};
  parts.struct_size = sizeof(parts);
  options.pair_template = &parts;
  rankfeed_rerank_limits limits{};
  limits.max_documents = 3;
  limits.max_text_bytes = 300'000;
  limits.max_tokens = 2'000;
  limits.max_stretch_bytes = 100'000;
  auto reranker = Reranker::Create(image.model(), limits, options);
  ASSERT_TRUE(reranker) << reranker.error().message;
  const std::string fits = Uncut(90'000), over = Uncut(100'001);
  const rankfeed_source query{.text = Text("a bear")};
  const std::vector<rankfeed_source> documents = {
      {.text = Text(fits)}, {.text = Text(over)}, {.text = Text("the panda")}};
  ASSERT_FALSE(reranker->Begin(query, documents));
  rankfeed_batch batch;
  ASSERT_FALSE(reranker->Next(&batch));
  EXPECT_EQ(batch.rows, 2u);
  const std::vector<rankfeed_status> expected = {RANKFEED_OK, RANKFEED_E_LIMIT, RANKFEED_OK};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), reranker->status().begin()));
}

// An encoder that refuses stretches which the limits of a reranker take.
TEST(LongText, ARerankerRefusesEncodersForShorterStretches) {
  const Image& image = ImageOf(Form("A"));
  rankfeed_rerank_options options = RerankOptions();
  options.layout = RANKFEED_PACKED;
  options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  rankfeed_pair_template parts{};
  parts.struct_size = sizeof(parts);
  options.pair_template = &parts;
  for (const uint32_t stretch : {1000u, 1001u}) {
    auto encoder = Encoder::Create(image.model(), 5000, false, 0, 1000);
    ASSERT_TRUE(encoder);
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = limits.workers = 1;
    limits.max_text_bytes = 5000;
    limits.max_stretch_bytes = stretch;
    rankfeed_mem_req need;
    ASSERT_EQ(rankfeed_reranker_mem_req(image.model(), &limits, &options, &need), RANKFEED_OK);
    const AlignedBytes scratch(need);
    rankfeed_encoder* encoders[] = {encoder->get()};
    rankfeed_reranker* reranker = nullptr;
    EXPECT_EQ(rankfeed_reranker_init(image.model(), &limits, &options, encoders, scratch.data(),
                                     need.size, &reranker),
              stretch > 1000 ? RANKFEED_E_ARGUMENT : RANKFEED_OK);
    // Programs compiled before the field was there ask for nothing.
    limits.struct_size = offsetof(rankfeed_rerank_limits, max_stretch_bytes);
    EXPECT_EQ(rankfeed_reranker_init(image.model(), &limits, &options, encoders, scratch.data(),
                                     need.size, &reranker),
              RANKFEED_OK);
    rankfeed_rerank_limits asked = limits;
    asked.max_stretch_bytes = 7;  // not theirs to write
    EXPECT_EQ(rankfeed_reranker_need(reranker, &asked), RANKFEED_OK);
    EXPECT_EQ(asked.max_stretch_bytes, 7u);
    EXPECT_EQ(asked.max_text_bytes, 5000u);
  }
}

TEST(LongText, MoreTokensThan32BitsCountAreRefused) {
  for (const char* const name : {"A", "SentencePiece"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    Encoder encoder = Make(image.model(), false, 0);
    const rankfeed_encode_options options = Options(0);
    for (const bool full : {false, true}) {
      TokenSink sink{.count = full ? TokenSink::kMost : 7};
      reference::CarriedScore score;
      EXPECT_EQ(encode::TextEncoder(*encoder.get(), options)
                    .EncodePart({"a bear", 6}, true, true, &score, sink),
                full ? RANKFEED_E_LIMIT : RANKFEED_OK);
      sink.count = full ? ~uint32_t{0} - 100 : 7;
      const rankfeed_status status =
          image.model()->huggingface()
              ? reference::EncodeHuggingFace(*image.model(), encoder.get()->general, "a bear", 0,
                                           sink)
              : reference::EncodeSentencePiece(*image.model(), encoder.get()->general, "a bear", {},
                                             sink);
      EXPECT_EQ(status, full ? RANKFEED_E_LIMIT : RANKFEED_OK);
      encoder = Make(image.model(), false, 0);
    }
  }
}

// Behind an added token of normalized text nothing is left of the score that a part goes on from.
TEST(LongText, ATokenEndsTheScoreThatIsCarried) {
  const hf_test::Engine engine(hf_test::Json(
      {.pre_tokenizer = hf_test::kWhole, .added = {{"<x>", image::kNormalized}}}));
  auto encoder = Encoder::Create(engine.model(), 1 << 11, false, 0);
  ASSERT_TRUE(encoder);
  const auto after = [&](std::string_view text) {
    int32_t ids[64];
    TokenSink sink{.ids = ids, .capacity = 64};
    reference::CarriedScore score{.before = -1e6};
    EXPECT_EQ(reference::EncodeHuggingFaceStretch(*engine.model(), encoder->get()->general, text, 0,
                                                static_cast<uint32_t>(text.size()), false, 0, sink,
                                                &score),
              RANKFEED_OK);
    return score.after;
  };
  EXPECT_LT(after("the hello"), -1e6);
  EXPECT_GT(after("the<x>hello"), -1e3);
  EXPECT_EQ(after("abab<x>hello"), after("the<x>hello"));
  EXPECT_EQ(after("the<x>"), 0);
}

// Pages of this process, in bytes.
size_t AddressSpace() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Private anonymous pages for scratch, made while the process may have so many bytes more.
class Scratch {
 public:
  Scratch(size_t size, size_t most_more) : size_(size) {
    rlimit limit{};
    EXPECT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    const rlimit more{AddressSpace() + most_more, limit.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &more), 0);
    data_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    if (ok()) madvise(data_, size, MADV_NOHUGEPAGE);  // where there are none, it does not matter
  }
  ~Scratch() {
    if (ok()) munmap(data_, size_);
  }
  Scratch(const Scratch&) = delete;
  bool ok() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }
  // Bytes of the pages that were touched.
  size_t Resident() const {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> in((size_ + page - 1) / page);
    if (mincore(data_, size_, in.data()) != 0) return SIZE_MAX;
    return static_cast<size_t>(std::count_if(in.begin(), in.end(),
                                             [](unsigned char one) { return (one & 1) != 0; })) *
           page;
  }

 private:
  size_t size_;
  void* data_;
};

// In one call with a text, whose tokens are counted, by an encoder for texts of 2^30 bytes within
// 1 GiB of address space.
void CheckMemory(const rankfeed_model* model, const std::string& text, bool offsets) {
  rankfeed_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_text_bytes = 1u << 30;
  limits.with_offsets = offsets ? 1 : 0;
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_encoder_mem_req(model, &limits, &need), RANKFEED_OK);
  const Scratch scratch(need.size, size_t{1} << 30);
  ASSERT_TRUE(scratch.ok());
  rankfeed_encoder* encoder = nullptr;
  ASSERT_EQ(rankfeed_encoder_init(model, &limits, scratch.data(), need.size, &encoder),
            RANKFEED_OK);
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
  rankfeed_encoding io{};  // room for one
  io.struct_size = sizeof(io);
  io.capacity = 1;
  io.input_ids = &id;
  if (offsets) io.offset_begin = &begin, io.offset_end = &end;
  ASSERT_EQ(rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io),
            RANKFEED_E_OUTPUT_SIZE);
  EXPECT_GT(io.count, text.size() / 17);
  std::printf("%s: %zu bytes of text, %u tokens, scratch of %zu bytes, %zu of them resident\n",
              offsets ? "offsets" : "ids", text.size(), io.count, need.size, scratch.Resident());
  EXPECT_LE(scratch.Resident(), size_t{2} << 20);
}

// A text of RANKFEED_LONG_TEXT_BYTES (8 MB without it): words, some of which leave the fast road.
TEST(LongText, MemoryDoesNotGrowWithTheText) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  const char* const given = std::getenv("RANKFEED_LONG_TEXT_BYTES");
  const size_t bytes = given != nullptr ? std::strtoull(given, nullptr, 10) : 8 << 20;
  const std::string words = "the panda well-known, a bear \u4e2d\u6587 ";
  std::string odd;
  for (int i = 0; i < 100; ++i) odd += words;
  odd += kOdd + " ";
  for (const char* const name : {"A", "SentencePiece", "normalized tokens"}) {
    const Image& image = ImageOf(Form(name));
    for (const std::string& unit : {words, odd}) {
      SCOPED_TRACE(std::string(name) + ", " + (&unit == &odd ? "some of it odd" : "plain"));
      std::string text;
      text.reserve(bytes + unit.size());
      while (text.size() < bytes) text += unit;
      for (const bool offsets : {false, true}) CheckMemory(image.model(), text, offsets);
    }
  }
}

}  // namespace
}  // namespace rankfeed
