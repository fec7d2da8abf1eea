// SPDX-License-Identifier: MIT
// rankfeed_encode_begin, _feed and _end against rankfeed_encode: every form of the fast path, texts in
// pieces cut anywhere, windows and outputs of all sizes; what is refused, and memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "segment/word_forms.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace segment_test;  // NOLINT: the test's own vocabulary

rankfeed_encode_options Options(uint32_t flags) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  return options;
}

// Text with places to cut: words of what words are made of.
std::string LongText(std::mt19937_64& random, size_t bytes) {
  static const char* const kPlain[] = {"a bear ", "the panda\n", "\u4e2d\u6587 \u6587\u4e2d ", "well-known, yes ",
                                       "\u043c\u0438\u0440 \u0442\u0440\u0443\u0434 ", "42 "};
  std::string text;
  while (text.size() < bytes) {
    for (size_t i = random() % 8; i-- > 0;) text += kPlain[random() % std::size(kPlain)];
    if (random() % 4 == 0) text += Text(random);
  }
  return text;
}

struct Pieces {
  Error error;
  std::vector<int32_t> ids;
  uint64_t parts = 0;
};

uint64_t Texts(const Encoder& encoder) {
  uint64_t texts = 0;
  for (const rankfeed_road_counts& road : encoder.Roads()) texts += road.texts;
  return texts;
}

Pieces EncodePieces(Encoder& encoder, std::string_view text, uint32_t flags, uint32_t window_bytes,
                    size_t piece_bytes, std::mt19937_64& random) {
  Pieces pieces;
  const uint64_t before = Texts(encoder);
  pieces.error = encoder.EncodeBegin(Options(flags), window_bytes);
  while (!pieces.error && !text.empty()) {
    const size_t size = std::min<size_t>(text.size(), random() % (piece_bytes + 1));
    pieces.error = encoder.EncodeFeed(text.substr(0, size), &pieces.ids);
    text.remove_prefix(size);
  }
  if (!pieces.error) pieces.error = encoder.EncodeEnd(&pieces.ids);
  pieces.parts = Texts(encoder) - before;
  return pieces;
}

// What a form cannot be cut for.
bool Refused(const std::string& form) {
  return form == "normalized tokens" || form == "SentencePiece no prefix";
}

TEST(Stream, EqualsTheWholeText) {
  for (const FormFile& form : Forms()) {
    SCOPED_TRACE(form.name);
    const Image& image = ImageOf(form);
    Encoder whole = Make(image.model(), false, 4096);
    Encoder encoder = Make(image.model(), false, 4096);
    std::mt19937_64 random(5);
    uint64_t parts = 0, texts = 0;
    for (int round = 0; round < static_cast<int>(Scaled(120)); ++round) {
      const std::string text = LongText(random, random() % 6000);
      const uint32_t flags = random() % 2 * RANKFEED_ADD_SPECIAL_TOKENS;
      const auto window = static_cast<uint32_t>(256 << random() % 4);
      const Pieces pieces = EncodePieces(encoder, text, flags, window, 1 << random() % 14, random);
      if (Refused(form.name)) {
        ASSERT_EQ(pieces.error.status, RANKFEED_E_UNSUPPORTED);
        continue;
      }
      if (pieces.error.status == RANKFEED_E_LIMIT) continue;
      ASSERT_FALSE(pieces.error) << pieces.error.message;
      ASSERT_EQ(pieces.ids, Encode(whole, text, flags)) << round;
      parts += pieces.parts;
      ++texts;
    }
    if (Refused(form.name)) continue;
    EXPECT_GT(texts, Scaled(120) / 2);
    EXPECT_GT(parts, 3 * texts);
  }
}

