// SPDX-License-Identifier: MIT
// findings_test.cc: every finding with a workload that must bring it up and one that must not. Regressions are
// planted in real runs: an allocation per text, a vocabulary on base pages, late copies, one wrong id, a
// chain of dependent loads, work in the assembly and batch stages.
#include "measure/findings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <set>

#include "backend.h"
#include "counters/allocation.h"
#include "measure/run_fixture.h"
#include "reference/sp_model_proto.h"

namespace rankfeed::test {
namespace {


const Finding& Of(const std::vector<Finding>& all, const std::string& name) {
  for (const Finding& f : all) {
    if (f.name == name) return f;
  }
  throw std::runtime_error("no finding " + name);
}

Verdict VerdictOf(const Run& run, const std::string& name) {
  const std::vector<Finding> all = Judge(run);
  EXPECT_EQ(all.size(), 10u);
  const Finding& f = Of(all, name);
  EXPECT_NE(f.summary, "") << name;
  if (f.verdict == Verdict::kFound) {
    EXPECT_NE(f.advice, "") << name;
    EXPECT_FALSE(f.evidence.empty()) << name;
  }
  return f.verdict;
}

Run MeasureRun(const Subject& subject, const Workload& workload, const RunOptions& options,
                        Engine* reference = nullptr, EngineFactory engines = {}) {
  return Measure(workload, subject.image, engines ? engines : subject.engines, reference, options);
}

// rankfeed with something done to every text or to the ids.
class Planted : public Engine {
 public:
  using After = std::function<void(std::span<const std::string_view>, EncodedTexts*)>;
  Planted(std::unique_ptr<Engine> inner, After after) : inner_(std::move(inner)), after_(std::move(after)) {}
  const EngineInfo& info() const override { return inner_->info(); }
  void Encode(std::span<const std::string_view> texts, EncodedTexts* out) override {
    inner_->Encode(texts, out);
    after_(texts, out);
  }

 private:
  std::unique_ptr<Engine> inner_;
  After after_;
};

EngineFactory Plant(const Subject& subject, Planted::After after) {
  return [&subject, after]() -> std::unique_ptr<Engine> {
    return std::make_unique<Planted>(subject.engines(), after);
  };
}

// A tokenizer that computes ids and looks nothing up.
class Computing : public Engine {
 public:
  const EngineInfo& info() const override { return info_; }
  void Encode(std::span<const std::string_view> texts, EncodedTexts* out) override {
    out->begin.assign(1, 0);
    out->ns.clear();
    uint32_t at = 0;
    for (const std::string_view text : texts) {
      const uint64_t start = MonotonicNs();
      uint32_t id = 1;
      for (size_t i = 0; i < text.size(); ++i) {
        id = id * 31 + static_cast<unsigned char>(text[i]);
        if (i % 4 == 3) out->ids[at++] = static_cast<int32_t>(id % 30000);
      }
      out->begin.push_back(at);
      out->ns.push_back(static_cast<uint32_t>(MonotonicNs() - start));
    }
  }

