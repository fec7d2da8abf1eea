// SPDX-License-Identifier: MIT
#include "builder/trie/double_array_build.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/narrow.h"
#include "builder/base/model_spec.h"
#include "builder/base/radix_sort.h"

namespace rankfeed::builder {
namespace {

// Assigning {} would keep the memory.
template <class T>
void Free(std::vector<T>* elements) {
  std::vector<T>().swap(*elements);
}

// The prefix tree in preorder; children of a node are consecutive in child_list.
struct Tree {
  std::vector<uint16_t> label;
  std::vector<uint32_t> value, first_child;  // first_child has one entry more than nodes
  std::vector<uint32_t> parent;              // while it is made
  std::vector<uint64_t> weight;              // of all keys in the subtree, until nodes are in order
  std::vector<uint32_t> child_list;

  size_t size() const { return label.size(); }
  std::span<const uint32_t> Children(uint32_t node) const {
    return {child_list.data() + first_child[node], first_child[node + 1] - first_child[node]};
  }
};

// Nodes of the tree over sorted keys, the root included.
size_t CountNodes(std::span<const TrieKey> keys) {
  size_t nodes = 1;
  std::span<const uint16_t> last;
  for (const TrieKey& key : keys) {
    const auto split = std::mismatch(last.begin(), last.end(), key.codes.begin(), key.codes.end());
    nodes += static_cast<size_t>(key.codes.end() - split.second);
    last = key.codes;
  }
  return nodes;
}

Tree MakeTree(std::span<const TrieKey> keys, uint32_t code_count) {
  Tree tree;
  // A unit holds one node: refused before anything is built over it.
  const size_t nodes = CountNodes(keys);
  if (nodes > trie::kMaxUnits) {
    throw BuildError(RANKFEED_E_LIMIT,
                     "the vocabulary needs ", nodes,
                     " trie units; the limit of trie units is ",
                     trie::kMaxUnits);
  }
  tree.label.reserve(nodes);
  tree.parent.reserve(nodes);
  tree.value.reserve(nodes);
  tree.weight.reserve(nodes);
  const auto add = [&](uint16_t label, uint32_t parent) {
    tree.label.push_back(label);
    tree.parent.push_back(parent);
    tree.value.push_back(trie::kNoValue);
    tree.weight.push_back(0);
  };
  add(trie::kEmptyLabel, 0);
  std::vector<uint32_t> path = {0};  // path[d] is the node of the last key's first d codes
  std::span<const uint16_t> last;
  for (const TrieKey& key : keys) {
    const auto split = std::mismatch(last.begin(), last.end(), key.codes.begin(), key.codes.end());
    const size_t common = static_cast<size_t>(split.first - last.begin());
    const bool in_order =
        common < key.codes.size() && (common == last.size() || last[common] < key.codes[common]);
    if (!in_order || key.value >= trie::kNoValue) {
      throw std::invalid_argument("double array: keys must be distinct, sorted and not empty");
    }
    path.resize(common + 1);
    for (size_t d = common; d < key.codes.size(); ++d) {
      if (key.codes[d] == 0 || key.codes[d] >= code_count) {
        throw std::invalid_argument("double array: code out of range");
      }
      add(key.codes[d], path.back());
      path.push_back(static_cast<uint32_t>(tree.size() - 1));
    }
    tree.value[path.back()] = key.value;
    tree.weight[path.back()] = key.weight;
    last = key.codes;
  }
  // A parent's index is below its children's, so one pass backwards sums subtrees.
  tree.first_child.assign(tree.size() + 1, 0);
  for (size_t i = tree.size(); i-- > 1;) {
    uint64_t& sum = tree.weight[tree.parent[i]];
    if (__builtin_add_overflow(sum, tree.weight[i], &sum)) sum = UINT64_MAX;
    ++tree.first_child[tree.parent[i]];
  }
  // First where a node's children end; filled from after, each comes to where they begin.
  std::partial_sum(tree.first_child.begin(), tree.first_child.end(), tree.first_child.begin());
  tree.child_list.resize(tree.size() - 1);
  for (size_t i = tree.size(); i-- > 1;) {
    tree.child_list[--tree.first_child[tree.parent[i]]] = static_cast<uint32_t>(i);
  }
  Free(&tree.parent);
  return tree;
}

// Free units as a doubly linked list in index order, so that a search visits free units only.
class FreeUnits {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;

  explicit FreeUnits(uint32_t first) : head_(first), tail_(kEnd), first_(first) {}

