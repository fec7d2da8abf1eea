// SPDX-License-Identifier: MIT
// general/hf_long.cc: see hf_long.h. Which tokens a path makes stands in hf_encode.cc.
#include "general/hf_long.h"

#include <algorithm>
#include <type_traits>

#include "base/utf8.h"

namespace rankfeed::general {
namespace {

// Without offsets.
class NoOffsets {
 public:
  NoOffsets(const LongStretch& stretch, const HfCharacters&) : stretch_(stretch) {}
  void SetStage(const HfCharacters&) {}
  void Remember() {}
  void GoBack() {}
  void Open(const CharacterArrays&, uint32_t) {}
  void Add(const CharacterArrays&, uint32_t, uint32_t) {}
  void Push(TokenSink& sink, uint32_t id) const { sink.Push(id, 0, 0); }
  void Set(TokenSink&, uint32_t) const {}
  void PushAdded(TokenSink& sink, const HfCharacters::Added& added) const {
    sink.Push(added.token->id, 0, 0);
  }
  SpecialPlace PlaceOf(uint32_t id) const { return {id, stretch_.begin, stretch_.end}; }
  SpecialPlace PlaceOf(const HfCharacters::Added& added) const { return PlaceOf(added.token->id); }

 private:
  const LongStretch& stretch_;
};

// The places of characters that have numbers instead: those before the stage that gave the numbers
// come once more.
class NumberedPlaces {
 public:
  explicit NumberedPlaces(const HfPlacedCharacters& stream) : stream_(stream) {}

  bool on() const { return stage_ != HfPlacedCharacters::kNoStage; }
  void SetStage(uint32_t stage) { stage_ = stage; }

  // Numbers never fall from one call to the next.
  Place Of(Place numbered) {
    for (const uint64_t number = HfPlacedCharacters::NumberOf(numbered); count_ <= number;) {
      if (!stream_.NextBefore(stage_, &last_)) break;
      ++count_;
    }
    return last_.place;
  }

 private:
  HfPlacedCharacters stream_;
  uint32_t stage_ = HfPlacedCharacters::kNoStage;
  uint64_t count_ = 0;  // characters that came
  PlacedCharacter last_ = {};
};

// Offsets of tokens, from the places of their characters: what hf_encode.cc does where it pushes.
class Offsets {
 public:
  Offsets(const LongStretch& stretch, const HfPlacedCharacters& stream)
      : text_(stretch.text), trimmer_(*stretch.trimmer), numbered_(stream), before_(stream) {}

  // Of a stream that there is a character of.
  void SetStage(const HfPlacedCharacters& stream) { numbered_.SetStage(stream.NumberedStage()); }
  // Where tokens are taken back to.
  void Remember() {
    if (numbered_.on()) before_ = numbered_;
  }
  void GoBack() {
    if (numbered_.on()) numbered_ = before_;
  }

  // A token begins with a character, and goes on with others.
  void Open(const CharacterArrays& chars, uint32_t at) {
    const Place first = chars.PlaceAt(at);
    begin_ = numbered_.on() ? numbered_.Of(first).begin : first.begin;
    spaces_ = {};
    only_spaces_ = true;
  }
  void Add(const CharacterArrays& chars, uint32_t at, uint32_t count) {
    last_ = chars.PlaceAt(at + count - 1);
    if (!trimmer_.on()) return;
    for (uint32_t i = 0; i < count; ++i) {
      const bool space = IsTrimmed(chars.c[at + i]);
      only_spaces_ = only_spaces_ && space;
      spaces_.leading += only_spaces_;
      spaces_.trailing = space ? spaces_.trailing + 1 : 0;
    }
  }

  void Push(TokenSink& sink, uint32_t id) {
    trimmer_.Push(sink, text_, id, begin_, End(), spaces_);
  }
  // Tokens of bytes from that one on, which stand for the whole of it and are not trimmed.
  void Set(TokenSink& sink, uint32_t first) {
    const uint32_t end = End(), tokens_end = std::min(sink.count, sink.capacity);
    for (uint32_t i = first; i < tokens_end; ++i) {
      if (sink.begin != nullptr) sink.begin[i] = begin_;
      if (sink.end != nullptr) sink.end[i] = end;
    }
  }
  SpecialPlace PlaceOf(uint32_t id) { return {id, begin_, End()}; }

