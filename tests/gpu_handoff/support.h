// SPDX-License-Identifier: MIT
// support.h: a ring over a scripted backend, and shorthands, for the handoff tests.
#ifndef RANKFEED_TESTS_GPU_HANDOFF_SUPPORT_H_
#define RANKFEED_TESTS_GPU_HANDOFF_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "rankfeed/handoff.h"
#include "test_backend.h"

// GCC defines the macros; clang answers through __has_feature.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define RANKFEED_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RANKFEED_TEST_SANITIZED 1
#endif

namespace rankfeed::handoff {

// Sanitizers cost a factor of 5 to 20; the same paths are taken in fewer rounds.
#ifdef RANKFEED_TEST_SANITIZED
inline constexpr int kSanitizerDivisor = 10;
#else
inline constexpr int kSanitizerDivisor = 1;
#endif

inline rankfeed_handoff_options Options(const rankfeed_gpu_backend* backend, uint64_t slot_bytes,
                                        uint32_t slots, uint32_t flags = 0, int32_t device = 0) {
  rankfeed_handoff_options options{};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.slot_bytes = slot_bytes;
  options.slots = slots;
  options.device = device;
  options.backend = backend;
  return options;
}

// Backend, ring and two streams; closes in the right order.
class TestRing {
 public:
  explicit TestRing(uint64_t slot_bytes = 1024, uint32_t slots = 3, uint32_t flags = 0,
                    int32_t devices = 1, int32_t device = 0)
      : backend(devices, &script) {
    const auto options = Options(backend.table(), slot_bytes, slots, flags, device);
    EXPECT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
    rankfeed_handoff_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(rankfeed_handoff_get_info(ring, &info), RANKFEED_OK);
    EXPECT_STREQ(info.backend, TestBackend::Name());
    EXPECT_EQ(rankfeed_handoff_stream_create(ring, &copy_stream), RANKFEED_OK);
    EXPECT_EQ(rankfeed_handoff_stream_create(ring, &consumer_stream), RANKFEED_OK);
    destination.resize(slot_bytes);
  }
  ~TestRing() {
    script.HoldEvents(false);
    script.CompleteAll();
    if (ring == nullptr) return;
    rankfeed_handoff_stream_destroy(ring, copy_stream);
    rankfeed_handoff_stream_destroy(ring, consumer_stream);
    Close();
  }
  void Close() {
    rankfeed_handoff_close(ring);
    ring = nullptr;
  }

  rankfeed_status Acquire(rankfeed_handoff_slot* slot, rankfeed_handoff_view* view = nullptr) {
    rankfeed_handoff_view own{};
    if (view == nullptr) view = &own;
    view->struct_size = sizeof *view;
    return rankfeed_handoff_acquire(ring, slot, view);
  }
  // A slot that must be there.
  rankfeed_handoff_slot Take(rankfeed_handoff_view* view = nullptr) {
    rankfeed_handoff_slot slot = 0;
    EXPECT_EQ(Acquire(&slot, view), RANKFEED_OK);
    return slot;
  }
  rankfeed_status Submit(rankfeed_handoff_slot slot, uint64_t bytes, uint32_t flags = 0) {
    return rankfeed_handoff_submit(ring, slot, bytes, copy_stream, destination.data(), flags);
  }
  uint32_t State(rankfeed_handoff_slot slot) {
    uint32_t state = 99;
    EXPECT_EQ(rankfeed_handoff_state(ring, slot, &state), RANKFEED_OK);
    return state;
  }
  rankfeed_handoff_stats Stats() {
    rankfeed_handoff_stats stats{};
    stats.struct_size = sizeof stats;
    EXPECT_EQ(rankfeed_handoff_get_stats(ring, &stats), RANKFEED_OK);
    return stats;
  }
  void Sync(void* stream) {
    EXPECT_EQ(rankfeed_handoff_stream_synchronize(ring, stream), RANKFEED_OK);
  }

  HostScript script;
  TestBackend backend;
  rankfeed_handoff* ring = nullptr;
  void *copy_stream = nullptr, *consumer_stream = nullptr;
  std::vector<unsigned char> destination;
};

// Seeds are printed and can be set: RANKFEED_TEST_SEED=n.
inline uint64_t TestSeed(uint64_t fallback) {
  const char* text = std::getenv("RANKFEED_TEST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 10) : fallback;
  std::cout << "seed " << seed << " (RANKFEED_TEST_SEED sets it)\n";
  return seed;
}

// SplitMix64: fast enough to fill batches with, the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t bound) { return Next() % bound; }

 private:
  uint64_t state_;
};

inline void FillPattern(void* memory, size_t bytes, uint64_t seed) {
  Random random(seed);
  auto* out = static_cast<unsigned char*>(memory);
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t word = random.Next();
    for (size_t j = i; j < bytes && j < i + 8; ++j) {
      out[j] = static_cast<unsigned char>(word >> (8 * (j - i)));
    }
  }
}
inline bool HasPattern(const void* memory, size_t bytes, uint64_t seed) {
  Random random(seed);
  const auto* in = static_cast<const unsigned char*>(memory);
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t word = random.Next();
    for (size_t j = i; j < bytes && j < i + 8; ++j) {
      if (in[j] != static_cast<unsigned char>(word >> (8 * (j - i)))) return false;
    }
  }
  return true;
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_GPU_HANDOFF_SUPPORT_H_
