/* SPDX-License-Identifier: MIT
 * backend.h: what the ring asks of a vendor's runtime, as one C table of functions. The host, CUDA
 * and HIP backends each provide one; each lives in a library of its own, and only their own files
 * see vendor headers.
 *
 * Results are the vendor's error numbers: 0 success, positive = vendor error (cudaError_t,
 * hipError_t, errno for the host), plus the negative ones below. The ring turns them into statuses
 * and keeps the number for rankfeed_handoff_stats.last_device_error.
 *
 * Contract for every function: any thread, also concurrently on the same stream or event (as the
 * CUDA and HIP runtimes allow); no exception; nothing but stream_synchronize, the frees and the
 * destroys may wait for a device. The calling thread's current device is afterwards what it was, a
 * thread that has none has none, and a graph that another thread captures meanwhile is not harmed.
 *
 *  table entry          CUDA                                    HIP
 *  page_lock            cudaHostAlloc(Portable|Mapped)          hipHostMalloc(Portable|Mapped)
 *  stream_create        cudaStreamCreateWithFlags(NonBlocking)  hipStreamCreateWithFlags
 *  copy_async           cudaMemcpyAsync(cudaMemcpyDefault)      hipMemcpyAsync(hipMemcpyDefault)
 *  event_create         cudaEventCreateWithFlags(DisableTiming) hipEventCreateWithFlags
 *  event_record/query   cudaEventRecord/Query                   hipEventRecord/Query
 *  stream_wait_event    cudaStreamWaitEvent                     hipStreamWaitEvent
 *  event_elapsed        cudaEventElapsedTime                    hipEventElapsedTime
 *  launch_host          cudaLaunchHostFunc                      hipStreamAddCallback
 *  pci_bus_id           cudaDeviceGetPCIBusId                   hipDeviceGetPCIBusId
 *  capture_begin        cudaStreamBeginCapture(ThreadLocal)     hipStreamBeginCapture
 *  capture_end          cudaStreamEndCapture, cudaGraphInstantiateWithFlags, and of HIP likewise
 *  graph_launch         cudaGraphLaunch                         hipGraphLaunch
 *  graph_destroy        cudaGraphExecDestroy                    hipGraphExecDestroy */
#ifndef RANKFEED_GPU_HANDOFF_BACKEND_H_
#define RANKFEED_GPU_HANDOFF_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/handoff.h"

RANKFEED_BEGIN_C

enum { RANKFEED_GPU_BACKEND_ABI = 4 };

struct rankfeed_gpu_ops; /* crossencoder/ops.h */

enum {
  RANKFEED_GPU_OK = 0,
  RANKFEED_GPU_NOT_READY = -1, /* event_query: work before the event is still running */
  RANKFEED_GPU_NO_MEMORY = -2, /* allocation of any kind failed for want of memory */
  RANKFEED_GPU_NO_DEVICE = -3, /* no runtime, no driver, or no such device; nothing else */
  RANKFEED_GPU_INVALID = -4,   /* argument the vendor's runtime would not be asked about */
  RANKFEED_GPU_OLD_DRIVER = -5 /* there is a driver, older than this backend's runtime needs */
};

/* Page-locked memory. The backend fills it in page_lock and gets it back in page_unlock. */
typedef struct {
  void* host;   /* aligned to 256 bytes at least, zeroed */
  void* mapped; /* address for the device to read it without a copy, or null */
  size_t bytes;
  uint32_t locked; /* 0: ordinary memory was all there was, lock_error and note say why */
  int32_t lock_error;
  const char* note; /* static string or null */
  void* owner;      /* the backend's own use */
} rankfeed_gpu_host_block;

struct rankfeed_gpu_backend {
  uint32_t struct_size;
  uint32_t abi;                /* RANKFEED_GPU_BACKEND_ABI */
  const char* name;            /* "host", "cuda", "hip"; static */
  int32_t dl_host_device_type; /* DLPack device type of page_lock memory */
  int32_t dl_device_type;      /* DLPack device type of device_alloc memory */
  void* self;                  /* passed to the functions that have no context yet */

