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

  struct Entry {
    uint64_t front, back;   // the first four codes, and beyond four the last
    const uint16_t* codes;  // of the batch, or own_codes
    uint64_t batch;         // the last one that it was in
    uint16_t size;
    uint16_t number;  // of the span in the search of that batch; kIsKnown: `found` is its path
    Found found;
    uint16_t own_codes[kMaxCodes];
    int32_t own_ids[CacheLine::kMaxIds];
  };
  static constexpr uint16_t kIsKnown = 0xffff;

  static constexpr int kBits = 8;
  struct Memory {
    Entry entries[1 << kBits];
    uint16_t taken[1 << kBits];  // entries without a path, of the batch
  };

  explicit KnownSpans(Memory* memory) : memory_(memory) {}

  // Another batch begins: spans of the last one have no numbers any more.
  void Start() {
    if (batch_++ == 0) {
      for (Entry& entry : memory_->entries) entry.size = 0;
    }
    Keep([](uint32_t) { return Found{}; });
  }

  // That of a span, which was in the batch or is known; or one that was taken for it, whose number
  // is to be set, with *taken; or null. Codes behind the span may be read.
  Entry* Find(std::span<const uint16_t> codes, bool* taken) {
    static_assert(kVectorSlack >= 4);
    const auto size = static_cast<uint32_t>(codes.size());
    uint64_t front, back = 0;
    std::memcpy(&front, codes.data(), sizeof(front));
    if (size < 4) front &= (uint64_t{1} << 16 * size) - 1;
    if (size > 4) std::memcpy(&back, codes.data() + size - 4, sizeof(back));
    const uint64_t slot = HashEnds(size, front, back) >> (64 - kBits);
    Entry& entry = memory_->entries[slot];
    const bool own_batch = entry.size != 0 && entry.batch == batch_;
    if (entry.size == size && entry.front == front && entry.back == back &&
        (own_batch || entry.number == kIsKnown) &&
        (size <= 8 || std::equal(codes.begin() + 4, codes.end() - 4, entry.codes + 4))) {
      entry.batch = batch_;
      return &entry;
    }
    if (own_batch) return nullptr;  // what was found of it is in use
    memory_->taken[taken_++] = static_cast<uint16_t>(slot);
    *taken = true;
    entry.front = front;
    entry.back = back;
    entry.codes = codes.data();
    entry.batch = batch_;
    entry.size = static_cast<uint16_t>(size);
    return &entry;
  }

  // Keeps what was found of the spans of the batch. found_of(number): of the one of that number,
  // without a count if it is not to be kept.
  template <class FoundOf>
  void Keep(FoundOf found_of) {
    for (uint32_t i = 0; i < taken_; ++i) {
      Entry& entry = memory_->entries[memory_->taken[i]];
      entry.found = found_of(entry.number);
      if (entry.found.info.count == 0 || entry.size > kMaxCodes) {
        entry.size = 0;
        continue;
      }
      std::copy_n(entry.codes, entry.size, entry.own_codes);
      std::copy_n(entry.found.ids, CacheLine::kMaxIds, entry.own_ids);
      entry.codes = entry.own_codes;
      entry.found.ids = entry.own_ids;
      entry.number = kIsKnown;
    }
    taken_ = 0;
  }

 private:
  Memory* const memory_;
  uint64_t batch_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace rankfeed::segment
