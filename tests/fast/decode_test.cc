// SPDX-License-Identifier: MIT
// Text that is cut where no piece crosses: the fast path against the general path, for random
// vocabularies of few characters, so that parts of every length, unknown characters, ties and
// neighbours of other scripts all occur.
#include "fast/decode.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "fast/word_forms.h"
#include "reference/sp_model_proto.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

// Han, kana and Hangul, a fullwidth letter and comma that normalize to one character, a ligature
// that does to two, and characters of other scripts; the last three are in no piece.
const std::vector<std::string> kCharacters = {
    "\u4e00", "\u4e01", "\u4e02", "\u4e03", "\u3042", "\u30a2", "\uac00", "\uff21", "\uff0c",
    "\ufb01", "a", "f", "i", ",", "7", "\u0e01", "\u0e02", "\u00e9", "\u9999", "\u9998", "\u0e2f"};
constexpr size_t kKnown = 18;

struct Vocabulary {
  json pieces = json::array();
  std::set<std::string> known;
  void Add(const std::string& text, double score) {
    if (known.insert(text).second) pieces.push_back({text, score});
  }
};

// Scores are multiples of step: with a quarter many paths tie, with a tenth rounding decides.
Vocabulary Random(std::mt19937& random, double step = 0.25) {
  const auto below = [&](size_t n) { return random() % n; };
  Vocabulary v;
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) v.Add(special, 0);
  v.Add("\u2581", -2.5);
  const auto score = [&] { return -step * static_cast<double>(1 + below(60)); };
  const auto normalized = [&] {  // never a character that the charsmap changes
    const std::string& c = kCharacters[below(kKnown)];
    return c == "\uff21" || c == "\uff0c" || c == "\ufb01" ? std::string("\u4e00") : c;
  };
  for (size_t i = 0; i < kKnown; ++i) {
    if (below(6) != 0) v.Add(kCharacters[i], score());  // the others may be in longer pieces
  }
  for (size_t count = 10 + below(120); count > 0; --count) {
    std::string text(below(4) == 0 ? "\u2581" : "");
    for (size_t size = 1 + below(below(3) == 0 ? 6 : 2); size > 0; --size) text += normalized();
    v.Add(text, score());
  }
  return v;
}

// space: whether U+2581 is a piece of its own, as it has to be for SentencePiece.
std::string HuggingFaceFile(const Vocabulary& v, bool space) {
  json file = Form("B").tokenizer();
  file["model"]["vocab"] = v.pieces;
  for (json& piece : file["model"]["vocab"]) {
    if (!space && piece[0] == "\u2581") piece[0] = "\u2581xyz";
  }
  return file.dump();
}

std::string SentencePieceFile(const Vocabulary& v) {
  sp_test::ModelProto model;
  model.AddSpecials();
  for (const json& piece : v.pieces) {
    if (piece[0].get<std::string>()[0] == '<') continue;  // HuggingFace's own
    model.Add(piece[0], piece[1].get<float>());
  }
  model.normalizer.charsmap = sp_test::CharsmapOf(DefaultModel());
  return sp_test::Serialize(model);
}

std::string RandomText(std::mt19937& random, size_t most = 120) {
  static const std::vector<std::string> kBetween = {" ", "\u3000", "  ", "\u3001", "\u3099"};
  std::string text;
  const size_t letters = 2 + random() % (kCharacters.size() - 2);
  for (size_t size = random() % most; size > 0; --size) {
    const uint32_t what = random() % 64;
    text += what < 2 ? kBetween[random() % kBetween.size()] : kCharacters[random() % letters];
  }
  return text;
}

// Few words, each of them several times: most are repeats within a batch. Many begin like another.
std::string RepeatedWords(std::mt19937& random) {
  std::vector<std::string> words(1 + random() % 6);
  for (std::string& word : words) {
    if (random() % 2 == 0) word = words[0];  // the same begin
    for (size_t size = 1 + random() % 9; size > 0; --size) {
      word += kCharacters[random() % kCharacters.size()];
    }
  }
  std::string text;
  for (size_t count = random() % 60; count > 0; --count) {
    text += words[random() % words.size()] + (random() % 16 == 0 ? "" : " ");
  }
  return text;
}

