// SPDX-License-Identifier: MIT
// encode/stream.h: a text that comes in pieces, and is never in memory as a whole.
//
// What comes waits in the caller's window until a part of it is settled: until a place is known that
// the text can be cut at, so that the ids of the text are those of its parts, one behind the other.
// That is a separator (scan.h), one alone, between two characters that stand for themselves whatever
// is beside them: no reference strips, replaces, composes or looks back across it. Nor may an added
// token reach over it, or take it along. The parts are texts to the engine and to the general path;
// where the score of a text goes on to its end, that is carried from part to part.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "general/best_path.h"
#include "image/model.h"
#include "rankfeed/encode.h"

namespace rankfeed::encode {

class Stream {
 public:
  // Parts are not much smaller where the window has the room.
  static constexpr uint32_t kPartBytes = 32 << 10;

  // A text begins; the window must stay until its end. Errors: UNSUPPORTED.
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
  uint32_t FindCut(const rankfeed_encoder& encoder) const;
  bool MayCutAt(const rankfeed_encoder& encoder, uint32_t at) const;
  rankfeed_status EncodePart(rankfeed_encoder& encoder, uint32_t size, bool last, TokenSink& sink,
                             uint32_t* needed);
  void Drop(uint32_t bytes);

  char* window_ = nullptr;  // null: no text has begun
  uint32_t capacity_ = 0;
  uint32_t size_ = 0;       // bytes that wait
  uint32_t cut_ = 0;        // where the part ends that they begin with; 0: not known
  uint32_t looked_at_ = 0;  // bytes that end with no such place
  bool first_ = true;       // no part was encoded
  bool keeps_separator_ = false;
  double score_ = 0;
  rankfeed_encode_options options_ = {};
};

}  // namespace rankfeed::encode
