// SPDX-License-Identifier: MIT
// backends/device/device.h: what the files of a vendor's library share; no vendor header is needed.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_DEVICE_DEVICE_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_DEVICE_DEVICE_H_

#include <cstdint>

#include "backend.h"

namespace rankfeed::handoff {

// The kernels that this library is linked with (crossencoder/kernels/ops_device.cu).
const rankfeed_gpu_ops* DeviceOps();

// While one of these lives, the context's device is current on the calling thread and what a graph
// capture forbids other threads is allowed here; afterwards the thread is as it was.
class DeviceScope {
 public:
  explicit DeviceScope(void* ctx);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  int32_t rc() const { return rc_; }  // 0 or why it could not be made current

 private:
  void* ctx_;
  int32_t rc_;
  int before_ = 0, mode_ = 0;  // of before
};

// The thread's capture mode to the one that forbids nothing, or to the one given; the one before.
int RelaxCapture();
int ExchangeCapture(int mode);

// An error number of the runtime as the backend reports it (backend.h). DeviceFinish also clears
// the error that the runtime keeps for the next caller, unless it is one that sticks.
int32_t DeviceResult(int error);
int32_t DeviceFinish(int error);

// State of the kernels' side in a context; close, if any, is called before the device is
// closed.
struct Attachment {
  void* object = nullptr;
  void (*close)(void* ctx) = nullptr;
};
Attachment& AttachedTo(void* ctx);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_DEVICE_DEVICE_H_