void Compare(const std::string& file, std::mt19937& random, size_t* ones, size_t* twos) {
  const Image image(file);
  const rankfeed_model& model = *image.model();
  ASSERT_TRUE(model.segment.config);
  for (const image::SpanEntry& part : model.segment.spans) {
    *ones += part.codes != 0 && part.codes >> 16 == 0;
    *twos += part.codes >> 16 != 0;
  }
  Encoder plain = Make(image.model(), true, 0);
  Encoder none = Make(image.model(), false, 0);
  Encoder large = Make(image.model(), false, 1 << 18);
  for (int i = 0; i < 500; ++i) {
    const std::string text = i % 2 == 0 ? RandomText(random) : RepeatedWords(random);
    const std::vector<int32_t> expected = Encode(plain, text, 0);
    ASSERT_EQ(Encode(none, text, 0), expected) << testing::PrintToString(text);
    ASSERT_EQ(Encode(large, text, 0), expected) << testing::PrintToString(text);
  }
}

TEST(Decode, PartsEqualThePlainPathForRandomVocabularies) {
  const size_t rounds = Scaled(30, 6);
  std::mt19937 random(23);
  size_t ones = 0, twos = 0;
  for (size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const Vocabulary v = Random(random);
    Compare(HuggingFaceFile(v, round % 2 == 0), random, &ones, &twos);
    Compare(SentencePieceFile(v), random, &ones, &twos);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ones, rounds * 10);
  EXPECT_GT(twos, rounds * 10);
}

// Runs longer than a search has room for, of characters that pieces hold in any order, so that no
// place is known to part them at: with unknown characters, some that become several, marks, and
// now and then a space; sums far enough to be rebased.
TEST(Decode, RunsWithoutAPlaceToPartThem) {
  std::mt19937 random(53);
  const size_t rounds = Scaled(24, 6);
  size_t left_texts = 0;
  for (size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    constexpr double kSteps[] = {0.25, 0.1, 1.7};
    const double step = kSteps[round % 3];
    Vocabulary v = Random(random, step);
    const auto score = [&] { return -step * static_cast<double>(1 + random() % 60); };
    std::vector<std::string> letters;
    for (size_t count = 1 + random() % 4; count > 0; --count) {
      letters.push_back(kCharacters[random() % kCharacters.size()]);
    }
    if (random() % 2 == 0) letters.push_back("\u33af");  // rad/s2
    if (random() % 4 == 0) letters.push_back("\u3088\u3099");
    std::vector<std::string> parts = {"r", "d", "s", "2"};
    for (const std::string& letter : letters) {
      if (letter < "\u33af" && letter != "\ufb01") parts.push_back(letter);
    }
    for (const std::string& a : parts) {
      for (const std::string& b : parts) {
        if (random() % 40 != 0) v.Add(a + b, score());
        if (random() % 8 == 0) v.Add(a + b + parts[random() % parts.size()] + b, score());
      }
    }
    const bool huggingface = round % 2 == 0;
    const Image image(huggingface ? HuggingFaceFile(v, round % 4 == 0) : SentencePieceFile(v));
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 1 << 16);
    for (int i = 0; i < 12; ++i) {
      std::string text;
      for (size_t size = 2000 + random() % 60000, rare = 20 + random() % 9000;
           text.size() < size;) {
        text += random() % rare == 0 ? kCharacters[random() % kCharacters.size()] : "";
        text += random() % rare == 0 ? " " : random() % rare == 0 ? "\u3099" : "";
        text += letters[random() % letters.size()];
      }
      const std::vector<int32_t> expected = Encode(plain, text, 0);
      const std::vector<int32_t> ids = Encode(fast, text, 0);
      const auto [at, other] =
          std::mismatch(ids.begin(), ids.end(), expected.begin(), expected.end());
      ASSERT_TRUE(ids == expected) << i << ": token " << at - ids.begin() << " of " << ids.size()
                                   << " and " << expected.size();
    }
    const RoadCounts roads = fast.Roads();
    left_texts += roads[RANKFEED_REASON_LENGTH].texts;
  }
  EXPECT_GT(left_texts, rounds * 2);
}

