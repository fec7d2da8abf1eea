// SPDX-License-Identifier: MIT
// fast/segments.h: segments of a text by number, and masks of 64 bytes that they are made of.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/format.h"

namespace rankfeed::fast {

// Segments by number: bytes [begin, end) of their text, begin < end.
struct Segments {
  // In begins: a U+2581 stands before it, which is not of the text; with image::kPartsHaveKeys: it is a part of a split.
  static constexpr uint32_t kWordStart = 1u << 31;
  uint32_t* begins;
  uint32_t* ends;

  Segments From(uint32_t i) const { return {begins + i, ends + i}; }
  uint32_t begin(uint32_t i) const { return begins[i] & ~kWordStart; }
  uint32_t size(uint32_t i) const { return ends[i] - begin(i); }
  bool word_start(uint32_t i) const { return begins[i] >= kWordStart; }
  std::string_view Bytes(std::string_view text, uint32_t i) const {
    return {text.data() + begin(i), size(i)};
  }
};

// Each mask has a bit for each of 64 bytes and says where segments begin, where they end, and which of
// those that begin there begin a word.
struct BoundaryMasks {
  uint64_t starts, stops, word_starts;
};

// For split_blocks.h, a bit for each byte. From the kernel: classes of ASCII bytes, blanks and newlines are spaces too; and
// bytes outside ASCII.
struct SplitMasks {
  uint64_t letters, digits, spaces, blanks, newlines, apostrophes;
  uint64_t beyond_ascii;
  // Found later: bytes of a character after its first, places between characters that no piece holds,
  // blanks of tokens, begins that classes do not show, and places that are no begins.
  uint64_t inner, parts, runs, begins, joined;
};

// Masks of bytes outside ASCII. inner: those that continue a character; leads: that begin one of two bytes or more, of
// three or more, of four or more; cuts: beside which words may be cut. By the character: kinds: those of each kind
// (CharacterTables); unsure: those that may be invalid UTF-8 or changed by NFC, as all of four bytes are.
struct LeadMasks {
  uint64_t inner, leads, threes, fours, cuts, kinds[3], unsure;
};

// A set of first bytes, for vectors to look bytes up in, as ByteSet.
struct alignas(16) LeadSet {
  uint8_t low[16] = {};
  uint8_t high[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8};

  constexpr void Add(uint8_t byte) { low[byte & 15] |= high[byte >> 4]; }
  constexpr bool Has(uint8_t byte) const { return (low[byte & 15] & high[byte >> 4]) != 0; }
};

// Tables that characters outside ASCII are told apart by.
struct CharacterTables {
  static constexpr uint8_t kALetter = 1, kADigit = 2, kASpace = 4;  // of LeadMasks::kinds each its bit

  LeadSet plain;  // all that begin so are letters, which NFC leaves alone
  LeadSet cuts;   // of two and three bytes: beside those that begin so words may be cut
  const uint16_t* blocks = nullptr;  // Model::split_classes
  const uint8_t* classes = nullptr;
  const uint64_t* pairs = nullptr;  // SegmentTables::spanned_pairs
  uint64_t uncut_lasts = 0;         // image::SegmentConfig
  uint8_t kinds[16] = {};           // by class: what runs take characters of it for
  uint8_t unstable = 0;             // bits of classes: NFC may change it

  // Returns whether a piece may hold the two in a row.
  bool MayHold(char32_t first, char32_t second) const {
    return image::Spanned(pairs, first, second) | ((uncut_lasts >> (first & 0x3f) & 1) != 0);  // without a branch
  }
};

}  // namespace rankfeed::fast
