// SPDX-License-Identifier: MIT
// models/unigram/search.cc: memory and order of a search, see search.h. The loops are in kernels/.
#include "models/unigram/search.h"

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

}  // namespace rankfeed::unigram
