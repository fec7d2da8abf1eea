// SPDX-License-Identifier: MIT
// bench_handoff: from a filled slot to scores, stage by stage, on any backend.
//   bench_handoff [--device=host|cuda|hip] [--model=DIR] [Google Benchmark's options]
//
//   submit_to_landed/BYTES        submit of one slot until poll says it landed, the host polling
//   submit_mapped_and_read/BYTES  no copy: until a kernel has read all of it in place
//   pageable_copy/BYTES           the copy out of ordinary memory: what frameworks do without a ring
//   forward/PAIRS                 one packed batch of pairs of 128 tokens through --model, to scores
// p50 and p99 are counters beside the mean. Without a device the run says so and ends with
// status 1.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "backends/backend_library.h"
#include "crossencoder/ops.h"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/handoff.hpp"

namespace {

const rankfeed_gpu_backend* g_backend = nullptr;
std::string g_model;

using Clock = std::chrono::steady_clock;

// Collects the time of each round.
class Rounds {
 public:
  explicit Rounds(benchmark::State& state) : state_(state) { times_.reserve(1 << 20); }
  ~Rounds() {
    if (times_.empty()) return;
    std::sort(times_.begin(), times_.end());
    state_.counters["p50_us"] = times_[times_.size() / 2] * 1e6;
    state_.counters["p99_us"] = times_[times_.size() * 99 / 100] * 1e6;
  }
  void Add(Clock::time_point begin) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    state_.SetIterationTime(seconds);
    times_.push_back(seconds);
  }

 private:
  benchmark::State& state_;
  std::vector<double> times_;
};

void Must(int32_t status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "bench_handoff: %s failed (%d)\n", what, status);
  std::exit(1);
}

template <class T>
T Take(rankfeed::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "bench_handoff: %s\n", result.error().message.c_str());
  std::exit(1);
}

rankfeed::Handoff OpenRing(uint64_t bytes, uint32_t flags) {
  rankfeed_handoff_options options{};
  options.flags = flags;
  options.slot_bytes = bytes;
  options.slots = 3;
  options.backend = g_backend;
  return Take(rankfeed::Handoff::Open(options));
}

// A ring of three slots with a stream.
class Slots {
 public:
  Slots(uint64_t bytes, uint32_t flags)
      : ring_(OpenRing(bytes, flags)), stream_(Take(ring_.MakeStream())) {}

  rankfeed::Handoff& ring() { return ring_; }
  void* stream() const { return stream_.get(); }

