// SPDX-License-Identifier: MIT
// crossencoder/kernels/gemm_device.h: matrix products of an opened device by its vendor's library.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_GEMM_DEVICE_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_GEMM_DEVICE_H_

#include <cstdint>

#include "crossencoder/ops.h"

namespace rankfeed::handoff {

// Loads the library and makes its handle, once for a context, which closes it. Without the library,
// or before, products are RANKFEED_GPU_TILED.
int32_t OpenDeviceGemm(void* ctx);
int32_t DeviceGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op);
void DescribeDeviceGemm(void* ctx, char* out, uint64_t capacity);
uint64_t DeviceGemmScratch(void* ctx);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_GEMM_DEVICE_H_
