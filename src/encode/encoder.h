// SPDX-License-Identifier: MIT
// encode/encoder.h: the object that rankfeed_encoder names and the layout of its scratch. It stays
// where it was made: its parts refer to each other.
#pragma once

#include <cstdint>
#include <variant>

#include "base/layout.h"
#include "encode/stream.h"
#include "stretch/cuts.h"
#include "fast/engine.h"
#include "fast/kernels/kernels.h"
#include "stretch/normalized_tokens.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "reference/hf_encode.h"
#include "reference/scratch.h"

namespace rankfeed {

inline constexpr uint64_t kEncoderMagic = 0x6564636e656b66ULL;

// Normalized bytes that text_bytes of input can become; false on overflow of 32-bit positions.
inline bool NormalizedBound(const Model& model, uint64_t text_bytes, uint32_t* out) {
  if (text_bytes >= 0x7fffffff) return false;  // which keeps the product below 2^63
  const uint64_t grown =
      (text_bytes * model.config->growth_numerator + 255) / 256 + model.config->growth_constant;
  const uint64_t bound = grown > text_bytes ? grown : text_bytes;
  if (bound >= 0x7fffffff) return false;
  *out = static_cast<uint32_t>(bound) + 1;
  return true;
}

// The arrays of an encoder with these limits; false where positions of 32 bits do not suffice.
inline bool ArraySizes(const Model& model, const rankfeed_limits& limits,
                       reference::Scratch::Sizes* out) {
  uint32_t bound = 0x7fffffff;
  const bool fits = NormalizedBound(model, limits.max_text_bytes, &bound);
  // A denormalizer works on whole texts.
  if (!fits && (limits.max_text_bytes >= 0x7fffffff || !model.denorm_units.empty())) return false;
  *out = reference::Scratch::SizesFor(model, limits.max_text_bytes, limits.max_stretch_bytes, bound,
                                    limits.with_offsets != 0);
  return true;
}

}  // namespace rankfeed

namespace rankfeed::encode {

// Ids around every text, where that is all that the single template does.
struct Around {
  static constexpr size_t kMax = 16;
  uint32_t before[kMax], after[kMax];
  uint8_t before_count = 0, after_count = 0;
  bool all = false;  // false: the template does more

  void Prepare(const Model& model);
};

// The arrays of an encoder. Of the fast road one kind of engine has some, that of the model.
struct Scratch {
  reference::Scratch general;
  fast::Engine<fast::Unigram>::Scratch unigram;
  fast::Engine<fast::WordPiece>::Scratch wordpiece;
  fast::Engine<fast::Bpe>::Scratch bpe;

  // Calls use with the arrays of the model's kind.
  template <class Use>
  void WithKind(const Model& model, const Use& use) {
    if (model.unigram()) return use(unigram);
    if (model.wordpiece()) return use(wordpiece);
    use(bpe);
  }
};

}  // namespace rankfeed::encode

struct rankfeed_encoder {
  uint64_t magic = rankfeed::kEncoderMagic;  // catches scratch that was never initialised
  const rankfeed_model* model;
  rankfeed_limits limits;
  rankfeed::encode::Scratch scratch;
  rankfeed::reference::Scratch& general = scratch.general;
  rankfeed::fast::Isa isa = rankfeed::fast::ChosenIsa();
  rankfeed::NormalizedTokens normalized_tokens;
  rankfeed::Cuts cuts;
  // None where the model does not allow the fast road.
  std::variant<std::monostate, rankfeed::fast::Engine<rankfeed::fast::Unigram>,
               rankfeed::fast::Engine<rankfeed::fast::WordPiece>, rankfeed::fast::Engine<rankfeed::fast::Bpe>>
      engine;
  char* scratch_end = nullptr;
  bool fast_offsets = false;        // the engine knows them
  rankfeed::encode::Around around;  // with special tokens; without, ids vanish
  rankfeed_road_counts roads[RANKFEED_REASON_COUNT] = {};
  rankfeed::encode::Stream stream;  // of rankfeed_encode_begin

  // Returns whether there is a fast road at all.
  bool has_fast_road() const { return engine.index() != 0; }
  // Returns what use makes of the engine, which is there.
  template <class Use>
  auto WithEngine(const Use& use) {
    using namespace rankfeed::fast;  // NOLINT: the struct must have the C API's name
    if (auto* const unigram = std::get_if<Engine<Unigram>>(&engine)) return use(*unigram);
    if (auto* const wordpiece = std::get_if<Engine<WordPiece>>(&engine)) return use(*wordpiece);
    return use(*std::get_if<Engine<Bpe>>(&engine));
  }
  // The arrays of the fast road, which do not grow with the text: from the end of those that do.
  char* fast_begin() const { return general.working_end(); }
  size_t fast_size() const { return static_cast<size_t>(scratch_end - fast_begin()); }

  // Measures (layout over null) or carves; returns the encoder's place, null when measuring.
  static rankfeed_encoder* Carve(rankfeed::Layout& layout, const rankfeed::Model& model,
                                 const rankfeed::reference::Scratch::Sizes& sizes,
                                 uint32_t cache_bytes, rankfeed::encode::Scratch* scratch) {
    auto* self = layout.Take<rankfeed_encoder>(1);
    scratch->general.Carve(layout, model, sizes);
    scratch->WithKind(model, [&](auto& kind) { kind.Carve(layout, model, cache_bytes); });
    return self;
  }

  rankfeed_encoder(const rankfeed_model& of, const rankfeed_limits& given,
                   const rankfeed::encode::Scratch& arrays);
};
