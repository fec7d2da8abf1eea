// SPDX-License-Identifier: MIT
// segment/search.cc: memory and order of a search, see search.h. The loops are in kernels/.
#include "segment/search.h"

namespace rankfeed::segment {

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

void FuseUnknown(const Lattice& lattice, int32_t end, Path* path) {
  int32_t* const ids = lattice.ids;
  int32_t* out = ids + path->first_id;
  bool after_unknown = false;
  uint32_t unknown_tokens = 0, unknown_at = 0;
  uint32_t chars[FusedCounts::kMaxTokens] = {};
  for (int32_t i = path->first_id; i < end; ++i) {
    const bool unknown = ids[i] == int32_t{image::kEdgeUnknown};
    if (unknown) path->flags |= Path::kUnknown;
    if (ids[i] == int32_t{image::kEdgeLiteral}) path->flags |= Path::kLiteral;
    if (!(unknown && after_unknown)) {
      if (unknown && unknown_tokens++ == 0) {
        unknown_at = static_cast<uint32_t>(out - (ids + path->first_id));
      }
      *out++ = unknown ? static_cast<int32_t>(lattice.unk_id) : ids[i];
    }
    if (unknown && unknown_tokens <= FusedCounts::kMaxTokens) ++chars[unknown_tokens - 1];
    after_unknown = unknown;
  }
  const auto more = static_cast<uint16_t>(ids + end - out);  // characters that are fused to others
  if (more != 0) path->flags |= Path::kFused;
  path->fused = FusedCounts::Of(chars, unknown_tokens).bits();
  path->unknown_at = static_cast<uint8_t>(std::min(unknown_at, 0xffu));
  if (more != 0 && (path->fused == 0 || unknown_at > 0xff)) path->flags |= Path::kUncounted;
  path->count = static_cast<uint16_t>(out - (ids + path->first_id));
  path->info.count = static_cast<uint8_t>(std::min<uint32_t>(path->count, 255));
}

void PathSearch::Solve(const Model& model, const KernelTable& many, const ExactnessRule& rule) {
  const KernelTable& kernels = count_ < kFewSpans ? *many.few : many;
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

}  // namespace rankfeed::segment