  int32_t (*device_count)(void* self, int32_t* count);
  /* A context belongs to one device; all later calls take it, so that a backend can select the
   * device (cudaSetDevice) on whatever thread it is called. */
  int32_t (*device_open)(void* self, int32_t device, void** ctx);
  void (*device_close)(void* ctx);
  /* Writes at most capacity bytes, NUL included: model name and what is worth knowing. */
  void (*describe)(void* ctx, char* out, size_t capacity);

  /* Memory of the ring's own bookkeeping, aligned to 64. Both null: the C heap's. */
  void* (*control_alloc)(void* ctx, size_t bytes);
  void (*control_free)(void* ctx, void* memory);

  /* flags: 0, for later kinds of page-locked memory. */
  int32_t (*page_lock)(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out);
  /* Must not give memory back while a queued copy still touches it (cudaFreeHost waits for the
   * device): quarantined slots rely on it when a ring is closed. */
  void (*page_unlock)(void* ctx, rankfeed_gpu_host_block* block);
  int32_t (*device_alloc)(void* ctx, size_t bytes, void** out); /* aligned to 256 */
  void (*device_free)(void* ctx, void* memory);

  int32_t (*stream_create)(void* ctx, void** stream);
  void (*stream_destroy)(void* ctx, void* stream);
  int32_t (*stream_synchronize)(void* ctx, void* stream);
  /* Runs function(argument) in stream order; it must not call back into the backend. */
  int32_t (*launch_host)(void* ctx, void* stream, void (*function)(void*), void* argument);

  /* Queues a copy between any two memories of this backend and returns. When it fails, nothing was
   * queued. */
  int32_t (*copy_async)(void* ctx, void* dst, const void* src, size_t bytes, void* stream);

  int32_t (*event_create)(void* ctx, void** event);
  void (*event_destroy)(void* ctx, void* event);
  /* Replaces what the event stood for. Waits queued earlier keep the earlier meaning. */
  int32_t (*event_record)(void* ctx, void* event, void* stream);
  /* OK: everything before the last record is done, or there was none; NOT_READY; or the error
   * that work ended with. */
  int32_t (*event_query)(void* ctx, void* event);
  int32_t (*stream_wait_event)(void* ctx, void* stream, void* event);

  /* Events that keep the time of their record on the device's clock, for measuring; destroyed by
   * event_destroy, recorded and queried as others. They cost more than those of event_create. */
  int32_t (*event_create_timed)(void* ctx, void** event);
  /* Nanoseconds between the last records of two timed events; 0 when end came before begin.
   * NOT_READY: one of them has not completed, or was never recorded. */
  int32_t (*event_elapsed)(void* ctx, void* begin, void* end, uint64_t* ns);

  /* Kernels of the cross-encoder (rankfeed/crossencoder.h), for this backend's contexts and
   * streams; null: none. The host backend's are part of the library rankfeed_crossencoder. */
  const struct rankfeed_gpu_ops* ops;

  /* Writes the device's PCI bus id ("0000:af:00.0"), NUL included, at most capacity bytes; the ring
   * finds the memory node beside the device by it. Null: the device has none. */
  int32_t (*pci_bus_id)(void* ctx, char* out, size_t capacity);
  /* Graphs: work that is recorded once and then queued with one call. All four null: none.
   *
   * Work this thread queues on `stream` from now on is recorded and does not run, until capture_end
   * on the same thread. What other threads call is not restricted. No event may be recorded there,
   * nothing may wait for the stream. On failure nothing has changed. */
  int32_t (*capture_begin)(void* ctx, void* stream);
  /* Ends the capture, whatever became of it. *graph: what was recorded, ready to be launched; null
   * on failure, and where graph is null it is thrown away. Allocates. */
  int32_t (*capture_end)(void* ctx, void* stream, void** graph);
  /* Queues all that was recorded, any number of times; launches of one graph run one after the
   * other. When it fails, nothing was queued. */
  int32_t (*graph_launch)(void* ctx, void* graph, void* stream);
  /* Its launches have completed. */
  void (*graph_destroy)(void* ctx, void* graph);
};

RANKFEED_END_C

#endif /* RANKFEED_GPU_HANDOFF_BACKEND_H_ */
