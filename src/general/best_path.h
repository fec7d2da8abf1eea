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
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "base/utf8.h"
#include "general/arithmetic.h"
#include "general/repeated_pieces.h"
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

// The same, all of it ASCII.
struct AsciiChars : TextChars {
  uint32_t Next(uint32_t at) const { return at + 1; }
  void PutCodes(uint32_t* link) const {
    const uint16_t* const of = codes.data + (size_t{codes.blocks[0]} << 8);
    for (const char c : text) *link++ = uint32_t{of[static_cast<uint8_t>(c)]} << kLinkBits;
    *link = 0;
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

// One search, from the score `start`. kSpecials: whether pieces that are special tokens count.
// Cost: O(size * max_piece_chars).
template <class Arithmetic, bool kSpecials, class Chars>
class PathFinder {
 public:
  PathFinder(const Model& model, const Chars& chars, const Lattice& lattice)
      : model_(model),
        chars_(chars),
        lattice_(lattice),
        link_(lattice.link),
        size_(chars.size()),
        // The depth bound keeps a crafted cyclic trie linear too; real tries end by themselves.
        max_chars_(std::min(model.config->max_piece_chars, kMaxLinkChars)) {}

  void Run(double start) {
    chars_.PutCodes(link_);
    lattice_.best[0] = start;
    for (uint32_t begin = 0; begin < size_;) {
      if constexpr (Arithmetic::kRebases) {
        Rebase(lattice_.best, begin, frontier_,
               [this](uint32_t i) { return (link_[i] & kLinkMask) != 0; });
      }
      const uint32_t next = chars_.Next(begin);
      if (next < size_ && Code(next) == Code(begin) && begin >= looked_at_) [[unlikely]] {
        const uint32_t done = RunRepeats(begin, next - begin);
        if (done != begin) {
          begin = done;
          continue;
        }
      }
      if (!Push(begin, begin, 0, model_.pieces.root())) {
        const double best = lattice_.best[begin];
        Relax(begin, next, Arithmetic::Unknown(model_.config->unk_score, best), trie::kNoValue);
      }
      begin = next;
    }
    TurnLinks();
  }

 private:
  uint32_t Code(uint32_t at) const { return link_[at] >> kLinkBits; }

  void Relax(uint32_t begin, uint32_t end, double sum, uint32_t value) {
    if constexpr (Arithmetic::kRebases) frontier_ = std::max(frontier_, end);
    // Strictly greater: on a tie the candidate found first, with the earlier begin, stays.
    if ((link_[end] & kLinkMask) == 0 || sum > lattice_.best[end]) {
      lattice_.best[end] = Arithmetic::Store(sum);
      link_[end] = (link_[end] & ~kLinkMask) | (end - begin);
      lattice_.value[end] = value;
    }
  }

  // The pieces from `begin` on that end behind `at`, where so many characters have led to `unit`.
  // Whether one of them is exactly the first character.
  bool Push(uint32_t begin, uint32_t at, uint32_t depth, trie::Unit unit) {
    const trie::View trie = model_.pieces;
    const double best = lattice_.best[begin];
    const double* const scores = model_.scores.data();
    const uint32_t size = size_, most = max_chars_;
    bool single = false;
    for (; at < size && depth < most; ++depth) {
      if (!trie.Step(unit, Code(at))) break;
      at = chars_.Next(at);
      const uint32_t value = trie::Value(unit);
      if (value == trie::kNoValue) continue;
      if constexpr (!kSpecials) {
        if ((model_.id_flags[model_.value_ids[value]] & image::kIdSpecial) != 0) continue;
      }
      Relax(begin, at, Arithmetic::Piece(scores[value], best), value);
      single |= depth == 0;
    }
    return single;
  }

  // A run of one character of `bytes` that begins at `begin` (repeated_pieces.h). Returns the place
  // up to which it went, `begin` if nothing was done.
  [[gnu::noinline]] uint32_t RunRepeats(uint32_t begin, uint32_t bytes) {
    uint32_t end = std::max(begin + bytes, run_end_);  // of a run that was left once
    while (end < size_ && Code(end) == Code(begin) && chars_.Next(end) == end + bytes) end += bytes;
    looked_at_ = run_end_ = end;
    RepeatedPieces pieces;
    if ((end - begin) / bytes < RepeatedPieces::kLeastRepeats ||
        !(std::abs(lattice_.best[begin]) < RepeatedPieces::kMaxSum) ||
        !pieces.Find<kSpecials>(model_, Code(begin), max_chars_)) {
      return begin;
    }
    const uint32_t count = (end - begin) / bytes;
    uint32_t at = begin;
    for (uint32_t i = 0; i != count; ++i, at += bytes) {
      if constexpr (Arithmetic::kRebases) {
        if (std::abs(lattice_.best[at]) > kRebaseBeyond) {
          // The scores before it and behind it are on two scales from here on.
          const uint32_t most = std::min(count - i, pieces.longest() - 1);
          for (uint32_t k = 1; k <= most; ++k) {
            Take(pieces, at + k * bytes, bytes, k + 1, std::min(i + k, pieces.longest()));
          }
          looked_at_ = std::min(end, at + 4 * RepeatedPieces::kMaxChars * bytes);
          return at;
        }
      }
      const uint32_t left = count - i;
      if (left < pieces.read()) Push(at, end, left, pieces.after(left));
      Take(pieces, at + bytes, bytes, 1, std::min(i + 1, pieces.longest()));
    }
    return end;
  }

  // Takes the best of the pieces of a run that end at `end` and have [least, most] characters.
  void Take(const RepeatedPieces& pieces, uint32_t end, uint32_t bytes, uint32_t least,
            uint32_t most) {
    double& best = lattice_.best[end];
    if ((link_[end] & kLinkMask) == 0) best = -std::numeric_limits<double>::infinity();
    const uint32_t chars = pieces.Best<Arithmetic>(&best, bytes, least, most);
    if constexpr (Arithmetic::kRebases) frontier_ = std::max(frontier_, end);
    if (chars == 0) return;
    link_[end] = (link_[end] & ~kLinkMask) | chars * bytes;
    lattice_.value[end] = pieces.value(chars);
  }

  // Turns the back links into forward links, in place.
  void TurnLinks() {
    uint32_t end = size_, after = ~uint32_t{0};
    while (end > 0) {
      const uint32_t begin = end - (link_[end] & kLinkMask);
      link_[end] = after;
      after = end;
      end = begin;
    }
    link_[0] = after;
  }

  const Model& model_;
  const Chars chars_;
  const Lattice lattice_;
  uint32_t* const link_;
  const uint32_t size_, max_chars_;
  uint32_t frontier_ = 0;   // the furthest place that some candidate has ended at
  uint32_t looked_at_ = 0;  // runs that begin before it have been looked at
  uint32_t run_end_ = 0;    // of the last one
};

template <class Arithmetic, bool kSpecials = true, class Chars>
void FindBestPath(const Model& model, const Chars& chars, double start, const Lattice& lattice) {
  PathFinder<Arithmetic, kSpecials, Chars>(model, chars, lattice).Run(start);
}

// Of a text that comes in parts, whose best path passes between them: the score up to a part, and
// behind it. A whole text begins at 0.
struct CarriedScore {
  double before = 0, after = 0;
};

// The searches of the references, from the score `start`.

// HuggingFace tokenizers 0.23.2, models/unigram/model.rs encode_optimized: float64 sums, a
// candidate replaces only if strictly greater, so the earlier start wins a tie.
void BestPathHuggingFace(const Model& model, std::string_view text, double start,
                         const Lattice& lattice);

// The same without the pieces that are special tokens.
void BestPathWithoutSpecials(const Model& model, std::string_view text, double start,
                             const Lattice& lattice);

// SentencePiece, unigram_model.cc EncodeOptimized, by the arithmetic of the releases that the model
// is compiled for (general/arithmetic.h).
void BestPathSentencePiece(const Model& model, std::string_view text, double start,
                           const Lattice& lattice);

}  // namespace rankfeed::general
