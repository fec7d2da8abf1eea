// SPDX-License-Identifier: MIT
// device.cc: see device.h.
#include "fake_gpu/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "fake_gpu/kernels.h"
#include "fake_gpu/machine.h"
#include "fake_gpu/memory.h"
#include "fake_gpu/thread_sanitizer.h"

namespace fake_gpu {
namespace {

// Of a program that RANKFEED_FAKE_GPU steers: it says what it has left when it exits.
__attribute__((destructor)) void AtExit() {
  char names[2048];
  if (std::getenv("RANKFEED_FAKE_GPU") != nullptr) (void)fake_gpu_found(names, sizeof names);
}

}  // namespace

Machine& M() {
  static Machine* const machine = new Machine;  // outlives what static destructors call
  return *machine;
}

namespace {
thread_local Thread thread;
}  // namespace

Thread& Self() {
  if (thread.generation != M().generation) {
    thread = Thread();
    thread.generation = M().generation;
  }
  return thread;
}

namespace {

// RANKFEED_FAKE_GPU="devices=2,seed=7,latency=9,omit=Free": for programs that know nothing of this
// header.
void ReadEnvironment(fake_gpu_options* options) {
  const char* text = std::getenv("RANKFEED_FAKE_GPU");
  std::istringstream parts(text == nullptr ? "" : text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const uint64_t value =
        equals == std::string::npos ? 1 : std::strtoull(part.c_str() + equals + 1, nullptr, 10);
    const std::string name = part.substr(0, equals);
    if (name == "devices") options->devices = static_cast<int32_t>(value);
    if (name == "seed") options->seed = value;
    if (name == "latency") options->latency = static_cast<uint32_t>(value);
    if (name == "memory") options->memory = value;
    if (name == "old_driver") options->old_driver = static_cast<int32_t>(value);
    if (name == "no_matmul") options->no_matmul = static_cast<int32_t>(value);
    if (name == "kernel_fault") options->kernel_fault = value;
    if (name == "omit") {
      static std::string omitted;  // options borrow it
      omitted = part.substr(std::min(equals, part.size() - 1) + 1);
      options->omit = omitted.c_str();
    }
  }
}

void Reset(const fake_gpu_options* options) {
  Machine& m = M();
  if (options != nullptr) {
    m.options = *options;
  } else {
    fake_gpu_defaults(&m.options);
    ReadEnvironment(&m.options);
  }
  m.random.seed(m.options.seed);
  m.streams.clear();
  m.events.clear();
  m.graphs.clear();
  std::fill(std::begin(m.defaults), std::end(m.defaults), nullptr);
  std::fill(std::begin(m.context), std::end(m.context), false);
  std::fill(std::begin(m.sticky), std::end(m.sticky), Code::kOk);
  m.kernels = 0;
  m.kernel_ns = 10000;
  m.matmul_objects = 0;
  m.calls.clear();
  m.found.clear();
  m.capturing = 0;
  m.capture_broken = m.held = false;
  ++m.generation;
  ForgetMemory();
  OmitBarrier(static_cast<int>(m.options.omit_barrier) - 1);
  if (!m.ready) InstallFaultHandler();
  m.ready = true;
}

// The lock, unseen by ThreadSanitizer.
class Locked {
 public:
  Locked() {
    M().mutex.lock();
    if (!M().ready) Reset(nullptr);
  }
  ~Locked() { M().mutex.unlock(); }

