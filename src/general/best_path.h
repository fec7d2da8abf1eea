// SPDX-License-Identifier: MIT
// general/best_path.h: the references' own search, a forward dynamic program in their arithmetic.
// Exactness lives here: the fast road is tested against it, and asks it where a margin does not
// settle a segment.
//
// From every reachable position the trie yields, shortest first, all pieces that begin there. A
// position is reachable from the left by construction: when no piece covers exactly the first
// character, an unknown edge does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "base/utf8.h"
#include "general/arithmetic.h"
#include "image/model.h"

namespace rankfeed::general {

// Arrays of at least size + 1 entries, indexed by position: a byte of a text, or a code of several.
struct Lattice {
  double* best;
  uint32_t* link;
  uint32_t* value;

  void Carve(Layout& layout, size_t size) {
    best = layout.Take<double>(size + 1);
    link = layout.Take<uint32_t>(size + 1);
    value = layout.Take<uint32_t>(size + 1);
  }
};

// After a search the best path reads forward: a piece begins at b = 0 and ends at link[b], the next
// begins there, up to size. value[end] is the piece's value (index into Model::scores), or
// trie::kNoValue for one unknown character.

// What is searched: valid UTF-8.
class TextChars {
 public:
  TextChars(const Model& model, std::string_view text) : codes_(model.codes), text_(text) {}

  uint32_t size() const { return static_cast<uint32_t>(text_.size()); }
  uint32_t Next(uint32_t at) const {
    return at + utf8::SizeFromLead(static_cast<unsigned char>(text_[at]));
  }
  // Steps over the character at *at, which is moved on if the trie has it there.
  bool Step(const trie::View& trie, trie::Unit& unit, uint32_t* at) const {
    uint32_t size;
    const char32_t c = utf8::DecodeValid(text_.data() + *at, &size);
    if (!trie.Step(unit, codes_[c])) return false;
    *at += size;
    return true;
  }

 private:
  const CodePointTable<uint16_t>& codes_;
  const std::string_view text_;
};

// The same as character codes; Config::code_count stands for a character that is in no piece.
class CodeChars {
 public:
  CodeChars(const Model& model, const uint16_t* codes, uint32_t size)
      : codes_(codes), size_(size), code_count_(model.config->code_count) {}

  uint32_t size() const { return size_; }
  uint32_t Next(uint32_t at) const { return at + 1; }
  bool Step(const trie::View& trie, trie::Unit& unit, uint32_t* at) const {
    const uint32_t code = codes_[*at];
    if (code >= code_count_ || !trie.Step(unit, code)) return false;
    ++*at;
    return true;
  }

 private:
  const uint16_t* const codes_;
  const uint32_t size_, code_count_;
};

// Searches from the score `start`. kSpecials: whether pieces that are special tokens count. Cost:
// O(size * max_piece_chars).
template <class Arithmetic, bool kSpecials = true, class Chars>
void FindBestPath(const Model& model, const Chars& chars, double start, const Lattice& lattice) {
  constexpr uint32_t kUnset = 0xffffffffu;
  const uint32_t size = chars.size();
  const trie::View trie = model.pieces;
  const uint32_t max_chars = model.config->max_piece_chars;
  const double unk_score = model.config->unk_score;

  for (uint32_t i = 0; i <= size; ++i) lattice.link[i] = kUnset;
  lattice.best[0] = start;
  uint32_t frontier = 0;
  const auto relax = [&](uint32_t begin, uint32_t end, double sum, uint32_t value) {
    if constexpr (Arithmetic::kRebases) frontier = std::max(frontier, end);
    // Strictly greater: on a tie the candidate found first, with the earlier begin, stays.
    if (lattice.link[end] == kUnset || sum > lattice.best[end]) {
      lattice.best[end] = Arithmetic::Store(sum);
      lattice.link[end] = begin;
      lattice.value[end] = value;
    }
  };

  for (uint32_t begin = 0; begin < size;) {
    if constexpr (Arithmetic::kRebases) {
      Rebase(lattice.best, lattice.link, kUnset, begin, frontier);
    }
    const double best = lattice.best[begin];
    const uint32_t next = chars.Next(begin);
    bool single = false;  // some piece is exactly the first character
    trie::Unit unit = trie.root();
    // The depth bound keeps a crafted cyclic trie linear too; real tries end by themselves.
    for (uint32_t end = begin, depth = 0; end < size && depth < max_chars; ++depth) {
      if (!chars.Step(trie, unit, &end)) break;
      const uint32_t value = trie::Value(unit);
      if (value == trie::kNoValue) continue;
      if constexpr (!kSpecials) {
        if ((model.id_flags[model.value_ids[value]] & image::kIdSpecial) != 0) continue;
      }
      relax(begin, end, Arithmetic::Piece(model.scores[value], best), value);
      single |= end == next;
    }
    if (!single) relax(begin, next, Arithmetic::Unknown(unk_score, best), trie::kNoValue);
    begin = next;
  }

  // Turn the back links into forward links, in place.
  uint32_t end = size, after = kUnset;
  while (end > 0) {
    const uint32_t begin = lattice.link[end];
    lattice.link[end] = after;
    after = end;
    end = begin;
  }
  lattice.link[0] = after;
}

// HuggingFace tokenizers 0.23.2, models/unigram/model.rs encode_optimized: float64 sums, a candidate
// replaces only if strictly greater, so the earlier start wins a tie.
void BestPathHuggingFace(const Model& model, std::string_view text, const Lattice& lattice);

// The same without the pieces that are special tokens.
void BestPathWithoutSpecials(const Model& model, std::string_view text, const Lattice& lattice);

// SentencePiece, unigram_model.cc EncodeOptimized, by the arithmetic of the releases that the model
// is compiled for (general/arithmetic.h).
void BestPathSentencePiece(const Model& model, std::string_view text, const Lattice& lattice);

}  // namespace rankfeed::general
