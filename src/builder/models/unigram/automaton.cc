// SPDX-License-Identifier: MIT
// builder/models/unigram/automaton.cc: see automaton.h.
#include "builder/models/unigram/automaton.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/narrow.h"
#include "builder/fast/eligibility.h"
#include "builder/models/unigram/pruning.h"
#include "image/search_start.h"

namespace rankfeed::builder {
namespace {

class Build {
 public:
  Build(const Model& model, std::span<const uint32_t> parent)
      : model_(model), units_(model.pieces.units()), up_(parent.begin(), parent.end()) {}

  Automaton Run() {
    lift_ = 2 * GreatestScore(model_);
    double greatest = lift_ - model_.config->unk_score;
    for (const double score : model_.scores) {
      greatest = std::max(greatest, lift_ * model_.config->max_piece_chars - score);
    }
    out_.cost_unit = std::exp2(std::ceil(std::log2(greatest / image::kMaxCost)));
    PlaceStates();
    SortByDepth();
    for (const uint32_t state : order_) {
      if (depth_[state] > 1) suffix_[state] = Suffix(state);
    }
    FindFails();
    SetEdges();
    SetStarts();
    return std::move(out_);
  }

 private:
  // Scores above 0 are lifted below it, by as much for each character: that is the same for all
  // paths over a span. By twice as much as it takes, so that a cost is no less than its score's
  // magnitude, which bounds are made of (models/unigram/exactness.h).
  uint64_t Cost(double score, uint32_t chars) const {
    return static_cast<uint64_t>(std::llround((lift_ * chars - score) / out_.cost_unit));
  }

  // The units of the trie, and the characters that begin no piece.
  void PlaceStates() {
    const uint32_t codes = model_.config->code_count;
    out_.units.assign(units_.begin(), units_.end());
    out_.root_base = trie::Base(units_[0]);
    out_.units.push_back(trie::MakeUnit(trie::kEmptyLabel, 0, trie::kNoValue));
    out_.states.assign(out_.units.size(), {image::kNoEdge, 0, 0});
    up_.push_back(0);
    own_.assign(out_.states.size(), 0);
    suffix_.assign(out_.states.size(), 0);
    depth_.assign(out_.states.size(), 0);
    for (uint32_t code = 1; code <= codes; ++code) {
      trie::Unit& unit = out_.units[out_.root_base + code];
      if (trie::Label(unit) == trie::kEmptyLabel) unit = trie::MakeUnit(code, 0, trie::kNoValue);
      own_[out_.root_base + code] =
          image::MakeEdge(Cost(model_.config->unk_score, 1), 1, image::kEdgeUnknown);
    }
    for (uint32_t state = 1; state < out_.units.size(); ++state) {
      const trie::Unit unit = out_.units[state];
      if (trie::Label(unit) == trie::kEmptyLabel) continue;
      uint32_t depth = 1;
      for (uint32_t p = up_[state]; p != 0; p = up_[p]) ++depth;
      depth_[state] = static_cast<uint8_t>(depth);
      const uint32_t id = trie::Value(unit);
      if (id == trie::kNoValue) continue;
      own_[state] = image::MakeEdge(Cost(model_.scores[id], depth), depth,
                                    id == model_.config->unk_id ? image::kEdgeLiteral : id);
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
      const uint32_t base = trie::Base(out_.units[at]);
      if (base != 0 && trie::Label(out_.units[base + code]) == code) return base + code;
    }
  }

  // A state without children goes on as its suffix does.
  void FindFails() {
    // The state itself or its longest suffix that is no leaf.
    std::vector<uint32_t> owner(out_.states.size(), 0);
    out_.fails.assign(out_.states.size(), image::MakeFail(0, out_.root_base));
    for (const uint32_t state : order_) {
      const uint32_t suffix = owner[suffix_[state]];
      const uint32_t fail = trie::Base(out_.units[suffix]);
      trie::Unit& unit = out_.units[state];
      owner[state] = trie::Base(unit) != 0 ? state : suffix;
      if (owner[state] == state) {
        out_.fails[trie::Base(unit)] = image::MakeFail(depth_[state], fail);
      } else {
        unit = trie::LeafUnit(trie::Label(unit), fail, trie::Value(unit));
      }
    }
  }

