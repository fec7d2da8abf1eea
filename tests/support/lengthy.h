// SPDX-License-Identifier: MIT
// tests/support/lengthy.h: an encoder that takes every stretch the way of those that are too long
// for arrays (general/long_path.h), in blocks that are small enough for short texts to have many.
#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "encode/encoder.h"
#include "general/hf_characters.h"
#include "general/scratch.h"
#include "general/sp_long.h"

namespace rankfeed::test {

// Changes an encoder of whose life this is a part. Not ok: the model is one for arrays alone.
class Lengthy {
 public:
  Lengthy(rankfeed_encoder* encoder, uint32_t block, uint32_t kept) {
    const Model& model = *encoder->model;
    if (!general::Scratch::IsBounded(model, encoder->limits.with_offsets != 0)) return;
    general::LongScratch lengthy;
    Layout measured(nullptr);
    const bool places = model.huggingface() && encoder->limits.with_offsets != 0;
    Carve(measured, model, block, kept, places, &lengthy);
    memory_.resize(measured.size() + Layout::kAlignment, 0xa5);  // scratch may hold anything
    const size_t begin = reinterpret_cast<uintptr_t>(memory_.data()) % Layout::kAlignment;
    Layout layout(memory_.data() + (begin != 0 ? Layout::kAlignment - begin : 0));
    Carve(layout, model, block, kept, places, &lengthy);
    encoder->general.lengthy = lengthy;
    encoder->general.text_capacity = 0;
    encoder->engine.reset();
    ok_ = true;
  }
  bool ok() const { return ok_; }

 private:
  static void Carve(Layout& layout, const Model& model, uint32_t block, uint32_t kept, bool places,
                    general::LongScratch* lengthy) {
    if (places) {
      lengthy->Carve<general::HfPlacedCharacters>(layout, model, block, kept, 0);
    } else if (model.huggingface()) {
      lengthy->Carve<general::HfCharacters>(layout, model, block, kept, 0);
    } else {
      lengthy->Carve<general::SpCharacters>(layout, model, block, kept, 0);
    }
    lengthy->lattice.Carve(layout, lengthy->Room());
    const auto take = [&] { return layout.Take<uint32_t>(lengthy->Room()); };
    lengthy->chars = {take(), take(), places ? take() : nullptr, places ? take() : nullptr};
  }

  std::vector<unsigned char> memory_;
  bool ok_ = false;
};

}  // namespace rankfeed::test
