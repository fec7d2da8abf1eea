// SPDX-License-Identifier: MIT
// fast/bpe.cc: see bpe.h.
#include "fast/bpe.h"

#include <algorithm>

namespace rankfeed::fast {

// The id of a segment that no merges are asked about: one of its own, or an added token. kNoValue of others.
uint32_t BpeSpeller::OneId(std::string_view segment, bool marked) const {
  const bool run = segment.size() > image::kMaxEntryBytes && segment.size() <= space_run_ &&
                   segment.find_first_not_of(' ') == segment.npos;
  if (!run) return marked ? trie::kNoValue : words_.Whole(segment, true);
  // A run of spaces that is too long for the image's table is the added token of so many.
  trie::Unit unit = model_.added_normalized.root();
  for (const char space : segment) {
    if (!model_.added_normalized.Step(unit, static_cast<uint8_t>(space) + 1u)) break;
  }
  const uint32_t token = trie::Value(unit);
  return token < model_.added_tokens.size() ? model_.added_tokens[token].id : 0;
}

Spelling BpeSpeller::Begin(std::string_view segment, bool marked, TokenSink* sink) const {
  auto* const ids = reinterpret_cast<uint32_t*>(sink->ids) + sink->count;
  *ids = OneId(segment, marked);
  bool leaves = !byte_level_ && marked && segment.size() == kMergeSymbols;  // with the U+2581 it may be too long to merge
  sink->count += *ids != trie::kNoValue ? 1 : words_.Begin(segment, marked, {ids, nullptr}, &leaves);
  return {.leaves = leaves};
}

Spelling BpeSpeller::Spell(std::string_view segment, bool marked, uint32_t offset, TokenSink* sink) const {
  if (segment.size() + marked > scratch_.word_capacity) return {.leaves = true};
  if (const uint32_t one = OneId(segment, marked); one != trie::kNoValue) {
    Push(segment, one, {0, static_cast<uint32_t>(segment.size())}, offset, sink);
    return {};
  }
  bool missing = false;
  const bpe::Symbols symbols{scratch_.lattice.value, scratch_.lattice.link};
  const uint32_t count = words_.Make(segment, symbols, reinterpret_cast<uint64_t*>(scratch_.lattice.best), &missing,
                                     bpe::Words::kTooMany, marked);
  for (uint32_t i = 0, at = 0; i < count; at += symbols.sizes[i++]) {
    Push(segment, symbols.ids[i], {at, at + symbols.sizes[i]}, offset, sink);
  }
  return {.leaves = missing};
}

bool BpeSpeller::PlaceIds(std::string_view segment, std::span<const int32_t> ids, uint32_t offset,
                            TokenSink* sink) const {
  const uint32_t first = sink->count;
  uint32_t at = 0;
  if (!byte_level_) return false;
  for (const int32_t of : ids) {
    const auto id = static_cast<uint32_t>(of);
    uint32_t end = at;
    for (const char c : model_.piece(id)) end += utf8::IsContinuation(c) ? 0 : 1;
    if (end > segment.size() || (model_.id_flags[id] & image::kIdAdded) != 0) break;
    Push(segment, id, {at, end}, offset, sink);
    at = end;
  }
  if (at == segment.size() && sink->count - first == ids.size()) return true;
  sink->count = first;
  return false;
}

// token: its bytes in the segment. A token of a part of a character has the place of all of it, in SentencePiece parity
// the last one alone, and those before an empty one at its begin. The U+2581 before a segment has that of its first
// character, there an empty one too.
void BpeSpeller::Push(std::string_view segment, uint32_t id, TokenPlace token, uint32_t offset,
                        TokenSink* sink) const {
  TokenPlace place = token;
  while (place.begin > 0 && utf8::IsContinuation(segment[place.begin])) --place.begin;
  const bool whole = place.end == segment.size() || !utf8::IsContinuation(segment[place.end]);
  if (model_.huggingface()) {
    place.end = std::max(place.end, 1u);
    while (place.end < segment.size() && utf8::IsContinuation(segment[place.end])) ++place.end;
  } else if (!whole) {
    place.end = place.begin;
  }
  if (trims_) {
    place = TrimSpaces({segment.data() + token.begin, token.end - token.begin}, place);
  }
  sink->Push(id, offset + place.begin, offset + place.end);
}

}  // namespace rankfeed::fast
