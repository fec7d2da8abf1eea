// SPDX-License-Identifier: MIT
// encode/stream.h: a text that comes in pieces, and is never in memory as a whole.
//
// What comes waits in the caller's window until a part of it is settled: until a place is known
// that the text can be cut at (stretch/cuts.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "stretch/cuts.h"
#include "rankfeed/encode.h"

namespace rankfeed::encode {

class Stream {
 public:
  // Names what keeps texts from coming in pieces, in words for people: an element of the vocabulary's
  // file or an option of the call. Null: nothing.
  static const char* Obstacle(const rankfeed_encoder& encoder,
                              const rankfeed_encode_options& options);

  // A text begins; the window must stay until its end. Errors: UNSUPPORTED (an obstacle).
  rankfeed_status Begin(rankfeed_encoder& encoder, const rankfeed_encode_options& options,
                        char* window, uint32_t window_bytes);

  // Takes bytes of the piece, *consumed of them, and appends the ids of what is settled. Errors:
  // OUTPUT_SIZE (*needed: tokens of the part that did not fit; nothing is lost), LIMIT (a window
  // without a place to cut), and those of encoding, after which the text has ended.
  rankfeed_status Feed(rankfeed_encoder& encoder, std::string_view piece, TokenSink& sink,
                       size_t* consumed, uint32_t* needed);

  // Appends the ids of what is left, and ends the text. Errors as above.
  rankfeed_status End(rankfeed_encoder& encoder, TokenSink& sink, uint32_t* needed);

  bool open() const { return window_ != nullptr; }

 private:
  rankfeed_status EncodePart(rankfeed_encoder& encoder, uint32_t size, bool last, TokenSink& sink,
                             uint32_t* needed);
  void Drop(uint32_t bytes);

  char* window_ = nullptr;  // null: no text has begun
  uint32_t capacity_ = 0;
  uint32_t size_ = 0;                    // bytes that wait
  uint32_t cut_ = Cuts::kNone;  // where the part ends that they begin with, if known
  uint32_t looked_at_ = 0;               // bytes that end with no such place
  bool first_ = true;                    // no part was encoded
  double score_ = 0;
  rankfeed_encode_options options_ = {};
};

}  // namespace rankfeed::encode
