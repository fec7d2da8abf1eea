// SPDX-License-Identifier: MIT
// reference/sp_encode.cc: see sp_encode.h. The order of work is that of SentencePieceProcessor::
// Encode, PopulateSentencePieceText and ApplyExtraOptions (sentencepiece_processor.cc, 0.1.97; the
// same in 0.2.3 but where the code says so).
// Cost: normalizer + best path + one pass over the tokens (two when reversed).
#include "reference/sp_encode.h"

#include <algorithm>

#include "base/narrow.h"
#include "base/utf8.h"
#include "models/bpe/word.h"
#include "models/unigram/best_path.h"
#include "models/unigram/exactness.h"

namespace rankfeed::reference {
namespace {

// Tokens of a normalized text whose best path is known, forwards or backwards.
class PathReader {
 public:
  // base: where in the text the input of the normalizer begins.
  PathReader(const Model& model, const Scratch& scratch, normalize::SpNormalized normalized,
             uint32_t base, bool with_offsets)
      : model_(model),
        text_(scratch.text[0], normalized.size),
        origin_(with_offsets ? scratch.begin[0] : nullptr),
        text_end_(normalized.end),
        base_(base),
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
    uint32_t end = Size32(text_);
    while (count > 0) {
      const uint32_t begin = starts[--count];
      Emit(begin, end, /*reversed=*/true, sink);
      end = begin;
    }
  }

 private:
  // Returns where the piece, or the run of unknown characters to be merged, that begins at begin ends.
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
    return base_ + (position < text_.size() ? origin_[position] : text_end_);
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
        sink.Push(model_.byte_ids[Byte(text_[at])], from,
                  at + 1 == end ? to : from);
      }
    } else {
      sink.Push(model_.config->unk_id, from, to);
    }
  }

  const Model& model_;
  std::string_view text_;
  const uint32_t* origin_;
  uint32_t text_end_, base_;
  const unigram::ScoreLattice& lattice_;
  bool byte_fallback_;
};

// Finds in a BPE model (bpe_model.cc) the path of the tokens that the symbols of a text merge to, which are
// user-defined symbols, the longest one at each place, and characters. False if they are more than `room`,
// for which lattice.best has Merger::kWorkPerSymbol elements each.
bool MergedPath(const Model& model, std::string_view text, uint32_t room,
                const unigram::ScoreLattice& lattice) {
  constexpr uint32_t kUnknown = image::kMaxMergeIds;  // no id
  const normalize::SpNormalizer normalizer = normalize::SpNormalizerOf(model);
  const bpe::Words words(model);
  uint32_t* const ids = lattice.value;
  uint32_t* const sizes = lattice.link;
  uint32_t count = 0;
  for (size_t at = 0; at < text.size(); at += sizes[count++]) {
    const std::string_view rest(text.data() + at, text.size() - at);
    sizes[count] = normalize::LongestSpSymbol(normalizer, rest);
    const bool symbol = sizes[count] != 0;
    if (!symbol) utf8::DecodeValid(rest.data(), &sizes[count]);
    const uint32_t id = words.Find({rest.data(), sizes[count]});
    ids[count] = id == trie::kNoValue ? bpe::kFrozen | kUnknown : symbol ? bpe::kFrozen | id : id;
  }
  if (count > room) return false;
  const bpe::Merger merger(model.merges);
  count = merger.Merge(ids, sizes, count, reinterpret_cast<uint64_t*>(lattice.best));
  // From the last on, since a place is not before its token's number.
  for (auto end = Size32(text); count > 0;) {
    const uint32_t id = ids[--count] & ~bpe::kFrozen, begin = end - sizes[count];
    lattice.value[end] = id < kUnknown ? id : trie::kNoValue;
    lattice.link[begin] = end;
    end = begin;
  }
  lattice.best[text.size()] = 0;
  return true;
}

