// SPDX-License-Identifier: MIT
// models/unigram/best_path.h: the references' own search, a forward dynamic program in their
// arithmetic. Exactness lives here: the fast road is tested against it, and asks it where a margin
// does not settle a segment.
//
// From every reachable position the trie yields, shortest first, all pieces that begin there. A
// position is reachable from the left by construction: when no piece covers exactly the first
// character, an unknown edge does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "image/model.h"
#include "models/unigram/arithmetic.h"

namespace rankfeed::unigram {

// Arrays of at least size + 1 entries, indexed by place: a byte of a text, or a code of several.
struct ScoreLattice {
  double* best;
  uint32_t* link;
  uint32_t* value;

  // more: elements of best that another use of it needs, 0 for none.
  void Carve(Layout& layout, size_t size, size_t more = 0) {
    best = layout.Take<double>(std::max(size + 1, more));
    link = layout.Take<uint32_t>(size + 1);
    value = layout.Take<uint32_t>(size + 1);
  }
};

// After a search the best path reads forward: a piece begins at b = 0 and ends at link[b], the next
// begins there, up to size. value[end] is the piece's value (index into Model::scores), or
// trie::kNoValue for one unknown character. best[size] is the score.

// While a search runs, the arrays are indexed by character, whatever its bytes, so that the loops
// know one step only. link[at] has the code of the character `at` in its high half, so that every
// character is decoded once, and in the low half how many the best piece to there has, 0 as long as
// there is none.
inline constexpr uint32_t kLinkBits = 16, kLinkMask = (1u << kLinkBits) - 1;

// Characters of a text that is searched: valid UTF-8.
struct TextChars {
  const CodePointTable<uint16_t>& codes;
  std::string_view text;

  uint32_t size() const { return Size32(text); }
  // Writes the codes into the high halves; returns how many characters there are.
  uint32_t PutCodes(uint32_t* link) const {
    uint32_t count = 0;
    for (size_t at = 0; at < text.size(); ++count) {
      uint32_t bytes;
      link[count] = uint32_t{codes[utf8::DecodeValid(text.data() + at, &bytes)]} << kLinkBits;
      at += bytes;
    }
    return count;
  }
  // The place of the character at - chars, if that of `at` is given.
  uint32_t Back(uint32_t place, uint32_t at, uint32_t chars) const {
    if (place == at) return place - chars;  // ASCII up to there
    for (; chars != 0; --chars) {
      while (utf8::IsContinuation(text[--place])) {
      }
    }
    return place;
  }
};

// The same as character codes: from code_count on they stand for characters that are in no piece.
struct CodeChars {
  std::span<const uint16_t> codes;
  uint32_t code_count;

  uint32_t size() const { return Size32(codes); }
  uint32_t PutCodes(uint32_t* link) const {
    for (const uint16_t code : codes) {
      *link++ = code < code_count ? uint32_t{code} << kLinkBits : 0;
    }
    return size();
  }
  uint32_t Back(uint32_t place, uint32_t, uint32_t chars) const { return place - chars; }
};

// One search, from the score `start`. kSpecials: whether pieces that are special tokens count.
// Cost: O(size * max_piece_chars).
template <class Arithmetic, bool kSpecials>
class PathFinder {
 public:
  // count: characters, whose codes are in lattice.link.
  PathFinder(const Model& model, const ScoreLattice& lattice, uint32_t count)
      : model_(model),
        pieces_(model.pieces),
        scores_(model.scores.data()),
        best_(lattice.best),
        link_(lattice.link),
        value_(lattice.value),
        count_(count),
        // The depth bound keeps a crafted cyclic trie linear too; real tries end by themselves.
        // kLinkMask holds also in an image that is written to while it is mapped.
        max_chars_(std::min(model.config->max_piece_chars, kLinkMask)) {}

