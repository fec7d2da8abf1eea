// SPDX-License-Identifier: MIT
// tests/normalize/charsmap_builder.h: a Darts-clone charsmap from rules, wasteful and obviously right:
// every key prefix has a block of 256 units for its children, its value at the start of the block.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankfeed {

class CharsmapBuilder {
 public:
  explicit CharsmapBuilder(const std::map<std::string, std::string>& rules) {
    blocks_[""] = 0x100;
    for (const auto& [key, replacement] : rules) {
      for (size_t n = 1; n <= key.size(); ++n) {
        blocks_.try_emplace(key.substr(0, n), static_cast<uint32_t>(0x100 * (blocks_.size() + 1)));
      }
    }
    units_.assign(0x100 * (blocks_.size() + 1), kFree);
    units_[0] = 0x100u << 10;
    for (const auto& [prefix, block] : blocks_) {
      if (prefix.empty()) continue;
      const auto label = static_cast<unsigned char>(prefix.back());
      const uint32_t at = blocks_.at(prefix.substr(0, prefix.size() - 1)) ^ label;
      units_[at] = (at ^ block) << 10 | (rules.count(prefix) != 0 ? 0x100u : 0u) | label;
    }
    for (const auto& [key, replacement] : rules) {
      units_[blocks_.at(key)] = 0x80000000u | static_cast<uint32_t>(pool_.size());
      pool_ += replacement + '\0';
    }
  }
  const std::vector<uint32_t>& units() const { return units_; }
  const std::string& pool() const { return pool_; }
  std::vector<uint32_t>& units() { return units_; }
  // Where the value of a key is stored.
  uint32_t ValueAt(const std::string& key) const { return blocks_.at(key); }

 private:
  static constexpr uint32_t kFree = 0xff;  // a label that no UTF-8 text has
  std::map<std::string, uint32_t> blocks_;
  std::vector<uint32_t> units_;
  std::string pool_;
};

}  // namespace rankfeed
