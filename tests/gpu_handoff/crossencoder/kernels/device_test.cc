// SPDX-License-Identifier: MIT
// The CUDA and HIP backends on whatever device is there: kernels, forward, and every byte through
// the ring. Where a backend was not built or finds no device its tests skip and say what was not
// run; that such a machine gets a clear status is tested everywhere.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "backends/vendors.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "gpu_handoff/crossencoder/kernels/kernel_checks.h"
#include "rankfeed/handoff.h"
#include "support/sanitizers.h"

namespace rankfeed::handoff {
namespace {

struct Vendor {
  const char *name, *library, *function;
};

// CMake says of every vendor where its library is, or that it was not built.
#define VENDOR(name) Vendor{#name, RANKFEED_LIBRARY_##name, "rankfeed_handoff_" #name "_backend"},
constexpr Vendor kVendors[] = {
    RANKFEED_GPU_VENDORS(VENDOR)
    // The HIP sources on an NVIDIA GPU.
    Vendor{"hip_nvidia", RANKFEED_LIBRARY_hip_nvidia, "rankfeed_handoff_hip_backend"}};
#undef VENDOR

class DeviceTest : public testing::TestWithParam<Vendor> {
 protected:
  // Null, with a message why, when the backend was not built.
  const rankfeed_gpu_backend* Load() {
    const Vendor& vendor = GetParam();
    std::string file = vendor.library == nullptr ? "" : vendor.library;
    // scripts/gpu-check.sh takes the program and the backends to another machine.
    if (const char* folder = std::getenv("RANKFEED_GPU_LIBRARIES")) {
      file = std::string(folder) + "/librankfeed_handoff_" + vendor.name + ".so";
      if (!std::filesystem::exists(file)) file.clear();
    }
    if (file.empty()) return nullptr;
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    if (library == nullptr) return nullptr;
    using Get = const rankfeed_gpu_backend* (*)();
    const auto get = reinterpret_cast<Get>(dlsym(library, vendor.function));
    EXPECT_NE(get, nullptr);
    return get != nullptr ? get() : nullptr;
  }
  // The backend when it has a device; otherwise the reason is in skip_.
  const rankfeed_gpu_backend* Device(const char* what) {
    const rankfeed_gpu_backend* backend = Load();
    int32_t count = 0;
    if (backend == nullptr) {
      skip_ =
          std::string("NOT RUN: ") + what + ": the " + GetParam().name + " backend was not built";
    } else if (rankfeed_handoff_device_count(backend, &count) != RANKFEED_OK || count == 0) {
      skip_ =
          std::string("NOT RUN: ") + what + ": the " + GetParam().name + " backend finds no device";
    } else {
      return backend;
    }
    return nullptr;
  }
  // Sizes for where a device is slow: under compute-sanitizer, and the fake one.
  static bool Small() { return std::getenv("RANKFEED_DEVICE_TEST_SMALL") != nullptr; }
  std::string skip_;
};

TEST_P(DeviceTest, MachineWithoutDeviceGetsAClearStatus) {
  const rankfeed_gpu_backend* backend = Load();
  if (backend == nullptr)
    GTEST_SKIP() << "NOT RUN: the " << GetParam().name << " backend was not built";
  int32_t count = -1;
  const rankfeed_status status = rankfeed_handoff_device_count(backend, &count);
  if (status == RANKFEED_OK) {
    EXPECT_GT(count, 0);
    GTEST_SKIP() << "there is a device";
  }
  EXPECT_EQ(status, RANKFEED_E_NO_DEVICE);
  EXPECT_EQ(count, 0);
  rankfeed_handoff_options options{};
  options.struct_size = sizeof options;
  options.slot_bytes = 4096;
  options.slots = 3;
  options.backend = backend;
  rankfeed_handoff* ring = nullptr;
  EXPECT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_E_NO_DEVICE);
  EXPECT_EQ(ring, nullptr);
  rankfeed_crossencoder_options model_options{};
  model_options.struct_size = sizeof model_options;
  model_options.backend = backend;
  rankfeed_crossencoder_error error{};
  error.struct_size = sizeof error;
  rankfeed_crossencoder* model = nullptr;
  EXPECT_EQ(
      rankfeed_crossencoder_open((GoldenFolder() + "xlmr").c_str(), &model_options, &model, &error),
      RANKFEED_E_NO_DEVICE);
  EXPECT_STRNE(error.message, "");
}

TEST_P(DeviceTest, KernelsEqualHostOperations) {
  const rankfeed_gpu_backend* backend = Device("kernels against the CPU");
  if (backend == nullptr) GTEST_SKIP() << skip_;
  CheckAllKernels(backend, backend->ops, Small() ? 1 : 6);
  if (Small()) return;
  KernelChecks checks(backend, backend->ops, 13);
  for (const uint32_t dtype : {RANKFEED_DTYPE_F32, RANKFEED_DTYPE_F16, RANKFEED_DTYPE_BF16}) {
    checks.Attention(dtype, {8192, 1, 0, 511}, 2, 64);  // the longest rows of long-context models
    checks.Attention(dtype, {8192, 1, 0, 511}, 2, 64, 64);
    checks.Gate(dtype, 5000, 1152, RANKFEED_GPU_GELU);
    checks.Gemm(dtype, 1000, 3 * 384, 384, RANKFEED_GPU_NO_ACTIVATION);
    checks.Gemm(dtype, 777, 3072, 768, RANKFEED_GPU_GELU);
    checks.Embed(dtype, 5000, 768);
    checks.AddNorm(dtype, 5000, 1024);
  }
  checks.Positions({8192, 1, 0, 4097});
  checks.Unpack<int64_t>({8192, 1, 0, 4097}, 8192);
}

// small: over a fake device each model in float32 and one other way, under a sanitizer one way, by turns.
void CheckForward(const rankfeed_gpu_backend* backend, const std::vector<GoldenModel>& models,
                  bool small) {
  const struct {
    uint32_t dtype;
    float bound;
    uint32_t graph_tokens;
  } types[] = {{RANKFEED_DTYPE_F32, 3e-5f, 0},
               {RANKFEED_DTYPE_F16, 2e-2f, 0},
               {RANKFEED_DTYPE_BF16, 1.5e-1f, 0},
               {RANKFEED_DTYPE_F16, 2e-2f, 1 << 16}};
  size_t model_number = 0;
  for (const GoldenModel& golden : models) {
    ++model_number;
    size_t way = 0;
    for (const auto& [dtype, bound, graph_tokens] : types) {
      const bool its_turn = kSanitized ? way == model_number % 4 : way == 0 || way == 1 + model_number % 3;
      ++way;
      if (small && !its_turn && !SweepsAll()) continue;
      SCOPED_TRACE(golden.name + " dtype " + std::to_string(dtype) + " graphs of " +
                   std::to_string(graph_tokens));
      rankfeed_crossencoder_options options{};
      options.backend = backend;
      options.dtype = dtype;
      options.graph_tokens = graph_tokens;
      const OpenModel model(golden.path, options);
      ASSERT_NE(model.get(), nullptr);
      const auto few = static_cast<ptrdiff_t>(small ? 4 : golden.rows.size());
      const PackedRows rows({golden.rows.begin(), golden.rows.begin() + few},
                            {golden.types.begin(), golden.types.begin() + few});
      rankfeed_packed_batch batch = rows.batch();
      rankfeed_mem_req need{};
      ASSERT_EQ(rankfeed_crossencoder_workspace(model.get(), batch.rows, batch.tokens,
                                                batch.max_seqlen, &need),
                0);
      void *ctx = nullptr, *stream = nullptr, *workspace = nullptr, *ids = nullptr, *cu = nullptr,
           *kinds = nullptr, *logits = nullptr;
      ASSERT_EQ(backend->device_open(backend->self, 0, &ctx), 0);
      ASSERT_EQ(backend->stream_create(ctx, &stream), 0);
      const size_t labels = model.info().labels;
      std::vector<float> got(batch.rows * labels);
      ASSERT_EQ(backend->device_alloc(ctx, need.size, &workspace), 0);
      ASSERT_EQ(backend->device_alloc(ctx, rows.ids.size() * 4, &ids), 0);
      ASSERT_EQ(backend->device_alloc(ctx, rows.types.size() * 4, &kinds), 0);
      ASSERT_EQ(backend->device_alloc(ctx, rows.cu_seqlens.size() * 4, &cu), 0);
      ASSERT_EQ(backend->device_alloc(ctx, got.size() * 4, &logits), 0);
      ASSERT_EQ(backend->copy_async(ctx, ids, rows.ids.data(), rows.ids.size() * 4, stream), 0);
      ASSERT_EQ(backend->copy_async(ctx, kinds, rows.types.data(), rows.types.size() * 4, stream),
                0);
      ASSERT_EQ(
          backend->copy_async(ctx, cu, rows.cu_seqlens.data(), rows.cu_seqlens.size() * 4, stream),
          0);
      batch.input_ids = static_cast<const int32_t*>(ids);
      batch.token_type_ids = static_cast<const int32_t*>(kinds);
      batch.cu_seqlens = static_cast<const int32_t*>(cu);
      // As a graph the second is recorded and the third only launched.
      const uint32_t times = graph_tokens == 0 ? 1 : 3;
      for (uint32_t i = 0; i < times; ++i) {
        ASSERT_EQ(rankfeed_crossencoder_enqueue(model.get(), &batch, stream, workspace, need.size,
                                                static_cast<float*>(logits)),
                  RANKFEED_OK);
      }
      EXPECT_EQ(model.info().graph_launches, times - 1);
      EXPECT_EQ(model.info().graph_failures, 0u);
      ASSERT_EQ(backend->copy_async(ctx, got.data(), logits, got.size() * 4, stream), 0);
      ASSERT_EQ(backend->stream_synchronize(ctx, stream), 0);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], golden.logits[i / labels][i % labels], bound) << i;
      for (void* memory : {workspace, ids, kinds, cu, logits}) backend->device_free(ctx, memory);
      backend->stream_destroy(ctx, stream);
      backend->device_close(ctx);
    }
  }
}

