// SPDX-License-Identifier: MIT
// The forward pass on the host: scores equal PyTorch's, and what the C API promises around them.
#include "rankfeed/crossencoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>
#include <thread>

#include "backend.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "support/allocation_trap.h"

namespace rankfeed::handoff {
namespace {

// Sums run in another order than PyTorch's; 2e-5 is 170 float32 steps at 1, on scores up to 3.
constexpr float kTolerance = 2e-5f;

// Plain threads; every chunk goes to another worker.
rankfeed_status OnThreads(void* context, size_t count, rankfeed_task task, void* argument) {
  const uint32_t workers = *static_cast<uint32_t*>(context);
  std::vector<std::thread> threads;
  for (uint32_t w = 0; w < workers; ++w) {
    threads.emplace_back([=] {
      for (size_t i = w; i < count; i += workers) task(argument, i, i + 1, w);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return RANKFEED_OK;
}

// Rows enough for several chunks.
PackedRows ManyRows(const GoldenModel& golden, int times) {
  std::vector<std::vector<int32_t>> rows, types;
  for (int i = 0; i < times; ++i) {
    rows.insert(rows.end(), golden.rows.begin(), golden.rows.end());
    types.insert(types.end(), golden.types.begin(), golden.types.end());
  }
  return PackedRows(rows, types);
}

void CheckScores(const std::vector<GoldenModel>& models) {
  for (const GoldenModel& golden : models) {
    SCOPED_TRACE(golden.name);
    const OpenModel model(golden.path);
    const std::vector<float> logits = model.Score(PackedRows(golden.rows, golden.types));
    const uint32_t labels = model.info().labels;
    ASSERT_EQ(labels, golden.logits[0].size());
    float spread = 0;
    for (size_t r = 0; r < golden.rows.size(); ++r) {
      for (uint32_t l = 0; l < labels; ++l) {
        EXPECT_NEAR(logits[r * labels + l], golden.logits[r][l], kTolerance) << "row " << r;
        spread = std::max(spread, std::fabs(golden.logits[r][l] - golden.logits[0][l]));
      }
    }
    EXPECT_GT(spread, 0.5f) << "rows that all score the same would compare nothing";
  }
}

TEST(Crossencoder, EqualsPyTorch) {
  const auto models = LoadGolden();
  ASSERT_EQ(models.size(), 3u);
  CheckScores(models);
}

// BERT, DistilBERT, ELECTRA and RoBERTa, with every activation; or PyTorch's scores of models that
// golden/make_golden.py made for the long test.
TEST(Crossencoder, EqualsTheReferenceOfEveryKind) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  const auto models = LoadGolden(MadeFolder());
  ASSERT_GE(models.size(), 5u);
  CheckScores(models);
}

// ModernBERT, modular folders, GTE under both names, DeBERTa.
TEST(Crossencoder, EqualsTheReferenceOfEveryFamily) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  const auto models = LoadGolden(MadeFolder(), "families.json");
  ASSERT_GE(models.size(), 12u);
  CheckScores(models);
}

// Rows alone, in other batches and with any number of threads have the bits that they have
// together; empty ones are NaN and change nothing.
TEST(Crossencoder, RowsOfFamiliesDoNotMeet) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  for (const GoldenModel& golden : LoadGolden(MadeFolder(), "families.json")) {
    SCOPED_TRACE(golden.name);
    const OpenModel model(golden.path);
    const uint32_t labels = model.info().labels;
    auto rows = golden.rows, types = golden.types;
    rows.insert(rows.begin() + 3, std::vector<int32_t>());
    types.insert(types.begin() + 3, std::vector<int32_t>());
    const std::vector<float> logits = model.Score(PackedRows(rows, types));
    for (uint32_t l = 0; l < labels; ++l) EXPECT_TRUE(std::isnan(logits[3 * labels + l]));
    for (size_t r = 4; r < rows.size(); ++r) {
      const std::vector<float> alone = model.Score(PackedRows({rows[r]}, {types[r]}));
      for (uint32_t l = 0; l < labels; ++l)
        EXPECT_NEAR(logits[r * labels + l], alone[l], kTolerance);
    }
    uint32_t workers = 3;
    const rankfeed_executor executor{sizeof(rankfeed_executor), workers, &workers, OnThreads};
    rankfeed_crossencoder_options options{};
    options.executor = &executor;
    const PackedRows many = ManyRows(golden, 8);
    const std::vector<float> shared = OpenModel(golden.path, options).Score(many),
                             one = model.Score(many);
    EXPECT_EQ(0, std::memcmp(one.data(), shared.data(), one.size() * sizeof(float)));
  }
}

TEST(Crossencoder, PositionsOfBertBeginAtZero) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  for (const GoldenModel& golden : LoadGolden(MadeFolder())) {
    SCOPED_TRACE(golden.name);
    const OpenModel model(golden.path);
    const auto info = model.info();
    const bool after_pad = golden.name.starts_with("roberta");
    const uint32_t longest =
        info.max_positions - (after_pad ? static_cast<uint32_t>(info.pad_token_id) + 1 : 0);
    EXPECT_EQ(info.max_row_tokens, longest);
    // A row of all positions scores; one of one more is refused, whatever its ids are.
    const std::vector<int32_t> row(longest + 1, 0);
    PackedRows rows({{row.begin(), row.end() - 1}}, {});
    EXPECT_TRUE(std::isfinite(model.Score(rows)[0]));
    const AlignedBytes workspace = model.Workspace(rows.batch());
    const PackedRows longer({row}, {});
    const rankfeed_packed_batch batch = longer.batch();
    std::vector<float> logits(info.labels, 7.0f);
    EXPECT_EQ(rankfeed_crossencoder_score(model.get(), &batch, workspace.data(), workspace.size(),
                                          logits.data()),
              RANKFEED_E_TOO_LONG);
    EXPECT_EQ(logits[0], 7.0f);
  }
}

// A kind without token types has one, which is 0.
TEST(Crossencoder, TypesOutsideTheTableAreRefused) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  for (const auto& [name, types] : {std::pair{"bert", 2u}, {"bert_new", 3u}, {"distilbert", 1u}}) {
    SCOPED_TRACE(name);
    const OpenModel model(MadeFolder() + name);
    EXPECT_EQ(model.info().type_vocab_size, types);
    const auto score = [&](int32_t type) {
      const PackedRows rows({{3, 4}}, {{0, type}});
      const rankfeed_packed_batch batch = rows.batch();
      const AlignedBytes workspace = model.Workspace(batch);
      std::vector<float> logits(model.info().labels);
      return rankfeed_crossencoder_score(model.get(), &batch, workspace.data(), workspace.size(),
                                         logits.data());
    };
    EXPECT_EQ(score(static_cast<int32_t>(types) - 1), RANKFEED_OK);
    EXPECT_EQ(score(static_cast<int32_t>(types)), RANKFEED_E_ID_RANGE);
  }
}

