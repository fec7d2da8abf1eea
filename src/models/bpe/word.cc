// SPDX-License-Identifier: MIT
#include "models/bpe/word.h"

#include "base/byte_alphabet.h"
#include "base/utf8.h"

namespace rankfeed::bpe {

uint32_t Words::Find(std::string_view text) const {
  const bool bytes = model_.has(image::kByteLevel);
  trie::Unit unit = model_.pieces.root();
  for (size_t at = 0; at < text.size();) {
    uint32_t size = 1;
    const char32_t c = bytes ? kByteAlphabet.chars[static_cast<uint8_t>(text[at])]
                             : utf8::DecodeValid(text.data() + at, &size);
    if (!model_.pieces.Step(unit, model_.codes[c])) return trie::kNoValue;
    at += size;
  }
  return trie::Value(unit);
}

uint32_t Words::Characters(std::string_view split, bool prefixed, const Symbols& out, bool* missing) const {
  const bool falls_back = model_.has(image::kByteFallback);
  const bool fuses = model_.has(image::kFuseUnk) || !model_.huggingface();
  const uint32_t unk_id = model_.config->unk_id;
  const bool has_unk = model_.config->unk_piece.size != 0 || !model_.huggingface();
  uint32_t count = 0;
  bool after_unknown = false;
  const auto add = [&](uint32_t id, uint32_t size) {
    out.ids[count] = id;
    if (out.sizes != nullptr) out.sizes[count] = size;
    ++count;
  };
  if (prefixed) add(model_.PieceOfCode(space_), 0);
  for (size_t at = 0; at < split.size();) {
    uint32_t size;
    const char32_t c = utf8::DecodeValid(split.data() + at, &size);
    const uint32_t id = model_.PieceOfCode(c == U' ' ? space_ : model_.codes[c]);
    const bool unknown = id == trie::kNoValue;
    if (!unknown) {
      add(id, size);
    } else if (falls_back) {
      for (uint32_t i = 0; i < size; ++i) add(model_.byte_ids[static_cast<uint8_t>(split[at + i])], 1);
    } else if (has_unk && unk_id == image::kNoId) {
      *missing = true;
    } else if (has_unk && fuses && after_unknown) {
      if (out.sizes != nullptr) out.sizes[count - 1] += size;
    } else if (has_unk) {
      add(unk_id, size);
    }
    after_unknown = unknown;
    at += size;
  }
  return count;
}

}  // namespace rankfeed::bpe
