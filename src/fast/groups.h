// SPDX-License-Identifier: MIT
// fast/groups.h: which characters of a segment a normalizer reads together, so that only those go
// through it and not the segment.
//
// A group ends before a character that no step reads together with one before it. In SentencePiece
// that is one that no key of the charsmap goes on with. In HuggingFace
// (builder/fast/normalized_characters.h) it is no mark, and begins a grapheme cluster whatever stands
// before it but a Prepend character. What the cluster rules look at is the text in front of the
// charsmap, so that is asked of what the character decomposes to as well, and nothing that may
// vanish may stand on either side. All other places are held to be inside a group: too large a
// group costs time and no id.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/utf8.h"
#include "image/model.h"

namespace rankfeed::fast {

class CharacterGroups {
 public:
  // The model takes the fast road.
  explicit CharacterGroups(const Model& model);

  // Returns whether groups can be told at all; otherwise a segment is one.
  bool known() const { return known_; }
  // Returns the begin of the group that the character at `at` is in. O(group).
  size_t Begin(std::string_view segment, size_t at) const;
  // Finds the group that begins at `begin`, before the end of the segment.
  struct Extent {
    size_t end;
    bool leaves;  // a character of it takes the general path
  };
  Extent ExtentFrom(std::string_view segment, size_t begin) const;

 private:
  // Returns whether a group may end before the character at `at`, which is not the first.
  bool EndsBefore(std::string_view segment, size_t at) const;
  bool BeginsCluster(char32_t c) const;

  // Facts about a character: a group may begin with it (kBegins), it
  // goes through the normalizer (kChanges), it vanishes, or it leaves the fast road (kLeaves).
  static constexpr uint32_t kBegins = 1, kChanges = 2, kVanishes = 4, kLeaves = 8;
  // Characters that vanish in a row, after which it is not asked what else stands there.
  static constexpr uint32_t kMaxVanishing = 8;
  // State of a place between characters: what it is after.
  struct ReadSoFar {
    bool changes = false;
    uint32_t vanishing = 0;
    void Go(uint32_t facts) {
      if ((facts & (kChanges | kVanishes)) == 0) {  // as most
        *this = {};
        return;
      }
      changes = (facts & kChanges) != 0 || (changes && (facts & kVanishes) != 0);
      vanishing = (facts & (kChanges | kVanishes)) == kVanishes ? vanishing + 1 : 0;
    }
    bool MayEnd() const { return !changes && vanishing < kMaxVanishing; }
  };
  uint32_t Facts(char32_t c) const;

  const Model& model_;
  bool known_ = false;
};

}  // namespace rankfeed::fast
