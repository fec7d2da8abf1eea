// SPDX-License-Identifier: MIT
// segment/known_spans.h: best paths of spans, kept for when they come again: words of what one
// character becomes come with each such character, in a batch and in those behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

#include "base/hash.h"
#include "segment/cache.h"
#include "segment/look_up.h"
#include "segment/slack.h"

namespace rankfeed::segment {

class KnownSpans {
 public:
  static constexpr uint32_t kMaxCodes = 16;  // of spans that are known beyond their batch
  static constexpr uint16_t kIsKnown = 0xffff;

  struct Entry {
    uint64_t front, back;   // the first four codes, and beyond four the last
    const uint16_t* codes;  // of the batch, or own_codes
    uint64_t batch;         // the last one that it was in
    uint16_t number;  // of the span in the search of that batch; kIsKnown: `found` is its path
    Found found;
    uint16_t own_codes[kMaxCodes];
    int32_t own_ids[CacheLine::kMaxIds];

    void KeepCodes(uint32_t size) {
      std::copy_n(codes, size, own_codes);
      codes = own_codes;
      number = kIsKnown;
    }
  };

  static constexpr int kBits = 5;
  struct Memory {
    uint16_t sizes[1 << kBits];  // of the spans; 0: none
    uint16_t taken[1 << kBits];  // entries without a path, of the batch
    Entry entries[1 << kBits];   // most texts touch none
  };

  explicit KnownSpans(Memory* memory) : memory_(memory) {}

  // Another batch begins: spans of the last one have no numbers any more.
  void Start() {
    if (batch_++ == 0) std::fill(std::begin(memory_->sizes), std::end(memory_->sizes), uint16_t{0});
    Keep([](uint32_t) { return Found{}; });
  }

  // That of a span, if it was in the batch or is known, else null. Codes behind the span may be
  // read.
  Entry* Find(std::span<const uint16_t> codes) {
    const Key key(codes);
    if (memory_->sizes[key.slot] != codes.size()) return nullptr;
    Entry& entry = memory_->entries[key.slot];
    const bool same =
        entry.front == key.front && entry.back == key.back &&
        (entry.batch == batch_ || entry.number == kIsKnown) &&
        (codes.size() <= 8 || std::equal(codes.begin() + 4, codes.end() - 4, entry.codes + 4));
    if (!same) return nullptr;
    entry.batch = batch_;
    return &entry;
  }

  // Notes the number of a span of the batch that was not found, if there is a place for it.
  void Take(std::span<const uint16_t> codes, uint16_t number) {
    Entry* const entry = Place(codes);
    if (entry == nullptr) return;
    memory_->taken[taken_++] = static_cast<uint16_t>(entry - memory_->entries);
    entry->number = number;
  }

  // Keeps the path of a span of which nothing else was found that is of use, if there is a place.
  void Know(std::span<const uint16_t> codes, std::span<const int32_t> ids, image::PathInfo info) {
    if (codes.size() > kMaxCodes || ids.size() > CacheLine::kMaxIds) return;
    Entry* entry = Find(codes);
    if (entry == nullptr) entry = Place(codes);
    if (entry == nullptr) return;
    std::copy(ids.begin(), ids.end(), entry->own_ids);
    entry->found = {entry->own_ids, 0, info};
    entry->KeepCodes(static_cast<uint32_t>(codes.size()));
  }

  // Keeps what was found of the spans of the batch. found_of(number): of the one of that number,
  // without a count if it is not to be kept.
  template <class FoundOf>
  void Keep(FoundOf found_of) {
    for (uint32_t i = 0; i < taken_; ++i) {
      uint16_t& size = memory_->sizes[memory_->taken[i]];
      Entry& entry = memory_->entries[memory_->taken[i]];
      entry.found = found_of(entry.number);
      if (entry.found.info.count == 0 || size > kMaxCodes) {
        size = 0;
        continue;
      }
      std::copy_n(entry.found.ids, CacheLine::kMaxIds, entry.own_ids);
      entry.found.ids = entry.own_ids;
      entry.KeepCodes(size);
    }
    taken_ = 0;
  }

 private:
  // What a span is found by.
  struct Key {
    explicit Key(std::span<const uint16_t> codes) {
      static_assert(kVectorSlack >= 4);
      const auto size = static_cast<uint32_t>(codes.size());
      std::memcpy(&front, codes.data(), sizeof(front));
      if (size < 4) front &= (uint64_t{1} << 16 * size) - 1;
      if (size > 4) std::memcpy(&back, codes.data() + size - 4, sizeof(back));
      slot = HashEnds(size, front, back) >> (64 - kBits);
    }
    uint64_t front = 0, back = 0, slot = 0;
  };

  // One that is that span's now; null if what was found of another is in use.
  Entry* Place(std::span<const uint16_t> codes) {
    const Key key(codes);
    Entry& entry = memory_->entries[key.slot];
    uint16_t& size = memory_->sizes[key.slot];
    if (size != 0 && entry.batch == batch_) return nullptr;
    entry.front = key.front;
    entry.back = key.back;
    entry.codes = codes.data();
    entry.batch = batch_;
    size = static_cast<uint16_t>(codes.size());
    return &entry;
  }

  Memory* const memory_;
  uint64_t batch_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace rankfeed::segment