  void PushAdded(TokenSink& sink, const HfPlacedCharacters::Added& added) {
    const SpecialPlace place = PlaceOf(added);
    if (!trimmer_.on()) return sink.Push(place.id, place.begin, place.end);
    const uint32_t end = TrimBack(text_, place.end, added.trailing);
    trimmer_.Emit(sink, text_, place.id, place.begin, end, added.leading,
                  added.leading != 0 ? place.end : end);
  }
  SpecialPlace PlaceOf(const HfPlacedCharacters::Added& added) {
    begin_ = numbered_.on() ? numbered_.Of(added.first).begin : added.first.begin;
    last_ = added.last;
    return PlaceOf(added.token->id);
  }

 private:
  uint32_t End() { return numbered_.on() ? numbered_.Of(last_).end : last_.end; }

  const std::string_view text_;
  const OffsetTrimmer& trimmer_;
  NumberedPlaces numbered_, before_;
  uint32_t begin_ = 0;
  Place last_ = {};
  EndSpaces spaces_;
  bool only_spaces_ = true;
};

// Tokens of the best paths of words. Offsets: what is known of those.
template <class Offsets>
class Tokens {
 public:
  Tokens(const Model& model, SpecialPieces specials, Offsets& offsets, TokenSink& sink)
      : model_(model), specials_(specials), offsets_(offsets), sink_(sink) {}

  void BeginWord() {
    first_ = sink_.count;
    in_unknown_ = false;
    status_ = RANKFEED_OK;
    guarded_ = false;
    if (specials_ == SpecialPieces::kEscaped) offsets_.Remember();
  }
  // The word is searched once more, without special tokens.
  void Again() {
    sink_.count = first_;
    offsets_.GoBack();
    BeginWord();
  }
  void EndWord() { EndUnknown(); }

  // An added token between words.
  template <class Added>
  rankfeed_status PushAdded(const Added& added) {
    offsets_.PushAdded(sink_, added);
    return sink_.count < TokenSink::kMost ? RANKFEED_OK : RANKFEED_E_LIMIT;
  }

  // A piece of the path. False where a special token is one, or the sink is full.
  bool Piece(uint32_t value, const CharacterArrays& chars, uint32_t at, uint32_t count) {
    if (value != trie::kNoValue && specials_ != SpecialPieces::kKept && IsSpecial(value)) {
      guarded_ = true;
      EndUnknown();
      offsets_.Open(chars, at);
      offsets_.Add(chars, at, count);
      refused_ = offsets_.PlaceOf(value);
      // The path behind it does not matter any more, but that of one that was escaped has none.
      return false;
    }
    if (value == trie::kNoValue || value == model_.config->unk_id) {
      if (!in_unknown_) BeginUnknown(chars, at);
      offsets_.Add(chars, at, count);
      for (uint32_t i = 0; i < count; ++i) AddUnknown(chars.c[at + i]);
    } else {
      EndUnknown();
      offsets_.Open(chars, at);
      offsets_.Add(chars, at, count);
      offsets_.Push(sink_, value);
    }
    if (sink_.count < TokenSink::kMost) return true;
    status_ = RANKFEED_E_LIMIT;
    return false;
  }

  bool guarded() const { return guarded_; }
  const SpecialPlace& refused() const { return refused_; }  // which ended the word
  rankfeed_status status() const { return status_; }

 private:
  bool IsSpecial(uint32_t id) const { return (model_.id_flags[id] & image::kIdSpecial) != 0; }

