// SPDX-License-Identifier: MIT
// Nothing allocates after init: encode, decode and their errors run with a trap on every
// allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <new>

#include "contract/contract_models.h"
#include "rankfeed/rerank.h"
#include "support/allocation_trap.h"

namespace rankfeed::contract {
namespace {

using allocation_trap::Arm;
using allocation_trap::Disarm;

// A trap that never springs would prove nothing.
TEST(AllocationTrap, SeesEveryWayToAllocate) {
  const auto counted = [](auto&& action) {
    Arm();
    action();
    return Disarm();
  };
  // volatile: the compiler may otherwise remove an allocation that is not used.
  void* volatile sink = nullptr;
  EXPECT_EQ(counted([] {}), 0u);
  EXPECT_GE(counted([&] { sink = std::malloc(10); }), 1u);
  std::free(sink);
  EXPECT_GE(counted([&] { sink = std::calloc(2, 10); }), 1u);
  EXPECT_GE(counted([&] { sink = std::realloc(sink, 1000); }), 1u);
  std::free(sink);
  EXPECT_GE(counted([&] { sink = std::aligned_alloc(64, 128); }), 1u);
  std::free(sink);
  EXPECT_GE(counted([&] { sink = ::operator new(10); }), 1u);
  ::operator delete(sink);
  EXPECT_GE(counted([&] { sink = new std::string(100, 'x'); }), 2u);
  delete static_cast<std::string*>(sink);
}

class Allocation : public ContractTest {};

TEST_P(Allocation, EncodeAndDecodeAllocateNothing) {
  std::vector<std::string> texts = Texts();
  texts.push_back(std::string(5000, 'a'));
  texts.push_back(std::string(1001, 'G'));
  for (const uint32_t cache : {0u, 1u << 14}) {
    OwnedEncoder encoder(model(), Limits(5000, true, cache));
    OwnedEncoder small(model(), Limits(3, false, cache));
    Columns columns;
    columns.Resize(rankfeed_token_bound(model(), 5000));
    std::string out(200000, '\0');
    for (const std::string& text : texts) {
      for (const uint32_t flags :
           {0u, uint32_t{RANKFEED_ADD_SPECIAL_TOKENS},
            uint32_t{RANKFEED_ADD_SPECIAL_TOKENS | RANKFEED_OFFSETS_CODE_POINTS},
            uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS}, uint32_t{RANKFEED_ERROR_ON_SPECIAL}}) {
        const rankfeed_encode_options options = Options(flags);
        rankfeed_encoding io = columns.Io(true);
        rankfeed_encoding short_io = columns.Io(false);
        short_io.capacity = 1;
        size_t size = 0, short_size = 0;
        std::array<rankfeed_status, 5> status{};
        Arm();
        status[0] = rankfeed_encode(encoder.get(), Text(text), &options, &io);
        status[1] = rankfeed_decode(encoder.get(), io.input_ids, std::min(io.count, 5000u), 0,
                                    out.data(), out.size(), &size);
        status[2] = rankfeed_decode(encoder.get(), io.input_ids, std::min(io.count, 5000u),
                                    RANKFEED_SKIP_SPECIAL_TOKENS, out.data(), 1, &short_size);
        status[3] = rankfeed_encode(encoder.get(), Text(text), &options, &short_io);
        status[4] = rankfeed_encode(small.get(), Text(text), &options, &short_io);
        EXPECT_EQ(Disarm(), 0u) << "text of " << text.size() << " bytes, flags " << flags;
        EXPECT_TRUE(status[0] == RANKFEED_OK || status[0] == RANKFEED_E_SPECIAL_IN_TEXT);
        EXPECT_EQ(status[1], RANKFEED_OK);
      }
    }
  }
}

TEST_P(Allocation, OpeningAModelAndCarvingAnEncoderAllocateNothing) {
  const rankfeed_mem_req model_need = rankfeed_model_mem_req();
  const Block storage = Allocate(model_need.size, model_need.alignment);
  const rankfeed_limits limits = Limits(1000, true, 4096);
  rankfeed_mem_req need;
  ASSERT_EQ(rankfeed_encoder_mem_req(model(), &limits, &need), RANKFEED_OK);
  const Block scratch = Allocate(need.size, need.alignment);
  rankfeed_model* opened = nullptr;
  rankfeed_encoder* encoder = nullptr;
  Arm();
  const rankfeed_status verified = rankfeed_image_verify(image().data, image().size, nullptr);
  const rankfeed_status open_status = rankfeed_model_open(image().data, image().size, 0, storage.get(),
                                                          model_need.size, &opened, nullptr);
  const rankfeed_status init_status =
      rankfeed_encoder_init(opened, &limits, scratch.get(), need.size, &encoder);
  const int32_t id = rankfeed_model_piece_to_id(opened, "ab", 2);
  const char* name = rankfeed_status_name(RANKFEED_E_LIMIT);
  EXPECT_EQ(Disarm(), 0u);
  EXPECT_EQ(verified, RANKFEED_OK);
  EXPECT_EQ(open_status, RANKFEED_OK);
  EXPECT_EQ(init_status, RANKFEED_OK);
  EXPECT_GE(id, 0);
  EXPECT_STREQ(name, "RANKFEED_E_LIMIT");
}

// A whole request: begin, batches into one arena, scores, ranking; and the errors on the way.
TEST_P(Allocation, ARequestAllocatesNothing) {
  OwnedEncoder encoder(model(), Limits(1000, true, 4096));
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.max_length = 24;
  options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  options.layout = RANKFEED_PACKED;
  options.tensors = RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_LENGTHS;
  options.max_rows_per_batch = 4;
  options.sort = RANKFEED_SORT_DESCENDING;
  // Texts of a template of the caller's own: small models have no pair template in SentencePiece.
  rankfeed_pair_template pair{};
  pair.struct_size = sizeof(pair);
  const int32_t separator[] = {2};
  pair.middle.ids = pair.suffix.ids = separator;
  pair.middle.id_count = pair.suffix.id_count = 1;
  options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options.pair_template = &pair;

  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = 64;
  limits.max_text_bytes = 1000;
  limits.max_tokens = 10000;
  limits.workers = 1;
  rankfeed_mem_req need;
  ASSERT_EQ(rankfeed_reranker_mem_req(model(), &limits, &options, &need), RANKFEED_OK);
  const Block scratch = Allocate(need.size, need.alignment);
  constexpr size_t kArena = 1 << 16;
  const Block arena = Allocate(kArena, 256);

  std::vector<rankfeed_source> documents(Texts().size());
  for (size_t i = 0; i < documents.size(); ++i) documents[i].text = Text(Texts()[i]);
  std::vector<rankfeed_status> document_status(documents.size());
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = static_cast<uint32_t>(documents.size());
  request.query.text = Text(Texts()[2]);
  request.documents = documents.data();
  request.document_status = document_status.data();
  rankfeed_encoder* const encoders[] = {encoder.get()};
  rankfeed_reranker* reranker = nullptr;
  const float logits[8] = {0.5f, -1.0f, 2.0f, 0.0f};
  rankfeed_ranked ranked[64];

  Arm();
  rankfeed_status status = rankfeed_reranker_init(model(), &limits, &options, encoders,
                                                  scratch.get(), need.size, &reranker);
  if (status == RANKFEED_OK) status = rankfeed_rerank_begin(reranker, &request);
  uint32_t rows = 0, batches = 0, ranked_count = 0;
  rankfeed_status too_small = RANKFEED_OK;
  while (status == RANKFEED_OK) {
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.arena = arena.get();
    batch.arena_capacity = 1;
    if (batches == 0) too_small = rankfeed_rerank_next(reranker, &batch);
    batch.arena_capacity = kArena;
    status = rankfeed_rerank_next(reranker, &batch);
    if (status != RANKFEED_OK || batch.rows == 0) break;
    rows += batch.rows;
    ++batches;
    status = rankfeed_rerank_put_scores(reranker, &batch, logits, nullptr);
  }
  const rankfeed_status rank_status =
      rankfeed_rerank_rank(reranker, nullptr, ranked, 64, &ranked_count);
  EXPECT_EQ(Disarm(), 0u);
  EXPECT_EQ(status, RANKFEED_OK) << rankfeed_status_name(status);
  EXPECT_EQ(too_small, RANKFEED_E_OUTPUT_SIZE);
  EXPECT_EQ(rank_status, RANKFEED_OK);
  EXPECT_EQ(rows, documents.size());
  EXPECT_EQ(batches, (documents.size() + 3) / 4);
  EXPECT_EQ(ranked_count, documents.size());
}

RANKFEED_CONTRACT_SUITE(Allocation);

}  // namespace
}  // namespace rankfeed::contract
