// SPDX-License-Identifier: MIT
// receipt_test.cc: a receipt of a real run fits the documented schema, its stages add up, and what cannot be
// measured has a reason instead of a number.
#include "measure/receipt.h"

#include <gtest/gtest.h>

#include <functional>

#include "counters/allocation.h"
#include "measure/diff.h"
#include "measure/json_schema.h"
#include "measure/run_fixture.h"

namespace rankfeed::test {
namespace {

using Json = nlohmann::ordered_json;

Json Schema() { return Json::parse(ReadFile(SourceFile("docs/receipt.schema.json"))); }

TEST(Receipt, FitsItsSchema) {
  Subject subject;
  RunOptions options = Quick();
  options.pointer_chase = true;
  options.sweep = {0.5, 2};
  options.replay.load = 1;
  options.replay.gpu_forward_ms = 1;
  options.price_per_core_hour = 0.05;
  const Workload workload = SmallWorkload(20, 10, 100);
  const auto reference = subject.engines();
  const measure::Run run = Measure(workload, subject.image, subject.engines, reference.get(), options);
  const Json json = ReceiptJson(run);
  const JsonSchema schema(Schema());
  EXPECT_EQ(schema.Check(json), "");
  EXPECT_EQ(json["parity"]["mismatches"], 0);
  EXPECT_EQ(json["latency_over_load"].size(), 2u);
  EXPECT_EQ(json["workload"]["requests"], 20);
  EXPECT_GT(json["per_query"]["cost"]["per_million_queries"].get<double>(), 0.0);
  EXPECT_FALSE(json["pages"]["obtained"].is_null());
  EXPECT_EQ(json["tokenizer"]["fast_road"], true);
  EXPECT_TRUE(json["tokenizer"]["off_fast_road"].is_null());
  EXPECT_TRUE(json["tokenizer"]["isa"].is_string());
  EXPECT_EQ(json["encode"]["roads"]["fast road"]["texts"], json["encode"]["texts"]);
  EXPECT_EQ(json["encode"]["roads"]["fast road"]["bytes"], json["encode"]["text_bytes"]);
  EXPECT_EQ(json["encode"]["roads"]["pipeline"]["texts"], 0);
  // The validator itself must be able to say no.
  Json broken = json;
  broken["encode"].erase("tokens");
  EXPECT_NE(schema.Check(broken), "");
  broken = json;
  broken["surprise"] = 1;
  EXPECT_NE(schema.Check(broken), "");
  broken = json;
  broken["counters"]["encode"]["cycles"] = {{"value", nullptr}};
  EXPECT_NE(schema.Check(broken), "") << "a missing value without a reason";
}

TEST(Receipt, WhatIsNotMeasuredHasAReason) {
  Subject subject;
  const measure::Run run =
      Measure(SmallWorkload(5, 4), subject.image, subject.engines, nullptr, Quick());
  const Json json = ReceiptJson(run);
  EXPECT_EQ(JsonSchema(Schema()).Check(json), "");
  EXPECT_TRUE(json["parity"]["compared"].is_null());
  EXPECT_NE(json["parity"]["reason"], "");
  EXPECT_TRUE(json["simulated"]["value"].is_null());
  EXPECT_TRUE(json["per_query"]["cost"]["value"].is_null());
  const bool installed = counters::AllocationAccountingInstalled();
  EXPECT_EQ(json["encode"]["allocations_per_encode"]["value"].is_null(), !installed);
  if (installed) {
    EXPECT_EQ(json["encode"]["allocations_per_encode"]["value"], 0.0);
    EXPECT_EQ(json["per_query"]["allocations"]["value"], 0.0);
  }
}

// Stages are timed one by one, the total around them: within 5 %, by both clocks. By the median request for
// the wall, which another process may take the CPU from between two stages.
TEST(Receipt, StagesAddUp) {
  Subject subject;
  ReplayOptions options;
  const ReplayResult result =
      Replay(SmallWorkload(100, 80), subject.image.model(), subject.engines, options);
  ASSERT_EQ(result.requests.size(), 100u);
  std::vector<double> wall;
  double sum_cpu = 0, total_cpu = 0;
  for (const RequestRecord& r : result.requests) {
    double sum = 0;
    for (int s = 0; s < kHostStages; ++s) {
      sum += static_cast<double>(r.wall_ns[s]);
      sum_cpu += static_cast<double>(r.cpu_ns[s]);
    }
    total_cpu += static_cast<double>(r.host_cpu_ns);
    EXPECT_LE(sum, static_cast<double>(r.host_wall_ns));
    wall.push_back(sum / static_cast<double>(r.host_wall_ns));
  }
  EXPECT_GE(Percentile(wall, 0.5), 0.95);
  EXPECT_GE(sum_cpu, 0.95 * total_cpu);
  EXPECT_LE(sum_cpu, 1.05 * total_cpu);
}

TEST(Receipt, OpenLoopCountsTheQueue) {
  Subject subject;
  ReplayOptions options;
  options.load = 1;
  options.gpu_forward_ms = 10;  // 100 queries/s at most, 1,000 arrive
  const Workload workload = SmallWorkload(40, 2, 1000);
  const ReplayResult result =
      Replay(workload, subject.image.model(), subject.engines, options);
  EXPECT_GE(result.requests.back().latency_ns(), 200000000u);
  EXPECT_GE(result.requests.back().latency_ns(), 4 * result.requests.front().latency_ns());
  EXPECT_GE(result.wall_s, 0.4);
  options.load = 0;
  EXPECT_EQ(Replay(workload, subject.image.model(), subject.engines, options).requests.size(), 40u);
}

TEST(Receipt, ThreadsShareTheRequests) {
  Subject subject;
  ReplayOptions options;
  options.threads = 4;
  const ReplayResult result =
      Replay(SmallWorkload(64, 5), subject.image.model(), subject.engines, options);
  for (const RequestRecord& r : result.requests) {
    EXPECT_EQ(r.candidates, 5u);
    EXPECT_GT(r.row_tokens, 0u);
    EXPECT_GT(r.end_ns, r.host_end_ns);
  }
  EXPECT_EQ(result.handoff.copies, 64u);
  EXPECT_EQ(result.counters.size(), 4u);
}

TEST(Receipt, PagesAskedAndObtained) {
  Subject base(Pages::kBase);
  ASSERT_TRUE(base.image.ladder().obtained.valid);
  EXPECT_EQ(base.image.ladder().obtained.kind, "base");
  EXPECT_EQ(base.image.ladder().obtained.huge_bytes, 0u);
  Subject largest;
  ASSERT_FALSE(largest.image.ladder().steps.empty());
  EXPECT_EQ(largest.image.ladder().steps.back().outcome, "used");
  EXPECT_EQ(largest.image.ladder().steps.back().kind, largest.image.ladder().obtained.kind);
  for (const auto& step : largest.image.ladder().steps) EXPECT_NE(step.outcome, "");
}

TEST(ReceiptDiff, FindsWhatGotWorse) {
  Subject subject;
  const measure::Run run =
      Measure(SmallWorkload(5, 4), subject.image, subject.engines, nullptr, Quick());
  const Json a = ReceiptJson(run);
  EXPECT_TRUE(Compare(a, a, 0.05).changed.empty());
  EXPECT_TRUE(Compare(a, a, 0.05).warnings.empty());
  Json b = a;
  b["encode"]["latency_us"]["p50"] = a["encode"]["latency_us"]["p50"].get<double>() * 1.2;
  b["encode"]["megabytes_per_second"] = a["encode"]["megabytes_per_second"].get<double>() * 1.2;
  b["encode"]["cpu_ns_per_token"] = a["encode"]["cpu_ns_per_token"].get<double>() * 1.01;
  b["workload"]["hash"] = "other";
  const Diff diff = Compare(a, b, 0.05);
  ASSERT_EQ(diff.changed.size(), 3u);
  EXPECT_EQ(diff.changed[0].field, "workload.hash");
  EXPECT_EQ(diff.changed[1].field, "encode.latency_us.p50");
  EXPECT_TRUE(diff.changed[1].worse);
  EXPECT_NEAR(diff.changed[1].ratio, 1.2, 1e-9);
  EXPECT_FALSE(diff.changed[2].worse);
  ASSERT_EQ(diff.warnings.size(), 1u);
  EXPECT_EQ(diff.verdict.ids, "not comparable");
  EXPECT_TRUE(diff.verdict.sentence.starts_with("not comparable: ")) << diff.verdict.sentence;
  b["schema_version"] = 1;
  EXPECT_THROW((void)Compare(a, b, 0.05), std::runtime_error);
  EXPECT_THROW((void)Compare(Json::object(), a, 0.05), std::runtime_error);
}

TEST(ReceiptDiff, BeginsWithAVerdict) {
  Subject subject;
  const Json a = ReceiptJson(Measure(SmallWorkload(5, 4), subject.image, subject.engines, nullptr, Quick()));
  EXPECT_EQ(a["encode"]["ids_hash"].get<std::string>().size(), 32u);
  const auto verdict = [&](const std::function<void(Json&)>& change) {
    Json b = a;
    change(b);
    const DiffVerdict v = Compare(a, b, 0.05).verdict;
    EXPECT_EQ(v.sentence.find("nan"), std::string::npos) << v.sentence;
    return v.ids + ", " + v.time + ", " + v.sentence.substr(0, v.sentence.find(':'));
  };
  const auto times = [](Json& b, double by) {
    for (auto& [name, value] : b["encode"]["round_cpu_ns_per_token"].items()) value = value.get<double>() * by;
  };
  EXPECT_EQ(verdict([](Json&) {}), "same, same, same");
  EXPECT_EQ(verdict([&](Json& b) { times(b, 0.1); }), "same, faster, faster by 90.0 % beyond the noise");
  EXPECT_EQ(verdict([&](Json& b) { times(b, 10); }), "same, slower, slower by 900.0 % beyond the noise");
  // Halves that overlap: the medians may be as far apart as they like.
  EXPECT_EQ(verdict([&](Json& b) {
              times(b, 10);
              b["encode"]["round_cpu_ns_per_token"]["p25"] = a["encode"]["round_cpu_ns_per_token"]["p75"];
            }), "same, same, same");
  EXPECT_EQ(verdict([](Json& b) { b["encode"]["ids_hash"] = "another"; }),
            "different, same, different ids, no difference in time beyond the noise");
  EXPECT_EQ(verdict([](Json& b) { b["machine"]["cpu"] = "another"; }), "same, not comparable, same ids");
  Json lacking = a;
  lacking["encode"].erase("ids_hash");
  EXPECT_THROW((void)Compare(a, lacking, 0.05), std::runtime_error);
}

// One wrong id of thousands, or the same ids of texts that are cut elsewhere, give another hash.
TEST(ReceiptDiff, HashesEveryId) {
  Subject subject;
  const auto hash = [&](size_t wrong, size_t longer) {
    class Altered : public Engine {
     public:
      Altered(std::unique_ptr<Engine> engine, size_t wrong, size_t longer)
          : engine_(std::move(engine)), wrong_(wrong), longer_(longer) {}
      const EngineInfo& info() const override { return engine_->info(); }
      void Encode(std::span<const std::string_view> texts, EncodedTexts* out) override {
        engine_->Encode(texts, out);
        if (wrong_ < out->tokens()) ++out->ids[wrong_];
        if (longer_ != 0) ++out->begin[longer_];
      }

     private:
      std::unique_ptr<Engine> engine_;
      size_t wrong_, longer_;
    };
    const Workload workload = SmallWorkload(5, 4);
    std::vector<std::string_view> texts(workload.texts.begin(), workload.texts.end());
    Altered engine(subject.engines(), wrong, longer);
    return MeasureEncode(engine, texts, 0).ids_hash;
  };
  const std::string right = hash(SIZE_MAX, 0);
  EXPECT_EQ(hash(SIZE_MAX, 0), right);
  EXPECT_NE(hash(100, 0), right);
  EXPECT_NE(hash(SIZE_MAX, 1), right);
}

}  // namespace
}  // namespace rankfeed::test
