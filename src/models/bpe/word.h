// SPDX-License-Identifier: MIT
// models/bpe/word.h: a split to the tokens of a BPE model (tokenizers 0.23.3, models/bpe/model.rs).
//
// A split begins as symbols, of its bytes or of its characters, which merge as models/bpe/merge.h
// says. A character that is no piece becomes its bytes' pieces (byte_fallback), the unknown token, or
// where there is none of that it is left out, and its neighbours merge over the gap. In SentencePiece
// parity unknown ones next to each other are one token always.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "image/model.h"
#include "models/bpe/byte_symbols.h"
#include "models/bpe/merge.h"

namespace rankfeed::bpe {

// The symbols of a split: by place the id and how many bytes of the split it counts for. Where a
// character was left out, what comes after it counts from where that began, as in the reference.
struct Symbols {
  uint32_t* ids;
  uint32_t* sizes;
};

class Words {
 public:
  // raw: splits of a model of characters are given before their spaces become U+2581.
  explicit Words(const Model& model, bool raw = false)
      : model_(model),
        merger_(model.merges),
        bytes_(model),
        byte_level_(model.has(image::kByteLevel)),
        space_(model.codes[raw ? kMetaspace : U' ']) {}

  // The id of a split that is one piece whatever merges make of it (ignore_merges), kNoValue if it
  // is none. specials: whether a special token is one. O(bytes).
  uint32_t Whole(std::string_view split, bool specials) const {
    if (!model_.has(image::kIgnoreMerges)) return trie::kNoValue;
    const uint32_t id = Find(split);
    const bool hidden = id != trie::kNoValue && !specials && IsSpecial(id);
    return hidden ? trie::kNoValue : id;
  }

  // Makes the symbols that a split begins as, which out has an element for each byte of; sizes may be null. prefixed:
  // of a model of characters, a U+2581 of no bytes stands before the split, and out has one element more. Returns how
  // many there are. *missing: as of Make. O(bytes).
  uint32_t Begin(std::string_view split, bool prefixed, const Symbols& out, bool* missing) const {
    return byte_level_ ? bytes_.Make(split, out.ids, out.sizes) : Characters(split, prefixed, out, missing);
  }
  const Merger& merger() const { return merger_; }

  static constexpr uint32_t kTooMany = ~0u;
  static constexpr char32_t kMetaspace = 0x2581;

  // Makes the tokens of a split, which is valid UTF-8: ids and sizes of *out have an element for each
  // byte of it, work has Merger::kWorkPerSymbol for each of `room` symbols. Returns how many tokens
  // there are, or kTooMany for more symbols than that. *missing is set where an unknown token is needed
  // and the vocabulary has none by its name. prefixed: as of Begin. O(n log n).
  uint32_t Make(std::string_view split, const Symbols& out, uint64_t* work, bool* missing,
                uint32_t room = kTooMany, bool prefixed = false) const {
    const uint32_t count = Begin(split, prefixed, out, missing);
    return count > room ? kTooMany : merger_.Merge(out.ids, out.sizes, count, work);
  }

  // Calls f(id, bytes) for each symbol that a text begins as, those of unknown characters left out.
  template <class F>
  void EachSymbol(std::string_view text, const F& f) const {
    const bool bytes = model_.has(image::kByteLevel);
    for (size_t at = 0; at < text.size();) {
      const uint32_t size = bytes ? 1 : utf8::Decode(text, at).size;
      const uint32_t id = bytes ? model_.byte_ids[static_cast<uint8_t>(text[at])]
                                : Find({text.data() + at, size});
      if (id != trie::kNoValue) f(id, size);
      at += size;
    }
  }

  // The piece of a text by that name, of a byte-level model that of raw bytes; kNoValue without one.
  uint32_t Find(std::string_view text) const;

 private:
  bool IsSpecial(uint32_t id) const { return (model_.id_flags[id] & image::kIdSpecial) != 0; }
  uint32_t Characters(std::string_view split, bool prefixed, const Symbols& out, bool* missing) const;

  const Model& model_;
  const Merger merger_;
  const ByteSymbols bytes_;
  const bool byte_level_;
  const uint32_t space_;  // the code that a U+0020 has
};

}  // namespace rankfeed::bpe