// Beyond the score at which the newest releases of SentencePiece begin to count anew, and where
// float32 no longer tells scores of pieces apart.
TEST(Stream, CarriesScoresOfLongTexts) {
  for (const char* const name :
       {"SentencePiece", "SentencePiece 0.2.1", "SentencePiece all spaces",
        "SentencePiece no prefix, all spaces", "whole", "whole, first", "whole, no pre-tokenizer",
        "whole, positive scores", "SentencePiece positive scores", "SentencePiece byte fallback",
        "SentencePiece suffix", "SentencePiece suffix, all spaces",
        "SentencePiece suffix, nothing behind a text"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    auto whole = Encoder::Create(image.model(), 8 << 20);
    auto plain = Encoder::Create(image.model(), 8 << 20);
    ASSERT_TRUE(whole && plain);
    plain->get()->engine.emplace<std::monostate>();
    Encoder encoder = Make(image.model(), false, 4096);
    std::mt19937_64 random(6);
    for (const size_t bytes : {100'000, 400'000, 3'000'000}) {
      const std::string text = LongText(random, Scaled(bytes));
      const Pieces pieces = EncodePieces(encoder, text, 0, 1 << 14, 1 << 15, random);
      ASSERT_FALSE(pieces.error) << pieces.error.message;
      const std::vector<int32_t> ids = Encode(*plain, text, 0);
      ASSERT_EQ(Encode(*whole, text, 0), ids) << bytes;
      ASSERT_EQ(pieces.ids, ids) << bytes;
    }
  }
}

// Other calls may come between; a text that is not ended is forgotten.
TEST(Stream, LetsOtherCallsCome) {
  const Image& image = ImageOf(Form("A"));
  Encoder encoder = Make(image.model(), false, 4096);
  std::mt19937_64 random(7);
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "a bear ";
  std::vector<int32_t> ids, forgotten;
  ASSERT_FALSE(encoder.EncodeBegin(Options(0)));
  ASSERT_FALSE(encoder.EncodeFeed("never to be seen", &forgotten));
  ASSERT_FALSE(encoder.EncodeBegin(Options(0)));
  ASSERT_FALSE(encoder.EncodeFeed(text.substr(0, 100'001), &ids));
  EXPECT_FALSE(ids.empty());
  const std::vector<int32_t> between = Encode(encoder, "another text", 0);
  EXPECT_GT(encoder.Trim(), 0u);
  EXPECT_EQ(between, Encode(encoder, "another text", 0));
  ASSERT_FALSE(encoder.EncodeFeed(text.substr(100'001), &ids));
  ASSERT_FALSE(encoder.EncodeEnd(&ids));
  auto whole = Encoder::Create(image.model(), 1 << 20);
  ASSERT_TRUE(whole);
  EXPECT_EQ(ids, Encode(*whole, text, 0));
  EXPECT_EQ(between, Encode(*whole, "another text", 0));
  EXPECT_TRUE(forgotten.empty());
}

TEST(Stream, SaysWhatIsWrong) {
  const Image& image = ImageOf(Form("A"));
  Encoder encoder = Make(image.model(), false, 0);
  std::vector<int32_t> ids;
  EXPECT_EQ(encoder.EncodeFeed("a", &ids).status, RANKFEED_E_ARGUMENT);  // no text has begun
  EXPECT_EQ(encoder.EncodeEnd(&ids).status, RANKFEED_E_ARGUMENT);
  char window[64];
  rankfeed_encode_options options = Options(0);
  EXPECT_EQ(rankfeed_encode_begin(encoder.get(), &options, nullptr, 64), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode_begin(encoder.get(), &options, window, 0), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode_begin(nullptr, &options, window, 64), RANKFEED_E_ARGUMENT);
  options.flags = RANKFEED_OFFSETS_UTF16;
  EXPECT_EQ(rankfeed_encode_begin(encoder.get(), &options, window, 64), RANKFEED_E_ARGUMENT);
  options = Options(0);
  options.struct_size = 3;
  EXPECT_EQ(rankfeed_encode_begin(encoder.get(), &options, window, 64), RANKFEED_E_STRUCT_SIZE);

  ASSERT_EQ(rankfeed_encode_begin(encoder.get(), nullptr, window, 64), RANKFEED_OK);
  rankfeed_stream_io io{};
  EXPECT_EQ(rankfeed_encode_feed(encoder.get(), {"a", 1}, &io), RANKFEED_E_STRUCT_SIZE);
  io.struct_size = sizeof(io);
  EXPECT_EQ(rankfeed_encode_feed(encoder.get(), {"a", 1}, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode_feed(encoder.get(), {nullptr, 1}, &io), RANKFEED_E_ARGUMENT);
  io.capacity = 1;
  EXPECT_EQ(rankfeed_encode_end(encoder.get(), &io), RANKFEED_E_ARGUMENT);
  io.capacity = 0;
  EXPECT_EQ(rankfeed_encode_feed(encoder.get(), {nullptr, 0}, &io), RANKFEED_OK);
  // No room for ids: nothing is lost.
  ASSERT_EQ(rankfeed_encode_feed(encoder.get(), {"panda", 5}, &io), RANKFEED_OK);
  ASSERT_EQ(rankfeed_encode_end(encoder.get(), &io), RANKFEED_E_OUTPUT_SIZE);
  ids.resize(io.needed);
  io.input_ids = ids.data();
  io.capacity = io.needed;
  ASSERT_EQ(rankfeed_encode_end(encoder.get(), &io), RANKFEED_OK);
  EXPECT_EQ(ids, Encode(encoder, "panda", 0));

  // One word more than the window: an error, and the text has ended.
  const std::string word(65, 'a');
  ASSERT_FALSE(encoder.EncodeBegin(Options(0), 64));
  EXPECT_EQ(encoder.EncodeFeed(word, &ids).status, RANKFEED_E_LIMIT);
  EXPECT_EQ(encoder.EncodeEnd(&ids).status, RANKFEED_E_ARGUMENT);
  // Just the window: none.
  ids.clear();
  ASSERT_FALSE(encoder.EncodeBegin(Options(0), 64));
  ASSERT_FALSE(encoder.EncodeFeed(word.substr(1), &ids));
  ASSERT_FALSE(encoder.EncodeEnd(&ids));
  EXPECT_EQ(ids, Encode(encoder, word.substr(1), 0));
  // A special token in a later part.
  ids.clear();
  ASSERT_FALSE(encoder.EncodeBegin(Options(RANKFEED_SPECIALS_ERROR), 64));
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a bear ";
  ASSERT_FALSE(encoder.EncodeFeed(text, &ids));
  EXPECT_FALSE(ids.empty());
  EXPECT_EQ(encoder.EncodeFeed("</s> " + text, &ids).status, RANKFEED_E_SPECIAL_IN_TEXT);
  EXPECT_EQ(encoder.EncodeFeed(text, &ids).status, RANKFEED_E_ARGUMENT);
}

size_t Resident() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// A text of RANKFEED_STREAM_BYTES (64 MB without it) needs no more memory than its window and what
// every encoder has; 1 GB is the long test's.
TEST(Stream, MemoryDoesNotGrowWithTheText) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  const char* const given = std::getenv("RANKFEED_STREAM_BYTES");
  const size_t bytes = given != nullptr ? std::strtoull(given, nullptr, 10) : 64 << 20;
  for (const char* const name : {"A", "SentencePiece"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    std::mt19937_64 random(8);
    const std::string text = LongText(random, 1 << 20);
    const size_t before = Resident();
    size_t most = before;
    auto encoder = Encoder::Create(image.model(), 1 << 16);
    ASSERT_TRUE(encoder);
    std::vector<int32_t> ids;
    uint64_t tokens = 0;
    ASSERT_FALSE(encoder->EncodeBegin(Options(0)));
    for (size_t done = 0; done < bytes; done += text.size()) {
      ids.clear();
      ASSERT_FALSE(encoder->EncodeFeed(text, &ids));
      tokens += ids.size();
      most = std::max(most, Resident());
    }
    ASSERT_FALSE(encoder->EncodeEnd(&ids));
    EXPECT_GT(tokens, bytes / 8);
    std::printf("%s: %zu bytes of text, %llu tokens, %zu bytes resident beside text and image\n", name,
                bytes, static_cast<unsigned long long>(tokens), most - before);
    EXPECT_LE(most - before, size_t{16} << 20);
  }
}

}  // namespace
}  // namespace rankfeed
