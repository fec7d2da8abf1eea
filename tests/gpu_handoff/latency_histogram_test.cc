// SPDX-License-Identifier: MIT
#include "latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "support.h"

namespace rankfeed::handoff {
namespace {

TEST(LatencyHistogram, StepsAreContiguousAndNarrow) {
  uint64_t lower = 0;
  for (uint32_t step = 0; step < LatencyHistogram::kSteps; ++step) {
    const uint64_t upper = LatencyHistogram::UpperEdge(step);
    ASSERT_GE(upper, lower);
    ASSERT_EQ(LatencyHistogram::StepOf(lower), step);
    ASSERT_EQ(LatencyHistogram::StepOf(upper), step);
    ASSERT_LE(upper - lower, lower / 16) << step;  // 6.25 %
    if (upper == UINT64_MAX) {
      EXPECT_EQ(step, LatencyHistogram::kSteps - 1);
      return;
    }
    lower = upper + 1;
  }
  FAIL() << "the steps end at " << lower;
}

TEST(LatencyHistogram, EmptyAnswersZero) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  EXPECT_EQ(histogram->Count(), 0u);
  EXPECT_EQ(histogram->Min(), 0u);
  EXPECT_EQ(histogram->Max(), 0u);
  EXPECT_EQ(histogram->Quantile(500), 0u);
  EXPECT_EQ(histogram->Quantile(1000), 0u);
}

TEST(LatencyHistogram, QuantilesStayWithinAStepOfTheSortedValues) {
  Random random(TestSeed(3));
  for (int round = 0; round < 50; ++round) {
    const auto histogram = std::make_unique<LatencyHistogram>();
    std::vector<uint64_t> values(1 + random.Below(2000));
    for (auto& value : values) {
      value = random.Next() >> random.Below(64);
      histogram->Add(value);
    }
    std::sort(values.begin(), values.end());
    EXPECT_EQ(histogram->Count(), values.size());
    EXPECT_EQ(histogram->Min(), values.front());
    EXPECT_EQ(histogram->Max(), values.back());
    for (const uint32_t permille : {1u, 500u, 990u, 1000u}) {
      const size_t rank = (values.size() * permille + 999) / 1000;
      const uint64_t exact = values[rank - 1];
      const uint64_t got = histogram->Quantile(permille);
      EXPECT_GE(got, exact);
      EXPECT_EQ(got, std::min(values.back(),
                              LatencyHistogram::UpperEdge(LatencyHistogram::StepOf(exact))));
    }
  }
}

TEST(LatencyHistogram, ManyWritersLoseNothing) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<uint64_t>(t));
      for (int i = 0; i < 10000; ++i) histogram->Add(10 + random.Below(100000));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(histogram->Count(), 40000u);
  EXPECT_GE(histogram->Min(), 10u);
  EXPECT_LE(histogram->Max(), 100010u);
}

}  // namespace
}  // namespace rankfeed::handoff
