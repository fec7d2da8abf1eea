// SPDX-License-Identifier: MIT
// rankfeed_encode_begin, _feed and _end against rankfeed_encode: every form of the fast path, texts in
// pieces cut anywhere, windows and outputs of all sizes; what is refused, and memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "fast/word_forms.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

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
  return form == "SentencePiece no prefix";
}

class Stream : public EachForm {};
RANKFEED_EACH_FORM(Stream);

TEST_P(Stream, EqualsTheWholeText) {
  Encoder whole = Make(model(), false, 4096);
  Encoder encoder = Make(model(), false, 4096);
  std::mt19937_64 random(5);
  uint64_t parts = 0, texts = 0;
  for (int round = 0; round < static_cast<int>(Scaled(120)); ++round) {
    const std::string text = LongText(random, random() % 6000);
    const uint32_t flags = random() % 2 * RANKFEED_ADD_SPECIAL_TOKENS;
    const auto window = static_cast<uint32_t>(256 << random() % 4);
    const Pieces pieces = EncodePieces(encoder, text, flags, window, 1 << random() % 14, random);
    if (Refused(form().name)) {
      ASSERT_EQ(pieces.error.status, RANKFEED_E_UNSUPPORTED) << pieces.error.message;
      continue;
    }
    if (pieces.error.status == RANKFEED_E_LIMIT) continue;
    ASSERT_FALSE(pieces.error) << pieces.error.message;
    ASSERT_EQ(pieces.ids, Encode(whole, text, flags)) << round;
    parts += pieces.parts;
    ++texts;
  }
  if (Refused(form().name)) return;
  EXPECT_GT(texts, Scaled(120) / 2);
  EXPECT_GT(parts, 3 * texts);
}

// Beyond the score at which the newest releases of SentencePiece begin to count anew, and where
// float32 no longer tells scores of pieces apart.
TEST_P(Stream, CarriesScoresOfLongTexts) {
  if (!IsOneOf({"SentencePiece", "SentencePiece 0.2.1", "SentencePiece all spaces",
                "SentencePiece no prefix, all spaces", "whole", "whole, first", "whole, no pre-tokenizer",
                "whole, positive scores", "SentencePiece positive scores", "SentencePiece byte fallback"})) {
    return;
  }
  auto whole = Encoder::Create(model(), 8 << 20);
  auto plain = Encoder::Create(model(), 8 << 20);
  ASSERT_TRUE(whole && plain);
  plain->get()->engine.emplace<std::monostate>();
  Encoder encoder = Make(model(), false, 4096);
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

// A file of a small vocabulary, to which AddNormalizedToken adds.
json SmallFile(const json& normalizer, const json& pre_tokenizer, const json& vocab) {
  return {{"version", "1.0"},
          {"added_tokens", json::array()},
          {"normalizer", normalizer},
          {"pre_tokenizer", pre_tokenizer},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}};
}

// Texts of a few atoms, through windows of a few bytes, against the general path, which takes them
// whole. Returns in how many parts, on average.
double CheckSmallTexts(const json& file, const std::vector<const char*>& atoms, size_t most_atoms,
                       uint32_t most_window, int rounds) {
  const Image image(file);
  EXPECT_EQ(rankfeed_model_off_fast_road(image.model()), nullptr);
  Encoder whole = Make(image.model(), true, 0), encoder = Make(image.model(), false, 4096);
  std::mt19937_64 random(9);
  uint64_t parts = 0, texts = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    for (size_t n = random() % most_atoms; n > 0; --n) text += atoms[random() % atoms.size()];
    static constexpr uint32_t kFlags[] = {0, 0, RANKFEED_SPLIT_SPECIAL_TOKENS,
                                          RANKFEED_ESCAPE_SPECIAL};
    const uint32_t flags = kFlags[random() % 4];
    const auto window = static_cast<uint32_t>(4 + random() % most_window);
    const Pieces pieces = EncodePieces(encoder, text, flags, window, 1 + random() % 12, random);
    if (pieces.error.status == RANKFEED_E_LIMIT) continue;
    const std::vector<int32_t> ids = Encode(whole, text, flags);
    EXPECT_FALSE(pieces.error) << pieces.error.message;
    EXPECT_EQ(pieces.ids, ids) << testing::PrintToString(text) << " window " << window;
    EXPECT_EQ(Encode(encoder, text, flags), ids) << testing::PrintToString(text);
    if (testing::Test::HasFailure()) return 0;
    parts += pieces.parts;
    ++texts;
  }
  // Of few rounds, as under a sanitizer, less can be said.
  EXPECT_GT(texts, kSanitized ? 0 : static_cast<uint64_t>(rounds) / 4);
  return static_cast<double>(parts) / static_cast<double>(std::max<uint64_t>(texts, 1));
}

