// SPDX-License-Identifier: MIT
// models/found.h: what a model, or a table of what it gave before, says of a segment or a span.
#pragma once

#include <cstdint>

#include "image/format.h"

namespace rankfeed {

struct Found {
  static constexpr uint32_t kMaxIds = 6;  // of ids that are kept

  const int32_t* ids;  // kMaxIds may be read
  int32_t id;          // a place for a single one
  image::PathInfo info;
};
static_assert(sizeof(Found) == 16);

}  // namespace rankfeed
