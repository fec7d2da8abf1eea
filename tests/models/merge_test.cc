// SPDX-License-Identifier: MIT
// Merges of words against a search for the least (rank, place) in a list of pairs, on tables of any
// kind: products that take part in cheaper merges, pairs that are there twice, ranks that several share.
#include "models/bpe/merge.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "base/byte_alphabet.h"
#include "builder/base/code_points.h"
#include "builder/base/model_spec.h"
#include "builder/models/bpe/merge_tables.h"
#include "builder/models/bpe/quiet_characters.h"
#include "fast/kernels/kernels.h"
#include "models/bpe/byte_symbols.h"
#include "support/sanitizers.h"

namespace rankfeed::bpe {
namespace {

using builder::MergeSections;
using builder::MergeSpec;
using Ids = std::vector<uint32_t>;

struct Merged {
  Ids ids, sizes;
  bool operator==(const Merged&) const = default;
};

class Table {
 public:
  explicit Table(std::vector<MergeSpec> merges) : sections_(builder::MakeMergeSections(merges)) {
    for (const MergeSpec& m : merges) of_[{m.left, m.right}] = {m.rank, m.product};
  }

  Merged Run(Ids ids) const {
    Ids sizes(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) sizes[i] = 1 + ids[i] % 3;
    std::vector<uint64_t> work(Merger::kWorkPerSymbol * ids.size());
    const Merger merger({sections_.factors, sections_.slots, sections_.merges, sections_.ranks});
    const uint32_t left = merger.Merge(ids.data(), sizes.data(), static_cast<uint32_t>(ids.size()), work.data());
    ids.resize(left), sizes.resize(left);
    return {ids, sizes};
  }

  Merged Expected(Ids ids) const {
    Ids sizes(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) sizes[i] = 1 + ids[i] % 3;
    for (;;) {
      auto best = of_.end();
      size_t place = 0;
      for (size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto found = of_.find({ids[i], ids[i + 1]});
        if (found == of_.end() || (best != of_.end() && best->second.first <= found->second.first)) continue;
        best = found, place = i;
      }
      if (best == of_.end()) return {ids, sizes};
      ids[place] = best->second.second;
      sizes[place] += sizes[place + 1];
      ids.erase(ids.begin() + static_cast<ptrdiff_t>(place) + 1);
      sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(place) + 1);
    }
  }

  // The same of several words in turn, without sizes.
  std::vector<Ids> RunInTurn(const fast::KernelTable& kernels, const std::vector<Ids>& of) const {
    Ids ids;
    std::vector<fast::MergeWord> words;
    for (const Ids& word : of) {
      words.push_back({static_cast<uint32_t>(ids.size()), static_cast<uint16_t>(word.size()), 7, true});
      ids.insert(ids.end(), word.begin(), word.end());
    }
    const Merger merger({sections_.factors, sections_.slots, sections_.merges, sections_.ranks});
    kernels.merge(merger, ids.data(), words.data(), static_cast<uint32_t>(words.size()));
    std::vector<Ids> out;
    for (const fast::MergeWord& word : words) {
      EXPECT_TRUE(word.segment == 7 && word.gaps);
      out.emplace_back(ids.begin() + word.begin, ids.begin() + word.begin + word.count);
    }
    return out;
  }

  const MergeSections& sections() const { return sections_; }

