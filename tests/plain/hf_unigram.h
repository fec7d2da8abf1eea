// SPDX-License-Identifier: MIT
// plain/hf_unigram.h: the Unigram model of HuggingFace tokenizers 0.23.2 (models/unigram,
// Unigram::encode and tokenize), said as plainly as possible.
//
// Best path over the characters of one pre-token: best[e] is the largest score of any way to write
// the first e characters, found by looking at every start s in ascending order and, from each, at
// every end e in ascending order. All sums are double, left to right. A candidate must be strictly
// better, so of equal paths the one with the earlier start of its last piece stays. A character
// that is no piece by itself costs min_score - 10. O(n * longest piece * log pieces).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankfeed::plain {

struct HfToken {
  uint32_t id;
  uint32_t begin, end;  // bytes of the pre-token
  bool operator==(const HfToken&) const = default;
};

class HfUnigram {
 public:
  // pieces by id; of equal ones the last counts.
  HfUnigram(const std::vector<std::pair<std::string, double>>& pieces,
            std::optional<uint32_t> unk_id, bool byte_fallback);

  // nullopt: an unknown character is the best way to some position, and there is no unknown id.
  std::optional<std::vector<HfToken>> Encode(std::string_view text) const;

 private:
  struct Piece {
    uint32_t id;
    double score;
  };
  std::map<std::string, Piece, std::less<>> pieces_;
  std::optional<uint32_t> unk_id_;
  bool byte_fallback_;
  double unk_score_;
  size_t longest_piece_ = 0;  // bytes
};

}  // namespace rankfeed::plain
