// SPDX-License-Identifier: MIT
// reference/scratch.h: how much scratch encoders ask for, by form and by length of their longest
// text.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>

#include "fast/word_forms.h"
#include "reference/hf_encode.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

constexpr uint32_t kCache = 1 << 20;

// 0: refused.
size_t ScratchOf(const rankfeed_model* model, uint32_t max_text_bytes, bool offsets) {
  rankfeed_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_text_bytes = max_text_bytes;
  limits.with_offsets = offsets ? 1 : 0;
  limits.cache_bytes = kCache;
  rankfeed_mem_req need{};
  const rankfeed_status status = rankfeed_encoder_mem_req(model, &limits, &need);
  EXPECT_TRUE(status == RANKFEED_OK || status == RANKFEED_E_LIMIT);
  return status == RANKFEED_OK ? need.size : 0;
}

class Scratch : public EachForm {};
RANKFEED_EACH_FORM(Scratch);

// Whatever the length of texts: 16 MiB, and 30 with offsets, beside the cache.
TEST_P(Scratch, DoesNotGrowWithTheText) {
  constexpr uint32_t kMiB = 1 << 20;
  for (const bool offsets : {false, true}) {
    SCOPED_TRACE(form().name + (offsets ? " with offsets" : ""));
    const size_t small = ScratchOf(model(), kMiB, offsets);
    const size_t huge = ScratchOf(model(), 1u << 30, offsets);
    std::printf("%-40s %-8s %8.2f MiB\n", form().name.c_str(), offsets ? "offsets" : "ids",
                static_cast<double>(small) / kMiB);
    EXPECT_NE(small, 0u);
    EXPECT_EQ(huge, small);
    // Metaspace "first" asks for places even where the caller does not.
    const bool places = offsets || reference::HuggingFaceNeedsOffsets(*model());
    EXPECT_LE(small - kCache, (places ? 30 : 16) * kMiB);
  }
}

// max_stretch_bytes sizes the arrays, as far as texts can become that long.
TEST(Scratch, GrowsWithTheLongestStretch) {
  const Image& image = ImageOf(Form("A"));
  rankfeed_limits limits{};
  limits.struct_size = sizeof(limits);
  const auto size = [&](uint32_t text, uint32_t stretch) {
    limits.max_text_bytes = text;
    limits.max_stretch_bytes = stretch;
    rankfeed_mem_req need{};
    EXPECT_EQ(rankfeed_encoder_mem_req(image.model(), &limits, &need), RANKFEED_OK);
    return need.size;
  };
  EXPECT_EQ(size(1 << 20, 0), size(1 << 20, 256 << 10));
  EXPECT_EQ(size(1 << 20, 1 << 28), size(1 << 20, 1 << 30));
  EXPECT_EQ(size(1 << 10, 0), size(1 << 10, 1 << 30));
  size_t last = 0;
  for (uint32_t stretch = 1 << 16; stretch < (1u << 30); stretch *= 2) {
    const size_t now = size(1u << 30, stretch);
    EXPECT_GT(now, last + stretch);
    last = now;
  }
  // The size of programs compiled before the field was there.
  limits.struct_size = offsetof(rankfeed_limits, max_stretch_bytes);
  const size_t old = size(1 << 20, 7);
  limits.struct_size = sizeof(limits);
  EXPECT_EQ(old, size(1 << 20, 0));
}

TEST(Scratch, IsSmallerForShortTexts) {
  const Image& image = ImageOf(Form("A"));
  size_t last = 0;
  for (uint32_t bytes = 1; bytes < (1u << 30); bytes *= 2) {
    const size_t size = ScratchOf(image.model(), bytes, false);
    EXPECT_GE(size, last);
    last = size;
  }
  EXPECT_LT(ScratchOf(image.model(), 100, false), last - (1 << 20));
}

}  // namespace
}  // namespace rankfeed
