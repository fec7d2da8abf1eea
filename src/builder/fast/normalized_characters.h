// SPDX-License-Identifier: MIT
// builder/fast/normalized_characters.h: a normalizer composed into characters: what all its steps make of
// each character on its own, which characters they may read together with those before them, and
// what becomes of white space.
//
// The composition is exact by induction over the steps. A step that takes characters one by one
// (Lowercase, Nmt, StripAccents, a Replace of one character) makes of a text what it makes of its
// parts. For one that does not, every pair of neighbours that it could read together has a bit in
// common, the second among its marks and the first among its bases (image/char_info.h); the segment engine
// sends a segment with such a pair through the steps themselves. All others see the concatenation of
// what the steps before made of each character.
//
//   Precompiled    as characters.cc says, by what stands before it in place of each character
//   Replace        every character of a pattern of several joins every other (kMarkInPattern)
//   NFD, NFKD      combining marks that may be sorted join (kMarkReorders). Not where StripAccents
//                  drops all marks at once: their order does not matter then; nor does that of those
//                  which BertStripMarks drops.
//   NFC, NFKC      so do those that may compose with what is before them. What two compose to is not
//                  known to later steps that read several characters: in front of such a step those
//                  that compose leave the fast road.
//
// What vanishes in front of such a step joins what stands on its two sides, so it is a base of all.
// White space that is taken together in runs, or stripped, and that a later step changes leaves the
// fast road: how much of it was left depends on what it stood next to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/narrow.h"
#include "builder/fast/charsmap_keys.h"
#include "builder/fast/eligibility.h"
#include "image/model.h"
#include "normalize/normalize.h"

namespace rankfeed::builder {

// The texts of characters that become another one.
class Changes {
 public:
  // Null for a character that stays what it is.
  const std::string* Find(char32_t cp) const {
    return at_.empty() || at_[cp] == 0 ? nullptr : &texts_[at_[cp] - 1];
  }
  void Set(char32_t cp, std::string_view text) {
    at_.resize(0x110000);
    if (!text.empty() && at_[cp] > 1) {
      texts_[at_[cp] - 1] = text;
      return;
    }
    at_[cp] = text.empty() ? 1 : Size32(texts_) + 1;
    if (!text.empty()) texts_.emplace_back(text);
  }
  // Calls f(code point, text) for each.
  template <class F>
  void ForEach(F f) const {
    for (size_t cp = 0; cp < at_.size(); ++cp) {
      if (at_[cp] != 0) f(static_cast<char32_t>(cp), texts_[at_[cp] - 1]);
    }
  }

 private:
  std::vector<uint32_t> at_;  // by code point: one more than the text's place
  std::vector<std::string> texts_ = {""};  // many characters vanish
};

class NormalizedCharacters {
 public:
  // keys: of the model's charsmap. Both outlive it.
  NormalizedCharacters(const Model& model, const CharsmapKeys& keys);

  // Composes the steps; with what they do about white space *pipeline is complete. kNone, or what
  // keeps texts off the fast road. O(characters * steps).
  OffTheFastRoad Compose(Pipeline* pipeline);

  // Returns the text that a character alone becomes; room is where it may lie.
  std::string_view Of(char32_t cp, char (&room)[4]) const { return Look(changed_, cp, room); }
  bool IsChanged(char32_t cp) const { return changed_.Find(cp) != nullptr; }
  // The same in front of the charsmap.
  std::string_view BeforeCharsmap(char32_t cp, char (&room)[4]) const {
    return Look(before_charsmap_, cp, room);
  }
  // Its marks and bases, and whether it normalizes or takes the general path.
  image::CharInfo joins(char32_t cp) const { return joins_[cp]; }
  // Whether it is white space that a run of white space takes in, but no space on its own.
  bool JoinsRuns(char32_t cp) const { return !joins_runs_.empty() && joins_runs_[cp]; }
  // Whether steps other than the charsmap change characters.
  bool composed() const { return composed_; }
  // Whether CR LF reaches the charsmap, where it is one cluster and becomes what CR becomes.
  bool JoinsLineEnds() const;

 private:
  // Contents of a character at some step.
  enum Content : uint8_t { kNothing = 1, kSpaces = 2, kOtherWhiteSpace = 4, kOthers = 8 };
  // A step that looks for white space, and all characters then.
  struct SpaceStep {
    const image::Step* step = nullptr;
    std::vector<uint8_t> contents = {};  // Content by code point
    Changes changed = {};
  };

  static std::string_view Look(const Changes& changes, char32_t cp, char (&room)[4]);
  bool Keeps(const image::Step& step, char32_t cp) const;
  bool PrependsSpace(const image::Step& step, const Pipeline& pipeline) const;
  bool Apply(const image::Step& step);
  std::string_view Pattern(const image::Step& step) const;
  void Join(size_t k);
  bool ReadsSeveral(const image::Step& step) const;
  void JoinByCharsmap();
  void JoinByPattern(std::string_view pattern);
  template <class F>
  void ForEachPart(char32_t cp, bool compatible, F f) const;
  void JoinByForm(bool compatible, uint32_t dropped);
  void JoinByComposition(bool compatible, image::CharInfo composing);
  image::CharInfo CharsmapJoins(char32_t cp, std::string_view c) const;
  bool MarksAreAccents() const;
  std::vector<uint8_t> Contents() const;

  bool AddSpaceStep(const image::Step& step, Pipeline* pipeline);
  bool Untouched() const;
  bool KeepsSpaces(const SpaceStep& before) const;
  bool OnlySpaces(const SpaceStep& before) const;
  void LeaveLostSpaces(const SpaceStep& before);
  OffTheFastRoad SettleSpaces(Pipeline* pipeline);
  OffTheFastRoad SettleMetaspaces();
  void FindOtherWhiteSpace(const SpaceStep& before);

  const Model& model_;
  const CharsmapKeys& keys_;
  Changes changed_, before_charsmap_;
  bool changed_unassigned_ = false;
  std::vector<image::CharInfo> joins_;
  std::vector<bool> joins_runs_;
  bool composed_ = false, charsmap_ = false;
  bool prepend_keys_ = false;
  static constexpr uint32_t kMaxChanging = 10;
  uint32_t changing_ = 0;  // steps that change characters
  SpaceStep collapse_;             // of runs of white space
  SpaceStep strip_;                // after steps that change characters
  const image::Step* last_change_ = nullptr;  // the last step that changes characters
  // Room for one character.
  static constexpr uint32_t kRoom = 4096;
  std::vector<char> text_[2];
  std::vector<uint32_t> work_[3];
};

}  // namespace rankfeed::builder