// To the bit, whatever rows stand beside it.
TEST(Crossencoder, RowAloneScoresAsInBatch) {
  for (const GoldenModel& golden : LoadGolden()) {
    const OpenModel model(golden.path);
    const uint32_t labels = model.info().labels;
    const std::vector<float> batch = model.Score(ManyRows(golden, 7));
    for (size_t r = 0; r < golden.rows.size(); ++r) {
      const auto logits = model.Score(PackedRows({golden.rows[r]}, {golden.types[r]}));
      for (uint32_t l = 0; l < labels; ++l) {
        EXPECT_NEAR(logits[l], golden.logits[r][l], kTolerance);
        for (size_t i = r; i < batch.size() / labels; i += golden.rows.size())
          EXPECT_EQ(logits[l], batch[i * labels + l]);
      }
    }
  }
}

TEST(Crossencoder, ScoresDoNotDependOnThreads) {
  const auto models = LoadGolden();
  for (const GoldenModel& golden : models) {
    const PackedRows rows = ManyRows(golden, 20);
    const std::vector<float> alone = OpenModel(golden.path).Score(rows);
    for (uint32_t workers : {1u, 2u, 5u}) {
      const rankfeed_executor executor{sizeof(rankfeed_executor), workers, &workers, OnThreads};
      rankfeed_crossencoder_options options{};
      options.executor = &executor;
      const std::vector<float> shared = OpenModel(golden.path, options).Score(rows);
      EXPECT_EQ(0, std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(float)))
          << workers;
    }
  }
}

