// SPDX-License-Identifier: MIT
// bench/bench_scaling.cc: one vocabulary, N threads, each with its own encoder: XQuAD passages of 12
// languages, every thread all of them, another order in each.
//
//   scaling/hf/threads:N    HuggingFace parity      scaling/sp/threads:N    SentencePiece parity
//
// Time is the wall clock until all threads are done; bytes per second are of all threads together, so
// perfect scaling is N times the first row. The word caches stay warm. The counter `of_one_thread` is
// the throughput per thread as a share of one thread alone, measured alternately in the same run: what
// other programs take from the machine weighs on both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "corpus.h"
#include "measure.h"
#include "parallel/cpus.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kMaxTextBytes = 64 << 10;

class Worker {
 public:
  explicit Worker(const rankfeed_model* model) {
    const rankfeed_limits limits{sizeof(rankfeed_limits), kMaxTextBytes, 0, 1 << 20};
    rankfeed_mem_req need;
    Check(rankfeed_encoder_mem_req(model, &limits, &need));
    memory_ = AlignedBytes(need);
    ids_.resize(kMaxTextBytes);
    Check(rankfeed_encoder_init(model, &limits, memory_.data(), memory_.size(), &encoder_));
  }
  void Run(const std::vector<std::string>& texts, size_t from) {
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string& text = texts[(from + i) % texts.size()];
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(ids_.size());
      io.input_ids = ids_.data();
      Check(rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io));
      benchmark::DoNotOptimize(io.count);
    }
  }

 private:
  AlignedBytes memory_;
  std::vector<int32_t> ids_;
  rankfeed_encoder* encoder_ = nullptr;
};

// Seconds until `count` workers are through.
double Pass(std::vector<std::unique_ptr<Worker>>& workers, size_t count, const Corpus& corpus) {
  const uint64_t begin = Clock(CLOCK_MONOTONIC);
  std::vector<std::thread> threads;
  for (size_t t = 1; t < count; ++t) {
    threads.emplace_back([&, t] { workers[t]->Run(corpus.passages, t * corpus.passages.size() / count); });
  }
  workers[0]->Run(corpus.passages, 0);
  for (std::thread& thread : threads) thread.join();
  return 1e-9 * static_cast<double>(Clock(CLOCK_MONOTONIC) - begin);
}

void Scaling(benchmark::State& state, const rankfeed_model* model, const Corpus& corpus) {
  const auto count = static_cast<size_t>(state.range(0));
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t t = 0; t < count; ++t) workers.push_back(std::make_unique<Worker>(model));
  Pass(workers, count, corpus);  // warm
  std::vector<double> shares;
  for (auto _ : state) {
    const double alone = Pass(workers, 1, corpus), together = Pass(workers, count, corpus);
    shares.push_back(alone / together);
    state.SetIterationTime(together);
  }
  std::sort(shares.begin(), shares.end());
  state.counters["of_one_thread"] = shares[shares.size() / 2];
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * corpus.passage_bytes * count));
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  auto hf = Vocabulary::Load(SharedFile("xlmr.tokenizer.json"));
  auto sp = Vocabulary::Load(SharedFile("xlmr.model"));
  const Corpus corpus = LoadXquad("all");
  if (!hf || !sp || corpus.passages.empty()) {
    std::fprintf(stderr, "bench_scaling: not run: no XLM-R vocabulary or texts in RANKFEED_SHARED_DATA\n");
    return 1;
  }
  const int most = static_cast<int>(std::max(2u, UsableCpus()));
  const auto add = [&](const char* name, const rankfeed_model* model) {
    auto* b = benchmark::RegisterBenchmark(name, [=, &corpus](auto& s) { Scaling(s, model, corpus); });
    b->ArgName("threads")->UseManualTime()->Unit(benchmark::kMillisecond);
    for (int threads = 1; threads < most; threads *= 2) b->Arg(threads);
    b->Arg(most);
  };
  add("scaling/hf", hf->model());
  add("scaling/sp", sp->model());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
