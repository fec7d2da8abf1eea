// SPDX-License-Identifier: MIT
// unicode/grapheme.h: extended grapheme clusters, UAX #29 revision 47 (Unicode 17), rules GB3 to
// GB999.
//
// One forward pass with the little memory that the rules need: what precedes a ZWJ (GB11), what
// precedes a conjunct (GB9c) and the parity of regional indicators (GB12, GB13).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/narrow.h"
#include "image/model.h"
#include "base/utf8.h"

namespace rankfeed::unicode {

class ClusterRules {
 public:
  // Starts a cluster with a character of class c.
  explicit ClusterRules(uint32_t c) : previous_(c) { Remember(c); }

  // Whether a character of class c continues the cluster; if so it becomes its last.
  bool Joins(uint32_t c) {
    if (!NoBreakBefore(c)) return false;
    Remember(c);
    previous_ = c;
    return true;
  }

 private:
  static bool IsControl(uint32_t c) {
    return c == image::kGraphemeCr || c == image::kGraphemeLf || c == image::kGraphemeControl;
  }
  static bool IsExtend(uint32_t c) {
    return c == image::kGraphemeExtend || c == image::kGraphemeLinker || c == image::kGraphemeZwnj;
  }

  bool NoBreakBefore(uint32_t c) const {
    using namespace image;
    const uint32_t p = previous_;
    if (p == kGraphemeCr && c == kGraphemeLf) return true;                           // GB3
    if (IsControl(p) || IsControl(c)) return false;                                  // GB4, GB5
    if (IsExtend(c) || c == kGraphemeZwj || c == kGraphemeSpacingMark) return true;  // GB9, GB9a
    if (p == kGraphemePrepend) return true;                                          // GB9b
    switch (c) {
      case kGraphemeL:
      case kGraphemeLv:
      case kGraphemeLvt:
        return p == kGraphemeL;  // GB6
      case kGraphemeV:
        return p == kGraphemeL || p == kGraphemeLv || p == kGraphemeV;  // GB6, GB7
      case kGraphemeT:
        return p == kGraphemeLv || p == kGraphemeV || p == kGraphemeLvt || p == kGraphemeT;
      case kGraphemeConsonant:
        return conjunct_ == Conjunct::kLinked;  // GB9c
      case kGraphemePictographic:
        return emoji_ == Emoji::kJoined;  // GB11
      case kGraphemeRegionalIndicator:
        return odd_indicators_;  // GB12, GB13
      default:
        return false;  // GB999
    }
  }

  void Remember(uint32_t c) {
    using namespace image;
    odd_indicators_ = c == kGraphemeRegionalIndicator && !odd_indicators_;

    if (c == kGraphemePictographic) {
      emoji_ = Emoji::kPictographic;
    } else if (c == kGraphemeZwj && emoji_ == Emoji::kPictographic) {
      emoji_ = Emoji::kJoined;
    } else if (!(IsExtend(c) && emoji_ == Emoji::kPictographic)) {
      emoji_ = Emoji::kNone;
    }

    if (c == kGraphemeConsonant) {
      conjunct_ = Conjunct::kConsonant;
    } else if (conjunct_ != Conjunct::kNone && c == kGraphemeLinker) {
      conjunct_ = Conjunct::kLinked;
    } else if (c != kGraphemeExtend && c != kGraphemeZwj) {  // InCB=Extend
      conjunct_ = Conjunct::kNone;
    }
  }

  enum class Emoji : uint8_t { kNone, kPictographic, kJoined };
  enum class Conjunct : uint8_t { kNone, kConsonant, kLinked };
  uint32_t previous_;
  Emoji emoji_ = Emoji::kNone;
  Conjunct conjunct_ = Conjunct::kNone;
  bool odd_indicators_ = false;
};

// Returns the end of the cluster that starts at text[pos]. text is valid UTF-8. O(cluster).
inline uint32_t ClusterEnd(const Model& model, std::string_view text, uint32_t pos) {
  const auto byte = [&](uint32_t i) { return Byte(text[i]); };
  const auto n = Size32(text);
  // Two ASCII characters join only as CR LF.
  if (byte(pos) < 0x80) {
    if (pos + 1 == n) return n;
    if (byte(pos + 1) < 0x80) return pos + (byte(pos) == '\r' && byte(pos + 1) == '\n' ? 2 : 1);
  }
  uint32_t size;
  const auto class_at = [&] {
    return model.props[utf8::DecodeValid(text.data() + pos, &size)] & image::kGraphemeMask;
  };
  const uint32_t first = class_at();
  pos += size;
  // Only kGraphemePrepend joins the next character if that has no class.
  if (pos == n) return n;
  if (first != image::kGraphemePrepend && class_at() == image::kGraphemeOther) return pos;
  ClusterRules rules(first);
  while (pos < n && rules.Joins(class_at())) pos += size;
  return pos;
}

}  // namespace rankfeed::unicode
