// SPDX-License-Identifier: MIT
// fast/split_blocks.cc: see split_blocks.h. Bits of masks are bytes in text order, so `<< 1` says of
// each byte what is so of the one before it.
#include "fast/split_blocks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "image/fast_road.h"

namespace rankfeed::fast {
namespace {

// Finds the first bit after each run of ones in `mask` that begins in `first`; *carry: a run that
// begins goes on, in and out. What is not first in its run is not touched.
uint64_t Ripple(uint64_t mask, uint64_t first, uint64_t* carry) {
  uint64_t sum = 0;
  *carry = __builtin_add_overflow(mask, (first | *carry) & mask, &sum) ? 1 : 0;
  return sum;
}

uint32_t KnobsOf(const Model& model) {
  for (const image::Step& step : model.pre_tokenizer) {
    if (step.op == static_cast<uint32_t>(image::Op::kSplitPattern)) return step.arg0;
  }
  return 0;
}

constexpr uint64_t Bit(size_t at) { return uint64_t{1} << (at % 64); }

}  // namespace

bool SplitBlocks::Knows(uint32_t knobs) {
  constexpr uint32_t kOthersNot = split::kContractionSuffix | split::kSignAndLatin | split::kSlashTail |
                                  split::kKana;
  const uint32_t letters = knobs & split::kLettersMask, prefix = knobs & split::kPrefixMask,
                 others = knobs & split::kOthersMask;
  // Marks are letters or others, not both and not neither.
  const bool marks = letters == split::kLetters ? others == split::kOthersAndMarks
                                                : letters == split::kLettersAndMarks && others == split::kOthers;
  return (knobs & kOthersNot) == 0 && marks && (knobs & split::kDigitsMask) != 0 &&
         (knobs & split::kSpaces) != 0 && (prefix == split::kBlankPrefix || prefix == split::kSignPrefix);
}

SplitBlocks::SplitBlocks(const Model& model, const KernelTable& kernels, const ByteSet& stop_bytes)
    : model_(model),
      kernels_(kernels),
      stop_bytes_(stop_bytes),
      knobs_(KnobsOf(model)),
      space_run_(model.segment.config->space_run),
      most_digits_((knobs_ & split::kDigitsMask) / split::kOneDigit),
      marks_parts_((model.segment.config->rules & image::kPartsHaveKeys) != 0),
      at_spaces_((model.segment.config->rules & image::kSpaceWords) != 0),
      classes_apart_((model.segment.config->rules & image::kClassesApart) != 0),
      digits_apart_((model.segment.config->rules & image::kDigitsApart) != 0),
      pattern_(model, knobs_) {
  using Tables = CharacterTables;
  const bool marks = (knobs_ & split::kLettersMask) == split::kLettersAndMarks;
  for (const uint8_t letter : {split::kUpper, split::kLower, split::kLetter}) tables_.kinds[letter] = Tables::kALetter;
  if (marks) tables_.kinds[split::kMark] = Tables::kALetter;
  tables_.kinds[split::kDigit] = Tables::kADigit;
  tables_.kinds[split::kSpace] = Tables::kASpace;
  tables_.blocks = model.split_classes.blocks;
  tables_.classes = model.split_classes.data;
  tables_.unstable = model.normalizer.empty() || at_spaces_ ? uint8_t{0} : uint8_t{split::kOrdered};
  tables_.pairs = model.segment.spanned_pairs.data();
  tables_.uncut_lasts = model.segment.config->uncut_lasts;
  for (uint32_t lead = 0xc2; lead < 0xf0; ++lead) {
    const bool two = lead < 0xe0;
    const uint32_t first = two ? (lead & 0x1f) << 6 : (lead & 0x0f) << 12;
    const bool plain = first >= 0x80 && ArePlain(first, two ? 64 : 4096);
    if (plain) tables_.plain.Add(static_cast<uint8_t>(lead));
    const bool uncut = two && (plain || (model.segment.config->uncut_firsts >> (lead & 0x3f) & 1) != 0);
    if (!uncut) tables_.cuts.Add(static_cast<uint8_t>(lead));
  }
}

// Whether these characters are letters of no other kind. Most of many have the same block.
bool SplitBlocks::ArePlain(uint32_t first, uint32_t count) const {
  const CodePointTable<uint8_t>& classes = model_.split_classes;
  for (uint32_t c = first; c < first + count; ++c) {
    const bool known = c % 256 == 0 && c != first && classes.blocks[c >> 8] == classes.blocks[(c >> 8) - 1];
    if (known) {
      c += 255;
      continue;
    }
    const uint32_t of = classes[c];
    if (of < split::kUpper || of > split::kLetter) return false;
  }
  return true;
}

void SplitBlocks::Begin(std::string_view text, size_t at, size_t stop) {
  text_ = text;
  at_ = at;
  size_ = stop - at;
  words_ = (size_ + 63) / 64;
  masks_[words_] = {};
  masks_[words_].spaces = ~uint64_t{0};
  stopped_ = beyond_ascii_ = false;
}

void SplitBlocks::Classify(size_t k) {
  const size_t words = k == 0 ? 1 : kTogether - k % kTogether;
  const size_t size = std::min(64 * words, size_ - 64 * k);
  stopped_ |= kernels_.classify_splits(text_.data() + at_ + 64 * k, size, stop_bytes_, masks_ + k);
}

const LeadMasks* SplitBlocks::ClassifyLeads(size_t k) {
  const size_t at = at_ + 64 * k;
  beyond_ascii_ = true;
  const size_t size = std::min<size_t>(64, size_ - 64 * k);
  kernels_.classify_leads(text_.data() + at, size, text_.size() - at, tables_, &leads_[k]);
  return &leads_[k];
}

void SplitBlocks::Find(std::string_view text, size_t at, size_t stop, Begins* begins) {
  begins_ = begins;
  if (at != at_ || stop != at_ + size_) {
    Begin(text, at, stop);
    for (size_t k = 0; k < words_; ++k) Look(k);
  }
  if (beyond_ascii_) AddBeyondAscii();
  if (space_run_ != 0) AddSpaceRuns();
  digits_ = 0;
  Carry carry;
  BoundaryMasks* const masks = begins->masks;
  for (size_t k = 0; k < words_; ++k) masks[k].starts = at_spaces_ ? WordsOf(k, &carry) : BeginsOf(k, &carry);
  masks[0].starts |= 1;
  // White space that goes on to the end is not decided.
  size_t last = words_;
  while (last > 1 && ~masks_[last - 1].spaces == 0) --last;
  const uint64_t decided = ~masks_[last - 1].spaces;
  const uint64_t known = decided == 0 ? 1 : ~uint64_t{0} >> std::countl_zero(decided);
  masks[last - 1].starts &= known;
  masks_[last - 1].parts &= known;
  begins->split = LastOf(masks, last);
  begins->marked = marks_parts_ && beyond_ascii_;
  for (size_t k = 0; begins->marked && k < last; ++k) masks_[k].parts &= ~masks[k].starts;
  for (size_t k = 0; k < last; ++k) {
    const uint64_t starts = masks[k].starts | masks_[k].parts;
    masks[k] = {starts, starts, 0};
  }
  for (size_t k = 0; begins->marked && k < last; ++k) masks[k].word_starts = masks_[k].parts;
  masks[0].stops &= ~uint64_t{1};
  begins->part = LastOf(masks, last);
  begins->count = static_cast<uint32_t>(last);
}

// The last begin in masks[0, count), in which there is one.
size_t SplitBlocks::LastOf(const BoundaryMasks* masks, size_t count) const {
  while (masks[count - 1].starts == 0) --count;
  return at_ + 64 * count - 1 - static_cast<size_t>(std::countl_zero(masks[count - 1].starts));
}

// Puts characters outside ASCII into the masks: first bytes by their classes, then the others like those.
void SplitBlocks::AddBeyondAscii() {
  uint64_t ends_before = 0;  // of characters that end in the word after
  char32_t before = 0;       // the last character that may be cut from what is beside it
  for (size_t k = 0; k < words_; ++k) {
    SplitMasks& m = masks_[k];
    const uint64_t carried = std::exchange(ends_before, 0);
    if (m.beyond_ascii == 0) continue;
    const char* const word = text_.data() + at_ + 64 * k;
    const size_t left = text_.size() - at_ - 64 * k;
    LeadMasks& of = leads_[k];
    for (uint64_t fours = of.fours; fours != 0; fours &= fours - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(fours));
      uint32_t bytes;
      const uint8_t kind = model_.split_classes[utf8::DecodeValid(word + bit, &bytes)] & split::kClassBits;
      for (int i = 0; i < 3; ++i) of.kinds[i] |= (uint64_t{tables_.kinds[kind]} >> i & 1) << bit;
    }
    const uint64_t threes = of.threes & of.cuts, twos = of.cuts & ~of.threes;
    const uint64_t apart = of.cuts == 0 ? 0 : kernels_.find_apart(word, left, of.cuts, tables_, &before);
    m.parts = apart & (threes << 3 | twos << 2 | carried);
    ends_before = threes >> 61 | twos >> 62;
    m.inner = of.inner;
    const auto add = [k, this](uint64_t SplitMasks::*mask, uint64_t first) {
      const uint64_t rest = masks_[k].inner;
      if (k != 0) first |= masks_[k - 1].*mask >> 63 & rest;
      for (int i = 0; i < 3; ++i) first |= first << 1 & rest;
      masks_[k].*mask |= first;
    };
    add(&SplitMasks::letters, of.kinds[0]);
    add(&SplitMasks::digits, of.kinds[1]);
    add(&SplitMasks::spaces, of.kinds[2]);
  }
}

