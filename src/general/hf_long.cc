// SPDX-License-Identifier: MIT
// general/hf_long.cc: see hf_long.h. Which tokens a path makes stands in hf_encode.cc.
#include "general/hf_long.h"

#include "base/utf8.h"

namespace rankfeed::general {
namespace {

// Tokens of the best paths of words, without offsets.
class Tokens {
 public:
  Tokens(const Model& model, SpecialPieces specials, TokenSink& sink)
      : model_(model), specials_(specials), sink_(sink) {}

  void BeginWord() {
    first_ = sink_.count;
    in_unknown_ = false;
    status_ = RANKFEED_OK;
    guarded_ = false;
  }
  // The word is searched once more, without special tokens.
  void Again() {
    sink_.count = first_;
    BeginWord();
  }
  void EndWord() { EndUnknown(); }

  // A piece of the path. False where a special token is one, or the sink is full.
  bool Piece(uint32_t value, const CharacterArrays& chars, uint32_t at, uint32_t count) {
    if (value != trie::kNoValue && specials_ != SpecialPieces::kKept && IsSpecial(value)) {
      guarded_ = true;
      id_ = value;
      // The path behind it does not matter any more, but that of one that was escaped has none.
      return false;
    }
    if (value == trie::kNoValue || value == model_.config->unk_id) {
      for (uint32_t i = 0; i < count; ++i) AddUnknown(chars.c[at + i]);
    } else {
      EndUnknown();
      sink_.Push(value, 0, 0);
    }
    if (sink_.count < TokenSink::kMost) return true;
    status_ = RANKFEED_E_LIMIT;
    return false;
  }

  bool guarded() const { return guarded_; }
  uint32_t id() const { return id_; }  // of the special token that ended the word
  rankfeed_status status() const { return status_; }

 private:
  bool IsSpecial(uint32_t id) const { return (model_.id_flags[id] & image::kIdSpecial) != 0; }

  // Unknown characters in a row are looked up as a whole, else spelled, else one token: they are
  // spelled on the way, and that is taken back.
  void AddUnknown(char32_t c) {
    if (!in_unknown_) {
      in_unknown_ = found_ = true;
      unit_ = model_.pieces.root();
      spelled_ = model_.has(image::kByteFallback) && !model_.byte_ids.empty();
      begin_ = sink_.count;
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
    const uint32_t id = found_ ? trie::Value(unit_) : trie::kNoValue;
    if (id != trie::kNoValue) {
      if (specials_ == SpecialPieces::kRefused && IsSpecial(id) && status_ == RANKFEED_OK) {
        status_ = RANKFEED_E_SPECIAL_IN_TEXT;
        id_ = id;
      }
      if (specials_ != SpecialPieces::kEscaped || !IsSpecial(id)) {
        sink_.count = begin_;
        return sink_.Push(id, 0, 0);
      }
    }
    if (spelled_) return;
    sink_.count = begin_;
    sink_.Push(model_.config->unk_id, 0, 0);
  }

  const Model& model_;
  const SpecialPieces specials_;
  TokenSink& sink_;
  uint32_t first_ = 0;  // of the word, in the sink
  bool in_unknown_ = false, found_ = false, spelled_ = false, guarded_ = false;
  trie::Unit unit_ = 0;
  uint32_t begin_ = 0;  // of the unknown characters, in the sink
  uint32_t id_ = 0;
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
                                      std::string_view text, uint32_t begin, uint32_t end,
                                      SpecialPieces specials, TokenSink& sink, CarriedScore* score,
                                      uint32_t* refused) {
  Tokens tokens(model, specials, sink);
  PlainCharacters plain(model);
  KnownForms known;
  Search search(model, scratch, HfCharacters(model, &plain, &known, text, begin, end), tokens);
  while (search.More()) {
    const rankfeed_status status = EncodeWord(model, search, tokens, score->before, specials);
    if (status == RANKFEED_E_SPECIAL_IN_TEXT) *refused = tokens.id();
    if (status != RANKFEED_OK) return status;
    score->after = search.score();
  }
  return search.stream().failed() ? RANKFEED_E_LIMIT : RANKFEED_OK;
}

}  // namespace rankfeed::general