 private:
  EngineInfo info_;
};

// The host backend with a device that is late with every copy: later than the forward pass of the test, which
// otherwise hides it, as it should.
struct LateCopies {
  static constexpr int kLateUs = 35000;
  LateCopies() : table(*rankfeed_handoff_host_backend()) {
    table.copy_async = [](void* ctx, void* dst, const void* src, size_t bytes, void* stream) -> int32_t {
      const rankfeed_gpu_backend* host = rankfeed_handoff_host_backend();
      const int32_t late = host->launch_host(ctx, stream, [](void*) { usleep(kLateUs); }, nullptr);
      return late != 0 ? late : host->copy_async(ctx, dst, src, bytes, stream);
    };
  }
  rankfeed_gpu_backend table;
};

// Whether that is not found. A loaded machine wakes the copying thread late now and then, which only ever adds to
// the wait for the device: the best of three runs is the handoff's own.
bool IsClear(const Subject& subject, const Workload& workload, const RunOptions& options,
             const char* finding) {
  for (int i = 0; i < 3; ++i) {
    if (VerdictOf(MeasureRun(subject, workload, options), finding) == Verdict::kNotFound) return true;
  }
  return false;
}

void Spin(uint64_t ns) {
  const uint64_t until = ThreadCpuNs() + ns;
  while (ThreadCpuNs() < until) {
  }
}

TEST(Findings, CpuBottleneck) {
  const Subject subject;
  RunOptions options = Quick();
  options.replay.gpu_forward_ms = 0.05;  // 20,000 queries/s: no thread tokenizes 60 passages as fast
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(20, 60), options), "tokenizer_cpu_bottleneck"), Verdict::kFound);
  options.replay.gpu_forward_ms = 50;
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(6, 2), options), "tokenizer_cpu_bottleneck"), Verdict::kNotFound);
  options.replay.gpu_forward_ms = -1;  // closed loop, nothing to keep up with
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(6, 2), options), "tokenizer_cpu_bottleneck"), Verdict::kNotMeasurable);
  options.replay.load = 1;
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(200, 60, 1e6), options), "tokenizer_cpu_bottleneck"), Verdict::kFound);
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(10, 2, 100), options), "tokenizer_cpu_bottleneck"), Verdict::kNotFound);
}

TEST(Findings, AllocationInTheHotLoop) {
  if (!counters::AllocationAccountingInstalled()) GTEST_SKIP() << counters::AllocationAccountingReason();
  const Subject subject;
  const auto planted = Plant(subject, [](auto texts, auto*) {
    for (size_t i = 0; i < texts.size(); ++i) {
      auto* p = new char[100];
      asm volatile("" : : "r"(p) : "memory");
      delete[] p;
    }
  });
  const measure::Run bad = MeasureRun(subject, SmallWorkload(5, 10), Quick(), nullptr, planted);
  EXPECT_EQ(VerdictOf(bad, "tokenizer_alloc_hotpath"), Verdict::kFound);
  EXPECT_NEAR(bad.encode.allocations, 1, 0.01);
  const measure::Run good = MeasureRun(subject, SmallWorkload(5, 10), Quick());
  EXPECT_EQ(VerdictOf(good, "tokenizer_alloc_hotpath"), Verdict::kNotFound);
  EXPECT_EQ(good.encode.allocations, 0);
}

TEST(Findings, PointerChase) {
  const Subject subject;
  RunOptions options = Quick();
  options.pointer_chase = true;
  const measure::Run good =
      MeasureRun(subject, SmallWorkload(20, 20), options, nullptr, [] { return std::make_unique<Computing>(); });
  EXPECT_EQ(VerdictOf(good, "tokenizer_trie_pointer_chase"), Verdict::kNotFound)
      << good.chase.dependent_accesses_per_token();
  // 20 dependent loads per token in a structure of 512 KiB: cheap from the cache, not from memory.
  static std::vector<uint32_t> next(1 << 17);
  for (size_t i = 0; i < next.size(); ++i) next[i] = static_cast<uint32_t>((i * 40503 + 12289) % next.size());
  const auto planted = Plant(subject, [](auto, EncodedTexts* out) {
    uint32_t at = 1;
    for (uint32_t i = 0; i < 20 * out->tokens(); ++i) at = static_cast<volatile uint32_t*>(next.data())[at];
    next[0] = at == 0xffffffff ? 0 : next[0];
  });
  const measure::Run bad = MeasureRun(subject, SmallWorkload(20, 20), options, nullptr, planted);
  EXPECT_EQ(VerdictOf(bad, "tokenizer_trie_pointer_chase"), Verdict::kFound)
      << bad.chase.dependent_accesses_per_token();
  // By counters and by simulation, when the probe says nothing.
  measure::Run counted = good;
  counted.chase.valid = false;
  counted.chase.reason = "planted";
  EXPECT_EQ(VerdictOf(counted, "tokenizer_trie_pointer_chase"),
            good.encode.counters.counters[RANKFEED_COUNTER_LLC_MISSES].valid ? Verdict::kNotFound : Verdict::kNotMeasurable);
  rankfeed_counter& llc = counted.encode.counters.counters[RANKFEED_COUNTER_LLC_MISSES];
  llc.valid = 1;
  llc.value = 5 * counted.encode.tokens * counted.encode.rounds;
  EXPECT_EQ(VerdictOf(counted, "tokenizer_trie_pointer_chase"), Verdict::kFound);
  llc.value = 0;
  EXPECT_EQ(VerdictOf(counted, "tokenizer_trie_pointer_chase"), Verdict::kNotFound);
  counted.simulated = {{"ll_read_misses_per_token", 4.0}};
  EXPECT_EQ(VerdictOf(counted, "tokenizer_trie_pointer_chase"), Verdict::kFound);
}

