// SPDX-License-Identifier: MIT
// tests/support/sanitizers.h: how much of a long test to run in this build.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace rankfeed {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define RANKFEED_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RANKFEED_TEST_SANITIZED 1
#endif

#ifdef RANKFEED_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Whether tests that sample in every run go through everything: the long suite sets RANKFEED_SWEEP.
inline bool SweepsAll() {
  return std::getenv("RANKFEED_SWEEP") != nullptr;
}

// Repetitions of a randomized test: a twentieth under a sanitizer, where each costs about that
// much more.
constexpr size_t Scaled(size_t repetitions) {
  return kSanitized ? std::max<size_t>(repetitions / 20, 1) : repetitions;
}

// The same of one that takes long: a part in every run, all in the long suite.
inline size_t Scaled(size_t repetitions, size_t part) {
  return Scaled(SweepsAll() ? repetitions : part);
}

// The same of one that has as many for each of many forms: a twentieth in every run, all in the long suite.
inline size_t Sampled(size_t repetitions) {
  return std::max<size_t>(repetitions / (kSanitized ? 200 : SweepsAll() ? 1 : 20), 1);
}

}  // namespace rankfeed