TEST(Crossencoder, EnqueueOnHostStreamEqualsScore) {
  const GoldenModel golden = LoadGolden()[0];
  const OpenModel model(golden.path);
  const PackedRows rows(golden.rows, golden.types);
  const rankfeed_packed_batch batch = rows.batch();
  const AlignedBytes workspace = model.Workspace(batch);
  const rankfeed_gpu_backend* backend = rankfeed_handoff_host_backend();
  void *ctx = nullptr, *stream = nullptr;
  ASSERT_EQ(backend->device_open(backend->self, 0, &ctx), 0);
  ASSERT_EQ(backend->stream_create(ctx, &stream), 0);
  std::vector<float> logits(batch.rows);
  ASSERT_EQ(rankfeed_crossencoder_enqueue(model.get(), &batch, stream, workspace.data(),
                                          workspace.size(), logits.data()),
            RANKFEED_OK);
  ASSERT_EQ(backend->stream_synchronize(ctx, stream), 0);
  EXPECT_EQ(logits, model.Score(rows));

  // What cannot be reported any more is NaN: an id outside the table for its row alone, rows that
  // do not add up for all.
  PackedRows bad = rows;
  bad.ids[0] = 64;
  bad.ids[bad.ids.size() - 1] = -1;
  rankfeed_packed_batch b = bad.batch();
  ASSERT_EQ(rankfeed_crossencoder_enqueue(model.get(), &b, stream, workspace.data(),
                                          workspace.size(), logits.data()),
            0);
  ASSERT_EQ(backend->stream_synchronize(ctx, stream), 0);
  EXPECT_TRUE(std::isnan(logits[0]));
  EXPECT_TRUE(std::isnan(logits.back()));
  EXPECT_NEAR(logits[1], golden.logits[1][0], kTolerance);
  bad = rows;
  bad.cu_seqlens[2] = 5000;
  b = bad.batch();
  ASSERT_EQ(rankfeed_crossencoder_enqueue(model.get(), &b, stream, workspace.data(),
                                          workspace.size(), logits.data()),
            0);
  ASSERT_EQ(backend->stream_synchronize(ctx, stream), 0);
  for (const float score : logits) EXPECT_TRUE(std::isnan(score));
  backend->stream_destroy(ctx, stream);
  backend->device_close(ctx);
}

TEST(Crossencoder, BatchesOfOneStreamShareAWorkspace) {
  const GoldenModel golden = LoadGolden()[0];
  const OpenModel model(golden.path);
  const rankfeed_gpu_backend* backend = rankfeed_handoff_host_backend();
  void *ctx = nullptr, *stream = nullptr;
  ASSERT_EQ(backend->device_open(backend->self, 0, &ctx), 0);
  ASSERT_EQ(backend->stream_create(ctx, &stream), 0);
  // All are queued before the first may run.
  std::promise<void> go;
  std::shared_future<void> gate = go.get_future().share();
  ASSERT_EQ(
      backend->launch_host(
          ctx, stream, [](void* g) { static_cast<std::shared_future<void>*>(g)->wait(); }, &gate),
      0);
  std::vector<PackedRows> batches;
  for (size_t r = 0; r < golden.rows.size(); ++r)
    batches.push_back(PackedRows({golden.rows[r]}, {golden.types[r]}));
  const AlignedBytes workspace = model.Workspace(PackedRows(golden.rows, golden.types).batch());
  std::vector<float> logits(golden.rows.size(), 7.0f);
  for (size_t r = 0; r < batches.size(); ++r) {
    const rankfeed_packed_batch b = batches[r].batch();
    ASSERT_EQ(rankfeed_crossencoder_enqueue(model.get(), &b, stream, workspace.data(),
                                            workspace.size(), &logits[r]),
              0);
  }
  go.set_value();
  ASSERT_EQ(backend->stream_synchronize(ctx, stream), 0);
  for (size_t r = 0; r < batches.size(); ++r)
    EXPECT_NEAR(logits[r], golden.logits[r][0], kTolerance) << r;
  backend->stream_destroy(ctx, stream);
  backend->device_close(ctx);
}

