// SPDX-License-Identifier: MIT
// allocation_test.cc: accounting sees C and C++ allocations of this program and of libraries it
// loads, keeps peaks per phase, and counts nothing when no phase is open. The compile of a
// vocabulary, which is what the numbers are for, has a bounded peak.
#include "counters/allocation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "rankfeed/builder.h"

namespace rankfeed::counters {
namespace {

#define REQUIRE_ACCOUNTING() \
  if (!AllocationAccountingInstalled()) GTEST_SKIP() << AllocationAccountingReason()

void* volatile g_sink;
void Use(void* p) { g_sink = p; }

TEST(Allocation, EveryKindIsCounted) {
  REQUIRE_ACCOUNTING();
  const std::vector<void* (*)()> kinds = {
      [] { return std::malloc(1000); },
      [] { return std::calloc(10, 100); },
      [] { return std::aligned_alloc(64, 1024); },
      [] {
        void* p = nullptr;
        return posix_memalign(&p, 64, 1000) == 0 ? p : nullptr;
      },
      [] { return std::realloc(nullptr, 1000); },
      [] { return static_cast<void*>(strdup(std::string(999, 'x').c_str())); },
  };
  for (size_t i = 0; i < kinds.size(); ++i) {
    AllocationPhase phase;
    void* p = kinds[i]();
    Use(p);
    const AllocationCounts counts = phase.Counts();
    EXPECT_EQ(counts.count, i == 5 ? 2u : 1u) << "kind " << i;  // the string, and its copy
    EXPECT_GE(counts.bytes, 1000u) << "kind " << i;
    EXPECT_LE(counts.bytes, 3000u) << "kind " << i;
    std::free(p);
  }
  struct alignas(128) Wide {
    char bytes[1024];
  };
  AllocationPhase phase;
  auto* one = new std::string(100, 'a');
  Use(one);
  auto* many = new int[100];
  Use(many);
  auto* wide = new Wide;
  Use(wide);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide) % 128, 0u);
  EXPECT_EQ(phase.Counts().count, 4u);
  delete one;
  delete[] many;
  delete wide;
  EXPECT_EQ(phase.Counts().frees, 4u);
}

TEST(Allocation, PeakIsOfThePhase) {
  REQUIRE_ACCOUNTING();
  std::vector<char> before(64 << 20);
  Use(before.data());
  AllocationPhase phase;
  for (int i = 0; i < 10; ++i) {
    std::vector<char> one(1 << 20);
    Use(one.data());
  }
  EXPECT_EQ(phase.Counts().count, 10u);
  EXPECT_GE(phase.Counts().bytes, 10u << 20);
  EXPECT_GE(phase.Counts().peak_bytes, 1u << 20);
  EXPECT_LT(phase.Counts().peak_bytes, 2u << 20);
}

TEST(Allocation, ReallocMovesTheLevel) {
  REQUIRE_ACCOUNTING();
  void* p = std::malloc(1 << 20);
  AllocationPhase phase;
  for (int i = 0; i < 100; ++i) {
    p = std::realloc(p, (1 << 20) + static_cast<size_t>(i));
    Use(p);
  }
  EXPECT_EQ(phase.Counts().count, 100u);
  EXPECT_LT(phase.Counts().peak_bytes, 3u << 20);
  std::free(p);
}

TEST(Allocation, ThreadsAreToldApart) {
  REQUIRE_ACCOUNTING();
  AllocationPhase phase;
  const ThreadAllocations before = AllocationsOfThisThread();
  std::thread([] {
    for (int i = 0; i < 1000; ++i) {
      std::string s(200, 'x');
      Use(s.data());
    }
  }).join();
  const ThreadAllocations after = AllocationsOfThisThread();
  EXPECT_LT(after.count - before.count, 20u);  // what starting a thread takes
  EXPECT_GE(phase.Counts().count, 1000u);
}

TEST(Allocation, NothingIsCountedOutsideAPhase) {
  REQUIRE_ACCOUNTING();
  const ThreadAllocations before = AllocationsOfThisThread();
  std::vector<char> v(1000);
  Use(v.data());
  EXPECT_EQ(AllocationsOfThisThread().count, before.count);
}

TEST(Allocation, NewThrowsWhenThereIsNoMemory) {
  REQUIRE_ACCOUNTING();
  volatile size_t huge = SIZE_MAX / 4;
  EXPECT_THROW(Use(::operator new(huge)), std::bad_alloc);
  EXPECT_EQ(::operator new(huge, std::nothrow), nullptr);
}

// Measured: 50 MB for data/default.model (a 2 MB image; most of it does not grow with the model), 180 MB
// for XLM-R's tokenizer.json (22 MB). A builder that keeps what it should have dropped shows here.
constexpr uint64_t kMostForDefaultModel = 80u << 20;

TEST(Allocation, CompileHasABoundedPeak) {
  REQUIRE_ACCOUNTING();
  std::ifstream in(std::string(std::getenv("RANKFEED_SOURCE_DIR")) + "/data/default.model",
                   std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(source.empty());
  rankfeed_image image{};
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  AllocationPhase phase;
  ASSERT_EQ(rankfeed_compile(source.data(), source.size(), "default.model", nullptr, &image, &error),
            RANKFEED_OK)
      << error.message;
  const AllocationCounts counts = phase.Counts();
  EXPECT_GE(counts.peak_bytes, image.size);
  EXPECT_LE(counts.peak_bytes, kMostForDefaultModel);
  RecordProperty("peak_bytes", std::to_string(counts.peak_bytes));
  RecordProperty("allocations", std::to_string(counts.count));
  rankfeed_image_free(&image);
}

}  // namespace
}  // namespace rankfeed::counters
