// SPDX-License-Identifier: MIT
// measure/measure.cc: see measure.h.
#include "measure/measure.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "counters/allocation.h"
#include "measure/replay.h"
#include "measure/workload.h"

namespace rankfeed::measure {
namespace {

// Texts handed to the engine at once: as many as a request has. Adapters answer a line for each.
constexpr size_t kTextsAtOnce = 64;

size_t TotalBytes(const std::vector<std::string_view>& texts) {
  size_t bytes = 0;
  for (const std::string_view text : texts) bytes += text.size();
  return bytes;
}

template <class Each>
void EncodeAll(Engine& engine, const std::vector<std::string_view>& texts, EncodedTexts& out,
               Each each) {
  for (size_t from = 0; from < texts.size(); from += kTextsAtOnce) {
    const size_t count = std::min(kTextsAtOnce, texts.size() - from);
    engine.Encode({texts.data() + from, count}, &out);
    each(out);
  }
}

}  // namespace

EncodeCost MeasureEncode(Engine& engine, const std::vector<std::string_view>& texts,
                         double min_seconds) {
  EncodeCost cost;
  cost.texts = texts.size();
  cost.text_bytes = TotalBytes(texts);
  cost.counters.struct_size = sizeof(cost.counters);
  EncodedTexts out;
  size_t longest_batch = 0;
  for (size_t from = 0; from < texts.size(); from += kTextsAtOnce) {
    size_t bytes = 0;
    for (size_t i = from; i < std::min(from + kTextsAtOnce, texts.size()); ++i) bytes += texts[i].size() + 8;
    longest_batch = std::max(longest_batch, bytes);
  }
  out.Reserve(kTextsAtOnce, longest_batch + 64);
  std::vector<double> us;
  engine.Reset();
  EncodeAll(engine, texts, out, [&](const EncodedTexts& e) {
    for (const uint32_t ns : e.ns) us.push_back(ns / 1e3);
    cost.tokens += e.tokens();
    // A hash of the hash so far and these: as many texts come at a time whatever the engine.
    cost.ids_hash.append(reinterpret_cast<const char*>(e.begin.data()), e.begin.size() * sizeof(uint32_t));
    cost.ids_hash.append(reinterpret_cast<const char*>(e.ids.data()), e.tokens() * sizeof(int32_t));
    cost.ids_hash = HashHex(cost.ids_hash);
  });
  cost.roads = engine.Roads();
  cost.first_p50_us = Percentile(us, 0.5);
  us.clear();

  const bool in_process = engine.info().in_process;
  rankfeed_counters* counters = nullptr;
  if (in_process) (void)rankfeed_counters_open(&counters);
  counters::EnergyMeter energy;
  double foreign_allocations = 0;
  bool foreign_reported = false;
  uint64_t allocations = 0, allocated_bytes = 0, foreign_ns = 0;
  us.reserve(1 << 20);
  energy.Start();
  {
    const counters::AllocationPhase phase;
    const uint64_t start = MonotonicNs(), cpu = ThreadCpuNs();
    (void)rankfeed_counters_start(counters);
    do {
      const uint64_t round = in_process ? ThreadCpuNs() : foreign_ns;
      for (size_t from = 0; from < texts.size(); from += kTextsAtOnce) {
        const counters::ThreadAllocations before = counters::AllocationsOfThisThread();
        engine.Encode({texts.data() + from, std::min(kTextsAtOnce, texts.size() - from)}, &out);
        const counters::ThreadAllocations after = counters::AllocationsOfThisThread();
        allocations += after.count - before.count;
        allocated_bytes += after.bytes - before.bytes;
        if (out.foreign_allocations >= 0) {
          foreign_allocations += out.foreign_allocations;
          foreign_reported = true;
        }
        for (const uint32_t ns : out.ns) {
          us.push_back(ns / 1e3);
          foreign_ns += ns;
        }
      }
      ++cost.rounds;
      cost.round_ns.push_back(static_cast<double>((in_process ? ThreadCpuNs() : foreign_ns) - round));
    } while (cost.rounds < 2 || static_cast<double>(MonotonicNs() - start) < min_seconds * 1e9);
    (void)rankfeed_counters_stop(counters);
    cost.seconds = static_cast<double>(MonotonicNs() - start) / 1e9;
    cost.cpu_seconds = static_cast<double>(ThreadCpuNs() - cpu) / 1e9;
  }
  if (!in_process) cost.seconds = cost.cpu_seconds = static_cast<double>(foreign_ns) / 1e9;
  (void)rankfeed_counters_read(counters, &cost.counters);
  rankfeed_counters_close(counters);
  if (!in_process) {
    for (rankfeed_counter& counter : cost.counters.counters) {
      snprintf(counter.reason, sizeof(counter.reason), "the engine runs in another process");
    }
  }
  if (energy.valid()) {
    cost.joules = energy.Joules();
  } else {
    cost.energy_reason = energy.reason();
  }
  std::sort(cost.round_ns.begin(), cost.round_ns.end());
  cost.p50_us = Percentile(us, 0.50);
  cost.p95_us = Percentile(us, 0.95);
  cost.p99_us = Percentile(us, 0.99);
  cost.max_us = us.empty() ? 0 : us.back();
  const double encodes = static_cast<double>(cost.rounds * texts.size());
  if (!in_process) {
    if (foreign_reported) cost.allocations = foreign_allocations / encodes;
    else cost.allocation_reason = "the adapter does not report allocations";
  } else if (!counters::AllocationAccountingInstalled()) {
    cost.allocation_reason = counters::AllocationAccountingReason();
  } else {
    cost.allocations = static_cast<double>(allocations) / encodes;
    cost.allocated_bytes = static_cast<double>(allocated_bytes) / encodes;
  }
  return cost;
}

namespace {

// More than the last-level caches of any machine this was tried on; the kernel's answer if larger.
size_t EvictBytes() {
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<size_t>(l3 > 0 ? 2 * static_cast<size_t>(l3) : 0, 96u << 20, 256u << 20);
}

class Evictor {
 public:
  Evictor() : size_(EvictBytes()) {
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ != MAP_FAILED) (void)madvise(base_, size_, MADV_HUGEPAGE);
  }
  ~Evictor() {
    if (base_ != MAP_FAILED) munmap(base_, size_);
  }
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;
  bool ok() const { return base_ != MAP_FAILED; }
  void Evict() {
    auto* words = static_cast<volatile uint64_t*>(base_);
    for (size_t i = 0; i < size_ / 8; i += 8) words[i] = words[i] + 1;
  }
  // Mean time of one access in a random cycle through the buffer's cache lines.
  double AccessNs() {
    auto* words = static_cast<uint64_t*>(base_);
    const size_t lines = size_ / 64;
    std::vector<uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937_64 random(7);
    for (size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    for (size_t i = 0; i < lines; ++i) words[size_t{order[i]} * 8] = order[(i + 1) % lines];
    constexpr size_t kSteps = 200000;
    uint64_t at = order[0];
    const uint64_t start = ThreadCpuNs();
    for (size_t i = 0; i < kSteps; ++i) at = static_cast<volatile uint64_t*>(words)[at * 8];
    const double ns = static_cast<double>(ThreadCpuNs() - start) / kSteps;
    words[0] = at;
    return ns;
  }

 private:
  size_t size_;
  void* base_;
};

}  // namespace

PointerChase MeasurePointerChase(Engine& engine, const std::vector<std::string_view>& texts,
                                 size_t most_texts) {
  PointerChase out;
  if (!engine.info().in_process) {
    out.reason = "the engine runs in another process";
    return out;
  }
  // Long texts: a cold start's fixed part must not be taken for the tokens'.
  std::vector<std::string_view> chosen;
  for (const std::string_view text : texts) {
    if (text.size() >= 400) chosen.push_back(text);
    if (chosen.size() == most_texts) break;
  }
  if (chosen.size() < 4) {
    out.reason = "fewer than 4 texts of 400 bytes";
    return out;
  }
  Evictor evictor;
  if (!evictor.ok()) {
    out.reason = "no memory for the buffer that empties the caches";
    return out;
  }
  out.texts = chosen.size();
  EncodedTexts one;
  one.Reserve(1, TotalBytes(chosen) + 64);
  std::vector<double> warm, cold;
  for (const std::string_view text : chosen) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 3; ++i) {
      const uint64_t start = ThreadCpuNs();
      engine.Encode({&text, 1}, &one);
      best = std::min(best, ThreadCpuNs() - start);
    }
    if (one.tokens() == 0) continue;
    evictor.Evict();
    const uint64_t start = ThreadCpuNs();
    engine.Encode({&text, 1}, &one);
    const uint64_t spent = ThreadCpuNs() - start;
    warm.push_back(static_cast<double>(best) / one.tokens());
    cold.push_back(static_cast<double>(spent) / one.tokens());
  }
  if (warm.empty()) {
    out.reason = "the texts have no tokens";
    return out;
  }
  out.warm_ns_per_token = Percentile(warm, 0.5);
  out.cold_ns_per_token = Percentile(cold, 0.5);
  out.access_ns = evictor.AccessNs();
  out.valid = true;
  return out;
}

}  // namespace rankfeed::measure
