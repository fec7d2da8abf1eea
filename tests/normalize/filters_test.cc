// SPDX-License-Identifier: MIT
// Lowercase, StripAccents and Nmt with their ranges, as NormalizedString of tokenizers 0.23.2 keeps
// them.
#include "normalize/filters.h"

#include <gtest/gtest.h>

#include "normalize/table_model.h"

namespace rankfeed::normalize {
namespace {

// Of RunFilter over tables that all of them may read.
auto Filter(image::FilterOp op) {
  return [op](const auto& in, auto* out) {
    static const TableModel tables({image::Op::kLowercase});
    return RunFilter(tables.model(), op, in, out);
  };
}

TEST(Filters, Lowercase) {
  const auto lower = Filter(image::FilterOp::kLowercase);
  EXPECT_EQ(Ranges("A\u0130b", lower), "a:0-1 i:1-3 \u0307:1-3 b:3-4");
  EXPECT_EQ(Ranges("\u03a3\u03a3", lower), "\u03c3:0-2 \u03c3:2-4");  // no final sigma
  EXPECT_EQ(Ranges("\u1e9e", lower), "\u00df:0-3");
}

TEST(Filters, FiltersKeepRanges) {
  EXPECT_EQ(Ranges("\u0301e\u0301x", Filter(image::FilterOp::kStripAccents)), "e:2-3 x:5-6");
  EXPECT_EQ(Ranges("\x01"
                   "a\x0b\t\u2581\u00a0",
                   Filter(image::FilterOp::kNmt)),
            "a:1-2  :3-4  :4-7 \u00a0:7-9");
}

}  // namespace
}  // namespace rankfeed::normalize
