// SPDX-License-Identifier: MIT
// general/sp_long.cc: see sp_long.h. The order of work is that of normalize/sp_normalize.cc and
// general/sp_encode.cc.
#include "general/sp_long.h"

#include <algorithm>

#include "base/utf8.h"

namespace rankfeed::general {

SpCharacters::SpCharacters(const Model& model, std::string_view text, bool spaced)
    : normalizer_(normalize::SpNormalizerOf(model, spaced)),
      text_(text.data()),
      size_(static_cast<uint32_t>(text.size())),
      space_(normalizer_.escape_whitespaces ? U'\u2581' : U' ') {}

// The next step that becomes anything. False at the end.
bool SpCharacters::NextPrefix() {
  while (consumed_ != size_) {
    const normalize::SpPrefix prefix =
        normalize::NormalizeSpPrefix(normalizer_, {text_ + consumed_, size_ - consumed_});
    std::string_view made = prefix.text;
    if (after_space_) made.remove_prefix(std::min(made.find_first_not_of(' '), made.size()));
    from_ = consumed_;
    consumed_ += prefix.consumed;
    if (made.empty()) continue;
    after_space_ = normalizer_.remove_extra_whitespaces && made.ends_with(' ');
    prefix_ = made.data();
    prefix_size_ = static_cast<uint32_t>(made.size());
    return true;
  }
  return false;
}

uint32_t SpCharacters::Run(const CharacterArrays& out, uint32_t at, uint32_t count) {
  if (!begun_ || stripped_ || prefix_size_ != 0 || !normalizer_.user_defined.empty()) return 0;
  // ASCII characters that are copied, as far as two bytes tell.
  const Charsmap charsmap = normalizer_.charsmap;
  const char* const text = text_;
  const uint32_t most = std::min(count, size_ - consumed_ - (consumed_ != size_ ? 1 : 0));
  uint32_t i = 0;
  for (uint32_t from = consumed_; i < most; ++i, ++from) {
    const auto byte = static_cast<unsigned char>(text[from]);
    if (byte == ' ' || byte >= 0x80 || !charsmap.NoneBeginsWith(text[from], text[from + 1])) break;
    out.c[at + i] = byte;
    out.mark[at + i] = from;
  }
  consumed_ += i;
  if (i != 0) {
    after_space_ = false;
    from_ = consumed_ - 1;
  }
  return i;
}

// The characters before white space is stripped from the end.
bool SpCharacters::Take(Character* c) {
  if (!begun_) {
    begun_ = true;
    const bool squeeze = normalizer_.remove_extra_whitespaces;
    while (squeeze && consumed_ != size_) {
      const normalize::SpPrefix prefix =
          normalize::NormalizeSpPrefix(normalizer_, {text_ + consumed_, size_ - consumed_});
      if (prefix.text != " ") break;
      consumed_ += prefix.consumed;
    }
    suffixed_ = consumed_ == size_;  // nothing is left: not even a U+2581 behind it
    after_space_ = squeeze;
    from_ = consumed_;
    if (!suffixed_ && normalizer_.add_dummy_prefix && !normalizer_.treat_whitespace_as_suffix) {
      PutSpace(c);
      return true;
    }
  }
  if (prefix_size_ == 0 && !NextPrefix()) return false;
  const auto byte = static_cast<unsigned char>(*prefix_);
  const utf8::Decoded d =
      byte < 0x80 ? utf8::Decoded{byte, 1, true} : utf8::Decode({prefix_, prefix_size_}, 0);
  prefix_ += d.size;
  prefix_size_ -= d.size;
  if (d.code_point == ' ') {
    PutSpace(c);
  } else {
    *c = {d.code_point, from_};
  }
  return true;
}

bool SpCharacters::Next(Character* c) {
  if (!stripped_ && Take(c)) {
    if (c->c != space_ || !normalizer_.remove_extra_whitespaces) return true;
    if (inner_ != 0) {
      --inner_;
      return true;
    }
    // Another character of the same prefix follows, no space of either kind (U+2581 is E2 96 81).
    if (prefix_size_ != 0 && *prefix_ != ' ' && *prefix_ != '\xe2') return true;
    SpCharacters ahead = *this;
    Character other;
    uint64_t count = 0;
    bool ends = true;
    while (ends && ahead.Take(&other)) {
      ends = other.c == space_;
      ++count;
    }
    if (!ends) {
      inner_ = count - 1;
      return true;
    }
    consumed_ = c->mark;
  }
  stripped_ = true;
  if (suffixed_ || !normalizer_.add_dummy_prefix || !normalizer_.treat_whitespace_as_suffix) {
    return false;
  }
  suffixed_ = true;
  *c = {space_, consumed_};
  return true;
}

namespace {

// Tokens of the best path, forwards, or backwards where their count is known.
class Tokens {
 public:
  Tokens(const Model& model, TokenSink& sink)
      : model_(model),
        sink_(sink),
        byte_fallback_(model.has(image::kByteFallback) && model.byte_ids.size() == 256) {}

