// SPDX-License-Identifier: MIT
// stretch/added_tokens.h: finds the added tokens of a text (tokenizers 0.23.2,
// tokenizer/added_vocabulary.rs find_matches).
//
// Leftmost, then longest match, without overlap. A match that single_word rejects is skipped as a
// whole: a shorter token at the same place is not tried. lstrip and rstrip widen a match over white
// space, lstrip no further than the end of the previous token; the search itself goes on from the
// unwidened end, so a token that begins with white space can still be found inside the widening.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "image/model.h"
#include "unicode/properties.h"

namespace rankfeed {

// A trie of added tokens with the bytes that its keys begin with.
class AddedTokenTrie {
 public:
  // Once, before any other call; what the trie lies in must stay.
  void Prepare(trie::View trie) {
    trie_ = trie;
    for (uint32_t byte = 0; byte < 256 && !trie.empty(); ++byte) {
      trie::Unit unit = trie.root();
      if (!trie.Step(unit, byte + 1)) continue;
      first_[byte] = true;
      only_ = count_++ == 0 ? static_cast<char>(byte) : char{0};
    }
  }
  trie::View view() const { return trie_; }
  bool MayBeginWith(uint8_t byte) const { return first_[byte]; }
  // The first place from `at` on where a key may begin, text.size() if there is none.
  size_t FindBegin(std::string_view text, size_t at) const {
    const size_t size = text.size();
    if (count_ == 0) return size;
    if (count_ == 1) return std::min(text.find(only_, at), size);
    const char* const bytes = text.data();
    const auto begins = [&](size_t i) { return first_[Byte(bytes[i])]; };
    for (constexpr size_t kStep = 8; size - at >= kStep; at += kStep) {
      bool any = false;
#pragma GCC unroll 8
      for (size_t i = 0; i < kStep; ++i) any |= begins(at + i);
      if (any) break;
    }
    while (at < size && !begins(at)) ++at;
    return at;
  }

 private:
  trie::View trie_;
  bool first_[256] = {};  // by byte: whether keys begin with it
  uint32_t count_ = 0;    // of such bytes
  char only_ = 0;         // of one
};

struct AddedMatch {
  uint32_t begin, end;  // bytes
  const image::AddedToken* token;
};

// Forward scanner over one text, which may hold bad UTF-8: that matches as U+FFFD. O(text bytes *
// longest token) at worst, O(text bytes) when tokens share no long prefixes with the text.
class AddedTokenScanner {
 public:
  // skip_special: special tokens are text (HuggingFace encode_special_tokens).
  AddedTokenScanner(const Model& model, const AddedTokenTrie& tokens, std::string_view text,
                    bool skip_special)
      : model_(model),
        trie_(tokens.view()),
        tokens_(tokens),
        text_(text),
        skip_special_(skip_special) {}

  bool Next(AddedMatch* match) {
    if (trie_.empty()) return false;
    while (SkipToBegin()) {
      const image::AddedToken* token = nullptr;
      const uint32_t at = pos_, end = Longest(&token);
      if (token == nullptr) {
        pos_ += replacement_begins_ ? utf8::Decode(text_, pos_).size : 1;
        continue;
      }
      pos_ = end;
      if (skip_special_ && Has(*token, image::kSpecial)) continue;
      if (Has(*token, image::kSingleWord) && (IsWordBefore(at) || IsWordAt(end))) continue;
      const uint32_t begin = Has(*token, image::kLstrip) ? SkipSpaceBack(at) : at;
      const uint32_t stop = Has(*token, image::kRstrip) ? SkipSpace(end) : end;
      // A white-space token wholly inside the previous rstrip; the reference panics on it.
      if (begin >= stop) continue;
      done_ = stop;
      *match = {begin, stop, token};
      return true;
    }
    return false;
  }

 private:
  static bool Has(const image::AddedToken& token, image::AddedFlags flag) {
    return (token.flags & flag) != 0;
  }

  // The longest token at pos_. As deep as the longest token, also where a crafted trie leads in
  // circles.
  uint32_t Longest(const image::AddedToken** token) const {
    trie::Unit unit = trie_.root();
    uint32_t end = pos_, left = model_.max_added_bytes;
    // A unit without a base has no further byte.
    for (uint32_t at = pos_; at < text_.size() && trie::Base(unit) != 0;) {
      const auto byte = Byte(text_[at]);
      if (byte < 0x80) {
        if (!Step(byte, &unit, &left)) break;
        ++at;
      } else {
        at = StepCharacter(at, &unit, &left);
        if (at == kNone) break;
      }
      const uint32_t value = trie::Value(unit);
      if (value != trie::kNoValue) {
        *token = &model_.added_tokens[value];
        end = at;
      }
    }
    return end;
  }

  bool Step(unsigned char byte, trie::Unit* unit, uint32_t* left) const {
    if (*left == 0 || !trie_.Step(*unit, byte + 1u)) return false;
    --*left;
    return true;
  }
  // The same with a character that is not ASCII, or is none; returns where it ends, or kNone.
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t StepCharacter(uint32_t at, trie::Unit* unit, uint32_t* left) const {
    const trie::Unit before = *unit;
    const uint32_t left_before = *left;
    // Keys hold characters, so the same bytes of the text are one too.
    const uint32_t size = utf8::SizeFromLead(Byte(text_[at]));
    for (uint32_t i = 0; at + i < text_.size();) {
      if (!Step(Byte(text_[at + i]), unit, left)) break;
      if (++i == size) return at + size;
    }
    *unit = before;
    *left = left_before;
    for (const unsigned char byte : {0xef, 0xbf, 0xbd}) {
      if (!Step(byte, unit, left)) return kNone;
    }
    const utf8::Decoded c = utf8::Decode(text_, at);
    return c.valid ? kNone : at + c.size;
  }