  void Run(double start) {
    link_[count_] = 0;  // no piece goes on with it
    best_[0] = start;
    // Copies: for all the compiler knows what is stored in the arrays is what members point to.
    const trie::View pieces = pieces_;
    const trie::Unit root = pieces.root();
    const double unk_score = model_.config->unk_score;
    double* const best = best_;
    const uint32_t* const link = link_;
    const uint32_t count = count_, max_chars = max_chars_;
    for (uint32_t begin = 0; begin < count;) {
      if constexpr (Arithmetic::kRebases) {
        if (std::abs(best[begin]) > kRebaseBeyond) [[unlikely]]
          RebaseAt(begin);
      }
      uint32_t code = link[begin] >> kLinkBits;
      const double score = best[begin];
      trie::Unit unit = root;
      uint32_t at = begin++;
      bool single = false;
      if (code != 0 && pieces.Step(unit, code)) {
        const uint32_t limit = at + std::min(count - at, max_chars);
        single = RelaxPiece(at, at + 1, trie::Value(unit), score);
        for (uint32_t end = at + 1; end < limit;) {
          code = link[end] >> kLinkBits;
          if (!pieces.Step(unit, code)) break;
          RelaxPiece(at, ++end, trie::Value(unit), score);
        }
      }
      if (!single) Relax(at, begin, Arithmetic::Unknown(unk_score, score), trie::kNoValue);
    }
  }

  // Returns whether tokenizers fails without an unknown id: as soon as the unknown edge is the best way to any
  // place, whether or not the best path goes there. That edge is the last candidate tried for its
  // end, so it was the best at some time exactly if it is the best in the end. Before links are
  // turned.
  bool NeedsUnknown() const {
    return std::find(value_ + 1, value_ + count_ + 1, trie::kNoValue) != value_ + count_ + 1;
  }

  // Turns the back links into forward links between places, in place: from the end on, as no place
  // lies before its character's number.
  template <class Chars>
  void TurnLinks(const Chars& chars) {
    uint32_t end = count_, place = chars.size(), after = ~uint32_t{0};
    best_[place] = best_[end];
    while (end > 0) {
      const uint32_t length = link_[end] & kLinkMask;
      value_[place] = value_[end];
      link_[place] = after;
      after = place;
      place = chars.Back(place, end, length);
      end -= length;
    }
    link_[0] = after;
  }

 private:
  // All places up to the frontier that are reached are within a piece of `begin`.
  [[gnu::noinline]] void RebaseAt(uint32_t begin) {
    const uint32_t end = begin + std::min(count_ - begin, max_chars_);
    Rebase(best_, begin, end, [this](uint32_t i) { return (link_[i] & kLinkMask) != 0; });
  }

  void Relax(uint32_t begin, uint32_t end, double sum, uint32_t value) {
    // Strictly greater: on a tie the candidate found first, with the earlier begin, stays.
    const uint32_t link = link_[end];
    if ((link & kLinkMask) == 0 || sum > best_[end]) {
      best_[end] = Arithmetic::Store(sum);
      link_[end] = (link & ~kLinkMask) | (end - begin);
      value_[end] = value;
    }
  }

  // Whether there is such a piece.
  bool RelaxPiece(uint32_t begin, uint32_t end, uint32_t value, double best) {
    if (value == trie::kNoValue) return false;
    if constexpr (!kSpecials) {
      if ((model_.id_flags[value] & image::kIdSpecial) != 0) return false;
    }
    Relax(begin, end, Arithmetic::Piece(scores_[value], best), value);
    return true;
  }

  const Model& model_;
  const trie::View pieces_;
  const double* const scores_;
  double* const best_;
  uint32_t* const link_;
  uint32_t* const value_;
  const uint32_t count_, max_chars_;
};

// Whether the search needed an unknown id where the model has none; it has a path all the same.
template <class Arithmetic, bool kSpecials = true, class Chars>
bool FindBestPath(const Model& model, const Chars& chars, double start,
                  const ScoreLattice& lattice) {
  PathFinder<Arithmetic, kSpecials> finder(model, lattice, chars.PutCodes(lattice.link));
  finder.Run(start);
  const bool needs_unknown = model.config->unk_id == image::kNoId && finder.NeedsUnknown();
  finder.TurnLinks(chars);
  return needs_unknown;
}

}  // namespace rankfeed::unigram
