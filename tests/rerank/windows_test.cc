// SPDX-License-Identifier: MIT
#include "rerank/windows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "rerank/reference.h"

namespace rankfeed::rerank {
namespace {

plain::Ids Count(uint32_t n) {
  plain::Ids ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// The reference works on ids that are their own positions, so windows can be read off.
Range RangeOf(const plain::Ids& window) {
  if (window.empty()) return {0, 0};
  return {static_cast<uint32_t>(window.front()), static_cast<uint32_t>(window.back()) + 1};
}

TEST(Windows, EverySmallDocumentAsTheReferences) {
  for (uint32_t tokens = 0; tokens <= 24; ++tokens) {
    for (uint32_t size = 1; size <= 12; ++size) {
      for (uint32_t stride = 0; stride <= 13; ++stride) {
        for (const uint8_t side : {RANKFEED_RIGHT, RANKFEED_LEFT}) {
          const bool left = side == RANKFEED_LEFT;
          Windows windows;
          const auto expected = plain::HuggingFaceWindows(Count(tokens), size, stride, left);
          ASSERT_EQ(MakeWindows(tokens, size, stride, RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST, side, 0,
                                &windows),
                    expected.has_value());
          if (expected) {
            ASSERT_EQ(windows.count, expected->size());
            for (uint32_t i = 0; i < windows.count; ++i) {
              ASSERT_EQ(windows.At(i), RangeOf((*expected)[i]))
                  << tokens << " " << size << " " << stride << " " << i;
            }
          }
          const auto jina = plain::JinaWindows(Count(tokens), size, stride);
          ASSERT_TRUE(MakeWindows(tokens, size, stride, RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST,
                                  side, 0, &windows));
          ASSERT_EQ(windows.count, jina.size());
          for (uint32_t i = 0; i < windows.count; ++i) {
            Range range = RangeOf(jina[i]);
            if (left) range = {tokens - range.end, tokens - range.begin};
            if (tokens == 0) range = {0, 0};
            ASSERT_EQ(windows.At(i), range) << tokens << " " << size << " " << stride << " " << i;
          }
        }
      }
    }
  }
}

TEST(Windows, FirstWindowsStayWhenTheirNumberIsLimited) {
  for (const uint8_t overflow :
       {RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST, RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST}) {
    for (const uint8_t side : {RANKFEED_RIGHT, RANKFEED_LEFT}) {
      Windows all, some;
      ASSERT_TRUE(MakeWindows(100, 16, 4, overflow, side, 0, &all));
      ASSERT_EQ(all.count, 8u);
      for (uint32_t limit = 1; limit <= 10; ++limit) {
        ASSERT_TRUE(MakeWindows(100, 16, 4, overflow, side, limit, &some));
        ASSERT_EQ(some.count, std::min(limit, all.count));
        uint32_t begin = 100, end = 0;
        for (uint32_t i = 0; i < some.count; ++i) {
          ASSERT_EQ(some.At(i), all.At(i));
          begin = std::min(begin, some.At(i).begin);
          end = std::max(end, some.At(i).end);
        }
        ASSERT_EQ(some.Covered(), (Range{begin, end}));
      }
    }
  }
}

TEST(Windows, ExtremeNumbers) {
  Windows windows;
  ASSERT_TRUE(MakeWindows(0xffffffffu, 1, 0, RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST, RANKFEED_RIGHT,
                          0, &windows));
  EXPECT_EQ(windows.count, 0xffffffffu);
  EXPECT_EQ(windows.At(0xfffffffeu), (Range{0xfffffffeu, 0xffffffffu}));
  ASSERT_TRUE(MakeWindows(0xffffffffu, 0xfffffffeu, 0, RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST,
                          RANKFEED_LEFT, 0, &windows));
  EXPECT_EQ(windows.count, 2u);
  EXPECT_EQ(windows.At(1), (Range{0, 0xfffffffeu}));
}

}  // namespace
}  // namespace rankfeed::rerank
