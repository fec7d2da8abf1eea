// SPDX-License-Identifier: MIT
// backends/host/backend_host.h: the host backend as an object. Programs use the one of
// rankfeed_handoff_host_backend(); tests make their own, with several "devices" and a script.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_HOST_BACKEND_HOST_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_HOST_BACKEND_HOST_H_

#include <map>
#include <memory>
#include <mutex>

#include "backend.h"
#include "backends/host/host_stream.h"

namespace rankfeed::handoff {

// Internally synchronised. Must outlive its rings, streams and memory.
class HostBackend {
 public:
  // script is borrowed and may be null. devices >= 1.
  explicit HostBackend(int32_t devices = 1, HostScript* script = nullptr);
  ~HostBackend();
  HostBackend(const HostBackend&) = delete;
  HostBackend& operator=(const HostBackend&) = delete;

  const rankfeed_gpu_backend* table() const { return &table_; }

 private:
  friend struct HostTable;  // the table's functions, backend_host.cc
  HostStream* StreamOf(int32_t device, void* stream);

  rankfeed_gpu_backend table_;
  HostScript* const script_;
  const int32_t devices_;
  PendingCopies pending_;
  std::mutex mutex_;
  std::map<void*, size_t> memory_;                           // device_alloc sizes
  std::map<int32_t, std::unique_ptr<HostStream>> default_stream_;  // per device, made at first use
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_HOST_BACKEND_HOST_H_
