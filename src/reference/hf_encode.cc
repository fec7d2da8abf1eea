// SPDX-License-Identifier: MIT
// reference/hf_encode.cc: added tokens of the raw text, then for each stretch between them
// normalizer, added tokens of the normalized text, pre-tokenizer, and the model for each split.
//
// Every stretch is normalized on its own, so "strip", "prepend" and the like see stretches, not the
// text (added_vocabulary.rs extract_and_normalize, tokenizers 0.23.2).
#include "reference/hf_encode.h"

#include <algorithm>

#include "base/narrow.h"
#include "base/utf8.h"
#include "models/bpe/word.h"
#include "models/unigram/best_path.h"
#include "models/wordpiece/greedy.h"
#include "normalize/normalize.h"
#include "rankfeed/encode.h"
#include "stretch/added_tokens.h"
#include "reference/hf_trim_offsets.h"
#include "split/pretokenize.h"

namespace rankfeed::reference {
namespace {

// ranges: whether to keep where each byte came from, if the scratch has room for that.
normalize::Buffers BuffersOf(const Scratch& scratch, bool ranges) {
  normalize::Buffers buffers;
  for (int i = 0; i < 2; ++i) {
    buffers.text[i] = {scratch.text[i], ranges ? scratch.begin[i] : nullptr,
                       ranges ? scratch.end[i] : nullptr, scratch.text_capacity, 0};
  }
  // The lattice and the splits are not in use while normalizing.
  buffers.work[0] = scratch.lattice.link;
  buffers.work[1] = scratch.lattice.value;
  buffers.work[2] = scratch.split_begin;
  return buffers;
}

class Encoder {
 public:
  Encoder(const Model& model, Scratch& scratch, uint32_t flags, TokenSink& sink,
          SpecialPlace* refused)
      : model_(model),
        scratch_(scratch),
        offsets_(sink.begin != nullptr || sink.end != nullptr || refused != nullptr),
        buffers_(BuffersOf(scratch, offsets_ || HuggingFaceNeedsOffsets(model))),
        sink_(sink),
        words_(model),
        merged_(model),
        trimmer_(model.has(image::kTrimOffsets) && buffers_.in().begin != nullptr,
                 model.has(image::kTrimKeepsPrefix), sink.count),
        skip_special_((flags & (RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ESCAPE_SPECIAL)) != 0),
        escape_special_((flags & RANKFEED_ESCAPE_SPECIAL) != 0),
        refuse_special_((flags & RANKFEED_ERROR_ON_SPECIAL) != 0 && !skip_special_),
        refused_(refused) {}

  rankfeed_status EncodeStretch(std::string_view text, uint32_t begin, uint32_t end, bool inside,
                                CarriedScore* score) {
    text_ = text;
    start_ = end_score_ = score->before;
    const rankfeed_status status = Stretch(begin, end, inside);
    score->after = end_score_;
    return status;
  }

  rankfeed_status Encode(std::string_view text) {
    text_ = text;
    const auto size = Size32(text);
    if (!scratch_.added.MayOccurIn(text)) return Stretch(0, size, false);
    AddedTokenScanner scanner(model_, scratch_.added.raw(), text, skip_special_);
    uint32_t done = 0;
    AddedMatch match;
    while (scanner.Next(&match)) {
      // The stretch before comes first: a special token may appear in it too.
      if (const rankfeed_status status = Stretch(done, match.begin, false)) return status;
      if (Refused(match)) return Refuse(match.token->id, match.begin, match.end);
      uint32_t end = match.end;
      uint32_t leading = 0;
      if (trimmer_.on()) {
        const EndSpaces spaces = CountEndSpaces({text.data() + match.begin, end - match.begin});
        leading = spaces.leading;
        end = TrimBack(text, end, spaces.trailing);
      }
      Emit(match.token->id, match.begin, end, leading, match.end);
      done = match.end;
    }
    return Stretch(done, size, false);
  }

 private:
  bool Refused(const AddedMatch& match) const {
    return refuse_special_ && (match.token->flags & image::kSpecial) != 0;
  }

