// SPDX-License-Identifier: MIT
#include "rerank/batch_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace rankfeed::rerank {
namespace {

constexpr TemplateItem kXlmr[] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 2, 0, 0},
                                  {0, 2, 1, 0}, {2, 0, 1, 0}, {0, 2, 1, 0}};
constexpr uint32_t kAllPadded = RANKFEED_TENSOR_ATTENTION_MASK | RANKFEED_TENSOR_TOKEN_TYPE_IDS |
                                RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_LENGTHS;
constexpr uint32_t kAllPacked = RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS |
                                RANKFEED_TENSOR_LENGTHS | RANKFEED_TENSOR_ROW_OF_TOKEN;
constexpr RowStyle kXlmrStyle = {1, 0, 2, 1, false};

using Longs = std::vector<int64_t>;

Longs Read(const rankfeed_tensor& tensor) {
  Longs values(tensor.bytes / (tensor.type == RANKFEED_INT64 ? 8 : 4));
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor.type == RANKFEED_INT64) {
      values[i] = static_cast<const int64_t*>(tensor.data)[i];
    } else if (tensor.type == RANKFEED_UINT32) {
      values[i] = static_cast<const uint32_t*>(tensor.data)[i];
    } else {
      values[i] = static_cast<const int32_t*>(tensor.data)[i];
    }
  }
  return values;
}

// A batch written into a poisoned arena with a guard zone after it.
struct Written {
  Written(const TensorSpec& spec, const RowStyle& style,
          const std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>>& rows,
          uint32_t row_length, unsigned char poison) {
    const PairTemplate pair_template = {kXlmr, 4, true};
    BatchShape shape = {static_cast<uint32_t>(rows.size()), row_length, 0};
    for (const auto& [query, document] : rows) shape.tokens += query.size() + document.size() + 4;
    EXPECT_EQ(CarveBatch(spec, shape, nullptr, &batch), RANKFEED_OK);
    const size_t size = batch.arena_size;
    memory.assign(size + 3 * kTensorAlignment, poison);
    void* start = memory.data();
    size_t space = memory.size();
    arena = static_cast<unsigned char*>(
        std::align(kTensorAlignment, size + kTensorAlignment, start, space));
    batch.arena = arena;
    EXPECT_EQ(CarveBatch(spec, shape, arena, &batch), RANKFEED_OK);
    EXPECT_EQ(batch.arena_size, size);
    BatchWriter writer(spec, style, pair_template, &batch);
    for (const auto& [query, document] : rows) {
      writer.Row({query, document, static_cast<uint32_t>(query.size() + document.size() + 4)});
    }
    writer.Finish();
    for (size_t i = 0; i < kTensorAlignment; ++i) EXPECT_EQ(arena[size + i], poison);
  }

  std::vector<unsigned char> memory;
  unsigned char* arena;
  rankfeed_batch batch = {};
};

