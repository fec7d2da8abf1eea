// SPDX-License-Identifier: MIT
// segment/known_stretches.h: ids of short stretches between added tokens, kept for when they come
// again. Where such tokens are of one character and stand everywhere, as quotes may, the same few
// stretches lie between them, and each costs as much to open, to scan and to leave the fast road
// with as a long one.
//
// What a stretch inside of a text becomes depends on its bytes and on how the call treats special
// tokens, and on nothing else: so an entry cannot change a result, only the time it takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/token_sink.h"
#include "segment/key.h"

namespace rankfeed::segment {

class KnownStretches {
 public:
  // Of those that are kept.
  static constexpr uint32_t kMaxBytes = SegmentKey::kMaxBytes, kMaxIds = 30;
  static constexpr uint16_t kNone = 0xffff;

  struct Entry {
    SegmentKey key;    // of size 0: none
    uint16_t count;    // of ids
    uint16_t waiting;  // how often Find's answer has yet to be taken
    int32_t ids[kMaxIds];
  };
  struct Memory {
    static constexpr int kBits = 8;
    Entry entries[1 << kBits];
  };

  explicit KnownStretches(Memory* memory) : memory_(memory) {}

  // A call begins: no answer of the last one is taken any more.
  void Start() {
    if (waiting_ == 0) return;
    for (Entry& entry : memory_->entries) entry.waiting = 0;
    waiting_ = 0;
  }

  // Of a stretch, neither empty nor of more than kMaxBytes, behind at least one byte of its text
  // and with so many bytes from its begin on. mode: how the call treats special tokens, below 4.
  static SegmentKey KeyOf(const char* stretch, uint32_t size, uint32_t mode) {
    static_assert(kMaxBytes < 32);
    SegmentKey key;
    uint64_t mask[4];
    std::memcpy(key.part, stretch - 1, sizeof(key.part));
    std::memcpy(mask, kKeyMasks.of[size], sizeof(mask));
    for (int i = 0; i < 4; ++i) key.part[i] &= mask[i];
    key.part[0] |= size | mode << 5;
    return key;
  }

  // Bytes of the longest that was kept.
  uint32_t longest() const { return longest_; }

  // Its slot, kNone if it is not known. That stays what it is until it is taken, which has to be
  // done once. Of none longer than longest().
  uint16_t Find(const SegmentKey& key) {
    const uint16_t slot = SlotOf(key);
    Entry& entry = memory_->entries[slot];
    if (std::memcmp(entry.key.part, key.part, sizeof(key.part)) != 0) return kNone;
    ++entry.waiting;
    ++waiting_;
    return slot;
  }

  // Its ids behind those in the sink.
  void Take(uint16_t slot, TokenSink* sink) {
    Entry& entry = memory_->entries[slot];
    --entry.waiting;
    --waiting_;
    if (sink->count + kMaxIds <= sink->capacity) {
      std::copy_n(entry.ids, entry.count, sink->ids + sink->count);
      sink->count += entry.count;
      return;
    }
    for (uint32_t i = 0; i < entry.count; ++i) {
      sink->Push(static_cast<uint32_t>(entry.ids[i]), 0, 0);
    }
  }

  void Keep(const SegmentKey& key, std::span<const int32_t> ids) {
    if (ids.size() > kMaxIds) return;
    if (longest_ == 0) {
      for (Entry& entry : memory_->entries) entry.key.part[0] = entry.waiting = 0;
    }
    longest_ = std::max(longest_, static_cast<uint32_t>(key.part[0] & 0x1f));
    Entry& entry = memory_->entries[SlotOf(key)];
    if (entry.waiting != 0) return;
    entry.key = key;
    entry.count = static_cast<uint16_t>(ids.size());
    std::copy(ids.begin(), ids.end(), entry.ids);
  }

 private:
  static uint16_t SlotOf(const SegmentKey& key) {
    return static_cast<uint16_t>(key.Hash() & ((1u << Memory::kBits) - 1));
  }

  Memory* const memory_;
  uint32_t waiting_ = 0;  // answers of Find
  uint32_t longest_ = 0;  // 0: memory holds nothing that this object put there
};

}  // namespace rankfeed::segment