  rankfeed_status Refuse(uint32_t id, uint32_t begin, uint32_t end) {
    if (refused_ != nullptr) *refused_ = {id, begin, end};
    return RANKFEED_E_SPECIAL_IN_TEXT;
  }
  // The same for bytes [begin, end) of the normalized text.
  rankfeed_status RefuseNormalized(uint32_t id, uint32_t begin, uint32_t end) {
    const normalize::NormalizedText& in = buffers_.in();
    if (in.begin == nullptr) return Refuse(id, stretch_begin_, stretch_end_);
    return Refuse(id, in.begin[begin], in.end[end - 1]);
  }
  bool IsSpecial(uint32_t id) const { return (model_.id_flags[id] & image::kIdSpecial) != 0; }

  // Text between two added tokens, in parts where it is long and can be cut. inside: it is itself
  // such a part, and not the first one.
  rankfeed_status Stretch(uint32_t begin, uint32_t end, bool inside) {
    if (begin >= end) return RANKFEED_OK;
    stretch_begin_ = begin;
    stretch_end_ = end;
    const double start = start_;
    const uint32_t first_token = sink_.count;
    for (uint32_t at = begin;;) {
      const uint32_t size = PartBytes(at, end);
      const bool last = size == end - at;
      const rankfeed_status status = Part(at, at + size, inside);
      if (status != RANKFEED_OK || last) return status;
      if (offsets_ && buffers_.shifted()) break;
      if (scratch_.cuts->carries_score()) start_ = end_score_;
      at = scratch_.cuts->After(at + size);
      inside = true;
    }
    // Offsets of the whole stretch depend on how it begins, so it cannot be cut after all.
    start_ = start;
    sink_.count = first_token;
    return Part(begin, end, false);
  }

  uint32_t PartBytes(uint32_t begin, uint32_t end) const {
    if (scratch_.cuts == nullptr) return end - begin;
    return static_cast<uint32_t>(scratch_.cuts->PartBytes({text_.data() + begin, end - begin}));
  }

  // Bytes [begin, end) of the text, through all steps. With offsets a part is read with the
  // character before the separator that it was cut at: then that becomes what it becomes in the
  // middle of a text, and has the same place.
  rankfeed_status Part(uint32_t begin, uint32_t end, bool inside) {
    if (!scratch_.Admits(end - begin, sink_.count)) return RANKFEED_E_LIMIT;
    // Otherwise all that may be asked is what came of the first character of a text.
    if (!offsets_ && begin != 0) buffers_ = BuffersOf(scratch_, /*ranges=*/false);
    const bool with_context = inside && buffers_.in().begin != nullptr;
    const uint32_t separator = begin - (with_context && !scratch_.cuts->keeps_separator() ? 1 : 0);
    const auto from =
        with_context ? static_cast<uint32_t>(utf8::Previous(text_, separator)) : begin;
    if (!normalize::Load(text_, from, end, &buffers_)) return RANKFEED_E_LIMIT;
    if (const rankfeed_status status = normalize::RunNormalizer(model_, &buffers_)) return status;

    split::SplitList splits{scratch_.split_begin, scratch_.split_end, scratch_.text_capacity};
    split::SplitList spare{scratch_.lattice.link, scratch_.lattice.value, scratch_.text_capacity};
    if (const rankfeed_status status = FindNormalizedTokens(&splits)) return status;
    if (const rankfeed_status status = split::PreTokenize(model_, &buffers_, &splits, &spare)) {
      return status;
    }
    if (with_context) DropBefore(separator, &splits);
    if (splits.begin != scratch_.split_begin) {  // the model needs the lattice
      std::copy_n(splits.begin, splits.count, scratch_.split_begin);
      std::copy_n(splits.end, splits.count, scratch_.split_end);
    }
    split_start_ = start_;
    for (uint32_t i = 0; i < splits.count; ++i) {
      const uint32_t b = scratch_.split_begin[i], e = scratch_.split_end[i];
      if ((b & split::kTokenSplit) != 0) {
        PushMark(e, b & ~split::kTokenSplit);
        split_start_ = end_score_ = 0;
      } else if (const rankfeed_status status = Split(b, e)) {
        return status;
      }
    }
    return RANKFEED_OK;
  }

