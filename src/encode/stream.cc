// SPDX-License-Identifier: MIT
// encode/stream.cc: where a text that comes in pieces is cut, see stream.h.
#include "encode/stream.h"

#include <algorithm>
#include <cstring>

#include "base/byte_set.h"
#include "base/utf8.h"
#include "encode/encoder.h"
#include "encode/text_encoder.h"
#include "segment/exactness.h"
#include "segment/normalized_tokens.h"
#include "unicode/properties.h"

namespace rankfeed::encode {
namespace {

// Longest encoding of a character.
constexpr uint32_t kMaxCharBytes = 4;

// Whether the ids of a text are those of the parts that it is cut into.
bool PartsMakeText(const Model& model) {
  const uint32_t rules = model.segment.config->rules;
  // A part keeps the separator it begins with where only that makes a U+2581, and must not lose it.
  if ((rules & image::kPrependRules) != 0 && (rules & image::kStripLeft) != 0) return false;
  // Such tokens are looked for in what a whole stretch becomes.
  if (!segment::NormalizedTokens(model).empty()) return false;
  if (segment::ScoreSumsOf(model) == segment::ScoreSums::kFloat64Words) return true;
  // Unknown characters on both sides would be one token if U+2581 were unknown too.
  trie::Unit unit = model.pieces.root();
  return model.pieces.Step(unit, model.codes[U'\u2581']) && trie::Value(unit) != trie::kNoValue;
}

bool IsSeparator(const Model& model, char c) {
  ByteSet separators;
  std::memcpy(separators.low, model.segment.config->separators, sizeof(separators.low));
  return separators.Has(static_cast<uint8_t>(c));
}

// Whether a character is itself, or another one, in any company of such and of separators, and at
// the ends of a text, which may lose white space.
bool StandsAlone(const Model& model, const utf8::Decoded& c) {
  constexpr uint32_t kCode = image::kCharCodeMask | image::kCharUnknown | image::kCharBases;
  return c.valid && (model.segment.char_info[c.code_point] & ~kCode) == 0 &&
         !unicode::IsWhiteSpace(c.code_point);
}

}  // namespace

rankfeed_status Stream::Begin(rankfeed_encoder& encoder, const rankfeed_encode_options& options,
                              char* window, uint32_t window_bytes) {
  window_ = nullptr;
  const Model& model = *encoder.model;
  const bool special = (options.flags & RANKFEED_ADD_SPECIAL_TOKENS) != 0;
  if (encoder.engine.index() == 0 || !PartsMakeText(model) || options.sp_extra[0] != 0 ||
      (special && !encoder.around.all)) {
    return RANKFEED_E_UNSUPPORTED;
  }
  *this = Stream();
  window_ = window;
  capacity_ = std::min(window_bytes, encoder.limits.max_text_bytes);
  keeps_separator_ = (model.segment.config->rules & image::kPrependRules) != 0;
  options_ = options;
  return RANKFEED_OK;
}

rankfeed_status Stream::Feed(rankfeed_encoder& encoder, std::string_view piece, TokenSink& sink,
                             size_t* consumed, uint32_t* needed) {
  *consumed = 0;
  const uint32_t enough = std::min(kPartBytes, capacity_);
  for (;;) {
    // Beyond the size of a part a little at a time, until there is a place to cut.
    const uint32_t goal = size_ < enough ? enough : std::min(capacity_, size_ + kPartBytes / 8);
    if (cut_ == 0) {
      const size_t count = std::min<size_t>(goal - size_, piece.size() - *consumed);
      if (count == 0 && *consumed != piece.size()) {
        window_ = nullptr;
        return RANKFEED_E_LIMIT;
      }
      std::copy_n(piece.data() + *consumed, count, window_ + size_);
      *consumed += count;
      size_ += static_cast<uint32_t>(count);
      if (size_ >= enough) cut_ = FindCut(encoder);
      // What was looked at does not change, but for a character that is not whole yet.
      if (size_ >= enough && size_ > kMaxCharBytes) looked_at_ = size_ - kMaxCharBytes - 1;
    }
    if (cut_ != 0) {
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
  const uint32_t begin = sink.count;
  rankfeed_road_counts roads[RANKFEED_REASON_COUNT];
  std::copy_n(encoder.roads, RANKFEED_REASON_COUNT, roads);
  general::CarriedScore score{score_, score_};
  const rankfeed_status status = TextEncoder(encoder, options_)
                                     .EncodePart({window_, size}, first_, last, &score, sink);
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
  if (!last) Drop(keeps_separator_ ? size : size + 1);
  return RANKFEED_OK;
}

// The bytes of a part, and the separator behind it where what follows begins a word without it.
void Stream::Drop(uint32_t bytes) {
  std::copy(window_ + bytes, window_ + size_, window_);
  size_ -= bytes;
  looked_at_ -= std::min(looked_at_, bytes);
  cut_ = 0;
}

// The last place to cut at, 0 for none.
uint32_t Stream::FindCut(const rankfeed_encoder& encoder) const {
  for (uint32_t at = size_ < 2 ? 0 : size_ - 2; at > looked_at_; --at) {
    if (IsSeparator(*encoder.model, window_[at]) && MayCutAt(encoder, at)) return at;
  }
  return 0;
}

// Whether the text may be cut at a separator.
bool Stream::MayCutAt(const rankfeed_encoder& encoder, uint32_t at) const {
  const Model& model = *encoder.model;
  // In front of it other white space may mean something else.
  if (keeps_separator_ && window_[at] != ' ') return false;
  const std::string_view text(window_, size_);
  const size_t before = utf8::Previous(text, at);
  const utf8::Decoded last = utf8::Decode(text, before), next = utf8::Decode(text, at + 1);
  if (before + last.size != at || !StandsAlone(model, last) || !StandsAlone(model, next)) {
    return false;
  }
  if (IsSeparator(model, window_[before]) || IsSeparator(model, window_[at + 1])) return false;
  // Nor does an added token begin behind it, or right in front so that it may reach over it.
  if (model.added_raw.empty()) return true;
  const uint32_t from = at - std::min(at, model.max_added_bytes + 1);
  return std::none_of(window_ + from, window_ + at + 2, [&](char c) {
    return encoder.general.added.MayBeginWith(static_cast<uint8_t>(c));
  });
}

}  // namespace rankfeed::encode
