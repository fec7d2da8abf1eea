// SPDX-License-Identifier: MIT
#include "builder/charsmap_check.h"

#include <algorithm>

#include "builder/code_points.h"
#include "rankfeed/model.h"

namespace rankfeed::builder {
namespace {

constexpr uint32_t kMaxKeysOnPath = 32;  // sentencepiece normalizer.h kMaxTrieResultsSize
constexpr uint32_t kMaxDepth = 1024;     // bytes of a key; published ones have at most 12

uint32_t Offset(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}
bool HasLeaf(uint32_t unit) {
  return (unit & 0x100) != 0;
}
uint32_t LabelBits(uint32_t unit) {
  return unit & 0x800000ff;
}

std::string_view Replacement(const CharsmapView& map, uint32_t unit) {
  const std::string_view rest = map.pool.substr(unit & 0x7fffffff);
  return rest.substr(0, rest.find('\0'));
}

class Checker {
 public:
  Checker(CharsmapView& map, uint32_t parity, const std::string& where)
      : map_(map), parity_(parity), where_(where) {}

  void Run() {
    Pool();
    // In bounds for every byte: a child is at (pos ^ offset) ^ byte.
    for (size_t pos = 0; pos < map_.units.size(); ++pos) {
      const uint32_t unit = map_.units[pos];
      if ((unit & 0x80000000) != 0) continue;
      if (((pos ^ Offset(unit)) | 0xff) >= map_.units.size()) {
        Broken("unit " + std::to_string(pos) + " points outside the trie");
      }
    }
    if ((map_.units[0] & 0x80000000) != 0) Broken("the root is a value");
    below_.assign(map_.units.size(), {});
    Visit(0, 0);
    if (below_[0].keys > kMaxCharsmapRules) {
      throw BuildError(RANKFEED_E_LIMIT, 0,
                       where_ + " has more than " + std::to_string(kMaxCharsmapRules) + " rules");
    }
    if (parity_ == RANKFEED_PARITY_SENTENCEPIECE && below_[0].chain > kMaxKeysOnPath) {
      throw BuildError(RANKFEED_E_UNSUPPORTED, 0,
                       where_ +
                           " has more than 32 keys that start each other; libsentencepiece "
                           "reads past its result array on such maps");
    }
    ForEachRule(map_, [&](std::string_view key, std::string_view) { Key(key); });
  }

 private:
  struct Below {
    uint64_t keys = 0;   // keys under the unit, saturating
    uint32_t chain = 0;  // most keys on one path
    uint8_t state = 0;   // 1 being visited, 2 done
  };

  [[noreturn]] void Broken(const std::string& why) const {
    throw BuildError(RANKFEED_E_PARSE, 0, where_ + " is broken: " + why);
  }

  void Pool() const {
    if (map_.pool.empty() || map_.pool.back() != '\0') {
      Broken("the replacement pool is not NUL-terminated");
    }
    std::vector<uint32_t> ignored;
    if (!DecodeUtf8(map_.pool, &ignored)) Broken("the replacement pool is not valid UTF-8");
  }

  // Subtrees may be shared (Darts-clone stores a DAG), so each unit is entered once.
  void Visit(size_t pos, uint32_t depth) {
    if (depth > kMaxDepth) Broken("a key is longer than 1024 bytes");
    Below& below = below_[pos];
    below.state = 1;
    const uint32_t unit = map_.units[pos];
    const size_t children = pos ^ Offset(unit);
    if (HasLeaf(unit)) Value(children);
    below.keys = HasLeaf(unit);
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const size_t child = children ^ byte;
      if (LabelBits(map_.units[child]) != byte) continue;
      if (below_[child].state == 1) Broken("the trie has a cycle");
      if (below_[child].state == 0) Visit(child, depth + 1);
      below.keys = std::min(below.keys + below_[child].keys, kMaxCharsmapRules + 1);
      below.chain = std::max(below.chain, below_[child].chain);
    }
    // libsentencepiece walks NUL bytes of the text too, so such an edge would match.
    if (!HasLeaf(unit) && LabelBits(map_.units[children]) == 0) Broken("a key holds a NUL");
    below.chain += HasLeaf(unit);
    below.state = 2;
  }

  void Value(size_t pos) const {
    if ((map_.units[pos] & 0x80000000) == 0) Broken("a key has no value unit");
    const uint32_t at = map_.units[pos] & 0x7fffffff;
    if (at >= map_.pool.size()) Broken("a replacement lies outside the pool");
    if ((static_cast<unsigned char>(map_.pool[at]) & 0xc0) == 0x80) {
      Broken("a replacement starts inside a character");
    }
  }

  void Key(std::string_view key) const {
    size_t at = 0;
    uint32_t cp;
    while (at < key.size()) {
      if (!NextCodePoint(key, &at, &cp)) {
        throw BuildError(RANKFEED_E_UNSUPPORTED, 0, where_ + " has a key that is not valid UTF-8");
      }
    }
  }

  CharsmapView& map_;
  const uint32_t parity_;
  const std::string& where_;
  std::vector<Below> below_;
};

void Walk(const CharsmapView& map, size_t pos, std::string& key,
          const std::function<void(std::string_view, std::string_view)>& rule) {
  const uint32_t unit = map.units[pos];
  const size_t children = pos ^ Offset(unit);
  if (HasLeaf(unit)) rule(key, Replacement(map, map.units[children]));
  for (uint32_t byte = 1; byte < 256; ++byte) {
    if (LabelBits(map.units[children ^ byte]) != byte) continue;
    key.push_back(static_cast<char>(byte));
    Walk(map, children ^ byte, key, rule);
    key.pop_back();
  }
}

}  // namespace

CharsmapView CheckCharsmap(std::string_view blob, uint32_t parity, const std::string& where) {
  const auto broken = [&](const char* why) {
    throw BuildError(RANKFEED_E_PARSE, 0, where + " is broken: " + why);
  };
  uint32_t trie_bytes = 0;
  if (blob.size() <= sizeof trie_bytes) broken("it is shorter than its header");
  for (int i = 3; i >= 0; --i) trie_bytes = trie_bytes << 8 | static_cast<unsigned char>(blob[i]);
  blob.remove_prefix(sizeof trie_bytes);
  if (trie_bytes == 0 || trie_bytes % 4 != 0) broken("its trie is not a whole number of units");
  if (trie_bytes >= blob.size()) broken("its trie is longer than the blob");
  CharsmapView map;
  map.units.resize(trie_bytes / 4);
  for (size_t i = 0; i < map.units.size(); ++i) {
    for (int k = 3; k >= 0; --k) {
      map.units[i] = map.units[i] << 8 | static_cast<unsigned char>(blob[i * 4 + k]);
    }
  }
  map.pool = blob.substr(trie_bytes);
  Checker(map, parity, where).Run();
  return map;
}

void ForEachRule(const CharsmapView& charsmap,
                 const std::function<void(std::string_view, std::string_view)>& rule) {
  std::string key;
  Walk(charsmap, 0, key, rule);
}

}  // namespace rankfeed::builder