// Runs of two blanks or more are tokens, as many of the longest as fit and one of what is left, unless
// that is a single blank.
void SplitBlocks::AddSpaceRuns() {
  for (size_t k = 0; k < words_; ++k) {
    const uint64_t blanks = masks_[k].blanks, before = k == 0 ? 0 : masks_[k - 1].blanks >> 63;
    const uint64_t after = k + 1 == words_ ? 0 : masks_[k + 1].blanks & 1;
    for (uint64_t first = blanks & ~(blanks << 1 | before) & (blanks >> 1 | after << 63); first != 0; first &= first - 1) {
      const size_t begin = 64 * k + static_cast<size_t>(std::countr_zero(first));
      size_t end = begin;
      for (;;) {
        const auto ones = static_cast<size_t>(std::countr_one(masks_[end / 64].blanks >> (end % 64)));
        end += ones;
        if (ones == 0 || end % 64 != 0 || end / 64 == words_) break;
      }
      if ((end - begin) % space_run_ == 1) --end;
      for (size_t i = begin; i < end; ++i) masks_[i / 64].runs |= Bit(i);
      for (size_t i = begin; i < end; i += space_run_) masks_[i / 64].begins |= Bit(i);
    }
  }
}

[[gnu::always_inline]] inline uint64_t SplitBlocks::BeginsOf(size_t k, Carry* carry) {
  SplitMasks& m = masks_[k];
  const uint64_t letters = m.letters, digits = m.digits, spaces = m.spaces & ~m.runs,
                 blanks = m.blanks & ~m.runs, others = ~(letters | digits | m.spaces);
  const uint64_t first_letters = letters & ~(letters << 1 | carry->letter),
                 first_others = others & ~(others << 1 | carry->other),
                 first_digits = digits & ~(digits << 1 | carry->digit),
                 after_blank = blanks << 1 | carry->blank;
  uint64_t white = spaces;
  if (Has(split::kNewlineTail)) {
    white &= ~(m.newlines & ~Ripple(m.newlines, others << 1 | carry->other, &carry->tail));
  }
  const uint64_t after_white = white << 1 | carry->white, line_ends = m.newlines & white,
                 after_line_end = line_ends << 1 | carry->line_end;
  const uint64_t signs = first_others & ~after_blank;
  const uint64_t apostrophes = m.apostrophes & signs;
  if (apostrophes != 0 && Has(split::kContraction)) AddContractions(k, apostrophes);

  uint64_t begins = signs | m.begins | (white & ~after_white);
  uint64_t joins = after_blank;  // letters to what is before them
  if ((knobs_ & split::kPrefixMask) == split::kSignPrefix) {
    // After one sign: past the rest of its bytes.
    const uint64_t after = signs << 1 | carry->sign;
    uint64_t inner = 0;
    const uint64_t past = Ripple(m.inner, after, &inner);
    carry->sign = signs >> 63 | inner;
    joins = ((after | past) & ~m.inner) | (after_white & ~after_line_end);
  }
  begins |= first_letters & ~joins;
  uint64_t groups = most_digits_ > 3    ? first_digits
                    : most_digits_ == 1 ? digits & ~m.inner
                                        : DigitGroups(digits & ~m.inner, first_digits);
  if (Has(split::kBlankBeforeDigits)) groups &= ~(first_digits & after_blank);
  begins |= groups;
  // The last white space before something else.
  uint64_t last = white & ~(m.spaces >> 1 | masks_[k + 1].spaces << 63);
  if (Has(split::kNewlines)) {
    last &= ~m.newlines;
    for (uint64_t ask = white & ~m.newlines & after_line_end; ask != 0; ask &= ask - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(ask));
      if (!EndsLine(64 * k + bit)) begins |= Bit(bit);
    }
  }
  for (uint64_t inner = last & m.inner; inner != 0; inner &= inner - 1) {
    size_t at = 64 * k + static_cast<size_t>(std::countr_zero(inner));
    while ((masks_[at / 64].inner & Bit(at)) != 0) --at;
    if (at / 64 == k) {
      begins |= Bit(at);
    } else {
      begins_->masks[at / 64].starts |= Bit(at);
    }
  }
  begins |= last & ~m.inner;
  carry->letter = letters >> 63, carry->other = others >> 63, carry->digit = digits >> 63;
  carry->blank = blanks >> 63, carry->white = white >> 63, carry->line_end = line_ends >> 63;
  return begins & ~m.joined;
}