  // The first token will have that number, and each next one the number before it.
  void Backwards(uint32_t number) {
    backwards_ = true;
    number_ = number;
  }

  bool Piece(uint32_t value, const CharacterArrays& chars, uint32_t at, uint32_t) {
    const bool unknown = value == trie::kNoValue;
    // Unknown characters in a row are one token, but where bytes take their place.
    if (unknown && open_ && unknown_ && !byte_fallback_) return true;
    End(chars.mark[at]);
    open_ = true;
    unknown_ = unknown;
    value_ = value;
    from_ = chars.mark[at];
    character_ = chars.c[at];
    return count_ < TokenSink::kMost;
  }
  void End(uint32_t to) {
    if (!open_) return;
    open_ = false;
    if (!unknown_) return Put(value_, from_, to);
    if (!byte_fallback_) return Put(model_.config->unk_id, from_, to);
    char bytes[4];
    const uint32_t size = utf8::Encode(character_, bytes);
    for (uint32_t i = 0; i < size; ++i) {
      Put(model_.byte_ids[static_cast<unsigned char>(bytes[i])], from_, i + 1 == size ? to : from_);
    }
  }

  uint32_t count() const { return count_; }

 private:
  void Put(uint32_t id, uint32_t from, uint32_t to) {
    ++count_;
    if (!backwards_) return sink_.Push(id, from, to);
    sink_.count = --number_;
    sink_.Push(id, from, to);
  }

  const Model& model_;
  TokenSink& sink_;
  const bool byte_fallback_;
  bool backwards_ = false, open_ = false, unknown_ = false;
  uint32_t number_ = 0, count_ = 0;
  uint32_t value_ = 0, from_ = 0;
  char32_t character_ = 0;
};

template <class Arithmetic>
rankfeed_status Run(const Model& model, const LongScratch& scratch, std::string_view text,
                    Tokens& tokens, CarriedScore* score) {
  const bool spaced = score != nullptr && score->spaced;
  LongSearch<Arithmetic, SpCharacters, Tokens> search(model, scratch,
                                                      SpCharacters(model, text, spaced), tokens);
  const double start = score != nullptr ? score->before : 0;
  if (score != nullptr) score->after = start;
  if (!search.More()) return RANKFEED_OK;
  if (!search.Word(start, /*again=*/false)) return RANKFEED_E_LIMIT;
  tokens.End(search.stream().end());
  if (score != nullptr) score->after = search.score();
  return RANKFEED_OK;
}

rankfeed_status Run(const Model& model, const LongScratch& scratch, std::string_view text,
                    Tokens& tokens, CarriedScore* score) {
  return model.sentencepiece_0_2_1()
             ? Run<SentencePiece021Arithmetic>(model, scratch, text, tokens, score)
             : Run<SentencePieceArithmetic>(model, scratch, text, tokens, score);
}

}  // namespace

rankfeed_status EncodeSentencePieceLong(const Model& model, const LongScratch& scratch,
                                        std::string_view text, bool reversed, TokenSink& sink,
                                        CarriedScore* score) {
  if (!reversed) {
    Tokens tokens(model, sink);
    const rankfeed_status status = Run(model, scratch, text, tokens, score);
    return status == RANKFEED_OK && sink.count >= TokenSink::kMost ? RANKFEED_E_LIMIT : status;
  }
  TokenSink nowhere;
  Tokens counted(model, nowhere);
  rankfeed_status status = Run(model, scratch, text, counted, score);
  if (status != RANKFEED_OK) return status;
  if (counted.count() >= TokenSink::kMost - sink.count) return RANKFEED_E_LIMIT;
  const uint32_t end = sink.count + counted.count();
  Tokens tokens(model, sink);
  tokens.Backwards(end);
  status = Run(model, scratch, text, tokens, score);
  sink.count = end;
  return status;
}

}  // namespace rankfeed::general