// Two words of one slot that differ in each part of their keys in turn.
TEST(Decode, WordsOfOneSlotAreNotRepeats) {
  const Image& image = ImageOf(Form("SentencePiece"));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 0);
  const auto slot = [](const std::string& word) {
    const auto size = static_cast<uint32_t>(word.size());
    const auto key = fast::SegmentKey::Make(word.data(), size, fast::SegmentKey::Tag(size, true));
    return key.Hash() % fast::kRepeatSlots;
  };
  for (const size_t at : {0, 7, 15, 23}) {  // a part begins there
    std::string first(28, 'q'), second;
    for (uint32_t n = 1; second.empty(); ++n) {
      std::string word = first;
      for (uint32_t k = 0; k < 4; ++k) word[at + k] = static_cast<char>('a' + (n >> 4 * k & 15));
      if (word != first && slot(word) == slot(first)) second = word;
    }
    std::string text;
    for (int i = 0; i < 20; ++i) text += " " + (i % 3 == 0 ? second : first);
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << second;
  }
}

// Sums that have to be made as SentencePiece makes them, and HuggingFace within words, over unknown
// tokens of one character and of several, more of these than are remembered.
TEST(Decode, SumsOverUnknownTokens) {
  std::mt19937 random(31);
  for (int round = 0; round < static_cast<int>(Scaled(20, 8)); ++round) {
    const Vocabulary v = Random(random, 0.1);
    const Image image(round % 2 == 0 ? SentencePieceFile(v) : HuggingFaceFile(v, round % 4 == 1));
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 1 << 16);
    std::vector<std::string> texts(20);
    for (std::string& text : texts) {
      for (size_t words = 1 + random() % 300; words > 0; --words) {
        const uint32_t unknown = random() % 4;
        for (uint32_t k = random() % 4; k > 0; --k) text += kCharacters[random() % kKnown];
        for (uint32_t k = 0; k < unknown; ++k) text += kCharacters[kKnown + random() % 3];
        text += RandomText(random, 4) + (random() % 3 == 0 ? "" : " ");
      }
    }
    // Together, so that what is remembered of one text must not reach the next.
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const rankfeed_encode_options options{sizeof(options), 0};
    std::vector<int32_t> ids;
    std::vector<uint32_t> cu_seqlens;
    ASSERT_FALSE(fast.EncodeBatch(views, options, &ids, &cu_seqlens));
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<int32_t> own(ids.begin() + cu_seqlens[i], ids.begin() + cu_seqlens[i + 1]);
      ASSERT_EQ(own, Encode(plain, texts[i], 0)) << testing::PrintToString(texts[i]);
    }
  }
}

// The same of HuggingFace, where they begin anew with every word: words of many parts, with paths
// that tie but for rounding.
TEST(Decode, SumsWithinWords) {
  std::mt19937 random(37);
  for (int round = 0; round < static_cast<int>(Scaled(20, 6)); ++round) {
    const Vocabulary v = Random(random, 0.1);
    const Image image(HuggingFaceFile(v, true));
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 1 << 16);
    for (int i = 0; i < 400; ++i) {
      std::string text;
      for (size_t size = random() % 80; size > 0; --size) {
        text += random() % 12 == 0 ? " " : kCharacters[random() % (kKnown - 3)];
      }
      const std::vector<int32_t> expected = Encode(plain, text, 0);
      ASSERT_EQ(Encode(fast, text, 0), expected) << testing::PrintToString(text);
    }
  }
}

// Unknown characters next to each other are one token, after a span that is long enough to be cut
// too: one of them is the last one of an expansion (U+337F becomes four Han), a character stands
// between them that vanishes (U+0004), or the second is ASCII.
TEST(Decode, FuseUnknownCharactersThatBecomeNeighbours) {
  Vocabulary v;
  for (const char* const known : {"\u4e00", "\u4e01", "\u5f0f", "\u2581", "a", "b"})
    v.Add(known, -2);
  for (const std::string& file : {HuggingFaceFile(v, true), SentencePieceFile(v)}) {
    const Image image(file);
    Encoder plain = Make(image.model(), true, 0);
    OnEveryIsa(image.model(), [&](Encoder& fast) {
      for (size_t size = 0; size <= 90; ++size) {
        for (const char* const fill : {"\u4e00", "a"}) {
          std::string text;
          for (size_t i = 0; i < size; ++i) text += fill;
          for (const char* const end :
               {"\u337f\u9999\u4e01", "\u9999\u337f\u9999", "\u9999\4\u9998b", "\u9999cb"}) {
            ASSERT_EQ(Encode(fast, text + end, 0), Encode(plain, text + end, 0))
                << size << fill << end;
          }
        }
      }
    });
  }
}