TEST_P(DeviceTest, ForwardEqualsPyTorch) {
  const rankfeed_gpu_backend* backend = Device("forward against PyTorch's scores");
  if (backend == nullptr) GTEST_SKIP() << skip_;
  CheckForward(backend, LoadGolden(), Small());
}

// BERT, DistilBERT, ELECTRA and RoBERTa, with token types of their own, ModernBERT, GTE, DeBERTa
// and modular folders.
TEST_P(DeviceTest, ForwardOfEveryKindEqualsNumPy) {
  const rankfeed_gpu_backend* backend = Device("forward of every kind against NumPy's scores");
  if (backend == nullptr) GTEST_SKIP() << skip_;
  if (MadeFolder().empty()) GTEST_SKIP() << "NOT RUN: " << kNoModels;
  std::vector<GoldenModel> models = LoadGolden(MadeFolder());
  for (GoldenModel& made : LoadGolden(MadeFolder(), "families.json"))
    models.push_back(std::move(made));
  if (Small())  // one of each kind; the emulation's test has them all
    std::erase_if(models, [](const auto& made) {
      return made.name.find('_') != std::string::npos && made.name != "gte_new";
    });
  CheckForward(backend, models, Small());
}

// 10^5 batches of random size and content through the ring's slots, every byte compared.
TEST_P(DeviceTest, EveryByteOfRandomBatchesArrives) {
  const rankfeed_gpu_backend* backend = Device("10^5 random batches through the ring");
  if (backend == nullptr) GTEST_SKIP() << skip_;
  constexpr uint64_t kSlotBytes = 8192;
  rankfeed_handoff_options options{};
  options.struct_size = sizeof options;
  options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
  options.slot_bytes = kSlotBytes;
  options.slots = 4;
  options.backend = backend;
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
  void *ctx = nullptr, *copies = nullptr, *reader = nullptr;
  ASSERT_EQ(backend->device_open(backend->self, 0, &ctx), 0);
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &copies), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &reader), RANKFEED_OK);
  rankfeed_gpu_host_block back{};
  ASSERT_EQ(backend->page_lock(ctx, kSlotBytes * 100, 0, &back), 0);
  std::mt19937_64 random(3);
  std::vector<char> sent(kSlotBytes * 100);
  std::vector<uint64_t> sizes(100);
  for (int round = 0; round < (Small() ? 100 : 1000); ++round) {
    for (size_t i = 0; i < 100; ++i) {
      rankfeed_handoff_slot slot;
      rankfeed_handoff_view view{};
      view.struct_size = sizeof view;
      ASSERT_EQ(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
      sizes[i] = random() % kSlotBytes + 1;
      char* bytes = sent.data() + i * kSlotBytes;
      for (size_t b = 0; b < sizes[i]; b += 8) {
        const uint64_t word = random();
        std::memcpy(bytes + b, &word, std::min<size_t>(8, sizes[i] - b));
      }
      std::memcpy(view.host, bytes, sizes[i]);
      ASSERT_EQ(rankfeed_handoff_submit(ring, slot, sizes[i], copies, nullptr, 0), RANKFEED_OK);
      ASSERT_EQ(rankfeed_handoff_stream_wait(ring, slot, reader), RANKFEED_OK);
      ASSERT_EQ(backend->copy_async(ctx, static_cast<char*>(back.host) + i * kSlotBytes,
                                    view.device, sizes[i], reader),
                0);
      ASSERT_EQ(rankfeed_handoff_release(ring, slot, reader), RANKFEED_OK);
    }
    ASSERT_EQ(rankfeed_handoff_stream_synchronize(ring, reader), RANKFEED_OK);
    for (size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(0, std::memcmp(static_cast<char*>(back.host) + i * kSlotBytes,
                               sent.data() + i * kSlotBytes, sizes[i]))
          << "round " << round << " batch " << i;
    }
  }
  backend->page_unlock(ctx, &back);
  rankfeed_handoff_stream_destroy(ring, copies);
  rankfeed_handoff_stream_destroy(ring, reader);
  rankfeed_handoff_close(ring);
  backend->device_close(ctx);
}

