// SPDX-License-Identifier: MIT
// Batches as graphs of the device (crossencoder/forward/graphs.h), over the fake runtime: scores
// are those without graphs, nothing is made for a bucket that has come before, and whatever fails,
// the batch runs all the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

#include "crossencoder/forward/graphs.h"
#include "fake_gpu/fake.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "support/sanitizers.h"

namespace rankfeed::handoff {
namespace {

using Rows = std::vector<std::vector<int32_t>>;

// A stream, a workspace, and one batch's memory on the device, which lies elsewhere for each batch.
class Runner {
 public:
  Runner(const rankfeed_gpu_backend* backend, const rankfeed_crossencoder* model, uint32_t rows,
         uint32_t tokens, uint32_t longest)
      : backend_(backend), model_(model) {
    EXPECT_EQ(backend_->device_open(backend_->self, 0, &ctx_), 0);
    EXPECT_EQ(backend_->stream_create(ctx_, &stream_), 0);
    rankfeed_mem_req need{};
    EXPECT_EQ(rankfeed_crossencoder_workspace(model_, rows, tokens, longest, &need), RANKFEED_OK);
    workspace_ = Allocate(need.size);
    bytes_ = need.size;
    rankfeed_crossencoder_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(rankfeed_crossencoder_get_info(model_, &info), RANKFEED_OK);
    labels_ = info.labels;
  }
  ~Runner() {
    for (void* memory : memory_) backend_->device_free(ctx_, memory);
    backend_->stream_destroy(ctx_, stream_);
    backend_->device_close(ctx_);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void* stream() const { return stream_; }
  rankfeed_status status() const { return status_; }
  // As bits, so that NaN equals NaN.
  std::vector<uint32_t> Score(const Rows& rows, const Rows& types) {
    const PackedRows packed(rows, types);
    rankfeed_packed_batch batch = packed.batch();
    batch.input_ids = Copy(packed.ids);
    batch.token_type_ids = types.empty() ? nullptr : Copy(packed.types);
    batch.cu_seqlens = Copy(packed.cu_seqlens);
    std::vector<uint32_t> got(size_t{batch.rows} * labels_);
    void* const logits = Allocate(got.size() * 4);
    status_ = rankfeed_crossencoder_enqueue(model_, &batch, stream_, workspace_, bytes_,
                                            static_cast<float*>(logits));
    EXPECT_EQ(backend_->copy_async(ctx_, got.data(), logits, got.size() * 4, stream_), 0);
    EXPECT_EQ(backend_->stream_synchronize(ctx_, stream_), 0);
    return got;
  }

 private:
  void* Allocate(size_t bytes) {
    memory_.push_back(nullptr);
    EXPECT_EQ(backend_->device_alloc(ctx_, std::max<size_t>(bytes, 4), &memory_.back()), 0);
    return memory_.back();
  }
  const int32_t* Copy(const std::vector<int32_t>& from) {
    void* const to = Allocate(from.size() * 4);
    if (!from.empty()) {
      EXPECT_EQ(backend_->copy_async(ctx_, to, from.data(), from.size() * 4, stream_), 0);
    }
    return static_cast<const int32_t*>(to);
  }

  const rankfeed_gpu_backend* backend_;
  const rankfeed_crossencoder* model_;
  void *ctx_ = nullptr, *stream_ = nullptr, *workspace_ = nullptr;
  size_t bytes_ = 0, labels_ = 1;
  std::vector<void*> memory_;
  rankfeed_status status_ = RANKFEED_OK;
};

class FakeGraphsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Reset();
    backend_ = FakeBackend(GetParam());
    ASSERT_NE(backend_, nullptr);
  }
  static void Reset(uint64_t seed = 1) {
    const fake_gpu_options options = FakeOptions(1, seed);
    fake_gpu_reset(&options);
  }
  std::unique_ptr<OpenModel> Open(const std::string& path, uint32_t graph_tokens,
                                  uint32_t dtype = RANKFEED_DTYPE_F32) {
    rankfeed_crossencoder_options options{};
    options.backend = backend_;
    options.dtype = dtype;
    options.graph_tokens = graph_tokens;
    return std::make_unique<OpenModel>(path, options);
  }
  std::unique_ptr<OpenModel> Xlmr(uint32_t graph_tokens) {
    return Open(GoldenFolder() + "xlmr", graph_tokens);
  }
  const rankfeed_gpu_backend* backend_ = nullptr;
};

Rows Slice(const Rows& from, size_t begin, size_t count) {
  const auto first = from.begin() + static_cast<ptrdiff_t>(begin);
  return {first, first + static_cast<ptrdiff_t>(count)};
}

TEST(GraphBuckets, AreNoSmallerThanTheBatchAndMonotonic) {
  Bucket before{};
  for (uint32_t n = 1; n < 3000; ++n) {
    const Bucket bucket = BucketOf(n, n);
    EXPECT_GE(bucket.rows, n);
    EXPECT_LT(bucket.rows, n + 8);
    EXPECT_GE(bucket.tokens, n);
    EXPECT_EQ(bucket.tokens % 128, 0u);
    EXPECT_GE(bucket.rows, before.rows);
    EXPECT_GE(bucket.tokens, before.tokens);
    before = bucket;
  }
  EXPECT_EQ(BucketOf(5, 1), (Bucket{8, 128}));
  EXPECT_EQ(BucketOf(9, 129), (Bucket{16, 256}));
}

// Every model, whose rows are dealt out in batches of 1 to 4, an empty row among them, over
// and over: the same bits with and without. Sanitizers see one model in one element type, because
// the 128 tokens of a bucket take the emulation seconds there.
TEST_P(FakeGraphsTest, ScoresAreThoseWithoutGraphs) {
  std::vector<GoldenModel> models = LoadGolden();
  if (MadeFolder().empty()) {
    std::printf("%s\n", kNoModels);
  } else {
    // With token types; with embeddings that the graph projects.
    for (GoldenModel& made : LoadGolden(MadeFolder())) {
      if (made.name == "bert" || made.name == "electra") models.push_back(std::move(made));
    }
  }
  size_t cases = 0;
  for (const GoldenModel& golden : models) {
    for (const uint32_t dtype : {RANKFEED_DTYPE_F32, RANKFEED_DTYPE_F16}) {
      if (dtype != RANKFEED_DTYPE_F32 && golden.name != "xlmr") continue;
      if (kSanitized ? dtype != RANKFEED_DTYPE_F32 || golden.name != "roberta"
                     : !IsTurnOf(GetParam(), cases++)) {
        continue;
      }
      SCOPED_TRACE(golden.name + " dtype " + std::to_string(dtype));
      const uint64_t launched = fake_gpu_calls("GraphLaunch");
      const auto plain = Open(golden.path, 0, dtype), graphs = Open(golden.path, 4096, dtype);
      const uint32_t longest = plain->info().max_row_tokens;
      Runner without(backend_, plain->get(), 8, 8 * longest, longest);
      Runner with(backend_, graphs->get(), 8, 8 * longest, longest);
      const size_t few = std::min<size_t>(golden.rows.size(), 5);
      for (const size_t count : {3u, 1u, 3u, 1u, 3u}) {
        for (const bool types : {true, false}) {
          static size_t turn = 0;
          const size_t begin = turn++ % (few - count + 1);
          Rows rows = Slice(golden.rows, begin, count), kinds;
          if (types) kinds = Slice(golden.types, begin, count);
          if (count == 3) {  // and an empty row between
            rows.insert(rows.begin() + 1, std::vector<int32_t>{});
            if (types) kinds.insert(kinds.begin() + 1, std::vector<int32_t>{});
          }
          EXPECT_EQ(with.Score(rows, kinds), without.Score(rows, kinds)) << count;
          EXPECT_EQ(with.status(), RANKFEED_OK);
        }
      }
      const auto info = graphs->info();
      EXPECT_GE(info.graphs, 2u);
      EXPECT_GE(info.graph_launches, 5u);
      EXPECT_EQ(info.graph_launches, fake_gpu_calls("GraphLaunch") - launched);
      EXPECT_EQ(info.graph_failures, 0u);
      EXPECT_EQ(plain->info().graphs + plain->info().graph_launches, 0u);
    }
    EXPECT_EQ(FoundSoFar(), "");
    Reset();
  }
}

// From the third batch of a bucket on: three kernels, one graph, one event, a copy where rows are
// missing; and no call that makes anything.
TEST_P(FakeGraphsTest, NothingIsMadeForABucketThatHasComeBefore) {
  const auto model = Xlmr(4096);
  {
    Runner runner(backend_, model->get(), 8, 128, 16);
    const Rows three{{0, 5, 6, 2}, {0, 7, 2}, {0, 8, 9, 10, 2}};
    const auto expected = runner.Score(three, {});
    EXPECT_EQ(fake_gpu_calls("StreamBeginCapture"), 0u);  // the first loads and plans
    EXPECT_EQ(runner.Score(three, {}), expected);
    EXPECT_EQ(fake_gpu_calls("StreamBeginCapture"), 1u);
    EXPECT_EQ(fake_gpu_calls("GraphLaunch"), 1u);
    const std::vector<std::string> makers = {
        "StreamBeginCapture", "GraphInstantiate",     "EventCreate", "StreamCreate",
        "HostAlloc",          "LtMatmulDescCreate",   "LtMatmul",    "LtMatmulAlgoGetHeuristic",
        "GraphExecDestroy",   "LtMatrixLayoutCreate", "GraphDestroy"};
    std::vector<uint64_t> before;
    for (const auto& call : makers) before.push_back(fake_gpu_calls(call.c_str()));
    const uint64_t kernels = fake_gpu_calls("LaunchKernel"), copies = fake_gpu_calls("MemcpyAsync"),
                   records = fake_gpu_calls("EventRecord");
    for (int i = 0; i < 4; ++i) EXPECT_EQ(runner.Score(three, {}), expected);
    for (size_t i = 0; i < makers.size(); ++i)
      EXPECT_EQ(fake_gpu_calls(makers[i].c_str()), before[i]) << makers[i];
    EXPECT_EQ(fake_gpu_calls("GraphLaunch"), 5u);
    EXPECT_EQ(fake_gpu_calls("LaunchKernel") - kernels, 4u * 3);
    // Ids, cu_seqlens and logits are this test's.
    EXPECT_EQ(fake_gpu_calls("MemcpyAsync") - copies, 4u * 3);
    EXPECT_EQ(fake_gpu_calls("EventRecord") - records, 4u);
    // Four rows have the same bucket; and the batch before has left other ends of rows there.
    EXPECT_EQ(runner.Score({{0, 5, 6, 2}, {0, 7, 2}, {0, 8, 9, 10, 2}, {0, 3, 2}}, {})[1],
              expected[1]);
    EXPECT_EQ(fake_gpu_calls("GraphLaunch"), 6u);
    EXPECT_EQ(runner.Score(three, {}), expected);
  }
  EXPECT_EQ(model->info().graphs, 1u);
}

TEST_P(FakeGraphsTest, LargeAndEmptyBatchesRunWithout) {
  const auto model = Xlmr(8);
  {
    Runner runner(backend_, model->get(), 8, 128, 16);
    for (int i = 0; i < 4; ++i) {
      (void)runner.Score({{0, 5, 6, 2}, {0, 8, 9, 10, 2}}, {});
      EXPECT_EQ(runner.status(), RANKFEED_OK);
      const auto nothing = runner.Score({{}, {}}, {});
      EXPECT_EQ(runner.status(), RANKFEED_OK);
      float score;
      std::memcpy(&score, nothing.data(), sizeof score);
      EXPECT_TRUE(std::isnan(score));
    }
  }
  EXPECT_EQ(fake_gpu_calls("StreamBeginCapture"), 0u);
}

// A model without layers on a device of the fake runtime: what a graph holds is of no matter to the
// table of graphs, and 128 emulated tokens take long.
class GraphTable {
 public:
  explicit GraphTable(const rankfeed_gpu_backend* backend) : backend_(backend) {
    EXPECT_EQ(backend_->device_open(backend_->self, 0, &ctx_), 0);
    EXPECT_EQ(backend_->stream_create(ctx_, &stream_), 0);
    model_.config.hidden = model_.config.intermediate = 8;
    model_.config.heads = model_.config.labels = 1;
    model_.offsets = {};
    EXPECT_TRUE(PlanWorkspace(model_, 0, 1, RANKFEED_GPU_GEMM_ROWS, &plan_));
    EXPECT_EQ(backend_->device_alloc(ctx_, 4096 + kWorkspaces * plan_.bytes, &memory_), 0);
    model_.block = static_cast<const char*>(memory_);
    EXPECT_EQ(graphs.Open(backend_, ctx_, 4096), 0);
  }
  ~GraphTable() {
    EXPECT_EQ(backend_->stream_synchronize(ctx_, stream_), 0);
    graphs.Close();
    backend_->device_free(ctx_, memory_);
    backend_->stream_destroy(ctx_, stream_);
    backend_->device_close(ctx_);
  }
  GraphTable(const GraphTable&) = delete;
  GraphTable& operator=(const GraphTable&) = delete;
  bool Run(size_t workspace) {
    rankfeed_packed_batch batch{};
    batch.rows = batch.tokens = batch.max_seqlen = 1;
    EXPECT_TRUE(graphs.Takes(batch));
    return graphs.RunLayers(*backend_->ops, model_, batch, plan_,
                            static_cast<char*>(memory_) + 4096 + workspace * plan_.bytes, stream_);
  }
  static constexpr size_t kWorkspaces = GraphCache::kGraphs + 6;
  GraphCache graphs;

