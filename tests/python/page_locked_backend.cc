// SPDX-License-Identifier: MIT
// python/page_locked_backend.cc: the host backend under CUDA's name, whose memory says that it is page-locked. With it
// the package's way to a vendor's backend is tested on machines without a GPU: found by name through the loader's path,
// tensors that say kDLCUDAHost. Not a stand-in for a device: nothing here is copied to one.
#include "backend.h"

namespace {

const rankfeed_gpu_backend* Host() { return rankfeed_handoff_host_backend(); }

int32_t PageLock(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out) {
  const int32_t result = Host()->page_lock(ctx, bytes, flags, out);
  if (result == RANKFEED_GPU_OK) {
    out->locked = 1;
    out->lock_error = 0;
    out->note = nullptr;
  }
  return result;
}

}  // namespace

extern "C" RANKFEED_API const rankfeed_gpu_backend* rankfeed_handoff_cuda_backend(void) {
  static const rankfeed_gpu_backend table = [] {
    rankfeed_gpu_backend t = *Host();
    t.name = "cuda";
    t.dl_host_device_type = 3;  // kDLCUDAHost
    t.dl_device_type = 2;       // kDLCUDA
    t.page_lock = PageLock;
    return t;
  }();
  return &table;
}
