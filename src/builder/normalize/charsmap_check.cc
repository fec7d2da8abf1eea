// SPDX-License-Identifier: MIT
#include "builder/normalize/charsmap_check.h"

#include <algorithm>

#include "base/narrow.h"
#include "base/utf8.h"
#include "builder/normalize/charsmap_children.h"
#include "normalize/charsmap.h"
#include "rankfeed/model.h"

namespace rankfeed::builder {
namespace {

constexpr uint32_t kMaxKeysOnPath = 32;       // sentencepiece normalizer.h kMaxTrieResultsSize
constexpr uint32_t kMaxKeySize = kMaxCharsmapKeyBytes;
constexpr uint32_t kMaxKeyBytes = 8u << 20;   // of all keys; published: 225,000 of at most 12
// Limit of the replacements of all rules. Rules may share them, so few bytes can stand for very
// many.
constexpr uint64_t kMaxBytesOfReplacements = 8u << 20;

uint32_t Offset(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}
bool HasLeaf(uint32_t unit) {
  return (unit & 0x100) != 0;
}
uint32_t LabelBits(uint32_t unit) {
  return unit & 0x800000ff;
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
      if ((unit & 0x80000000) != 0) {  // also where no key leads: image/verify.cc asks it of all
        Value(pos);
        continue;
      }
      if (((pos ^ Offset(unit)) | 0xff) >= map_.units.size()) {
        Broken("unit " + std::to_string(pos) + " points outside the trie");
      }
    }
    if ((map_.units[0] & 0x80000000) != 0) Broken("the root is a value");
    if (HasLeaf(map_.units[0])) Broken("a key is empty");
    children_ = CharsmapChildren(map_.units);
    below_.assign(map_.units.size(), {});
    Visit(0, 0);
    const Below& all = below_[0];
    if (all.keys > kMaxCharsmapRules) OverLimit(kMaxCharsmapRules, "rules");
    if (all.key_bytes > kMaxKeyBytes) OverLimit(kMaxKeyBytes, "bytes of keys");
    if (parity_ != RANKFEED_PARITY_HUGGINGFACE && all.chain > kMaxKeysOnPath) {
      throw BuildError(RANKFEED_E_UNSUPPORTED,
                       where_,
                       " has more than 32 keys that start each other; libsentencepiece "
                       "reads past its result array on such maps");
    }
    map_.rules.reserve(all.keys);
    map_.keys.reserve(std::max<size_t>(all.key_bytes, 64));  // on the heap: views into it stay
    std::string key;
    List(0, &key);
  }

 private:
  struct Below {
    uint32_t keys = 0, key_bytes = 0;  // keys under the unit and their bytes below it, saturating
    uint16_t chain = 0;                // most keys on one path
    uint16_t height = 0;               // bytes of the longest key below
    uint8_t state = 0;                 // 1 being visited, 2 done
  };

  [[noreturn]] void Broken(const std::string& why) const {
    throw BuildError(RANKFEED_E_PARSE, where_, " is broken: ", why);
  }

  [[noreturn]] void OverLimit(uint64_t limit, const char* of) const {
    throw BuildError(RANKFEED_E_LIMIT,
                     where_, " has more than ", limit, " ", of,
                     "; that is the limit of a charsmap");
  }

  void Pool() const {
    if (map_.pool.empty() || map_.pool.back() != '\0') {
      Broken("the replacement pool is not NUL-terminated");
    }
    if (!utf8::IsValid(map_.pool)) Broken("the replacement pool is not valid UTF-8");
  }