  uint32_t head() const { return head_; }
  uint32_t next(uint32_t unit) const { return next_[unit]; }
  bool free(uint32_t unit) const { return unit >= next_.size() || used_[unit] == 0; }
  // The first free unit at or after unit, or kEnd. Links of taken units still lead forward, and no
  // unit becomes free again, so following them skips none but units that were added later.
  uint32_t NextFree(uint32_t unit) const {
    while (unit != kEnd && used_[unit] != 0) unit = next_[unit];
    return unit;
  }
  uint32_t size() const { return Size32(next_); }

  // About as many units as there will be: growing by doubling would take three times the memory.
  void ReserveFor(size_t size) {
    size = std::min<size_t>(size, trie::kMaxUnits);
    next_.reserve(size);
    previous_.reserve(size);
    used_.reserve(size);
  }

  void GrowTo(uint32_t size) {
    if (size > trie::kMaxUnits) {
      throw BuildError(RANKFEED_E_LIMIT,
                       "the vocabulary needs more trie units than the limit of ",
                       trie::kMaxUnits);
    }
    for (uint32_t unit = this->size(); unit < size; ++unit) {
      next_.push_back(kEnd);
      previous_.push_back(tail_);
      used_.push_back(unit < first_);
      if (unit < first_) continue;
      if (tail_ != kEnd) next_[tail_] = unit;
      if (tail_ == kEnd) head_ = unit;
      tail_ = unit;
    }
  }

  void Take(uint32_t unit) {
    const uint32_t before = previous_[unit], after = next_[unit];
    if (before == kEnd)
      head_ = after;
    else
      next_[before] = after;
    if (after == kEnd)
      tail_ = before;
    else
      previous_[after] = before;
    used_[unit] = 1;
  }

 private:
  std::vector<uint32_t> next_, previous_;
  std::vector<uint8_t> used_;
  uint32_t head_, tail_, first_;
};

class Builder {
 public:
  Builder(Tree tree, uint32_t code_count, std::span<const uint16_t> groups)
      : tree_(std::move(tree)), code_count_(code_count), groups_(groups), free_(1) {}

  std::vector<trie::Unit> Run() {
    const std::vector<uint32_t> order = Order();
    Free(&tree_.weight);
    const size_t units = tree_.size() + tree_.size() / 4 + 2 * size_t{code_count_};
    free_.ReserveFor(units);
    base_used_.reserve(std::min<size_t>(units, trie::kMaxUnits));
    Reserve(code_count_ + 1);
    StartGroup();
    base_used_[0] = 1;  // the base of leaves: no unit may hold a child of base 0
    std::vector<uint32_t> unit_of(tree_.size(), 0);
    uint32_t max_base = 0;
    uint32_t group = 0;
    for (const uint32_t node : order) {
      if (node == 0) continue;  // its children lie after all others
      if (Group(node) != group) StartGroup();
      group = Group(node);
      const auto children = tree_.Children(node);
      const uint32_t base = FindBase(unit_of[node], children);
      base_used_[base] = 1;
      max_base = std::max(max_base, base);
      for (const uint32_t child : children) {
        unit_of[child] = base + tree_.label[child];
        free_.Take(unit_of[child]);
      }
    }
    const uint32_t root_base = std::max(top_, max_base + 1), size = root_base + code_count_;
    if (size > trie::kMaxUnits) Reserve(size);  // throws
    for (const uint32_t child : tree_.Children(0)) unit_of[child] = root_base + tree_.label[child];
    free_ = FreeUnits(0);
    Free(&base_used_);
    std::vector<trie::Unit> out(size, trie::MakeUnit(trie::kEmptyLabel, 0, trie::kNoValue));
    for (uint32_t node = 0; node < tree_.size(); ++node) {
      const auto children = tree_.Children(node);
      const uint32_t base =
          children.empty() ? 0 : unit_of[children.front()] - tree_.label[children.front()];
      out[unit_of[node]] = trie::MakeUnit(tree_.label[node], base, tree_.value[node]);
    }
    return out;
  }

 private:
  // Searches are first fit from a cursor per width class. After so many refusals the node goes to
  // fresh units at the end: that keeps the build linear and costs a few percent of space. A file
  // may be made so that each search ends there; so all searches together have so many tries at the
  // start and so many more for each node. Published vocabularies use 60 to 100 for a node.
  static constexpr uint32_t kMaxTries = 2048, kTriesAtStart = 1 << 22, kTriesForNode = 128;
  static constexpr size_t kFewChildren = 4;
  static constexpr uint32_t kUnitsPerLine = 64 / sizeof(trie::Unit);

