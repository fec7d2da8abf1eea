// SPDX-License-Identifier: MIT
// The reranker through the C API: arguments, scratch to the byte, a whole request with a real
// vocabulary and, from begin to the ranking, no allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/rerank.hpp"
#include "support/sanitizers.h"

namespace {

std::atomic<bool> trap{false};
std::atomic<uint64_t> trapped{0};

[[maybe_unused]] void Count() {  // sanitizers keep their own malloc
  if (trap.load(std::memory_order_relaxed)) ++trapped;
}

}  // namespace

// Every allocation of the process passes here: malloc itself is replaced, by forwarding to glibc's.
#if defined(__GLIBC__) && !defined(RANKFEED_TEST_SANITIZED)
#define RANKFEED_TEST_TRAPS_MALLOC 1
// Clang applies -fvisibility=hidden to them, and then the C++ library would not see them.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);
void* malloc(size_t size) {
  return Count(), __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  return Count(), __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  return Count(), __libc_realloc(p, size);
}
void free(void* p) {
  if (p != nullptr) Count();
  __libc_free(p);
}
}
#pragma GCC visibility pop
#endif

namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<unsigned char, Free>;

Block Aligned(size_t size, size_t alignment = 256) {
  return Block(static_cast<unsigned char*>(
      std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + alignment)));
}

// A reranker for ids alone: template of the caller, packed, no model.
class IdsOnly : public testing::Test {
 protected:
  void SetUp() override {
    rankfeed_rerank_options_init(&options_);
    pair_template_.struct_size = sizeof(pair_template_);
    pair_template_.prefix.ids = kPrefix;
    pair_template_.prefix.id_count = 1;
    pair_template_.suffix.ids = kPrefix + 1;
    pair_template_.suffix.id_count = 1;
    options_.template_kind = RANKFEED_TEMPLATE_CUSTOM;
    options_.pair_template = &pair_template_;
    options_.layout = RANKFEED_PACKED;
    limits_.struct_size = sizeof(limits_);
    limits_.max_documents = 4;
    for (rankfeed_source* source : {&documents_[0], &documents_[1]}) {
      source->ids = kIds;
      source->id_count = source == documents_ ? 2 : 3;
    }
    request_.struct_size = sizeof(request_);
    request_.query.ids = kIds;
    request_.query.id_count = 1;
    request_.documents = documents_;
    request_.document_count = 2;
    request_.document_status = status_;
  }
  rankfeed_reranker* Make() {
    rankfeed_mem_req need = {};
    EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, &limits_, &options_, &need), RANKFEED_OK);
    scratch_ = Aligned(need.size);
    rankfeed_reranker* reranker = nullptr;
    EXPECT_EQ(rankfeed_reranker_init(nullptr, &limits_, &options_, nullptr, scratch_.get(),
                                     need.size, &reranker),
              RANKFEED_OK);
    return reranker;
  }
  rankfeed_batch Batch() {
    rankfeed_batch batch = {};
    batch.struct_size = sizeof(batch);
    batch.arena = arena_.get();
    batch.arena_capacity = 4096;
    return batch;
  }

  static constexpr int32_t kPrefix[] = {100, 200};
  static constexpr int32_t kIds[] = {7, 8, 9};
  rankfeed_rerank_options options_;
  rankfeed_pair_template pair_template_ = {};
  rankfeed_rerank_limits limits_ = {};
  rankfeed_source documents_[2] = {};
  rankfeed_status status_[2] = {};
  rankfeed_request request_ = {};
  Block scratch_, arena_ = Aligned(4096);
};
constexpr int32_t IdsOnly::kPrefix[], IdsOnly::kIds[];

TEST_F(IdsOnly, PackedBatch) {
  rankfeed_reranker* reranker = Make();
  rankfeed_batch batch = Batch();
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &batch), RANKFEED_OK);
  ASSERT_EQ(batch.rows, 2u);
  const int32_t ids[] = {100, 7, 7, 8, 200, 100, 7, 7, 8, 9, 200}, cu_seqlens[] = {0, 5, 11};
  EXPECT_EQ(std::memcmp(batch.input_ids.data, ids, sizeof(ids)), 0);
  EXPECT_EQ(std::memcmp(batch.cu_seqlens.data, cu_seqlens, sizeof(cu_seqlens)), 0);
  EXPECT_EQ(batch.max_seqlen, 6u);
  EXPECT_EQ(batch.tokens, 11u);
}

