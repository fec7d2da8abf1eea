// SPDX-License-Identifier: MIT
// segment/search.cc: see stream.h.
#include "segment/search.h"

namespace rankfeed::segment {

void Stream::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + kPadding);
  sequences_ = layout.Take<Sequence>(kMaxSequences);
  visits_ = layout.Take<Visit>(kCapacity + Lattice::kAhead + Lattice::kBeyond);
  start_units_ = layout.Take<trie::Unit>(kMaxSequences);
  start_visits_ = layout.Take<Visit>(kMaxSequences);
  sum_ = layout.Take<uint64_t>(kCapacity + 1 + Lattice::kMaxChars);
  nodes_ = layout.Take<image::LatticeNode>(kCapacity + 1);
  ids_ = layout.Take<int32_t>(kCapacity + 8);
  results_ = layout.Take<PathResult>(kMaxSequences);
}

void MarkUnknown(const Lattice& lattice, int32_t end, PathResult* result) {
  int32_t* const ids = lattice.ids;
  int32_t* out = ids + result->first_id;
  bool after_unknown = false;
  uint32_t unknown_tokens = 0;
  for (int32_t i = result->first_id; i < end; ++i) {
    const bool unknown = ids[i] == int32_t{image::kEdgeUnknown};
    if (unknown) result->flags |= PathResult::kUnknown;
    if (ids[i] == int32_t{image::kEdgeLiteral}) result->flags |= PathResult::kLiteral;
    if (!(unknown && after_unknown)) {
      unknown_tokens += unknown;
      *out++ = unknown ? static_cast<int32_t>(lattice.unk_id) : ids[i];
    }
    after_unknown = unknown;
  }
  const auto more = static_cast<uint16_t>(ids + end - out);  // characters that are fused to others
  if (more != 0) result->flags |= PathResult::kFused;
  result->fused = unknown_tokens == 1 ? static_cast<uint16_t>(more + 1) : uint16_t{0};
  result->count = static_cast<uint16_t>(out - (ids + result->first_id));
  result->info.count = static_cast<uint8_t>(std::min<uint32_t>(result->count, 255));
}

void Stream::Solve(const Model& model, const Kernels& many, const ExactnessRule& rule) {
  const Kernels& kernels = count_ < kFewSequences ? *many.few : many;
  const Lattice lattice{model.segment.units.data(),
                        model.segment.fails.data(),
                        model.segment.states.data(),
                        model.segment.edges.data(),
                        model.segment.starts.data(),
                        model.config->code_count,
                        model.config->unk_id,
                        codes_,
                        visits_,
                        sum_ + Lattice::kMaxChars,
                        nodes_,
                        ids_ + 1,
                        start_units_,
                        start_visits_};
  const Visits visits = kernels.walk(lattice, sequences_, count_);
  if (visits.apart != 0) kernels.relax_independent(lattice, visits.apart);
  kernels.relax(lattice, visits.apart, visits.count);
  kernels.trace(lattice, rule, sequences_, count_, results_);
}

}  // namespace rankfeed::segment
