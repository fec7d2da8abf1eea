// SPDX-License-Identifier: MIT
// normalize/charsmap.h: look-ups in a precompiled charsmap (SentencePiece normalizer_spec
// .precompiled_charsmap, HuggingFace Precompiled normalizer).
//
// The charsmap is a Darts-clone double array over the bytes of the keys plus a pool of
// NUL-separated replacements. A unit packs, from the low bit (darts.h of sentencepiece 0.1.97,
// DoubleArrayUnit):
//
//   bits 0..7  label     bit 8  a key ends here     bit 9  offset is scaled by 256
//   bits 10..  offset, XORed with the node index     bit 31  set in the unit that holds a value
//
// Every index is checked, so any array of units and any pool is safe; a step outside the array ends
// the walk, and so does kMaxCharsmapKeyBytes, because units of a forged image may lead in circles.
// A replacement that does not end within kMaxReplacementBytes is none. Cost: one unit per byte of
// the longest key that fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/narrow.h"

namespace rankfeed {

// The builder refuses charsmaps with longer keys and replacements (builder/normalize/charsmap_check.cc);
// published ones have at most 12 and 33 bytes.
inline constexpr size_t kMaxCharsmapKeyBytes = 1024;
inline constexpr size_t kMaxReplacementBytes = 1024;

struct CharsmapMatch {
  uint32_t key_size = 0;  // bytes of text that the key covers; 0: no key matches
  std::string_view replacement;
  explicit operator bool() const { return key_size != 0; }
};

class Charsmap {
 public:
  Charsmap() = default;
  Charsmap(std::span<const uint32_t> units, std::span<const char> pool)
      : units_(units), pool_(pool) {}
  bool empty() const { return units_.empty(); }

  // The shortest key that text starts with (HuggingFace: spm_precompiled 0.1.4 lib.rs transform
  // takes the first result). A NUL in text ends the walk, as it does there.
  CharsmapMatch Shortest(std::string_view text) const { return Walk<Key::kShortest>(text); }

  // The longest key that text starts with (SentencePiece 0.1.97 normalizer.cc NormalizePrefix).
  CharsmapMatch Longest(std::string_view text) const { return Walk<Key::kLongest>(text); }

  // Whether the first two bytes of a text tell that no key begins with its first one.
  bool NoneBeginsWith(char first, char second) const {
    if (units_.empty()) return true;
    const uint32_t a = Byte(first), b = Byte(second);
    size_t node = Offset(units_[0]) ^ a;
    if (node >= units_.size()) return true;
    const uint32_t unit = units_[node];
    if ((unit & 0x800000ff) != a) return true;
    if ((unit & 0x100) != 0) return false;
    node ^= Offset(unit) ^ b;
    return node >= units_.size() || (units_[node] & 0x800000ff) != b;
  }

 private:
  enum class Key { kShortest, kLongest };

  static constexpr uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

  template <Key key>
  CharsmapMatch Walk(std::string_view text) const {
    CharsmapMatch match;
    if (units_.empty()) return match;
    size_t node = Offset(units_[0]);
    uint32_t last = 0;  // where the replacement of the longest key lies
    const size_t size = text.size() < kMaxCharsmapKeyBytes ? text.size() : kMaxCharsmapKeyBytes;
    for (size_t i = 0; i < size; ++i) {
      const uint32_t byte = Byte(text[i]);
      if (byte == 0 && key == Key::kShortest) break;
      node ^= byte;
      if (node >= units_.size()) break;
      const uint32_t unit = units_[node];
      if ((unit & 0x800000ff) != byte) break;
      node ^= Offset(unit);
      if ((unit & 0x100) == 0) continue;
      if (node >= units_.size()) break;
      match.key_size = static_cast<uint32_t>(i + 1);
      last = units_[node] & 0x7fffffff;
      if (key == Key::kShortest) break;
    }
    if (match.key_size != 0) match.replacement = Replacement(last);
    return match;
  }

  std::string_view Replacement(size_t begin) const {
    if (begin >= pool_.size()) return {};
    const std::string_view rest(pool_.data() + begin, pool_.size() - begin);
    const size_t size = rest.substr(0, kMaxReplacementBytes + 1).find('\0');
    return size == std::string_view::npos ? std::string_view() : rest.substr(0, size);
  }

  std::span<const uint32_t> units_;
  std::span<const char> pool_;
};

}  // namespace rankfeed
