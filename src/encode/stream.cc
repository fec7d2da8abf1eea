// SPDX-License-Identifier: MIT
// encode/stream.cc: where a text that comes in pieces is cut, see stream.h.
#include "encode/stream.h"

#include <algorithm>

#include "encode/encoder.h"
#include "encode/text_encoder.h"

namespace rankfeed::encode {

const char* Stream::Obstacle(const rankfeed_encoder& encoder,
                             const rankfeed_encode_options& options) {
  if (!encoder.cuts.any()) return encoder.cuts.obstacle();
  if (!encoder.has_fast_road()) return "no fast road";
  if (options.sp_extra[0] != 0) return "sp_extra";
  const bool special = (options.flags & RANKFEED_ADD_SPECIAL_TOKENS) != 0;
  if (!special || encoder.around.all) return nullptr;
  return "special tokens of a template with several texts, or more than 16 of them in a row";
}

rankfeed_status Stream::Begin(rankfeed_encoder& encoder, const rankfeed_encode_options& options,
                              char* window, uint32_t window_bytes) {
  window_ = nullptr;
  if (Obstacle(encoder, options) != nullptr) return RANKFEED_E_UNSUPPORTED;
  *this = Stream();
  window_ = window;
  capacity_ = std::min(window_bytes, encoder.limits.max_text_bytes);
  options_ = options;
  return RANKFEED_OK;
}

rankfeed_status Stream::Feed(rankfeed_encoder& encoder, std::string_view piece, TokenSink& sink,
                             size_t* consumed, uint32_t* needed) {
  *consumed = 0;
  const uint32_t enough = std::min(Cuts::kPartBytes, capacity_);
  for (;;) {
    // Beyond the size of a part a little at a time, until there is a place to cut.
    const uint32_t goal =
        size_ < enough ? enough : std::min(capacity_, size_ + Cuts::kPartBytes / 8);
    if (cut_ == Cuts::kNone) {
      const size_t count = std::min<size_t>(goal - size_, piece.size() - *consumed);
      if (count == 0 && *consumed != piece.size()) {
        window_ = nullptr;
        return RANKFEED_E_LIMIT;
      }
      std::copy_n(piece.data() + *consumed, count, window_ + size_);
      *consumed += count;
      size_ += static_cast<uint32_t>(count);
      if (size_ >= enough) {
        cut_ = encoder.cuts.FindLast({window_, size_}, looked_at_, size_);
        // The bytes that were looked at do not change, but for a character that is not whole yet.
        looked_at_ = size_ - std::min(size_, Cuts::kLookedAt);
      }
    }
    if (cut_ != Cuts::kNone) {
      if (const rankfeed_status status = EncodePart(encoder, cut_, false, sink, needed)) {
        return status;
      }
    } else if (*consumed == piece.size()) {
      return RANKFEED_OK;
    }
  }
}

rankfeed_status Stream::End(rankfeed_encoder& encoder, TokenSink& sink, uint32_t* needed) {
  const rankfeed_status status = EncodePart(encoder, size_, true, sink, needed);
  if (status == RANKFEED_OK) window_ = nullptr;
  return status;
}

// The first bytes of the window, which end with the text or where it may be cut.
rankfeed_status Stream::EncodePart(rankfeed_encoder& encoder, uint32_t size, bool last,
                                   TokenSink& sink, uint32_t* needed) {
  const uint32_t begin = sink.count, bound = TokenBound(*encoder.model, size);
  if (bound > ~begin) {  // 32 bits could not count them
    *needed = bound;
    return RANKFEED_E_OUTPUT_SIZE;
  }
  rankfeed_road_counts roads[RANKFEED_REASON_COUNT];
  std::copy_n(encoder.roads, RANKFEED_REASON_COUNT, roads);
  reference::CarriedScore score{score_, score_};
  const rankfeed_status status =
      TextEncoder(encoder, options_).EncodePart({window_, size}, first_, last, &score, sink);
  const uint32_t count = sink.count - begin;
  if (status != RANKFEED_OK || sink.count > sink.capacity) sink.count = begin;
  if (status != RANKFEED_OK) {
    window_ = nullptr;
    return status;
  }
  if (count > sink.capacity - begin) {
    std::copy_n(roads, RANKFEED_REASON_COUNT, encoder.roads);  // it comes again
    *needed = count;
    return RANKFEED_E_OUTPUT_SIZE;
  }
  score_ = score.after;
  first_ = false;
  if (!last) Drop(encoder.cuts.After(size));
  return RANKFEED_OK;
}

// The bytes of a part, and the separator after it where what follows begins a word without it.
void Stream::Drop(uint32_t bytes) {
  std::copy(window_ + bytes, window_ + size_, window_);
  size_ -= bytes;
  looked_at_ -= std::min(looked_at_, bytes);
  cut_ = Cuts::kNone;
}

}  // namespace rankfeed::encode
