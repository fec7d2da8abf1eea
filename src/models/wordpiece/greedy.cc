// SPDX-License-Identifier: MIT
#include "models/wordpiece/greedy.h"

#include "base/narrow.h"
#include "base/utf8.h"

namespace rankfeed::wordpiece {
namespace {

// Tells whether a text, which is valid UTF-8, has more than `most` characters.
bool HasMoreChars(std::string_view text, uint32_t most) {
  if (text.size() <= most) return false;
  uint32_t left = most;
  for (const char byte : text) {
    if (utf8::IsContinuation(byte)) continue;
    if (left == 0) return true;
    --left;
  }
  return false;
}

}  // namespace

GreedySearch::GreedySearch(const Model& model) : model_(model), continuing_(model.pieces.root()) {
  const std::string_view prefix = model.text(model.config->continuing_prefix);
  for (size_t at = 0; at < prefix.size();) {
    const utf8::Decoded c = utf8::Decode(prefix, at);
    if (!model.pieces.Step(continuing_, model.codes[c.code_point])) {
      continuing_ = trie::LeafUnit(trie::kEmptyLabel, 0, trie::kNoValue);
      return;
    }
    at += c.size;
  }
}

uint32_t GreedySearch::Find(std::string_view word, bool specials, uint32_t* ids,
                            uint32_t* ends) const {
  if (HasMoreChars(word, model_.config->max_input_chars)) return 0;
  const auto size = Size32(word);
  trie::Unit from = model_.pieces.root();
  uint32_t count = 0;
  for (uint32_t begin = 0; begin < size; from = continuing_) {
    uint32_t id = trie::kNoValue, end = begin;
    trie::Unit unit = from;
    for (uint32_t at = begin; at < size;) {
      uint32_t bytes;
      const char32_t c = utf8::DecodeValid(word.data() + at, &bytes);
      if (!model_.pieces.Step(unit, model_.codes[c])) break;
      at += bytes;
      const uint32_t value = trie::Value(unit);
      if (value == trie::kNoValue) continue;
      if (!specials && (model_.id_flags[value] & image::kIdSpecial) != 0) continue;
      id = value;
      end = at;
    }
    if (id == trie::kNoValue) return 0;
    ids[count] = id;
    ends[count++] = end;
    begin = end;
  }
  return count;
}

}  // namespace rankfeed::wordpiece
