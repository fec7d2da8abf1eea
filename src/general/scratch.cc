// SPDX-License-Identifier: MIT
// general/scratch.cc: how large the arrays of the general path are, see scratch.h.
#include "general/scratch.h"

#include <algorithm>

#include "general/hf_characters.h"
#include "general/hf_encode.h"
#include "general/sp_long.h"

namespace rankfeed::general {
namespace {

// How many of the two texts decoders hold back ids or text in.
int DecoderTexts(const Model& model) {
  if (!model.huggingface()) return model.denorm_units.empty() ? 0 : 2;
  return static_cast<int>(
      std::count_if(model.decoder.begin(), model.decoder.end(), [](const image::Step& step) {
        return step.op == static_cast<uint32_t>(image::Op::kByteFallbackDecode);
      }));
}

}  // namespace

bool Scratch::IsBounded(const Model& model, bool with_offsets) {
  if (!model.huggingface()) return SpCharacters::Has(model);
  return with_offsets ? HfPlacedCharacters::Has(model) : HfCharacters::Has(model);
}

void Scratch::Carve(Layout& layout, const Model& model, const Sizes& sizes) {
  bool bounded = sizes.bound > sizes.array_bound && IsBounded(model, sizes.with_offsets);
  if (bounded) {
    Layout whole(nullptr), least(nullptr);
    CarveAs(whole, model, sizes, false);
    CarveAs(least, model, sizes, true);
    bounded = !whole.ok() || least.size() < whole.size();
  }
  CarveAs(layout, model, sizes, bounded);
}

void Scratch::CarveAs(Layout& layout, const Model& model, const Sizes& sizes, bool bounded) {
  const uint32_t capacity = bounded ? sizes.array_bound : sizes.bound;
  // Metaspace "first" asks where a split begins, even when the caller wants no offsets.
  const bool ranges = sizes.with_offsets || (model.huggingface() && HuggingFaceNeedsOffsets(model));
  text_capacity = capacity;
  run_capacity = std::max(capacity, model.huggingface() ? sizes.ids : sizes.bound);
  const int decoder_texts = DecoderTexts(model);
  for (int i = 0; i < 2; ++i) {
    text[i] = layout.Take<char>(i < decoder_texts ? run_capacity : capacity);
    begin[i] = ranges ? layout.Take<uint32_t>(capacity) : nullptr;
    end[i] = ranges ? layout.Take<uint32_t>(capacity) : nullptr;
  }
  split_begin = layout.Take<uint32_t>(capacity);
  split_end = layout.Take<uint32_t>(capacity);
  lengthy = {};
  const bool places = bounded && model.huggingface() && sizes.with_offsets;
  if (places) {
    lengthy.Carve<HfPlacedCharacters>(layout, model, kBlock, kCheckpoints, kCheckpointBytes);
  } else if (bounded && model.huggingface()) {
    lengthy.Carve<HfCharacters>(layout, model, kBlock, kCheckpoints, kCheckpointBytes);
  } else if (bounded) {
    lengthy.Carve<SpCharacters>(layout, model, kBlock, kCheckpoints, kCheckpointBytes);
  }
  lattice.Carve(layout, capacity);
  lengthy.lattice = lattice;
  lengthy.chars = {split_begin, split_end};
  if (places) {
    lengthy.chars.begin = begin[0];
    lengthy.chars.end = end[0];
  }
}

}  // namespace rankfeed::general
