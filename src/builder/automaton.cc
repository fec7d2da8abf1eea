// SPDX-License-Identifier: MIT
// builder/automaton.cc: see automaton.h.
#include "builder/automaton.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "builder/eligibility.h"
#include "builder/pruning.h"
#include "image/search_start.h"

namespace rankfeed::builder {
namespace {

class Build {
 public:
  Build(const Model& model, std::span<const uint32_t> parent)
      : model_(model), units_(model.pieces.units()), parent_(parent) {}

  Automaton Run() {
    lift_ = 2 * GreatestScore(model_);
    double greatest = lift_ - model_.config->unk_score;
    for (size_t v = 0; v < model_.scores.size(); ++v) {
      greatest = std::max(greatest, lift_ * model_.config->max_piece_chars - model_.scores[v]);
    }
    out_.cost_unit = std::exp2(std::ceil(std::log2(greatest / image::kMaxCost)));
    PlaceStates();
    SortByDepth();
    for (const uint32_t state : order_) {
      if (depth_[state] > 1) suffix_[state] = Suffix(state);
    }
    FindFails();
    std::vector<uint32_t>().swap(base_);
    SetEdges();
    SetStarts();
    return std::move(out_);
  }

 private:
  // Scores above 0 are lifted below it, by as much for each character: that is the same for all
  // paths over a span. By twice as much as it takes, so that a cost is no less than its score's
  // magnitude, which bounds are made of (segment/exactness.h). Symbols that are looked for may be
  // above that: no text that holds one comes to a search.
  uint64_t Cost(double score, uint32_t chars) const {
    return static_cast<uint64_t>(
        std::llround(std::max(lift_ * chars - score, 0.0) / out_.cost_unit));
  }

  // The state of a trie unit: its own place, but the root's children lie together behind.
  uint32_t StateOf(uint32_t unit) const {
    return parent_[unit] == 0 ? out_.root_base + trie::Label(units_[unit]) : unit;
  }

  void SetLabel(uint32_t state, uint32_t label) {
    out_.units[state] = trie::MakeUnit(label, out_.root_base, out_.root_base);
  }

  void PlaceStates() {
    const uint32_t codes = model_.config->code_count;
    const auto size = static_cast<uint32_t>(units_.size());
    out_.root_base = size;
    out_.units.assign(size + codes + 1,
                      trie::MakeUnit(trie::kEmptyLabel, out_.root_base, out_.root_base));
    out_.states.assign(out_.units.size(), {{image::kNoEdge, image::kNoEdge, image::kNoEdge}, 0, 0});
    own_.assign(out_.states.size(), 0);
    base_.assign(out_.states.size(), 0);
    suffix_.assign(out_.states.size(), 0);
    depth_.assign(out_.states.size(), 0);
    up_.assign(out_.states.size(), 0);
    base_[0] = out_.root_base;
    for (uint32_t code = 1; code <= codes; ++code) {
      SetLabel(size + code, code);
      depth_[size + code] = 1;
      own_[size + code] =
          image::MakeEdge(Cost(model_.config->unk_score, 1), 1, image::kEdgeUnknown);
    }
    for (uint32_t unit = 1; unit < size; ++unit) {
      const trie::Unit u = units_[unit];
      if (trie::Label(u) == trie::kEmptyLabel) continue;
      uint32_t depth = 1;
      for (uint32_t p = parent_[unit]; p != 0; p = parent_[p]) ++depth;
      const uint32_t at = StateOf(unit);
      base_[at] = trie::Base(u);
      SetLabel(at, trie::Label(u));
      depth_[at] = static_cast<uint8_t>(depth);
      if (depth > 1) up_[at] = StateOf(parent_[unit]);
      if (trie::Value(u) != trie::kNoValue) {
        const uint32_t id = model_.value_ids[trie::Value(u)];
        own_[at] = image::MakeEdge(Cost(model_.scores[trie::Value(u)], depth), depth,
                                   id == model_.config->unk_id ? image::kEdgeLiteral : id);
      }
    }
  }

  void SortByDepth() {
    std::array<uint32_t, image::kMaxSegmentPieceChars + 2> first{};
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
    const uint32_t code = trie::Label(out_.units[state]);
    for (uint32_t at = suffix_[up_[state]];; at = suffix_[at]) {
      const uint32_t next = base_[at] + code;
      if (base_[at] != 0 && trie::Label(out_.units[next]) == code) return next;
    }
  }

  // A state without children goes on as its suffix does.
  void FindFails() {
    // The state itself or a suffix, with a base.
    std::vector<uint32_t> owner(out_.states.size(), 0);
    out_.fails.resize(out_.states.size());
    for (uint32_t base = 0; base < out_.fails.size(); ++base) {
      out_.fails[base] = trie::MakeUnit(0, base, out_.root_base);
    }
    for (const uint32_t state : order_) {
      const uint32_t suffix = owner[suffix_[state]];
      owner[state] = base_[state] != 0 ? state : suffix;
      if (base_[state] != 0) {
        out_.fails[base_[state]] = trie::MakeUnit(depth_[state], base_[state], base_[suffix]);
      }
      const uint32_t base = base_[owner[state]];
      out_.units[state] =
          trie::MakeUnit(trie::Label(out_.units[state]), base, trie::Value(out_.fails[base]));
    }
  }

  void SetEdges() {
    const Pruner pruner({order_, depth_, up_, suffix_, own_},
                        std::max(1, static_cast<int32_t>(image::kPrunedLead / out_.cost_unit)));
    out_.edges.push_back(image::kNoEdge);
    std::array<uint32_t, image::kMaxSegmentPieceChars> pieces;
    for (const uint32_t at : order_) {
      image::AutomatonState& state = out_.states[at];
      state.edge_count = pruner.Keep(at, &pieces);
      for (uint32_t k = 0; k < state.edge_count; ++k) {
        if (k < std::size(state.edge)) {
          state.edge[k] = own_[pieces[k]];
          continue;
        }
        if (k == std::size(state.edge)) state.more = static_cast<uint32_t>(out_.edges.size());
        out_.edges.push_back(own_[pieces[k]]);
      }
    }
  }

  void SetStarts() {
    const uint32_t codes = model_.config->code_count, metaspace = model_.codes[WordStart(model_)];
    const image::Automaton automaton{out_.units, out_.fails, out_.states, out_.root_base};
    out_.starts.resize(image::SearchStartCount(codes));
    image::ForEachSearchStart(
        automaton, codes, metaspace,
        [&](uint32_t i, const image::SearchStart& start) { out_.starts[i] = start; });
  }

  const Model& model_;
  const std::span<const trie::Unit> units_;
  const std::span<const uint32_t> parent_;
  double lift_ = 0;  // of scores, for each character
  Automaton out_;
  std::vector<uint64_t> own_;   // by state: the edge of the piece that it spells, or 0
  std::vector<uint32_t> base_;  // of its children, 0 without any
  std::vector<uint32_t> suffix_;
  std::vector<uint32_t> up_;     // the state without the last character
  std::vector<uint8_t> depth_;   // characters; 0 in the root and in unused states
  std::vector<uint32_t> order_;  // states by depth
};

}  // namespace

Automaton BuildAutomaton(const Model& model, std::span<const uint32_t> parent) {
  const size_t states = model.pieces.units().size() + model.config->code_count + 1;
  if (model.config->id_count >= image::kEdgeLiteral || states > trie::kMaxUnits) return {};
  return Build(model, parent).Run();
}

}  // namespace rankfeed::builder
