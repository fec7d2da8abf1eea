// SPDX-License-Identifier: MIT
// segment/ledger.h: the score of a stretch so far: whether the ids of a segment hold behind it, and
// the reference's own sums where that has to be searched.
//
// A bound of the score is all that counts as long as segments hold. For one that does not, the
// reference's score is made up for by adding the scores of the tokens since the last such place, in
// its order and arithmetic, and its own search goes on from there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/layout.h"
#include "base/token_sink.h"
#include "general/best_path.h"
#include "general/scratch.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "segment/exactness.h"
#include "segment/lattice.h"
#include "segment/search.h"

namespace rankfeed::segment {

// An unknown token that stands for several characters.
struct FusedUnknown {
  uint32_t token, chars;  // index in the sink
};

struct LedgerScratch {
  static constexpr uint32_t kMaxFused = 128;  // between two searches
  FusedUnknown* fused = nullptr;
  general::Lattice lattice = {};  // of a span; carved after all that most texts touch
  // Most spans are short: theirs is all in one place.
  static constexpr uint32_t kFewCodes = 63;
  general::Lattice few = {};

  void Carve(Layout& layout) {
    few.Carve(layout, kFewCodes);
    fused = layout.Take<FusedUnknown>(kMaxFused);
  }
};

template <class Arithmetic>
class ScoreLedger {
 public:
  static constexpr bool kGoesOn = Arithmetic::kGoesOn;

  ScoreLedger(const Model& model, const ExactnessRule& rule, const LedgerScratch& scratch)
      : model_(model),
        rule_(rule),
        scratch_(scratch),
        counts_unknown_(CountsUnknown(model)) {}

  // A stretch begins behind that many tokens of the sink. score: of what comes before it.
  void Begin(uint32_t token, double score) {
    known_to_ = token;
    fused_count_ = 0;
    bound_ = score == 0 ? 0 : rule_.Accumulated(score);
    score_ = score;
  }

  // The reference's score behind all tokens of the stretch, where it goes on. A reason if that
  // cannot be told from them.
  rankfeed_reason End(const TokenSink& sink, double* score) {
    if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
    if (!CatchUp(sink.count, sink)) return RANKFEED_REASON_UNKNOWN;
    *score = score_;
    return RANKFEED_REASON_NONE;
  }

  // Whether ids of that info hold at the score so far; if so, moves it on.
  bool Holds(image::PathInfo info) {
    const uint64_t bound = bound_ + info.score_bound;
    if (bound >> info.exact_below != 0) return false;
    if constexpr (kGoesOn) bound_ = bound;
    return true;
  }
  // What Holds() moves on, for loops that do as much.
  uint64_t* bound() { return &bound_; }

  // Remembers of a path that is written next, with these ids, how many characters its unknown tokens
  // stand for. False if there is no room for that: the path has to be searched.
  bool NoteFused(const Path& path, const int32_t* ids, const TokenSink& sink) {
    // Nothing is searched after tokens that were not kept.
    const bool counts = (path.flags & Path::kFused) != 0 && counts_unknown_;
    if (!counts || sink.count > sink.capacity) return true;
    if (fused_count_ + path.fused > LedgerScratch::kMaxFused) return false;
    for (const int32_t *list = ids + path.count, *end = list + path.fused; list != end; ++list) {
      const ListedUnknown unknown(*list);
      scratch_.fused[fused_count_++] = {sink.count + unknown.at, unknown.chars};
    }
    return true;
  }

  // The reference's own search through codes, behind the tokens in the sink: appends its tokens. A
  // reason if that cannot be told from them.
  rankfeed_reason Search(std::span<const uint16_t> codes, TokenSink& sink) {
    if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
    if constexpr (!kGoesOn) FindWord(codes, sink);
    if (!CatchUp(sink.count, sink)) return RANKFEED_REASON_UNKNOWN;
    const auto size = static_cast<uint32_t>(codes.size());
    const general::CodeChars chars{codes, model_.config->code_count};
    const bool few = size <= LedgerScratch::kFewCodes;
    const general::Lattice& lattice = few ? scratch_.few : scratch_.lattice;
    general::FindBestPath<Arithmetic>(model_, chars, score_, lattice);
    if (!Push(lattice, size, sink)) return RANKFEED_REASON_UNKNOWN;
    score_ = lattice.best[size];
    known_to_ = sink.count;
    if constexpr (kGoesOn) bound_ = rule_.Accumulated(score_);
    return RANKFEED_REASON_NONE;
  }