TEST(Findings, VocabularyOnBasePages) {
  // The default image (7.9 MB) is within reach of the TLB: never a finding, whatever its pages.
  const Subject small(Pages::kBase);
  measure::Run run = MeasureRun(small, SmallWorkload(3, 3), Quick());
  ASSERT_EQ(run.pages.obtained.kind, "base");
  EXPECT_EQ(VerdictOf(run, "tokenizer_tlb_pressure"), Verdict::kNotFound);
  // Page walks count when the CPU counts them.
  rankfeed_counter* counters = run.encode.counters.counters;
  counters[RANKFEED_COUNTER_CYCLES] = {1000, 1, 1, 0, ""};
  counters[RANKFEED_COUNTER_PAGE_WALK_CYCLES] = {100, 1, 1, 0, ""};
  EXPECT_EQ(VerdictOf(run, "tokenizer_tlb_pressure"), Verdict::kFound);
  counters[RANKFEED_COUNTER_PAGE_WALK_CYCLES].value = 10;
  EXPECT_EQ(VerdictOf(run, "tokenizer_tlb_pressure"), Verdict::kNotFound);
}

// 200,000 pieces: an image beyond the reach of a TLB of 4 KiB pages.
TEST(Findings, MissingHugePages) {
  sp_test::ModelProto proto;
  proto.AddSpecials();
  for (char c = 'a'; c <= 'z'; ++c) proto.Add(std::string(1, c), -5);
  std::set<std::string> pieces;
  std::mt19937 random(3);
  while (pieces.size() < 200000) {
    std::string piece = random() % 2 != 0 ? "\u2581" : "";
    for (uint32_t i = 3 + random() % 6; i > 0; --i) piece += static_cast<char>('a' + random() % 26);
    pieces.insert(std::move(piece));
  }
  for (const std::string& piece : pieces) proto.Add(piece, -6 - static_cast<float>(random() % 1000) / 100);
  const std::string source = sp_test::Serialize(proto);
  rankfeed_image image{};
  ASSERT_EQ(rankfeed_compile(source.data(), source.size(), "generated.model", nullptr, &image, nullptr), RANKFEED_OK);
  ASSERT_GT(image.size, threshold::kTlbReachBytes);
  for (const bool huge : {false, true}) {
    const PlacedImage placed(image.data, image.size, huge ? Pages::kAuto : Pages::kBase);
    if (huge && placed.ladder().obtained.kind == "base") {
      rankfeed_image_free(&image);
      GTEST_SKIP() << "no huge pages on this machine: " << placed.ladder().steps[1].outcome;
    }
    const EngineFactory engines = [&]() -> std::unique_ptr<Engine> {
      return std::make_unique<RankfeedEngine>(placed.model(), 1 << 16, 1 << 20);
    };
    const measure::Run run = Measure(SmallWorkload(3, 3), placed, engines, nullptr, Quick());
    EXPECT_EQ(VerdictOf(run, "tokenizer_tlb_pressure"), huge ? Verdict::kNotFound : Verdict::kFound);
  }
  rankfeed_image_free(&image);
}

