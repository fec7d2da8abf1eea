// SPDX-License-Identifier: MIT
// builder/fast/charsmap_keys.h: what the keys of an image's charsmap say about characters that are read
// together.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builder/fast/eligibility.h"
#include "builder/normalize/charsmap_children.h"
#include "image/model.h"
#include "normalize/charsmap.h"

namespace rankfeed::builder {

class CharsmapKeys {
 public:
  CharsmapKeys(const Model& model, Pipeline pipeline);

  // Whether some key begins with prefix: a longer one, or prefix itself.
  bool SomeLonger(std::string_view prefix) const;
  bool SomeBegin(std::string_view prefix) const;

  // One character through the charsmap, on its own.
  std::string_view Normalized(std::string_view character) const;
  // The shortest key that character begins with replaces it, and with it what joins its cluster
  // (HuggingFace).
  bool Replaces(std::string_view character) const {
    return pipeline_.precompiled && charsmap_.Shortest(character);
  }

  // The characters that keys of several begin with, and those that stand later in them; without
  // those that only end clusters too long to be looked up (HuggingFace).
  bool IsFirst(char32_t cp) const { return first_[cp]; }
  bool IsLater(char32_t cp) const { return later_[cp]; }
  // Pairs of a key's first character and the first of its replacement (a space for none), for keys
  // of several characters.
  const std::set<std::pair<char32_t, char32_t>>& joins() const { return joins_; }

 private:
  // A node of the charsmap's trie, and whether a key ends there.
  struct Node {
    size_t at;
    bool key;
  };
  bool Find(std::string_view prefix, Node* node) const;
  bool HasChildren(size_t node) const;
  void Collect(size_t node, std::string* key);
  void CollectKey(std::string_view key);

  const Pipeline pipeline_;
  const std::span<const uint32_t> units_;
  const CharsmapChildren children_;
  const Charsmap charsmap_;
  std::vector<bool> first_ = std::vector<bool>(0x110000), later_ = first_;  // by code point
  std::set<std::pair<char32_t, char32_t>> joins_;
};

}  // namespace rankfeed::builder