// Tokens of normalized text, of every kind, next to all places where a text might be cut; also such
// as begin or end with what others are, and what becomes one behind a normalizer.
TEST(Stream, TokensOfNormalizedTextStayWhole) {
  const json vocab = json::parse(
      R"json([["<unk>",-9],["\u2581",-2],["a",-3],["b",-3],["c",-3],["(",-3],[")",-3],["x",-3],
          ["\u2581a",-4],["ab",-5],["d",-3],["-",-3],["ba",-5],["\u2581dd",-5.5],["e",-3]])json");
  const json nfkc = Sequence("normalizers", {Type("NFKC"), Type("Lowercase"), ReplaceRun(" ")});
  const json marks = Sequence("normalizers", {Type("NFD"), Type("StripAccents"), ReplaceRun(" ")});
  const json pattern = Sequence("normalizers", {Replace("-d", "ab"), ReplaceRun(" ")});
  const std::string rules = sp_test::MakeCharsmap(
      {{"c\u0301", "ab"}, {"e\u0301", "a"}, {"\uff41", "a"}, {"d\u0327", "cab"}, {"x\u0301", ""}});
  const json charsmap = {{"type", "Precompiled"}, {"precompiled_charsmap", test::Base64(rules)}};
  const json punctuation = {{"type", "Punctuation"}, {"behavior", "Isolated"}};
  json whole = kMetaspace;
  whole["split"] = false;
  const json split = Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace});
  const std::pair<json, json> pipelines[] = {
      {nfkc, kMetaspace},
      {nfkc, Sequence("pretokenizers", {punctuation, kMetaspace})},
      {nfkc, whole},
      {Type("NFKC"), Metaspace("first")},
      {Type("Lowercase"), Metaspace("never")},
      {marks, kMetaspace},
      {marks, split},
      {pattern, kMetaspace},
      {Sequence("normalizers", {charsmap, ReplaceRun(" ")}), kMetaspace},
      {charsmap, Metaspace("first")},
      {nullptr, split}};
  const std::vector<const char*> atoms = {
      "\u0301", "\u0327", "c\u0301", "e\u0301", "d\u0327", "\u200b", "\ufb01", "\u3000", "\u2581",
      "\xe3",   "\n",     "  ",      "\uff41",  "\uff42",  "A",      "B",      "dd",     "-",
      "\u4e2d", "a",      "b",       "a",       "b",       "c",      "d",      "e",      "(",
      ")",      "x",      "a",       "b",       "c",       "d",      "e",      "(",      ")",
      "x",      "ab",     "(x)",     "ab",      "dd",      "e",      "d",      " ",      " ",
      " ",      " ",      " ",       " ",       " ",       " ",      " ",      " ",      " "};
  size_t pipeline = 0;
  for (const auto& [normalizer, pre_tokenizer] : pipelines) {
    SCOPED_TRACE(normalizer.dump().substr(0, 200) + pre_tokenizer.dump());
    ++pipeline;
    for (size_t kind = 0; kind < 6; ++kind) {
      // Compiling takes longest, and each kind has its turn.
      if ((kind + pipeline) % (kSanitized ? 6 : SweepsAll() ? 1 : 2) != 0) continue;
      SCOPED_TRACE(kind);
      json file = SmallFile(normalizer, pre_tokenizer, vocab);
      static const std::vector<const char*> kFlags[] = {
          {}, {"lstrip"}, {"rstrip"}, {"single_word"}, {"lstrip", "rstrip", "special"}, {}};
      for (const char* const content : {"ab", "abab", "(x)"}) {
        if (kind != 5) AddNormalizedToken(file, content, kFlags[kind]);
      }
      if (kind == 5) {
        AddNormalizedToken(file, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
        AddNormalizedToken(file, "ca", {"lstrip"});
        AddNormalizedToken(file, "ac", {"rstrip"});
      }
      const double parts = CheckSmallTexts(file, atoms, 60, 44, static_cast<int>(Scaled(600)));
      if (HasFailure()) return;
      EXPECT_GT(parts, kSanitized ? 1.0 : 1.15);
    }
  }
}

// Where the score of a text goes on to its end, an added token ends what is carried: so large that
// the best path of what follows would be another one.
TEST(Stream, NoScoreIsCarriedOverATokenOfNormalizedText) {
  json whole = kMetaspace;
  whole["split"] = false;
  const std::string large(20, 'z');
  const std::vector<const char*> atoms = {"ab", "ab", "a", "b", large.c_str(),
                                          "z",  " ",  " ", " ", "[tok]"};
  for (const double score : {-2.000001, -1.999999}) {
    json vocab = json::parse(
        R"([["<unk>",-9e8],["\u2581",-1],["a",-1],["b",-1],["z",-9e8],["[",-1],["t",-1],["o",-1],
            ["k",-1],["]",-1]])");
    vocab.push_back({"ab", score});
    json file = SmallFile(ReplaceRun(" "), whole, vocab);
    AddNormalizedToken(file, "[tok]");
    EXPECT_GT(CheckSmallTexts(file, atoms, 400, 600, static_cast<int>(Scaled(3000))), 2);
  }
}