  // Subtrees may be shared (Darts-clone stores a DAG), so each unit is entered once.
  void Visit(size_t pos, uint32_t depth) {
    if (depth > kMaxKeySize) Broken("a key is longer than 1024 bytes");
    Below& below = below_[pos];
    below.state = 1;
    const uint32_t unit = map_.units[pos];
    const size_t children = pos ^ Offset(unit);
    if (HasLeaf(unit)) Value(children);
    below.keys = HasLeaf(unit);
    for (const uint32_t child : children_.Of(children)) {
      if (below_[child].state == 1) Broken("the trie has a cycle");
      if (below_[child].state == 0) Visit(child, depth + 1);
      const Below& child_below = below_[child];
      below.keys = std::min(below.keys + child_below.keys, kMaxCharsmapRules + 1);
      below.key_bytes =
          std::min(below.key_bytes + child_below.key_bytes + child_below.keys, kMaxKeyBytes + 1);
      below.chain = std::max(below.chain, child_below.chain);
      below.height = std::max<uint16_t>(below.height, child_below.height + 1);
    }
    if (below.height > kMaxKeySize) Broken("a key is longer than 1024 bytes");
    // libsentencepiece walks NUL bytes of the text too. An unused unit there (all zero) leads back
    // to the same children, so it only makes a key match with NULs inside; any other one is a key.
    const uint32_t nul = map_.units[children];
    if (!HasLeaf(unit) && LabelBits(nul) == 0 && nul != 0) Broken("a key holds a NUL");
    below.chain += HasLeaf(unit);
    below.state = 2;
  }

  void Value(size_t pos) const {
    if ((map_.units[pos] & 0x80000000) == 0) Broken("a key has no value unit");
    const uint32_t at = map_.units[pos] & 0x7fffffff;
    if (at >= map_.pool.size()) Broken("a replacement lies outside the pool");
    if ((Byte(map_.pool[at]) & 0xc0) == 0x80) {
      Broken("a replacement starts inside a character");
    }
  }

  // Only into subtrees that hold keys: the work is bounded by the bytes of all keys.
  void List(size_t pos, std::string* key) {
    const uint32_t unit = map_.units[pos];
    const size_t children = pos ^ Offset(unit);
    if (HasLeaf(unit)) AddRule(*key, children);
    if (below_[pos].height == 0) return;
    for (const uint32_t child : children_.Of(children)) {
      if (below_[child].keys == 0) continue;
      key->push_back(static_cast<char>(children_.Label(child)));
      List(child, key);
      key->pop_back();
    }
  }

  void AddRule(const std::string& key, size_t value) {
    const size_t at = map_.keys.size();
    map_.keys += key;
    const std::string_view stored = std::string_view(map_.keys).substr(at);
    if (!utf8::IsValid(stored)) {
      throw BuildError(RANKFEED_E_UNSUPPORTED, where_, " has a key that is not valid UTF-8");
    }
    const std::string_view rest = map_.pool.substr(map_.units[value] & 0x7fffffff);
    const size_t size = rest.substr(0, kMaxReplacementBytes + 1).find('\0');
    if (size == std::string_view::npos) {
      throw BuildError(RANKFEED_E_LIMIT, where_, " has a replacement of more than 1024 bytes");
    }
    replacement_bytes_ += size;
    if (replacement_bytes_ > kMaxBytesOfReplacements) {
      OverLimit(kMaxBytesOfReplacements, "bytes of replacements");
    }
    map_.rules.push_back({stored, rest.substr(0, size)});
  }

  CharsmapView& map_;
  const uint32_t parity_;
  const std::string& where_;
  CharsmapChildren children_;
  std::vector<Below> below_;
  uint64_t replacement_bytes_ = 0;
};

}  // namespace

CharsmapView CheckCharsmap(std::string_view blob, uint32_t parity, const std::string& where) {
  const auto broken = [&](const char* why) {
    throw BuildError(RANKFEED_E_PARSE, where, " is broken: ", why);
  };
  uint32_t trie_bytes = 0;
  if (blob.size() <= sizeof trie_bytes) broken("it is shorter than its header");
  for (int i = 3; i >= 0; --i) trie_bytes = trie_bytes << 8 | Byte(blob[i]);
  blob.remove_prefix(sizeof trie_bytes);
  if (trie_bytes == 0 || trie_bytes % 4 != 0) broken("its trie is not a whole number of units");
  if (trie_bytes >= blob.size()) broken("its trie is longer than the blob");
  CharsmapView map;
  map.units.resize(trie_bytes / 4);
  for (size_t i = 0; i < map.units.size(); ++i) {
    for (int k = 3; k >= 0; --k) {
      map.units[i] = map.units[i] << 8 | Byte(blob[i * 4 + k]);
    }
  }
  map.pool = blob.substr(trie_bytes);
  Checker(map, parity, where).Run();
  return map;
}

}  // namespace rankfeed::builder
