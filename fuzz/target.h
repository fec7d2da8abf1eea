// SPDX-License-Identifier: MIT
// fuzz/target.h: what a fuzz target is, and what all of them share.
//
// A target states a property of some input bytes and ends the process when it does not hold. Each
// lives in a file of its own and registers itself under the file's name. driver.cc replays files and
// runs generated inputs with any compiler; libfuzzer.cc makes a libFuzzer program of one target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankfeed::fuzz {

using Bytes = std::vector<uint8_t>;

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers with every compiler.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  using result_type = uint64_t;  // a standard generator too
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()() { return Next(); }

 private:
  uint64_t state_;
};

struct Target {
  const char* name;
  void (*run)(std::span<const uint8_t> input);
  // Makes an input from nothing, with the structure that blind mutation seldom finds.
  void (*generate)(Random& random, Bytes* input);
  // Puts checksums right after a blind mutation. May be null.
  void (*repair)(Bytes* input) = nullptr;
};

std::span<const Target> AllTargets();
const Target* FindTarget(std::string_view name);  // null: none

struct Register {
  explicit Register(const Target& target);
};

// What a target did since the process began. One execution is one comparison with a reference or one
// hostile file tried, see REPORT.md.
struct Counters {
  uint64_t executions = 0;
  uint64_t accepted = 0;  // files that were no error
};
extern Counters counters;

// Ends the process after printing what is wrong. The driver saves the input first.
[[noreturn]] void Fail(const char* file, int line, const std::string& what);
// Called by Fail and when a signal ends the process.
void SetFailureHook(void (*hook)());

#define FUZZ_ASSERT(condition)                                             \
  do {                                                                     \
    if (!(condition)) ::rankfeed::fuzz::Fail(__FILE__, __LINE__, #condition); \
  } while (0)
#define FUZZ_FAIL(what) ::rankfeed::fuzz::Fail(__FILE__, __LINE__, what)

// Printable ASCII, everything else as \xHH: a report can be pasted into a test.
std::string Escape(std::string_view bytes);

Bytes RandomBytes(Random& random, size_t size);

// Damages a file the way transmission, editors and attackers do.
void Mutate(Random& random, Bytes* file);

}  // namespace rankfeed::fuzz
