// SPDX-License-Identifier: MIT
// general/best_path.cc: forward dynamic program over byte positions, see viterbi.h.
//
// From every reachable character boundary the trie yields, shortest first, all pieces that begin
// there. A position is reachable from the left by construction: when no piece covers exactly the
// first character, an unknown edge does.
#include "general/best_path.h"

#include <algorithm>
#include <type_traits>

#include "base/utf8.h"
#include "general/arithmetic.h"

namespace rankfeed::general {
namespace {

constexpr uint32_t kUnset = 0xffffffffu;

// Pieces spelled like special tokens are passed over.
struct WithoutSpecials : HuggingFaceArithmetic {};

template <class Arithmetic>
void BestPath(const Model& model, std::string_view text, const Lattice& lattice) {
  const auto n = static_cast<uint32_t>(text.size());
  const trie::View trie = model.pieces;
  const uint32_t max_chars = model.config->max_piece_chars;
  const double unk_score = model.config->unk_score;

  for (uint32_t i = 0; i <= n; ++i) lattice.link[i] = kUnset;
  lattice.best[0] = 0;
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

  for (uint32_t begin = 0; begin < n;) {
    if constexpr (Arithmetic::kRebases) {
      Rebase(lattice.best, lattice.link, kUnset, begin, frontier);
    }
    const double best = lattice.best[begin];
    const uint32_t next =
        begin + utf8::SizeFromLead(static_cast<unsigned char>(text[begin]));
    bool single = false;  // some piece is exactly the first character
    trie::Unit unit = trie.root();
    uint32_t end = begin;
    // The depth bound keeps a crafted cyclic trie linear too; real tries end by themselves.
    for (uint32_t depth = 0; end < n && depth < max_chars; ++depth) {
      uint32_t size;
      const char32_t c = utf8::DecodeValid(text.data() + end, &size);
      if (!trie.Step(unit, model.codes[c])) break;
      end += size;
      const uint32_t value = trie::Value(unit);
      if (value == trie::kNoValue) continue;
      if constexpr (std::is_same_v<Arithmetic, WithoutSpecials>) {
        if ((model.id_flags[model.value_ids[value]] & image::kIdSpecial) != 0) continue;
      }
      relax(begin, end, Arithmetic::Piece(model.scores[value], best), value);
      single |= end == next;
    }
    if (!single) relax(begin, next, Arithmetic::Unknown(unk_score, best), trie::kNoValue);
    begin = next;
  }

  // Turn the back links into forward links, in place.
  uint32_t end = n, after = kUnset;
  while (end > 0) {
    const uint32_t begin = lattice.link[end];
    lattice.link[end] = after;
    after = end;
    end = begin;
  }
  lattice.link[0] = after;
}

}  // namespace

void BestPathHuggingFace(const Model& model, std::string_view text, const Lattice& lattice) {
  BestPath<HuggingFaceArithmetic>(model, text, lattice);
}

void BestPathWithoutSpecials(const Model& model, std::string_view text, const Lattice& lattice) {
  BestPath<WithoutSpecials>(model, text, lattice);
}

void BestPathSentencePiece(const Model& model, std::string_view text, const Lattice& lattice) {
  if (model.sentencepiece_0_2_1()) {
    BestPath<SentencePiece021Arithmetic>(model, text, lattice);
  } else {
    BestPath<SentencePieceArithmetic>(model, text, lattice);
  }
}

}  // namespace rankfeed::general