// Begins of words: the first of each run of spaces, and what is of another class than the byte before it, but for what a
// U+2581 stands before.
uint64_t SplitBlocks::WordsOf(size_t k, Carry* carry) const {
  const SplitMasks& m = masks_[k];
  const uint64_t blanks = m.blanks, after_blank = blanks << 1 | carry->blank;
  uint64_t begins = blanks & ~after_blank;
  if (classes_apart_) {
    const uint64_t others = ~(m.letters | m.digits | blanks);
    const uint64_t same = (m.letters & (m.letters << 1 | carry->letter)) | (others & (others << 1 | carry->other)) |
                          (m.digits & (digits_apart_ ? m.inner : m.digits << 1 | carry->digit));
    begins |= ~(same | blanks | after_blank);
    carry->letter = m.letters >> 63, carry->other = others >> 63, carry->digit = m.digits >> 63;
  }
  for (uint64_t ask = begins & (m.inner << 1 | carry->inner); ask != 0; ask &= ask - 1) {
    const auto bit = static_cast<size_t>(std::countr_zero(ask));
    if (EndsWithMetaspace({text_.data(), at_ + 64 * k + bit})) begins &= ~Bit(bit);
  }
  carry->blank = blanks >> 63, carry->inner = m.inner >> 63;
  return begins;
}