// Runs of every length up to several vectors, begun by a character of another kind, and behind them
// one that depends on the last of the run: a mark, or an unknown character next to an unknown one.
TEST(Decode, WhatFollowsARunSeesItsLastCharacter) {
  const std::vector<std::string> firsts = {"", "\u4e00", "\u0e01", "\u05d0", "\u0928"};
  // Characters that begin keys with marks and that do not, unknown ones, and what is replaced by one
  // and by several.
  const std::vector<std::string> lasts = {
      "\u0928", "\u0915", "\u0e01", "\u304b", "\u4e00", "\uac00",
      "\ua4d0", "\u9f98", "\u1e9b", "\uff76", "\u0e33", "\uff21"};
  const std::vector<std::string> nexts = {
      "\u093c", "\u0301", "\u3099", "\u0654", "\u200d", "\u0e33",
      "\u0307", "\ua4d1", "\u9f99", "\ufb01", "\u1161", "x"};
  for (const char* name : {"B", "SentencePiece"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    Encoder plain = Make(image.model(), true, 0);
    OnEveryIsa(image.model(), [&](Encoder& fast) {
      for (size_t size = 1; size <= 50; size += size < 34 || Scaled(2) > 1 ? 1 : 7) {
        for (const std::string& last : lasts) {
          const std::string fill = last < "\u2e80" ? "\u0915" : "\u4e00";
          std::string run;
          for (size_t i = 1; i < size; ++i) run += fill;
          run += last;
          for (const std::string& first : firsts) {
            for (const std::string& next : nexts) {
              const std::string text = first + run + next + "\u0915\u0e02 ab";
              ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0))
                  << testing::PrintToString(text);
            }
          }
        }
      }
    });
  }
}

