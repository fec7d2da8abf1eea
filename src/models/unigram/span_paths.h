// SPDX-License-Identifier: MIT
// models/unigram/span_paths.h: the best paths of the spans of a batch, from the table of the image or
// searched.
#pragma once

#include <cstdint>
#include <span>

#include "base/layout.h"
#include "image/model.h"
#include "models/unigram/exactness.h"
#include "models/unigram/kernels/kernels.h"
#include "models/unigram/search.h"

namespace rankfeed::unigram {

class SpanPaths {
 public:
  // The spans of short segments have their number in the search; those of runs count from here.
  static constexpr uint32_t kFirstOfRuns = PathSearch::kMaxSpans;

  struct Scratch {
    PathSearch search;
    // Of the spans of runs:
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
  bool IsShort(uint32_t span) const { return span < kFirstOfRuns; }
  // The same by address, of spans of runs; they lie in a row.
  const Found* run_found(uint32_t span) const { return scratch_.found + (span - kFirstOfRuns); }
  // Of one whose found() has no count. Null: it was not searched.
  const Path* path(uint32_t span) const {
    const uint32_t number = IsShort(span) ? span : scratch_.searched[span - kFirstOfRuns];
    return number != kNotSearched ? &search().path(number) : nullptr;
  }
  const int32_t* ids() const { return search().ids(); }
  std::span<const uint16_t> codes(uint32_t span) const {
    if (!IsShort(span)) return run_->Codes(span - kFirstOfRuns);
    const Span& of = search().spans()[span];
    return {search().codes() + of.begin, search().codes() + of.end};
  }

 private:
  static constexpr uint16_t kNotSearched = 0xffff;
  static_assert(kNotSearched >= PathSearch::kMaxSpans);
  // With a bound and exact_below 0 no loop that goes by infos writes the ids.
  static constexpr image::PathInfo kNotFound{0, 0, ExactnessRule::kMaxScoreBound};

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