 private:
  Unseen unseen_;
};

Stream* Implicit(Stream** place, int device) {
  if (*place == nullptr) {
    M().streams.push_back(std::make_unique<Stream>());
    *place = M().streams.back().get();
    (*place)->device = device;
    (*place)->implicit = true;
  }
  return *place;
}

}  // namespace

Stream* Resolve(Stream* stream) {
  Machine& m = M();
  if (stream == nullptr) {
    const int device = CurrentDevice();
    EnsureContext(device);
    return Implicit(&m.defaults[device], device);
  }
  for (const auto& known : m.streams) {
    if (known.get() == stream && known->alive) return stream;
  }
  Found("stream-not-alive", "a stream that was destroyed or never made");
  return nullptr;
}

namespace {

bool Alive(Event* event, const char* what) {
  for (const auto& known : M().events) {
    if (known.get() == event && known->alive) return true;
  }
  Found("event-not-alive", std::string(what) + " of an event that was destroyed or never made");
  return false;
}

bool Runnable(const Stream& stream) {
  return !stream.queue.empty() && (!stream.queue.front().ready || stream.queue.front().ready());
}

void RunHead(Stream& stream) {
  Machine& m = M();
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  m.clock_ns += 2000 + m.random() % 3000;
  if (m.sticky[stream.device] != Code::kOk && work.what[0] != '(') return;
  ShowDeviceMemory(true);
  {
    const OnFibre on(stream.fibre);
    work.run();
  }
  ShowDeviceMemory(false);
}

// One step; false when nothing could be done. A stream may stall, so that another overtakes it;
// whoever waits (hurry) gets stalled work done when there is no other.
bool Step(bool hurry = false, Stream* only = nullptr) {
  Machine& m = M();
  if (m.held && !hurry) return false;
  ++m.steps;
  std::vector<Stream*> able, stalled;
  for (const auto& stream : m.streams) {
    if ((only != nullptr && stream.get() != only) || !Runnable(*stream)) continue;
    (stream->stalled_until > m.steps ? stalled : able).push_back(stream.get());
  }
  if (able.empty() && hurry) able = stalled;
  if (able.empty()) return false;
  Stream& stream = *able[m.random() % able.size()];
  if (stream.queue.front().delay > 0) {
    --stream.queue.front().delay;
    m.clock_ns += 500;
  } else {
    RunHead(stream);
  }
  return true;
}

}  // namespace

void Add(Stream* stream, const char* what, std::function<void()> run, std::function<bool()> ready) {
  Machine& m = M();
  if (stream->capture != nullptr) {
    if (ready != nullptr || what[0] == '(') {
      BreakCapture(stream, "event-in-capture", std::string(what) + " on a stream that is captured");
    } else {
      stream->capture->nodes.push_back(std::move(run));
    }
    return;
  }
  const auto delay = static_cast<uint32_t>(m.random() % (uint64_t{m.options.latency} + 1));
  stream->queue.push_back({what, delay, std::move(ready), std::move(run)});
  if (m.random() % 8 == 0)
    stream->stalled_until = m.steps + m.random() % (uint64_t{m.options.latency} * 10 + 1);
  stream->fibre.HostQueued();
}

namespace {

bool OmitOrFail(const char* wanted, uint64_t at, const char* name, uint64_t count) {
  return wanted != nullptr && std::strcmp(wanted, name) == 0 && (at == 0 || at == count);
}

}  // namespace

const fake_gpu_options& Options() {
  return M().options;
}

void Found(const char* name, const std::string& detail) {
  if (M().found.insert(name).second) {
    std::fprintf(stderr, "fake_gpu: %s: %s\n", name, detail.c_str());
  }
}

Code Call(const char* name, Safety safety, const std::function<Code()>& body) {
  if (thread.in_host_function) {
    Found("call-in-host-function", std::string(name) + " from a function queued on a stream");
    return Code::kInvalidValue;
  }
  const Locked locked;
  Machine& m = M();
  Thread& self = Self();
  const fake_gpu_options& o = m.options;
  const uint64_t count = ++m.calls[name];
  if (OmitOrFail(o.omit, o.omit_at, name, count)) return Code::kOk;
  Code code = Code::kOk;
  if (o.old_driver != 0) {
    code = Code::kOldDriver;
  } else if (OmitOrFail(o.fail, o.fail_at, name, count)) {
    code = Code::kInjected;
  } else if (safety == Safety::kUnsafe && m.capturing != 0 && self.capture_mode == 0) {
    Found("unsafe-call-during-capture", std::string(name) + " while a thread captures a graph");
    m.capture_broken = true;
    code = Code::kCaptureUnsupported;
  } else if (safety == Safety::kUnsafe && !self.captures.empty() && self.capture_mode != 2) {
    BreakCapture(nullptr, "unsafe-call-during-capture",
                 std::string(name) + " by the thread that captures");
    code = Code::kCaptureUnsupported;
  } else {
    for (uint64_t steps = m.random() % 3; steps > 0; --steps) Step();
    code = m.sticky[CurrentDevice()];
    if (code == Code::kOk || safety == Safety::kSafe) code = body();
  }
  if (code != Code::kOk) self.last = code;
  return code;
}

Code TakeLastError() {
  Thread& self = Self();
  const Code code = self.last;
  self.last = Code::kOk;
  const Code sticky = M().sticky[CurrentDevice()];
  return sticky != Code::kOk ? sticky : code;
}

int ExchangeCaptureMode(int mode) {
  const int before = Self().capture_mode;
  Self().capture_mode = mode;
  return before;
}

void CountMatmulObjects(int by) {
  M().matmul_objects += by;
}

Code DeviceCount(int* count) {
  *count = M().options.devices;
  return *count == 0 ? Code::kNoDevice : Code::kOk;
}

int CurrentDevice() {
  const Thread& self = Self();
  return self.stack.empty() ? 0 : self.stack.back();
}
Code GetDevice(int* device) {
  *device = CurrentDevice();
  return Code::kOk;
}
// In capitals, as CUDA writes it; sysfs has small letters.
Code PciBusId(char* out, size_t capacity, int device) {
  if (device < 0 || device >= M().options.devices) return Code::kInvalidDevice;
  std::snprintf(out, capacity, "0000:A%d:00.0", device);
  return Code::kOk;
}
Code SetDevice(int device) {
  if (device < 0 || device >= M().options.devices) return Code::kInvalidDevice;
  Thread& self = Self();
  if (self.stack.empty()) self.stack.push_back(device);
  self.stack.back() = device;
  EnsureContext(device);  // since CUDA 12 (cudaSetDevice)
  return M().sticky[device];
}
Code PushContext(int device) {
  if (device < 0 || device >= M().options.devices || !M().context[device])
    return Code::kInvalidValue;
  Self().stack.push_back(device);
  return Code::kOk;
}
Code PopContext() {
  if (Self().stack.empty()) return Code::kInvalidValue;
  Self().stack.pop_back();
  return Code::kOk;
}
void EnsureContext(int device) {
  M().context[device] = true;
}

Code StreamCreate(Stream** out) {
  EnsureContext(CurrentDevice());
  M().streams.push_back(std::make_unique<Stream>());
  *out = M().streams.back().get();
  (*out)->device = CurrentDevice();
  return Code::kOk;
}

// Work that was queued goes on (cudaStreamDestroy).
Code StreamDestroy(Stream* stream) {
  if (Resolve(stream) == nullptr) return Code::kInvalidHandle;
  stream->alive = false;
  return Code::kOk;
}

Stream* ThreadStream() {
  const int device = CurrentDevice();
  EnsureContext(device);
  return Implicit(&Self().streams[device], device);
}

Code StreamSynchronize(Stream* stream) {
  stream = Resolve(stream);
  if (stream == nullptr) return Code::kInvalidHandle;
  if (stream->capture != nullptr) {
    BreakCapture(stream, "wait-in-capture", "a stream that is captured was waited for");
    return Code::kCaptureUnsupported;
  }
  while (!stream->queue.empty()) {
    // Other streams go on too, and may have to.
    if (!Step(true)) {
      Found("wait-without-end", "a stream waits for what nobody queued");
      return Code::kIllegalAddress;
    }
  }
  stream->fibre.HostSawEnd();
  return M().sticky[stream->device];
}

int DeviceOf(Stream* stream) {
  stream = Resolve(stream);
  return stream == nullptr ? -1 : stream->device;
}

void Drain(int device) {
  Machine& m = M();
  const auto pending = [&] {
    return std::any_of(m.streams.begin(), m.streams.end(),
                       [&](const auto& s) { return s->device == device && !s->queue.empty(); });
  };
  while (pending() && Step(true)) {
  }
  for (const auto& stream : m.streams) {
    if (stream->device == device) stream->fibre.HostSawEnd();
  }
}

Code Enqueue(Stream* stream, const char* what, std::function<void()> work) {
  stream = Resolve(stream);
  if (stream == nullptr) return Code::kInvalidHandle;
  Add(stream, what, std::move(work));
  return Code::kOk;
}

Code LaunchHost(Stream* stream, std::function<void()> function) {
  return Enqueue(stream, "host function", [function = std::move(function)] {
    ShowDeviceMemory(false);
    thread.in_host_function = true;
    function();
    thread.in_host_function = false;
  });
}

Code EventCreate(bool timed, Event** out) {
  EnsureContext(CurrentDevice());
  M().events.push_back(std::make_unique<Event>());
  *out = M().events.back().get();
  (*out)->device = CurrentDevice();
  (*out)->timed = timed;
  return Code::kOk;
}

// Records and waits that are queued go on (cudaEventDestroy): the object stays.
Code EventDestroy(Event* event) {
  if (!Alive(event, "destroy")) return Code::kInvalidHandle;
  event->alive = false;
  return Code::kOk;
}

Code EventRecord(Event* event, Stream* stream) {
  stream = Resolve(stream);
  if (stream == nullptr || !Alive(event, "record")) return Code::kInvalidHandle;
  if (event->device != stream->device) {
    Found("event-of-other-device", "record on a stream of another device than the event's");
    return Code::kInvalidHandle;
  }
  const uint64_t number = ++event->recorded;
  Add(stream, "(record)", [event, number] {
    Machine& m = M();
    event->done = std::max(event->done, number);
    event->time_ns = m.clock_ns;
    event->failed = m.sticky[event->device] != Code::kOk;
    event->fence.Signal();
  });
  return Code::kOk;
}

Code EventQuery(Event* event) {
  EnsureContext(CurrentDevice());
  if (!Alive(event, "query")) return Code::kInvalidHandle;
  Step();
  if (event->done < event->recorded) return Code::kNotReady;
  event->fence.Wait();
  return event->failed ? M().sticky[event->device] : Code::kOk;
}

Code EventElapsed(Event* begin, Event* end, float* ms) {
  EnsureContext(CurrentDevice());
  for (Event* event : {begin, end}) {
    if (!Alive(event, "elapsed time")) return Code::kInvalidHandle;
    if (!event->timed) {
      Found("elapsed-of-untimed-event", "elapsed time of an event made without timing");
      return Code::kInvalidHandle;
    }
    if (event->recorded == 0) return Code::kInvalidHandle;
    if (event->done < event->recorded) return Code::kNotReady;
  }
  *ms = static_cast<float>(
      (static_cast<double>(end->time_ns) - static_cast<double>(begin->time_ns)) / 1e6);
  return Code::kOk;
}

Code StreamWaitEvent(Stream* stream, Event* event) {
  stream = Resolve(stream);
  if (stream == nullptr || !Alive(event, "wait")) return Code::kInvalidHandle;
  // What was recorded by now; nothing: no wait.
  Add(
      stream, "(wait)", [event] { event->fence.Wait(); },
      [event, number = event->recorded] { return event->done >= number; });
  return Code::kOk;
}

Code LaunchKernel(const char* function, const Grid& grid, void** arguments, Stream* stream,
                  bool hip) {
  const uint32_t lanes = hip ? 64 : 32;
  const EmulatedKernel* kernel = FindKernel(function, lanes);
  if (kernel == nullptr) {
    Found("unknown-kernel", function);
    return Code::kInvalidFunction;
  }
  const uint64_t threads = uint64_t{grid.threads_x} * grid.threads_y * grid.threads_z;
  if (grid.x == 0 || grid.y == 0 || grid.z != 1 || threads == 0 || threads > 1024 ||
      grid.x > 0x7fffffffu || grid.y > 65535 || grid.shared_bytes > 48 * 1024 ||
      (hip && uint64_t{grid.x} * grid.threads_x > 0xffffffffu)) {
    Found("launch-limits", kernel->name + ": grid " + std::to_string(grid.x) + " x " +
                               std::to_string(grid.y) + " of " + std::to_string(threads));
    return Code::kLaunchConfiguration;
  }
  Stream* const known = Resolve(stream);
  if (known == nullptr) return Code::kInvalidHandle;
  if (known->device != CurrentDevice()) {
    Found("launch-on-other-device", kernel->name + " while another device is current");
    return Code::kInvalidHandle;
  }
  // Copied when launched, as the runtime does.
  auto values = std::make_shared<std::vector<std::vector<char>>>();
  for (size_t i = 0; i < kernel->argument_bytes.size(); ++i) {
    const char* from = static_cast<const char*>(arguments[i]);
    values->emplace_back(from, from + kernel->argument_bytes[i]);
  }
  Add(known, "kernel", [kernel, grid, lanes, values, device = known->device] {
    Machine& m = M();
    if (++m.kernels == m.options.kernel_fault) {
      m.sticky[device] = Code::kIllegalAddress;
      return;
    }
    std::vector<void*> pointers;
    for (auto& value : *values) pointers.push_back(value.data());
    try {
      RunKernel(*kernel, grid.x, grid.y, grid.threads_x, lanes, grid.shared_bytes, pointers.data());
    } catch (const std::exception& failure) {
      Found("kernel", kernel->name + ": " + failure.what());
    }
    m.clock_ns += m.kernel_ns;
  });
  return Code::kOk;
}

}  // namespace fake_gpu

