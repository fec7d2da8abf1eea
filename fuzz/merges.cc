// SPDX-License-Identifier: MIT
// fuzz/merges.cc: the merges of BPE words.
//   ranked   any merges, in the tables that the builder makes of them: a word has the tokens that a search
//            for the least (rank, place) among its pairs gives.
//   hostile  tables that the verifier lets pass, whatever they lead to: a word of any length keeps its
//            bytes, and the loops end.
// An execution is one word.
#include <map>

#include "builder/models/bpe/merge_tables.h"
#include "fast/kernels/kernels.h"
#include "input.h"
#include "models/bpe/merge.h"
#include "target.h"

namespace rankfeed::fuzz {
namespace {

struct Word {
  std::vector<uint32_t> ids, sizes;
};

Word DrawWord(Input& in, uint32_t ids) {
  Word word;
  const size_t size = in.OneIn(4) ? in.Below(400) : in.Below(70);
  const size_t period = 1 + in.Below(8);  // words of few letters have the most merges
  for (size_t i = 0; i < size; ++i) {
    const bool again = i >= period && in.empty();
    const uint32_t id = again ? word.ids[i - period] : static_cast<uint32_t>(in.Below(ids));
    word.ids.push_back(!again && in.OneIn(64) ? id | bpe::kFrozen : id);
    word.sizes.push_back(1 + static_cast<uint32_t>(i % 3));
  }
  return word;
}

void Merge(const image::MergeTables& tables, Word* word) {
  const auto count = static_cast<uint32_t>(word->ids.size());
  std::vector<uint64_t> work(size_t{bpe::Merger::kWorkPerSymbol} * count);
  const uint32_t left = bpe::Merger(tables).Merge(word->ids.data(), word->sizes.data(), count, work.data());
  FUZZ_ASSERT(left <= count && (left != 0 || count == 0));
  word->ids.resize(left);
  word->sizes.resize(left);
}

// A word merged as the words of a batch are has the same ids with every instruction set.
void InTurn(const image::MergeTables& tables, const std::vector<uint32_t>& word, const std::vector<uint32_t>& expected) {
  if (word.size() > fast::kMergeSymbols || !tables.ranks.empty()) return;
  for (uint8_t isa = 0; isa < fast::kIsaCount; ++isa) {
    const fast::KernelTable* const kernels = fast::KernelsOf(fast::Isa{isa});
    if (kernels == nullptr) continue;
    constexpr uint32_t kWords = 8;  // more than take turns at once
    std::vector<uint32_t> ids;
    std::vector<fast::MergeWord> words;
    for (uint32_t i = 0; i < kWords; ++i) {
      words.push_back({static_cast<uint32_t>(ids.size()), static_cast<uint16_t>(word.size()), 0, false});
      ids.insert(ids.end(), word.begin(), word.end());
    }
    kernels->merge(bpe::Merger(tables), ids.data(), words.data(), kWords);
    for (const fast::MergeWord& of : words) {
      FUZZ_ASSERT(std::equal(expected.begin(), expected.end(), ids.begin() + of.begin, ids.begin() + of.begin + of.count));
    }
  }
}

void Ranked(Input& in) {
  const auto ids = static_cast<uint32_t>(1 + in.Below(24));
  std::vector<builder::MergeSpec> merges;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>> of;
  const bool shares = in.OneIn(2);
  uint32_t rank = 0;
  for (size_t n = in.Below(100); n > 0; --n) {
    const auto id = [&] { return static_cast<uint32_t>(in.Below(ids)); };
    const builder::MergeSpec merge{id(), id(), id(), rank};
    merges.push_back(merge);
    of[{merge.left, merge.right}] = {rank, merge.product};
    rank += shares ? static_cast<uint32_t>(in.Below(2)) : 1;
  }
  const builder::MergeSections sections = builder::MakeMergeSections(merges);
  Word word = DrawWord(in, ids), expected = word;
  for (;;) {
    auto best = of.end();
    size_t place = 0;
    for (size_t i = 0; i + 1 < expected.ids.size(); ++i) {
      const auto found = of.find({expected.ids[i], expected.ids[i + 1]});
      if (found == of.end() || (best != of.end() && best->second.first <= found->second.first)) continue;
      best = found, place = i;
    }
    if (best == of.end()) break;
    const auto next = static_cast<ptrdiff_t>(place) + 1;
    expected.ids[place] = best->second.second;
    expected.sizes[place] += expected.sizes[place + 1];
    expected.ids.erase(expected.ids.begin() + next);
    expected.sizes.erase(expected.sizes.begin() + next);
  }
  const image::MergeTables tables{sections.factors, sections.slots, sections.merges, sections.ranks};
  const std::vector<uint32_t> begun = word.ids;
  Merge(tables, &word);
  InTurn(tables, begun, word.ids);
  FUZZ_ASSERT(word.ids == expected.ids && word.sizes == expected.sizes);
}

void Hostile(Input& in) {
  const auto ids = static_cast<uint32_t>(1 + in.Below(24));
  std::vector<uint16_t> factors(size_t{2} << in.Below(4));
  std::vector<uint32_t> slots(size_t{2} << in.Below(6)), ranks;
  std::vector<uint64_t> merges(in.Below(20));
  const auto id = [&] { return static_cast<uint32_t>(in.Below(ids)); };
  for (uint64_t& merge : merges) merge = image::PackMerge(id(), id(), id());
  for (uint16_t& factor : factors) factor = static_cast<uint16_t>(in.U16());
  const uint32_t mask = image::MergeNumberMask(merges.size());
  // Tags that pairs have, so that many find a merge, their own or another's.
  for (uint32_t& slot : slots) {
    const uint32_t tag = image::MergeTag(image::MergeHash(id(), id()), mask);
    slot = merges.empty() || in.OneIn(3) ? image::kNoMerge : tag | static_cast<uint32_t>(in.Below(merges.size()));
  }
  if (in.OneIn(2)) {
    for (uint32_t i = 0; i < merges.size(); ++i) ranks.push_back(static_cast<uint32_t>(in.Below(i + 1)));
  }
  Word word = DrawWord(in, ids);
  uint64_t bytes = 0, kept = 0;
  for (const uint32_t size : word.sizes) bytes += size;
  const std::vector<uint32_t> begun = word.ids;
  Merge({factors, slots, merges, ranks}, &word);
  InTurn({factors, slots, merges, ranks}, begun, word.ids);
  for (const uint32_t size : word.sizes) kept += size;
  for (const uint32_t left : word.ids) FUZZ_ASSERT((left & ~bpe::kFrozen) < ids);
  FUZZ_ASSERT(kept == bytes);
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  ++counters.executions;
  in.U8() % 2 == 0 ? Ranked(in) : Hostile(in);
}

void Generate(Random& random, Bytes* input) { *input = RandomBytes(random, 2 + random.Below(600)); }

const Register registered({"merges", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
