// SPDX-License-Identifier: MIT
// include/rankfeed/crossencoder.hpp against the scores of the golden models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/handoff.hpp"

namespace rankfeed::handoff {
namespace {

// The rows of a golden model as one packed batch, and the scores they must get.
struct Packed {
  explicit Packed(const GoldenModel& golden) {
    ends.push_back(0);
    for (const std::vector<int32_t>& row : golden.rows) {
      ids.insert(ids.end(), row.begin(), row.end());
      ends.push_back(static_cast<int32_t>(ids.size()));
      batch.max_seqlen = std::max(batch.max_seqlen, static_cast<uint32_t>(row.size()));
    }
    for (const std::vector<int32_t>& row : golden.types)
      types.insert(types.end(), row.begin(), row.end());
    batch.struct_size = sizeof batch;
    batch.rows = static_cast<uint32_t>(golden.rows.size());
    batch.tokens = static_cast<uint32_t>(ids.size());
    batch.input_ids = ids.data();
    batch.cu_seqlens = ends.data();
    batch.token_type_ids = types.empty() ? nullptr : types.data();
    for (const std::vector<float>& row : golden.logits)
      wanted.insert(wanted.end(), row.begin(), row.end());
  }
  std::vector<int32_t> ids, ends, types;
  std::vector<float> wanted;
  rankfeed_packed_batch batch{};
};

void ExpectClose(const float* got, const std::vector<float>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], 2e-5) << i;
    }
  }
}

TEST(CrossencoderWrapper, ScoresAndEnqueuesAsTheGoldenModels) {
  for (const GoldenModel& golden : LoadGolden()) {
    SCOPED_TRACE(golden.name);
    auto opened = Crossencoder::Open(golden.path.c_str());
    ASSERT_TRUE(opened) << opened.error().message;
    const Crossencoder model = std::move(*opened);
    const Packed packed(golden);
    EXPECT_EQ(packed.wanted.size(), size_t{packed.batch.rows} * model.info().labels);
    AlignedBytes workspace;
    std::vector<float> logits;
    for (int round = 0; round < 2; ++round) {
      const Error error = model.Score(packed.batch, &workspace, &logits);
      ASSERT_FALSE(error) << error.message;
      ASSERT_EQ(logits.size(), packed.wanted.size());
      ExpectClose(logits.data(), packed.wanted);
    }
    rankfeed_handoff_options options{};
    options.slot_bytes = 4096;
    options.slots = 1;
    auto ring = Handoff::Open(options);
    ASSERT_TRUE(ring);
    auto stream = ring->MakeStream();
    auto scores = ring->Acquire();
    ASSERT_TRUE(stream);
    ASSERT_TRUE(scores);
    auto* const out = reinterpret_cast<float*>(scores->bytes().data());
    std::fill_n(out, packed.wanted.size(), -1.0f);
    const Error queued =
        model.Enqueue(packed.batch, stream->get(), workspace.data(), workspace.size(), out);
    ASSERT_FALSE(queued) << queued.message;
    ASSERT_FALSE(stream->Synchronize());
    ExpectClose(out, packed.wanted);
  }
}

TEST(CrossencoderWrapper, ErrorsKeepTheLibrarysWords) {
  const auto absent = Crossencoder::Open("/absent/model");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().status, RANKFEED_E_IO);
  EXPECT_NE(absent.error().message.find("/absent/model"), std::string::npos)
      << absent.error().message;

  const GoldenModel golden = LoadGolden().at(0);
  auto model = Crossencoder::Open(golden.path.c_str());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->Workspace(1, 1, model->info().max_row_tokens + 1).error().status,
            RANKFEED_E_ARGUMENT);
  Packed packed(golden);
  packed.ids[0] = -1;
  AlignedBytes workspace;
  std::vector<float> logits(3);
  EXPECT_EQ(model->Score(packed.batch, &workspace, &logits).status, RANKFEED_E_ID_RANGE);
  EXPECT_TRUE(logits.empty());
  rankfeed_batch batch{};
  batch.struct_size = sizeof batch;
  EXPECT_EQ(PackedBatchOf(batch, &batch).error().status, RANKFEED_E_ARGUMENT);
}

}  // namespace
}  // namespace rankfeed::handoff
