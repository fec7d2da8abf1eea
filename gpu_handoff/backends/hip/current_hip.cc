// SPDX-License-Identifier: MIT
// backends/hip/current_hip.cc: how HIP makes a device current on a thread. hipSetDevice makes no
// context, so what was current can be set again.
#include <cstdio>

#include "backends/device/device.h"
#include "backends/device/vendor.h"

namespace rankfeed::handoff {
namespace {

constexpr int kUnchanged = -1;

}  // namespace

int32_t OpenVendorDevice(int ordinal, VendorDevice* out) {
  out->ordinal = ordinal;
  // The first call that needs the device makes the runtime's own context: here, not in a batch.
  int before = kUnchanged;
  int32_t rc = MakeCurrent(*out, &before);
  if (rc != RANKFEED_GPU_OK) return rc;
  const int mode = RelaxCapture();
  rc = DeviceFinish(RANKFEED_VENDOR_CALL(Free)(nullptr));
  (void)ExchangeCapture(mode);
  RestoreCurrent(*out, before);
  return rc;
}

void CloseVendorDevice(const VendorDevice&) {}

void DescribeVendorDevice(const VendorDevice& device, char* out, size_t capacity) {
  char name[64] = "", architecture[32] = "";
  if (DeviceFinish(RANKFEED_VENDOR_CALL(DeviceGetName)(name, sizeof name, device.ordinal)) !=
      RANKFEED_GPU_OK) {
    std::snprintf(out, capacity, "unknown device");
    return;
  }
  HipArchitecture(device.ordinal, architecture, sizeof architecture);
  std::snprintf(out, capacity, "%.40s, %s", name, architecture);
}

int32_t MakeCurrent(const VendorDevice& device, int* before) {
  int current = 0;
  int32_t rc = DeviceFinish(RANKFEED_VENDOR_CALL(GetDevice)(&current));
  *before = current == device.ordinal ? kUnchanged : current;
  if (rc == RANKFEED_GPU_OK && *before != kUnchanged)
    rc = DeviceFinish(RANKFEED_VENDOR_CALL(SetDevice)(device.ordinal));
  return rc;
}

void RestoreCurrent(const VendorDevice&, int before) {
  if (before != kUnchanged) (void)RANKFEED_VENDOR_CALL(SetDevice)(before);
}

}  // namespace rankfeed::handoff
