// SPDX-License-Identifier: MIT
// device.h: what the CUDA and HIP faces of the fake runtime share: devices, streams and events with
// a scheduler, and memory with checks (memory.h).
//
// A stream is a queue. Work is done in Step(), which takes the head of a random stream that may
// run; every call of the runtime takes a few steps first. One lock, which
// ThreadSanitizer does not see, guards all state; it sees the runtime's promises: queueing orders the
// host before the work, an event's record orders what came before it on the stream before whoever
// waits, queries it or synchronizes. Each stream is a fibre of its own to it.
#ifndef RANKFEED_TESTS_FAKE_GPU_DEVICE_H_
#define RANKFEED_TESTS_FAKE_GPU_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "fake_gpu/control.h"

namespace fake_gpu {

enum class Code {
  kOk,
  kNotReady,
  kInvalidValue,
  kInvalidHandle,
  kInvalidDevice,
  kNoDevice,
  kOldDriver,
  kOutOfMemory,
  kLaunchConfiguration,
  kInvalidFunction,
  kCaptureUnsupported,
  kCaptureInvalidated,
  kCaptureWrongThread,
  kIllegalState,
  kIllegalAddress,
  kInjected,  // options.fail_error
};

const fake_gpu_options& Options();

// A check failed.
void Found(const char* name, const std::string& detail);

// Runs one call of the runtime: counts it, leaves it out or fails it where the options say so,
// steps the scheduler, and keeps the thread's last error. unsafe: forbidden while another thread
// captures, unless this thread relaxed its mode.
enum class Safety { kSafe, kUnsafe };
Code Call(const char* name, Safety safety, const std::function<Code()>& body);

// Everything below: inside Call.
Code DeviceCount(int* count);
Code GetDevice(int* device);
Code SetDevice(int device);
int CurrentDevice();
Code PciBusId(char* out, size_t capacity, int device);
// Pushes the device's context on the thread's stack, as cuCtxPushCurrent does; pops.
Code PushContext(int device);
Code PopContext();
void EnsureContext(int device);

struct Stream;
struct Event;
Code StreamCreate(Stream** out);
Code StreamDestroy(Stream* stream);
Stream* ThreadStream();  // the calling thread's default stream on its current device
Code StreamSynchronize(Stream* stream);  // null: the current device's default stream
Code LaunchHost(Stream* stream, std::function<void()> function);
Code EventCreate(bool timed, Event** out);
Code EventDestroy(Event* event);
Code EventRecord(Event* event, Stream* stream);
Code EventQuery(Event* event);
Code EventElapsed(Event* begin, Event* end, float* ms);
Code StreamWaitEvent(Stream* stream, Event* event);
// Queues work that a device does. what: for messages.
Code Enqueue(Stream* stream, const char* what, std::function<void()> work);
int DeviceOf(Stream* stream);  // -1: not a live stream
// Runs everything queued on a device, as frees do.
void Drain(int device);

struct Grid {
  uint32_t x, y, z, threads_x, threads_y, threads_z;
  size_t shared_bytes;
};
// function: a kernel's name as the vendor's compiler mangled it. 2^32 threads is HIP's limit.
Code LaunchKernel(const char* function, const Grid& grid, void** arguments, Stream* stream,
                  bool hip);

// Graphs (graph.cc). mode: 0 global, 1 thread local, 2 relaxed. A captured stream is not waited
// for, no event is recorded on it, and copies of ordinary memory are not recorded.
struct Graph;
Code StreamBeginCapture(Stream* stream, int mode);
Code StreamEndCapture(Stream* stream, Graph** out);
bool IsCapturing(Stream* stream);
Code GraphInstantiate(Graph* graph, Graph** executable);
Code GraphLaunch(Graph* executable, Stream* stream);
// executable: which of the two kinds it shall be.
Code GraphDestroy(Graph* graph, bool executable);

// Handles, descriptions, layouts and preferences of the matrix libraries that are alive.
void CountMatmulObjects(int by);

// The thread's last error: returned and forgotten, unless its device's error sticks.
Code TakeLastError();
// 0 global, 1 thread local, 2 relaxed; returns the mode before.
int ExchangeCaptureMode(int mode);

}  // namespace fake_gpu

#endif  // RANKFEED_TESTS_FAKE_GPU_DEVICE_H_
