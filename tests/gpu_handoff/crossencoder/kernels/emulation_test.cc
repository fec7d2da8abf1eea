// SPDX-License-Identifier: MIT
// The device kernels, run on the CPU: equal to the host's operations in every order of threads, the
// whole forward equal to PyTorch; and the emulator itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "crossencoder/emulation/emulator.h"
#include "crossencoder/emulation/ops_emulated.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "gpu_handoff/crossencoder/kernels/kernel_checks.h"
#include "support/sanitizers.h"

namespace rankfeed::handoff {
namespace {

// The host's memory and streams with the device's kernels, for warps of that many lanes.
rankfeed_gpu_backend EmulatedBackend(uint32_t lanes) {
  rankfeed_gpu_backend backend = *rankfeed_handoff_host_backend();
  backend.ops = EmulatedOps(lanes);
  return backend;
}
constexpr uint32_t kLanes[] = {32, 64};

TEST(Emulation, KernelsEqualHostOperations) {
  for (const uint32_t lanes : kLanes) {
    const rankfeed_gpu_backend backend = EmulatedBackend(lanes);
    CheckAllKernels(&backend, backend.ops, 1);
  }
}

void CheckEveryKernel(const rankfeed_gpu_backend& backend) {
  KernelChecks checks(&backend, backend.ops, 12);
  checks.Positions({200, 0, 1});
  checks.Unpack<int32_t>({140, 2}, 150);
  checks.Embed(RANKFEED_DTYPE_F16, 7, 150);
  checks.AddNorm(RANKFEED_DTYPE_F32, 3, 130);
  checks.Gate(RANKFEED_DTYPE_F16, 2, 130, RANKFEED_GPU_GELU);
  checks.Rotary(RANKFEED_DTYPE_BF16, 3, 34);
  checks.Gemm(RANKFEED_DTYPE_F32, 70, 66, 40, RANKFEED_GPU_GELU);
  checks.Attention(RANKFEED_DTYPE_F32, {70, 1}, 1, 64);
  checks.Attention(RANKFEED_DTYPE_F32, {70}, 1, 64, 5);
  checks.Attention(RANKFEED_DTYPE_F16, {140}, 1, 32, 9);
  checks.Relative(RANKFEED_DTYPE_F16, {40}, 1, 16, true, true);
  checks.Gemm(RANKFEED_DTYPE_BF16, 70, 66, 72, RANKFEED_GPU_GELU_TANH);
  checks.Attention(RANKFEED_DTYPE_BF16, {35, 130}, 1, 128);
  checks.Head(RANKFEED_DTYPE_F32, {2, 0}, 140, 2);
}

TEST(Emulation, OrderOfThreadsDoesNotMatter) {
  for (const auto order : {emulation::Order::kBackward, emulation::Order::kShuffled}) {
    emulation::SetOrder(order);
    for (const uint32_t lanes : kLanes) CheckEveryKernel(EmulatedBackend(lanes));
  }
  emulation::SetOrder(emulation::Order::kForward);
}

// Planted faults: each barrier of the kernels in turn is left out, with one width of warps or the
// other but in the long suite. The shadow of shared memory finds every one of them, so none is
// there for nothing.
TEST(Emulation, EveryMissingBarrierIsFound) {
  for (const uint32_t lanes : kLanes) {
    const rankfeed_gpu_backend backend = EmulatedBackend(lanes);
    CheckEveryKernel(backend);
    const std::vector<std::string> places = emulation::SyncPlaces();
    EXPECT_EQ(places.size(), 26u);
    for (size_t i = 0; i < places.size(); ++i) {
      if (!SweepsAll() && i % 2 != lanes / 32 - 1) continue;
      emulation::OmitSync(static_cast<int>(i));
      std::string said;
      try {
        CheckEveryKernel(backend);
      } catch (const std::logic_error& fault) {
        said = fault.what();
      }
      EXPECT_NE(said.find("shared memory: "), std::string::npos)
          << lanes << " lanes, " << places[i] << ": " << said;
    }
    emulation::OmitSync(-1);
  }
}

// What the kernels' memory accesses would cost, as multiples of what they would without bank
// conflicts and with full sectors. Shapes of a 12 x 768 model.
struct AccessBudget {
  const char* name;
  double conflicts, sectors;  // warps of 32
  double conflicts_64;        // warps of 64, whose units load 8 bytes of 16 rows
  void (*run)(KernelChecks&);
};
constexpr AccessBudget kAccessBudgets[] = {
    {"attention, heads of 32", 1.01, 1.01, 1.32,
     [](KernelChecks& k) { k.Attention(RANKFEED_DTYPE_F16, {256}, 1, 32); }},
    {"attention, heads of 64", 1.01, 1.01, 1.30,
     [](KernelChecks& k) { k.Attention(RANKFEED_DTYPE_F16, {256}, 1, 64); }},
    {"attention, heads of 96", 1.02, 1.01, 1.30,
     [](KernelChecks& k) { k.Attention(RANKFEED_DTYPE_BF16, {256}, 1, 96); }},
    {"attention, heads of 128", 1.01, 1.01, 1.30,
     [](KernelChecks& k) { k.Attention(RANKFEED_DTYPE_BF16, {256}, 1, 128); }},
    {"attention, float32", 1.06, 1.01, 1.06,
     [](KernelChecks& k) { k.Attention(RANKFEED_DTYPE_F32, {128}, 1, 64); }},
    {"attention in a window", 1.01, 1.01, 1.30,
     [](KernelChecks& k) { k.Attention(RANKFEED_DTYPE_F16, {256}, 1, 64, 64); }},
    {"gate", 1.01, 1.01, 1.01,
     [](KernelChecks& k) { k.Gate(RANKFEED_DTYPE_F16, 8, 1152, RANKFEED_GPU_GELU); }},
    {"gemm", 1.01, 1.01, 1.66,
     [](KernelChecks& k) { k.Gemm(RANKFEED_DTYPE_F16, 256, 128, 256, RANKFEED_GPU_GELU); }},
    {"gemm, float32", 1.01, 1.01, 1.01,
     [](KernelChecks& k) { k.Gemm(RANKFEED_DTYPE_F32, 128, 128, 128, RANKFEED_GPU_GELU); }},
    // Floats are asked for in halves of a sector (norm.inl).
    {"embeddings", 1.01, 1.3, 1.01, [](KernelChecks& k) { k.Embed(RANKFEED_DTYPE_F16, 6, 768); }},
    {"add_norm", 1.01, 1.6, 1.01, [](KernelChecks& k) { k.AddNorm(RANKFEED_DTYPE_F16, 64, 768); }},
};

TEST(Emulation, AccessesStayWithinTheirBudgets) {
  for (const uint32_t lanes : kLanes) {
    const rankfeed_gpu_backend backend = EmulatedBackend(lanes);
    KernelChecks checks(&backend, backend.ops, 14);
    for (const AccessBudget& budget : kAccessBudgets) {
      SCOPED_TRACE(std::string(budget.name) + ", warps of " + std::to_string(lanes));
      emulation::AccessCounts counts;
      emulation::CountAccesses(&counts);
      budget.run(checks);
      emulation::CountAccesses(nullptr);
      const double conflicts =
          static_cast<double>(counts.shared_cycles) /
          static_cast<double>(std::max<uint64_t>(counts.shared_cycles_at_best, 1));
      const double sectors =
          static_cast<double>(counts.sectors) / static_cast<double>(counts.sectors_at_best);
      std::printf(
          "%-24s warps of %u: %.2f cycles for one without conflicts, %.2f sectors for a full one,"
          " %.1f a request\n",
          budget.name, lanes, conflicts, sectors,
          static_cast<double>(counts.sectors) / static_cast<double>(counts.global_requests));
      EXPECT_LE(conflicts, lanes == 32 ? budget.conflicts : budget.conflicts_64);
      EXPECT_LE(sectors, budget.sectors);
    }
  }
}

// Each model in float32 and in one of the half types, under a sanitizer in one type, by turns; in
// the long suite in all.
void CheckForward(const std::vector<GoldenModel>& models) {
  const rankfeed_gpu_backend backend = EmulatedBackend(64);
  // Bounds on scores up to 3: float32 as on the host; half types lose about a step per layer.
  const std::pair<uint32_t, float> types[] = {
      {RANKFEED_DTYPE_F32, 3e-5f}, {RANKFEED_DTYPE_F16, 2e-2f}, {RANKFEED_DTYPE_BF16, 1.5e-1f}};
  size_t turn = 0;
  for (const GoldenModel& golden : models) {
    SCOPED_TRACE(golden.name);
    ++turn;
    for (const auto& [dtype, bound] : types) {
      const bool its_turn = kSanitized
                                ? dtype == types[turn % 3].first
                                : dtype == RANKFEED_DTYPE_F32 || dtype == types[1 + turn % 2].first;
      if (!its_turn && !SweepsAll()) continue;
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

TEST(Emulation, ForwardEqualsPyTorch) {
  CheckForward(LoadGolden());
}

TEST(Emulation, ForwardOfEveryKindEqualsNumPy) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  CheckForward(LoadGolden(MadeFolder()));
  CheckForward(LoadGolden(MadeFolder(), "families.json"));
}

// What Run says of a kernel of four threads and four words.
std::string Said(const std::function<void(emulation::Shared<float>, uint32_t)>& kernel) {
  try {
    emulation::Run({1, 1, 4, 32, 4},
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
