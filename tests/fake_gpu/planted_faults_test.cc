// SPDX-License-Identifier: MIT
// Planted faults: each is made on purpose in what lies between the ring, the forward and a vendor's
// runtime, and a check with a name must find it. A fault is either one call of the runtime that
// does nothing, as if the backend lacked it, or one entry of the backend's table that does it
// wrong. The same program without any fault fails no check.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "crossencoder/ops.h"
#include "fake_gpu/fake.h"
#include "fake_gpu/thread_sanitizer.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "rankfeed/handoff.h"
#include "support/sanitizers.h"

namespace rankfeed::handoff {
namespace {

// The backend under test and the fault in it; a table of plain functions has no room for a context.
const rankfeed_gpu_backend* real = nullptr;
rankfeed_gpu_backend faulty;
uint64_t calls_left = 0;  // the fault is in the call that makes it 0
bool Now() {
  return calls_left != 0 && --calls_left == 0;
}
void* other_ctx = nullptr;  // of the second device
void* other_stream = nullptr;

void* service_workspace = nullptr;
// Graphs run 128 tokens for each batch, which the emulation takes long for.
bool with_graphs = false;

// The runtime's own functions, for what the backend's table has no way to do wrong.
void* RuntimeFunction(const char* vendor, const char* name) {
  const bool cuda = std::strcmp(vendor, "cuda") == 0;
  void* const library = dlopen(cuda ? "libcudart.so.13" : "libamdhip64.so.7", RTLD_NOW);
  return dlsym(library, ((cuda ? "cuda" : "hip") + std::string(name)).c_str());
}
int32_t BeginCaptureOf(const char* vendor, void* stream, int mode) {
  return reinterpret_cast<int (*)(void*, int)>(RuntimeFunction(vendor, "StreamBeginCapture"))(
      stream, mode);
}
int32_t AllocateOf(const char* vendor) {
  void* memory = nullptr;
  return reinterpret_cast<int (*)(void**, size_t)>(RuntimeFunction(vendor, "Malloc"))(&memory, 16);
}

constexpr uint64_t kSlotBytes = 8192;
constexpr uint32_t kSlots = 3;
constexpr uint32_t kPending = 8;  // batches before one looks at what arrived: slots come round

// Batches through the ring to a consumer on another stream, as a service does; every byte compared,
// every score too. Returns what went wrong, beside what the fake runtime finds.
class Service {
 public:
  // device 1 of two: device 0 is somebody else's.
  explicit Service(const rankfeed_gpu_backend* backend) : backend_(backend) {}

  std::string Run() {
    if (!Open()) return said_ + "\nopen";
    for (int round = 0; round < 25 && said_.empty(); ++round) Batch(round);
    if (said_.empty()) Scores();
    Check();
    Close();
    return said_;
  }

 private:
  void Say(const std::string& what) {
    if (said_.find(what) == std::string::npos) said_ += (said_.empty() ? "" : "\n") + what;
  }
  bool Ok(int32_t rc, const char* what) {
    if (rc != 0) Say(std::string("status of ") + what);
    return rc == 0;
  }

  bool Open() {
    rankfeed_handoff_options options{};
    options.struct_size = sizeof options;
    options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE;
    options.slot_bytes = kSlotBytes;
    options.slots = kSlots;
    options.device = 1;
    options.backend = backend_;
    if (!Ok(rankfeed_handoff_open(&options, &ring_, nullptr), "open") ||
        !Ok(rankfeed_handoff_stream_create(ring_, &copies_), "stream_create") ||
        !Ok(rankfeed_handoff_stream_create(ring_, &reader_), "stream_create") ||
        !Ok(backend_->device_open(backend_->self, 1, &ctx_), "device_open") ||
        !Ok(backend_->page_lock(ctx_, kSlotBytes * kPending, 0, &back_), "page_lock")) {
      return false;
    }
    const auto* bytes = static_cast<const char*>(back_.host);
    for (size_t i = 0; i < kSlotBytes; ++i) {
      if (bytes[i] != 0) Say("page-locked memory not zeroed");
    }
    return true;
  }

