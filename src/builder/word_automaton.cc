// SPDX-License-Identifier: MIT
// builder/word_automaton.cc: see word_automaton.h.
#include "builder/word_automaton.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rankfeed::builder {
namespace {

constexpr uint32_t kNoEdges = 0xffffffffu;
constexpr uint32_t kEdgesPerLine = 8;

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
    // Longest first, so that the lists of suffixes are found in those of their extensions.
    for (size_t i = order_.size(); i-- > 0;) ListEdges(order_[i]);
    out_.edges.resize(out_.edges.size() + image::kMaxWordPieceChars, 0);
    for (image::WordState& state : out_.states) {
      if (state.edges == kNoEdges) state.edges = 0;  // unused ones and the root
    }
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
                       {out_.root_base, out_.root_base, kNoEdges, trie::kEmptyLabel, 0});
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

  void ListEdges(uint32_t state) {
    if (out_.states[state].edges != kNoEdges) return;
    uint32_t count = 0;
    for (uint32_t s = state; s != 0; s = suffix_[s]) count += own_[s] != 0;
    // A list does not cross a cache line that it fits into.
    const auto in_line = static_cast<uint32_t>(out_.edges.size()) % kEdgesPerLine;
    if (in_line + count > kEdgesPerLine && count <= kEdgesPerLine) {
      out_.edges.resize(out_.edges.size() + kEdgesPerLine - in_line, 0);
    }
    for (uint32_t s = state; s != 0; s = suffix_[s]) {
      if (out_.states[s].edges == kNoEdges) {
        out_.states[s].edges = static_cast<uint32_t>(out_.edges.size());
        out_.states[s].edge_count = static_cast<uint8_t>(count);
      }
      if (own_[s] == 0) continue;
      out_.edges.push_back(own_[s]);
      --count;
    }
  }

  const Model& model_;
  const std::span<const trie::Unit> units_;
  const std::span<const uint32_t> parent_;
  Automaton out_;
  std::vector<uint64_t> own_;    // by state: the edge of the piece that it spells, or 0
  std::vector<uint32_t> base_;   // of its children, 0 without any
  std::vector<uint32_t> suffix_;
  std::vector<uint8_t> depth_;   // characters; 0 in the root and in unused states
  std::vector<uint32_t> order_;  // states by depth
};

}  // namespace

Automaton BuildAutomaton(const Model& model, std::span<const uint32_t> parent) {
  if (model.config->id_count >= image::kEdgeLiteral) return {};
  return Build(model, parent).Run();
}

}  // namespace rankfeed::builder