TEST_F(IdsOnly, ScratchToTheByte) {
  rankfeed_mem_req need = {};
  ASSERT_EQ(rankfeed_reranker_mem_req(nullptr, &limits_, &options_, &need), RANKFEED_OK);
  const Block scratch = Aligned(need.size + need.alignment);
  auto* reranker = reinterpret_cast<rankfeed_reranker*>(1);
  EXPECT_EQ(rankfeed_reranker_init(nullptr, &limits_, &options_, nullptr, scratch.get(),
                                   need.size - 1, &reranker),
            RANKFEED_E_WORKSPACE_SIZE);
  EXPECT_EQ(reranker, nullptr);
  for (size_t shift = 1; shift < need.alignment; shift *= 2) {
    EXPECT_EQ(rankfeed_reranker_init(nullptr, &limits_, &options_, nullptr, scratch.get() + shift,
                                     need.size, &reranker),
              RANKFEED_E_ALIGNMENT);
  }
  EXPECT_EQ(rankfeed_reranker_init(nullptr, &limits_, &options_, nullptr, scratch.get(), need.size,
                                   &reranker),
            RANKFEED_OK);
}

TEST_F(IdsOnly, RequirementGrowsWithEachLimit) {
  rankfeed_mem_req small = {}, large = {};
  ASSERT_EQ(rankfeed_reranker_mem_req(nullptr, &limits_, &options_, &small), RANKFEED_OK);
  const auto grows = [&](auto set) {
    rankfeed_rerank_limits limits = limits_;
    set(limits);
    EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, &limits, &options_, &large), RANKFEED_OK);
    EXPECT_GT(large.size, small.size);
  };
  grows([](auto& l) { l.max_documents = 400; });
  grows([](auto& l) { l.max_rows = 400; });
  grows([](auto& l) { l.max_tokens = 4000; });
  limits_.max_tokens = ~uint64_t{0} / 2;
  EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, &limits_, &options_, &large), RANKFEED_E_LIMIT);
}

TEST_F(IdsOnly, NullAndSizedArguments) {
  rankfeed_mem_req need = {};
  rankfeed_reranker* out = nullptr;
  rankfeed_batch batch = Batch();
  uint32_t count;
  EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, nullptr, &options_, &need), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, &limits_, nullptr, &need), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, &limits_, &options_, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_reranker_init(nullptr, &limits_, &options_, nullptr, nullptr, 1 << 20, &out),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_rerank_begin(nullptr, &request_), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_rerank_next(nullptr, &batch), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode_pairs(nullptr, &request_, &batch), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_rerank_rank(nullptr, nullptr, nullptr, 0, &count), RANKFEED_E_ARGUMENT);

  rankfeed_reranker* reranker = Make();
  EXPECT_EQ(rankfeed_rerank_begin(reranker, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_rerank_next(reranker, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_E_STATE);
  rankfeed_request request = request_;
  request.struct_size = 1;
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &request), RANKFEED_E_STRUCT_SIZE);
  request = request_;
  request.document_count = 0;  // an empty list of documents
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &request), RANKFEED_E_ARGUMENT);
  request = request_;
  request.document_status = nullptr;
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &request), RANKFEED_E_ARGUMENT);
  request = request_;
  request.query = {};
  request.query.text = {"text", 4};  // this reranker has no encoder
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &request), RANKFEED_E_ARGUMENT);

  ASSERT_EQ(rankfeed_rerank_begin(reranker, &request_), RANKFEED_OK);
  batch.struct_size = 8;
  EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_E_STRUCT_SIZE);
  batch = Batch();
  batch.arena = arena_.get() + 64;
  EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_E_ALIGNMENT);
  batch = Batch();
  batch.arena = nullptr;
  EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_E_ARGUMENT);
  batch = Batch();
  batch.arena = nullptr;
  batch.arena_capacity = 0;  // asks for the size
  EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_E_OUTPUT_SIZE);
  EXPECT_EQ(batch.arena_size, 256u + 3 * 4);
  batch = Batch();
  EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_OK);
}

