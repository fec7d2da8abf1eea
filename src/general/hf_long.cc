// SPDX-License-Identifier: MIT
// general/hf_long.cc: see hf_long.h. Which tokens a path makes stands in hf_encode.cc.
#include "general/hf_long.h"

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "general/hf_trim_offsets.h"

namespace rankfeed::general {
namespace {

// Tokens of the best paths of words.
class Tokens {
 public:
  // places: null without offsets.
  Tokens(const Model& model, const LongText& what, HfPlaces* places, TokenSink& sink)
      : model_(model),
        what_(what),
        specials_(what.specials),
        places_(places),
        trim_(places != nullptr && model.has(image::kTrimOffsets)),
        sink_(sink) {}

  void BeginWord() {
    if (places_ != nullptr && specials_ == SpecialPieces::kEscaped) places_->Mark();
    Begin();
  }
  // The word is searched once more, without special tokens.
  void Again() {
    sink_.count = first_;
    if (places_ != nullptr) places_->GoBack();
    Begin();
  }
  void EndWord() { EndUnknown(); }

  // A piece of the path. False where a special token is one, or the sink is full.
  bool Piece(uint32_t value, const CharacterArrays& chars, uint32_t at, uint32_t count) {
    const uint32_t id = value != trie::kNoValue ? model_.value_ids[value] : image::kNoId;
    if (value != trie::kNoValue && specials_ != SpecialPieces::kKept && IsSpecial(id)) {
      guarded_ = true;
      // The same of what is refused.
      refused_.id = id;
      if (places_ != nullptr && specials_ == SpecialPieces::kRefused) Refuse(places_->Take(count));
      // The path behind it does not matter any more, but that of one that was escaped has none.
      return false;
    }
    if (value == trie::kNoValue || id == model_.config->unk_id) {
      for (uint32_t i = 0; i < count; ++i) AddUnknown(chars.c[at + i]);
    } else {
      EndUnknown();
      PushPiece(id, chars, at, count);
    }
    if (sink_.count < TokenSink::kMost) return true;
    status_ = RANKFEED_E_LIMIT;
    return false;
  }

  bool guarded() const { return guarded_; }
  // The special token that ended the word.
  const SpecialPlace& refused() const { return refused_; }
  rankfeed_status status() const { return status_; }

 private:
  void Begin() {
    first_ = sink_.count;
    in_unknown_ = false;
    status_ = RANKFEED_OK;
    guarded_ = false;
    refused_ = {0, what_.begin, what_.end};
  }
  void Refuse(HfPlaces::Range range) {
    refused_.begin = range.begin;
    refused_.end = range.end;
  }

  void PushPiece(uint32_t id, const CharacterArrays& chars, uint32_t at, uint32_t count) {
    if (places_ == nullptr) return sink_.Push(id, 0, 0);
    EndSpaces spaces;
    if (trim_) {
      while (spaces.leading < count && IsTrimmed(chars.c[at + spaces.leading])) ++spaces.leading;
      const uint32_t last = at + count - 1;
      while (spaces.trailing < count && IsTrimmed(chars.c[last - spaces.trailing])) {
        ++spaces.trailing;
      }
    }
    Push(id, places_->Take(count), spaces);
  }
  void Push(uint32_t id, HfPlaces::Range range, EndSpaces spaces) {
    if (!trim_) return sink_.Push(id, range.begin, range.end);
    PushTrimmed(model_, what_.text, what_.first_token, sink_, id, range.begin,
                TrimBack(what_.text, range.end, spaces.trailing), spaces.leading, range.end);
  }

  bool IsSpecial(uint32_t id) const { return (model_.id_flags[id] & image::kIdSpecial) != 0; }

  // Unknown characters in a row are looked up as a whole, else spelled, else one token: they are
  // spelled on the way, and that is taken back.
  void AddUnknown(char32_t c) {
    if (!in_unknown_) {
      in_unknown_ = found_ = true;
      unit_ = model_.pieces.root();
      spelled_ = model_.has(image::kByteFallback) && !model_.byte_ids.empty();
      begin_ = sink_.count;
      spaces_ = {};
      only_spaces_ = true;
      if (places_ != nullptr) range_.begin = places_->TakeOne();
    } else if (places_ != nullptr) {
      places_->Skip(1);
    }
    if (trim_) {
      const bool space = IsTrimmed(c);
      only_spaces_ = only_spaces_ && space;
      spaces_.leading += only_spaces_;
      spaces_.trailing = space ? spaces_.trailing + 1 : 0;
    }
    found_ = found_ && model_.pieces.Step(unit_, model_.codes[c]);
    if (!spelled_) return;
    char bytes[4];
    const uint32_t size = utf8::Encode(c, bytes);
    for (uint32_t i = 0; i < size && spelled_; ++i) {
      const uint32_t id = model_.byte_ids[static_cast<unsigned char>(bytes[i])];
      spelled_ = id != image::kNoId;
      if (spelled_) sink_.Push(id, 0, 0);
    }
    if (!spelled_) sink_.count = begin_;
  }