  // Unknown characters in a row are looked up as a whole, else spelled, else one token: they are
  // spelled on the way, and that is taken back.
  void BeginUnknown(const CharacterArrays& chars, uint32_t at) {
    in_unknown_ = found_ = true;
    unit_ = model_.pieces.root();
    spelled_ = model_.has(image::kByteFallback) && !model_.byte_ids.empty();
    begin_ = sink_.count;
    offsets_.Open(chars, at);
  }
  void AddUnknown(char32_t c) {
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
    const uint32_t id = found_ ? trie::Value(unit_) : trie::kNoValue;
    if (id != trie::kNoValue) {
      if (specials_ == SpecialPieces::kRefused && IsSpecial(id) && status_ == RANKFEED_OK) {
        status_ = RANKFEED_E_SPECIAL_IN_TEXT;
        refused_ = offsets_.PlaceOf(id);
      }
      if (specials_ != SpecialPieces::kEscaped || !IsSpecial(id)) {
        sink_.count = begin_;
        return offsets_.Push(sink_, id);
      }
    }
    if (spelled_) return offsets_.Set(sink_, begin_);
    sink_.count = begin_;
    offsets_.Push(sink_, model_.config->unk_id);
  }

  const Model& model_;
  const SpecialPieces specials_;
  Offsets& offsets_;
  TokenSink& sink_;
  uint32_t first_ = 0;  // of the word, in the sink
  bool in_unknown_ = false, found_ = false, spelled_ = false, guarded_ = false;
  trie::Unit unit_ = 0;
  uint32_t begin_ = 0;  // of the unknown characters, in the sink
  SpecialPlace refused_ = {};
  rankfeed_status status_ = RANKFEED_OK;
};

template <class Search, class Tokens>
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

// Whether a special token is among the added ones of normalized text: before any other error.
template <bool kPlaces, class Offsets>
bool FindRefused(HfChain<kPlaces> stream, Offsets offsets, SpecialPlace* refused) {
  while (stream.NextAdded()) {
    offsets.SetStage(stream);
    const auto& added = stream.added();
    if ((added.token->flags & image::kSpecial) == 0) continue;
    *refused = offsets.PlaceOf(added);
    return true;
  }
  return false;
}

template <bool kPlaces>
rankfeed_status Encode(const Model& model, const LongScratch& scratch, const LongStretch& stretch,
                       TokenSink& sink, CarriedScore* score, SpecialPlace* refused) {
  PlainCharacters plain(model);
  KnownForms known(model);
  const HfChain<kPlaces> stream(model, &plain, &known, stretch.text, stretch.begin, stretch.end,
                                stretch.skip_special);
  using OffsetsOf = std::conditional_t<kPlaces, Offsets, NoOffsets>;
  OffsetsOf offsets(stretch, stream);
  if (stretch.specials == SpecialPieces::kRefused && !model.added_normalized.empty() &&
      HasNormalizedAdded(model, image::kSpecial) && FindRefused(stream, offsets, refused)) {
    return RANKFEED_E_SPECIAL_IN_TEXT;
  }
  using TokensOf = Tokens<OffsetsOf>;
  TokensOf tokens(model, stretch.specials, offsets, sink);
  LongSearch<HuggingFaceArithmetic, HfChain<kPlaces>, TokensOf> search(model, scratch, stream,
                                                                       tokens);
  double start = score->before;
  while (search.More()) {
    offsets.SetStage(search.stream());
    if (HfChain<kPlaces>::IsAdded(search.next())) {
      search.Skip();
      start = score->after = 0;
      if (const rankfeed_status status = tokens.PushAdded(search.stream().added())) return status;
      continue;
    }
    const rankfeed_status status = EncodeWord(model, search, tokens, start, stretch.specials);
    if (status == RANKFEED_E_SPECIAL_IN_TEXT) *refused = tokens.refused();
    if (status != RANKFEED_OK) return status;
    score->after = search.score();
  }
  return search.stream().failed() ? RANKFEED_E_LIMIT : RANKFEED_OK;
}

}  // namespace

rankfeed_status EncodeHuggingFaceLong(const Model& model, const LongScratch& scratch,
                                      const LongStretch& stretch, TokenSink& sink,
                                      CarriedScore* score, SpecialPlace* refused) {
  return stretch.trimmer != nullptr && scratch.chars.begin != nullptr
             ? Encode<true>(model, scratch, stretch, sink, score, refused)
             : Encode<false>(model, scratch, stretch, sink, score, refused);
}

}  // namespace rankfeed::general