// Bytes [begin, end) of a text: all of it, or a part of it.
rankfeed_status EncodePart(const Model& model, const Scratch& scratch, std::string_view text,
                           bool reversed, uint32_t base, TokenSink& sink, CarriedScore* score) {
  if (!scratch.Admits(Size32(text), sink.count)) return RANKFEED_E_LIMIT;
  const bool with_offsets = sink.begin != nullptr || sink.end != nullptr;
  normalize::SpNormalized normalized;
  if (!normalize::SpNormalize(normalize::SpNormalizerOf(model), text,
                              scratch.text[0], with_offsets ? scratch.begin[0] : nullptr,
                              scratch.text_capacity, &normalized)) {
    return RANKFEED_E_LIMIT;
  }
  const std::string_view view(scratch.text[0], normalized.size);
  if (model.bpe()) {
    if (!MergedPath(model, view, scratch.word_capacity, scratch.lattice)) return RANKFEED_E_LIMIT;
  } else if (!view.empty()) {
    const unigram::TextChars chars{model.codes, view};
    unigram::WithArithmetic(unigram::ScoreSumsOf(model), [&](auto arithmetic) {
      unigram::FindBestPath<decltype(arithmetic)>(model, chars, score->before, scratch.lattice);
    });
  }
  score->after = view.empty() ? score->before : scratch.lattice.best[view.size()];
  const PathReader reader(model, scratch, normalized, base, with_offsets);
  if (reversed) {
    reader.Backward(scratch.split_begin, sink);
  } else {
    reader.Forward(sink);
  }
  return RANKFEED_OK;
}

}  // namespace

rankfeed_status EncodeSentencePieceParts(const Model& model, const Scratch& scratch,
                                         std::string_view text, uint32_t begin, uint32_t end,
                                         bool inside, TokenSink& sink, CarriedScore* score) {
  const Cuts* const cuts = scratch.cuts;
  for (;;) {
    const std::string_view rest(text.data() + begin, end - begin);
    const size_t size = cuts != nullptr ? cuts->PartBytes(rest) : rest.size();
    const bool last = size == rest.size();
    const uint32_t first = sink.count;
    const rankfeed_status status =
        EncodePart(model, scratch, rest.substr(0, size), false, begin, sink, score);
    if (status != RANKFEED_OK) return status;
    // The U+2581 that a part begins with comes from the separator before it.
    const bool has_prefix = inside && !cuts->keeps_separator();
    if (has_prefix && sink.begin != nullptr && first < std::min(sink.count, sink.capacity)) {
      sink.begin[first] = begin - 1;
    }
    if (last) return RANKFEED_OK;
    score->before = score->after;
    begin = cuts->After(begin + static_cast<uint32_t>(size));
    inside = true;
  }
}

// Reverses the tokens from `first` on, if all of them fit.
static void Reverse(const TokenSink& sink, uint32_t first) {
  if (sink.count > sink.capacity) return;
  std::reverse(sink.ids + first, sink.ids + sink.count);
  if (sink.begin != nullptr) std::reverse(sink.begin + first, sink.begin + sink.count);
  if (sink.end != nullptr) std::reverse(sink.end + first, sink.end + sink.count);
}

rankfeed_status EncodeSentencePiece(const Model& model, const Scratch& scratch,
                                    std::string_view text, const SpFrame& frame, TokenSink& sink) {
  const auto add = [&](uint32_t id) {
    const uint32_t at = SpFrame::PlaceOf(model, id, text.size());
    sink.Push(id, at, at);
  };
  for (size_t i = frame.before_count; i > 0; --i) add(frame.before[i - 1]);
  const uint32_t first = sink.count;
  CarriedScore whole, parts;
  rankfeed_status status = RANKFEED_E_LIMIT;
  if (frame.reversed) status = EncodePart(model, scratch, text, true, 0, sink, &whole);
  if (status == RANKFEED_E_LIMIT) {
    const auto size = Size32(text);
    status = EncodeSentencePieceParts(model, scratch, text, 0, size, false, sink, &parts);
    if (frame.reversed) Reverse(sink, first);
  }
  if (status != RANKFEED_OK) return status;
  for (size_t i = 0; i < frame.after_count; ++i) add(frame.after[i]);
  return RANKFEED_OK;
}

}  // namespace rankfeed::reference
