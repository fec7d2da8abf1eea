// SPDX-License-Identifier: MIT
// machine.h: the state of the fake devices, for the files of the runtime (device.cc, graph.cc).
// Everything is guarded by the machine's lock, which Call holds.
#ifndef RANKFEED_TESTS_FAKE_GPU_MACHINE_H_
#define RANKFEED_TESTS_FAKE_GPU_MACHINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fake_gpu/device.h"
#include "fake_gpu/thread_sanitizer.h"

namespace fake_gpu {

struct Work {
  const char* what;
  uint32_t delay;
  std::function<bool()> ready;  // null: at once
  std::function<void()> run;
};

// What a capture recorded, or an executable made of one.
struct Graph {
  int device = 0;
  bool alive = true, executable = false;
  std::vector<std::function<void()>> nodes;
  uint64_t launched = 0, done = 0;
};

struct Thread;
struct Stream {
  int device = 0;
  bool alive = true, implicit = false;  // implicit: nobody made it, nobody destroys it
  Graph* capture = nullptr;             // what is queued is recorded there
  Thread* capturing_thread = nullptr;
  bool capture_broken = false;
  std::deque<Work> queue;
  uint64_t stalled_until = 0;  // step
  Fibre fibre;
};

struct Event {
  int device = 0;
  bool timed = false, alive = true;
  uint64_t recorded = 0, done = 0;  // records asked for, records that came about
  uint64_t time_ns = 0;
  bool failed = false;
  Fence fence;
};

struct Machine {
  std::recursive_mutex mutex;
  fake_gpu_options options{};
  bool ready = false;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<std::unique_ptr<Graph>> graphs;
  Stream* defaults[FAKE_GPU_MAX_DEVICES] = {};
  bool context[FAKE_GPU_MAX_DEVICES] = {};
  Code sticky[FAKE_GPU_MAX_DEVICES] = {};
  uint64_t clock_ns = 0, kernels = 0, steps = 0, kernel_ns = 10000;
  std::map<std::string, uint64_t> calls;
  std::set<std::string> found;
  int capturing = 0;  // threads that capture in the global mode
  bool capture_broken = false, held = false;
  uint64_t generation = 0;
  int matmul_objects = 0;
};
Machine& M();

struct Thread {
  uint64_t generation = 0;
  std::vector<int> stack;  // current contexts; the last is current
  Code last = Code::kOk;
  int capture_mode = 0;
  std::vector<Stream*> captures;  // begun by this thread, in a mode that binds it
  bool in_host_function = false;
  Stream* streams[FAKE_GPU_MAX_DEVICES] = {};  // per-thread default streams
};
Thread& Self();

// A live stream, null being the current device's default; or null, and a finding.
Stream* Resolve(Stream* stream);
// Says so, and lets the capture of this stream, or of all that the calling thread began, fail.
void BreakCapture(Stream* stream, const char* finding, const std::string& detail);
// What is left of graphs and captures, for fake_gpu_found.
void CheckLeftGraphs();
// Queues work on a stream, or records it where the stream is captured. ready null: at once.
void Add(Stream* stream, const char* what, std::function<void()> run,
         std::function<bool()> ready = nullptr);

}  // namespace fake_gpu

#endif  // RANKFEED_TESTS_FAKE_GPU_MACHINE_H_
