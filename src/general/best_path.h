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
#include <cstring>
#include <span>
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

// While a search runs, link[at] has the code of the character that begins at `at` in its high half,
// so that every character is decoded once, and in the low half how far back the best piece to there
// begins, 0 as long as there is none.
inline constexpr uint32_t kLinkBits = 16, kLinkMask = (1u << kLinkBits) - 1;
// Characters of a piece that reaches less far back; verified images have shorter ones.
inline constexpr uint32_t kMaxLinkChars = kLinkMask / 4;

// What is searched: valid UTF-8.
struct TextChars {
  const CodePointTable<uint16_t>& codes;
  std::string_view text;

  uint32_t size() const { return static_cast<uint32_t>(text.size()); }
  uint32_t Next(uint32_t at) const {
    return at + utf8::SizeFromLead(static_cast<unsigned char>(text[at]));
  }
  void PutCodes(uint32_t* link) const {
    std::memset(link, 0, (text.size() + 1) * sizeof(*link));
    for (size_t at = 0; at < text.size();) {
      uint32_t bytes;
      link[at] = uint32_t{codes[utf8::DecodeValid(text.data() + at, &bytes)]} << kLinkBits;
      at += bytes;
    }
  }
};

// The same as character codes; from code_count on they stand for characters that are in no piece.
struct CodeChars {
  std::span<const uint16_t> codes;
  uint32_t code_count;

  uint32_t size() const { return static_cast<uint32_t>(codes.size()); }
  uint32_t Next(uint32_t at) const { return at + 1; }
  void PutCodes(uint32_t* link) const {
    for (const uint16_t code : codes) {
      *link++ = code < code_count ? uint32_t{code} << kLinkBits : 0;
    }
    *link = 0;
  }
};

// Searches from the score `start`. kSpecials: whether pieces that are special tokens count. Cost:
// O(size * max_piece_chars).
template <class Arithmetic, bool kSpecials = true, class Chars>
void FindBestPath(const Model& model, const Chars& chars, double start, const Lattice& lattice) {
  const uint32_t size = chars.size();
  const trie::View trie = model.pieces;
  // The depth bound keeps a crafted cyclic trie linear too; real tries end by themselves.
  const uint32_t max_chars = std::min(model.config->max_piece_chars, kMaxLinkChars);
  const double unk_score = model.config->unk_score;
  uint32_t* const link = lattice.link;

  chars.PutCodes(link);
  lattice.best[0] = start;
  uint32_t frontier = 0;
  const auto relax = [&](uint32_t begin, uint32_t end, double sum, uint32_t value) {
    if constexpr (Arithmetic::kRebases) frontier = std::max(frontier, end);
    // Strictly greater: on a tie the candidate found first, with the earlier begin, stays.
    if ((link[end] & kLinkMask) == 0 || sum > lattice.best[end]) {
      lattice.best[end] = Arithmetic::Store(sum);
      link[end] = (link[end] & ~kLinkMask) | (end - begin);
      lattice.value[end] = value;
    }
  };

  for (uint32_t begin = 0; begin < size;) {
    if constexpr (Arithmetic::kRebases) {
      Rebase(lattice.best, begin, frontier,
             [link](uint32_t i) { return (link[i] & kLinkMask) != 0; });
    }
    const double best = lattice.best[begin];
    const uint32_t next = chars.Next(begin);
    bool single = false;  // some piece is exactly the first character
    trie::Unit unit = trie.root();
    for (uint32_t end = begin, depth = 0; end < size && depth < max_chars; ++depth) {
      if (!trie.Step(unit, link[end] >> kLinkBits)) break;
      end = chars.Next(end);
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
  uint32_t end = size, after = ~uint32_t{0};
  while (end > 0) {
    const uint32_t begin = end - (link[end] & kLinkMask);
    link[end] = after;
    after = end;
    end = begin;
  }
  link[0] = after;
}

// HuggingFace tokenizers 0.23.2, models/unigram/model.rs encode_optimized: float64 sums, a
// candidate replaces only if strictly greater, so the earlier start wins a tie.
void BestPathHuggingFace(const Model& model, std::string_view text, const Lattice& lattice);

// The same without the pieces that are special tokens.
void BestPathWithoutSpecials(const Model& model, std::string_view text, const Lattice& lattice);

// SentencePiece, unigram_model.cc EncodeOptimized, by the arithmetic of the releases that the model
// is compiled for (general/arithmetic.h).
void BestPathSentencePiece(const Model& model, std::string_view text, const Lattice& lattice);

}  // namespace rankfeed::general
