/* SPDX-License-Identifier: MIT
 * control.h: how tests steer the fake GPU runtime (librankfeed_fake_gpu.so) and ask what it saw.
 *
 * The runtime stands in for CUDA's and HIP's: the shipped backends run over it unchanged. Devices
 * make no progress of their own: every call of the runtime takes a few steps of a seeded scheduler,
 * so a seed repeats an interleaving, and nothing is done before somebody asks. Calls are named
 * without the vendor's prefix ("StreamWaitEvent", "LtMatmul").
 *
 * A check that fails has a name; it is printed to stderr ("fake_gpu: NAME: ..."), kept for
 * fake_gpu_found, and the call goes on as a careless device would. A program that RANKFEED_FAKE_GPU
 * steers ends with what fake_gpu_found checks. Stores and loads that memory protection catches end
 * the process with status FAKE_GPU_EXIT after printing "fake_gpu: NAME: ...". */
#ifndef RANKFEED_TESTS_FAKE_GPU_CONTROL_H_
#define RANKFEED_TESTS_FAKE_GPU_CONTROL_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/export.h"

RANKFEED_BEGIN_C

enum { FAKE_GPU_EXIT = 86, FAKE_GPU_MAX_DEVICES = 4 };

typedef struct {
  uint64_t seed;
  int32_t devices;       /* 0 .. FAKE_GPU_MAX_DEVICES */
  int32_t old_driver;    /* 1: every call answers that the driver is too old; 2: there is none */
  uint32_t latency;      /* steps that queued work waits at most before it may begin */
  uint64_t memory;       /* bytes of each device */
  int32_t hide_memory;   /* 1: device memory faults outside the device's own work */
  int32_t no_pageable;   /* 1: asynchronous copies of ordinary memory are a finding */
  int32_t no_matmul;     /* 1: the matrix library finds no algorithm */
  const char* omit;      /* this call does nothing and answers success ... */
  uint64_t omit_at;      /* ... the omit_at-th time only (from 1), or 0: always */
  const char* fail;      /* this call fails with error ... */
  uint64_t fail_at;      /* ... the fail_at-th time only (from 1), or 0: always */
  int32_t fail_error;    /* the vendor's number */
  uint64_t kernel_fault; /* this kernel (counted from 1) ends its device with a sticky error */
  uint64_t omit_barrier; /* this place of a barrier in the kernels (from 1) is passed; 0: none */
} fake_gpu_options;

/* One device, seed 1, latency 3, 1 GiB. */
RANKFEED_API void fake_gpu_defaults(fake_gpu_options* options);
/* Forgets everything: handles and memory of before are dead. Strings are borrowed until the next
 * reset. Not while another thread is in a call. */
RANKFEED_API void fake_gpu_reset(const fake_gpu_options* options);

/* The names of checks that failed since the last reset, each once, separated by '\n', in `out`;
 * returns how many. Asks for what is only known at the end too: what is left allocated. */
RANKFEED_API size_t fake_gpu_found(char* out, size_t capacity);
/* As fake_gpu_found without what is left. */
RANKFEED_API size_t fake_gpu_found_so_far(char* out, size_t capacity);
/* Calls of that name since the last reset. */
RANKFEED_API uint64_t fake_gpu_calls(const char* name);
RANKFEED_API int32_t fake_gpu_has_context(int32_t device);
/* The calling thread's current device; -1: it has none. */
RANKFEED_API int32_t fake_gpu_current(void);
RANKFEED_API void fake_gpu_make_current(int32_t device);
/* What the runtime would tell cudaGetLastError of this thread, left where it is; and a way to leave
 * one there, as another library's failed call does. */
RANKFEED_API int32_t fake_gpu_stale_error(void);
RANKFEED_API void fake_gpu_leave_error(int32_t error);
/* This thread captures a graph from now on, in the mode that forbids unsafe calls to all threads;
 * returns from end whether the capture is still good. */
RANKFEED_API void fake_gpu_capture_begin(void);
RANKFEED_API int32_t fake_gpu_capture_end(void);

/* From now on this call fails, as with the options; null: none does. */
RANKFEED_API void fake_gpu_fail(const char* call, uint64_t at, int32_t error);
/* From now on copies of ordinary memory are a finding. */
RANKFEED_API void fake_gpu_forbid_pageable(void);
/* While on, calls make no device go on; only fake_gpu_run and waits do. */
RANKFEED_API void fake_gpu_hold(int32_t on);
/* The memory policy (mode and nodes below 64) that the thread had which last allocated page-locked
 * memory, then; mode -1: none was allocated, or the kernel does not say. */
RANKFEED_API void fake_gpu_host_policy(int32_t* mode, uint64_t* nodes);
/* Runs up to count pieces of work of a stream; null: the default stream. */
RANKFEED_API void fake_gpu_run(void* stream, uint32_t count);
/* What a kernel takes from now on by the devices' clock; 10,000 before. */
RANKFEED_API void fake_gpu_kernel_ns(uint64_t ns);
/* Runs what is queued on all devices. */
RANKFEED_API void fake_gpu_run_all(void);

RANKFEED_END_C

#endif /* RANKFEED_TESTS_FAKE_GPU_CONTROL_H_ */