 private:
  const rankfeed_gpu_backend* backend_;
  void *ctx_ = nullptr, *stream_ = nullptr, *memory_ = nullptr;
  DeviceModel model_;
  WorkspacePlan plan_{};
};

// More workspaces than graphs are kept for: those that were not used for longest go.
TEST_P(FakeGraphsTest, AreBounded) {
  {
    GraphTable table(backend_);
    for (size_t i = 0; i < GraphTable::kWorkspaces; ++i) {
      EXPECT_FALSE(table.Run(i));
      EXPECT_TRUE(table.Run(i));
      while (table.graphs.counts().graphs > GraphCache::kGraphs) FAIL();
      fake_gpu_run_all();
    }
    EXPECT_EQ(fake_gpu_calls("StreamBeginCapture"), GraphTable::kWorkspaces);
    EXPECT_EQ(fake_gpu_calls("GraphExecDestroy"), GraphTable::kWorkspaces - GraphCache::kGraphs);
    // Those that were used last are there, the first ones are not.
    for (size_t i = 6; i < GraphTable::kWorkspaces; ++i) EXPECT_TRUE(table.Run(i)) << i;
    fake_gpu_run_all();
    EXPECT_FALSE(table.Run(0));
    EXPECT_EQ(table.graphs.counts().failures, 0u);
  }
  EXPECT_EQ(Found(), "");
}

// A graph whose launch has not completed stays, however long ago it was asked for.
TEST_P(FakeGraphsTest, GraphsUnderWayAreNotDestroyed) {
  {
    GraphTable table(backend_);
    fake_gpu_hold(1);  // nothing goes on
    for (size_t i = 0; i < GraphTable::kWorkspaces; ++i) {
      EXPECT_FALSE(table.Run(i));
      EXPECT_EQ(table.Run(i), i < GraphCache::kGraphs) << i;
    }
    EXPECT_EQ(fake_gpu_calls("GraphExecDestroy"), 0u);
    EXPECT_EQ(table.graphs.counts().graphs, GraphCache::kGraphs);
    fake_gpu_hold(0);
  }
  EXPECT_EQ(Found(), "");
}

// Threads that meet the same few keys: each is recorded once, and what one thread has another does
// without.
TEST_P(FakeGraphsTest, TableFromSeveralThreads) {
  {
    GraphTable table(backend_);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&table, t] {
        for (size_t i = 0; i < 60; ++i) (void)table.Run((i + t) % 7);
      });
    }
    for (std::thread& thread : threads) thread.join();
    const auto counts = table.graphs.counts();
    EXPECT_LE(counts.graphs, 21u);
    EXPECT_GT(counts.launches, 20u);
    EXPECT_EQ(counts.failures, 0u);
  }
  EXPECT_EQ(Found(), "");
}

