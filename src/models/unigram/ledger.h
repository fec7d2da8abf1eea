// SPDX-License-Identifier: MIT
// models/unigram/ledger.h: the score of a stretch so far: whether the ids of a segment hold after it,
// and the reference's own sums where that has to be searched.
//
// A bound of the score is all that counts as long as segments hold. For one that does not, the
// reference's score is made up for by adding the scores of the tokens since the last such place, in
// its order and arithmetic, and its own search goes on from there.
#pragma once

#include <cstdint>
#include <span>

#include "base/layout.h"
#include "base/token_sink.h"
#include "image/model.h"
#include "models/unigram/best_path.h"
#include "models/unigram/exactness.h"
#include "models/unigram/lattice.h"
#include "models/unigram/search.h"
#include "rankfeed/encode.h"

namespace rankfeed::unigram {

// An unknown token that stands for several characters.
struct FusedUnknown {
  uint32_t token, chars;  // index in the sink
};

struct LedgerScratch {
  static constexpr uint32_t kMaxFused = 128;  // between two searches
  FusedUnknown* fused = nullptr;
  ScoreLattice lattice = {};  // of a span; carved after all that most texts touch
  // Most spans are short: theirs is all in one place.
  static constexpr uint32_t kFewCodes = 63;
  ScoreLattice few = {};

  void Carve(Layout& layout) {
    few.Carve(layout, kFewCodes);
    fused = layout.Take<FusedUnknown>(kMaxFused);
  }
};

class ScoreLedger {
 public:
  ScoreLedger(const Model& model, const ExactnessRule& rule, const LedgerScratch& scratch)
      : model_(model),
        rule_(rule),
        scratch_(scratch),
        sums_(ScoreSumsOf(model)),
        counts_unknown_(CountsUnknown(model)) {}

  // Begins a stretch after that many tokens of the sink. score: of what comes before it.
  void Begin(uint32_t token, double score) {
    known_to_ = token;
    fused_count_ = forgotten_to_ = 0;
    bound_ = score == 0 ? 0 : rule_.Accumulated(score);
    score_ = score;
  }

  // The reference's score after all tokens of the stretch, where it goes on. A reason if that
  // cannot be told from them.
  rankfeed_reason End(const TokenSink& sink, double* score);

  // Returns whether the score goes on to the end of a stretch; otherwise every word begins at 0.
  bool goes_on() const { return rule_.goes_on(); }

  // Returns whether ids of that info hold at the score so far; if so, moves it on. Of words that begin at 0
  // they hold at any score or at none.
  bool Holds(image::PathInfo info) {
    const uint64_t bound = bound_ + info.score_bound;
    if (bound >> info.exact_below != 0) return false;
    bound_ = bound;
    return true;
  }
  // The bound that Holds() moves on, for loops that do as much.
  uint64_t* bound() { return &bound_; }

  // Remembers of a path that is written next, with these ids, how many characters its unknown tokens
  // stand for. False if there is no room for that: the path has to be searched.
  bool NoteFused(const Path& path, const int32_t* ids, const TokenSink& sink) {
    // Nothing is searched after tokens that were not kept.
    const bool counts = (path.flags & Path::kFused) != 0 && counts_unknown_;
    return !counts || sink.count > sink.capacity || Note(ids + path.count, path.fused, sink);
  }

  // The reference's own search through codes, after the tokens in the sink: appends its tokens. A
  // reason if that cannot be told from them.
  rankfeed_reason Search(std::span<const uint16_t> codes, TokenSink& sink);

 private:
  bool Note(const int32_t* list, uint32_t count, const TokenSink& sink);
  template <class Arithmetic>
  rankfeed_reason SearchAs(std::span<const uint16_t> codes, TokenSink& sink);
  void FindWord(std::span<const uint16_t> codes, const TokenSink& sink);
  bool BeginsWord(int32_t id) const;
  bool CatchUp(const TokenSink& sink);
  template <class Arithmetic>
  bool CatchUpAs(const TokenSink& sink);
  bool Push(const ScoreLattice& lattice, uint32_t size, TokenSink& sink) const;

  const Model& model_;
  const ExactnessRule& rule_;
  const LedgerScratch& scratch_;
  const ScoreSums sums_;
  const bool counts_unknown_;
  uint64_t bound_ = 0;  // of the segments so far
  double score_ = 0;    // the reference's, up to token known_to_
  uint32_t known_to_ = 0;
  uint32_t fused_count_ = 0;     // unknown tokens from there on
  uint32_t forgotten_to_ = 0;    // those before that token may be missing
};

}  // namespace rankfeed::unigram
