// SPDX-License-Identifier: MIT
// reference/sp_frame.h: SentencePiece's extra options (ParseExtraOptions and ApplyExtraOptions of
// sentencepiece_processor.cc, 0.1.97).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "image/model.h"
#include "rankfeed/encode.h"

namespace rankfeed::reference {

// The outcome of all extra options: ids before the text, ids after it, and whether the text's
// tokens are reversed. Each option acts on the whole sequence so far, hence the reversal of what
// earlier options added.
struct SpFrame {
  static constexpr size_t kMaxOptions = 8;
  std::array<uint32_t, kMaxOptions> before{}, after{};  // before: last added stands first
  size_t before_count = 0, after_count = 0;
  bool reversed = false;

  // All of sp_extra (RANKFEED_SP_*, 0 ends the list), in order. ARGUMENT: an unknown option, or bos
  // or eos that the model lacks.
  rankfeed_status Apply(const Model& model, const uint8_t sp_extra[kMaxOptions]) {
    for (size_t i = 0; i < kMaxOptions && sp_extra[i] != 0; ++i) {
      const rankfeed_status status = Apply(model, sp_extra[i]);
      if (status != RANKFEED_OK) return status;
    }
    return RANKFEED_OK;
  }

  // Returns where one of those ids stands in a text: eos at its end, bos at its begin (ApplyExtraOptions); in
  // 0.1.97 both at 0.
  static uint32_t PlaceOf(const Model& model, uint32_t id, size_t text_bytes) {
    const bool at_end = id == model.config->eos_id && !model.sentencepiece_0_2_1();
    return at_end ? static_cast<uint32_t>(text_bytes) : 0;
  }

 private:
  rankfeed_status Apply(const Model& model, uint8_t option) {
    const image::Config& config = *model.config;
    switch (option) {
      case RANKFEED_SP_BOS:
        if (!Defined(model, config.bos_id)) return RANKFEED_E_ARGUMENT;
        before[before_count++] = config.bos_id;
        return RANKFEED_OK;
      case RANKFEED_SP_EOS:
        if (!Defined(model, config.eos_id)) return RANKFEED_E_ARGUMENT;
        after[after_count++] = config.eos_id;
        return RANKFEED_OK;
      case RANKFEED_SP_REVERSE:
        before.swap(after);  // both are stored outwards, so a swap is a reversal
        std::swap(before_count, after_count);
        reversed = !reversed;
        return RANKFEED_OK;
      case RANKFEED_SP_UNK:
        return RANKFEED_OK;  // renames the piece of unknown tokens; ids and offsets stay
      default:
        return RANKFEED_E_ARGUMENT;
    }
  }

  // From 0.2.2 on bos and eos must be control pieces (ParseExtraOptions); before, any known piece.
  static bool Defined(const Model& model, uint32_t id) {
    if (id == image::kNoId) return false;
    return model.sentencepiece_0_2_1() || (model.id_flags[id] & image::kIdTypeMask) ==
                                              static_cast<uint8_t>(image::PieceType::kControl);
  }
};

}  // namespace rankfeed::reference