  // Takes out of the splits what came of characters before a place in the text.
  void DropBefore(uint32_t place, split::SplitList* splits) {
    const uint32_t* const origin = buffers_.in().begin;
    uint32_t dropped = 0;
    for (; dropped < splits->count; ++dropped) {
      uint32_t& begin = splits->begin[dropped];
      while (begin < splits->end[dropped] && origin[begin] < place) ++begin;
      if (begin < splits->end[dropped]) break;
    }
    splits->count -= dropped;
    std::copy_n(splits->begin + dropped, splits->count, splits->begin);
    std::copy_n(splits->end + dropped, splits->count, splits->end);
  }

  rankfeed_status FindNormalizedTokens(split::SplitList* splits) {
    const normalize::NormalizedText& in = buffers_.in();
    AddedTokenScanner scanner(model_, scratch_.added.normalized(), in.view(), skip_special_);
    uint32_t done = 0;
    AddedMatch match, next;
    bool ok = true;
    for (bool found = scanner.Next(&next); found;) {
      match = next;
      // It looks at the character before it, so before that is marked.
      found = scanner.Next(&next);
      if (Refused(match)) return RefuseNormalized(match.token->id, match.begin, match.end);
      if (done < match.begin) ok = splits->Add(done, match.begin) && ok;
      Mark(match);
      ok = splits->AddToken(match.begin, match.token->id) && ok;
      done = match.end;
    }
    if (done < in.size) ok = splits->Add(done, in.size) && ok;
    return ok ? RANKFEED_OK : RANKFEED_E_LIMIT;
  }

  // Puts the mark of a token over its text, see split::kPlainMark.
  void Mark(const AddedMatch& match) {
    const normalize::NormalizedText& in = buffers_.in();
    const uint32_t at = match.begin;
    const EndSpaces spaces =
        trimmer_.on() ? CountEndSpaces(in.view(at, match.end)) : EndSpaces();
    in.data[at] = split::kPlainMark;
    if (in.end == nullptr) return;
    const uint32_t end = in.end[match.end - 1];
    in.end[at] = TrimBack(text_, end, spaces.trailing);
    if (trimmer_.MayKeep(spaces.leading) && in.begin[at] < end) {
      in.data[at] = split::kMarkOfSpace;
    } else {
      in.begin[at] = TrimFront(text_, in.begin[at], end, spaces.leading);
    }
  }

  void PushMark(uint32_t id, uint32_t at) {
    const normalize::NormalizedText& in = buffers_.in();
    if (in.begin == nullptr) return sink_.Push(id, 0, 0);
    const uint32_t leading = in.data[at] == split::kMarkOfSpace ? 1 : 0;
    Emit(id, in.begin[at], in.end[at], leading, Size32(text_));
  }

  // One model call (models/wordpiece/mod.rs tokenize).
  rankfeed_status Word(uint32_t begin, uint32_t end) {
    const std::string_view word = buffers_.in().view(begin, end);
    uint32_t* const ids = scratch_.lattice.value;
    uint32_t* const ends = scratch_.lattice.link;
    const uint32_t count = words_.Find(word, !escape_special_, ids, ends);
    if (count == 0) {
      if (model_.config->unk_id == image::kNoId) return RANKFEED_E_UNK_ID;
      Push(model_.config->unk_id, begin, end);
    }
    for (uint32_t i = 0, from = begin; i < count; from = begin + ends[i++]) {
      if (refuse_special_ && IsSpecial(ids[i])) {
        return RefuseNormalized(ids[i], from, begin + ends[i]);
      }
      Push(ids[i], from, begin + ends[i]);
    }
    return RANKFEED_OK;
  }

