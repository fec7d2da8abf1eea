// SPDX-License-Identifier: MIT
// segment/normalized_tokens.h: whether a text may hold an added token that is looked for in normalized
// text ("normalized": true). Only for tokens of two and more ASCII characters
// (builder/segment_tables.cc).
//
// What of a token is written in ASCII letters that normalize to it one by one is found as such.
// Where some of its characters may come from others, which are no single code or not ASCII, the
// answer is yes; and those that its first character may come from leave the fast road by
// themselves (builder/characters.cc).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "image/model.h"

namespace rankfeed::segment {

class NormalizedTokens {
 public:
  // Of a model that takes the fast road.
  explicit NormalizedTokens(const Model& model) : model_(&model) {
    if (model.added_normalized.empty()) return;
    constexpr uint32_t kCodeOnly = image::kCharCodeMask | image::kCharBases | image::kCharMarks |
                                   image::kCharNoBoundary | image::kCharUnknown;
    for (uint8_t b = 0; b < 128; ++b) {
      const uint32_t info = model.segment.char_info[b];
      if ((info & (image::kCharSpace | image::kCharExpands)) == image::kCharSpace) becomes_[b] = ' ';
      for (uint8_t to = 1; to < 128 && (info & ~kCodeOnly) == 0; ++to) {
        if (model.codes[to] != 0 && model.codes[to] == (info & image::kCharCodeMask)) becomes_[b] = to;
      }
    }
    for (uint8_t b = 0; b < 128; ++b) {
      trie::Unit unit = model.added_normalized.root();
      if (becomes_[b] != 0 && model.added_normalized.Step(unit, becomes_[b] + 1u)) {
        first_bytes_.Add(b);
        empty_ = false;
      }
    }
  }

  bool empty() const { return empty_; }
  // Bytes of a text that such a token may begin with.
  const ByteSet& first_bytes() const { return first_bytes_; }
  // Whether normalized text holds what such a token may begin with.
  bool MayBeginIn(std::string_view normalized) const {
    if (empty_) return false;
    for (const char c : normalized) {
      trie::Unit unit = model_->added_normalized.root();
      if (model_->added_normalized.Step(unit, static_cast<unsigned char>(c) + 1u)) return true;
    }
    return false;
  }

  // False only if none occurs. O(text bytes * longest token) at worst.
  bool MayOccurIn(std::string_view text) const {
    for (size_t at = 0; at < text.size(); ++at) {
      const std::string_view rest(text.data() + at, text.size() - at);
      if (first_bytes_.Has(static_cast<uint8_t>(rest[0])) && MayOccurAt(rest)) return true;
    }
    return false;
  }

 private:
  bool MayOccurAt(std::string_view text) const {
    trie::Unit unit = model_->added_normalized.root();
    for (uint32_t i = 0; i < text.size() && i < model_->max_added_bytes; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x80 || becomes_[byte] == 0) return true;
      if (!model_->added_normalized.Step(unit, becomes_[byte] + 1u)) return false;
      if (trie::Value(unit) != trie::kNoValue) return true;
    }
    return false;
  }

  const Model* const model_;
  uint8_t becomes_[128] = {};  // the ASCII character that a raw one is code for; 0: others
  ByteSet first_bytes_ = {};
  bool empty_ = true;
};

}  // namespace rankfeed::segment
