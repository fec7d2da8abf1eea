// SPDX-License-Identifier: MIT
// The device kernels, run on the CPU: equal to the host's operations in every order of threads, the
// whole forward equal to PyTorch; and the emulator itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "emulation/emulator.h"
#include "emulation/ops_emulated.h"
#include "gpu_handoff/forward/golden_models.h"
#include "gpu_handoff/kernels/kernel_checks.h"

namespace rankfeed::handoff {
namespace {

// The host's memory and streams with the device's kernels.
rankfeed_gpu_backend EmulatedBackend() {
  rankfeed_gpu_backend backend = *rankfeed_handoff_host_backend();
  backend.ops = EmulatedOps();
  return backend;
}

TEST(Emulation, KernelsEqualHostOperations) {
  const rankfeed_gpu_backend backend = EmulatedBackend();
  CheckAllKernels(&backend, EmulatedOps(), 1);
}

// A missing RF_SYNC gives other results, or NaN from shared memory, when threads run in another
// order.
TEST(Emulation, OrderOfThreadsDoesNotMatter) {
  const rankfeed_gpu_backend backend = EmulatedBackend();
  for (const auto order : {emulation::Order::kBackward, emulation::Order::kShuffled}) {
    emulation::SetOrder(order);
    KernelChecks checks(&backend, EmulatedOps(), 12);
    checks.Positions({200, 0, 1});
    checks.Unpack<int32_t>({140, 2}, 150);
    checks.Embed(RANKFEED_DTYPE_F16, 7, 150);
    checks.AddNorm(RANKFEED_DTYPE_F32, 3, 130);
    checks.Gemm(RANKFEED_DTYPE_F32, 70, 66, 40, RANKFEED_GPU_GELU);
    checks.Attention(RANKFEED_DTYPE_F32, {70, 1}, 1, 64);
    checks.Attention(RANKFEED_DTYPE_BF16, {35}, 1, 128);
    checks.Head(RANKFEED_DTYPE_F32, {2, 0}, 140, 2);
  }
  emulation::SetOrder(emulation::Order::kForward);
}

TEST(Emulation, ForwardEqualsPyTorchInEveryType) {
  const rankfeed_gpu_backend backend = EmulatedBackend();
  // Bounds on scores up to 3: float32 as on the host; half types lose about a step per layer.
  const std::pair<uint32_t, float> types[] = {
      {RANKFEED_DTYPE_F32, 3e-5f}, {RANKFEED_DTYPE_F16, 2e-2f}, {RANKFEED_DTYPE_BF16, 1.5e-1f}};
  for (const GoldenModel& golden : LoadGolden()) {
    SCOPED_TRACE(golden.name);
    for (const auto& [dtype, bound] : types) {
      rankfeed_crossencoder_options options{};
      options.backend = &backend;
      options.dtype = dtype;
      const OpenModel model(golden.path, options);
      EXPECT_EQ(model.info().dtype, dtype);
      const std::vector<std::vector<int32_t>> few_rows(golden.rows.begin(),
                                                       golden.rows.begin() + 4);
      const std::vector<std::vector<int32_t>> few_types(golden.types.begin(),
                                                        golden.types.begin() + 4);
      const PackedRows rows(few_rows, few_types);
      const rankfeed_packed_batch batch = rows.batch();
      const AlignedBytes workspace = model.Workspace(batch);
      const uint32_t labels = model.info().labels;
      std::vector<float> logits(batch.rows * labels);
      ASSERT_EQ(rankfeed_crossencoder_enqueue(model.get(), &batch, nullptr, workspace.data(),
                                              workspace.size(), logits.data()),
                RANKFEED_OK);
      for (size_t i = 0; i < logits.size(); ++i) {
        EXPECT_NEAR(logits[i], golden.logits[i / labels][i % labels], bound) << "dtype " << dtype;
      }
    }
  }
}

TEST(Emulation, NoticesThreadsThatLeaveOthersWaiting) {
  EXPECT_THROW(emulation::Run(1, 1, 4, 1,
                              [] {
                                if (emulation::Now().thread != 2) emulation::Sync();
                              }),
               std::logic_error);
}

TEST(Emulation, OrderShowsAMissingSync) {
  // Each thread reads what its left neighbour wrote without waiting for it.
  const auto sum = [](emulation::Order order) {
    emulation::SetOrder(order);
    float result = 0;
    emulation::Run(1, 1, 4, 4, [&] {
      const emulation::Position& now = emulation::Now();
      now.shared[now.thread] = 1;
      if (now.thread > 0) result += now.shared[now.thread - 1];
    });
    emulation::SetOrder(emulation::Order::kForward);
    return result;
  };
  EXPECT_EQ(sum(emulation::Order::kForward), 3);
  EXPECT_TRUE(std::isnan(sum(emulation::Order::kBackward)));
}

}  // namespace
}  // namespace rankfeed::handoff