// 701: of no meaning. What cannot be recorded or launched runs without; it is counted, and not
// tried again.
TEST_P(FakeGraphsTest, WhateverFailsTheBatchRuns) {
  for (const char* call : {"StreamBeginCapture", "StreamEndCapture", "GraphInstantiate",
                           "GraphLaunch", "EventCreate"}) {
    SCOPED_TRACE(call);
    {
      const auto model = Xlmr(4096);
      Runner runner(backend_, model->get(), 2, 16, 8);
      const auto expected = runner.Score({{0, 5, 6, 2}, {0, 7, 2}}, {});
      fake_gpu_fail(call, 0, 701);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(runner.Score({{0, 5, 6, 2}, {0, 7, 2}}, {}), expected);
        EXPECT_EQ(runner.status(), RANKFEED_OK);
      }
      fake_gpu_fail(nullptr, 0, 0);
      EXPECT_EQ(model->info().graph_failures, 1u);
      EXPECT_EQ(model->info().graph_launches, 0u);
    }
    // A capture that the runtime would not end is its own to clean up.
    if (std::string(call) != "StreamEndCapture") {
      EXPECT_EQ(Found(), "");
    }
    Reset();
  }
}

// A kernel or a product that cannot be recorded: the capture is ended and thrown away. 13 is the
// failed execution of cuBLAS, and a value that hipBLASLt's enumeration may have.
TEST_P(FakeGraphsTest, FailuresInsideACaptureAreCounted) {
  for (const char* call : {"LaunchKernel", "LtMatmul"}) {
    const bool product = std::string(call) == "LtMatmul";
    SCOPED_TRACE(call);
    {
      const auto model = Xlmr(4096);
      Runner runner(backend_, model->get(), 1, 8, 8);
      const auto expected = runner.Score({{0, 5, 6, 2}}, {});
      // Positions and embed come before what is recorded.
      const uint64_t at = fake_gpu_calls(call) + (product ? 3 : 6);
      fake_gpu_fail(call, at, product ? 13 : 701);
      for (int i = 0; i < 3; ++i) EXPECT_EQ(runner.Score({{0, 5, 6, 2}}, {}), expected);
      EXPECT_EQ(fake_gpu_calls("StreamEndCapture"), 1u);
      EXPECT_EQ(fake_gpu_calls("GraphInstantiate"), 0u);
      EXPECT_EQ(model->info().graph_failures, 1u);
    }
    EXPECT_EQ(Found(), "");
    Reset();
  }
}