TEST_F(IdsOnly, ArenaSizeIsWhatBatchesUse) {
  rankfeed_reranker* reranker = Make();
  rankfeed_batch batch = Batch();
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &batch), RANKFEED_OK);
  size_t bytes = 0;
  ASSERT_EQ(
      rankfeed_batch_arena_size(&options_, batch.rows, batch.row_length, batch.tokens, &bytes),
      RANKFEED_OK);
  EXPECT_EQ(bytes, batch.arena_size);
  // The same tensors in a copy elsewhere.
  rankfeed_batch device = {};
  device.struct_size = sizeof(device);
  device.arena = reinterpret_cast<void*>(0x7f0000000000);
  device.arena_capacity = bytes;
  ASSERT_EQ(rankfeed_batch_carve(&options_, batch.rows, batch.row_length, batch.tokens, &device),
            RANKFEED_OK);
  EXPECT_EQ(device.cu_seqlens.byte_offset, batch.cu_seqlens.byte_offset);
  EXPECT_EQ(device.cu_seqlens.bytes, batch.cu_seqlens.bytes);
  device.arena_capacity = bytes - 1;
  EXPECT_EQ(rankfeed_batch_carve(&options_, batch.rows, batch.row_length, batch.tokens, &device),
            RANKFEED_E_OUTPUT_SIZE);
  device.arena = reinterpret_cast<void*>(0x7f0000000080);
  EXPECT_EQ(rankfeed_batch_carve(&options_, batch.rows, batch.row_length, batch.tokens, &device),
            RANKFEED_E_ALIGNMENT);
}

// Scores of rows that no batch had. The sum of first_row and rows wraps to a row that there is.
TEST_F(IdsOnly, ScoresOfRowsThatWrapAround) {
  rankfeed_reranker* reranker = Make();
  rankfeed_batch batch = Batch();
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &batch), RANKFEED_OK);
  const float logits[] = {1, 2};
  ASSERT_EQ(rankfeed_rerank_put_scores(reranker, &batch, logits, nullptr), RANKFEED_OK);
  const float other[] = {9, 9};
  for (const uint64_t first_row : {~uint64_t{0}, ~uint64_t{1}, ~uint64_t{0} / 2, uint64_t{1}}) {
    rankfeed_batch forged = batch;
    forged.first_row = first_row;
    EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &forged, other, nullptr), RANKFEED_E_STATE)
        << first_row;
  }
  rankfeed_batch forged = batch;
  forged.first_row = 0 - uint64_t{0xffffffff};
  forged.rows = 0xffffffff;
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &forged, other, nullptr), RANKFEED_E_STATE);
  // More logits than an address space holds.
  const rankfeed_score_options labels = {sizeof(labels), RANKFEED_SCORE_RAW, 0xffffffff, 0};
  forged = batch;
  forged.rows = 0xffffffff;
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &forged, other, &labels), RANKFEED_E_STATE);

  rankfeed_ranked ranked[2];
  uint32_t count = 0;
  ASSERT_EQ(rankfeed_rerank_rank(reranker, nullptr, ranked, 2, &count), RANKFEED_OK);
  EXPECT_EQ(ranked[0].index, 1u);
  EXPECT_EQ(ranked[0].score, 2);
  EXPECT_EQ(ranked[1].score, 1);
}

