// SPDX-License-Identifier: MIT
// general/scratch.h: how much scratch encoders ask for, by form and by length of their longest
// text.
#include <gtest/gtest.h>

#include <cstdio>

#include "segment/word_forms.h"

namespace rankfeed {
namespace {

using namespace segment_test;  // NOLINT: the test's own vocabulary

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

// Beyond texts of 64 KiB.
TEST(Scratch, DoesNotGrowWithTheText) {
  constexpr uint32_t kShort = 65 << 10;
  constexpr uint32_t kMiB = 1 << 20;
  for (const FormFile& form : Forms()) {
    const Image& image = ImageOf(form);
    for (const bool offsets : {false, true}) {
      SCOPED_TRACE(form.name + (offsets ? " with offsets" : ""));
      const size_t short_texts = ScratchOf(image.model(), kShort, offsets);
      const size_t small = ScratchOf(image.model(), kMiB, offsets);
      const size_t large = ScratchOf(image.model(), 16 * kMiB, offsets);
      const size_t huge = ScratchOf(image.model(), 1u << 30, offsets);
      std::printf("%-40s %-8s %8.2f MiB, then %6.2f bytes per byte\n", form.name.c_str(),
                  offsets ? "offsets" : "ids", static_cast<double>(small) / kMiB,
                  static_cast<double>(large - small) / (15 * kMiB));
      EXPECT_EQ(huge, large);
      EXPECT_EQ(large, small);
      EXPECT_LE(small, short_texts + 2 * kMiB);
    }
  }
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
