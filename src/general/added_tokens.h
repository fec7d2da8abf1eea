// SPDX-License-Identifier: MIT
// general/added_tokens.h: finds the added tokens of a text (tokenizers 0.23.2,
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
#include "base/utf8.h"
#include "image/model.h"
#include "unicode/properties.h"

namespace rankfeed::general {

struct AddedMatch {
  uint32_t begin, end;  // bytes
  const image::AddedToken* token;
};

// Forward scanner over one text, which may hold bad UTF-8: that matches as U+FFFD. O(text bytes *
// longest token) at worst, O(text bytes) when tokens share no long prefixes with the text.
class AddedTokenScanner {
 public:
  // skip_special: special tokens are text (HuggingFace encode_special_tokens).
  AddedTokenScanner(const Model& model, trie::View trie, std::string_view text, bool skip_special)
      : model_(model), trie_(trie), text_(text), skip_special_(skip_special) {}

  bool Next(AddedMatch* match) {
    if (trie_.empty()) return false;
    while (pos_ < text_.size()) {
      const image::AddedToken* token = nullptr;
      const uint32_t end = Longest(&token);
      if (token == nullptr) {
        Advance(pos_ + utf8::Decode(text_, pos_).size);
        continue;
      }
      const bool accepted = !(skip_special_ && Has(*token, image::kSpecial)) &&
                            !(Has(*token, image::kSingleWord) && (after_word_ || IsWordAt(end)));
      uint32_t begin = pos_, stop = end;
      if (Has(*token, image::kLstrip)) begin = std::max(after_space_ ? space_ : pos_, done_);
      if (Has(*token, image::kRstrip)) stop = SkipSpace(end);
      Advance(end);
      // A white-space token wholly inside the previous rstrip; the reference panics on it.
      if (!accepted || begin >= stop) continue;
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
    for (uint32_t at = pos_; at < text_.size();) {
      const utf8::Decoded d = utf8::Decode(text_, at);
      const std::string_view bytes =
          d.valid ? std::string_view(text_.data() + at, d.size) : "\xef\xbf\xbd";
      for (const char byte : bytes) {
        if (left == 0 || !trie_.Step(unit, static_cast<unsigned char>(byte) + 1u)) return end;
        --left;
      }
      at += d.size;
      const uint32_t value = trie::Value(unit);
      if (value != trie::kNoValue) {
        *token = &model_.added_tokens[value];
        end = at;
      }
    }
    return end;
  }

  // Moves over characters, remembering what is before the new place.
  void Advance(uint32_t to) {
    while (pos_ < to) {
      const utf8::Decoded d = utf8::Decode(text_, pos_);
      const bool space = unicode::IsWhiteSpace(d.code_point);
      if (space && !after_space_) space_ = pos_;
      after_space_ = space;
      after_word_ = unicode::HasProp(model_, d.code_point, image::kWord);
      pos_ += d.size;
    }
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
  const std::string_view text_;
  const bool skip_special_;
  uint32_t pos_ = 0;
  uint32_t done_ = 0;   // end of the last accepted match, widened
  uint32_t space_ = 0;  // begin of the white space before pos_, if after_space_
  bool after_space_ = false, after_word_ = false;
};

// Whether a text may hold an added token that is matched on raw text, at a fraction of the cost of
// a scanner, which must know the characters around each place.
class AddedTokenFilter {
 public:
  // Once, before any other call.
  void Prepare(const Model& model) {
    model_ = &model;
    for (const image::AddedToken& token : model.added_tokens) {
      if ((token.flags & image::kNormalized) != 0) continue;
      const std::string_view content = model.text(token.content);
      const auto first = static_cast<uint8_t>(content[0]);
      has_first_bytes_ &= first < 0x80;
      if (first >= 0x80) continue;
      first_bytes_.Add(first);
      // Language codes ("en_XX") begin as words do: what is rarer in texts says as much.
      const auto rare = std::find_if(content.begin(), content.end(), IsRare);
      stop_bytes_.Add(rare == content.end() ? first : static_cast<uint8_t>(*rare));
    }
  }

  // Whether those tokens all hold one of stop_bytes(); otherwise any text may hold one.
  bool has_stop_bytes() const { return has_first_bytes_; }
  const ByteSet& stop_bytes() const { return stop_bytes_; }

  // False only if none occurs. O(text bytes * longest token) at worst.
  bool MayOccurIn(std::string_view text) const {
    if (!has_first_bytes_) return true;
    if (model_->added_raw.empty()) return false;
    for (size_t at = 0; at < text.size(); ++at) {
      if (!first_bytes_.Has(static_cast<uint8_t>(text[at]))) continue;
      trie::Unit unit = model_->added_raw.root();
      const size_t deepest = at + std::min<size_t>(text.size() - at, model_->max_added_bytes);
      for (size_t end = at; end < deepest; ++end) {
        const auto byte = static_cast<unsigned char>(text[end]);
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
    const auto byte = static_cast<unsigned char>(c);
    const int lower = byte | 0x20;
    const bool word = (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9');
    return byte > ' ' && byte < 0x7f && !word &&
           std::string_view(",.-'\"():;").find(c) == std::string_view::npos;
  }

  const Model* model_ = nullptr;
  ByteSet first_bytes_ = {}, stop_bytes_ = {};
  bool has_first_bytes_ = true;
};

// How a call treats the added tokens of its texts.
struct AddedTokens {
  const Model* model;
  const AddedTokenFilter* filter;
  bool skip_special;    // special tokens are text
  bool refuse_special;  // one in a text is an error

  AddedTokenScanner Find(std::string_view text) const {
    return {*model, model->added_raw, text, skip_special};
  }
};

}  // namespace rankfeed::general
