// SPDX-License-Identifier: MIT
// backends/vendors.h: the vendors whose runtimes there are backends over. This is the one list:
// CMake reads it too (a vendor a line, in this form), and tests/contract/backend_places_test.cmake
// looks for each of them in every place that a backend needs.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_VENDORS_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_VENDORS_H_

#include <type_traits>

#include "rankfeed/handoff.h"

#define RANKFEED_GPU_VENDORS(X) \
  X(cuda)                       \
  X(hip)

namespace rankfeed::handoff {

// Names that --device and the like take.
#define RANKFEED_GPU_VENDOR_NAME(vendor) #vendor,
inline constexpr const char* kBackendNames[] = {"host",
                                                RANKFEED_GPU_VENDORS(RANKFEED_GPU_VENDOR_NAME)};
#undef RANKFEED_GPU_VENDOR_NAME

#define RANKFEED_GPU_VENDOR_IS_PUBLIC(vendor)                                  \
  static_assert(std::is_same_v<decltype(&rankfeed_handoff_##vendor##_backend), \
                               decltype(&rankfeed_handoff_host_backend)>);
RANKFEED_GPU_VENDORS(RANKFEED_GPU_VENDOR_IS_PUBLIC)
#undef RANKFEED_GPU_VENDOR_IS_PUBLIC

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_VENDORS_H_
