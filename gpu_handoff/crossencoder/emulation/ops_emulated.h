// SPDX-License-Identifier: MIT
// crossencoder/emulation/ops_emulated.h: TEST SURFACE. The device kernels on the CPU (emulator.h).
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_OPS_EMULATED_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_OPS_EMULATED_H_

#include "crossencoder/ops.h"

namespace rankfeed::handoff {

// Same kernels, launches and element types as on a device, with the tiled GEMM; everything is done
// when a function returns. lanes: of a warp, 32 (NVIDIA) or 64 (CDNA).
const rankfeed_gpu_ops* EmulatedOps(uint32_t lanes);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_OPS_EMULATED_H_