  // One model call (models/bpe/model.rs tokenize).
  rankfeed_status Merged(uint32_t begin, uint32_t end) {
    const std::string_view split = buffers_.in().view(begin, end);
    const uint32_t whole = merged_.Whole(split, !escape_special_);
    if (whole != trie::kNoValue) {
      if (refuse_special_ && IsSpecial(whole)) return RefuseNormalized(whole, begin, end);
      Push(whole, begin, end);
      return RANKFEED_OK;
    }
    const bpe::Symbols tokens{scratch_.lattice.value, scratch_.lattice.link};
    auto* const work = reinterpret_cast<uint64_t*>(scratch_.lattice.best);
    bool missing = false;
    const uint32_t count = merged_.Make(split, tokens, work, &missing, scratch_.word_capacity);
    if (count == bpe::Words::kTooMany) return RANKFEED_E_LIMIT;
    if (missing) return RANKFEED_E_UNK_ID;
    for (uint32_t i = 0, at = begin; i < count; at += tokens.sizes[i++]) {
      const uint32_t id = tokens.ids[i], to = at + tokens.sizes[i];
      if ((refuse_special_ || escape_special_) && id != model_.config->unk_id && IsSpecial(id)) {
        if (refuse_special_) return RefuseNormalized(id, at, to);
        PushUnmerged(at, to);
      } else {
        Push(id, at, to);
      }
    }
    return RANKFEED_OK;
  }

  // The symbols of a special token that merges made of the text, for ESCAPE_SPECIAL.
  void PushUnmerged(uint32_t begin, uint32_t end) {
    merged_.EachSymbol(buffers_.in().view(begin, end), [&](uint32_t id, uint32_t size) {
      Push(id, begin, begin + size);
      begin += size;
    });
  }

  // One model call (models/unigram/model.rs tokenize).
  rankfeed_status Split(uint32_t begin, uint32_t end) {
    if (model_.wordpiece()) return Word(begin, end);
    if (model_.bpe()) return Merged(begin, end);
    const std::string_view split = buffers_.in().view(begin, end);
    const unigram::ScoreLattice& lattice = scratch_.lattice;
    const unigram::TextChars chars{model_.codes, split};
    bool needs_unknown = unigram::FindBestPath<unigram::HuggingFaceArithmetic>(
        model_, chars, split_start_, lattice);
    if (escape_special_ || refuse_special_) {
      if (const rankfeed_status status = GuardPath(begin, end, &needs_unknown)) return status;
    }
    end_score_ = lattice.best[split.size()];
    if (needs_unknown) return RANKFEED_E_UNK_ID;

    const auto size = Size32(split);
    for (uint32_t b = 0; b < size;) {
      uint32_t e = lattice.link[b];
      if (!IsUnknown(lattice.value[e])) {
        Push(lattice.value[e], begin + b, begin + e);
      } else {
        while (e < size && IsUnknown(lattice.value[lattice.link[e]])) e = lattice.link[e];
        const rankfeed_status status = Unknown({split.data() + b, e - b}, begin + b, begin + e);
        if (status != RANKFEED_OK) return status;
      }
      b = e;
    }
    return RANKFEED_OK;
  }

  // Special tokens that are pieces of the best path: refused, or the path is made without them.
  rankfeed_status GuardPath(uint32_t begin, uint32_t end, bool* needs_unknown) {
    const std::string_view split = buffers_.in().view(begin, end);
    const unigram::ScoreLattice& lattice = scratch_.lattice;
    for (uint32_t b = 0, e = 0; b < split.size(); b = e) {
      e = lattice.link[b];
      if (lattice.value[e] == trie::kNoValue) continue;
      const uint32_t id = lattice.value[e];
      if (!IsSpecial(id)) continue;
      if (refuse_special_) return RefuseNormalized(id, begin + b, begin + e);
      *needs_unknown = unigram::FindBestPath<unigram::HuggingFaceArithmetic, false>(
          model_, unigram::TextChars{model_.codes, split}, split_start_, lattice);
      return RANKFEED_OK;
    }
    return RANKFEED_OK;
  }

  // A piece whose id is the unknown id counts as unknown even when it is matched literally.
  bool IsUnknown(uint32_t value) const {
    return value == trie::kNoValue || value == model_.config->unk_id;
  }

