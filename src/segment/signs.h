// SPDX-License-Identifier: MIT
// segment/signs.h: the characters that words end beside without a space (image::kSigns), and where.
// A word ends between two characters by what they are, a sign or another character; what that is
// follows from each alone (what it normalizes to), and also whether a word ends before or behind
// it. Only of kinds of signs that are in runs it depends on what is next to it: a run is of signs
// that are of the same kinds, and has a number (image::SignRun).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "base/utf8.h"
#include "image/model.h"
#include "segment/spans.h"

namespace rankfeed::segment {

class Signs {
 public:
  explicit Signs(const Model& model) : model_(model), rules_(model.segment.config->rules) {
    if (!any()) return;
    ascii_ = model.segment.config->common;
    const auto asked = [this](uint32_t rule, uint32_t props) {
      return (rules_ & rule) != 0 ? props : 0;
    };
    sign_props_ = asked(image::kSignsArePunctuation, image::kPunctuationProp) |
                  asked(image::kSignsAreDigits, image::kNumeric) |
                  asked(image::kSignsAreNoWords, image::kWord);
    if (!in_runs()) return;
    int run = kNoRun;  // of the first sign of ASCII
    for (int byte = 0; byte < 0x80; ++byte) {
      if (run == kNoRun) run = RunOf(byte);
      ascii_alike_ &= RunOf(byte) == kNoRun || (RunOf(byte) == run && run != 0);
    }
  }

  bool any() const { return (rules_ & image::kSigns) != 0; }
  // Whether a word ends there.
  bool before() const { return (rules_ & image::kEndsBeforeSign) != 0; }
  bool behind() const { return (rules_ & image::kEndsBehindSign) != 0; }
  // Each sign is a word.
  bool isolated() const { return before() && behind() && !in_runs(); }
  // Signs of some kinds are one word where they stand in a row, which ends before any other
  // character.
  bool in_runs() const { return (rules_ & image::kSignsInRuns) != 0; }
  // And those of ASCII are all of one run where they do.
  bool ascii_alike() const { return in_runs() && ascii_alike_; }
  // Whether this one, a byte of ASCII or a character of normalized text, is taken out.
  bool Vanishes(char32_t c) const {
    return (rules_ & image::kSignsVanish) != 0 && image::SignVanishes(KindsOf(c), rules_);
  }
  // Spaces before a sign are a word.
  bool after_space() const { return (rules_ & image::kSpaceBeforeSignIsWord) != 0; }

  // Of raw bytes: those of ASCII, which are themselves whatever comes before them.
  bool Has(char byte) const {
    return static_cast<uint8_t>(byte) < 0x80 && ByteSet::Has(ascii_, static_cast<uint8_t>(byte));
  }
  // The run that the sign of ASCII may be in, 0 if it is a word; below 0 of another byte, and of
  // none.
  static constexpr int kNoRun = -1;
  int RunOf(int byte) const {
    if (!Has(static_cast<char>(byte))) return kNoRun;
    return in_runs() ? image::SignRun(KindsOf(static_cast<unsigned char>(byte)), rules_) : 0;
  }
  // Of normalized text: image::kSign less that, or 0 of what is no sign.
  uint16_t MarkOf(char32_t c) const {
    if (!any()) return 0;
    const uint32_t sign = model_.segment.config->sign;
    const uint32_t props = model_.props[c];
    // Most characters are none by any of these.
    if (((props ^ image::kWord) & sign_props_) == 0 && c != sign) return 0;
    const uint32_t kinds = image::SignKinds(c, props, rules_, sign);
    return kinds != 0 ? static_cast<uint16_t>(image::kSign - image::SignRun(kinds, rules_)) : 0;
  }

  // Whether the character at `at`, or one behind those that vanish from there on, may be read
  // together with the sign of ASCII before it, and is a mark that is.
  enum class Joins : uint8_t { kNo, kMay, kIsMark };
  Joins JoinsAt(std::string_view text, size_t at) const {
    const SegmentTables& tables = model_.segment;
    const uint32_t joining =
        image::JoiningMarks(tables.char_info[static_cast<unsigned char>(text[at - 1])]);
    if (joining == 0) return Joins::kNo;
    // Behind what vanishes comes what is read with it.
    constexpr uint32_t kMostVanishing = 8;
    for (uint32_t n = 0; at < text.size(); ++n) {
      const utf8::Decoded c = utf8::DecodeInline(text, at);
      const uint32_t info = tables.char_info[c.code_point];
      if ((info & joining) != 0 && n == 0 && c.valid) return Joins::kIsMark;
      if ((info & (joining | image::kCharNormalizes)) != 0 || n == kMostVanishing) {
        return Joins::kMay;
      }
      const uint16_t* const list = ListOf(info);
      if (list == nullptr || ExpansionCount(list) != 0) return Joins::kNo;
      at += c.size;
    }
    return Joins::kNo;
  }
  bool MayJoin(std::string_view text, size_t at) const { return JoinsAt(text, at) != Joins::kNo; }

  // Whether what the character at `at` becomes, or the one that ends there, alone, begins or ends
  // with a sign.
  bool BeginsAt(std::string_view text, size_t at) const {
    const uint16_t* const list = ListAt(text, at);
    return list != nullptr && ExpansionCount(list) > 1 && image::MarksSign(list[1]);
  }
  bool EndsAt(std::string_view text, size_t at) const {
    const uint16_t* const list = ListAt(text, utf8::Previous(text, at));
    if (list == nullptr) return false;
    const uint32_t count = ExpansionCount(list);
    return count > 1 && image::MarksSign(list[count - 1]);
  }

 private:
  // Null if it is none that becomes several codes, or a sign.
  const uint16_t* ListOf(uint32_t info) const {
    const bool expands = (info & image::kCharExpands) != 0;
    return expands ? model_.segment.expansions.data() + (info & image::kCharCodeMask) : nullptr;
  }
  const uint16_t* ListAt(std::string_view text, size_t at) const {
    return ListOf(model_.segment.char_info[utf8::DecodeInline(text, at).code_point]);
  }

  uint32_t KindsOf(char32_t c) const {
    return image::SignKinds(c, model_.props[c], rules_, model_.segment.config->sign);
  }

  static constexpr uint8_t kNone[16] = {};

  const Model& model_;
  const uint8_t* ascii_ = kNone;  // ByteSet::low
  const uint32_t rules_;          // image::SegmentRule
  bool ascii_alike_ = true;
  // image::UnicodeProp that make signs, and kWord where that makes none: all that image::SignKinds
  // asks, but for white space.
  uint32_t sign_props_ = 0;
};

}  // namespace rankfeed::segment
