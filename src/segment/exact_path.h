// SPDX-License-Identifier: MIT
// segment/exact_path.h: the reference's own search over character codes, for the few segments whose
// margin does not settle them. As general/best_path.cc, but begins at an accumulated score.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/layout.h"
#include "image/model.h"
#include "base/token_sink.h"
#include "general/arithmetic.h"

namespace rankfeed::segment {

class ExactPath {
 public:
  // Longest sequence, in characters.
  void Carve(Layout& layout, uint32_t capacity) {
    best_ = layout.Take<double>(size_t{capacity} + 1);
    link_ = layout.Take<uint32_t>(size_t{capacity} + 1);
    value_ = layout.Take<uint32_t>(size_t{capacity} + 1);
  }

  // Appends the tokens of codes[0, n) to sink and moves *score past them. Returns false when the
  // unknown piece itself is on the path: it fuses like an unknown, which only the general path does.
  template <class Arithmetic>
  bool Run(const Model& model, const uint16_t* codes, uint32_t n, double* score, TokenSink& sink) {
    constexpr uint32_t kUnset = 0xffffffffu;
    const uint32_t code_count = model.config->code_count;
    for (uint32_t i = 1; i <= n; ++i) link_[i] = kUnset;
    best_[0] = *score;
    uint32_t frontier = 0;
    const auto relax = [&](uint32_t begin, uint32_t end, double sum, uint32_t value) {
      if constexpr (Arithmetic::kRebases) frontier = std::max(frontier, end);
      if (link_[end] == kUnset || sum > best_[end]) {
        best_[end] = Arithmetic::Store(sum);
        link_[end] = begin;
        value_[end] = value;
      }
    };
    for (uint32_t begin = 0; begin < n; ++begin) {
      if constexpr (Arithmetic::kRebases) general::Rebase(best_, link_, kUnset, begin, frontier);
      const double best = best_[begin];
      bool single = false;
      trie::Unit unit = model.pieces.root();
      // As deep as a piece is long, also where a crafted trie leads in circles. code_count stands
      // for a character that is in no piece.
      const uint32_t deepest = std::min(n - begin, model.config->max_piece_chars) + begin;
      for (uint32_t end = begin; end < deepest && codes[end] < code_count; ++end) {
        if (!model.pieces.Step(unit, codes[end])) break;
        const uint32_t value = trie::Value(unit);
        if (value == trie::kNoValue) continue;
        relax(begin, end + 1, Arithmetic::Piece(model.scores[value], best), value);
        single |= end == begin;
      }
      if (!single) {
        relax(begin, begin + 1, Arithmetic::Unknown(model.config->unk_score, best), trie::kNoValue);
      }
    }
    uint32_t after = kUnset;
    for (uint32_t end = n; end > 0;) {
      const uint32_t begin = link_[end];
      link_[end] = after;
      after = end;
      end = begin;
    }
    const uint32_t unk_id = model.config->unk_id;
    bool unknown = false;  // consecutive unknown characters are one token
    for (uint32_t at = after; at != kUnset; at = link_[at]) {
      const bool is_unknown = value_[at] == trie::kNoValue;
      const uint32_t id = is_unknown ? unk_id : model.value_ids[value_[at]];
      if (!is_unknown && id == unk_id) return false;
      if (!(is_unknown && unknown)) sink.Push(id, 0, 0);
      unknown = is_unknown;
    }
    *score = best_[n];
    return true;
  }

 private:
  double* best_ = nullptr;
  uint32_t *link_ = nullptr, *value_ = nullptr;
};

}  // namespace rankfeed::segment