  // A stretch of unknown characters: a vocabulary entry by that name, else its bytes, else unknown.
  rankfeed_status Unknown(std::string_view span, uint32_t begin, uint32_t end) {
    const uint32_t id = Find(span);
    if (id != trie::kNoValue) {
      if (refuse_special_ && IsSpecial(id)) return RefuseNormalized(id, begin, end);
      if (!escape_special_ || !IsSpecial(id)) {
        Push(id, begin, end);
        return RANKFEED_OK;
      }
    }
    if (model_.has(image::kByteFallback) && HasAllBytes(span)) {
      for (const char byte : span) {
        Push(model_.byte_ids[Byte(byte)], begin, end, /*is_byte=*/true);
      }
      return RANKFEED_OK;
    }
    Push(model_.config->unk_id, begin, end);
    return RANKFEED_OK;
  }

  bool HasAllBytes(std::string_view span) const {
    if (model_.byte_ids.empty()) return false;
    for (const char byte : span) {
      if (model_.byte_ids[Byte(byte)] == image::kNoId) return false;
    }
    return true;
  }

  uint32_t Find(std::string_view piece) const {
    trie::Unit unit = model_.pieces.root();
    for (uint32_t pos = 0; pos < piece.size();) {
      uint32_t size;
      const char32_t c = utf8::DecodeValid(piece.data() + pos, &size);
      if (!model_.pieces.Step(unit, model_.codes[c])) return trie::kNoValue;
      pos += size;
    }
    return trie::Value(unit);
  }

  // The token of bytes [begin, end) of the current text. A byte token is named <0xHH>, so it has no
  // white space to trim.
  void Push(uint32_t id, uint32_t begin, uint32_t end, bool is_byte = false) {
    const normalize::NormalizedText& in = buffers_.in();
    if (in.begin == nullptr) return sink_.Push(id, 0, 0);
    const uint32_t b = in.begin[begin], e = in.end[end - 1];
    if (!trimmer_.on() || is_byte) return sink_.Push(id, b, e);
    // The reference trims by the token string, which is the text of Unigram alone.
    const std::string_view token = model_.unigram() ? in.view(begin, end) : model_.piece(id);
    trimmer_.Push(sink_, text_, id, b, e, CountEndSpaces(token));
  }

  void Emit(uint32_t id, uint32_t begin, uint32_t end, uint32_t leading, uint32_t whole_end) {
    trimmer_.Emit(sink_, text_, id, begin, end, leading, whole_end);
  }

  const Model& model_;
  Scratch& scratch_;
  const bool offsets_;  // wanted by the caller
  normalize::Buffers buffers_;
  TokenSink& sink_;
  const wordpiece::GreedySearch words_;
  const bpe::Words merged_;
  std::string_view text_;        // the original
  const OffsetTrimmer trimmer_;  // RobertaProcessing trim_offsets
  const bool skip_special_, escape_special_, refuse_special_;
  SpecialPlace* const refused_;  // nullable
  uint32_t stretch_begin_ = 0, stretch_end_ = 0;
  // Scores: before the stretch, before a split, and after the last one. An added token between
  // splits ends what went on from before the stretch.
  double start_ = 0, split_start_ = 0, end_score_ = 0;
};

}  // namespace

rankfeed_status EncodeHuggingFace(const Model& model, Scratch& scratch, std::string_view text,
                                  uint32_t flags, TokenSink& sink, SpecialPlace* refused) {
  return Encoder(model, scratch, flags, sink, refused).Encode(text);
}

rankfeed_status EncodeHuggingFaceStretch(const Model& model, Scratch& scratch,
                                         std::string_view text, uint32_t begin, uint32_t end,
                                         bool inside, uint32_t flags, TokenSink& sink,
                                         CarriedScore* score) {
  return Encoder(model, scratch, flags, sink, nullptr)
      .EncodeStretch(text, begin, end, inside, score);
}

bool HuggingFaceNeedsOffsets(const Model& model) {
  for (const image::Step& step : model.pre_tokenizer) {
    if (step.Is(image::Op::kMetaspace) &&
        step.arg0 == image::kPrependFirst) {
      return true;
    }
  }
  return false;
}

}  // namespace rankfeed::reference
