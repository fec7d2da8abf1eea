// SPDX-License-Identifier: MIT
// What the shipped CUDA and HIP backends do with a runtime that does not always say yes, over the
// fake one: statuses, the caller's device and errors, graph captures, launches, matrix libraries.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "backends/backend_library.h"
#include "crossencoder/ops.h"
#include "fake_gpu/fake.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "rankfeed/handoff.h"
#include "support/sanitizers.h"

namespace rankfeed::handoff {
namespace {

constexpr int32_t kUnknownError = 999;  // cudaErrorUnknown, hipErrorUnknown

class FakeBackendTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Reset(FakeOptions());
    backend_ = FakeBackend(GetParam());
    ASSERT_NE(backend_, nullptr);
  }
  void Reset(const fake_gpu_options& options) {
    fake_gpu_reset(&options);
    options_ = options;
  }
  void* Open(int32_t device = 0) {
    void* ctx = nullptr;
    EXPECT_EQ(backend_->device_open(backend_->self, device, &ctx), 0);
    return ctx;
  }
  bool Cuda() const { return GetParam() == "cuda"; }
  rankfeed_handoff* Ring(uint32_t flags = 0, int32_t device = 0) {
    rankfeed_handoff_options options{};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.slot_bytes = 4096;
    options.slots = 3;
    options.device = device;
    options.backend = backend_;
    rankfeed_handoff* ring = nullptr;
    status_ = rankfeed_handoff_open(&options, &ring, nullptr);
    return ring;
  }
  rankfeed_crossencoder* Model(const std::string& name = "xlmr", uint32_t dtype = 0) {
    rankfeed_crossencoder_options options{};
    options.struct_size = sizeof options;
    options.backend = backend_;
    options.dtype = dtype;
    error_.struct_size = sizeof error_;
    rankfeed_crossencoder* model = nullptr;
    status_ =
        rankfeed_crossencoder_open((GoldenFolder() + name).c_str(), &options, &model, &error_);
    return model;
  }
  static std::string Gemm(const rankfeed_crossencoder* model) {
    rankfeed_crossencoder_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(rankfeed_crossencoder_get_info(model, &info), RANKFEED_OK);
    return info.gemm;
  }

  fake_gpu_options options_{};
  const rankfeed_gpu_backend* backend_ = nullptr;
  rankfeed_status status_ = RANKFEED_OK;
  rankfeed_crossencoder_error error_{};
};

TEST_P(FakeBackendTest, DriverThatIsTooOldHasAStatusOfItsOwn) {
  fake_gpu_options options = FakeOptions();
  options.old_driver = 1;
  Reset(options);
  int32_t count = -1;
  EXPECT_EQ(rankfeed_handoff_device_count(backend_, &count), RANKFEED_E_UNSUPPORTED);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(Ring(), nullptr);
  EXPECT_EQ(status_, RANKFEED_E_UNSUPPORTED);
  EXPECT_EQ(Model(), nullptr);
  EXPECT_EQ(status_, RANKFEED_E_UNSUPPORTED);
  EXPECT_STREQ(error_.message, "opening the device: the device's driver is too old");
  const FoundBackend found = FindBackend(GetParam(), {std::getenv("RANKFEED_GPU_LIBRARIES")});
  EXPECT_EQ(found.backend, nullptr);
  EXPECT_NE(found.message.find("update the driver"), std::string::npos) << found.message;
}

TEST_P(FakeBackendTest, OnlyNoDeviceIsNoDevice) {
  Reset(FakeOptions(0));
  int32_t count = -1;
  EXPECT_EQ(rankfeed_handoff_device_count(backend_, &count), RANKFEED_E_NO_DEVICE);
  fake_gpu_options options = FakeOptions();
  options.old_driver = 2;  // no driver at all, of which the runtime says the same
  Reset(options);
  EXPECT_EQ(rankfeed_handoff_device_count(backend_, &count), RANKFEED_E_NO_DEVICE);
  options = FakeOptions();
  options.fail = "GetDeviceCount";
  options.fail_error = kUnknownError;
  Reset(options);
  EXPECT_EQ(rankfeed_handoff_device_count(backend_, &count), RANKFEED_E_DEVICE);
}