// The choice between reading in place and copying, its measurement, and the idle time of the
// stream.
TEST_P(DeviceTest, RingChoosesAndMeasures) {
  const rankfeed_gpu_backend* backend =
      Device("mapped against copied, idle time by the device's clock");
  if (backend == nullptr) GTEST_SKIP() << skip_;
  const uint64_t slot_bytes = Small() ? 16 << 10 : 256 << 10;
  rankfeed_handoff_options options{};
  options.struct_size = sizeof options;
  options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE;
  options.slot_bytes = slot_bytes;
  options.slots = 3;
  options.backend = backend;
  options.mapped_limit = 4096;
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
  struct Consumer {
    const rankfeed_gpu_backend* backend;
    void *ctx, *copies, *work, *positions, *ends;
    static rankfeed_status Consume(void* self, void* stream, void* data, uint64_t bytes) {
      auto& c = *static_cast<Consumer*>(self);
      const rankfeed_op_at at = {c.ctx, stream, nullptr, 0};
      const rankfeed_op_positions op = {
          static_cast<const int32_t*>(data), static_cast<const int32_t*>(c.ends),
          static_cast<uint32_t>(bytes / 256), 1, static_cast<int32_t*>(c.positions)};
      return c.backend->ops->positions(&at, &op) == RANKFEED_GPU_OK ? RANKFEED_OK
                                                                    : RANKFEED_E_DEVICE;
    }
  } c{backend, nullptr, nullptr, nullptr, nullptr, nullptr};
  ASSERT_EQ(backend->device_open(backend->self, 0, &c.ctx), 0);
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &c.copies), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &c.work), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_device_alloc(ring, slot_bytes, &c.positions), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_device_alloc(ring, slot_bytes, &c.ends), RANKFEED_OK);
  std::vector<int32_t> ends(slot_bytes / 256 + 1);
  for (size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<int32_t>(64 * i);
  ASSERT_EQ(backend->copy_async(c.ctx, c.ends, ends.data(), ends.size() * 4, c.work), 0);
  ASSERT_EQ(rankfeed_handoff_stream_synchronize(ring, c.work), RANKFEED_OK);

  std::vector<int32_t> got(slot_bytes / 4);
  for (const uint64_t bytes : {uint64_t{1024}, uint64_t{4096}, uint64_t{8192}, slot_bytes}) {
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
    auto* ids = static_cast<int32_t*>(view.host);
    for (uint64_t i = 0; i < bytes / 4; ++i) ids[i] = i % 5 == 0 ? 1 : 7;  // 1: a pad
    ASSERT_EQ(
        rankfeed_handoff_submit(ring, slot, bytes, c.copies, nullptr, RANKFEED_HANDOFF_CHOOSE),
        RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_wait(ring, slot, c.work), RANKFEED_OK);
    void* data = nullptr;
    ASSERT_EQ(rankfeed_handoff_data(ring, slot, &data), RANKFEED_OK);
    EXPECT_EQ(data, view.mapped != nullptr && bytes <= 4096 ? view.mapped : view.device);
    ASSERT_EQ(Consumer::Consume(&c, c.work, data, bytes), RANKFEED_OK);
    ASSERT_EQ(backend->copy_async(c.ctx, got.data(), c.positions, bytes, c.work), 0);
    ASSERT_EQ(rankfeed_handoff_release(ring, slot, c.work), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_synchronize(ring, c.work), RANKFEED_OK);
    for (uint64_t i = 0; i < bytes / 4; i += 64) {
      int32_t count = 0;
      for (uint64_t t = i; t < i + 64; ++t) {
        const int32_t wanted = t % 5 == 0 ? 1 : 1 + ++count;
        ASSERT_EQ(got[t], wanted) << bytes << " " << t;
      }
    }
  }
  rankfeed_handoff_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(rankfeed_handoff_get_stats(ring, &stats), RANKFEED_OK);
  EXPECT_EQ(stats.consumer_batches, 4u);
  EXPECT_EQ(stats.consumer_unmeasured, 0u);
  EXPECT_GT(stats.consumer_busy_ns, 0u);
  EXPECT_GT(stats.consumer_idle_ns, 0u);
  uint64_t limit = 0;
  ASSERT_EQ(rankfeed_handoff_calibrate(ring, c.work, &Consumer::Consume, &c, &limit), RANKFEED_OK);
  RecordProperty("mapped_limit", std::to_string(limit));
  EXPECT_LE(limit, slot_bytes);
  rankfeed_handoff_device_free(ring, c.positions);
  rankfeed_handoff_device_free(ring, c.ends);
  rankfeed_handoff_stream_destroy(ring, c.copies);
  rankfeed_handoff_stream_destroy(ring, c.work);
  rankfeed_handoff_close(ring);
  backend->device_close(c.ctx);
}

INSTANTIATE_TEST_SUITE_P(, DeviceTest, testing::ValuesIn(kVendors),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace rankfeed::handoff
