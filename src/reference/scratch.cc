// SPDX-License-Identifier: MIT
// reference/scratch.cc: how large the arrays of the general path are, see scratch.h.
#include "reference/scratch.h"

#include <algorithm>

#include "models/bpe/merge.h"
#include "reference/hf_encode.h"

namespace rankfeed::reference {
namespace {

// How many of the two texts decoders hold back ids or text in.
int DecoderTexts(const Model& model) {
  if (!model.huggingface()) return model.denorm_units.empty() ? 0 : 2;
  return static_cast<int>(
      std::count_if(model.decoder.begin(), model.decoder.end(), [](const image::Step& step) {
        return step.Is(image::Op::kByteFallbackDecode);
      }));
}

}  // namespace

Scratch::Sizes Scratch::SizesFor(const Model& model, uint32_t max_text_bytes,
                                 uint32_t max_stretch_bytes, uint32_t bound, bool with_offsets) {
  if (max_stretch_bytes == 0) max_stretch_bytes = kDefaultStretchBytes;
  const uint32_t stretch = std::min(max_stretch_bytes, max_text_bytes);
  // The characters that a normalizer puts in front of a stretch come on top.
  const uint64_t capacity =
      uint64_t{max_stretch_bytes} * kGrowth + model.config->growth_constant + 1;
  // HuggingFace's decoders hold ids back, a denormalizer the whole text.
  const uint32_t held = model.huggingface() ? max_text_bytes : model.denorm_units.empty() ? 0 : bound;
  const auto text = static_cast<uint32_t>(std::min<uint64_t>(capacity, bound));
  // A normalizer may make more symbols of a text than it has bytes: a short one has room for them all.
  const uint64_t word = model.bpe() ? uint64_t{max_stretch_bytes} + model.config->growth_constant + 1 : 0;
  return {stretch, text, static_cast<uint32_t>(std::min<uint64_t>(word, text)), held, with_offsets};
}

void Scratch::Carve(Layout& layout, const Model& model, const Sizes& sizes) {
  const uint32_t capacity = sizes.text_capacity;
  // Metaspace "first" asks where a split begins, even when the caller wants no offsets.
  const bool ranges = sizes.with_offsets || (model.huggingface() && HuggingFaceNeedsOffsets(model));
  max_stretch_bytes = sizes.stretch_bytes;
  word_capacity = sizes.word_capacity;
  text_capacity = capacity;
  run_capacity = std::max(capacity, sizes.decoder_bytes);
  const int decoder_texts = DecoderTexts(model);
  for (int i = 0; i < 2; ++i) {
    text[i] = layout.Take<char>(i < decoder_texts ? run_capacity : capacity);
    begin[i] = ranges ? layout.Take<uint32_t>(capacity) : nullptr;
    end[i] = ranges ? layout.Take<uint32_t>(capacity) : nullptr;
  }
  split_begin = layout.Take<uint32_t>(capacity);
  split_end = layout.Take<uint32_t>(capacity);
  lattice.Carve(layout, capacity, size_t{word_capacity} * bpe::Merger::kWorkPerSymbol);
}

}  // namespace rankfeed::reference