TEST_P(FakeBackendTest, DeviceThatCannotBeMadeCurrentIsTheVendorsError) {
  Reset(FakeOptions(2));
  void* ctx = Open(1);
  ASSERT_NE(ctx, nullptr);
  void* memory = nullptr;
  ASSERT_EQ(backend_->device_alloc(ctx, 1024, &memory), 0);
  // 1: CUDA_ERROR_INVALID_VALUE, which the driver's functions of the fake answer.
  const int32_t wanted = Cuda() ? 1 : kUnknownError;
  fake_gpu_options options = FakeOptions(2);
  options.fail = Cuda() ? "CtxPushCurrent" : "SetDevice";
  options.fail_error = kUnknownError;
  Reset(options);
  const rankfeed_op_at at{ctx, nullptr, nullptr, 0};
  const rankfeed_op_positions op{static_cast<int32_t*>(memory), static_cast<int32_t*>(memory), 1, 1,
                                 static_cast<int32_t*>(memory)};
  EXPECT_EQ(backend_->ops->positions(&at, &op), wanted);
  void* stream = nullptr;
  EXPECT_EQ(backend_->stream_create(ctx, &stream), wanted);
  backend_->device_close(ctx);
}

// Of HIP's runtimes the newest that is there; fake_gpu_rocm5_test and fake_gpu_rocm6_test have
// others.
TEST_P(FakeBackendTest, SaysWhichRuntimeItFound) {
  void* ctx = Open();
  ASSERT_NE(ctx, nullptr);
  char said[64];
  backend_->describe(ctx, said, sizeof said);
  const char* const rocm = std::getenv("RANKFEED_FAKE_ROCM");
  const std::string wanted = std::string("ROCm ") + (rocm == nullptr ? "7" : rocm);
  EXPECT_EQ(said, "Fake device 0, " + (Cuda() ? std::string("sm_90") : wanted));
  backend_->device_close(ctx);
}

// Every entry of the table, from a thread whose current device is another, and from one that has
// none: afterwards it is so again, and no context was made on the first device on the way.
TEST_P(FakeBackendTest, CallersDeviceStaysWhatItWas) {
  Reset(FakeOptions(2));
  for (const bool has_one : {true, false}) {
    std::thread([&] {
      if (has_one) fake_gpu_make_current(0);
      const int32_t before = fake_gpu_current();
      void *ctx = nullptr, *stream = nullptr, *event = nullptr, *timed[2] = {}, *memory = nullptr;
      const auto check = [&](const char* what) {
        // HIP has no way to have none: its default is device 0.
        EXPECT_EQ(fake_gpu_current(), !Cuda() && before == -1 ? 0 : before) << what;
      };
      EXPECT_EQ(backend_->device_open(backend_->self, 1, &ctx), 0);
      check("device_open");
      rankfeed_gpu_host_block block{};
      EXPECT_EQ(backend_->page_lock(ctx, 4096, 0, &block), 0);
      check("page_lock");
      EXPECT_EQ(backend_->device_alloc(ctx, 4096, &memory), 0);
      check("device_alloc");
      EXPECT_EQ(backend_->stream_create(ctx, &stream), 0);
      check("stream_create");
      EXPECT_EQ(backend_->event_create(ctx, &event), 0);
      check("event_create");
      for (void*& e : timed) EXPECT_EQ(backend_->event_create_timed(ctx, &e), 0);
      check("event_create_timed");
      EXPECT_EQ(backend_->event_record(ctx, timed[0], stream), 0);
      EXPECT_EQ(backend_->copy_async(ctx, memory, block.host, 4096, stream), 0);
      check("copy_async");
      EXPECT_EQ(backend_->event_record(ctx, event, stream), 0);
      EXPECT_EQ(backend_->event_record(ctx, timed[1], stream), 0);
      check("event_record");
      EXPECT_EQ(backend_->stream_wait_event(ctx, stream, event), 0);
      check("stream_wait_event");
      EXPECT_EQ(backend_->launch_host(
                    ctx, stream, [](void*) {}, nullptr),
                0);
      check("launch_host");
      (void)backend_->event_query(ctx, event);
      check("event_query");
      const rankfeed_op_at at{ctx, stream, nullptr, 0};
      std::memset(block.host, 0, 0);
      const rankfeed_op_first op{RANKFEED_DTYPE_F32, 0, 1, memory, nullptr, memory};
      EXPECT_EQ(backend_->ops->first(&at, &op), 0);
      check("first");
      EXPECT_EQ(backend_->ops->open(ctx), 0);
      check("open");
      EXPECT_EQ(backend_->stream_synchronize(ctx, stream), 0);
      check("stream_synchronize");
      uint64_t ns = 0;
      EXPECT_EQ(backend_->event_elapsed(ctx, timed[0], timed[1], &ns), 0);
      EXPECT_GT(ns, 0u);
      check("event_elapsed");
      char name[64];
      backend_->describe(ctx, name, sizeof name);
      EXPECT_EQ(std::string(name).rfind("Fake device 1", 0), 0u) << name;
      check("describe");
      void* graph = nullptr;
      EXPECT_EQ(backend_->capture_begin(ctx, stream), 0);
      check("capture_begin");
      EXPECT_EQ(backend_->capture_end(ctx, stream, &graph), 0);
      check("capture_end");
      EXPECT_EQ(backend_->graph_launch(ctx, graph, stream), 0);
      check("graph_launch");
      EXPECT_EQ(backend_->stream_synchronize(ctx, stream), 0);
      backend_->graph_destroy(ctx, graph);
      check("graph_destroy");
      for (void* e : {event, timed[0], timed[1]}) backend_->event_destroy(ctx, e);
      check("event_destroy");
      backend_->stream_destroy(ctx, stream);
      check("stream_destroy");
      backend_->device_free(ctx, memory);
      check("device_free");
      backend_->page_unlock(ctx, &block);
      check("page_unlock");
      backend_->device_close(ctx);
      check("device_close");
    }).join();
    EXPECT_EQ(Found(), "");
    if (Cuda()) {
      EXPECT_EQ(fake_gpu_has_context(0), has_one);
    }
    Reset(FakeOptions(2));
  }
}