// A batch whose scores come after the next request has begun.
TEST_F(IdsOnly, LateBatchOfAnEarlierRequest) {
  rankfeed_reranker* reranker = Make();
  rankfeed_batch late = Batch();
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &late), RANKFEED_OK);
  rankfeed_batch batch = Batch();
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &batch), RANKFEED_OK);
  EXPECT_NE(late.generation, batch.generation);
  const float logits[] = {1, 2}, wrong[] = {9, 8};
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &late, wrong, nullptr), RANKFEED_E_STALE);
  ASSERT_EQ(rankfeed_rerank_put_scores(reranker, &batch, logits, nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &late, wrong, nullptr), RANKFEED_E_STALE);
  rankfeed_ranked ranked[2];
  uint32_t count = 0;
  ASSERT_EQ(rankfeed_rerank_rank(reranker, nullptr, ranked, 2, &count), RANKFEED_OK);
  EXPECT_EQ(ranked[0].score, 2);
  EXPECT_EQ(ranked[1].score, 1);

  // Also after a begin that failed, and from another reranker over the same scratch.
  rankfeed_request bad = request_;
  bad.document_count = 0;
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &bad), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &batch, logits, nullptr), RANKFEED_E_STALE);
  reranker = Make();
  rankfeed_batch fresh = Batch();
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &fresh), RANKFEED_OK);
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &late, wrong, nullptr), RANKFEED_E_STALE);
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &fresh, logits, nullptr), RANKFEED_OK);
}

// Fewer logits than rows, or labels that do not come out even: nothing is read.
TEST_F(IdsOnly, WrapperCountsLogits) {
  auto made = rankfeed::Reranker::Create(nullptr, limits_, options_);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_FALSE(made->Begin(request_.query, documents_));
  rankfeed_batch batch;
  ASSERT_FALSE(made->Next(&batch));
  ASSERT_EQ(batch.rows, 2u);
  const std::vector<float> logits = {1, 2, 3, 4};
  for (const size_t count : {0, 1, 3}) {
    const std::vector<float> few(logits.begin(), logits.begin() + static_cast<ptrdiff_t>(count));
    const rankfeed::Error error = made->PutScores(batch, few);
    EXPECT_EQ(error.status, RANKFEED_E_ARGUMENT);
    EXPECT_NE(error.message.find(std::to_string(count) + " logits for 2 rows"), std::string::npos);
  }
  EXPECT_FALSE(made->PutScores(batch, logits));
}

TEST_F(IdsOnly, WrapperNamesTheOptionAtFault) {
  options_.tensors = RANKFEED_TENSOR_ATTENTION_MASK;
  const auto made = rankfeed::Reranker::Create(nullptr, limits_, options_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().status, RANKFEED_E_ARGUMENT);
  EXPECT_EQ(made.error().message, "tensors: packed rows have no such tensor");
}

// The wrapper makes a larger reranker when it needs one: batches of the old one are still refused.
TEST_F(IdsOnly, WrapperRefusesLateBatches) {
  limits_.max_documents = 1;
  auto made = rankfeed::Reranker::Create(nullptr, limits_, options_);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_FALSE(made->Begin(request_.query, {documents_, 1}));
  rankfeed_batch late, batch;
  ASSERT_FALSE(made->Next(&late));
  const std::vector<float> one = {1}, two = {1, 2};
  ASSERT_FALSE(made->Begin(request_.query, documents_));
  ASSERT_FALSE(made->Next(&batch));
  EXPECT_EQ(made->PutScores(late, one).status, RANKFEED_E_STALE);
  EXPECT_FALSE(made->PutScores(batch, two));
}

// Programs compiled before the batch had a generation: nothing after their struct is touched.
TEST_F(IdsOnly, BatchOfTheOlderSize) {
  constexpr uint32_t kOlder = offsetof(rankfeed_batch, generation);
  rankfeed_reranker* reranker = Make();
  rankfeed_batch batch = Batch();
  batch.struct_size = kOlder;
  batch.generation = 77;
  ASSERT_EQ(rankfeed_encode_pairs(reranker, &request_, &batch), RANKFEED_OK);
  EXPECT_EQ(batch.rows, 2u);
  EXPECT_EQ(batch.generation, 77u);
  EXPECT_EQ(batch.struct_size, kOlder);
  const float logits[] = {1, 2};
  EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &batch, logits, nullptr), RANKFEED_OK);
  rankfeed_batch carved = Batch();
  carved.struct_size = kOlder;
  carved.generation = 77;
  EXPECT_EQ(rankfeed_batch_carve(&options_, 2, batch.row_length, batch.tokens, &carved), RANKFEED_OK);
  EXPECT_EQ(carved.generation, 77u);
  for (const uint32_t size : {0u, 8u, kOlder - 1, kOlder + 1, kOlder + 9}) {
    batch.struct_size = size;
    EXPECT_EQ(rankfeed_rerank_put_scores(reranker, &batch, logits, nullptr), RANKFEED_E_STRUCT_SIZE);
    EXPECT_EQ(rankfeed_rerank_next(reranker, &batch), RANKFEED_E_STRUCT_SIZE);
  }
}

