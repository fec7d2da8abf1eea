// SPDX-License-Identifier: MIT
// words/stream.cc: see stream.h.
#include "words/stream.h"

namespace rankfeed::words {

void Stream::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + kPadding);
  sequences_ = layout.Take<Sequence>(kMaxSequences);
  visits_ = layout.Take<Visit>(kCapacity + Lattice::kAhead);
  sum_ = layout.Take<uint64_t>(kCapacity + 1 + Lattice::kMaxChars);
  nodes_ = layout.Take<image::WordNode>(kCapacity + 1);
  ids_ = layout.Take<int32_t>(kCapacity + 8);
  results_ = layout.Take<StreamResult>(kMaxSequences);
}

void Stream::Solve(const Model& model, const Kernels& kernels, const ExactnessRule& rule) {
  const Lattice lattice{model.word_units.data(),
                        model.word_fails.data(),
                        model.word_states.data(),
                        model.word_edges.data(),
                        model.word_begins.data(),
                        model.config->code_count,
                        model.config->unk_id,
                        codes_,
                        visits_,
                        sum_ + Lattice::kMaxChars,
                        nodes_,
                        ids_ + 1};
  kernels.solve(lattice, rule, sequences_, count_, results_);
}

}  // namespace rankfeed::words