// Polling a slot while another thread of the process captures a graph: neither is harmed.
TEST_P(FakeBackendTest, CaptureInAnotherThreadIsNotHarmed) {
  rankfeed_handoff* ring = Ring(RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE);
  ASSERT_NE(ring, nullptr);
  void* stream = nullptr;
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &stream), RANKFEED_OK);
  fake_gpu_capture_begin();
  for (int i = 0; i < 10; ++i) {
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_submit(ring, slot, 4096, stream, nullptr, 0), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_wait(ring, slot, stream), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_release(ring, slot, stream), RANKFEED_OK);
    while (rankfeed_handoff_poll(ring, slot) == RANKFEED_E_BUSY) {
    }
    EXPECT_EQ(rankfeed_handoff_poll(ring, slot), RANKFEED_OK);
  }
  EXPECT_EQ(fake_gpu_capture_end(), 1);
  rankfeed_handoff_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(rankfeed_handoff_get_stats(ring, &stats), RANKFEED_OK);
  EXPECT_EQ(stats.slots_quarantined, 0u);
  rankfeed_handoff_stream_destroy(ring, stream);
  rankfeed_handoff_close(ring);
  EXPECT_EQ(Found(), "");
}

// 900, 907: cudaErrorStreamCaptureUnsupported, cudaErrorCapturedEvent; the same numbers in HIP.
TEST_P(FakeBackendTest, CaptureErrorsOfAQueryQuarantineNothing) {
  for (const int32_t error : {900, 907}) {
    rankfeed_handoff* ring = Ring(RANKFEED_HANDOFF_DEVICE_SLOTS);
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_acquire(ring, &slot, &view), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_submit(ring, slot, 64, nullptr, nullptr, 0), RANKFEED_OK);
    fake_gpu_fail("EventQuery", 0, error);
    EXPECT_EQ(rankfeed_handoff_poll(ring, slot), RANKFEED_E_BUSY);
    fake_gpu_fail(nullptr, 0, 0);
    rankfeed_status status = RANKFEED_E_BUSY;
    while (status == RANKFEED_E_BUSY) status = rankfeed_handoff_poll(ring, slot);
    EXPECT_EQ(status, RANKFEED_OK);
    EXPECT_EQ(rankfeed_handoff_release_now(ring, slot), RANKFEED_OK);
    rankfeed_handoff_close(ring);
    EXPECT_EQ(Found(), "");
  }
}