// Threads with workspaces of their own and one model, while another thread's capture forbids
// what can be forbidden.
TEST_P(FakeGraphsTest, SeveralThreads) {
  for (uint64_t seed = 1; seed <= 1; ++seed) {
    Reset(seed);
    const auto model = Xlmr(4096);
    std::vector<std::vector<uint32_t>> expected;
    const std::vector<Rows> batches = {{{0, 5, 6, 2}}, {{0, 5, 6, 2}, {0, 7, 2}, {0, 2}}};
    {
      const auto plain = Xlmr(0);
      Runner runner(backend_, plain->get(), 4, 64, 8);
      for (const Rows& rows : batches) expected.push_back(runner.Score(rows, {}));
    }
    fake_gpu_capture_begin();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        Runner runner(backend_, model->get(), 4, 64, 8);
        for (int i = 0; i < 5; ++i) {
          const size_t which = static_cast<size_t>(i) % 2;
          EXPECT_EQ(runner.Score(batches[which], {}), expected[which]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fake_gpu_capture_end(), 1);
    EXPECT_GT(model->info().graph_launches, 0u);
    EXPECT_EQ(model->info().graph_failures, 0u);
    EXPECT_EQ(FoundSoFar(), "");
  }
}

// The info of before has no graphs in it.
TEST_P(FakeGraphsTest, OlderInfoIsStillTaken) {
  const auto model = Xlmr(1);
  rankfeed_crossencoder_info info{};
  info.struct_size = offsetof(rankfeed_crossencoder_info, graphs);
  info.graph_launches = 77;
  EXPECT_EQ(rankfeed_crossencoder_get_info(model->get(), &info), RANKFEED_OK);
  EXPECT_EQ(info.labels, 1u);
  EXPECT_EQ(info.graph_launches, 77u);
  info.struct_size -= 8;
  EXPECT_EQ(rankfeed_crossencoder_get_info(model->get(), &info), RANKFEED_E_STRUCT_SIZE);
}

INSTANTIATE_TEST_SUITE_P(, FakeGraphsTest, testing::ValuesIn(FakeVendors()),
                         [](const auto& vendor) { return vendor.param; });

}  // namespace
}  // namespace rankfeed::handoff