TEST(Findings, OneIdParityBreak) {
  const Subject subject;
  const auto reference = subject.engines();
  const measure::Run good = MeasureRun(subject, SmallWorkload(5, 10), Quick(), reference.get());
  EXPECT_EQ(VerdictOf(good, "tokenizer_unicode_parity_risk"), Verdict::kNotFound);
  EXPECT_EQ(good.parity.unicode.compared, 200u);
  EXPECT_GT(good.parity.specials.compared, 50u);
  const Workload workload = SmallWorkload(5, 10);
  const std::string victim = workload.texts[workload.CandidateTexts()[3]];
  const auto planted = Plant(subject, [victim](auto texts, EncodedTexts* out) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i] == victim) ++out->ids[out->begin[i] + 7];
    }
  });
  const measure::Run bad = MeasureRun(subject, workload, Quick(), reference.get(), planted);
  EXPECT_EQ(VerdictOf(bad, "tokenizer_unicode_parity_risk"), Verdict::kFound);
  EXPECT_EQ(bad.parity.mismatches(), 1u);
  EXPECT_EQ(bad.parity.documents.mismatches, 1u);
  EXPECT_EQ(bad.parity.documents.first_text, victim.substr(0, 160));
  EXPECT_EQ(bad.parity.documents.first_ids[2], bad.parity.documents.reference[2] + 1);
  EXPECT_EQ(VerdictOf(MeasureRun(subject, workload, Quick()), "tokenizer_unicode_parity_risk"), Verdict::kNotMeasurable);
}

TEST(Findings, Fanout) {
  const Subject subject;
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(10, 60), Quick()), "reranker_fanout_amplifies_cpu_cost"), Verdict::kFound);
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(10, 3), Quick()), "reranker_fanout_amplifies_cpu_cost"), Verdict::kNotFound);
  // The same candidates, tokenized before.
  Workload stored = SmallWorkload(10, 60);
  stored.token_lists.push_back(std::vector<int32_t>(200, 5));
  for (Request& request : stored.requests) {
    for (Candidate& candidate : request.candidates) candidate = {0, true};
  }
  EXPECT_EQ(VerdictOf(MeasureRun(subject, stored, Quick()), "reranker_fanout_amplifies_cpu_cost"), Verdict::kNotFound);
}

TEST(Findings, PromptAssembly) {
  const Subject subject;
  RunOptions options = Quick();
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(10, 30), options), "prompt_assembly_cpu_stall"), Verdict::kNotFound);
  options.replay.in_assemble = [] { Spin(3000000); };
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(10, 30), options), "prompt_assembly_cpu_stall"), Verdict::kFound);
}

TEST(Findings, BatchConstruction) {
  const Subject subject;
  RunOptions options = Quick();
  // Many queries, so that one that was interrupted does not decide.
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(60, 30), options), "batch_construction_hotpath"), Verdict::kNotFound);
  options.replay.in_batch = [] { Spin(3000000); };
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(10, 30), options), "batch_construction_hotpath"), Verdict::kFound);
}

TEST(Findings, HandoffStall) {
  const Subject subject;
  RunOptions options = Quick();
  options.replay.gpu_forward_ms = 20;
  const LateCopies late;
  options.replay.backend = &late.table;
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(12, 5), options), "host_device_handoff_stall"), Verdict::kFound);
  options.replay.backend = nullptr;
  EXPECT_TRUE(IsClear(subject, SmallWorkload(12, 5), options, "host_device_handoff_stall"));
}

TEST(Findings, NotPrimary) {
  const Subject subject;
  RunOptions options = Quick();
  EXPECT_TRUE(IsClear(subject, SmallWorkload(10, 60), options, "tokenizer_not_primary_bottleneck"));
  options.replay.gpu_forward_ms = 40;
  EXPECT_EQ(VerdictOf(MeasureRun(subject, SmallWorkload(6, 3), options), "tokenizer_not_primary_bottleneck"), Verdict::kFound);
}

TEST(Findings, JsonHasVerdictEvidenceAndThresholds) {
  const Subject subject;
  const auto json = FindingsJson(Judge(MeasureRun(subject, SmallWorkload(5, 30), Quick())));
  ASSERT_EQ(json.size(), 10u);
  size_t thresholds = 0;
  for (const auto& finding : json) {
    EXPECT_TRUE(finding.contains("name") && finding.contains("verdict") && finding.contains("summary"));
    for (const auto& evidence : finding["evidence"]) thresholds += evidence.contains("threshold") ? 1 : 0;
  }
  EXPECT_GE(thresholds, 8u);
}

}  // namespace
}  // namespace rankfeed::test