TEST(Crossencoder, EmptyRowsScoreNaN) {
  const GoldenModel golden = LoadGolden()[0];
  const OpenModel model(golden.path);
  const auto logits = model.Score(PackedRows({{}, golden.rows[3], {}}, {{}, golden.types[3], {}}));
  EXPECT_TRUE(std::isnan(logits[0]) && std::isnan(logits[2]));
  EXPECT_NEAR(logits[1], golden.logits[3][0], kTolerance);
  EXPECT_TRUE(std::isnan(model.Score(PackedRows({{}}, {{}}))[0]));
}

TEST(Crossencoder, ExactWorkspaceSuffices) {
  const GoldenModel golden = LoadGolden()[1];
  const OpenModel model(golden.path);
  const PackedRows rows = ManyRows(golden, 5);
  const rankfeed_packed_batch b = rows.batch();
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_crossencoder_workspace(model.get(), b.rows, b.tokens, b.max_seqlen, &need),
            RANKFEED_OK);
  std::vector<float> logits(b.rows * 3, 7.0f);
  const AlignedBytes exact(need);
  EXPECT_EQ(
      rankfeed_crossencoder_score(model.get(), &b, exact.data(), need.size - 1, logits.data()),
      RANKFEED_E_WORKSPACE_SIZE);
  EXPECT_EQ(rankfeed_crossencoder_score(model.get(), &b, static_cast<char*>(exact.data()) + 4,
                                        need.size, logits.data()),
            RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(logits[0], 7.0f);
  EXPECT_EQ(rankfeed_crossencoder_score(model.get(), &b, exact.data(), need.size, logits.data()),
            RANKFEED_OK);
  EXPECT_EQ(logits, model.Score(rows));
  // Monotonic.
  rankfeed_mem_req more{};
  for (const auto& [r, t, s] : {std::tuple{b.rows + 300, b.tokens, b.max_seqlen},
                                std::tuple{b.rows, b.tokens + 999, b.max_seqlen}}) {
    ASSERT_EQ(rankfeed_crossencoder_workspace(model.get(), r, t, s, &more), RANKFEED_OK);
    EXPECT_GE(more.size, need.size);
  }
}

TEST(Crossencoder, ScoreDoesNotAllocate) {
  const GoldenModel golden = LoadGolden()[0];
  const OpenModel model(golden.path);
  const PackedRows rows = ManyRows(golden, 10);
  const rankfeed_packed_batch b = rows.batch();
  const AlignedBytes workspace = model.Workspace(b);
  std::vector<float> logits(b.rows);
  // The first call chooses the instruction set.
  ASSERT_EQ(rankfeed_crossencoder_score(model.get(), &b, workspace.data(), workspace.size(),
                                        logits.data()),
            0);
  allocation_trap::Arm();
  const rankfeed_status status = rankfeed_crossencoder_score(model.get(), &b, workspace.data(),
                                                             workspace.size(), logits.data());
  EXPECT_EQ(allocation_trap::Disarm(), 0u);
  EXPECT_EQ(status, RANKFEED_OK);
}