 private:
  MergeSections sections_;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>> of_;
};

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Ids Word(uint32_t letters, uint32_t size) {
    Ids word(size);
    for (uint32_t& id : word) id = Below(letters);
    return word;
  }
  // Merges whose products are strings: letters are ids 0.., each string has one id. Ranks in any order.
  std::vector<MergeSpec> Strings(uint32_t letters, uint32_t count, bool share) {
    std::map<std::string, uint32_t> id_of;
    std::vector<std::string> strings;
    for (uint32_t i = 0; i < letters; ++i) {
      strings.push_back(std::string(1, static_cast<char>('a' + i)));
      id_of[strings.back()] = i;
    }
    std::vector<MergeSpec> merges;
    for (uint32_t i = 0; i < count; ++i) {
      const auto n = static_cast<uint32_t>(strings.size());
      const uint32_t left = Below(n), right = Below(n);
      const std::string product = strings[left] + strings[right];
      const auto [at, fresh] = id_of.try_emplace(product, n);
      if (fresh) strings.push_back(product);
      merges.push_back({left, right, at->second, 0});
    }
    std::shuffle(merges.begin(), merges.end(), random_);
    uint32_t rank = Below(5);
    for (MergeSpec& m : merges) m.rank = rank, rank += share ? Below(2) : 1;
    return merges;
  }
  // Merges of any ids to any ids.
  std::vector<MergeSpec> Any(uint32_t ids, uint32_t count) {
    std::vector<MergeSpec> merges;
    for (uint32_t i = 0; i < count; ++i) merges.push_back({Below(ids), Below(ids), Below(ids), i});
    return merges;
  }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

TEST(Merge, OrderAndPlaces) {
  // a, b, c = 0, 1, 2
  const Table later_counts({{0, 1, 3, 0}, {1, 2, 4, 1}, {0, 1, 3, 2}});
  EXPECT_EQ(later_counts.Run({0, 1, 2}).ids, (Ids{0, 4}));
  const Table first_wins({{0, 1, 3, 0}, {1, 2, 4, 1}});
  EXPECT_EQ(first_wins.Run({0, 1, 2}).ids, (Ids{3, 2}));
  const Table letters({{0, 0, 3, 0}});
  EXPECT_EQ(letters.Run({0, 0, 0, 0, 0}).ids, (Ids{3, 3, 0}));
  EXPECT_EQ(letters.Run({0, 0, 0, 0, 0}).sizes, (Ids{2, 2, 1}));
  EXPECT_EQ(letters.Run({}).ids, Ids{});
  EXPECT_EQ(letters.Run({0}).ids, Ids{0});
  const Table equal_ranks({{1, 2, 4, 7}, {0, 1, 3, 7}});
  EXPECT_EQ(equal_ranks.Run({0, 1, 2}).ids, (Ids{3, 2}));
  const Table none({});
  EXPECT_EQ(none.Run({0, 1, 2, 0}).ids, (Ids{0, 1, 2, 0}));
  EXPECT_EQ(none.Run(Ids(100, 1)).ids, Ids(100, 1));
}

TEST(Merge, FrozenSymbolsStay) {
  const Table table({{0, 0, 1, 0}, {0x800, 0, 2, 1}, {0, 0x800, 3, 2}});
  const uint32_t frozen = kFrozen | 0;
  EXPECT_EQ(table.Run({0, frozen, 0, 0, frozen, 0}).ids, (Ids{0, frozen, 1, frozen, 0}));
  Ids ids, expected;
  for (uint32_t i = 0; i < 100; ++i) ids.insert(ids.end(), {0, 0, frozen}), expected.insert(expected.end(), {1, frozen});
  EXPECT_EQ(table.Run(ids).ids, expected);
}

TEST(Merge, RandomStrings) {
  Draw draw(1);
  for (uint32_t round = 0; round < Scaled(1000); ++round) {
    const uint32_t letters = 1 + draw.Below(3);
    const Table table(draw.Strings(letters, 1 + draw.Below(round % 2 == 0 ? 12 : 60), round % 3 == 0));
    for (uint32_t k = 0; k < 10; ++k) {
      const Ids word = draw.Word(letters, k < 8 ? draw.Below(66) : 65 + draw.Below(200));
      ASSERT_EQ(table.Run(word), table.Expected(word)) << "round " << round << " word " << k;
    }
  }
}

TEST(Merge, RandomIds) {
  Draw draw(2);
  for (uint32_t round = 0; round < Scaled(700); ++round) {
    const uint32_t ids = 1 + draw.Below(20);
    const Table table(draw.Any(ids, 1 + draw.Below(ids * ids)));
    for (uint32_t k = 0; k < 10; ++k) {
      const Ids word = draw.Word(ids, k < 8 ? draw.Below(66) : 65 + draw.Below(200));
      ASSERT_EQ(table.Run(word), table.Expected(word)) << "round " << round << " word " << k;
    }
  }
}

// Tags have 11 bits here, so that pairs without a merge often find a slot of another.
TEST(Merge, ManyMergesFewTags) {
  Draw draw(3);
  constexpr uint32_t kIds = 3000;
  const Table table(draw.Any(kIds, 1'100'000));
  for (uint32_t k = 0; k < Scaled(300); ++k) {
    const Ids word = draw.Word(kIds, k % 30 != 0 ? draw.Below(66) : 65 + draw.Below(100));
    ASSERT_EQ(table.Run(word), table.Expected(word)) << "word " << k;
  }
}

// As words of a batch are merged, with every instruction set.
TEST(Merge, WordsInTurn) {
  Draw draw(5);
  uint32_t merged = 0;
  for (uint32_t round = 0; round < Scaled(1000); ++round) {
    const uint32_t letters = 1 + draw.Below(3), any = 1 + draw.Below(20);
    const bool strings = round % 2 == 0;
    const Table table(strings ? draw.Strings(letters, 1 + draw.Below(60), false) : draw.Any(any, 1 + draw.Below(any * any)));
    std::vector<Ids> words, expected;
    for (uint32_t count = draw.Below(40); count > 0; --count) {
      words.push_back(draw.Word(strings ? letters : any, draw.Below(fast::kMergeSymbols + 1)));
      expected.push_back(table.Expected(words.back()).ids);
      merged += words.back().size() != expected.back().size();
    }
    for (uint8_t isa = 0; isa < fast::kIsaCount; ++isa) {
      const fast::KernelTable* const kernels = fast::KernelsOf(fast::Isa{isa});
      if (kernels == nullptr) continue;
      ASSERT_EQ(table.RunInTurn(*kernels, words), expected)
          << fast::IsaName(fast::Isa{isa}) << " round " << round;
    }
  }
  EXPECT_GT(merged, Scaled(1000));
}

TEST(Merge, OnePairAMillionTimes) {
  std::vector<MergeSpec> merges;
  for (uint32_t i = 0; i < 1'000'000; ++i) merges.push_back({0, 1, 2, i});
  const Table table(merges);
  EXPECT_EQ(table.sections().merges.size(), 1u);
  EXPECT_EQ(table.Run({0, 1, 1}).ids, (Ids{2, 1}));
}

// Products of doubled letters, as far as 2^k letters: the most merges that a word can have.
TEST(Merge, LongWordOfOneLetter) {
  std::vector<MergeSpec> merges;
  for (uint32_t k = 0; k < 10; ++k) merges.push_back({k, k, k + 1, k});
  const Table table(merges);
  const Merged out = table.Run(Ids(256 * 1024 + 5, 0));
  Ids expected(256, 10);
  expected.insert(expected.end(), {2, 0});
  EXPECT_EQ(out.ids, expected);
}

// A model whose tokens are bytes and what random merges make of them, with ids and characters of its own.
class ByteModel {
 public:
  ByteModel(Draw& draw, std::span<const std::string> chars, uint32_t count) {
    std::vector<std::string> bytes;
    std::map<std::string, uint32_t> id_of;
    for (uint32_t b = 0; b < 256; ++b) {
      byte_ids_.push_back(b);
      bytes.push_back(std::string(1, static_cast<char>(b)));
      id_of[bytes.back()] = b;
    }
    std::vector<MergeSpec> merges;
    // Parts of texts: cut anywhere, so that some are parts of characters.
    while (merges.size() < count) {
      std::string text;
      for (uint32_t n = 1 + draw.Below(3); n > 0; --n) text += chars[draw.Below(static_cast<uint32_t>(chars.size()))];
      std::vector<uint32_t> ids;
      for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
      for (uint32_t steps = 1 + draw.Below(static_cast<uint32_t>(text.size())); steps > 0 && ids.size() > 1; --steps) {
        const uint32_t at = draw.Below(static_cast<uint32_t>(ids.size()) - 1);
        const std::string product = bytes[ids[at]] + bytes[ids[at + 1]];
        const auto [found, fresh] = id_of.try_emplace(product, static_cast<uint32_t>(bytes.size()));
        if (fresh) bytes.push_back(product);
        merges.push_back({ids[at], ids[at + 1], found->second, 0});
        ids[at] = found->second;
        ids.erase(ids.begin() + at + 1);
      }
    }
    if (draw.Below(2) == 0) std::shuffle(merges.begin(), merges.end(), draw.random());
    for (uint32_t i = 0; i < merges.size(); ++i) merges[i].rank = i;
    sections_ = builder::MakeMergeSections(merges);
    pieces_.push_back(0);
    for (const std::string& b : bytes) {
      for (const char c : b) builder::AppendUtf8(kByteAlphabet.chars[static_cast<uint8_t>(c)], &strings_);
      pieces_.push_back(static_cast<uint32_t>(strings_.size()));
    }
    model_.config.emplace();
    model_.config->id_count = static_cast<uint32_t>(bytes.size());
    model_.strings = strings_;
    model_.id_pieces = pieces_;
    model_.byte_ids = byte_ids_;
    model_.merges = {sections_.factors, sections_.slots, sections_.merges, sections_.ranks};
    quiet_ = builder::MakeQuietCharacters(model_);
    const auto of = [&]<class T>(size_t i, T) {
      return std::span(reinterpret_cast<const T*>(quiet_[i].bytes().data()), quiet_[i].bytes().size() / sizeof(T));
    };
    const auto data = of(1, image::QuietCharacter{});
    model_.quiet = {of(0, uint16_t{}).data(), data.data(), data.size()};
    model_.crossings = of(2, uint32_t{});
  }

