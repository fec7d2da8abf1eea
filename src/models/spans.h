// SPDX-License-Identifier: MIT
// models/spans.h: spans of character codes whose best paths are to be found, as a decoder hands them to a model.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "base/layout.h"

namespace rankfeed {

// Codes [begin, end) that have a best path of their own. In front of a search they are followed by
// a 0.
struct Span {
  uint16_t begin, end;
  bool word_start;  // begins with U+2581, and more codes follow it
};

// Spans that lie one after the other. One code more than size is read.
struct SpanList {
  uint16_t* codes;
  uint16_t* begins;      // of spans, and of what follows the last
  uint32_t size, count;  // of codes and spans

  std::span<const uint16_t> Codes(uint32_t span) const {
    return {codes + begins[span], codes + begins[span + 1]};
  }
};

// Spans that are searched together, each closed by a 0.
class SpanBatch {
 public:
  static constexpr uint32_t kCapacity = 4096;  // codes of a batch, the closing zeros included
  static constexpr uint32_t kMaxSpans = kCapacity / 2;
  // The spans of a SpanList have numbers from here on, after those that were written here at once.
  static constexpr uint32_t kFirstOfRuns = kMaxSpans;

  // Codes of kCapacity that batches may take. A test sets less, for batches to be full soon.
  uint32_t room() const { return room_; }
  void set_room(uint32_t room) { room_ = room; }

  void Clear() { size_ = count_ = 0; }
  uint32_t size() const { return size_; }
  uint32_t count() const { return count_; }

  // Appends a span of count codes, at least one; there must be room for one more. kVectorSlack
  // codes after them may be read. word_start: it begins with U+2581. Returns its number.
  uint32_t Append(const uint16_t* codes, uint32_t count, bool word_start) {
    constexpr uint32_t kAtOnce = 16;
    static_assert(kAtOnce <= kVectorSlack);
    const uint32_t end = size_ + count;
    for (uint32_t i = 0; i < count; i += kAtOnce) {
      std::memcpy(codes_ + size_ + i, codes + i, kAtOnce * sizeof(uint16_t));
    }
    codes_[end] = 0;
    spans_[count_] = {static_cast<uint16_t>(size_), static_cast<uint16_t>(end),
                      word_start && count > 1};
    size_ = end + 1;
    return count_++;
  }
  // The same for what a loop writes there itself.
  uint16_t* codes() { return codes_; }
  const uint16_t* codes() const { return codes_; }
  Span* spans() { return spans_; }
  const Span* spans() const { return spans_; }
  void Grow(uint32_t size, uint32_t count) { size_ = size, count_ = count; }

 protected:
  uint16_t* codes_ = nullptr;  // kCapacity
  Span* spans_ = nullptr;      // kMaxSpans
  uint32_t size_ = 0, count_ = 0, room_ = kCapacity;
};

}  // namespace rankfeed