// By the devices' clock of the fake runtime: a kernel that takes ten minutes is longer than its
// launch, and one that takes some microseconds is not while the host sleeps.
TEST_P(FakeBackendTest, BatchesBoundByLaunchesAreCounted) {
  void* ctx = Open();
  void* memory = nullptr;
  ASSERT_EQ(backend_->device_alloc(ctx, 1024, &memory), 0);
  rankfeed_handoff* ring = Ring(RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE);
  ASSERT_NE(ring, nullptr);
  void* stream = nullptr;
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &stream), RANKFEED_OK);
  const rankfeed_op_at at{ctx, stream, nullptr, 0};
  auto* const cu = static_cast<int32_t*>(memory);
  const rankfeed_op_positions op{cu, cu, 1, 1, cu + 8, nullptr, nullptr};
  rankfeed_handoff_stats stats{};
  stats.struct_size = sizeof stats;
  uint64_t bound = 0;
  for (const bool is_bound : {false, true, false, true, true}) {
    fake_gpu_kernel_ns(is_bound ? 1000 : 600'000'000'000);
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_submit(ring, slot, 64, stream, nullptr, 0), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_wait(ring, slot, stream), RANKFEED_OK);
    ASSERT_EQ(backend_->ops->positions(&at, &op), 0);
    if (is_bound) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_EQ(rankfeed_handoff_release(ring, slot, stream), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_synchronize(ring, stream), RANKFEED_OK);
    bound += is_bound ? 1 : 0;
    ASSERT_EQ(rankfeed_handoff_get_stats(ring, &stats), RANKFEED_OK);
    EXPECT_EQ(stats.consumer_launch_bound, bound);
  }
  EXPECT_EQ(stats.consumer_batches, 5u);
  EXPECT_GT(stats.consumer_busy_ns, 1'200'000'000'000u);
  rankfeed_handoff_stream_destroy(ring, stream);
  rankfeed_handoff_close(ring);
  backend_->device_free(ctx, memory);
  backend_->device_close(ctx);
  EXPECT_EQ(Found(), "");
}

// An error that somebody else's call left is not the next kernel's, and stays for them.
TEST_P(FakeBackendTest, StaleErrorIsNotTheNextKernels) {
  void* ctx = Open();
  void* memory = nullptr;
  ASSERT_EQ(backend_->device_alloc(ctx, 1024, &memory), 0);
  void* stream = nullptr;
  ASSERT_EQ(backend_->stream_create(ctx, &stream), 0);
  fake_gpu_leave_error(kUnknownError);
  const int32_t stale = fake_gpu_stale_error();
  ASSERT_NE(stale, 0);
  const rankfeed_op_at at{ctx, stream, nullptr, 0};
  const std::vector<float> gamma(64);
  const rankfeed_op_add_norm op{RANKFEED_DTYPE_F32,
                                1,
                                8,
                                memory,
                                memory,
                                nullptr,
                                static_cast<float*>(memory),
                                static_cast<float*>(memory),
                                1e-5f,
                                static_cast<char*>(memory) + 512};
  EXPECT_EQ(backend_->ops->add_norm(&at, &op), 0);
  EXPECT_EQ(fake_gpu_stale_error(), stale);
  ASSERT_EQ(backend_->stream_synchronize(ctx, stream), 0);
  backend_->stream_destroy(ctx, stream);
  backend_->device_free(ctx, memory);
  backend_->device_close(ctx);
  EXPECT_EQ(Found(), "");
}