// The vocabulary of the source tree, with two encoders.
class WithModel : public testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("RANKFEED_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    rankfeed_builder_error error = {};
    error.struct_size = sizeof(error);
    ASSERT_EQ(rankfeed_load((std::string(source) + "/data/default.model").c_str(), nullptr,
                            &loaded_, &error),
              RANKFEED_OK)
        << error.message;
    rankfeed_rerank_options_init(&options_);
    options_.max_length = 48;
    options_.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
    options_.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
    options_.stride = 8;
    options_.layout = RANKFEED_PACKED;
    options_.sort = RANKFEED_SORT_DESCENDING;
    options_.max_tokens_per_batch = 200;
    options_.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS |
                       RANKFEED_TENSOR_LENGTHS | RANKFEED_TENSOR_ROW_OF_TOKEN;
    // A template of the caller: the model file has none.
    pair_template_.struct_size = sizeof(pair_template_);
    pair_template_.prefix.text = {"Query: ", 7};
    pair_template_.middle.text = {" Document: ", 11};
    pair_template_.suffix.text = {" Relevant:", 10};
    options_.template_kind = RANKFEED_TEMPLATE_CUSTOM;
    options_.pair_template = &pair_template_;
    limits_.struct_size = sizeof(limits_);
    limits_.max_documents = 40;
    limits_.max_rows = 4000;
    limits_.max_text_bytes = 4096;
    limits_.max_tokens = 100000;
    limits_.workers = 2;
    limits_.with_offsets = 1;
    rankfeed_limits limits = {};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = 4096;
    limits.with_offsets = 1;
    rankfeed_mem_req need = {};
    ASSERT_EQ(rankfeed_encoder_mem_req(model(), &limits, &need), RANKFEED_OK);
    for (int i = 0; i < 2; ++i) {
      encoder_memory_[i] = Aligned(need.size);
      ASSERT_EQ(rankfeed_encoder_init(model(), &limits, encoder_memory_[i].get(), need.size,
                                      &encoders_[i]),
                RANKFEED_OK);
    }
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (int k = 0; k < i * 3; ++k)
        text += "The giant panda is a bear species endemic to China. ";
      texts_.push_back(text.substr(0, 4096));
    }
  }
  void TearDown() override { rankfeed_loaded_free(loaded_); }
  const rankfeed_model* model() const { return rankfeed_loaded_model(loaded_); }

  rankfeed_loaded* loaded_ = nullptr;
  rankfeed_rerank_options options_;
  rankfeed_pair_template pair_template_ = {};
  rankfeed_rerank_limits limits_ = {};
  Block encoder_memory_[2];
  rankfeed_encoder* encoders_[2] = {};
  std::vector<std::string> texts_;
};

