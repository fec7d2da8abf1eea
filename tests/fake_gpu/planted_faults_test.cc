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
    rankfeed_crossencoder* model = nullptr;
    if (!Ok(rankfeed_crossencoder_open(golden.path.c_str(), &options, &model, nullptr), "model"))
      return;
    const PackedRows rows({golden.rows.begin(), golden.rows.begin() + 3},
                          {golden.types.begin(), golden.types.begin() + 3});
    rankfeed_packed_batch batch = rows.batch();
    rankfeed_mem_req need{};
    (void)rankfeed_crossencoder_workspace(model, batch.rows, batch.tokens, batch.max_seqlen, &need);
    rankfeed_crossencoder_info info{};
    info.struct_size = sizeof info;
    (void)rankfeed_crossencoder_get_info(model, &info);
    if (std::string(info.gemm).find("tiled") != std::string::npos) Say("products by tiled kernel");
    void *workspace = nullptr, *ids = nullptr, *types = nullptr, *cu = nullptr;
    rankfeed_gpu_host_block logits{};
    const auto copy = [&](void** to, const std::vector<int32_t>& from) {
      return Ok(backend_->device_alloc(ctx_, from.size() * 4, to), "device_alloc") &&
             Ok(backend_->copy_async(ctx_, *to, from.data(), from.size() * 4, reader_), "copy");
    };
    const size_t count = size_t{batch.rows} * info.labels;
    if (Ok(backend_->device_alloc(ctx_, need.size, &workspace), "device_alloc") &&
        copy(&ids, rows.ids) && copy(&types, rows.types) && copy(&cu, rows.cu_seqlens) &&
        Ok(backend_->page_lock(ctx_, count * 4, 0, &logits), "page_lock")) {
      batch.input_ids = static_cast<int32_t*>(ids);
      batch.token_type_ids = static_cast<int32_t*>(types);
      batch.cu_seqlens = static_cast<int32_t*>(cu);
      Ok(rankfeed_crossencoder_enqueue(model, &batch, reader_, workspace, need.size,
                                       static_cast<float*>(logits.mapped)),
         "enqueue");
      Ok(backend_->stream_synchronize(ctx_, reader_), "stream_synchronize");
      for (size_t i = 0; i < count; ++i) {
        const float difference =
            static_cast<float*>(logits.host)[i] - golden.logits[i / info.labels][i % info.labels];
        if (!(std::fabs(difference) < 2e-2f)) Say("other scores");
      }
    }
    for (void* memory : {workspace, ids, types, cu}) backend_->device_free(ctx_, memory);
    if (logits.host != nullptr) backend_->page_unlock(ctx_, &logits);
    rankfeed_crossencoder_close(model);
  }

  void Close() {
    rankfeed_handoff_stream_destroy(ring_, copies_);
    rankfeed_handoff_stream_destroy(ring_, reader_);
    rankfeed_handoff_close(ring_);
    if (back_.host != nullptr) backend_->page_unlock(ctx_, &back_);
    if (ctx_ != nullptr) backend_->device_close(ctx_);
  }

  const rankfeed_gpu_backend* backend_;
  rankfeed_handoff* ring_ = nullptr;
  void *copies_ = nullptr, *reader_ = nullptr, *ctx_ = nullptr;
  rankfeed_gpu_host_block back_{};
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
    {"no EventRecord behind a copy", OMIT("EventRecord"),
     "page-locked-written-while-read|other bytes arrived"},
    {"no device made current: HIP", OMIT("SetDevice"), "other device used", "hip"},
    {"no device made current: CUDA", OMIT("CtxPushCurrent"), "device left current", "cuda"},
    {"current device not put back", OMIT("CtxPopCurrent"), "device left current", "cuda"},
    {"no relaxed capture mode", OMIT("ThreadExchangeStreamCaptureMode"),
     "unsafe-call-during-capture"},
    {"last error left behind", OMIT("GetLastError"), "error left behind"},
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
    // What a device does to its users.
    {"kernel that faults", [](fake_gpu_options* o) { o->kernel_fault = 5; }, "status of model"},
    {"no algorithm for products", [](fake_gpu_options* o) { o->no_matmul = 1; },
     "products by tiled kernel"},
    {"barrier left out", [](fake_gpu_options* o) { o->omit_barrier = 1; }, "kernel"},
    {"another barrier left out", [](fake_gpu_options* o) { o->omit_barrier = 4; }, "kernel"},
};

// What is looked at beside the service: the thread as the backend left it, a capture meanwhile.
std::string Everything(const rankfeed_gpu_backend* backend) {
  fake_gpu_make_current(0);
  fake_gpu_capture_begin();
  std::string said = Service(backend).Run();
  if (fake_gpu_capture_end() != 1) said += "\ncapture broken";
  if (fake_gpu_has_context(1) == 0) said += "\nother device used";
  if (fake_gpu_current() != 0) said += "\ndevice left current";
  // The queries that were not ready have left an error, unless it was cleared.
  if (fake_gpu_stale_error() != 0) said += "\nerror left behind";
  if (other_stream != nullptr) real->stream_destroy(other_ctx, other_stream);
  if (other_ctx != nullptr) real->device_close(other_ctx);
  other_ctx = other_stream = nullptr;
  return said + "\n" + Found();
}

class PlantedFaultTest : public testing::TestWithParam<std::string> {
 protected:
  // Ends the process with what was found on stderr, behind "SAID\n".
  void RunWith(const Fault* fault, uint64_t seed) {
    fake_gpu_options options = FakeOptions(2, seed);
    options.latency = 40;  // a device that lags behind, so that what is not waited for is not there
    real = FakeBackend(GetParam());
    faulty = *real;
    calls_left = 5;
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
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    fake_gpu_options options = FakeOptions(2, seed);
    options.latency = static_cast<uint32_t>(seed * 3 % 20);
    real = FakeBackend(GetParam());
    fake_gpu_reset(&options);
    EXPECT_EQ(Everything(real), "\n") << "seed " << seed;
  }
}

#ifdef RANKFEED_FAKE_GPU_TSAN
// Streams are threads of their own to ThreadSanitizer, ordered by what the runtime promises and
// nothing else: it reports a copy that nobody waited for, whether or not it came too late this
// time.
TEST_P(PlantedFaultTest, WorkThatIsNotWaitedForIsARace) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // it sees nothing more behind a fork
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
    ++planted;
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
  EXPECT_GE(planted, 40u);
}
#endif

INSTANTIATE_TEST_SUITE_P(, PlantedFaultTest, testing::ValuesIn(FakeVendors()),
                         [](const auto& vendor) { return vendor.param; });

}  // namespace
}  // namespace rankfeed::handoff
