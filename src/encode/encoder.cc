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
                                   const rankfeed::encode::Scratch& scratch)
    : model(&of),
      limits(given),
      general(scratch.general),
      segment(scratch.segment),
      word_scratch(scratch.words) {
  using namespace rankfeed;  // NOLINT: the struct must have the C API's name
  general.added.Prepare(of);
  around.Prepare(of);
  (!of.unigram() ? word_scratch.look_up : segment.look_up).cache.Clear();
  if (!rankfeed::fast::Available(of)) return;
  normalized_tokens.emplace(of);
  cuts.emplace(of, general.added, *normalized_tokens);
  if (cuts->any()) {
    general.parting = {fast::Cuts::PartBytes, &*cuts, cuts->keeps_separator(),
                       unigram::ScoreSumsOf(of) != unigram::ScoreSums::kFloat64Words};
  }
  const bool trims = of.has(image::kTrimOffsets) && (of.unigram() || of.has(image::kTrimKeepsPrefix));
  fast_offsets = !trims && (of.segment.config->rules & image::kNoOffsets) == 0;
  const rankfeed::fast::KernelTable& kernels = *rankfeed::fast::KernelsOf(isa);
  const ByteSet& stop_bytes = general.added.stop_bytes();
  if (of.wordpiece()) wordpiece.emplace(of, word_scratch.speller);
  if (of.bpe()) bpe.emplace(of, general);
  if (!of.unigram()) {
    words.emplace(of, kernels, stop_bytes, *normalized_tokens, *cuts,
                  wordpiece.has_value() ? &*wordpiece : nullptr, bpe.has_value() ? &*bpe : nullptr,
                  general, word_scratch);
  } else {
    engine.emplace(of, kernels, stop_bytes, *normalized_tokens, *cuts, general, segment);
  }
}