// Characters of one to four bytes between Han, and bytes that are none: cut short, stray, overlong,
// surrogates and beyond Unicode.
TEST(Decode, MixedAndBadBytesBetweenHan) {
  const std::vector<std::string> between = {
      "7", "a", "\u00e9", "\u00b7", "\u0e01", "\u201c", "\U0001f600", "\U00020000", "\u3099",
      "\uff21", "\ufb01", "\u0301", "\u0915\u093c", "\uffff", "\u9999", "\u0416",
      "\xe4", "\xe4\xb8", "\x80", "\xb8\x80", "\xc3", "\xc1\xa1", "\xe0\x81\xa1", "\xed\xa0\x80",
      "\xf0\x9f", "\xf0\x9f\x98", "\xf0\xb8\x80", "\xf8\x88\x80\x80\x80", "\xff"};
  std::mt19937 random(41);
  for (const char* name : {"B", "SentencePiece"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    Encoder plain = Make(image.model(), true, 0);
    OnEveryIsa(image.model(), [&](Encoder& fast) {
      for (int i = 0; i < static_cast<int>(Scaled(3000)); ++i) {
        std::string text;
        const size_t kinds = 1 + random() % between.size(), rare = 2 + random() % 24;
        for (size_t size = random() % 60; size > 0; --size) {
          text += random() % rare == 0 ? between[random() % kinds] : kCharacters[random() % 4];
        }
        if (random() % 2 == 0) text += between[random() % between.size()];
        ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
      }
    });
  }
}

// Lists of codes that a forged image has for characters need not be what the normalizer makes of them.
TEST(GroupReader, WritesNoMoreCodesThanThereIsRoomFor) {
  const Image& image = ImageOf(Form("SentencePiece"));
  const NormalizedTokens tokens(*image.model());
  const fast::GroupReader::Scratch scratch;
  const fast::GroupReader reader(*image.model(), tokens, scratch);
  std::vector<uint16_t> codes(100, 0xffff);
  EXPECT_EQ(reader.CodesOf(std::string(30, 'a'), true, {codes.data(), 60}), 31u);
  EXPECT_EQ(reader.CodesOf(std::string(90, 'a'), true, {codes.data(), 60}), 0u);
  EXPECT_EQ(std::count(codes.begin() + 60, codes.end(), 0xffff), 40);
}

// Of the kernel that all short segments go through, as engines would hide it if it refused some.
TEST(Decode, ShortSegmentsAreTheSameOnEveryIsa) {
  const Image& image = ImageOf(Form("SentencePiece"));
  const rankfeed_model& model = *image.model();
  std::vector<const fast::KernelTable*> kernels;
  OnEveryIsa([&] { kernels.push_back(&fast_test::ForcedKernels()); });
  const std::vector<std::string> characters = {
      "a", "7", "~", "\u00e9", "\u0416", "\u0645", "\u0915", "\u093c", "\u0301", "\u0e01", "\u4e00",
      "\uff21", "\ufb01", "\u3000", "\uac00", "\uffff", "\u9999", "\U0001f600", "\x80", "\xe4\xb8",
      "\xc1\xa1", "\xe0\x81\xa1", "\xed\xa0\x80", "\xf0\xb8\x80", "\xff", std::string(1, '\0')};
  constexpr uint32_t kMost = fast::ShortDecode::kMaxBytes, kCount = 64;
  std::mt19937 random(43);
  size_t good = 0, bad = 0;
  for (int round = 0; round < static_cast<int>(Scaled(4000)); ++round) {
    std::vector<fast::SegmentKey> keys;
    std::vector<uint32_t> begins, ends;
    std::vector<uint16_t> numbers;
    const size_t kinds = 1 + random() % characters.size(), least = random() % kinds;
    for (uint32_t i = 0; i < kCount; ++i) {
      std::string text;
      for (size_t size = 1 + random() % (1 + random() % kMost); text.size() < size;) {
        text += characters[least + random() % (kinds - least)];
      }
      text.resize(std::min<size_t>(text.size(), kMost));
      const auto size = static_cast<uint32_t>(text.size());
      const bool word_start = random() % 2 == 0;
      text.resize(64);
      keys.push_back(fast::SegmentKey::Make(text.data(), size, fast::SegmentKey::Tag(size, word_start)));
      const uint32_t begin = ends.empty() ? 0 : ends.back();
      begins.push_back(begin | (word_start ? fast::Segments::kWordStart : 0));
      ends.push_back(begin + size);
      numbers.push_back(static_cast<uint16_t>(i));
    }
    const fast::Segments segments{begins.data(), ends.data()};
    for (uint32_t from = 0; from < kCount; ++from) {
      std::vector<uint16_t> first_codes;
      std::vector<uint32_t> first_ends;
      for (const fast::KernelTable* kernel : kernels) {
        std::vector<uint16_t> codes(kCount * (kMost + 2) + 64);
        std::vector<Span> spans(kCount);
        std::vector<fast::Decoded> out(kCount);
        fast::ShortDecode to{model.segment.char_info.data, codes.data(), spans.data(), out.data(), 0, 0,
                              kCount * (kMost + 2),  kCount,       1};
        const uint32_t done = kernel->decode_short(segments, keys.data(), numbers.data() + from,
                                                  kCount - from, &to);
        codes.resize(to.size);
        std::vector<uint32_t> all_ends = {done};
        for (uint32_t i = 0; i < done; ++i) {
          ASSERT_EQ(out[i].segment, from + i);
          ASSERT_TRUE(out[i].cacheable);
          ASSERT_EQ(spans[i].word_start, segments.word_start(from + i));
          all_ends.push_back(spans[i].end);
        }
        if (kernel == kernels[0]) {
          first_codes = codes;
          first_ends = all_ends;
        }
        ASSERT_EQ(codes, first_codes);
        ASSERT_EQ(all_ends, first_ends);
      }
      good += first_ends[0];
      bad += from + first_ends[0] != kCount;
      from += first_ends[0];
    }
  }
  EXPECT_GT(good, Scaled(4000) * 10);
  EXPECT_GT(bad, Scaled(4000));
}

TEST(Decode, EveryIsaFindsTheSameParts) {
  std::mt19937 random(29);
  const Image image(SentencePieceFile(Random(random)));
  Encoder plain = Make(image.model(), true, 0);
  OnEveryIsa(image.model(), [&](Encoder& fast) {
    for (int i = 0; i < static_cast<int>(Scaled(2000)); ++i) {
      const std::string text = i % 2 == 0 ? RandomText(random) : RepeatedWords(random);
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
    }
  });
}

}  // namespace
}  // namespace rankfeed