using namespace fake_gpu;

extern "C" {

void fake_gpu_defaults(fake_gpu_options* options) {
  *options = {};
  options->seed = 1;
  options->devices = 1;
  options->latency = 3;
  options->memory = 1u << 30;
}

void fake_gpu_reset(const fake_gpu_options* options) {
  const Unseen unseen;
  const std::lock_guard lock(M().mutex);
  Reset(options);
}

size_t fake_gpu_found_so_far(char* out, size_t capacity) {
  const Locked locked;
  std::string text;
  for (const std::string& name : M().found) text += (text.empty() ? "" : "\n") + name;
  if (capacity != 0) {
    const size_t size = std::min(capacity - 1, text.size());
    std::memcpy(out, text.data(), size);
    out[size] = '\0';
  }
  return M().found.size();
}

size_t fake_gpu_found(char* out, size_t capacity) {
  {
    const Locked locked;
    Machine& m = M();
    for (int device = 0; device < m.options.devices; ++device) Drain(device);
    for (const auto& stream : m.streams) {
      if (stream->alive && !stream->implicit) Found("stream-left", "a stream was not destroyed");
      if (!stream->queue.empty()) Found("wait-without-end", "a stream waits for ever");
    }
    for (const auto& event : m.events) {
      if (event->alive) Found("event-left", "an event was not destroyed");
    }
    CheckLeftMemory();
    CheckLeftGraphs();
    if (m.matmul_objects != 0)
      Found("matmul-object-left", "a handle, description, layout or preference was not destroyed");
  }
  return fake_gpu_found_so_far(out, capacity);
}

uint64_t fake_gpu_calls(const char* name) {
  const Locked locked;
  return M().calls[name];
}

int32_t fake_gpu_has_context(int32_t device) {
  const Locked locked;
  return M().context[device] ? 1 : 0;
}

int32_t fake_gpu_current(void) {
  const Locked locked;
  return Self().stack.empty() ? -1 : Self().stack.back();
}

void fake_gpu_make_current(int32_t device) {
  const Locked locked;
  (void)SetDevice(device);
}

int32_t fake_gpu_stale_error(void) {
  const Locked locked;
  return static_cast<int32_t>(Self().last);
}

void fake_gpu_leave_error(int32_t error) {
  const Locked locked;
  M().options.fail_error = error;
  Self().last = Code::kInjected;
}

void fake_gpu_capture_begin(void) {
  const Locked locked;
  ++M().capturing;
  M().capture_broken = false;
}

int32_t fake_gpu_capture_end(void) {
  const Locked locked;
  --M().capturing;
  return M().capture_broken ? 0 : 1;
}

void fake_gpu_fail(const char* call, uint64_t at, int32_t error) {
  const Locked locked;
  M().options.fail = call;
  M().options.fail_at = at;
  M().options.fail_error = error;
}

void fake_gpu_forbid_pageable(void) {
  const Locked locked;
  M().options.no_pageable = 1;
}

void fake_gpu_hold(int32_t on) {
  const Locked locked;
  M().held = on != 0;
}

void fake_gpu_kernel_ns(uint64_t ns) {
  const Locked locked;
  M().kernel_ns = ns;
}

void fake_gpu_run_all(void) {
  const Locked locked;
  for (int device = 0; device < M().options.devices; ++device) Drain(device);
}

void fake_gpu_run(void* stream, uint32_t count) {
  const Locked locked;
  auto* const known = Resolve(static_cast<Stream*>(stream));
  if (known == nullptr) return;
  for (size_t left = known->queue.size() - std::min<size_t>(count, known->queue.size());
       known->queue.size() > left && Step(true, known);) {
  }
}

}  // extern "C"
