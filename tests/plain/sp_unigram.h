// SPDX-License-Identifier: MIT
// plain/sp_unigram.h: SentencePiece, Unigram: normalizer.cc, unigram_model.cc (EncodeOptimized)
// and PopulateSentencePieceText, said as plainly as possible, of both groups of releases.
//
// The normalized text is one lattice. Up to 0.2.1 a candidate's score is a double; it is compared
// with the best score so far, which is kept as a float: the rounding decides near ties. The score
// of an unknown character is a float sum. From 0.2.2 on every score is a float, and where the best
// score at the place to go on from has passed 100,000 either way, it is taken off all places
// reached so far. O(n * longest piece * log pieces).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plain/charsmap_rules.h"

namespace rankfeed::plain {

enum class SpKind { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct SpPiece {
  std::string text;
  float score = 0;
  SpKind kind = SpKind::kNormal;
};

enum class SpRelease { k0_2_1, k0_2_2 };  // up to, from

struct SpModel {
  SpRelease release = SpRelease::k0_2_2;
  std::vector<SpPiece> pieces;  // by id
  CharsmapRules charsmap;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false, byte_fallback = false;
};

struct SpToken {
  uint32_t id;
  uint32_t begin, end;  // bytes of the original text
  bool operator==(const SpToken&) const = default;
};

class SpUnigram {
 public:
  explicit SpUnigram(SpModel model);

  // Normalized bytes; origin[i] is where byte i comes from, with one more entry for the end.
  std::string Normalize(std::string_view text, std::vector<size_t>* origin) const;
  std::vector<SpToken> Encode(std::string_view text) const;

 private:
  struct Segment {
    size_t begin, end;
    int id;  // -1: unknown
  };
  double UserDefinedScore(size_t bytes) const;
  std::vector<Segment> BestPath(std::string_view normalized) const;
  // What the text starts with, normalized, and how many bytes of it that was.
  std::string NormalizePrefix(std::string_view text, size_t* consumed) const;

  SpModel model_;
  std::map<std::string, int, std::less<>> searched_;  // normal, user-defined and unused pieces
  std::map<std::string, int, std::less<>> bytes_;
  int unk_id_ = 0;
  float unk_score_ = 0, max_score_ = 0;
  size_t longest_piece_ = 0, longest_user_defined_ = 0;
};

}  // namespace rankfeed::plain
