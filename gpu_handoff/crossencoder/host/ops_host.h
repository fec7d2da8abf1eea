// SPDX-License-Identifier: MIT
// crossencoder/host/ops_host.h: the cross-encoder's operations on the CPU; the oracle of the device
// kernels.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_OPS_HOST_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_OPS_HOST_H_

#include "crossencoder/ops.h"

namespace rankfeed::handoff {

// float32 only; ctx and stream are not used, everything is done when a function returns. Any
// thread; scratch must be the caller's own.
const rankfeed_gpu_ops* HostOps();

// The same, but products round their operands to bfloat16 (bfloat16.h). Null where
// the CPU has no such products.
const rankfeed_gpu_ops* HostOpsBfloat16();

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_OPS_HOST_H_