  // Fills slot after slot. `hand` (slot) submits one and waits for it, and is timed; `after` gets
  // what it answers, and is not.
  template <typename Hand, typename After>
  void Time(benchmark::State& state, const Hand& hand, const After& after) {
    Rounds rounds(state);
    for (auto _ : state) {
      rankfeed::FillingSlot slot = Take(ring_.WaitAcquire());
      std::memset(slot.bytes().data(), 1, slot.bytes().size());
      const auto begin = Clock::now();
      rankfeed::LeasedSlot lease = hand(slot);
      rounds.Add(begin);
      after(lease);
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
  }
  void Poll(const rankfeed::LeasedSlot& lease) {
    while (ring_.Poll(lease.ticket()) == RANKFEED_E_BUSY) {
    }
  }

 private:
  rankfeed::Handoff ring_;
  rankfeed::HandoffStream stream_;
};

void SubmitToLanded(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  Slots slots(bytes, RANKFEED_HANDOFF_DEVICE_SLOTS);
  slots.Time(
      state,
      [&](rankfeed::FillingSlot& slot) {
        rankfeed::LeasedSlot lease = Take(slot.Submit(bytes, slots.stream()));
        slots.Poll(lease);
        return lease;
      },
      [](rankfeed::LeasedSlot& lease) { Must(lease.ReleaseNow().status, "release"); });
}
BENCHMARK(SubmitToLanded)
    ->Name("submit_to_landed")
    ->RangeMultiplier(4)
    ->Range(1 << 10, 1 << 22)
    ->UseManualTime();

// A slot that the device reads where it lies: submit until its event has completed. What the reads
// cost is in the consumer; bench_pipeline --mapped measure weighs the two.
void SubmitMapped(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  Slots slots(bytes, 0);
  void *stream = slots.stream(), *ctx = nullptr;
  Must(g_backend->device_open(g_backend->self, 0, &ctx), "device");
  const int32_t ends[2] = {0, static_cast<int32_t>(bytes / 4)};
  {
    const rankfeed::DeviceMemory out = Take(slots.ring().Allocate(bytes));
    const rankfeed::DeviceMemory row = Take(slots.ring().Allocate(sizeof ends));
    Must(g_backend->copy_async(ctx, row.get(), ends, sizeof ends, stream), "copy");
    Must(g_backend->stream_synchronize(ctx, stream), "copy");
    slots.Time(
        state,
        [&](rankfeed::FillingSlot& slot) {
          rankfeed::LeasedSlot lease = Take(slot.Submit(bytes, stream, RANKFEED_HANDOFF_MAPPED));
          if (g_backend->ops != nullptr) {  // one kernel that reads all of it over the bus
            const rankfeed_op_at at = {ctx, stream, nullptr, 0};
            const rankfeed_op_positions op = {static_cast<const int32_t*>(lease.data()),
                                              static_cast<const int32_t*>(row.get()), 1, 0,
                                              static_cast<int32_t*>(out.get())};
            Must(g_backend->ops->positions(&at, &op), "kernel");
          }
          Must(lease.Release().status, "release");
          slots.Poll(lease);
          Must(g_backend->stream_synchronize(ctx, stream), "kernel");
          return lease;
        },
        [](rankfeed::LeasedSlot&) {});
  }
  g_backend->device_close(ctx);
}
BENCHMARK(SubmitMapped)
    ->Name("submit_mapped_and_read")
    ->RangeMultiplier(4)
    ->Range(1 << 10, 1 << 22)
    ->UseManualTime();

void PageableCopy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  void *ctx = nullptr, *stream = nullptr, *device = nullptr;
  Must(g_backend->device_open(g_backend->self, 0, &ctx), "device");
  Must(g_backend->stream_create(ctx, &stream), "stream");
  Must(g_backend->device_alloc(ctx, bytes, &device), "device memory");
  std::vector<char> source(bytes);
  {
    Rounds rounds(state);
    for (auto _ : state) {
      std::memset(source.data(), 1, bytes);
      const auto begin = Clock::now();
      Must(g_backend->copy_async(ctx, device, source.data(), bytes, stream), "copy");
      Must(g_backend->stream_synchronize(ctx, stream), "copy");
      rounds.Add(begin);
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  g_backend->device_free(ctx, device);
  g_backend->stream_destroy(ctx, stream);
  g_backend->device_close(ctx);
}
BENCHMARK(PageableCopy)
    ->Name("pageable_copy")
    ->RangeMultiplier(4)
    ->Range(1 << 10, 1 << 22)
    ->UseManualTime();

void Forward(benchmark::State& state) {
  constexpr uint32_t kTokens = 128;
  const auto rows = static_cast<uint32_t>(state.range(0));
  if (g_model.empty()) {
    state.SkipWithError("no --model");
    return;
  }
  rankfeed_crossencoder_options options{};
  options.backend = g_backend;
  auto opened = rankfeed::Crossencoder::Open(g_model.c_str(), options);
  if (!opened) {
    state.SkipWithError(opened.error().message.c_str());
    return;
  }
  const rankfeed::Crossencoder model = std::move(*opened);
  const rankfeed_crossencoder_info info = model.info();
  std::vector<int32_t> arena(rows * kTokens + rows + 1);
  for (uint32_t i = 0; i < rows * kTokens; ++i)
    arena[i] = static_cast<int32_t>(5 + i * 7919u % (info.vocab_size - 5));
  for (uint32_t r = 0; r <= rows; ++r)
    arena[rows * kTokens + r] = static_cast<int32_t>(r * kTokens);
  const rankfeed_mem_req need = Take(model.Workspace(rows, rows * kTokens, kTokens));
  void *ctx = nullptr, *stream = nullptr, *device = nullptr, *workspace = nullptr;
  Must(g_backend->device_open(g_backend->self, 0, &ctx), "device");
  Must(g_backend->stream_create(ctx, &stream), "stream");
  Must(g_backend->device_alloc(ctx, arena.size() * 4, &device), "device memory");
  Must(g_backend->device_alloc(ctx, need.size, &workspace), "device memory");
  rankfeed_gpu_host_block logits{};
  Must(g_backend->page_lock(ctx, size_t{rows} * info.labels * 4, 0, &logits), "page-locked memory");
  Must(g_backend->copy_async(ctx, device, arena.data(), arena.size() * 4, stream), "copy");
  Must(g_backend->stream_synchronize(ctx, stream), "copy");
  const auto* ids = static_cast<const int32_t*>(device);
  const rankfeed_packed_batch batch{sizeof batch,         rows,   rows * kTokens, kTokens, ids,
                                    ids + rows * kTokens, nullptr};
  {
    Rounds rounds(state);
    for (auto _ : state) {
      const auto begin = Clock::now();
      Must(model.Enqueue(batch, stream, workspace, need.size, static_cast<float*>(logits.mapped))
               .status,
           "forward");
      Must(g_backend->stream_synchronize(ctx, stream), "forward");
      rounds.Add(begin);
    }
  }
  state.SetItemsProcessed(state.iterations() * rows);
  state.SetLabel(std::string(info.backend) + ", " + model.info().gemm);  // with what was measured
  g_backend->page_unlock(ctx, &logits);
  g_backend->device_free(ctx, device);
  g_backend->device_free(ctx, workspace);
  g_backend->stream_destroy(ctx, stream);
  g_backend->device_close(ctx);
}
BENCHMARK(Forward)->Name("forward")->Arg(1)->Arg(10)->Arg(100)->UseManualTime()->Unit(
    benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  std::string device = "host";
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::strncmp(argv[i], "--device=", 9) == 0) {
      device = argv[i] + 9;
    } else if (std::strncmp(argv[i], "--model=", 8) == 0) {
      g_model = argv[i] + 8;
    } else {
      rest.push_back(argv[i]);
    }
  }
  // Beside this program, in the build's folder of backends, or where the loader looks.
  const auto found =
      rankfeed::handoff::FindBackend(device, {rankfeed::handoff::ProgramFolder(), RANKFEED_BACKEND_FOLDER});
  if (found.backend == nullptr) {
    std::fprintf(stderr, "bench_handoff: NOT RUN on %s: %s\n", device.c_str(), found.message.c_str());
    return 1;
  }
  g_backend = found.backend;
  void* ctx = nullptr;
  char name[128] = "";
  Must(g_backend->device_open(g_backend->self, 0, &ctx), "device");
  g_backend->describe(ctx, name, sizeof name);
  g_backend->device_close(ctx);
  benchmark::AddCustomContext("device", name);
  int count_of_rest = static_cast<int>(rest.size());
  benchmark::Initialize(&count_of_rest, rest.data());
  benchmark::RunSpecifiedBenchmarks();
}
