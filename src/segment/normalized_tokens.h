// SPDX-License-Identifier: MIT
// segment/normalized_tokens.h: whether a text may hold an added token that is looked for in normalized
// text ("normalized": true), or a user-defined symbol of SentencePiece. Only for those of two and more
// ASCII characters (builder/segment_tables.cc); symbols of one are pieces like others.
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
  explicit NormalizedTokens(const Model& model)
      : tokens_(model.huggingface() ? model.added_normalized : model.user_defined),
        least_bytes_(model.huggingface() ? 1 : 2),
        most_bytes_(model.huggingface() ? model.max_added_bytes : model.config->max_piece_bytes) {
    if (tokens_.empty()) return;
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
      begins_[b] = Begins(b);
      empty_ &= !begins_[b];
    }
    for (uint8_t b = 0; b < 128; ++b) {
      if (becomes_[b] != 0 && begins_[becomes_[b]]) first_bytes_.Add(b);
    }
  }

  bool empty() const { return empty_; }
  // Bytes of a text that such a token may begin with.
  const ByteSet& first_bytes() const { return first_bytes_; }
  // Whether normalized text holds what such a token may begin with.
  bool MayBeginIn(std::string_view normalized) const {
    if (empty_) return false;
    for (const char c : normalized) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80 && begins_[byte]) return true;
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
  // Whether one that counts begins with that ASCII byte.
  bool Begins(uint8_t byte) const {
    trie::Unit first = tokens_.root();
    if (!tokens_.Step(first, byte + 1u)) return false;
    if (least_bytes_ == 1) return true;
    for (uint32_t next = 1; next < 256; ++next) {
      trie::Unit unit = first;
      if (tokens_.Step(unit, next + 1)) return true;
    }
    return false;
  }

  bool MayOccurAt(std::string_view text) const {
    trie::Unit unit = tokens_.root();
    for (uint32_t i = 0; i < text.size() && i < most_bytes_; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x80 || becomes_[byte] == 0) return true;
      if (!tokens_.Step(unit, becomes_[byte] + 1u)) return false;
      if (i + 1 >= least_bytes_ && trie::Value(unit) != trie::kNoValue) return true;
    }
    return false;
  }

  const trie::View tokens_;
  const uint32_t least_bytes_, most_bytes_;
  bool begins_[128] = {};      // normalized bytes that some begin with
  uint8_t becomes_[128] = {};  // the ASCII character that a raw one is code for; 0: others
  ByteSet first_bytes_ = {};
  bool empty_ = true;
};

}  // namespace rankfeed::segment
