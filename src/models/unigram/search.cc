// SPDX-License-Identifier: MIT
// models/unigram/search.cc: memory and order of a search, and which spans are searched; see search.h. The loops
// are in kernels/.
#include "models/unigram/search.h"

#include <algorithm>

#include "base/narrow.h"

namespace rankfeed::unigram {

void PathSearch::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + kVectorSlack);
  spans_ = layout.Take<Span>(kMaxSpans);
  visits_ = layout.Take<Visit>(kCapacity + kVectorSlack);
  start_bases_ = layout.Take<uint64_t>(kMaxSpans);
  start_visits_ = layout.Take<Visit>(kMaxSpans);
  sum_ = layout.Take<uint64_t>(kCapacity + 1 + Lattice::kMaxChars);
  nodes_ = layout.Take<image::LatticeNode>(kCapacity + 1);
  ids_ = layout.Take<int32_t>(kCapacity + 1 + kVectorSlack);
  paths_ = layout.Take<Path>(kMaxSpans);
}

// Puts the list of them after the ids of the path, which hold -n for one that stands for n.
static uint32_t ListUnknown(int32_t* ids, uint32_t count, uint32_t unk_id) {
  int32_t* list = ids + count;
  for (uint32_t i = 0; i < count; ++i) {
    if (ids[i] >= 0) continue;
    *list++ = ListedUnknown::Pack(i, static_cast<uint32_t>(-ids[i]));
    ids[i] = static_cast<int32_t>(unk_id);
  }
  return static_cast<uint32_t>(list - ids) - count;
}

void FuseUnknown(const Lattice& lattice, int32_t end, Path* path) {
  int32_t* const ids = lattice.ids + path->first_id;
  const int32_t size = end - path->first_id;
  int32_t* out = ids;
  int32_t run = 0;  // unknown characters in a row
  for (int32_t i = 0; i < size; ++i) {
    if (ids[i] != int32_t{image::kEdgeUnknown}) {
      if (ids[i] == int32_t{image::kEdgeLiteral}) path->flags |= Path::kLiteral;
      *out++ = ids[i];
      run = 0;
      continue;
    }
    path->flags |= Path::kUnknown;
    if (run++ == 0) {
      *out++ = static_cast<int32_t>(lattice.unk_id);
    } else {
      out[-1] = -run;
    }
  }
  const auto count = static_cast<uint32_t>(out - ids);
  path->count = static_cast<uint16_t>(count);
  path->info.count = static_cast<uint8_t>(std::min<uint32_t>(count, 255));
  if (ids + size == out) return;  // no character is fused to another
  path->flags |= Path::kFused;
  path->fused = static_cast<uint16_t>(ListUnknown(ids, count, lattice.unk_id));
}

void PathSearch::Solve(const Model& model, const SearchKernels& many, const ExactnessRule& rule) {
  const SearchKernels& kernels = count_ < kFewSpans ? *many.few : many;
  const SegmentTables& tables = model.segment;
  const Lattice lattice{.units = model.pieces.units().data(),
                        .fails = tables.fails.data(),
                        .states = tables.states.data(),
                        .edges = tables.edges.data(),
                        .starts = tables.starts.data(),
                        .code_count = model.config->code_count,
                        .unk_id = model.config->unk_id,
                        .codes = codes_,
                        .visits = visits_,
                        .sum = sum_ + Lattice::kMaxChars,
                        .nodes = nodes_,
                        .ids = ids_ + 1,
                        .start_bases = start_bases_,
                        .start_visits = start_visits_};
  const Visits visits = kernels.walk(lattice, spans_, count_);
  if (visits.independent != 0) kernels.relax_independent(lattice, visits.independent);
  kernels.relax(lattice, visits.independent, visits.count);
  kernels.trace(lattice, rule, spans_, count_, paths_);
}

void SpanPaths::Scratch::Carve(Layout& layout, uint32_t most_spans) {
  search.Carve(layout);
  found = layout.Take<Found>(most_spans);
  searches = layout.Take<uint16_t>(most_spans);
  searched = layout.Take<uint16_t>(most_spans);
}

SpanPaths::SpanPaths(const Model& model, const SearchKernels& kernels, Scratch& scratch)
    : model_(model),
      kernels_(kernels),
      scratch_(scratch),
      not_kept_(Path::NotKept(model.has(image::kByteFallback), CountsUnknown(model))) {}

// Returns whether a span is a long run of one code, as text in a script that the vocabulary lacks is. The
// reference's own search through it costs less than one that looks for margins.
static bool IsLongRun(std::span<const uint16_t> codes) {
  constexpr size_t kLong = 40;
  return codes.size() >= kLong && std::all_of(codes.begin() + 2, codes.end(),
                                              [&](uint16_t code) { return code == codes[1]; });
}

void SpanPaths::Solve(const SpanList& run, uint32_t cjk_codes, const ExactnessRule& rule) {
  run_ = &run;
  // Hardly any span is short enough to be looked up without characters of those scripts.
  constexpr uint32_t kMostOther = 4;  // spans to one of them
  uint32_t search_count = run.count;
  const uint16_t* searches = nullptr;  // all
  if (kMostOther * cjk_codes > run.count) {
    const SpanTable table{model_.segment.spans.data(), model_.config->code_count,
                          model_.segment.config->span_bits};
    search_count = kernels_.look_up_spans(table, run, scratch_.found, scratch_.searches);
    searches = scratch_.searches;
  }
  uint16_t* const searched = scratch_.searched;
  const uint32_t space = model_.segment.config->space_code;
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    const std::span<const uint16_t> codes = run.Codes(i);
    const auto size = Size32(codes);
    searched[i] =
        IsLongRun(codes)
            ? kNotSearched
            : static_cast<uint16_t>(search().Append(codes.data(), size, codes[0] == space));
  }
  if (search().count() != 0) search().Solve(model_, kernels_, rule);
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    scratch_.found[i] = searched[i] == kNotSearched ? Found{search().ids(), 0, kNotFound}
                                                    : Kept(search().path(searched[i]));
  }
}

}  // namespace rankfeed::unigram
