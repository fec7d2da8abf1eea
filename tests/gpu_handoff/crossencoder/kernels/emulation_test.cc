// SPDX-License-Identifier: MIT
// The device kernels, run on the CPU: equal to the host's operations in every order of threads, the
// whole forward equal to PyTorch; and the emulator itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "crossencoder/emulation/emulator.h"
#include "crossencoder/emulation/ops_emulated.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "gpu_handoff/crossencoder/kernels/kernel_checks.h"

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

void CheckEveryKernel(const rankfeed_gpu_backend& backend) {
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

TEST(Emulation, OrderOfThreadsDoesNotMatter) {
  const rankfeed_gpu_backend backend = EmulatedBackend();
  for (const auto order : {emulation::Order::kBackward, emulation::Order::kShuffled}) {
    emulation::SetOrder(order);
    CheckEveryKernel(backend);
  }
  emulation::SetOrder(emulation::Order::kForward);
}

// Planted faults: each barrier of the kernels in turn is left out. The shadow of shared memory
// finds every one of them, so none is there for nothing.
TEST(Emulation, EveryMissingBarrierIsFound) {
  const rankfeed_gpu_backend backend = EmulatedBackend();
  CheckEveryKernel(backend);
  const std::vector<std::string> places = emulation::SyncPlaces();
  EXPECT_EQ(places.size(), 11u);
  for (size_t i = 0; i < places.size(); ++i) {
    emulation::OmitSync(static_cast<int>(i));
    std::string said;
    try {
      CheckEveryKernel(backend);
    } catch (const std::logic_error& fault) {
      said = fault.what();
    }
    EXPECT_NE(said.find("shared memory: "), std::string::npos) << places[i] << ": " << said;
  }
  emulation::OmitSync(-1);
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

// What Run says of a kernel of four threads and four words.
std::string Said(const std::function<void(emulation::Shared<float>, uint32_t)>& kernel) {
  try {
    emulation::Run(1, 1, 4, 4,
                   [&] { kernel(emulation::Shared<float>(0), emulation::Now().thread); });
  } catch (const std::logic_error& fault) {
    const std::string text = fault.what();
    return text.substr(0, text.rfind(": word"));
  }
  return "";
}

TEST(Emulation, NoticesWhatIsWrongInEveryOrder) {
  const auto sync = [] { emulation::Sync("here", 1); };
  for (const auto order :
       {emulation::Order::kForward, emulation::Order::kBackward, emulation::Order::kShuffled}) {
    emulation::SetOrder(order);
    EXPECT_EQ(Said([&](auto, uint32_t t) {
                if (t != 2) sync();
              }),
              "threads of a block returned while others wait");
    // Each thread reads what its left neighbour wrote, without and with waiting for it.
    const auto neighbour = [&](bool wait) {
      return Said([&](auto shared, uint32_t t) {
        shared[t] = 1;
        if (wait) sync();
        if (t > 0) (void)float(shared[t - 1]);
      });
    };
    EXPECT_EQ(neighbour(true), "");
    const std::string race = neighbour(false);
    EXPECT_TRUE(race == "shared memory: race of a read with a write before" ||
                race == "shared memory: race of a write with a read before" ||
                race == "shared memory: read and never written")
        << race;
    EXPECT_EQ(Said([](auto shared, uint32_t) { shared[3] = 1; }),
              "shared memory: race of two writes");
    EXPECT_EQ(Said([](auto shared, uint32_t t) {
                if (t == 1) shared[0] += 1;
              }),
              "shared memory: read and never written");
    EXPECT_EQ(Said([](auto shared, uint32_t t) { shared[t + 1] = 1; }),
              "shared memory: an index outside");
  }
  emulation::SetOrder(emulation::Order::kForward);
}

}  // namespace
}  // namespace rankfeed::handoff
