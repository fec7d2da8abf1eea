// SPDX-License-Identifier: MIT
// segment/normalized_tokens.h: whether a text may hold an added token that is looked for in
// normalized text ("normalized": true), or have one next to a separator. Only for those of two and
// more ASCII characters (builder/segment_tables.cc).
//
// A text is followed character by character to what it normalizes to, as long as that is told
// without the neighbours; where it is not, the answer is yes. Characters that become what a token
// begins with leave the fast road (builder/characters.cc).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/byte_set.h"
#include "image/model.h"

namespace rankfeed::segment {

class NormalizedTokens {
 public:
  // Of a model that takes the fast road.
  explicit NormalizedTokens(const Model& model)
      : tokens_(model.added_normalized),
        most_bytes_(model.max_added_bytes),
        char_info_(model.segment.char_info),
        expansions_(model.segment.expansions.data()),
        codes_(model.codes),
        code_count_(model.config->code_count) {
    if (tokens_.empty()) return;
    for (uint8_t b = 1; b < 128; ++b) {
      uint8_t& byte = ascii_[model.codes[b] % kCodeSlots];
      if (model.codes[b] != 0) byte = byte == 0 ? b : kSeveral;
    }
    constexpr uint32_t kCodeOnly = image::kCharCodeMask | image::kCharBases | image::kCharMarks |
                                   image::kCharNoBoundary | image::kCharUnknown;
    std::memcpy(separators_.low, model.segment.config->separators, sizeof(separators_.low));
    for (uint8_t b = 0; b < 128; ++b) {
      const uint32_t info = model.segment.char_info[b];
      if ((info & (image::kCharSpace | image::kCharExpands)) == image::kCharSpace) {
        becomes_[b] = ' ';
      }
      // One that stays for what makes a U+2581 of it.
      if (b == ' ' && separators_.Has(b) && (info & ~kCodeOnly) == 0) becomes_[b] = ' ';
      const uint32_t code = (info & ~kCodeOnly) == 0 ? info & image::kCharCodeMask : ListedCode(info);
      for (uint8_t to = 1; to < 128 && code != 0; ++to) {
        if (model.codes[to] == code) becomes_[b] = to;
      }
    }
    for (uint8_t b = 0; b < 128; ++b) {
      begins_[b] = Begins(b);
      empty_ &= !begins_[b];
    }
    for (uint8_t b = 0; b < 128; ++b) {
      if (becomes_[b] == 0 || !begins_[becomes_[b]]) continue;
      first_bytes_.Add(b);
      only_first_ = only_first_ == 0 ? b : kSeveral;
    }
    for (const image::AddedToken& token : model.added_tokens) {
      const bool counts = (token.flags & image::kNormalized) != 0;
      const std::string_view text = counts ? model.text(token.normalized) : std::string_view();
      if (!text.empty()) lasts_.Add(static_cast<uint8_t>(text.back()));
    }
    for (uint8_t b = 0; b < 128; ++b) {
      if (MayComeSecond(b)) seconds_.Add(b);
    }
    for (uint8_t b = 0; b < 128; ++b) {
      if (becomes_[b] == 0 || seconds_.Has(becomes_[b])) second_bytes_.Add(b);
    }
  }

  bool empty() const { return empty_; }
  // Bytes of a text that such a token may begin with.
  const ByteSet& first_bytes() const { return first_bytes_; }
  // Whether a part of normalized text holds one, or may end with the begin of one.
  bool MayBeginIn(std::string_view normalized) const;
  // False only if none occurs in a text. O(text bytes * longest token) at worst.
  bool MayOccurIn(std::string_view text) const;

  // Whether one may end right before the separator at `at` of a text, or begin right after it. The
  // text may be cut off: more than kBytesAhead after the separator change no answer. O(1).
  static constexpr uint32_t kCharactersAhead = 16, kBytesAhead = 4 * (kCharactersAhead + 1);
  bool MayTouch(std::string_view text, size_t at) const {
    return MayEndAt(text, at) || MayBeginAt(text, at + 1);
  }

 private:
  static constexpr uint32_t kCharactersBefore = 32;  // a separator, that are looked at

  bool Begins(uint8_t byte) const;
  // Whether one has it second.
  bool MayComeSecond(uint8_t byte) const;

  // The ASCII character of a code; 0: of another one, kSeveral: that is not told.
  uint8_t AsciiOf(uint32_t code) const {
    const uint8_t byte = code < code_count_ ? ascii_[code % kCodeSlots] : uint8_t{0};
    return byte == 0 || byte == kSeveral || codes_[byte] == code ? byte : uint8_t{0};
  }

  // The code of the one character that a list says an ASCII character becomes; 0: there is no list,
  // or it has more.
  uint32_t ListedCode(uint32_t info) const;

  bool NoneGoesOn(const char* at, const char* end) const;
  // A place in a token: after so many of its bytes.
  struct Place {
    trie::Unit unit;
    uint32_t bytes = 0;
  };
  enum class Answer : uint8_t { kNo, kYes, kGoesOn };
  Answer StepByte(uint8_t byte, Place* place) const;
  Answer StepCode(uint32_t code, Place* place) const;
  Answer StepCodes(std::span<const uint16_t> codes, Place* place) const;
  Answer StepCharacter(std::string_view text, uint32_t info, size_t size, Place* place) const;
  bool MayGoOn(std::string_view text) const;
  bool IsToken(const uint8_t* begin, const uint8_t* end) const;
  bool MayEndAt(std::string_view text, size_t at) const;
  bool MayBeginAt(std::string_view text, size_t at) const;

  const trie::View tokens_;
  const uint32_t most_bytes_;
  const CodePointTable<uint32_t> char_info_;
  const uint16_t* const expansions_;
  const CodePointTable<uint16_t> codes_;
  const uint32_t code_count_;
  static constexpr uint32_t kCodeSlots = 1024;
  static constexpr uint8_t kSeveral = 0xff;
  uint8_t ascii_[kCodeSlots] = {};  // the ASCII character of a code, by its lowest bits
  bool begins_[128] = {};           // normalized bytes that some begin with
  uint8_t becomes_[128] = {};       // the ASCII character that a raw one is code for; 0: others
  ByteSet seconds_ = {};            // normalized bytes that some have second
  ByteSet lasts_ = {};              // normalized bytes that some end with
  ByteSet separators_ = {};
  ByteSet first_bytes_ = {}, second_bytes_ = {};
  uint8_t only_first_ = 0;  // of first_bytes_, if there is one; 0: none
  bool empty_ = true;
};

}  // namespace rankfeed::segment