  void EndUnknown() {
    if (!in_unknown_) return;
    in_unknown_ = false;
    if (places_ != nullptr) range_.end = places_->End();
    const uint32_t value = found_ ? trie::Value(unit_) : trie::kNoValue;
    if (value != trie::kNoValue) {
      const uint32_t id = model_.value_ids[value];
      if (specials_ == SpecialPieces::kRefused && IsSpecial(id) && status_ == RANKFEED_OK) {
        status_ = RANKFEED_E_SPECIAL_IN_TEXT;
        refused_.id = id;
        if (places_ != nullptr) Refuse(range_);
      }
      if (specials_ != SpecialPieces::kEscaped || !IsSpecial(id)) {
        sink_.count = begin_;
        return Push(id, range_, spaces_);
      }
    }
    if (spelled_) return PlaceBytes();
    sink_.count = begin_;
    Push(model_.config->unk_id, range_, spaces_);
  }

  // Every byte of unknown characters has the place of all of them.
  void PlaceBytes() {
    if (places_ == nullptr) return;
    const uint32_t end = std::min(sink_.count, sink_.capacity);
    for (uint32_t i = begin_; i < end; ++i) {
      if (sink_.begin != nullptr) sink_.begin[i] = range_.begin;
      if (sink_.end != nullptr) sink_.end[i] = range_.end;
    }
  }

  const Model& model_;
  const LongText& what_;
  const SpecialPieces specials_;
  HfPlaces* const places_;
  const bool trim_;  // hf_trim_offsets.h
  TokenSink& sink_;
  uint32_t first_ = 0;  // of the word, in the sink
  bool in_unknown_ = false, found_ = false, spelled_ = false, guarded_ = false;
  trie::Unit unit_ = 0;
  // Of the unknown characters:
  uint32_t begin_ = 0;  // in the sink
  HfPlaces::Range range_ = {};
  EndSpaces spaces_;
  bool only_spaces_ = false;
  SpecialPlace refused_ = {};
  rankfeed_status status_ = RANKFEED_OK;
};

using Search = LongSearch<HuggingFaceArithmetic, HfCharacters, Tokens>;

rankfeed_status EncodeWord(const Model& model, Search& search, Tokens& tokens, double start,
                           SpecialPieces specials) {
  tokens.BeginWord();
  bool whole = search.Word(start, /*again=*/specials == SpecialPieces::kEscaped);
  if (tokens.guarded()) {
    if (specials == SpecialPieces::kRefused) return RANKFEED_E_SPECIAL_IN_TEXT;
    tokens.Again();
    whole = search.WordAgain();
  }
  if (search.stream().failed()) return RANKFEED_E_LIMIT;
  if (model.config->unk_id == image::kNoId && search.needs_unknown()) return RANKFEED_E_UNK_ID;
  tokens.EndWord();
  return whole || tokens.status() != RANKFEED_OK ? tokens.status() : RANKFEED_E_LIMIT;
}

}  // namespace

rankfeed_status EncodeHuggingFaceLong(const Model& model, const LongScratch& scratch,
                                      const HfPlaces::Scratch* places, const LongText& what,
                                      TokenSink& sink, CarriedScore* score, SpecialPlace* refused) {
  std::optional<HfPlaces> placed;
  if (places != nullptr) placed.emplace(model, *places, what.text, what.begin, what.end);
  Tokens tokens(model, what, placed ? &*placed : nullptr, sink);
  PlainCharacters plain(model);
  Search search(model, scratch, tokens, model, &plain, what.text, what.begin, what.end);
  while (search.More()) {
    const rankfeed_status status = EncodeWord(model, search, tokens, score->before, what.specials);
    if (status == RANKFEED_E_SPECIAL_IN_TEXT) *refused = tokens.refused();
    if (status != RANKFEED_OK) return status;
    score->after = search.score();
  }
  return search.stream().failed() ? RANKFEED_E_LIMIT : RANKFEED_OK;
}

}  // namespace rankfeed::general