 private:
  // HuggingFace searches each of the words that it splits on its own, from score 0. Looked for only
  // here, so that writing ids needs no look at where words begin: U+2581 stands nowhere else, so
  // nor do pieces that begin with it. Those that began before known_to_ are in its score.
  void FindWord(std::span<const uint16_t> codes, const TokenSink& sink) {
    uint32_t begin = sink.count;
    if (codes[0] != model_.segment.config->space_code) {
      do {
        if (begin == known_to_) return;
        --begin;
      } while (!BeginsWord(sink.ids[begin]));
    }
    known_to_ = begin;
    score_ = 0;
  }

  // Whether the token's piece begins with U+2581. Not starts_with, which is a call.
  bool BeginsWord(int32_t id) const {
    const size_t begin = model_.id_pieces[static_cast<uint32_t>(id)];
    const size_t end = model_.id_pieces[static_cast<uint32_t>(id) + 1];
    if (end < begin + 3 || end > model_.strings.size()) return false;
    const char* const piece = model_.strings.data() + begin;
    return piece[0] == '\xe2' && piece[1] == '\x96' && piece[2] == '\x81';
  }

  // Adds the scores of the tokens from known_to_ up to `end`. False if it is not told of how many
  // characters an unknown one is.
  [[gnu::noinline]] bool CatchUp(uint32_t end, const TokenSink& sink) {
    const auto unk_id = static_cast<int32_t>(model_.config->unk_id);
    const FusedUnknown *fused = scratch_.fused, *const fused_end = fused + fused_count_;
    while (fused != fused_end && fused->token < known_to_) ++fused;  // of words before
    const double* const scores = model_.scores.data();
    const general::UnknownRun<Arithmetic> unknown(model_.config->unk_score);
    double score = score_;
    for (uint32_t i = known_to_; i < end; ++i) {
      const int32_t id = sink.ids[i];
      if (id != unk_id) {
        score = Arithmetic::Store(Arithmetic::Piece(scores[static_cast<uint32_t>(id)], score));
        continue;
      }
      if (!counts_unknown_) return false;
      const bool is_fused = fused != fused_end && fused->token == i;
      score = unknown.Add(is_fused ? (fused++)->chars : 1, score);
    }
    score_ = score;
    known_to_ = std::max(known_to_, end);
    fused_count_ = 0;
    return true;
  }

  // The tokens of the path that was found; consecutive unknown characters are one. False at the
  // unknown piece itself: that fuses like an unknown, which only the general path does; or at an
  // unknown character that is to be spelled in bytes.
  bool Push(const general::Lattice& lattice, uint32_t size, TokenSink& sink) const {
    const uint32_t unk_id = model_.config->unk_id;
    bool after_unknown = false;
    for (uint32_t at = 0; at < size;) {
      at = lattice.link[at];
      const uint32_t value = lattice.value[at];
      const bool unknown = value == trie::kNoValue;
      if (unknown ? model_.has(image::kByteFallback) : value == unk_id) return false;
      if (!(unknown && after_unknown)) sink.Push(unknown ? unk_id : value, 0, 0);
      after_unknown = unknown;
    }
    return true;
  }

  const Model& model_;
  const ExactnessRule& rule_;
  const LedgerScratch& scratch_;
  const bool counts_unknown_;
  uint64_t bound_ = 0;  // of the segments so far, where the score goes on
  double score_ = 0;    // the reference's, up to token known_to_
  uint32_t known_to_ = 0;
  uint32_t fused_count_ = 0;  // unknown tokens from there on
};

}  // namespace rankfeed::segment
