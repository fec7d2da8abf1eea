// SPDX-License-Identifier: MIT
// support/stress.h: seeded generator of texts that tell tokenizers apart, the C++ sibling of
// tests/oracle/stress.py: the same classes in turn, so every class gets an equal share. One text in
// eight is damaged UTF-8 unless valid_only. With one compiler, the same seed gives
// the same texts.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rankfeed::test {

class StressTexts {
 public:
  // fragments: pieces of the vocabulary under test, to be glued and cut.
  StressTexts(uint64_t seed, std::vector<std::string> fragments, bool valid_only = false);

  std::string Next();

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }
  const std::string& Pick(const std::vector<std::string>& pool) { return pool[Below(pool.size())]; }
  std::string Picks(const std::vector<std::string>& pool, size_t low, size_t high);
  std::string OfClass(size_t kind);
  std::string Damage(std::string text);

  std::mt19937_64 random_;
  std::vector<std::string> fragments_;
  bool valid_only_;
  size_t count_ = 0;
};

}  // namespace rankfeed::test
