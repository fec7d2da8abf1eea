// SPDX-License-Identifier: MIT
// builder/word_automaton.cc: see word_automaton.h.
#include "builder/word_automaton.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rankfeed::builder {
namespace {

class Build {
 public:
  Build(const Model& model, std::span<const uint32_t> parent)
      : model_(model), units_(model.pieces.units()), parent_(parent) {}

  Automaton Run() {
    double greatest = -model_.config->unk_score;
    for (const double score : model_.scores) greatest = std::max(greatest, -score);
    out_.cost_unit = std::exp2(std::ceil(std::log2(greatest / image::kMaxCost)));
    PlaceStates();
    SortByDepth();
    for (const uint32_t state : order_) {
      if (depth_[state] > 1) suffix_[state] = Suffix(state);
    }
    FindFails();
    out_.edges.push_back(image::kNoEdge);
    list_.assign(out_.states.size(), 0);
    // Longest first, so that the lists of suffixes are found in those of their extensions.
    for (size_t i = order_.size(); i-- > 0;) SetEdges(order_[i]);
    return std::move(out_);
  }

 private:
  uint64_t Cost(double score) const {
    return static_cast<uint64_t>(std::llround(-score / out_.cost_unit));
  }

  // The state of a trie unit: its own place, but the root's children lie together behind.
  uint32_t StateOf(uint32_t unit) const {
    return parent_[unit] == 0 ? out_.root_base + trie::Label(units_[unit]) : unit;
  }

  void PlaceStates() {
    const uint32_t codes = model_.config->code_count;
    const auto size = static_cast<uint32_t>(units_.size());
    out_.root_base = size;
    out_.states.assign(size + codes + 1,
                       {{image::kNoEdge, image::kNoEdge}, out_.root_base, out_.root_base, 0,
                        trie::kEmptyLabel, 0});
    own_.assign(out_.states.size(), 0);
    base_.assign(out_.states.size(), 0);
    suffix_.assign(out_.states.size(), 0);
    depth_.assign(out_.states.size(), 0);
    base_[0] = out_.root_base;
    for (uint32_t code = 1; code <= codes; ++code) {
      image::WordState& state = out_.states[size + code];
      state.label = static_cast<uint16_t>(code);
      depth_[size + code] = 1;
      own_[size + code] = image::MakeEdge(Cost(model_.config->unk_score), 1, image::kEdgeUnknown);
    }
    for (uint32_t unit = 1; unit < size; ++unit) {
      const trie::Unit u = units_[unit];
      if (trie::Label(u) == trie::kEmptyLabel) continue;
      uint32_t depth = 1;
      for (uint32_t p = parent_[unit]; p != 0; p = parent_[p]) ++depth;
      const uint32_t at = StateOf(unit);
      base_[at] = trie::Base(u);
      out_.states[at].label = static_cast<uint16_t>(trie::Label(u));
      depth_[at] = static_cast<uint8_t>(depth);
      if (trie::Value(u) != trie::kNoValue) {
        const uint32_t id = model_.value_ids[trie::Value(u)];
        own_[at] = image::MakeEdge(Cost(model_.scores[trie::Value(u)]), depth,
                                   id == model_.config->unk_id ? image::kEdgeLiteral : id);
      }
    }
  }

  void SortByDepth() {
    std::array<uint32_t, image::kMaxWordPieceChars + 2> first{};
    for (const uint8_t depth : depth_) ++first[depth + 1u];
    for (size_t depth = 2; depth < first.size(); ++depth) first[depth] += first[depth - 1];
    const uint32_t unused = first[1];  // and the root
    order_.resize(out_.states.size() - unused);
    for (uint32_t state = 0; state < out_.states.size(); ++state) {
      const uint32_t depth = depth_[state];
      if (depth != 0) order_[first[depth]++ - unused] = state;
    }
  }

  // The longest proper suffix that is a state. Those of shallower states are known.
  uint32_t Suffix(uint32_t state) const {
    const uint32_t code = out_.states[state].label;
    for (uint32_t at = suffix_[StateOf(parent_[state])];; at = suffix_[at]) {
      const uint32_t next = base_[at] + code;
      if (base_[at] != 0 && out_.states[next].label == code) return next;
    }
  }

  // A state without children goes on as its suffix does.
  void FindFails() {
    std::vector<uint32_t> owner(out_.states.size(), 0);  // the state itself or a suffix, with a base
    out_.fails.assign(out_.states.size(), out_.root_base);
    for (const uint32_t state : order_) {
      const uint32_t suffix = owner[suffix_[state]];
      owner[state] = base_[state] != 0 ? state : suffix;
      if (base_[state] != 0) {
        out_.fails[base_[state]] = base_[suffix] | uint32_t{depth_[suffix]} << 24;
      }
      out_.states[state].base = base_[owner[state]];
      out_.states[state].fail = out_.fails[out_.states[state].base] & image::kFailMask;
    }
  }

  // The longest suffix of state, itself included, that is a piece; 0 at the end.
  uint32_t Piece(uint32_t state) const {
    while (state != 0 && own_[state] == 0) state = suffix_[state];
    return state;
  }

  void SetEdges(uint32_t state) {
    image::WordState& out = out_.states[state];
    uint32_t piece = Piece(state);
    for (; piece != 0 && out.edge_count < 2; piece = Piece(suffix_[piece])) {
      out.edge[out.edge_count++] = own_[piece];
    }
    if (piece == 0) return;
    if (list_[piece] == 0) List(piece);
    out.more = list_[piece];
    for (; piece != 0; piece = Piece(suffix_[piece])) ++out.edge_count;
  }

  // Lays out the edges of a piece and its suffixes.
  void List(uint32_t piece) {
    for (; piece != 0; piece = Piece(suffix_[piece])) {
      if (list_[piece] == 0) list_[piece] = static_cast<uint32_t>(out_.edges.size());
      out_.edges.push_back(own_[piece]);
    }
  }

  const Model& model_;
  const std::span<const trie::Unit> units_;
  const std::span<const uint32_t> parent_;
  Automaton out_;
  std::vector<uint64_t> own_;    // by state: the edge of the piece that it spells, or 0
  std::vector<uint32_t> list_;   // by state that is a piece: its edge and those of its suffixes, or 0
  std::vector<uint32_t> base_;   // of its children, 0 without any
  std::vector<uint32_t> suffix_;
  std::vector<uint8_t> depth_;   // characters; 0 in the root and in unused states
  std::vector<uint32_t> order_;  // states by depth
};

}  // namespace

Automaton BuildAutomaton(const Model& model, std::span<const uint32_t> parent) {
  const size_t states = model.pieces.units().size() + model.config->code_count + 1;
  if (model.config->id_count >= image::kEdgeLiteral || states > image::kFailMask) return {};
  return Build(model, parent).Run();
}

}  // namespace rankfeed::builder