// 2^25 blocks of at least 128 threads are 2^32 or more, which HIP does not start; refused before
// the runtime is asked. A block has at most four rows of add_norm.
TEST_P(FakeBackendTest, GridsBeyondTheLimitsAreRefused) {
  void* ctx = Open();
  const rankfeed_op_at at{ctx, nullptr, nullptr, 0};
  rankfeed_op_add_norm norm{};
  norm.dtype = RANKFEED_DTYPE_F16;
  norm.tokens = 1u << 27;
  norm.hidden = 8;
  EXPECT_EQ(backend_->ops->add_norm(&at, &norm), RANKFEED_GPU_INVALID);
  rankfeed_op_attention attention{};
  attention.dtype = RANKFEED_DTYPE_F16;
  attention.rows = 1u << 25;
  attention.tokens = 1;
  attention.heads = 1;
  attention.head_dim = 64;
  EXPECT_EQ(backend_->ops->attention(&at, &attention), RANKFEED_GPU_INVALID);
  attention.rows = 1;
  attention.heads = 65536;
  EXPECT_EQ(backend_->ops->attention(&at, &attention), RANKFEED_GPU_INVALID);
  EXPECT_EQ(fake_gpu_calls("LaunchKernel"), 0u);
  backend_->device_close(ctx);
  EXPECT_EQ(Found(), "");
}

TEST_P(FakeBackendTest, ProductsAreTheVendorsLibrarys) {
  rankfeed_crossencoder* model = Model();
  ASSERT_NE(model, nullptr) << error_.message;
  EXPECT_EQ(Gemm(model), Cuda() ? "cuBLASLt 130000" : "hipBLASLt 1000");
  EXPECT_GT(fake_gpu_calls("LtMatmul"), 0u);
  rankfeed_crossencoder_close(model);
  EXPECT_EQ(Found(), "");
}

// What the library does not do is done by the tiled kernel, and said.
TEST_P(FakeBackendTest, FallbacksAreCounted) {
  fake_gpu_options options = FakeOptions();
  options.no_matmul = 1;
  Reset(options);
  rankfeed_crossencoder* model = Model();
  ASSERT_NE(model, nullptr) << error_.message;
  EXPECT_EQ(fake_gpu_calls("LtMatmul"), 0u);
  EXPECT_NE(Gemm(model).find(" by tiled kernel"), std::string::npos) << Gemm(model);
  rankfeed_crossencoder_close(model);
  options = FakeOptions();
  options.fail = "LtCreate";
  options.fail_error = 1;  // CUBLAS_STATUS_NOT_INITIALIZED
  Reset(options);
  model = Model();
  ASSERT_NE(model, nullptr) << error_.message;
  EXPECT_EQ(Gemm(model).rfind("tiled kernel (no ", 0), 0u) << Gemm(model);
  rankfeed_crossencoder_close(model);
  EXPECT_EQ(Found(), "");
}

// Batches within 128 tokens of one another take the same plans: the library is asked once.
TEST_P(FakeBackendTest, RaggedBatchesShareAPlan) {
  void* ctx = Open();
  ASSERT_EQ(backend_->ops->open(ctx), 0);
  const uint64_t scratch_bytes = backend_->ops->scratch_bytes(ctx, 1, 0);
  ASSERT_GT(scratch_bytes, 0u);
  void *scratch = nullptr, *memory = nullptr, *stream = nullptr;
  ASSERT_EQ(backend_->device_alloc(ctx, scratch_bytes, &scratch), 0);
  ASSERT_EQ(backend_->device_alloc(ctx, 256 * 64 * 4 * 4, &memory), 0);
  ASSERT_EQ(backend_->stream_create(ctx, &stream), 0);
  const rankfeed_op_at at{ctx, stream, scratch, scratch_bytes};
  auto* floats = static_cast<float*>(memory);
  const auto multiply = [&](uint32_t m) {
    const rankfeed_op_gemm op{RANKFEED_DTYPE_F32,
                              m,
                              64,
                              64,
                              RANKFEED_GPU_NO_ACTIVATION,
                              floats,
                              floats + 256 * 64,
                              floats,
                              floats + 512 * 64};
    EXPECT_EQ(backend_->ops->gemm(&at, &op), 0);
  };
  for (const uint32_t m : {1u, 2u, 77u, 127u, 128u}) multiply(m);
  EXPECT_EQ(fake_gpu_calls("LtMatmulAlgoGetHeuristic"), 1u);
  const uint64_t layouts = fake_gpu_calls("LtMatrixLayoutCreate");
  for (int i = 0; i < 20; ++i) multiply(3);
  EXPECT_EQ(fake_gpu_calls("LtMatrixLayoutCreate"), layouts);  // nothing is made in steady state
  multiply(129);
  EXPECT_EQ(fake_gpu_calls("LtMatmulAlgoGetHeuristic"), 2u);
  EXPECT_EQ(backend_->stream_synchronize(ctx, stream), 0);
  backend_->device_free(ctx, memory);
  backend_->device_free(ctx, scratch);
  backend_->stream_destroy(ctx, stream);
  backend_->device_close(ctx);
  EXPECT_EQ(Found(), "");
  for (const char* kind : {"Handle", "MatmulDesc", "MatrixLayout", "MatmulPreference"}) {
    const std::string name = std::string("Lt") + (std::string(kind) == "Handle" ? "" : kind);
    EXPECT_EQ(fake_gpu_calls((name + "Create").c_str()), fake_gpu_calls((name + "Destroy").c_str()))
        << kind;
  }
}

