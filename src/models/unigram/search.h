// SPDX-License-Identifier: MIT
// models/unigram/search.h: best paths of many short spans at once: codes go in, ids with their score
// and its margin come out.
//
// The spans lie one after the other in an array of character codes, each closed by a 0. Every span
// is read once by the automaton of the pieces (image::AutomatonState), which knows at each
// character which pieces end there. That is done first for all characters, sixteen or more spans
// taking turns: a load that misses the cache has a round of others to arrive in. Then the node
// after each character takes the best of the pieces, and keeps the runner-up for the margin
// (models/unigram/exactness.h).
//
// Costs are integers with the length and the id of a piece packed below them (image::MakeEdge), so
// that one minimum moves all three. Pieces that no best path takes are not in the automaton
// (builder/models/unigram/pruning.h).
//
// Cost: O(characters * pieces that end at one). bench/NOTES.md, "What pays", says what it replaced.
#pragma once

#include <cstdint>
#include <span>

#include "base/layout.h"
#include "image/model.h"
#include "models/unigram/exactness.h"
#include "models/unigram/kernels/kernels.h"
#include "models/unigram/lattice.h"

namespace rankfeed::unigram {

class PathSearch : public SpanBatch {
 public:
  void Carve(Layout& layout);

  // Finds the best paths of all spans.
  void Solve(const Model& model, const SearchKernels& kernels, const ExactnessRule& rule);

  // Returns the path of a span after Solve. Its ids stay until the next.
  const Path& path(uint32_t span) const { return paths_[span]; }
  const int32_t* ids() const { return ids_ + 1; }

 private:
  // Arrays that Lattice asks for.
  Visit* visits_ = nullptr;
  uint64_t* start_bases_ = nullptr;
  Visit* start_visits_ = nullptr;
  uint64_t* sum_ = nullptr;
  image::LatticeNode* nodes_ = nullptr;
  int32_t* ids_ = nullptr;  // one before the first, and a place for each character
  Path* paths_ = nullptr;   // kMaxSpans
};

// The best paths of the spans of a batch, from the table of the image or searched.
class SpanPaths {
 public:
  struct Scratch {
    PathSearch search;
    // Columns of the spans of runs:
    Found* found = nullptr;
    uint16_t* searches = nullptr;  // those that are not in the table
    uint16_t* searched = nullptr;  // by span, of those: the number in search
    void Carve(Layout& layout, uint32_t most_spans);
  };

  SpanPaths(const Model& model, const SearchKernels& kernels, Scratch& scratch);

  PathSearch& search() { return scratch_.search; }
  const PathSearch& search() const { return scratch_.search; }

  // Finds the best paths of the short spans in search() and of those of the run, which stay as they
  // are until the next batch. cjk_codes: of characters from image::kFirstCjk on.
  void Solve(const SpanList& run, uint32_t cjk_codes, const ExactnessRule& rule);

  // After Solve, by number of a span. Ids stay until the next. Without a count if only path() has
  // them: too many, or of a path that is not kept.
  Found found(uint32_t span) const {
    return IsShort(span) ? Kept(search().path(span)) : *run_found(span);
  }
  bool IsShort(uint32_t span) const { return span < PathSearch::kFirstOfRuns; }
  // The same by address, of spans of runs; they lie in a row.
  const Found* run_found(uint32_t span) const { return scratch_.found + (span - PathSearch::kFirstOfRuns); }
  // Returns the path of a span whose found() has no count; null if it was not searched.
  const Path* path(uint32_t span) const {
    const uint32_t number = IsShort(span) ? span : scratch_.searched[span - PathSearch::kFirstOfRuns];
    return number != kNotSearched ? &search().path(number) : nullptr;
  }
  const int32_t* ids() const { return search().ids(); }
  std::span<const uint16_t> codes(uint32_t span) const {
    if (!IsShort(span)) return run_->Codes(span - PathSearch::kFirstOfRuns);
    const Span& of = search().spans()[span];
    return {search().codes() + of.begin, search().codes() + of.end};
  }

 private:
  static constexpr uint16_t kNotSearched = 0xffff;
  static_assert(kNotSearched >= PathSearch::kMaxSpans);
  static constexpr image::PathInfo kNotFound = image::PathInfo::Never(0);

  Found Kept(const Path& path) const {
    const bool kept = (path.flags & not_kept_) == 0 && path.count <= Found::kMaxIds;
    return {search().ids() + path.first_id, 0, kept ? path.info : kNotFound};
  }

  const Model& model_;
  const SearchKernels& kernels_;
  Scratch& scratch_;
  const uint8_t not_kept_;  // Path::flags
  const SpanList* run_ = nullptr;
};

}  // namespace rankfeed::unigram
