// SPDX-License-Identifier: MIT
// fast/split_blocks.h: where the splits of a pattern begin, 64 bytes at a time, from masks of classes;
// the same places as split::Pattern finds one by one. For the patterns of GPT-2, cl100k, Llama 3, Qwen2 to
// Qwen3.5, and for others of the family whose arms are the same; and the words that spaces begin, of image::kSpaceWords.
//
// Splits are runs of one class: letters, digits, white space, others. Arithmetic on the masks finds where
// runs begin, and moves begins: a blank or a sign goes with what comes after it, the last white space with
// the next word, newlines with the others before them. Looked at one by one are contractions, characters
// outside ASCII, white space after a newline, digits in groups, and runs of blanks that are tokens.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "fast/segments.h"
#include "image/model.h"
#include "split/pattern.h"

namespace rankfeed::fast {

struct KernelTable;

class SplitBlocks {
 public:
  static constexpr size_t kMostBytes = 4096, kWords = kMostBytes / 64;

  // Begins of splits and of their parts, as Find found them: in masks[k] those of text[at + 64 k ..], each but
  // the first an end too; and where the last split begins, and the last part of it. marked: the places where
  // splits are cut are word_starts (image::kPartsHaveKeys).
  struct Begins {
    BoundaryMasks masks[kWords];
    uint32_t count;  // masks
    bool marked;
    size_t split, part;
  };

  // Whether it finds the splits of a pattern.
  static bool Knows(uint32_t knobs);

  // The model's segments are the splits of its pattern. Model and kernels must outlive this object.
  SplitBlocks(const Model& model, const KernelTable& kernels, const ByteSet& stop_bytes);

  const CharacterTables& tables() const { return tables_; }
  const split::Pattern& pattern() const { return pattern_; }
  bool knows_pattern() const { return at_spaces_ || Knows(knobs_); }
  // Returns whether words begin at spaces, and no pattern is asked.
  bool at_spaces() const { return at_spaces_; }
  bool digits_apart() const { return digits_apart_; }
  // Returns whether a text ends with a U+2581, which no space after it is cut from.
  static bool EndsWithMetaspace(std::string_view text) { return text.ends_with("\xe2\x96\x81"); }

  // Begins to look at text[at, stop), kMostBytes at most.
  void Begin(std::string_view text, size_t at, size_t stop);
  // Looks at the k-th 64 bytes of them, after those before. Returns what is not ASCII there, null if all is.
  const LeadMasks* Look(size_t k) {
    if (k < 2 || k % kTogether == 0) Classify(k);
    return masks_[k].beyond_ascii == 0 ? nullptr : ClassifyLeads(k);
  }
  // This tells whether a stop byte is among the bytes looked at.
  bool stopped() const { return stopped_; }

  // Finds begins in text[at, stop), kMostBytes at most, where a split begins at `at`; where what comes
  // after `stop` decides about some, all from the first of them on are missing. text: valid UTF-8. Looks
  // at the bytes first, unless they are the ones that were looked at last, all of them. O(stop - at).
  void Find(std::string_view text, size_t at, size_t stop, Begins* begins);

 private:
  // The last bits of a word, for the next one; sign: a sign ends with the word, or goes on.
  struct Carry {
    uint64_t letter = 0, other = 0, digit = 0, white = 0, blank = 0, line_end = 0, sign = 0, tail = 0, inner = 0;
  };

  // One call classifies so many words of 64 bytes. The first word is classified alone, since a text with much that NFC
  // may change is begun anew after every few bytes.
  static constexpr size_t kTogether = 16;

  void Classify(size_t k);
  const LeadMasks* ClassifyLeads(size_t k);
  bool ArePlain(uint32_t first, uint32_t count) const;
  void AddBeyondAscii();
  void AddSpaceRuns();
  uint64_t BeginsOf(size_t k, Carry* carry);
  uint64_t WordsOf(size_t k, Carry* carry) const;
  void AddContractions(size_t k, uint64_t apostrophes);
  uint64_t DigitGroups(uint64_t digits, uint64_t first);
  bool EndsLine(size_t at) const;
  size_t LastOf(const BoundaryMasks* masks, size_t count) const;
  bool Has(uint32_t knob) const { return (knobs_ & knob) != 0; }

  const Model& model_;
  const KernelTable& kernels_;
  const ByteSet stop_bytes_;
  const uint32_t knobs_, space_run_, most_digits_;
  const bool marks_parts_;  // image::kPartsHaveKeys
  const bool at_spaces_, classes_apart_, digits_apart_;  // image::kSpaceWords, kClassesApart, kDigitsApart
  const split::Pattern pattern_;
  CharacterTables tables_;
  std::string_view text_;
  size_t at_ = 0;  // of the first word; places in masks count from here
  size_t size_ = 0, words_ = 0;
  bool stopped_ = false, beyond_ascii_ = false;
  uint32_t digits_ = 0;  // of the group at the end of the word before
  Begins* begins_ = nullptr;
  SplitMasks masks_[kWords + 1];
  LeadMasks leads_[kWords];
};

}  // namespace rankfeed::fast