// Many shapes from several threads at once: the table of plans fills up, and goes on.
TEST_P(FakeBackendTest, PlansFromSeveralThreadsAndBeyondTheTable) {
  void* ctx = Open();
  ASSERT_EQ(backend_->ops->open(ctx), 0);
  const uint64_t scratch_bytes = backend_->ops->scratch_bytes(ctx, 1, 0);
  constexpr uint32_t kSteps =
      25;  // each way, in two element types: more shapes than plans are kept
  constexpr size_t kWidest = 8 * kSteps, kX = 128 * kWidest, kW = kWidest * kWidest, kOut = kX;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      void *stream = nullptr, *scratch = nullptr, *memory = nullptr;
      EXPECT_EQ(backend_->stream_create(ctx, &stream), 0);
      EXPECT_EQ(backend_->device_alloc(ctx, scratch_bytes, &scratch), 0);
      EXPECT_EQ(backend_->device_alloc(ctx, (kX + kW + kOut) * 4, &memory), 0);
      const rankfeed_op_at at{ctx, stream, scratch, scratch_bytes};
      auto* floats = static_cast<float*>(memory);
      for (uint32_t step = 0; step < kSteps * kSteps; ++step) {
        const uint32_t n = 8 + step / kSteps * 8, k = 8 + step % kSteps * 8;
        for (const uint32_t dtype : {RANKFEED_DTYPE_F32, RANKFEED_DTYPE_F16}) {
          const rankfeed_op_gemm op{dtype,           1, n, k, 0, floats, floats + kX, floats,
                                    floats + kX + kW};
          EXPECT_EQ(backend_->ops->gemm(&at, &op), 0);
        }
        EXPECT_EQ(backend_->stream_synchronize(ctx, stream), 0);
      }
      backend_->device_free(ctx, memory);
      backend_->device_free(ctx, scratch);
      backend_->stream_destroy(ctx, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  backend_->device_close(ctx);
  EXPECT_EQ(Found(), "");
  EXPECT_EQ(fake_gpu_calls("LtMatrixLayoutCreate"), fake_gpu_calls("LtMatrixLayoutDestroy"));
}

// Errors of the first forward are said when a model is opened.
TEST_P(FakeBackendTest, OpenRunsOneToken) {
  fake_gpu_options options = FakeOptions();
  options.kernel_fault = 3;
  Reset(options);
  EXPECT_EQ(Model(), nullptr);
  EXPECT_EQ(status_, RANKFEED_E_DEVICE);
  EXPECT_NE(std::string(error_.message).find("running one token"), std::string::npos)
      << error_.message;
}

// A batch in page-locked host memory is read once, whatever the number of layers.
TEST_P(FakeBackendTest, MappedBatchIsReadOnce) {
  rankfeed_crossencoder* model = Model("xlmr", RANKFEED_DTYPE_F32);
  ASSERT_NE(model, nullptr) << error_.message;
  void* ctx = Open();
  rankfeed_gpu_host_block block{};
  ASSERT_EQ(backend_->page_lock(ctx, 4096, 0, &block), 0);
  auto* host = static_cast<int32_t*>(block.host);
  const int32_t ids[] = {0, 5, 6, 2, 0, 7, 2}, cu[] = {0, 4, 7};
  std::memcpy(host, ids, sizeof ids);
  std::memcpy(host + 16, cu, sizeof cu);
  rankfeed_packed_batch batch{};
  batch.struct_size = sizeof batch;
  batch.rows = 2;
  batch.tokens = 7;
  batch.max_seqlen = 4;
  batch.input_ids = static_cast<int32_t*>(block.mapped);
  batch.cu_seqlens = static_cast<int32_t*>(block.mapped) + 16;
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_crossencoder_workspace(model, 2, 7, 4, &need), RANKFEED_OK);
  void *workspace = nullptr, *stream = nullptr, *logits = nullptr;
  ASSERT_EQ(backend_->device_alloc(ctx, need.size, &workspace), 0);
  ASSERT_EQ(backend_->device_alloc(ctx, 256, &logits), 0);
  ASSERT_EQ(backend_->stream_create(ctx, &stream), 0);
  fake_gpu_hold(1);
  ASSERT_EQ(rankfeed_crossencoder_enqueue(model, &batch, stream, workspace, need.size,
                                          static_cast<float*>(logits)),
            RANKFEED_OK);
  // Gone as soon as the first kernel has run: whoever reads it later gets none of it.
  fake_gpu_run(stream, 1);
  std::memset(static_cast<char*>(block.host), 0xFF, 4096);
  fake_gpu_hold(0);
  ASSERT_EQ(backend_->stream_synchronize(ctx, stream), 0);
  std::vector<float> got(2);
  ASSERT_EQ(backend_->copy_async(ctx, got.data(), logits, 8, stream), 0);
  ASSERT_EQ(backend_->stream_synchronize(ctx, stream), 0);

  rankfeed_crossencoder_options host_options{};
  const OpenModel on_host(GoldenFolder() + "xlmr", host_options);
  const PackedRows rows({{0, 5, 6, 2}, {0, 7, 2}}, {{0, 0, 0, 0}, {0, 0, 0}});
  const rankfeed_packed_batch same = rows.batch();
  const AlignedBytes host_workspace = on_host.Workspace(same);
  const size_t labels = on_host.info().labels;
  std::vector<float> expected(2 * labels);
  ASSERT_EQ(rankfeed_crossencoder_score(on_host.get(), &same, host_workspace.data(),
                                        host_workspace.size(), expected.data()),
            RANKFEED_OK);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], expected[i], 3e-5f);
  for (void* memory : {workspace, logits}) backend_->device_free(ctx, memory);
  backend_->page_unlock(ctx, &block);
  backend_->stream_destroy(ctx, stream);
  backend_->device_close(ctx);
  rankfeed_crossencoder_close(model);
  EXPECT_EQ(Found(), "");
}

