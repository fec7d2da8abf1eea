// SPDX-License-Identifier: MIT
// models/bpe/merge.cc: see merge.h.
#include "models/bpe/merge.h"

#include <algorithm>

namespace rankfeed::bpe {
namespace {

// Orders entries (rank << 32 | place) so that the first one of a heap is the least.
constexpr auto kLater = [](uint64_t a, uint64_t b) { return a > b; };

// The symbols of a long word between its ends, a place for each symbol it began with. The places that a
// symbol took over are dead: its second and its last one say how many places it has.
class Places {
 public:
  Places(uint32_t* ids, uint32_t* sizes, uint32_t count)
      : ids_(ids), sizes_(sizes), count_(count) {}

  bool dead(uint32_t place) const { return (ids_[place] & kDead) != 0; }
  // The symbol after one, or the end.
  uint32_t Next(uint32_t place) const {
    const uint32_t next = place + 1;
    return next < count_ && dead(next) ? place + (ids_[next] & ~kDead) : next;
  }
  // The symbol before one that is not the first.
  uint32_t Previous(uint32_t place) const {
    return dead(place - 1) ? place - (ids_[place - 1] & ~kDead) : place - 1;
  }
  // Merges a symbol with the one after it. Returns the one after that, or the end.
  uint32_t Merge(uint32_t place, uint32_t next, uint32_t id) {
    const uint32_t end = Next(next);
    sizes_[place] += sizes_[next];
    ids_[place] = id;
    ids_[next] = kDead;
    ids_[place + 1] = ids_[end - 1] = kDead | (end - place);
    return end;
  }
  // Moves the symbols together; returns how many there are.
  uint32_t Compact() {
    uint32_t count = 0;
    for (uint32_t place = 0; place < count_;) {
      const uint32_t next = Next(place);
      ids_[count] = ids_[place];
      sizes_[count++] = sizes_[place];
      place = next;
    }
    return count;
  }

 private:
  static constexpr uint32_t kDead = uint32_t{1} << 30;
  uint32_t* const ids_;
  uint32_t* const sizes_;
  const uint32_t count_;
};

}  // namespace

Merger::Merger(const image::MergeTables& tables)
    : factors_(tables.factors.data()),
      slots_(tables.slots.data()),
      merges_(tables.merges.data()),
      ranks_(tables.ranks.empty() ? nullptr : tables.ranks.data()),
      none_(image::MergeNumberMask(tables.merges.size())),
      bucket_bits_(std::countr_zero(tables.factors.size())),
      slot_bits_(std::countr_zero(tables.slots.size())) {}

template <bool kShared>
uint32_t Merger::MergeShort(uint32_t* ids, uint32_t* sizes, uint32_t count) const {
  if (count < 2) return count;
  OpenWord<64, kShared> word;
  static_assert(image::kMaxMerges < uint64_t{1} << (32 - 6));
  word.Open(*this, ids, count);
  uint32_t least;
  do {
    least = word.keys[1];
    for (uint32_t i = 2; i < count; ++i) least = std::min(least, word.keys[i]);
  } while (word.MergeLeast(*this, least));
  for (uint32_t i = 0, left = 0; i < count; ++i) {
    if ((word.begins >> (i + 1) & 1) != 0) {
      sizes[left++] = sizes[i];
    } else {
      sizes[left - 1] += sizes[i];
    }
  }
  return word.Close(ids);
}
template uint32_t Merger::MergeShort<false>(uint32_t* ids, uint32_t* sizes, uint32_t count) const;
template uint32_t Merger::MergeShort<true>(uint32_t* ids, uint32_t* sizes, uint32_t count) const;

uint32_t Merger::MergeLong(uint32_t* ids, uint32_t* sizes, uint32_t count, uint64_t* work) const {
  Places places(ids, sizes, count);
  uint64_t* end = work;
  const auto entry = [&](uint32_t place, uint32_t next) {
    const uint32_t number = Find(ids[place], ids[next]);
    if (number == none_) return false;
    *end++ = uint64_t{Rank(number)} << 32 | place;
    return true;
  };
  for (uint32_t i = 0; i + 1 < count; ++i) entry(i, i + 1);
  std::make_heap(work, end, kLater);
  while (end != work) {
    std::pop_heap(work, end, kLater);
    const uint64_t least = *--end;
    const auto place = static_cast<uint32_t>(least);
    if (places.dead(place)) continue;
    const uint32_t next = places.Next(place);
    const uint32_t number = next < count ? Find(ids[place], ids[next]) : none_;
    if (number == none_ || Rank(number) != least >> 32) continue;
    const uint32_t after = places.Merge(place, next, image::MergeProduct(merges_[number]));
    if (after < count && entry(place, after)) std::push_heap(work, end, kLater);
    if (place != 0 && entry(places.Previous(place), place)) {
      std::push_heap(work, end, kLater);
    }
  }
  return places.Compact();
}

}  // namespace rankfeed::bpe
