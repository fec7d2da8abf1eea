// SPDX-License-Identifier: MIT
// models/bpe/merge.h: the merges of one word in a BPE model (tokenizers 0.23.3, models/bpe/word.rs;
// SentencePiece 0.2.3, bpe_model.cc).
//
// A word is a sequence of symbols, which are token ids. As long as two neighbours are the pair of some
// merge, the pair of the least rank, and of several such the leftmost, becomes the merge's product.
//
// Why both methods give the references' ids, whatever the merges are (ranks that fall along a chain of
// merges, pairs that touch the same symbol, several pairs with one product):
//
//   The references keep a queue of (rank, place) with an entry for each pair of neighbours that merges,
//   made when the pair comes into being, and take the least of the entries that are still true. A place
//   is that of the left symbol in the word as it began. So at each step they merge the least (rank,
//   place) of all pairs there are, because every pair has its entry and an entry of a pair that is gone
//   is dropped. They know such a one by the product that the pair at its place gives now: strings at a
//   place only grow, so no pair comes back to a place, and another pair there has another product.
//
//   Short words keep the (rank, place) of each pair in an array, found anew for the two pairs that a
//   merge makes, and take the least of the array: the same minimum of the same set. Long words keep the
//   queue; an entry is true if the pair at its place is that of the entry's rank now. A word of n
//   symbols merges n - 1 times at most, and each merge takes one entry and adds two, so 2 n entries are
//   enough.
//
// A look-up may give a pair that no merge has the number of a merge of another pair (image/merges.h).
// When that rank's turn comes, the pair is compared and has no rank from then on; until then it was not
// the least, so it made no difference.
#pragma once

#include <bit>
#include <cstdint>

#include "image/model.h"

namespace rankfeed::bpe {

// Marks a symbol that no merge takes, whatever its id: unknown characters and user-defined symbols of
// SentencePiece.
inline constexpr uint32_t kFrozen = uint32_t{1} << 31;

// Cheap to make, one for each call. Reads the tables, which outlive it.
class Merger {
 public:
  explicit Merger(const image::MergeTables& tables);

  static constexpr uint32_t kShortSymbols = 64;  // words of more need work
  static constexpr uint32_t kWorkPerSymbol = 2;  // elements of it

  // Merges the symbols of one word in place: ids [count], each an id of the model or kFrozen | id,
  // sizes [count], the bytes of each or whatever else the symbols of a merge have the sum of. work:
  // kWorkPerSymbol * count elements, unused by short words. Returns how many symbols are left, which still have kFrozen. O(count^2)
  // for short words, O(count log count) for others.
  uint32_t Merge(uint32_t* ids, uint32_t* sizes, uint32_t count, uint64_t* work) const {
    return count <= kShortSymbols ? MergeShort(ids, sizes, count)
                                  : MergeLong(ids, sizes, count, work);
  }

 private:
  uint32_t MergeShort(uint32_t* ids, uint32_t* sizes, uint32_t count) const;
  uint32_t MergeLong(uint32_t* ids, uint32_t* sizes, uint32_t count, uint64_t* work) const;

  // The number of a pair's merge; none_ or a number of another pair's if it has none.
  uint32_t Look(uint32_t left, uint32_t right) const {
    const uint64_t hash = image::MergeHash(left, right);
    const uint32_t factor = factors_[image::MergeBucket(hash, bucket_bits_)];
    const uint32_t slot = slots_[image::MergeSlot(hash, factor, slot_bits_)];
    return ((slot ^ image::MergeTag(hash, none_)) & ~none_) == 0 ? slot & none_ : none_;
  }
  // The number of a pair's merge, none_ if it has none.
  uint32_t Find(uint32_t left, uint32_t right) const {
    const uint32_t number = Look(left, right);
    return number != none_ && IsPair(number, left, right) ? number : none_;
  }
  bool IsPair(uint32_t number, uint32_t left, uint32_t right) const {
    const uint64_t merge = merges_[number];
    return image::MergeLeft(merge) == left && image::MergeRight(merge) == right;
  }
  uint32_t Rank(uint32_t number) const {
    return ranks_ == nullptr || number == none_ ? number : ranks_[number];
  }

  const uint16_t* const factors_;
  const uint32_t* const slots_;
  const uint64_t* const merges_;
  const uint32_t* const ranks_;  // null: numbers are ranks
  const uint32_t none_;          // all bits of numbers, which no merge has
  const int bucket_bits_, slot_bits_;
};

}  // namespace rankfeed::bpe