  const Model& model() const { return model_; }

 private:
  std::vector<uint32_t> byte_ids_, pieces_;
  std::string strings_;
  MergeSections sections_;
  std::vector<builder::SectionData> quiet_;
  Model model_{};
};

// Words that begin as quiet characters have the tokens of those that begin as bytes.
TEST(ByteSymbols, SameTokensAsBytes) {
  Draw draw(4);
  uint32_t quiet = 0, all = 0;
  for (uint32_t round = 0; round < Scaled(100); ++round) {
    const std::string pool[] = {"a", " ", "\u00e9", "\u00e8", "\u0434", "\u0436", "\u4e2d", "\u4e2e", "\u4f2d", "\U0001f600"};
    const uint32_t first = draw.Below(8), chars = 2 + draw.Below(static_cast<uint32_t>(std::size(pool)) - first - 1);
    const std::span<const std::string> some(pool + first, chars);
    const ByteModel model(draw, some, 1 + draw.Below(60));
    const ByteSymbols symbols(model.model());
    const Merger merger(model.model().merges);
    for (uint32_t k = 0; k < 100; ++k) {
      std::string word(draw.Below(3) == 0 ? " " : "");
      for (uint32_t n = draw.Below(12); n > 0; --n) word += some[draw.Below(chars)];
      const auto size = static_cast<uint32_t>(word.size());
      Ids bytes(size), ids(size), byte_sizes(size, 1), sizes(size);
      for (uint32_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(word[i]);
      const uint32_t begin = symbols.Make(word, ids.data(), sizes.data());
      quiet += size - begin, all += size;
      const uint32_t count = merger.Merge(ids.data(), sizes.data(), begin, nullptr);
      const uint32_t expected = merger.Merge(bytes.data(), byte_sizes.data(), size, nullptr);
      ids.resize(count), sizes.resize(count), bytes.resize(expected), byte_sizes.resize(expected);
      ASSERT_EQ(ids, bytes) << "round " << round << " word " << word;
      ASSERT_EQ(sizes, byte_sizes);
    }
  }
  EXPECT_GT(quiet, all / 20);
}

TEST(MergeSections, Limits) {
  EXPECT_THROW(builder::MakeMergeSections({{1 << 20, 0, 1, 0}}), builder::BuildError);
  EXPECT_THROW(builder::MakeMergeSections({{0, 1, 1 << 20, 0}}), builder::BuildError);
  const MergeSections most = builder::MakeMergeSections({{(1 << 20) - 1, 0, 1, 0}});
  EXPECT_EQ(most.merges, (std::vector<uint64_t>{image::PackMerge((1 << 20) - 1, 0, 1)}));
  EXPECT_TRUE(most.ranks.empty());
  // Numbers follow the merges that are left, ranks are the first of those that share one.
  const MergeSections shared =
      builder::MakeMergeSections({{0, 1, 5, 3}, {0, 2, 5, 3}, {0, 1, 5, 9}, {0, 3, 6, 9}, {0, 4, 6, 10}});
  EXPECT_EQ(shared.ranks, (Ids{0, 1, 1, 3}));
}

}  // namespace
}  // namespace rankfeed::bpe