// Where a window ends before it is known whether the text may be cut at its last space, that space
// is looked at again when there is more.
TEST(Stream, LooksAgainAtTheEndOfAWindow) {
  const Image& image = ImageOf(Form("normalized tokens"));
  Encoder encoder = Make(image.model(), false, 0);
  for (size_t after = 0; after < 12; ++after) {
    const std::string text = std::string(Cuts::kPartBytes - 1 - after, 'b') + ' ' +
                             std::string(2000, 'b');
    std::vector<int32_t> ids;
    ASSERT_FALSE(encoder.EncodeBegin(Options(0), Cuts::kPartBytes + 1000));
    ASSERT_EQ(encoder.EncodeFeed(text, &ids).status, RANKFEED_OK) << after;
    ASSERT_FALSE(encoder.EncodeEnd(&ids));
    EXPECT_EQ(ids, Encode(encoder, text, 0));
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

TEST(Stream, NamesWhatKeepsATextFromComingInPieces) {
  const auto obstacle = [](const Image& image, const rankfeed_encode_options& options,
                           bool off_road = false) {
    Encoder encoder = Make(image.model(), off_road, 0);
    const char* const said = rankfeed_encode_begin_obstacle(encoder.get(), &options);
    const Error error = encoder.EncodeBegin(options);
    const std::string message = "encoder: texts cannot come in pieces: ";
    EXPECT_EQ(error.status, said != nullptr ? RANKFEED_E_UNSUPPORTED : RANKFEED_OK);
    EXPECT_EQ(error.message, said != nullptr ? message + said : "");
    return std::string(said != nullptr ? said : "");
  };
  const rankfeed_encode_options none = Options(0);
  EXPECT_EQ(obstacle(ImageOf(Form("A")), none), "");
  EXPECT_EQ(obstacle(ImageOf(Form("A")), none, /*off_road=*/true), "no fast road");
  EXPECT_EQ(obstacle(ImageOf(Form("SentencePiece no prefix")), none),
            "add_dummy_prefix=false and remove_extra_whitespaces=true");
  rankfeed_encode_options bos = none;
  bos.sp_extra[0] = RANKFEED_SP_BOS;
  EXPECT_EQ(obstacle(ImageOf(Form("SentencePiece")), bos), "sp_extra");

  json file = Form("every space").tokenizer();
  json strip = kStripRight;
  strip["strip_left"] = true;
  file["normalizer"] = strip;
  EXPECT_EQ(obstacle(Image(file), none),
            "normalizer, Strip, with a Metaspace that is not \"always\"");
  file["normalizer"] = nullptr;
  // 17 tokens in front of the text.
  const json bos_token = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  json single(17, bos_token), pair = single;
  single.push_back(first);
  pair.push_back(first);
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 0}}}});
  file["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", single},
      {"pair", pair},
      {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}}}}};
  const Image many(file);
  EXPECT_EQ(obstacle(many, none), "");
  EXPECT_EQ(obstacle(many, Options(RANKFEED_ADD_SPECIAL_TOKENS)),
            "special tokens of a template with several texts, or more than 16 of them in a row");
  file["post_processor"] = nullptr;
  AddNormalizedToken(file, "\u00e9");
  EXPECT_EQ(obstacle(Image(file), none), "added tokens with normalized=true");
  file["pre_tokenizer"] = Type("Whitespace");
  EXPECT_EQ(obstacle(Image(file), none), "pre-tokenizer, Whitespace");

  EXPECT_EQ(rankfeed_encode_begin_obstacle(nullptr, &none), nullptr);
  Encoder encoder = Make(ImageOf(Form("A")).model(), false, 0);
  EXPECT_EQ(rankfeed_encode_begin_obstacle(encoder.get(), &bos), nullptr);
}

size_t Resident() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// A text of RANKFEED_STREAM_BYTES (32 MB without it) needs no more memory than its window and what
// every encoder has; 1 GB is the long test's.
TEST(Stream, MemoryDoesNotGrowWithTheText) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  const char* const given = std::getenv("RANKFEED_STREAM_BYTES");
  const size_t bytes = given != nullptr ? std::strtoull(given, nullptr, 10) : 32 << 20;
  for (const char* const name : {"A", "SentencePiece", "normalized tokens of words"}) {
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