TEST(Crossencoder, EndACallThatIsCancelled) {
  const GoldenModel golden = LoadGolden()[0];
  const OpenModel model(golden.path);
  const PackedRows rows = ManyRows(golden, 10);
  const rankfeed_packed_batch b = rows.batch();
  const AlignedBytes workspace = model.Workspace(b);
  const auto score = [&](const uint32_t* cancel, std::vector<float>* logits) {
    logits->assign(b.rows, 7.0f);
    return rankfeed_crossencoder_score_until(model.get(), &b, cancel, workspace.data(),
                                             workspace.size(), logits->data());
  };
  const uint32_t go = 0, stop = 1;
  std::vector<float> whole, logits;
  EXPECT_EQ(score(nullptr, &whole), RANKFEED_OK);
  EXPECT_EQ(score(&stop, &logits), RANKFEED_E_CANCELLED);
  EXPECT_EQ(logits, std::vector<float>(b.rows, 7.0f));
  EXPECT_EQ(score(&go, &logits), RANKFEED_OK);
  EXPECT_EQ(logits, whole);
}

TEST(Crossencoder, RefusesBadBatches) {
  const GoldenModel golden = LoadGolden()[0];
  const OpenModel model(golden.path);
  const PackedRows rows(golden.rows, golden.types);
  const AlignedBytes workspace = model.Workspace(rows.batch());
  std::vector<float> logits(golden.rows.size(), 7.0f);
  const auto score = [&](const rankfeed_packed_batch& b) {
    return rankfeed_crossencoder_score(model.get(), &b, workspace.data(), workspace.size(),
                                       logits.data());
  };
  const auto with = [&](auto change) {
    PackedRows bad = rows;
    rankfeed_packed_batch b = bad.batch();
    change(bad, b);
    return score(b);
  };
  EXPECT_EQ(with([](auto&, auto& b) { b.struct_size = 4; }), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(with([](auto&, auto& b) { b.rows = 0; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto&, auto& b) { b.input_ids = nullptr; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto&, auto& b) { b.cu_seqlens = nullptr; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto&, auto& b) { b.max_seqlen = 39; }), RANKFEED_E_TOO_LONG);
  EXPECT_EQ(with([](auto&, auto& b) { b.max_seqlen = 37; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto&, auto& b) { b.tokens -= 1; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto& r, auto&) { r.cu_seqlens[0] = 1; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto& r, auto&) { std::swap(r.cu_seqlens[3], r.cu_seqlens[4]); }),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto& r, auto&) { r.cu_seqlens[3] = INT32_MIN; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with([](auto& r, auto&) { r.ids[5] = 64; }), RANKFEED_E_ID_RANGE);
  EXPECT_EQ(with([](auto& r, auto&) { r.ids[5] = -1; }), RANKFEED_E_ID_RANGE);
  EXPECT_EQ(with([](auto& r, auto&) { r.types[5] = 1; }), RANKFEED_E_ID_RANGE);
  EXPECT_EQ(logits[0], 7.0f) << "nothing is written on failure";
  EXPECT_EQ(with([](auto&, auto&) {}), RANKFEED_OK);
  EXPECT_NE(logits[0], 7.0f);

  rankfeed_mem_req need{};
  EXPECT_EQ(rankfeed_crossencoder_workspace(model.get(), 1, 100, 39, &need), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_crossencoder_workspace(model.get(), 0, 100, 3, &need), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_crossencoder_workspace(nullptr, 1, 1, 1, &need), RANKFEED_E_ARGUMENT);
}

TEST(Crossencoder, OpenSaysWhatIsWrong) {
  const auto refused = [](const std::string& path, rankfeed_status status, const char* words,
                          rankfeed_crossencoder_options options = {}) {
    options.struct_size = sizeof options;
    rankfeed_crossencoder_error error{};
    error.struct_size = sizeof error;
    rankfeed_crossencoder* model = nullptr;
    EXPECT_EQ(rankfeed_crossencoder_open(path.c_str(), &options, &model, &error), status) << path;
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(std::string(error.message).find(words), std::string::npos) << error.message;
  };
  refused(GoldenFolder() + "absent", RANKFEED_E_IO, "No such file");
  refused(GoldenFolder(), RANKFEED_E_IO, "model.safetensors");
  refused(GoldenFolder() + "golden.json", RANKFEED_E_UNSUPPORTED, "neither a folder nor");
  rankfeed_crossencoder_options half{};
  half.dtype = RANKFEED_DTYPE_F16;
  refused(GoldenFolder() + "xlmr", RANKFEED_E_UNSUPPORTED, "element type", half);
  rankfeed_crossencoder_options far{};
  far.device = 7;
  refused(GoldenFolder() + "xlmr", RANKFEED_E_NO_DEVICE, "opening the device", far);
  rankfeed_crossencoder_options odd{};
  odd.dtype = 9;
  refused(GoldenFolder() + "xlmr", RANKFEED_E_ARGUMENT, "option", odd);
  // A file by its own name is taken with the config beside it.
  EXPECT_EQ(OpenModel(GoldenFolder() + "xlmr/model.safetensors").info().labels, 1u);
}

TEST(Crossencoder, InfoDescribesTheModel) {
  const auto info = OpenModel(GoldenFolder() + "roberta").info();
  EXPECT_EQ(info.dtype, uint32_t{RANKFEED_DTYPE_F32});
  EXPECT_EQ(info.vocab_size, 51u);
  EXPECT_EQ(info.labels, 3u);
  EXPECT_EQ(info.max_row_tokens, 29u);
  EXPECT_EQ(info.type_vocab_size, 2u);
  EXPECT_STREQ(info.backend, "host");
  EXPECT_NE(std::string(info.gemm), "");
}

// A batch whose tensors are not where its rows and tokens say is not followed.
TEST(Crossencoder, BatchesHandedBack) {
  alignas(256) int32_t arena[192] = {};
  const auto column = [](size_t at, int64_t count) {
    rankfeed_tensor tensor{};
    tensor.byte_offset = at;
    tensor.bytes = static_cast<size_t>(count) * sizeof(int32_t);
    tensor.shape[0] = count;
    tensor.dimensions = 1;
    tensor.type = RANKFEED_INT32;
    return tensor;
  };
  rankfeed_batch batch{};
  batch.struct_size = sizeof(batch);
  batch.rows = 2;
  batch.tokens = 5;
  batch.max_seqlen = 3;
  batch.arena_size = 512 + 5 * sizeof(int32_t);
  batch.input_ids = column(0, 5);
  batch.cu_seqlens = column(256, 3);
  batch.token_type_ids = column(512, 5);
  rankfeed_packed_batch packed{};
  packed.struct_size = sizeof(packed);
  const auto status = [&](auto change, uint32_t with_types = 1) {
    rankfeed_batch changed = batch;
    change(changed);
    return rankfeed_packed_batch_of(&changed, arena, with_types, &packed);
  };
  ASSERT_EQ(status([](auto&) {}), RANKFEED_OK);
  EXPECT_EQ(packed.cu_seqlens, arena + 64);
  EXPECT_EQ(packed.token_type_ids, arena + 128);
  EXPECT_EQ(status([](auto& b) { b.struct_size = offsetof(rankfeed_batch, generation); }),
            RANKFEED_OK);
  EXPECT_EQ(status([](auto& b) { b.struct_size += 8; }), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(status([](auto&) {}, 2), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.tokens = 6; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.rows = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.rows = UINT32_MAX; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.arena_size -= 1; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.arena_size -= 1; }, 0), RANKFEED_OK);  // not asked for
  EXPECT_EQ(status([](auto& b) { b.input_ids.byte_offset = SIZE_MAX - 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.input_ids.byte_offset = 2; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& b) { b.cu_seqlens.type = RANKFEED_INT64; }), RANKFEED_E_ARGUMENT);
}

}  // namespace
}  // namespace rankfeed::handoff
