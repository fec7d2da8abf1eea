// SPDX-License-Identifier: MIT
// Every flag bit and number that has no name, every reserved field and every option that means
// nothing in a mode is refused, and the object goes on as if the call had not been made.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>

#include "contract/contract_models.h"
#include "rankfeed/corpus.h"
#include "rankfeed/counters.h"
#include "rankfeed/recorder.h"
#include "rankfeed/rerank.h"

namespace rankfeed::contract {
namespace {

class OptionsRefused : public ContractTest {
 protected:
  bool sentencepiece() const { return std::string(GetParam()) == "sentencepiece"; }
};

// What encode and encode_batch answer to one text; both ways must leave the encoder as it was.
struct Answers {
  rankfeed_status one, batch;
  bool operator==(const Answers&) const = default;
};
Answers Ask(rankfeed_encoder* encoder, const rankfeed_encode_options& options) {
  int32_t ids[64];
  uint32_t cu_seqlens[3];
  rankfeed_encoding one{};
  one.struct_size = sizeof(one);
  one.capacity = 64;
  one.input_ids = ids;
  const rankfeed_text texts[2] = {{"ab ba", 5}, {"a", 1}};
  rankfeed_encodings batch{};
  batch.struct_size = sizeof(batch);
  batch.capacity = 64;
  batch.input_ids = ids;
  batch.cu_seqlens = cu_seqlens;
  return {rankfeed_encode(encoder, texts[0], &options, &one),
          rankfeed_encode_batch(encoder, texts, 2, &options, &batch)};
}

TEST_P(OptionsRefused, EncodeFlags) {
  OwnedEncoder encoder(model(), Limits(100, false));
  const Columns before = Encode(encoder.get(), "ab ba", RANKFEED_ADD_SPECIAL_TOKENS, false);
  for (uint32_t bit = 0; bit < 32; ++bit) {
    const uint32_t flag = uint32_t{1} << bit;
    const Answers answers = Ask(encoder.get(), Options(flag));
    const bool known = flag <= RANKFEED_OFFSETS_UTF16;
    EXPECT_EQ(answers.one, known ? RANKFEED_OK : RANKFEED_E_ARGUMENT) << "bit " << bit;
    // No offsets come out of this batch.
    const bool unit = flag == RANKFEED_OFFSETS_CODE_POINTS || flag == RANKFEED_OFFSETS_UTF16;
    const bool batch = known && !unit;
    EXPECT_EQ(answers.batch, batch ? RANKFEED_OK : RANKFEED_E_ARGUMENT) << "bit " << bit;
  }
  EXPECT_EQ(Encode(encoder.get(), "ab ba", RANKFEED_ADD_SPECIAL_TOKENS, false), before);
}

// Two units at once, offsets of an encoder without them, and a struct from before there were any.
TEST_P(OptionsRefused, UnitsOfOffsets) {
  OwnedEncoder with(model(), Limits(100, true)), without(model(), Limits(100, false));
  constexpr uint32_t kPoints = RANKFEED_OFFSETS_CODE_POINTS, kUtf16 = RANKFEED_OFFSETS_UTF16;
  const rankfeed_text text = {"ab ba", 5};
  int32_t ids[64];
  uint32_t begin[64], end[64], cu_seqlens[2];
  for (const uint32_t flags : {0u, kPoints, kUtf16, kPoints | kUtf16}) {
    const rankfeed_encode_options options = Options(flags);
    const rankfeed_status expected =
        flags == (kPoints | kUtf16) ? RANKFEED_E_ARGUMENT : RANKFEED_OK;
    rankfeed_encoding one{sizeof(one), 64, ids, begin, end, nullptr, nullptr, 0};
    EXPECT_EQ(rankfeed_encode(with.get(), text, &options, &one), expected) << flags;
    for (uint32_t* const only : {begin, end}) {
      rankfeed_encodings io{sizeof(io), 64, ids, cu_seqlens, 0, 0, nullptr, nullptr};
      (only == begin ? io.offset_begin : io.offset_end) = only;
      EXPECT_EQ(rankfeed_encode_batch(with.get(), &text, 1, &options, &io), expected) << flags;
      EXPECT_EQ(rankfeed_encode_batch(without.get(), &text, 1, &options, &io), RANKFEED_E_ARGUMENT);
      // Its last fields are not looked at.
      io.struct_size = offsetof(rankfeed_encodings, offset_begin);
      std::fill_n(only, 64, 77u);
      EXPECT_EQ(rankfeed_encode_batch(with.get(), &text, 1, &options, &io),
                flags == 0 ? RANKFEED_OK : RANKFEED_E_ARGUMENT);
      EXPECT_EQ(std::count(only, only + 64, 77u), 64);
      for (const uint32_t size : {io.struct_size - 1, io.struct_size + 1, io.struct_size + 8}) {
        io.struct_size = size;
        EXPECT_EQ(rankfeed_encode_batch(with.get(), &text, 1, &options, &io),
                  RANKFEED_E_STRUCT_SIZE);
      }
    }
  }
}

TEST_P(OptionsRefused, SentencePieceExtras) {
  OwnedEncoder encoder(model(), Limits(100, false));
  const Answers refused{RANKFEED_E_ARGUMENT, RANKFEED_E_ARGUMENT}, good{RANKFEED_OK, RANKFEED_OK};
  for (uint32_t extra = 1; extra < 256; ++extra) {
    rankfeed_encode_options options = Options(0);
    options.sp_extra[0] = static_cast<uint8_t>(extra);
    const bool known = sentencepiece() && extra <= RANKFEED_SP_UNK;
    EXPECT_EQ(Ask(encoder.get(), options), known ? good : refused) << extra;
  }
  for (size_t place = 1; place < 8; ++place) {  // behind the end of the list
    rankfeed_encode_options options = Options(0);
    options.sp_extra[place] = RANKFEED_SP_BOS;
    EXPECT_EQ(Ask(encoder.get(), options), refused) << place;
  }
}

TEST_P(OptionsRefused, DecodeFlags) {
  OwnedEncoder encoder(model(), Limits(100, false));
  const int32_t id = 1;
  char out[64];
  size_t size = 0;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    const rankfeed_status status =
        rankfeed_decode(encoder.get(), &id, 1, uint32_t{1} << bit, out, sizeof(out), &size);
    EXPECT_EQ(status, bit == 0 ? RANKFEED_OK : RANKFEED_E_ARGUMENT) << "bit " << bit;
  }
}

TEST_P(OptionsRefused, ModelAndImage) {
  const Block storage = Allocate(rankfeed_model_mem_req().size);
  rankfeed_model* opened = nullptr;
  rankfeed_mapping mapping;
  for (uint32_t bit = 1; bit < 32; ++bit) {
    EXPECT_EQ(rankfeed_model_open(image().data, image().size, uint32_t{1} << bit, storage.get(),
                                  rankfeed_model_mem_req().size, &opened, nullptr),
              RANKFEED_E_ARGUMENT);
    if (bit < 4) continue;  // RANKFEED_PLACE_...
    EXPECT_EQ(rankfeed_image_place(image().data, image().size, uint32_t{1} << bit, &mapping,
                                   nullptr, nullptr),
              RANKFEED_E_ARGUMENT);
  }
  // No image is as large; rounded up to pages it would have no bytes.
  EXPECT_EQ(rankfeed_image_place(image().data, SIZE_MAX, 0, &mapping, nullptr, nullptr),
            RANKFEED_E_ARGUMENT);
  rankfeed_limits limits = Limits(100, false);
  limits.with_offsets = 2;
  rankfeed_mem_req need;
  EXPECT_EQ(rankfeed_encoder_mem_req(model(), &limits, &need), RANKFEED_E_ARGUMENT);
}

TEST_P(OptionsRefused, Reranker) {
  rankfeed_pair_template pair_template{};
  pair_template.struct_size = sizeof(pair_template);
  rankfeed_rerank_options good;
  rankfeed_rerank_options_init(&good);
  good.layout = RANKFEED_PACKED;
  good.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  good.pair_template = &pair_template;
  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = 1;
  const auto ask = [&](const rankfeed_rerank_options& options) {
    rankfeed_mem_req need;
    return rankfeed_reranker_mem_req(model(), &limits, &options, &need);
  };
  ASSERT_EQ(ask(good), RANKFEED_OK);
  // One number above the last that has a name, and the largest.
  using Field = uint8_t rankfeed_rerank_options::*;
  const std::pair<Field, uint8_t> fields[] = {
      {&rankfeed_rerank_options::truncation, RANKFEED_TRUNCATE_TEXT_END},
      {&rankfeed_rerank_options::truncation_side, RANKFEED_LEFT},
      {&rankfeed_rerank_options::overflow, RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST},
      {&rankfeed_rerank_options::template_kind, RANKFEED_TEMPLATE_CUSTOM},
      {&rankfeed_rerank_options::no_special_tokens, 0},  // contradicts a template of the caller
      {&rankfeed_rerank_options::layout, RANKFEED_PACKED},
      {&rankfeed_rerank_options::id_type, RANKFEED_UINT32},
      {&rankfeed_rerank_options::padding_side, RANKFEED_RIGHT},  // there are no pads
      {&rankfeed_rerank_options::budget, RANKFEED_BUDGET_PACKED_SUM},
      {&rankfeed_rerank_options::sort, RANKFEED_SORT_ASCENDING}};
  for (const auto& [field, last] : fields) {
    for (const int value : {last + 1, 255}) {
      rankfeed_rerank_options options = good;
      options.*field = static_cast<uint8_t>(value);
      EXPECT_EQ(ask(options), RANKFEED_E_ARGUMENT) << value;
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    rankfeed_rerank_options options = good;
    options.reserved[i] = 1;
    EXPECT_EQ(ask(options), RANKFEED_E_ARGUMENT);
  }
  constexpr uint32_t kFlags =
      RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
  constexpr uint32_t kTensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS |
                                RANKFEED_TENSOR_LENGTHS | RANKFEED_TENSOR_ROW_OF_TOKEN |
                                RANKFEED_TENSOR_LAST_TOKENS;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    rankfeed_rerank_options options = good;
    options.encode_flags = uint32_t{1} << bit;
    EXPECT_EQ(ask(options),
              (options.encode_flags & kFlags) != 0 ? RANKFEED_OK : RANKFEED_E_ARGUMENT)
        << "bit " << bit;
    options = good;
    options.tensors = uint32_t{1} << bit;
    EXPECT_EQ(ask(options), (options.tensors & kTensors) != 0 ? RANKFEED_OK : RANKFEED_E_ARGUMENT)
        << "bit " << bit;
  }
  limits.with_offsets = 1;  // of which encoders?
  EXPECT_EQ(ask(good), RANKFEED_E_ARGUMENT);
}

TEST_P(OptionsRefused, Request) {
  const int32_t ids[] = {1, 2};
  rankfeed_pair_template pair_template{};
  pair_template.struct_size = sizeof(pair_template);
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.layout = RANKFEED_PACKED;
  options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options.pair_template = &pair_template;
  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = 1;
  rankfeed_mem_req need;
  ASSERT_EQ(rankfeed_reranker_mem_req(nullptr, &limits, &options, &need), RANKFEED_OK);
  const Block scratch = Allocate(need.size, need.alignment);
  rankfeed_reranker* reranker = nullptr;
  ASSERT_EQ(rankfeed_reranker_init(nullptr, &limits, &options, nullptr, scratch.get(), need.size,
                                   &reranker),
            RANKFEED_OK);
  rankfeed_source document{};
  document.ids = ids;
  document.id_count = 2;
  rankfeed_status status = RANKFEED_OK;
  rankfeed_control control{};
  control.struct_size = sizeof(control);
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = 1;
  request.query = document;
  request.documents = &document;
  request.document_status = &status;
  request.control = &control;
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &request), RANKFEED_OK);
  control.reserved = 1;
  EXPECT_EQ(rankfeed_rerank_begin(reranker, &request), RANKFEED_E_ARGUMENT);
}