// Whatever call fails, opening a ring and a model leaves nothing open and says so.
TEST_P(FakeBackendTest, EveryFailingCallLeavesNothing) {
  for (const char* call :
       {"Malloc", "HostAlloc", "StreamCreate", "EventCreate", "MemcpyAsync", "StreamSynchronize",
        "LaunchKernel", "LtMatmul", "SetDevice", "CtxPushCurrent", "DevicePrimaryCtxRetain"}) {
    for (uint64_t at = 1; at <= 12; at += (at < 4 ? 1 : 4) * (kSanitized ? 2 : 1)) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(at));
      fake_gpu_options options = FakeOptions(2);
      options.fail = call;
      options.fail_at = at;
      options.fail_error = 2;  // cudaErrorMemoryAllocation, hipErrorOutOfMemory
      Reset(options);
      rankfeed_handoff* ring =
          Ring(RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE, 1);
      if (ring == nullptr) {
        EXPECT_NE(status_, RANKFEED_OK);
      }
      rankfeed_crossencoder* model = Model("xlmr");
      if (model == nullptr) {
        EXPECT_NE(status_, RANKFEED_OK);
        EXPECT_STRNE(error_.message, "");
      }
      rankfeed_crossencoder_close(model);
      rankfeed_handoff_close(ring);
      EXPECT_EQ(Found(), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, FakeBackendTest, testing::ValuesIn(FakeVendors()),
                         [](const auto& vendor) { return vendor.param; });

}  // namespace
}  // namespace rankfeed::handoff