  void SetEdges() {
    Pruner pruner({order_, depth_, up_, suffix_, own_},
                        std::max(1, static_cast<int32_t>(image::kPrunedLead / out_.cost_unit)));
    out_.edges.assign(2, image::kNoEdge);
    std::array<uint32_t, image::kMaxSegmentPieceChars> pieces;
    std::array<uint64_t, image::kMaxSegmentPieceChars> edges;
    // The longest lists come first, as those of shorter states are often ends of them.
    for (size_t i = order_.size(); i-- > 0;) {
      const uint32_t at = order_[i];
      const uint32_t count = pruner.Keep(at, &pieces);
      for (uint32_t k = 0; k < count; ++k) edges[k] = own_[pieces[k]];
      out_.states[at] = {edges[0], ListOf(std::span(edges).subspan(1, count - 1)), count};
    }
  }

  // Returns the place of the edges in out_.edges, after them kNoEdge.
  uint32_t ListOf(std::span<const uint64_t> list) {
    if (list.empty()) return 0;
    std::array<uint64_t, image::kMaxSegmentPieceChars> hash;  // of the edges from each on
    uint64_t is = 0;
    for (size_t k = list.size(); k-- > 0;) {
      is = (is + list[k]) * 0x9e3779b97f4a7c15u;
      hash[k] = is ^= is >> 32;
    }
    const auto size = Size32(out_.edges);
    const uint32_t known = lists_.try_emplace(is, size).first->second;
    const auto begin = out_.edges.begin() + known;
    // Lists of one hash that differ are not shared.
    if (size - known > list.size() &&
        begin[static_cast<ptrdiff_t>(list.size())] == image::kNoEdge &&
        std::equal(list.begin(), list.end(), begin)) {
      return known;
    }
    for (uint32_t k = 1; k < list.size(); ++k) lists_.try_emplace(hash[k], size + k);
    out_.edges.insert(out_.edges.end(), list.begin(), list.end());
    out_.edges.push_back(image::kNoEdge);
    return size;
  }

  void SetStarts() {
    const uint32_t codes = model_.config->code_count, metaspace = model_.codes[WordStart(model_)];
    const image::Automaton automaton{out_.units, out_.fails, out_.states, out_.edges,
                                     out_.root_base};
    out_.starts.resize(image::SearchStartCount(codes));
    image::ForEachSearchStart(
        automaton, codes, metaspace,
        [&](uint32_t i, const image::SearchStart& start) { out_.starts[i] = start; });
  }

  const Model& model_;
  const std::span<const trie::Unit> units_;
  double lift_ = 0;  // of scores, for each character
  Automaton out_;
  std::vector<uint64_t> own_;  // by state: the edge of the piece that it spells, or 0
  std::vector<uint32_t> suffix_;
  std::vector<uint32_t> up_;                      // the state without the last character
  std::vector<uint8_t> depth_;                    // characters; 0 in the root and in unused states
  std::vector<uint32_t> order_;                   // states by depth
  std::unordered_map<uint64_t, uint32_t> lists_;  // by hash, in out_.edges
};

}  // namespace

bool AutomatonHasRoom(const Model& model) {
  constexpr size_t kUnits = 1 << 19, kUnitsOfPiece = 3;
  const size_t most = kUnits + kUnitsOfPiece * model.config->piece_count;
  return model.config->id_count < image::kEdgeLiteral &&
         model.pieces.units().size() < std::min<size_t>(most, trie::kMaxUnits);
}

Automaton BuildAutomaton(const Model& model, std::span<const uint32_t> parent) {
  return Build(model, parent).Run();
}

}  // namespace rankfeed::builder