// A template of more tokens than a row counts: the number of items wraps in 32 bits.
TEST_P(OptionsRefused, TemplateOfMoreTokensThanARowCounts) {
  const int32_t id = 1;
  rankfeed_pair_template pair_template{};
  pair_template.struct_size = sizeof(pair_template);
  for (rankfeed_template_part* part :
       {&pair_template.prefix, &pair_template.middle, &pair_template.suffix}) {
    part->ids = &id;
    part->id_count = 0x60000000;
  }
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.layout = RANKFEED_PACKED;
  options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options.pair_template = &pair_template;
  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = 1;
  rankfeed_mem_req need;
  EXPECT_EQ(rankfeed_reranker_mem_req(nullptr, &limits, &options, &need), RANKFEED_E_LIMIT);
}

TEST_P(OptionsRefused, TokenBoundOfTextsThatNothingHolds) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 40, size_t{0xffffffff}}) {
    EXPECT_EQ(rankfeed_token_bound(model(), bytes), 0xffffffffu) << bytes;
  }
}

TEST_P(OptionsRefused, CorpusFlags) {
  const Block storage = Allocate(rankfeed_corpus_mem_req().size);
  rankfeed_corpus* corpus = nullptr;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    const bool specials = bit >= 2 && bit <= 4;  // SPLIT, ERROR, ESCAPE
    for (const bool encode : {false, true}) {
      rankfeed_corpus_options options{};
      options.struct_size = sizeof(options);
      (encode ? options.encode_flags : options.flags) = uint32_t{1} << bit;
      const bool known = encode ? specials : bit == 0;
      // An image is no store, which is found out after the options were looked at.
      EXPECT_EQ(rankfeed_corpus_open(image().data, image().size, nullptr, &options, storage.get(),
                                     rankfeed_corpus_mem_req().size, &corpus, nullptr),
                known ? RANKFEED_E_IMAGE_MAGIC : RANKFEED_E_ARGUMENT)
          << "bit " << bit;
    }
  }
}

RANKFEED_CONTRACT_SUITE(OptionsRefused);

// Structs of a size that this library does not know, larger ones too.
TEST(OptionsOfLibraries, StructSizes) {
  rankfeed_recorder_options options{};
  options.struct_size = sizeof(options) + 8;
  rankfeed_recorder* recorder = nullptr;
  EXPECT_EQ(rankfeed_recorder_open("/nonexistent/file", &options, &recorder),
            RANKFEED_E_STRUCT_SIZE);
  static rankfeed_counters_snapshot snapshot;
  snapshot.struct_size = sizeof(snapshot) + 8;
  EXPECT_EQ(rankfeed_counters_read(nullptr, &snapshot), RANKFEED_E_STRUCT_SIZE);
}

}  // namespace
}  // namespace rankfeed::contract
