// SPDX-License-Identifier: MIT
// segment/normalized_tokens.h: whether a text may hold an added token that is looked for in
// normalized text ("normalized": true), or a user-defined symbol of SentencePiece. Only for those
// of two and more ASCII characters (builder/segment_tables.cc); symbols of one are pieces like
// others.
//
// What of a token is written in ASCII letters that normalize to it one by one is found as such.
// Where some of its characters may come from others, which become ASCII or are read with their
// neighbours, the answer is yes; and those that its first character may come from leave the fast
// road by themselves (builder/characters.cc).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/byte_set.h"
#include "base/utf8.h"
#include "image/model.h"
#include "segment/spans.h"

namespace rankfeed::segment {

class NormalizedTokens {
 public:
  // Of a model that takes the fast road.
  explicit NormalizedTokens(const Model& model)
      : tokens_(model.huggingface() ? model.added_normalized : model.user_defined),
        least_bytes_(model.huggingface() ? 1 : 2),
        most_bytes_(model.huggingface() ? model.max_added_bytes : model.config->max_piece_bytes),
        char_info_(model.segment.char_info),
        expansions_(model.segment.expansions.data()),
        code_count_(model.config->code_count) {
    if (tokens_.empty()) return;
    for (uint8_t b = 1; b < 128; ++b) {
      const uint32_t code = model.codes[b];
      if (code != 0) codes_[code % kCodeBits / 64] |= uint64_t{1} << code % 64;
    }
    constexpr uint32_t kCodeOnly = image::kCharCodeMask | image::kCharBases | image::kCharMarks |
                                   image::kCharNoBoundary | image::kCharUnknown;
    ByteSet separators;
    std::memcpy(separators.low, model.segment.config->separators, sizeof(separators.low));
    for (uint8_t b = 0; b < 128; ++b) {
      const uint32_t info = model.segment.char_info[b];
      if ((info & (image::kCharSpace | image::kCharExpands)) == image::kCharSpace) {
        becomes_[b] = ' ';
      }
      // One that stays for what makes a U+2581 of it.
      if (b == ' ' && separators.Has(b) && (info & ~kCodeOnly) == 0) becomes_[b] = ' ';
      for (uint8_t to = 1; to < 128 && (info & ~kCodeOnly) == 0; ++to) {
        if (model.codes[to] != 0 && model.codes[to] == (info & image::kCharCodeMask)) {
          becomes_[b] = to;
        }
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
      if (byte >= 0x80) return MayBecomeAscii(text, i);
      if (becomes_[byte] == 0) return true;
      if (!tokens_.Step(unit, becomes_[byte] + 1u)) return false;
      if (i + 1 >= least_bytes_ && trie::Value(unit) != trie::kNoValue) return true;
    }
    return false;
  }

  // Of a character that is not ASCII, whether what it becomes may begin with one that is, for all
  // that is known without its neighbours, or it is not known without them. Tokens hold no others.
  bool MayBecomeAscii(std::string_view text, size_t at) const {
    constexpr uint32_t kNotLocal =
        image::kCharNormalizes | image::kCharGeneralPath | image::kCharMarks;
    const utf8::Decoded c = utf8::Decode(text, at);
    const uint32_t info = char_info_[c.code_point];
    if (!c.valid || (info & kNotLocal) != 0) return true;
    if (at += c.size; at < text.size()) {
      const utf8::Decoded next = utf8::Decode(text, at);
      if (!next.valid || (char_info_[next.code_point] & image::kCharMarks) != 0) return true;
    }
    uint32_t code = info & image::kCharCodeMask;
    if ((info & image::kCharExpands) != 0) {
      const uint16_t* const list = expansions_ + code;
      if (ExpansionCount(list) == 0 || list[1] == 0 || list[1] == image::kWordEnd) return true;
      code = list[1];
    } else if ((info & image::kCharSpace) != 0) {
      return true;
    }
    if (code >= code_count_) return false;  // in no piece, as what tokens hold is
    return (codes_[code % kCodeBits / 64] >> code % 64 & 1) != 0;
  }

  const trie::View tokens_;
  const uint32_t least_bytes_, most_bytes_;
  const CodePointTable<uint32_t> char_info_;
  const uint16_t* const expansions_;
  const uint32_t code_count_;
  static constexpr uint32_t kCodeBits = 1024;
  uint64_t codes_[kCodeBits / 64] = {};  // of ASCII characters, by their lowest bits
  bool begins_[128] = {};                // normalized bytes that some begin with
  uint8_t becomes_[128] = {};  // the ASCII character that a raw one is code for; 0: others
  ByteSet first_bytes_ = {};
  bool empty_ = true;
};

}  // namespace rankfeed::segment
