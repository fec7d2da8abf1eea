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
//   Short words keep the (rank, place) of each pair in an array (OpenWord), found anew for the two pairs
//   that a merge makes, and take the least of the array: the same minimum of the same set. Nothing of a
//   word is in another's, so that several may take their steps in turn (KernelTable::merge). Long words
//   keep the queue; an entry is true if the pair at its place is that of the entry's rank now. A word of
//   n symbols merges n - 1 times at most, and each merge takes one entry and adds two, so 2 n entries
//   are enough.
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

  static constexpr uint32_t kShortSymbols = 62;  // words of more need work
  static constexpr uint32_t kWorkPerSymbol = 2;  // elements of it

  // Merges the symbols of one word in place: ids [count], each an id of the model or kFrozen | id,
  // sizes [count], the bytes of each or whatever else the symbols of a merge have the sum of. work:
  // kWorkPerSymbol * count elements, unused by short words. Returns how many
  // symbols are left, which still have kFrozen. O(count^2) for short words, O(count log count) for others.
  uint32_t Merge(uint32_t* ids, uint32_t* sizes, uint32_t count, uint64_t* work) const {
    if (count > kShortSymbols) return MergeLong(ids, sizes, count, work);
    return shares_ranks() ? MergeShort<true>(ids, sizes, count) : MergeShort<false>(ids, sizes, count);
  }
  // Returns whether some merges have one rank.
  bool shares_ranks() const { return ranks_ != nullptr; }

  // The number of a pair's merge; a number of none, or of another pair's, if it has none.
  uint32_t Look(uint32_t left, uint32_t right) const {
    const uint64_t hash = image::MergeHash(left, right);
    const uint32_t factor = factors_[image::MergeBucket(hash, bucket_bits_)];
    const uint32_t slot = slots_[image::MergeSlot(hash, factor, slot_bits_)];
    return ((slot ^ image::MergeTag(hash, none_)) & ~none_) == 0 ? slot & none_ : none_;
  }
  // The same, of merges that share ranks that of the first one of the pair's rank, where kShared.
  template <bool kShared>
  uint32_t LookRank(uint32_t left, uint32_t right) const {
    const uint32_t number = Look(left, right);
    return kShared && number != none_ ? ranks_[number] : number;
  }
  bool IsMerge(uint32_t number) const { return number < none_; }
  // Makes the number of the merge that a pair has of a rank; none_ where it has none of that rank.
  template <bool kShared>
  uint32_t NumberOf(uint32_t rank, uint32_t left, uint32_t right) const {
    const uint32_t number = kShared ? Look(left, right) : rank;
    const bool same = !kShared || (number != none_ && ranks_[number] == rank);
    return same && IsPair(number, left, right) ? number : none_;
  }
  bool IsPair(uint32_t number, uint32_t left, uint32_t right) const {
    const uint64_t merge = merges_[number];
    return image::MergeLeft(merge) == left && image::MergeRight(merge) == right;
  }
  uint32_t Product(uint32_t number) const { return image::MergeProduct(merges_[number]); }

 private:
  template <bool kShared>
  uint32_t MergeShort(uint32_t* ids, uint32_t* sizes, uint32_t count) const;
  uint32_t MergeLong(uint32_t* ids, uint32_t* sizes, uint32_t count, uint64_t* work) const;

  // The number of a pair's merge, none_ if it has none.
  uint32_t Find(uint32_t left, uint32_t right) const {
    const uint32_t number = Look(left, right);
    return number != none_ && IsPair(number, left, right) ? number : none_;
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

// A word that is being merged, of fewer than kPlaces symbols, and of kShortSymbols at most. They stand at
// the places from 1 on, between two ends that no merge takes. kShared: Merger::shares_ranks.
template <uint32_t kPlaces, bool kShared>
struct alignas(64) OpenWord {
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t keys[kPlaces];  // of the pair that begins at a place: rank * kPlaces + place, or kNone
  uint32_t ids[kPlaces + 1];
  uint64_t begins;  // the places where symbols begin, and those of the ends

  // count: 1 at least.
  [[gnu::always_inline]] void Open(const Merger& merger, const uint32_t* from, uint32_t count) {
    for (uint32_t& key : keys) key = kNone;
    ids[0] = ids[count + 1] = kNone;
    ids[1] = from[0];
    for (uint32_t i = 1; i < count; ++i) {
      ids[i + 1] = from[i];
      keys[i] = merger.LookRank<kShared>(from[i - 1], from[i]) * kPlaces | i;
    }
    begins = ~uint64_t{0} >> (62 - count);
  }

  // Merges the pair of the least key. False if it has no merge, and then none has.
  [[gnu::always_inline]] bool MergeLeast(const Merger& merger, uint32_t least) {
    const uint32_t place = least % kPlaces, rank = least / kPlaces;
    if (!merger.IsMerge(rank)) return false;
    const uint64_t after = begins & ~uint64_t{1} << place, beyond = after & (after - 1);
    const auto next = std::countr_zero(after);
    const uint32_t number = merger.NumberOf<kShared>(rank, ids[place], ids[next]);
    if (!merger.IsMerge(number)) {
      keys[place] = kNone;
      return true;
    }
    const uint32_t product = merger.Product(number);
    const auto before = static_cast<uint32_t>(std::bit_width(begins & ~(~uint64_t{0} << place))) - 1;
    ids[place] = product;
    begins ^= after ^ beyond;
    keys[next] = kNone;
    keys[place] = merger.LookRank<kShared>(product, ids[std::countr_zero(beyond)]) * kPlaces | place;
    keys[before] = merger.LookRank<kShared>(ids[before], product) * kPlaces | before;
    return true;
  }

  // Writes the symbols that are left; returns how many.
  [[gnu::always_inline]] uint32_t Close(uint32_t* to) const {
    uint32_t count = 0;
    for (uint64_t left = begins & ~uint64_t{1}; (left & (left - 1)) != 0; left &= left - 1) {
      to[count++] = ids[std::countr_zero(left)];
    }
    return count;
  }
};

}  // namespace rankfeed::bpe
