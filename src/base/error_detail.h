// SPDX-License-Identifier: MIT
// base/error_detail.h: filling the caller's optional rankfeed_error_detail.
#pragma once

#include <cstdint>

#include "rankfeed/status.h"

namespace rankfeed {

// Returns code, so that `return Fail(detail, ...)` reads as one statement. Fields beyond the
// caller's struct_size are not touched.
inline rankfeed_status Fail(rankfeed_error_detail* detail, rankfeed_status code,
                            uint64_t byte_offset = 0, uint32_t section = 0, uint32_t item = 0) {
  if (detail != nullptr && detail->struct_size >= sizeof(rankfeed_error_detail)) {
    detail->code = code;
    detail->byte_offset = byte_offset;
    detail->section = section;
    detail->item = item;
  }
  return code;
}

}  // namespace rankfeed
