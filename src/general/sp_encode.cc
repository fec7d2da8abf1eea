// SPDX-License-Identifier: MIT
// general/sp_encode.cc: see sp_encode.h. The order of work is that of SentencePieceProcessor::
// Encode, PopulateSentencePieceText and ApplyExtraOptions (sentencepiece_processor.cc, 0.1.97; the
// same in 0.2.3 but where the code says so).
// Cost: normalizer + best path + one pass over the tokens (two when reversed).
#include "general/sp_encode.h"

#include "general/best_path.h"
#include "general/sp_long.h"

namespace rankfeed::general {
namespace {

// Tokens of a normalized text whose best path is known, forwards or backwards.
class PathReader {
 public:
  PathReader(const Model& model, const Scratch& scratch, normalize::SpNormalized normalized,
             bool with_offsets)
      : model_(model),
        text_(scratch.text[0], normalized.size),
        origin_(with_offsets ? scratch.begin[0] : nullptr),
        text_end_(normalized.end),
        lattice_(scratch.lattice),
        byte_fallback_(model.has(image::kByteFallback) && model.byte_ids.size() == 256) {}

  void Forward(TokenSink& sink) const {
    for (uint32_t begin = 0; begin < text_.size();) {
      const uint32_t end = TokenEnd(begin);
      Emit(begin, end, /*reversed=*/false, sink);
      begin = end;
    }
  }

  // starts holds at least as many entries as text_ has bytes.
  void Backward(uint32_t* starts, TokenSink& sink) const {
    size_t count = 0;
    for (uint32_t begin = 0; begin < text_.size(); begin = TokenEnd(begin)) starts[count++] = begin;
    uint32_t end = static_cast<uint32_t>(text_.size());
    while (count > 0) {
      const uint32_t begin = starts[--count];
      Emit(begin, end, /*reversed=*/true, sink);
      end = begin;
    }
  }

 private:
  // Where the piece, or the run of unknown characters to be merged, that begins at begin ends.
  // With byte fallback every unknown character is spelled on its own.
  uint32_t TokenEnd(uint32_t begin) const {
    uint32_t end = lattice_.link[begin];
    if (lattice_.value[end] == trie::kNoValue && !byte_fallback_) {
      while (end < text_.size() && lattice_.value[lattice_.link[end]] == trie::kNoValue) {
        end = lattice_.link[end];
      }
    }
    return end;
  }

  uint32_t Origin(uint32_t position) const {
    if (origin_ == nullptr) return 0;
    return position < text_.size() ? origin_[position] : text_end_;
  }

  void Emit(uint32_t begin, uint32_t end, bool reversed, TokenSink& sink) const {
    const uint32_t from = Origin(begin), to = Origin(end);
    const uint32_t value = lattice_.value[end];
    if (value != trie::kNoValue) {
      sink.Push(value, from, to);
    } else if (byte_fallback_) {
      // Only the last byte of the character carries its range.
      for (uint32_t i = 0; i < end - begin; ++i) {
        const uint32_t at = reversed ? end - 1 - i : begin + i;
        sink.Push(model_.byte_ids[static_cast<unsigned char>(text_[at])], from,
                  at + 1 == end ? to : from);
      }
    } else {
      sink.Push(model_.config->unk_id, from, to);
    }
  }

  const Model& model_;
  std::string_view text_;
  const uint32_t* origin_;
  uint32_t text_end_;
  const Lattice& lattice_;
  bool byte_fallback_;
};

}  // namespace

static rankfeed_status EncodeInArrays(const Model& model, const Scratch& scratch,
                                      std::string_view text, bool reversed, TokenSink& sink,
                                      CarriedScore* score) {
  const bool with_offsets = sink.begin != nullptr || sink.end != nullptr;
  normalize::SpNormalized normalized;
  const bool spaced = score != nullptr && score->spaced;
  if (!normalize::SpNormalize(normalize::SpNormalizerOf(model, spaced), text, scratch.text[0],
                              with_offsets ? scratch.begin[0] : nullptr, scratch.text_capacity,
                              &normalized)) {
    return RANKFEED_E_LIMIT;
  }
  const std::string_view view(scratch.text[0], normalized.size);
  const double start = score != nullptr ? score->before : 0;
  if (!view.empty()) BestPathSentencePiece(model, view, start, scratch.lattice);
  if (score != nullptr) score->after = view.empty() ? start : scratch.lattice.best[view.size()];
  const PathReader reader(model, scratch, normalized, with_offsets);
  if (reversed) {
    reader.Backward(scratch.split_begin, sink);
  } else {
    reader.Forward(sink);
  }
  return RANKFEED_OK;
}

rankfeed_status EncodeSentencePiece(const Model& model, Scratch& scratch, std::string_view text,
                                    const SpFrame& frame, TokenSink& sink, CarriedScore* score) {
  const auto add = [&](uint32_t id) {
    const uint32_t at = SpFrame::PlaceOf(model, id, text.size());
    sink.Push(id, at, at);
  };
  for (size_t i = frame.before_count; i > 0; --i) add(frame.before[i - 1]);
  const bool lengthy = scratch.lengthy.block != 0;
  rankfeed_status status = RANKFEED_E_LIMIT;
  if (!lengthy || text.size() <= scratch.text_capacity) {
    status = EncodeInArrays(model, scratch, text, frame.reversed, sink, score);
  }
  if (status != RANKFEED_OK && lengthy) {
    status = EncodeSentencePieceLong(model, scratch.lengthy, text, frame.reversed, sink, score);
  }
  if (status != RANKFEED_OK) return status;
  for (size_t i = 0; i < frame.after_count; ++i) add(frame.after[i]);
  return RANKFEED_OK;
}

}  // namespace rankfeed::general