TEST(BatchLayout, PaddedRight) {
  const TensorSpec spec = {RANKFEED_PADDED, RANKFEED_INT64, kAllPadded};
  const Written w(spec, {1, 9, 2, 1, false}, {{{10, 11}, {20}}, {{10}, {}}}, 8, 0xa5);
  EXPECT_EQ(Read(w.batch.input_ids), (Longs{0, 10, 11, 2, 2, 20, 2, 1,  //
                                            0, 10, 2, 2, 2, 1, 1, 1}));
  EXPECT_EQ(Read(w.batch.attention_mask), (Longs{1, 1, 1, 1, 1, 1, 1, 0,  //
                                                 1, 1, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(Read(w.batch.token_type_ids), (Longs{0, 0, 0, 0, 1, 1, 1, 9,  //
                                                 0, 0, 0, 1, 1, 9, 9, 9}));
  EXPECT_EQ(Read(w.batch.position_ids), (Longs{2, 3, 4, 5, 6, 7, 8, 1,  //
                                               2, 3, 4, 5, 6, 1, 1, 1}));
  EXPECT_EQ(Read(w.batch.lengths), (Longs{7, 5}));
  EXPECT_EQ(w.batch.input_ids.shape[0], 2);
  EXPECT_EQ(w.batch.input_ids.shape[1], 8);
  EXPECT_EQ(w.batch.lengths.type, static_cast<uint32_t>(RANKFEED_INT32));
  EXPECT_EQ(w.batch.cu_seqlens.dimensions, 0u);
}

TEST(BatchLayout, PaddedLeft) {
  const TensorSpec spec = {RANKFEED_PADDED, RANKFEED_UINT32, kAllPadded};
  const Written w(spec, {5, 3, 0, 0, true}, {{{10, 11}, {20}}, {{10}, {}}}, 8, 0xff);
  EXPECT_EQ(Read(w.batch.input_ids), (Longs{5, 0, 10, 11, 2, 2, 20, 2,  //
                                            5, 5, 5, 0, 10, 2, 2, 2}));
  EXPECT_EQ(Read(w.batch.attention_mask), (Longs{0, 1, 1, 1, 1, 1, 1, 1,  //
                                                 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Read(w.batch.token_type_ids), (Longs{3, 0, 0, 0, 0, 1, 1, 1,  //
                                                 3, 3, 3, 0, 0, 0, 1, 1}));
  EXPECT_EQ(Read(w.batch.position_ids), (Longs{0, 0, 1, 2, 3, 4, 5, 6,  //
                                               0, 0, 0, 0, 1, 2, 3, 4}));
}

TEST(BatchLayout, Packed) {
  const TensorSpec spec = {RANKFEED_PACKED, RANKFEED_INT32, kAllPacked};
  const Written w(spec, kXlmrStyle, {{{10, 11}, {20}}, {{10}, {}}, {{}, {20, 21}}}, 7, 0xa5);
  EXPECT_EQ(Read(w.batch.input_ids),
            (Longs{0, 10, 11, 2, 2, 20, 2, 0, 10, 2, 2, 2, 0, 2, 2, 20, 21, 2}));
  EXPECT_EQ(Read(w.batch.token_type_ids),
            (Longs{0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(Read(w.batch.position_ids),
            (Longs{2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Read(w.batch.cu_seqlens), (Longs{0, 7, 12, 18}));
  EXPECT_EQ(Read(w.batch.lengths), (Longs{7, 5, 6}));
  EXPECT_EQ(Read(w.batch.row_of_token),
            (Longs{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
}

TEST(BatchLayout, LastTokens) {
  const std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>> rows = {{{10, 11}, {20}}, {{10}, {}}};
  const auto last = [&](uint8_t layout, bool pad_left) {
    RowStyle style = kXlmrStyle;
    style.pad_left = pad_left;
    const Written w({layout, RANKFEED_INT64, RANKFEED_TENSOR_LAST_TOKENS}, style, rows, 9, 0x5a);
    return Read(w.batch.last_tokens);
  };
  EXPECT_EQ(last(RANKFEED_PACKED, false), (Longs{6, 11}));
  EXPECT_EQ(last(RANKFEED_PADDED, false), (Longs{6, 4}));
  EXPECT_EQ(last(RANKFEED_PADDED, true), (Longs{8, 8}));
}

// create_position_ids_from_input_ids counts ids that are not the pad id.
TEST(BatchLayout, LiteralPadTokensGetThePadPosition) {
  const TensorSpec spec = {RANKFEED_PADDED, RANKFEED_INT32, RANKFEED_TENSOR_POSITION_IDS};
  const std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>> rows = {
      {{10, 1, 11}, {1}}};
  const Written roberta(spec, kXlmrStyle, rows, 9, 0);
  EXPECT_EQ(Read(roberta.batch.position_ids), (Longs{2, 3, 1, 4, 5, 6, 1, 7, 1}));
  const Written plain(spec, {1, 0, 0, 0, false}, rows, 9, 0);
  EXPECT_EQ(Read(plain.batch.position_ids), (Longs{0, 1, 2, 3, 4, 5, 6, 7, 0}));
}

TEST(BatchLayout, EveryByteIsWritten) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>> rows(1 + random() % 5);
    uint32_t longest = 0;
    for (auto& [query, document] : rows) {
      query.resize(random() % 20, 7);
      document.resize(random() % 60, 8);
      longest = std::max(longest, static_cast<uint32_t>(query.size() + document.size() + 4));
    }
    const auto id_type = static_cast<uint8_t>(random() % 3);
    const bool packed = random() % 2 != 0;
    const TensorSpec spec = {packed ? uint8_t{RANKFEED_PACKED} : uint8_t{RANKFEED_PADDED}, id_type,
                             static_cast<uint32_t>(random()) & (packed ? kAllPacked : kAllPadded)};
    const RowStyle style = {1, 0, 2, 1, random() % 2 != 0};
    const uint32_t length = longest + (packed ? 0 : random() % 9);
    const Written a(spec, style, rows, length, 0x5a), b(spec, style, rows, length, 0xc3);
    ASSERT_EQ(a.batch.arena_size, b.batch.arena_size);
    ASSERT_EQ(std::memcmp(a.arena, b.arena, a.batch.arena_size), 0) << i;
  }
}

TEST(BatchLayout, TensorsAreAlignedAndDisjoint) {
  rankfeed_batch batch = {};
  ASSERT_EQ(CarveBatch({RANKFEED_PACKED, RANKFEED_INT64, kAllPacked}, {3, 9, 21}, nullptr, &batch),
            RANKFEED_OK);
  size_t end = 0;
  for (const rankfeed_tensor* tensor :
       {&batch.input_ids, &batch.token_type_ids, &batch.position_ids, &batch.lengths,
        &batch.cu_seqlens, &batch.row_of_token}) {
    EXPECT_EQ(tensor->byte_offset % kTensorAlignment, 0u);
    EXPECT_GE(tensor->byte_offset, end);
    EXPECT_LT(tensor->byte_offset, end + kTensorAlignment);
    end = tensor->byte_offset + tensor->bytes;
  }
  EXPECT_EQ(end, batch.arena_size);
  // The same offsets from another base, as on a device.
  rankfeed_batch device = {};
  ASSERT_EQ(CarveBatch({RANKFEED_PACKED, RANKFEED_INT64, kAllPacked}, {3, 9, 21},
                       reinterpret_cast<void*>(0x7f0000000000), &device),
            RANKFEED_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device.cu_seqlens.data),
            0x7f0000000000 + batch.cu_seqlens.byte_offset);
}

TEST(BatchLayout, SizesThatOverflow) {
  rankfeed_batch batch = {};
  const TensorSpec padded = {RANKFEED_PADDED, RANKFEED_INT64, RANKFEED_TENSOR_ATTENTION_MASK};
  EXPECT_EQ(CarveBatch(padded, {0xffffffffu, 0xffffffffu, 1}, nullptr, &batch), RANKFEED_E_LIMIT);
  const TensorSpec packed = {RANKFEED_PACKED, RANKFEED_INT32, 0};
  EXPECT_EQ(CarveBatch(packed, {2, 1, 0x7fffffffu}, nullptr, &batch), RANKFEED_OK);
  EXPECT_EQ(CarveBatch(packed, {2, 1, 0x80000000u}, nullptr, &batch), RANKFEED_E_LIMIT);
}

}  // namespace
}  // namespace rankfeed::rerank