TEST_F(WithModel, RequestWithoutAllocationAndWithByteRanges) {
#ifndef RANKFEED_TEST_TRAPS_MALLOC
  GTEST_LOG_(INFO) << "this build does not trap allocations";
#endif
  rankfeed_mem_req need = {};
  ASSERT_EQ(rankfeed_reranker_mem_req(model(), &limits_, &options_, &need), RANKFEED_OK);
  const Block scratch = Aligned(need.size), arena = Aligned(1 << 16);
  rankfeed_reranker* reranker = nullptr;
  ASSERT_EQ(rankfeed_reranker_init(model(), &limits_, &options_, encoders_, scratch.get(),
                                   need.size, &reranker),
            RANKFEED_OK);
  std::vector<rankfeed_source> documents(texts_.size());
  std::vector<rankfeed_status> status(texts_.size());
  for (size_t i = 0; i < texts_.size(); ++i)
    documents[i].text = {texts_[i].data(), texts_[i].size()};
  // An executor that gives its two workers the halves in turn.
  rankfeed_executor executor = {sizeof(executor), 2, nullptr,
                                [](void*, size_t count, rankfeed_task task, void* context) {
                                  task(context, count / 2, count, 1);
                                  task(context, 0, count / 2, 0);
                                  return rankfeed_status{RANKFEED_OK};
                                }};
  rankfeed_request request = {};
  request.struct_size = sizeof(request);
  request.query.text = {"What is a panda?", 16};
  request.documents = documents.data();
  request.document_count = static_cast<uint32_t>(documents.size());
  request.document_status = status.data();
  request.executor = &executor;

  std::vector<float> logits(4000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 17);
  std::vector<rankfeed_ranked> ranked(texts_.size());
  std::vector<rankfeed_batch_row> rows;
  rows.reserve(4000);
  uint32_t count = 0;
  rankfeed_status failed = RANKFEED_OK;

  trap = true;
  failed = rankfeed_rerank_begin(reranker, &request);
  while (failed == RANKFEED_OK) {
    rankfeed_batch batch = {};
    batch.struct_size = sizeof(batch);
    batch.arena = arena.get();
    batch.arena_capacity = 1 << 16;
    failed = rankfeed_rerank_next(reranker, &batch);
    if (failed != RANKFEED_OK || batch.rows == 0) break;
    failed = rankfeed_rerank_put_scores(reranker, &batch, logits.data(), nullptr);
    rows.insert(rows.end(), batch.row_map, batch.row_map + batch.rows);
  }
  if (failed == RANKFEED_OK) {
    failed = rankfeed_rerank_rank(reranker, nullptr, ranked.data(),
                                  static_cast<uint32_t>(ranked.size()), &count);
  }
  trap = false;
  EXPECT_EQ(trapped, 0u);
  ASSERT_EQ(failed, RANKFEED_OK);
  EXPECT_EQ(count, texts_.size());
  EXPECT_GT(rows.size(), 2 * texts_.size());  // windows

  // Each window's bytes are a part of its text, and windows of a document cover it.
  std::vector<uint32_t> covered(texts_.size());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.document != b.document ? a.document < b.document : a.chunk < b.chunk;
  });
  for (const rankfeed_batch_row& row : rows) {
    ASSERT_LE(row.length, 48u);
    ASSERT_LE(row.byte_begin, row.byte_end);
    ASSERT_LE(row.byte_end, texts_[row.document].size());
    ASSERT_LE(row.byte_begin, covered[row.document]);
    covered[row.document] = row.byte_end;
  }
  for (size_t i = 0; i < texts_.size(); ++i) {
    const size_t end = texts_[i].find_last_not_of(' ');
    EXPECT_GE(covered[i], end == std::string::npos ? 0 : end + 1) << i;
  }
}

#ifdef RANKFEED_TEST_TRAPS_MALLOC
TEST(AllocationTrap, SeesAllocations) {
  trapped = 0;
  trap = true;
  std::string* text = new std::string(1000, 'x');
  delete text;
  trap = false;
  EXPECT_GE(trapped, 4u);
  trapped = 0;
}
#endif

TEST_F(WithModel, ModelWithoutTemplateIsRefused) {
  options_.template_kind = RANKFEED_TEMPLATE_PAIR;
  options_.pair_template = nullptr;
  rankfeed_mem_req need = {};
  ASSERT_EQ(rankfeed_reranker_mem_req(model(), &limits_, &options_, &need), RANKFEED_OK);
  const Block scratch = Aligned(need.size);
  rankfeed_reranker* reranker = nullptr;
  rankfeed_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rankfeed_model_get_info(model(), &info), RANKFEED_OK);
  const rankfeed_status status = rankfeed_reranker_init(model(), &limits_, &options_, encoders_,
                                                        scratch.get(), need.size, &reranker);
  EXPECT_EQ(status, info.specials_pair != 0 ? RANKFEED_OK : RANKFEED_E_UNSUPPORTED);
}

