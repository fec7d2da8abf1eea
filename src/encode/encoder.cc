// SPDX-License-Identifier: MIT
// encode/encoder.cc: what an encoder prepares of its model, once.
#include "encode/encoder.h"

#include "image/format.h"

namespace rankfeed::encode {

void Around::Prepare(const Model& model) {
  size_t texts = model.template_single.empty() ? 1 : 0;
  for (const image::TemplateItem& item : model.template_single) {
    if (item.kind != static_cast<uint32_t>(image::TemplateKind::kSpecial)) {
      ++texts;
      continue;
    }
    uint8_t& count = texts == 0 ? before_count : after_count;
    if (count == kMax) return;
    (texts == 0 ? before : after)[count++] = item.id;
  }
  all = texts == 1;
}

}  // namespace rankfeed::encode

rankfeed_encoder::rankfeed_encoder(const rankfeed_model& of, const rankfeed_limits& given,
                                   const rankfeed::encode::Scratch& arrays)
    : model(&of), limits(given), scratch(arrays), normalized_tokens(of), cuts(of, general.added, normalized_tokens) {
  using namespace rankfeed;  // NOLINT: the struct must have the C API's name
  general.added.Prepare(of);
  around.Prepare(of);
  scratch.WithKind(of, [&]<class Arrays>(Arrays& kind) {
    kind.look_up.cache.Clear();
    if (!fast::Available(of)) return;
    engine.emplace<typename Arrays::Engine>(of, *fast::KernelsOf(isa), normalized_tokens, cuts, general, kind);
  });
  if (!has_fast_road()) return;
  general.cuts = &cuts;
  const bool trims = of.has(image::kTrimOffsets) && (of.unigram() || of.has(image::kTrimKeepsPrefix));
  fast_offsets = !trims && (of.segment.config->rules & image::kNoOffsets) == 0;
}