  // The nodes with children: by group, heaviest first; parents of the same group are never lighter
  // than their children and come first among equals.
  std::vector<uint32_t> Order() const {
    const auto inner = [&](uint32_t node) { return !tree_.Children(node).empty(); };
    size_t count = 0;
    for (uint32_t node = 0; node < tree_.size(); ++node) count += inner(node);
    std::vector<uint32_t> order;
    order.reserve(count);
    for (uint32_t node = 0; node < tree_.size(); ++node) {
      if (inner(node)) order.push_back(node);
    }
    RadixSort(&order, [&](uint32_t node) { return ~tree_.weight[node]; });
    RadixSort(&order, [&](uint32_t node) { return uint64_t{Group(node)}; });
    return order;
  }

  void Reserve(uint32_t size) {
    if (size <= free_.size()) return;
    free_.GrowTo(size);
    base_used_.resize(size, 0);
  }

  bool Fits(uint32_t base, std::span<const uint32_t> children) const {
    if (base_used_[base]) return false;
    // The last label first: wide nodes fail soonest on the far side, which is denser in use.
    for (size_t i = children.size(); i-- > 1;) {
      if (!free_.free(base + tree_.label[children[i]])) return false;
    }
    return true;
  }

  uint32_t Group(uint32_t node) const {
    return node == 0 || groups_.empty() ? 0 : groups_[tree_.label[node]];
  }

  // A group begins where the last one thins out.
  void StartGroup() {
    const uint32_t from = std::max(top_, code_count_) - code_count_;
    uint32_t unit = free_.head();
    while (unit < from && free_.next(unit) != FreeUnits::kEnd) unit = free_.next(unit);
    std::fill(std::begin(cursor_), std::end(cursor_), unit);
    hole_ = unit;
  }

  // A unit for the first of few children in the cache line of the parent: who goes on finds it
  // there. Children of the root have no place yet.
  uint32_t NearParent(uint32_t parent, std::span<const uint32_t> children) const {
    const uint32_t first = tree_.label[children.front()];
    if (parent == 0 || children.size() > kFewChildren) return FreeUnits::kEnd;
    for (uint32_t distance = 1; distance < kUnitsPerLine; ++distance) {
      const uint32_t unit = parent ^ distance;
      if (unit > first && unit < free_.size() && free_.free(unit) && Fits(unit - first, children)) {
        return unit;
      }
    }
    return FreeUnits::kEnd;
  }

  uint32_t FindUnit(std::span<const uint32_t> children) {
    const uint32_t first = tree_.label[children.front()];
    // Nodes of one child start at the group's front, to fill holes; wide ones where their class
    // stopped.
    uint32_t& cursor = cursor_[std::bit_width(children.size())];
    hole_ = free_.NextFree(hole_);
    uint32_t unit = children.size() == 1 ? hole_ : free_.NextFree(cursor);
    tries_left_ += kTriesForNode;
    const uint64_t most = std::min<uint64_t>(kMaxTries, tries_left_);
    for (uint64_t tries = 1; unit != FreeUnits::kEnd; ++tries, --tries_left_) {
      if (unit > first && Fits(unit - first, children)) break;
      unit = tries < most ? free_.next(unit) : FreeUnits::kEnd;
    }
    if (unit == FreeUnits::kEnd) {
      // Above the highest taken unit no child can collide; only the base may be taken.
      for (unit = std::max(top_, first) + 1;; ++unit) {
        Reserve(unit + 1);
        if (!base_used_[unit - first]) break;
      }
    }
    cursor = unit;
    return unit;
  }

  uint32_t FindBase(uint32_t parent, std::span<const uint32_t> children) {
    uint32_t unit = NearParent(parent, children);
    if (unit == FreeUnits::kEnd) unit = FindUnit(children);
    const uint32_t base = unit - tree_.label[children.front()];
    Reserve(base + code_count_ + 1);
    top_ = std::max(top_, base + tree_.label[children.back()]);
    return base;
  }

  Tree tree_;
  const uint32_t code_count_;
  const std::span<const uint16_t> groups_;
  FreeUnits free_;
  std::vector<uint8_t> base_used_;
  uint32_t top_ = 0;          // highest unit taken
  uint32_t cursor_[33] = {};  // by bit width of the child count
  uint32_t hole_ = 0;         // no unit of the group before it is free
  uint64_t tries_left_ = kTriesAtStart;
};

}  // namespace

std::vector<trie::Unit> BuildDoubleArray(std::vector<TrieKey> keys, uint32_t code_count,
                                         std::span<const uint16_t> groups) {
  if (code_count < 1 || code_count > trie::kMaxCodes) {
    throw std::invalid_argument("double array: code_count out of range");
  }
  Tree tree = MakeTree(keys, code_count);
  Free(&keys);
  return Builder(std::move(tree), code_count, groups).Run();
}

}  // namespace rankfeed::builder
