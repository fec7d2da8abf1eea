// SPDX-License-Identifier: MIT
// fast/segment_writer.h: the ids of segments that were found, one after the other in the sink. All kinds of
// models write so; a kind says how it writes a segment whose ids are not known or may not hold, and
// where the tokens of a segment stand in the text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/token_sink.h"
#include "fast/cache.h"
#include "fast/kernels/kernels.h"
#include "fast/look_up.h"
#include "fast/segments.h"
#include "rankfeed/encode.h"

namespace rankfeed::fast {

class SegmentWriter {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // The segment that was not written though those around it can be, and the first of its tokens.
  struct Unwritten {
    uint32_t segment = kNone, token = 0;
  };
  const Unwritten& unwritten() const { return unwritten_; }

 protected:
  SegmentWriter(const KernelTable& kernels, const LookUp& look_up) : found_(look_up.found()), kernels_(kernels) {}

  // Begins a call, whose tokens go to the sink.
  void Start(TokenSink* sink) {
    sink_ = sink;
    wants_places_ = sink->begin != nullptr || sink->end != nullptr;
  }

  // Writes segments [begin, end) of a batch, all found or searched. bound: at least -score so far, moved on.
  // write(i) writes segment i alone and returns why its stretch leaves, if it does; place(i, token, last)
  // gives tokens [token, last) of segment i their places and returns whether they are known.
  template <class Write, class Place>
  [[gnu::always_inline]] rankfeed_reason WriteFound(uint32_t begin, uint32_t end, uint64_t* bound,
                                                    const Write& write, const Place& place) {
    const bool places = wants_places_;
    for (uint32_t i = begin; i < end; ++i) {
      uint32_t k = i, token = sink_->count;
      i = WriteHolding(found_, i, end, bound);
      for (; places && k < i; ++k) {
        const uint32_t last = token + found_[k].info.count;
        if (!place(k, token, last)) return RANKFEED_REASON_OPTIONS;
        token = last;
      }
      if (i == end) break;
      token = sink_->count;
      if (const rankfeed_reason reason = write(i)) return reason;
      if (places && !place(i, token, sink_->count)) return RANKFEED_REASON_OPTIONS;
    }
    return RANKFEED_REASON_NONE;
  }

  // Writes found[begin, end) without a look at anything but their infos, as far as they hold and
  // there is room for all; returns where it stopped.
  [[gnu::always_inline]] uint32_t WriteHolding(const Found* found, uint32_t begin, uint32_t end, uint64_t* bound) {
    const uint64_t room = sink_->capacity > sink_->count ? sink_->capacity - sink_->count : 0;
    const uint32_t stop =
        begin + static_cast<uint32_t>(std::min<uint64_t>(end - begin, room / CacheLine::kMaxIds));
    if (stop == begin) return begin;  // where ids are only counted, there is no place to write to
    int32_t* out = sink_->ids + sink_->count;
    const uint32_t done = kernels_.emit(found, begin, stop, &out, bound);
    sink_->count = static_cast<uint32_t>(out - sink_->ids);
    return done;
  }

  // Appends ids, of which CacheLine::kMaxIds may be read.
  void Copy(const int32_t* ids, uint32_t count) {
    if (count <= CacheLine::kMaxIds && uint64_t{sink_->count} + CacheLine::kMaxIds <= sink_->capacity) {
      std::memcpy(sink_->ids + sink_->count, ids, CacheLine::kMaxIds * sizeof(int32_t));
      sink_->count += count;
      return;
    }
    for (uint32_t i = 0; i < count; ++i) sink_->Push(static_cast<uint32_t>(ids[i]), 0, 0);
  }

  Found* const found_;  // segments of the batch
  TokenSink* sink_ = nullptr;
  std::string_view stretch_;
  bool wants_places_ = false;
  Unwritten unwritten_;

 private:
  const KernelTable& kernels_;
};

}  // namespace rankfeed::fast