// Contractions that begin at these apostrophes: a begin after each, none inside.
void SplitBlocks::AddContractions(size_t k, uint64_t apostrophes) {
  for (; apostrophes != 0; apostrophes &= apostrophes - 1) {
    const size_t at = 64 * k + static_cast<size_t>(std::countr_zero(apostrophes));
    const size_t end = pattern_.Contraction(text_, at_ + at) - at_;
    if (end == at) continue;
    masks_[end / 64].begins |= Bit(end);
    masks_[(at + 1) / 64].joined |= Bit(at + 1);
  }
}

// The first digits of groups.
uint64_t SplitBlocks::DigitGroups(uint64_t digits, uint64_t first) {
  uint64_t begins = 0;
  for (; digits != 0; digits &= digits - 1) {
    const uint64_t digit = digits & (~digits + 1);
    if ((first & digit) != 0) digits_ = 0;
    if (digits_ == 0) begins |= digit;
    digits_ = digits_ + 1 == most_digits_ ? 0 : digits_ + 1;
  }
  return begins;
}

// Whether the white space from a place on, which is no newline, goes on to one.
bool SplitBlocks::EndsLine(size_t at) const {
  for (;;) {
    const SplitMasks& m = masks_[at / 64];
    const uint64_t white = m.spaces & ~m.runs & ~m.newlines;
    const auto more = static_cast<size_t>(std::countr_one(white >> (at % 64)));
    at += more;
    if (at / 64 >= words_) return false;  // not decided
    if (more == 0 || at % 64 != 0) return (masks_[at / 64].newlines & Bit(at)) != 0;
  }
}

}  // namespace rankfeed::fast