// What is said of options that are refused, and that nothing is said of others.
TEST_F(WithModel, ProblemsOfOptions) {
  const char* field = "unset";
  const auto problem = [&](const rankfeed_model* of, const rankfeed_rerank_options* options) {
    const char* const rule = rankfeed_rerank_options_problem(of, options, &field);
    EXPECT_EQ(rule == nullptr, field == nullptr);
    EXPECT_EQ(rankfeed_rerank_options_problem(of, options, nullptr), rule);
    return std::string(rule != nullptr ? field : "");
  };
  EXPECT_EQ(problem(model(), &options_), "");
  options_.stride = 48;  // its template is of texts: how many tokens they have is not known yet
  EXPECT_EQ(problem(model(), &options_), "stride");
  options_.stride = 47;
  EXPECT_EQ(problem(model(), &options_), "");
  pair_template_.prefix.text = pair_template_.middle.text = pair_template_.suffix.text = {};
  const int32_t ids[] = {5, 6, 7};
  pair_template_.prefix.ids = ids;
  pair_template_.prefix.id_count = 3;
  EXPECT_EQ(problem(model(), &options_), "stride");
  options_.stride = 44;
  EXPECT_EQ(problem(model(), &options_), "");
  const int32_t negative[] = {5, -6};
  pair_template_.middle.ids = negative;
  pair_template_.middle.id_count = 2;
  EXPECT_EQ(problem(model(), &options_), "pair_template");
  pair_template_.middle.ids = nullptr;  // and a count
  EXPECT_EQ(problem(model(), &options_), "pair_template");
  pair_template_.middle.id_count = 0;
  pair_template_.struct_size -= 4;
  EXPECT_EQ(problem(model(), &options_), "pair_template");
  options_.pair_template = nullptr;
  EXPECT_EQ(problem(model(), &options_), "pair_template");
  options_.template_kind = RANKFEED_TEMPLATE_PAIR;
  options_.stride = 8;
  EXPECT_EQ(problem(model(), &options_), "");
  options_.layout = RANKFEED_PADDED;
  options_.tensors = 0;
  EXPECT_EQ(problem(model(), &options_), "");
  EXPECT_EQ(problem(nullptr, &options_), "layout");  // no pad token without a vocabulary
  EXPECT_EQ(problem(model(), nullptr), "options");
  options_.struct_size -= 4;
  EXPECT_EQ(problem(model(), &options_), "options");
}

TEST_F(WithModel, TextsLongerThanTheLimit) {
  pair_template_.prefix.text = {texts_.back().data(), texts_.back().size()};
  limits_.max_text_bytes = 100;
  rankfeed_mem_req need = {};
  ASSERT_EQ(rankfeed_reranker_mem_req(model(), &limits_, &options_, &need), RANKFEED_OK);
  const Block scratch = Aligned(need.size);
  rankfeed_reranker* reranker = nullptr;
  EXPECT_EQ(rankfeed_reranker_init(model(), &limits_, &options_, encoders_, scratch.get(),
                                   need.size, &reranker),
            RANKFEED_E_LIMIT);
  limits_.workers = 0;  // texts without encoders
  EXPECT_EQ(rankfeed_reranker_mem_req(model(), &limits_, &options_, &need), RANKFEED_E_ARGUMENT);
}

// Nobody has to know a request's size beforehand.
TEST_F(WithModel, WrapperGrowsFromZeroedLimits) {
  const std::vector<rankfeed_source> documents(3, {.text = rankfeed::Text(texts_.back())});
  rankfeed_source query = {.text = rankfeed::Text("a")};
  for (const bool with_offsets : {false, true}) {
    rankfeed_rerank_limits limits = {};
    limits.with_offsets = with_offsets ? 1 : 0;
    auto made = rankfeed::Reranker::Create(model(), limits, options_);
    ASSERT_TRUE(made) << made.error().message;
    for (const size_t count : {1, 3}) {
      const rankfeed::Error begun = made->Begin(query, {documents.data(), count});
      ASSERT_FALSE(begun) << begun.message;
      rankfeed_batch batch;
      const rankfeed::Error filled = made->Next(&batch);
      ASSERT_FALSE(filled) << filled.message;
      EXPECT_GE(batch.rows, count);
    }
  }
}

}  // namespace