  // Moves to the next place that a token may begin at. Bytes that continue a character are first in
  // no token, so they need not be told from others.
  bool SkipToBegin() {
    if (!replacement_begins_) {
      pos_ = static_cast<uint32_t>(tokens_.FindBegin(text_, pos_));
      return pos_ < text_.size();
    }
    while (pos_ < text_.size() && !tokens_.MayBeginWith(Byte(text_[pos_]))) {
      // Bytes that are no character are read as U+FFFD.
      const utf8::Decoded d = utf8::Decode(text_, pos_);
      if (!d.valid) return true;
      pos_ += d.size;
    }
    return pos_ < text_.size();
  }

  bool IsWordBefore(uint32_t pos) const {
    return pos != 0 && IsWordAt(static_cast<uint32_t>(utf8::Previous(text_, pos)));
  }

  // Returns where the white space before a token begins, no further than the end of the token before it.
  uint32_t SkipSpaceBack(uint32_t pos) const {
    if (pos < done_) return done_;
    while (pos > done_) {
      const size_t begin = utf8::Previous(text_, pos);
      if (!unicode::IsWhiteSpace(utf8::Decode(text_, begin).code_point)) break;
      pos = static_cast<uint32_t>(begin);
    }
    return std::max(pos, done_);
  }

  bool IsWordAt(uint32_t pos) const {
    return pos < text_.size() &&
           unicode::HasProp(model_, utf8::Decode(text_, pos).code_point, image::kWord);
  }

  uint32_t SkipSpace(uint32_t pos) const {
    while (pos < text_.size()) {
      const utf8::Decoded d = utf8::Decode(text_, pos);
      if (!unicode::IsWhiteSpace(d.code_point)) break;
      pos += d.size;
    }
    return pos;
  }

  const Model& model_;
  const trie::View trie_;
  const AddedTokenTrie& tokens_;
  const std::string_view text_;
  const bool skip_special_;
  uint32_t pos_ = 0;
  uint32_t done_ = 0;  // end of the last accepted match, widened
  // Whether some token begins with the first byte of U+FFFD.
  const bool replacement_begins_ = tokens_.MayBeginWith(0xef);
};

// Whether a text may hold an added token that is matched on raw text, at a fraction of the cost of
// a scanner, which must know the characters around each place.
class AddedTokenFilter {
 public:
  // Once, before any other call.
  void Prepare(const Model& model) {
    model_ = &model;
    raw_.Prepare(model.added_raw);
    normalized_.Prepare(model.added_normalized);
    for (const image::AddedToken& token : model.added_tokens) {
      if ((token.flags & image::kNormalized) != 0) continue;
      const std::string_view content = model.text(token.content);
      const auto first = Byte(content[0]);
      has_first_bytes_ &= first < 0x80;
      if (first >= 0x80) continue;
      // Language codes ("en_XX") begin as words do: what is rarer in texts says as much.
      const auto rare = std::find_if(content.begin(), content.end(), IsRare);
      stop_bytes_.Add(rare == content.end() ? first : Byte(*rare));
    }
  }

  const AddedTokenTrie& raw() const { return raw_; }
  const AddedTokenTrie& normalized() const { return normalized_; }

  // Whether those tokens all hold one of stop_bytes(); otherwise any text may hold one.
  bool has_stop_bytes() const { return has_first_bytes_; }
  const ByteSet& stop_bytes() const { return stop_bytes_; }

  // Whether one may begin with that byte, also as a part of what is read as U+FFFD.
  bool MayBeginWith(uint8_t byte) const {
    return raw_.MayBeginWith(byte) || (byte >= 0x80 && !has_first_bytes_);
  }

  // False only if none occurs. O(text bytes * longest token) at worst.
  bool MayOccurIn(std::string_view text) const {
    if (!has_first_bytes_) return true;
    if (model_->added_raw.empty()) return false;
    for (size_t at = 0; (at = raw_.FindBegin(text, at)) < text.size(); ++at) {
      trie::Unit unit = model_->added_raw.root();
      const size_t deepest = at + std::min<size_t>(text.size() - at, model_->max_added_bytes);
      for (size_t end = at; end < deepest; ++end) {
        const auto byte = Byte(text[end]);
        if (byte >= 0x80) return true;
        if (!model_->added_raw.Step(unit, byte + 1u)) break;
        if (trie::Value(unit) != trie::kNoValue) return true;
      }
    }
    return false;
  }

 private:
  // ASCII, and neither a letter, a digit, white space nor common punctuation.
  static bool IsRare(char c) {
    const auto byte = Byte(c);
    const int lower = byte | 0x20;
    const bool word = (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9');
    return byte > ' ' && byte < 0x7f && !word &&
           std::string_view(",.-'\"():;").find(c) == std::string_view::npos;
  }

  const Model* model_ = nullptr;
  AddedTokenTrie raw_, normalized_;
  ByteSet stop_bytes_ = {};
  bool has_first_bytes_ = true;
};

// How a call treats the added tokens of its texts.
struct AddedTokens {
  const Model* model;
  const AddedTokenFilter* filter;
  bool skip_special;    // special tokens are text
  bool refuse_special;  // one in a text is an error

  AddedTokenScanner Find(std::string_view text) const {
    return {*model, filter->raw(), text, skip_special};
  }
};

}  // namespace rankfeed