  void Batch(int round) {
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    if (!Ok(rankfeed_handoff_wait_acquire(ring_, 20'000'000'000, &slot, &view), "acquire")) return;
    const size_t size = round % 3 == 0 ? kSlotBytes : random_() % kSlotBytes + 1;
    std::vector<char> sent(size);
    for (char& byte : sent) byte = static_cast<char>(random_());
    std::memcpy(view.host, sent.data(), size);  // faults when a copy from it is pending
    char* const to = static_cast<char*>(back_.host) + pending_.size() * kSlotBytes;
    if (!Ok(rankfeed_handoff_submit(ring_, slot, size, copies_, nullptr, 0), "submit") ||
        !Ok(rankfeed_handoff_stream_wait(ring_, slot, reader_), "stream_wait") ||
        !Ok(backend_->copy_async(ctx_, to, view.device, size, reader_), "copy_async") ||
        !Ok(rankfeed_handoff_release(ring_, slot, reader_), "release")) {
      return;
    }
    pending_.emplace_back(to, std::move(sent));
    if (pending_.size() == kPending) Check();
  }

  void Check() {
    if (reader_ == nullptr) return;
    Ok(rankfeed_handoff_stream_synchronize(ring_, reader_), "stream_synchronize");
    for (const auto& [at, sent] : pending_) {
      if (std::memcmp(at, sent.data(), sent.size()) != 0) Say("other bytes arrived");
    }
    pending_.clear();
    rankfeed_handoff_stats stats{};
    stats.struct_size = sizeof stats;
    Ok(rankfeed_handoff_get_stats(ring_, &stats), "stats");
    if (stats.slots_quarantined != 0) Say("slot quarantined");
  }

  // One batch of a model against the CPU's scores.
  void Scores() {
    static const std::vector<GoldenModel> kGolden = LoadGolden();
    const GoldenModel& golden = kGolden[0];
    rankfeed_crossencoder_options options{};
    options.struct_size = sizeof options;
    options.backend = backend_;
    options.device = 1;
    options.dtype = RANKFEED_DTYPE_F16;
    options.graph_tokens = with_graphs ? 4096 : 0;
    rankfeed_crossencoder* model = nullptr;
    if (!Ok(rankfeed_crossencoder_open(golden.path.c_str(), &options, &model, nullptr), "model"))
      return;
    rankfeed_crossencoder_info info{};
    info.struct_size = sizeof info;
    // Of graphs the second is recorded, the third only launched; each of other rows.
    for (size_t first = 0; first < (with_graphs ? 3 : 1); ++first) ScoreRows(golden, model, first);
    (void)rankfeed_crossencoder_get_info(model, &info);
    if (std::string(info.gemm).find("tiled") != std::string::npos) Say("products by tiled kernel");
    if (info.graph_launches != (with_graphs ? 2 : 0) || info.graph_failures != 0)
      Say("no graph used");
    rankfeed_crossencoder_close(model);
  }

  void ScoreRows(const GoldenModel& golden, const rankfeed_crossencoder* model, size_t first) {
    const auto from = static_cast<ptrdiff_t>(first);
    const PackedRows rows({golden.rows.begin() + from, golden.rows.begin() + from + 3},
                          {golden.types.begin() + from, golden.types.begin() + from + 3});
    rankfeed_packed_batch batch = rows.batch();
    const size_t labels = golden.logits[0].size();
    if (workspace_ == nullptr) {  // one for all batches, as a graph is of one
      rankfeed_mem_req need{};
      (void)rankfeed_crossencoder_workspace(model, 4, 128, 16, &need);
      workspace_bytes_ = need.size;
      if (!Ok(backend_->device_alloc(ctx_, need.size, &workspace_), "device_alloc")) return;
      service_workspace = workspace_;
    }
    void *ids = nullptr, *types = nullptr, *cu = nullptr;
    rankfeed_gpu_host_block logits{};
    const auto copy = [&](void** to, const std::vector<int32_t>& values) {
      return Ok(backend_->device_alloc(ctx_, values.size() * 4, to), "device_alloc") &&
             Ok(backend_->copy_async(ctx_, *to, values.data(), values.size() * 4, reader_), "copy");
    };
    const size_t count = size_t{batch.rows} * labels;
    if (copy(&ids, rows.ids) && copy(&types, rows.types) && copy(&cu, rows.cu_seqlens) &&
        Ok(backend_->page_lock(ctx_, count * 4, 0, &logits), "page_lock")) {
      batch.input_ids = static_cast<int32_t*>(ids);
      batch.token_type_ids = static_cast<int32_t*>(types);
      batch.cu_seqlens = static_cast<int32_t*>(cu);
      Ok(rankfeed_crossencoder_enqueue(model, &batch, reader_, workspace_, workspace_bytes_,
                                       static_cast<float*>(logits.mapped)),
         "enqueue");
      Ok(backend_->stream_synchronize(ctx_, reader_), "stream_synchronize");
      for (size_t i = 0; i < count; ++i) {
        const float difference =
            static_cast<float*>(logits.host)[i] - golden.logits[first + i / labels][i % labels];
        if (!(std::fabs(difference) < 2e-2f)) Say("other scores");
      }
    }
    for (void* memory : {ids, types, cu}) backend_->device_free(ctx_, memory);
    if (logits.host != nullptr) backend_->page_unlock(ctx_, &logits);
  }

  void Close() {
    rankfeed_handoff_stream_destroy(ring_, copies_);
    rankfeed_handoff_stream_destroy(ring_, reader_);
    rankfeed_handoff_close(ring_);
    if (back_.host != nullptr) backend_->page_unlock(ctx_, &back_);
    if (workspace_ != nullptr) backend_->device_free(ctx_, workspace_);
    if (ctx_ != nullptr) backend_->device_close(ctx_);
  }

  const rankfeed_gpu_backend* backend_;
  rankfeed_handoff* ring_ = nullptr;
  void *copies_ = nullptr, *reader_ = nullptr, *ctx_ = nullptr;
  rankfeed_gpu_host_block back_{};
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  std::mt19937_64 random_{5};
  std::vector<std::pair<char*, std::vector<char>>> pending_;
  std::string said_;
};

struct Fault {
  const char* name;
  void (*plant)(fake_gpu_options*);
  const char* found;             // one of the names that the fake runtime or the service must say
  const char* vendor = nullptr;  // only there
};

#define TABLE(entry, ...) [](fake_gpu_options*) { faulty.entry = __VA_ARGS__; }
#define OMIT(call) [](fake_gpu_options* o) { o->omit = call; }
#define OMIT_AT(call, at) [](fake_gpu_options* o) { o->omit = call, o->omit_at = at; }

using Block = rankfeed_gpu_host_block;

const Fault kFaults[] = {
    // Calls that the backend lacks.
    {"no StreamWaitEvent", OMIT("StreamWaitEvent"), "other bytes arrived"},
    {"no EventRecord after a copy", OMIT("EventRecord"),
     "page-locked-written-while-read|other bytes arrived"},
    {"no device made current: HIP", OMIT("SetDevice"), "other device used", "hip"},
    {"no device made current: CUDA", OMIT("CtxPushCurrent"), "device left current", "cuda"},
    {"current device not put back", OMIT("CtxPopCurrent"), "device left current", "cuda"},
    {"no relaxed capture mode", OMIT("ThreadExchangeStreamCaptureMode"),
     "unsafe-call-during-capture"},
    {"last error not taken", OMIT("GetLastError"), "error left over"},
    {"device memory not freed", OMIT("Free"), "device-memory-left"},
    {"one piece of device memory not freed", OMIT_AT("Free", 7), "device-memory-left"},
    {"page-locked memory not freed", OMIT("FreeHost"), "page-locked-memory-left"},
    {"stream not destroyed", OMIT_AT("StreamDestroy", 1), "stream-left"},
    {"event not destroyed", OMIT_AT("EventDestroy", 1), "event-left"},
    {"copy not queued", OMIT_AT("MemcpyAsync", 5), "other bytes arrived"},
    {"kernel not launched", OMIT_AT("LaunchKernel", 30), "other scores"},
    {"product not queued", OMIT_AT("LtMatmul", 14), "other scores"},
    {"synchronize does not wait", OMIT("StreamSynchronize"), "page-locked-touched-while-written"},
    {"reductions of products not restricted", OMIT("LtMatmulPreferenceSetAttribute"),
     "matmul-reduction-in-half", "cuda"},
    {"weights of products not transposed", OMIT("LtMatmulDescSetAttribute"), "matmul-shapes"},
    {"description of a product not destroyed", OMIT_AT("LtMatmulDescDestroy", 1),
     "matmul-object-left"},
    {"layout not destroyed", OMIT_AT("LtMatrixLayoutDestroy", 1), "matmul-object-left"},
    {"preference not destroyed", OMIT_AT("LtMatmulPreferenceDestroy", 1), "matmul-object-left"},
    {"handle of products not destroyed", OMIT("LtDestroy"), "matmul-object-left"},
    {"capture not begun", OMIT("StreamBeginCapture"), "no graph used|access-outside-allocation"},
    {"capture not ended", OMIT("StreamEndCapture"), "capture-left"},
    {"graph not made", OMIT("GraphInstantiate"), "no graph used"},
    {"graph not launched", OMIT_AT("GraphLaunch", 2), "other scores"},
    {"recorded graph not destroyed", OMIT("GraphDestroy"), "graph-left"},
    {"graph not destroyed", OMIT("GraphExecDestroy"), "graph-left"},
    // Entries that do it wrong.
    {"query answers at once",
     TABLE(event_query, [](void*, void*) -> int32_t { return RANKFEED_GPU_OK; }),
     "page-locked-written-while-read|other bytes arrived"},
    {"query of destroyed event",
     TABLE(event_query,
           [](void* c, void* e) -> int32_t {
             if (Now()) real->event_destroy(c, e);
             return real->event_query(c, e);
           }),
     "event-not-alive"},
    {"record on another stream",
     TABLE(event_record,
           [](void* c, void* e, void*) -> int32_t { return real->event_record(c, e, nullptr); }),
     "page-locked-written-while-read|other bytes arrived"},
    {"record on another device's stream",
     TABLE(event_record,
           [](void* c, void* e, void* s) -> int32_t {
             return real->event_record(c, e, Now() ? other_stream : s);
           }),
     "event-of-other-device"},
    {"copy on another stream",
     TABLE(copy_async,
           [](void* c, void* d, const void* s, size_t n, void*) -> int32_t {
             return real->copy_async(c, d, s, n, nullptr);
           }),
     "page-locked-written-while-read|other bytes arrived|other scores"},
    {"copy too short",
     TABLE(copy_async,
           [](void* c, void* d, const void* s, size_t n, void* stream) -> int32_t {
             return real->copy_async(c, d, s, n - (Now() ? 1 : 0), stream);
           }),
     "other bytes arrived"},
    {"copy past the end",
     TABLE(copy_async,
           [](void* c, void* d, const void* s, size_t n, void* stream) -> int32_t {
             return real->copy_async(c, d, s, n + (Now() ? kSlotBytes * kSlots : 0), stream);
           }),
     "copy-past-allocation"},
    {"copy from ordinary memory",
     TABLE(copy_async,
           [](void* c, void* d, const void* s, size_t n, void* stream) -> int32_t {
             static std::vector<char> ordinary;
             if (!Now()) return real->copy_async(c, d, s, n, stream);
             ordinary.assign(static_cast<const char*>(s), static_cast<const char*>(s) + n);
             fake_gpu_forbid_pageable();
             return real->copy_async(c, d, ordinary.data(), n, stream);
           }),
     "copy-of-pageable-memory"},
    {"source written after the copy was queued",
     TABLE(copy_async,
           [](void* c, void* d, const void* s, size_t n, void* stream) -> int32_t {
             const int32_t rc = real->copy_async(c, d, s, n, stream);
             if (n == kSlotBytes && Now()) *static_cast<char*>(const_cast<void*>(s)) ^= 1;
             return rc;
           }),
     "page-locked-written-while-read"},
    {"last byte written after the copy was queued",
     TABLE(copy_async,
           [](void* c, void* d, const void* s, size_t n, void* stream) -> int32_t {
             const int32_t rc = real->copy_async(c, d, s, n - 1, stream);  // no whole page
             if (Now()) static_cast<char*>(const_cast<void*>(s))[n - 2] ^= 1;
             return rc == 0 ? real->copy_async(c, static_cast<char*>(d) + n - 1,
                                               static_cast<const char*>(s) + n - 1, 1, stream)
                            : rc;
           }),
     "source-changed-while-pending"},
    {"stream destroyed while in use",
     TABLE(event_record,
           [](void* c, void* e, void* s) -> int32_t {
             if (Now()) real->stream_destroy(c, s);
             return real->event_record(c, e, s);
           }),
     "stream-not-alive"},
    {"device memory freed twice",
     TABLE(device_free,
           [](void* c, void* m) {
             real->device_free(c, m);
             real->device_free(c, m);
           }),
     "free-of-unknown-memory"},
    {"device memory freed before its last use",
     TABLE(device_alloc,
           [](void* c, size_t n, void** out) -> int32_t {
             const int32_t rc = real->device_alloc(c, n, out);
             if (Now() && rc == 0) real->device_free(c, *out);
             return rc;
           }),
     "memory-used-after-free"},
    {"device memory too small",
     TABLE(device_alloc,
           [](void* c, size_t n, void** out) -> int32_t {
             return real->device_alloc(c, n > 40000 ? n / 2 : n, out);
           }),
     "copy-past-allocation|access-outside-allocation"},
    {"page-locked memory too small",
     TABLE(page_lock,
           [](void* c, size_t n, uint32_t flags, Block* out) -> int32_t {
             return real->page_lock(c, n / 2, flags, out);
           }),
     "access-outside-allocation"},
    {"host memory freed as device memory",
     TABLE(page_unlock,
           [](void* c, Block* block) {
             real->device_free(c, block->host);
             real->page_unlock(c, block);
           }),
     "free-of-unknown-memory"},
    {"the host reads device memory",
     [](fake_gpu_options* o) {
       o->hide_memory = 1;
       faulty.device_alloc = [](void* c, size_t n, void** out) -> int32_t {
         const int32_t rc = real->device_alloc(c, n, out);
         if (rc == 0 && Now()) *static_cast<volatile char*>(*out) = 1;
         return rc;
       };
     },
     "host-touched-device-memory"},
    {"stream of the other device",
     TABLE(stream_create,
           [](void* c, void** out) -> int32_t {
             (void)c;
             return real->stream_create(other_ctx, out);
           }),
     "event-of-other-device"},
    {"events without a clock for the idle time",
     TABLE(event_create_timed,
           [](void* c, void** out) -> int32_t { return real->event_create(c, out); }),
     "elapsed-of-untimed-event"},
    {"host function that calls back",
     TABLE(event_record,
           [](void* c, void* e, void* s) -> int32_t {
             if (Now()) {
               static void* ctx;
               ctx = c;
               (void)real->launch_host(
                   c, s,
                   [](void*) {
                     void* event = nullptr;
                     (void)real->event_create(ctx, &event);
                   },
                   nullptr);
             }
             return real->event_record(c, e, s);
           }),
     "call-in-host-function"},
    {"capture in the mode that binds all threads",
     TABLE(capture_begin,
           [](void*, void* s) -> int32_t { return BeginCaptureOf(real->name, s, 0); }),
     "capture-forbids-other-threads"},
    {"capture of the default stream",
     TABLE(capture_begin,
           [](void* c, void*) -> int32_t { return real->capture_begin(c, nullptr); }),
     "capture-of-default-stream"},
    {"wait for a stream that is captured",
     TABLE(capture_begin,
           [](void* c, void* s) -> int32_t {
             const int32_t rc = real->capture_begin(c, s);
             (void)real->stream_synchronize(c, s);
             return rc;
           }),
     "wait-in-capture"},
    {"event recorded in a capture",
     TABLE(capture_begin,
           [](void* c, void* s) -> int32_t {
             const int32_t rc = real->capture_begin(c, s);
             void* event = nullptr;
             (void)real->event_create(c, &event);
             (void)real->event_record(c, event, s);
             real->event_destroy(c, event);
             return rc;
           }),
     "event-in-capture"},
    {"copy of ordinary memory in a capture",
     TABLE(capture_begin,
           [](void* c, void* s) -> int32_t {
             static char ordinary[2];
             const int32_t rc = real->capture_begin(c, s);
             (void)real->copy_async(c, ordinary, ordinary + 1, 1, s);
             return rc;
           }),
     "pageable-copy-in-capture"},
    {"allocation in a capture that binds the thread",
     TABLE(capture_begin,
           [](void* c, void* s) -> int32_t {
             const int32_t rc = real->capture_begin(c, s);
             (void)AllocateOf(real->name);
             return rc;
           }),
     "unsafe-call-during-capture"},
    {"graph destroyed before its launch",
     TABLE(graph_launch,
           [](void* c, void* g, void* s) -> int32_t {
             real->graph_destroy(c, g);
             return real->graph_launch(c, g, s);
           }),
     "graph-not-alive"},
    {"graph destroyed before its launch has completed",
     TABLE(graph_launch,
           [](void* c, void* g, void* s) -> int32_t {
             const int32_t rc = real->graph_launch(c, g, s);
             real->graph_destroy(c, g);
             return rc;
           }),
     "graph-destroyed-while-pending"},
    {"graph launched on another stream",
     TABLE(graph_launch,
           [](void* c, void* g, void*) -> int32_t { return real->graph_launch(c, g, nullptr); }),
     "other scores"},
    {"graph launched on another device's stream",
     TABLE(
         graph_launch,
         [](void* c, void* g, void*) -> int32_t { return real->graph_launch(c, g, other_stream); }),
     "graph-on-other-device"},
    {"workspace freed before a graph's launch",
     TABLE(graph_launch,
           [](void* c, void* g, void* s) -> int32_t {
             real->device_free(c, service_workspace);
             return real->graph_launch(c, g, s);
           }),
     "memory-used-after-free"},
    // What a device does to its users.
    {"kernel that faults", [](fake_gpu_options* o) { o->kernel_fault = 5; }, "status of model"},
    {"no algorithm for products", [](fake_gpu_options* o) { o->no_matmul = 1; },
     "products by tiled kernel"},
    {"barrier left out", [](fake_gpu_options* o) { o->omit_barrier = 1; }, "kernel"},
    {"another barrier left out", [](fake_gpu_options* o) { o->omit_barrier = 4; }, "kernel"},
};

// The list, for the table in docs/handoff-checks.md (fault_table.py).
TEST(PlantedFaults, List) {
  for (const Fault& fault : kFaults) {
    ASSERT_NE(fault.name, nullptr);
    ASSERT_NE(fault.found, nullptr) << fault.name;
    if (std::getenv("RANKFEED_LIST_FAULTS") == nullptr) continue;
    std::printf("fault\t%s\t%s\t%s\n", fault.name, fault.found,
                fault.vendor == nullptr ? "both" : fault.vendor);
  }
}

// What is looked at beside the service: the thread as the backend left it, a capture meanwhile.
std::string Everything(const rankfeed_gpu_backend* backend) {
  fake_gpu_make_current(0);
  fake_gpu_capture_begin();
  std::string said = Service(backend).Run();
  if (fake_gpu_capture_end() != 1) said += "\ncapture broken";
  if (fake_gpu_has_context(1) == 0) said += "\nother device used";
  if (fake_gpu_current() != 0) said += "\ndevice left current";
  // The queries that were not ready have left an error, unless it was cleared.
  if (fake_gpu_stale_error() != 0) said += "\nerror left over";
  if (other_stream != nullptr) real->stream_destroy(other_ctx, other_stream);
  if (other_ctx != nullptr) real->device_close(other_ctx);
  other_ctx = other_stream = nullptr;
  return said + "\n" + Found();
}

class PlantedFaultTest : public testing::TestWithParam<std::string> {
 protected:
  // Ends the process with what was found on stderr, after "SAID\n".
  void RunWith(const Fault* fault, uint64_t seed) {
    fake_gpu_options options = FakeOptions(2, seed);
    options.latency = 40;  // a device that lags, so that what is not waited for is not there
    real = FakeBackend(GetParam());
    faulty = *real;
    calls_left = 5;
    const std::string name = fault->name;
    with_graphs =
        name.find("graph") != std::string::npos || name.find("capture") != std::string::npos;
    fake_gpu_reset(&options);
    if (fault->plant != nullptr) {
      fault->plant(&options);
    } else {
      options.omit = fault->name;
    }
    fake_gpu_reset(&options);
    (void)real->device_open(real->self, 0, &other_ctx);
    if (other_ctx != nullptr) (void)real->stream_create(other_ctx, &other_stream);
    const std::string said = Everything(&faulty);
    std::fprintf(stderr, "SAID\n%s\n", said.c_str());
  }
};

TEST_P(PlantedFaultTest, NothingIsFoundWithoutAFault) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 2 : SweepsAll() ? 10 : 4); ++seed) {
    fake_gpu_options options = FakeOptions(2, seed);
    options.latency = static_cast<uint32_t>(seed * 3 % 20);
    real = FakeBackend(GetParam());
    with_graphs = seed % 2 != 0;
    fake_gpu_reset(&options);
    EXPECT_EQ(Everything(real), "\n") << "seed " << seed;
  }
}

#ifdef RANKFEED_FAKE_GPU_TSAN
// Streams are threads of their own to ThreadSanitizer, ordered by what the runtime promises and
// nothing else: it reports a copy that nobody waited for, whether or not it came too late this
// time.
TEST_P(PlantedFaultTest, WorkThatIsNotWaitedForIsARace) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // it sees nothing more after a fork
  for (const char* call : {"StreamWaitEvent", "EventRecord", "StreamSynchronize"}) {
    const Fault fault{call, nullptr, nullptr};
    EXPECT_DEATH(RunWith(&fault, 3), "ThreadSanitizer: data race") << call;
  }
}
#else
TEST_P(PlantedFaultTest, EachIsFoundByName) {
  testing::FLAGS_gtest_death_test_style = "fast";
  size_t planted = 0;
  for (const Fault& fault : kFaults) {
    if (fault.vendor != nullptr && GetParam() != fault.vendor) continue;
    // Every run takes seconds with AddressSanitizer; without it all are planted.
    const size_t turn = planted++;
    if (kSanitized ? turn % 20 != 19
                   : fault.vendor == nullptr &&
                         !IsTurnOf(GetParam(), static_cast<size_t>(&fault - kFaults))) {
      continue;
    }
    SCOPED_TRACE(fault.name);
    // Either the process ends where memory protection caught it, or at the end, saying what was
    // found.
    EXPECT_EXIT(
        {
          RunWith(&fault, 3);
          _exit(FAKE_GPU_EXIT);
        },
        testing::ExitedWithCode(FAKE_GPU_EXIT), fault.found);
  }
  EXPECT_GE(planted, 57u);
}
#endif

INSTANTIATE_TEST_SUITE_P(, PlantedFaultTest, testing::ValuesIn(FakeVendors()),
                         [](const auto& vendor) { return vendor.param; });

}  // namespace
}  // namespace rankfeed::handoff
