// SPDX-License-Identifier: MIT
// fast/sp_offsets.cc: see sp_offsets.h.
#include "fast/sp_offsets.h"

#include <algorithm>

#include "base/utf8.h"
#include "fast/spans.h"

namespace rankfeed::fast {

SpOffsets::SpOffsets(const Model& model)
    : PlacesInStretch(model), normalizer_(normalize::SpNormalizerOf(model)) {
  const trie::View& symbols = normalizer_.user_defined;
  for (uint32_t b = 0; b < 256 && !symbols.empty(); ++b) {
    trie::Unit unit = symbols.root();
    begins_symbol_[b] = symbols.Step(unit, b + 1);
    if (begins_symbol_[b]) SetPlain(static_cast<uint8_t>(b), false);
  }
}

void SpOffsets::Begin(std::string_view stretch, uint32_t offset, uint32_t token) {
  stretch_ = stretch;
  offset_ = offset;
  first_token_ = token;
  done_ = 0;
  state_ = {};
}

// Returns the bytes of the character there, if it is one code and is not read together with what follows; 0 if
// a step of the normalizer has to say. A symbol is one step.
uint32_t SpOffsets::OneCode(uint32_t at, uint32_t end) const {
  if (begins_symbol_[static_cast<uint8_t>(stretch_[at])]) return 0;
  const std::string_view text(stretch_.data(), end);
  const Character c = CharacterAt(model_.segment, text, at);
  if (!c.valid || !c.info.IsOneCode()) return 0;
  const uint32_t next = at + c.size;
  const bool joined =
      next != end && CharacterAt(model_.segment, text, next).info.Joins(c.info);
  return joined ? 0 : c.size;
}

// Reads a character; use(place) is called for its code, and for the U+2581 that it comes after.
template <class Use>
void SpOffsets::Emit(State* state, uint32_t at, const Use& use) const {
  if (collapses() && !state->begun) {
    if (state->front == kNone) state->front = at;
    state->begun = true;
    if (prefixed()) use(state->front);
  } else if (state->space != kNone) {
    use(state->space);
    state->space = kNone;
  }
  use(at);
}

// Reads what stands between the last segment and one that begins there.
void SpOffsets::Separators(uint32_t begin) {
  if (!collapses()) {
    // The U+2581 in front of a segment is that of the byte before it, or the one in front of the
    // text.
    const bool opens = begin == 0 ? prefixed() : IsSeparator(begin - 1);
    state_.space = !opens ? kNone : begin == 0 ? 0 : begin - 1;
  } else if (done_ < begin && state_.begun && state_.space == kNone) {
    state_.space = done_;
  }
}

// Reads the codes of bytes [begin, end).
template <class Use>
void SpOffsets::Walk(State* state, uint32_t begin, uint32_t end, const Use& use) const {
  for (uint32_t at = begin; at < end;) {
    if (const uint32_t size = OneCode(at, end); size != 0) {
      Emit(state, at, use);
      at += size;
      continue;
    }
    const normalize::SpPrefix step =
        normalize::NormalizeSpPrefix(normalizer_, {stretch_.data() + at, end - at});
    // A character that vanishes is a step too, the first one of a text among them.
    if (state->front == kNone && step.text != " ") state->front = at;
    for (const char byte : step.text) {
      if (byte == ' ' && collapses()) {
        if (state->begun && state->space == kNone) state->space = at;  // a run begins
      } else if (!utf8::IsContinuation(byte)) {
        Emit(state, at, use);
      }
    }
    at += step.consumed;
  }
}

bool SpOffsets::Place(uint32_t begin, uint32_t end, bool, uint32_t first, uint32_t last, TokenSink& sink) {
  if (last > sink.capacity) return false;  // there are no ids to look at
  Separators(begin);
  done_ = end;
  if (!collapses() && IsSeparator(begin)) {  // an empty word (scan.h)
    if (last != first + 1 || state_.space == kNone) return false;
    Begins(sink)[first] = offset_ + state_.space;
    return true;
  }
  if (ArePlain(begin, end) && PlacePlain(begin, end, first, last, sink)) return true;
  return PlaceWalking(begin, end, first, last, sink);
}

// Places tokens where every byte is a character and a code. Returns false, and does nothing, if some token is unknown.
bool SpOffsets::PlacePlain(uint32_t begin, uint32_t end, uint32_t first, uint32_t last, TokenSink& sink) {
  // One if a U+2581 comes in front of the first character.
  const uint32_t opens = collapses() && !state_.begun ? prefixed() : state_.space != kNone;
  if (CodesOf(sink, first, last) != end - begin + opens) return false;
  uint32_t* const begins = Begins(sink);
  uint32_t at = begin;
  for (uint32_t i = first; i < last; ++i) {
    const uint32_t codes = CodesOf(sink, i);
    begins[i] = offset_ + at;
    at += i == first ? codes - std::min(codes, opens) : codes;
  }
  if (opens != 0) {
    if (state_.front == kNone) state_.front = begin;
    begins[first] = offset_ + (state_.space != kNone ? state_.space : state_.front);
  }
  state_.begun = true;
  state_.space = kNone;
  return true;
}

bool SpOffsets::PlaceWalking(uint32_t begin, uint32_t end, uint32_t first, uint32_t last, TokenSink& sink) {
  uint32_t unknown = 0;
  const auto count = [&] {
    uint32_t all = 0;
    State state = state_;
    Walk(&state, begin, end, [&](uint32_t) { ++all; });
    return all;
  };
  if (!FindUnknown(sink, first, last, count, &unknown)) return false;
  uint32_t* const begins = Begins(sink);
  uint32_t token = first, left = 0;
  bool fits = true;
  const auto use = [&](uint32_t place) {
    if (left == 0) {
      if (token == last) {
        fits = false;
        return;
      }
      begins[token] = offset_ + place;
      left = IsUnknown(sink.ids[token]) ? unknown : CodesOf(sink, token);
      ++token;
    }
    // Pieces of an image that nobody made by the rules may be of no code.
    fits &= left != 0;
    left -= std::min(left, 1u);
  };
  Walk(&state_, begin, end, use);
  return fits && token == last && left == 0;
}

bool SpOffsets::PlaceTrailing(uint32_t token, TokenSink& sink) const {
  if (sink.count > sink.capacity || stretch_.empty()) return false;
  const auto size = static_cast<uint32_t>(stretch_.size());
  Begins(sink)[token] = offset_ + size - 1;
  return true;
}

void SpOffsets::End(TokenSink& sink, bool closed) {
  const uint32_t count = std::min(sink.count, sink.capacity);
  if (sink.end == nullptr || first_token_ >= count) return;
  const auto size = static_cast<uint32_t>(stretch_.size());
  Separators(size);
  const uint32_t text_end = collapses() && state_.space != kNone ? state_.space : size;
  const uint32_t* const begins = Begins(sink);
  for (uint32_t i = first_token_; i + 1 < count; ++i) sink.end[i] = begins[i + 1];
  if (!closed) sink.end[count - 1] = offset_ + text_end;
}

}  // namespace rankfeed::fast
