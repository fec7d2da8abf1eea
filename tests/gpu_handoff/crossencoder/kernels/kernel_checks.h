// SPDX-License-Identifier: MIT
// kernel_checks.h: the kernels of any backend against the host's operations, one check per
// operation, over random shapes. Used by the emulation's test and by the device tests.
//
// Inputs are rounded to the element type first, so that both sides compute from the same numbers.
// Bounds, as a share of the largest result of the row: float32 2e-5 (sums in another order),
// float16 2e-3 (its step is 1e-3), bfloat16 1.6e-2 (its step is 8e-3).
#ifndef RANKFEED_TESTS_GPU_HANDOFF_KERNELS_KERNEL_CHECKS_H_
#define RANKFEED_TESTS_GPU_HANDOFF_KERNELS_KERNEL_CHECKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "backend.h"
#include "crossencoder/host/ops_host.h"
#include "crossencoder/model/float16.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {

class KernelChecks {
 public:
  // ops works on memory and streams of backend.
  KernelChecks(const rankfeed_gpu_backend* backend, const rankfeed_gpu_ops* ops, uint64_t seed)
      : backend_(backend), ops_(ops), random_(seed) {
    EXPECT_EQ(backend_->device_open(backend_->self, 0, &ctx_), 0);
    EXPECT_EQ(backend_->stream_create(ctx_, &stream_), 0);
    EXPECT_EQ(ops_->open(ctx_), 0);
    scratch_bytes_ = ops_->scratch_bytes(ctx_, 8192, 0);
    if (scratch_bytes_ != 0) scratch_ = Alloc(scratch_bytes_);
    host_scratch_.resize(128 * 8192);
  }
  ~KernelChecks() {
    backend_->stream_destroy(ctx_, stream_);
    for (void* memory : memory_) backend_->device_free(ctx_, memory);
    backend_->device_close(ctx_);
  }
  KernelChecks(const KernelChecks&) = delete;
  KernelChecks& operator=(const KernelChecks&) = delete;

  // Row lengths: cu_seqlens of them.
  static std::vector<int32_t> Rows(const std::vector<uint32_t>& lengths) {
    std::vector<int32_t> cu{0};
    for (const uint32_t length : lengths) cu.push_back(cu.back() + static_cast<int32_t>(length));
    return cu;
  }

  // The list of attention's tiles, row after row, each where the row's first token says.
  static std::vector<int32_t> Tiles(const std::vector<int32_t>& cu) {
    const size_t rows = cu.size() - 1;
    std::vector<int32_t> tiles(RANKFEED_GPU_TILES(cu.back(), rows), -1);
    for (size_t r = 0; r < rows; ++r) {
      size_t at = static_cast<size_t>(cu[r]) / RANKFEED_GPU_TILE + r;
      for (int32_t t = cu[r]; t < cu[r + 1]; t += RANKFEED_GPU_TILE) {
        EXPECT_EQ(tiles.at(at), -1);
        tiles[at++] = static_cast<int32_t>(r);
      }
    }
    return tiles;
  }

  // pad: 1, which a quarter of the ids are, or -1, which none is.
  void Positions(const std::vector<uint32_t>& lengths, int32_t pad = 1) {
    const auto cu = Rows(lengths);
    const auto ids = Ids(static_cast<size_t>(cu.back()), 0, 4);
    const auto rows = static_cast<uint32_t>(lengths.size());
    std::vector<int32_t> expected(ids.size()), got(ids.size(), -7);
    std::vector<int32_t> tiles = Tiles(cu);
    tiles.resize(tiles.size() + 3, -1);  // a list with room for more
    rankfeed_op_positions op{ids.data(), cu.data(), rows, pad, expected.data()};
    const rankfeed_op_at host = Host();
    ASSERT_EQ(HostOps()->positions(&host, &op), 0);
    for (size_t r = 0; pad < 0 && r < lengths.size(); ++r) {
      for (int32_t t = cu[r]; t < cu[r + 1]; ++t)
        ASSERT_EQ(expected[static_cast<size_t>(t)], t - cu[r]);
    }
    const auto ints = [&](size_t size) { return static_cast<int32_t*>(Alloc(size * 4 + 4)); };
    op = {Copy(ids),
          Copy(cu),
          rows,
          pad,
          ints(ids.size()),
          ints(ids.size()),
          ints(cu.size() + 2),
          ints(tiles.size()),
          static_cast<uint32_t>(tiles.size()),
          rows + 2};
    const rankfeed_op_at at = At();
    ASSERT_EQ(ops_->positions(&at, &op), 0);
    Fetch(op.out, &got);
    EXPECT_EQ(got, expected);
    Fetch(op.ids_out, &got);
    EXPECT_EQ(got, ids);
    auto rows_wanted = cu;  // and two empty rows
    rows_wanted.resize(cu.size() + 2, cu.back());
    std::vector<int32_t> rows_got(rows_wanted.size(), -7);
    Fetch(op.cu_out, &rows_got);
    EXPECT_EQ(rows_got, rows_wanted);
    std::vector<int32_t> tiles_got(tiles.size(), -7);
    Fetch(op.tiles, &tiles_got);
    EXPECT_EQ(tiles_got, tiles);
    Release();
  }

  template <class Id>
  void Unpack(const std::vector<uint32_t>& lengths, uint32_t row_length) {
    const auto cu = Rows(lengths);
    const auto ids = Ids(static_cast<size_t>(cu.back()), 0, 4);
    const auto rows = static_cast<uint32_t>(lengths.size());
    const size_t area = size_t{rows} * row_length;
    std::vector<Id> expected[3], got(area);
    rankfeed_op_unpack op{ids.data(),      cu.data(), rows,    row_length, 1,
                          sizeof(Id) == 8, nullptr,   nullptr, nullptr};
    for (auto& e : expected) e.resize(area);
    op.ids_out = expected[0].data();
    op.mask_out = expected[1].data();
    op.positions_out = expected[2].data();
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->unpack(&host, &op), 0);
    op.ids = Copy(ids);
    op.cu_seqlens = Copy(cu);
    void* outs[3];
    for (void*& out : outs) out = Alloc(area * sizeof(Id) + 8);
    op.ids_out = outs[0];
    op.mask_out = outs[1];
    op.positions_out = outs[2];
    ASSERT_EQ(ops_->unpack(&at, &op), 0);
    for (int i = 0; i < 3; ++i) {
      Fetch(outs[i], &got);
      EXPECT_EQ(got, expected[i]) << i;
    }
    Release();
  }

  void Embed(uint32_t dtype, uint32_t tokens, uint32_t hidden) {
    constexpr uint32_t kVocab = 50, kPositions = 20, kTypes = 2;
    auto ids = Ids(tokens, 0, kVocab), positions = Ids(tokens, 0, kPositions),
         types = Ids(tokens, 0, kTypes);
    if (tokens > 6) {  // outside the tables: NaN, and nothing else is touched
      ids[1] = -1;
      ids[2] = kVocab;
      positions[3] = kPositions;
      types[4] = kTypes;
    }
    const auto word = Values(dtype, kVocab * hidden), position = Values(dtype, kPositions * hidden),
               type = Values(dtype, kTypes * hidden), gamma = Values(RANKFEED_DTYPE_F32, hidden),
               beta = Values(RANKFEED_DTYPE_F32, hidden);
    std::vector<float> expected(size_t{tokens} * hidden);
    rankfeed_op_embed op{RANKFEED_DTYPE_F32, tokens,      hidden,          kVocab,
                         kPositions,         kTypes,      ids.data(),      positions.data(),
                         types.data(),       word.data(), position.data(), type.data(),
                         gamma.data(),       beta.data(), 1e-5f,           expected.data()};
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->embed(&host, &op), 0);
    void* out = AllocElements(dtype, expected.size());
    op = {dtype,
          tokens,
          hidden,
          kVocab,
          kPositions,
          kTypes,
          Copy(ids),
          Copy(positions),
          Copy(types),
          CopyElements(dtype, word),
          CopyElements(dtype, position),
          CopyElements(dtype, type),
          Copy(gamma),
          Copy(beta),
          1e-5f,
          out};
    ASSERT_EQ(ops_->embed(&at, &op), 0);
    Compare(dtype, expected, out, hidden);
  }

  void Gemm(uint32_t dtype, uint32_t m, uint32_t n, uint32_t k, uint32_t activation,
            bool with_bias = true) {
    const auto x = Values(dtype, size_t{m} * k),
               w = Values(dtype, size_t{n} * k, 1.0f / std::sqrt(float(k))),
               bias = Values(RANKFEED_DTYPE_F32, n);
    std::vector<float> expected(size_t{m} * n);
    rankfeed_op_gemm op{RANKFEED_DTYPE_F32, m,        n,        k,
                        activation,         x.data(), w.data(), with_bias ? bias.data() : nullptr,
                        expected.data()};
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->gemm(&host, &op), 0);
    // Room for whole steps of rows, as the forward gives.
    const size_t room =
        (m + RANKFEED_GPU_GEMM_ROWS - 1) / RANKFEED_GPU_GEMM_ROWS * size_t{RANKFEED_GPU_GEMM_ROWS};
    void* out = AllocElements(dtype, room * n);
    auto x_room = x;
    x_room.resize(room * k, std::numeric_limits<float>::quiet_NaN());
    op = {dtype,
          m,
          n,
          k,
          activation,
          CopyElements(dtype, x_room),
          CopyElements(dtype, w),
          with_bias ? Copy(bias) : nullptr,
          out};
    ASSERT_EQ(ops_->gemm(&at, &op), 0);
    Compare(dtype, expected, out, n);
  }

  void Attention(uint32_t dtype, const std::vector<uint32_t>& lengths, uint32_t heads,
                 uint32_t head_dim, uint32_t window = 0) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    Attention(dtype, lengths, heads, head_dim, scale, window, {}, {});
  }

  // Checks attention with both products of relative positions, or one of them. Buckets are in no order: any table
  // is followed.
  void Relative(uint32_t dtype, const std::vector<uint32_t>& lengths, uint32_t heads,
                uint32_t head_dim, bool keys, bool queries) {
    constexpr uint32_t kRows = 12, kReach = 150;
    const auto of_keys = Values(dtype, kRows * heads * head_dim),
               of_queries = Values(dtype, kRows * heads * head_dim);
    const auto buckets = Ids(2 * kReach + 1, 0, kRows);
    const rankfeed_relative host{keys ? of_keys.data() : nullptr,
                                 queries ? of_queries.data() : nullptr, buckets.data(), kRows,
                                 kReach};
    const rankfeed_relative own{keys ? CopyElements(dtype, of_keys) : nullptr,
                                queries ? CopyElements(dtype, of_queries) : nullptr, Copy(buckets),
                                kRows, kReach};
    const float scale = 1.0f / std::sqrt(3.0f * static_cast<float>(head_dim));
    Attention(dtype, lengths, heads, head_dim, scale, 0, host, own);
  }

  void Attention(uint32_t dtype, const std::vector<uint32_t>& lengths, uint32_t heads,
                 uint32_t head_dim, float scale, uint32_t window,
                 const rankfeed_relative& host_relative, const rankfeed_relative& relative) {
    const auto cu = Rows(lengths);
    const auto tokens = static_cast<uint32_t>(cu.back()),
               rows = static_cast<uint32_t>(lengths.size());
    const uint32_t width = heads * head_dim;
    const auto qkv = Values(dtype, size_t{tokens} * 3 * width, 1.5f);
    std::vector<float> expected(size_t{tokens} * width);
    rankfeed_op_attention op{
        RANKFEED_DTYPE_F32, rows,    tokens, heads,           head_dim, qkv.data(),
        cu.data(),          nullptr, scale,  expected.data(), 0,        window,
        host_relative};
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->attention(&host, &op), 0);
    void* out = AllocElements(dtype, expected.size());
    op = {
        dtype, rows, tokens, heads,  head_dim, CopyElements(dtype, qkv), Copy(cu), Copy(Tiles(cu)),
        scale, out,  0,      window, relative};
    ASSERT_EQ(ops_->attention(&at, &op), 0);
    Compare(dtype, expected, out, width);
  }

  // In place, as the forward uses it: the result where the residual was; the sum there, without
  // biases; or the result where x was, without a residual.
  void AddNorm(uint32_t dtype, uint32_t tokens, uint32_t hidden) {
    enum { kPost, kPre, kAlone };
    for (const int way : {kPost, kPre, kAlone})
      AddNorm(dtype, tokens, hidden, way == kPre, way == kAlone);
  }
  void AddNorm(uint32_t dtype, uint32_t tokens, uint32_t hidden, bool sums, bool alone) {
    const bool biased = !sums && !alone;
    const auto x = Values(dtype, size_t{tokens} * hidden, 3),
               residual = Values(dtype, size_t{tokens} * hidden),
               bias = Values(RANKFEED_DTYPE_F32, hidden),
               gamma = Values(RANKFEED_DTYPE_F32, hidden),
               beta = Values(RANKFEED_DTYPE_F32, hidden);
    std::vector<float> expected(x.size()), expected_sum(x.size());
    rankfeed_op_add_norm op{RANKFEED_DTYPE_F32,
                            tokens,
                            hidden,
                            x.data(),
                            alone ? nullptr : residual.data(),
                            biased ? bias.data() : nullptr,
                            gamma.data(),
                            biased ? beta.data() : nullptr,
                            1e-5f,
                            expected.data(),
                            sums ? expected_sum.data() : nullptr};
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->add_norm(&host, &op), 0);
    void* const in_place = CopyElements(dtype, alone ? x : residual);
    void* const out = sums ? AllocElements(dtype, x.size()) : in_place;
    op = {dtype,
          tokens,
          hidden,
          alone ? in_place : CopyElements(dtype, x),
          alone ? nullptr : in_place,
          biased ? Copy(bias) : nullptr,
          Copy(gamma),
          biased ? Copy(beta) : nullptr,
          1e-5f,
          out,
          sums ? in_place : nullptr};
    ASSERT_EQ(ops_->add_norm(&at, &op), 0);
    if (sums) CompareOnly(dtype, expected_sum, in_place, hidden, 0);
    Compare(dtype, expected, out, hidden);
  }

  // Two of three heads' worth of every token; one position is outside the table.
  void Rotary(uint32_t dtype, uint32_t tokens, uint32_t head_dim) {
    constexpr uint32_t kPositions = 20, kHeads = 2;
    const uint32_t row = 3 * head_dim;
    const auto table = Values(RANKFEED_DTYPE_F32, kPositions * head_dim, 0.7f);
    auto positions = Ids(tokens, 0, kPositions);
    if (tokens > 2) positions[1] = kPositions;
    auto x = Values(dtype, size_t{tokens} * row);
    void* const in_place = CopyElements(dtype, x);
    rankfeed_op_rotary op{RANKFEED_DTYPE_F32, tokens,       kHeads,     head_dim, row,
                          positions.data(),   table.data(), kPositions, x.data()};
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->rotary(&host, &op), 0);
    op = {dtype, tokens, kHeads, head_dim, row, Copy(positions), Copy(table), kPositions, in_place};
    ASSERT_EQ(ops_->rotary(&at, &op), 0);
    Compare(dtype, x, in_place, row);
  }

  void Gate(uint32_t dtype, uint32_t tokens, uint32_t inner, uint32_t activation) {
    const auto x = Values(dtype, size_t{tokens} * 2 * inner);
    std::vector<float> expected(size_t{tokens} * inner);
    rankfeed_op_gate op{RANKFEED_DTYPE_F32, tokens, inner, activation, x.data(), expected.data()};
    const rankfeed_op_at host = Host(), at = At();
    ASSERT_EQ(HostOps()->gate(&host, &op), 0);
    void* const out = AllocElements(dtype, expected.size());
    op = {dtype, tokens, inner, activation, CopyElements(dtype, x), out};
    ASSERT_EQ(ops_->gate(&at, &op), 0);
    Compare(dtype, expected, out, inner);
  }

  void Head(uint32_t dtype, const std::vector<uint32_t>& lengths, uint32_t hidden,
            uint32_t labels) {
    const auto cu = Rows(lengths);
    const auto rows = static_cast<uint32_t>(lengths.size());
    const auto x = Values(dtype, static_cast<size_t>(cu.back()) * hidden),
               w = Values(dtype, labels * hidden), bias = Values(RANKFEED_DTYPE_F32, labels);
    std::vector<float> first(size_t{rows} * hidden), expected(size_t{rows} * labels);
    const rankfeed_op_at host = Host(), at = At();
    rankfeed_op_first op_first{RANKFEED_DTYPE_F32, rows,         hidden,           x.data(),
                               cu.data(),          first.data(), RANKFEED_GPU_MEAN};
    ASSERT_EQ(HostOps()->first(&host, &op_first), 0);
    void* const means = AllocElements(dtype, first.size());
    rankfeed_op_first own{dtype,    rows,  hidden,           CopyElements(dtype, x),
                          Copy(cu), means, RANKFEED_GPU_MEAN};
    ASSERT_EQ(ops_->first(&at, &own), 0);
    CompareOnly(dtype, first, means, hidden, 0);
    op_first.pool = RANKFEED_GPU_FIRST;
    ASSERT_EQ(HostOps()->first(&host, &op_first), 0);
    rankfeed_op_logits op{RANKFEED_DTYPE_F32, rows,        labels,    hidden,         first.data(),
                          w.data(),           bias.data(), cu.data(), expected.data()};
    ASSERT_EQ(HostOps()->logits(&host, &op), 0);
    void* rows_out = AllocElements(dtype, first.size());
    op_first = {dtype, rows, hidden, CopyElements(dtype, x), Copy(cu), rows_out};
    ASSERT_EQ(ops_->first(&at, &op_first), 0);
    auto* logits = static_cast<float*>(Alloc(expected.size() * 4));
    op = {dtype,      rows,     labels, hidden, rows_out, CopyElements(dtype, w),
          Copy(bias), Copy(cu), logits};
    ASSERT_EQ(ops_->logits(&at, &op), 0);
    CompareOnly(RANKFEED_DTYPE_F32, expected, logits, labels, 1e-4f);
    std::vector<float> without(expected);  // biases
    for (size_t i = 0; i < without.size(); ++i) without[i] -= bias[i % labels];
    op.bias = nullptr;
    ASSERT_EQ(ops_->logits(&at, &op), 0);
    Compare(RANKFEED_DTYPE_F32, without, logits, labels, 1e-4f);
  }

 private:
  rankfeed_op_at At() { return {ctx_, stream_, scratch_, scratch_bytes_}; }
  rankfeed_op_at Host() {
    return {nullptr, nullptr, host_scratch_.data(), host_scratch_.size() * sizeof(float)};
  }

  std::vector<int32_t> Ids(size_t size, int32_t low, int32_t high) {
    std::vector<int32_t> ids(size);
    for (int32_t& id : ids)
      id = low + static_cast<int32_t>(random_() % static_cast<uint64_t>(high - low));
    return ids;
  }
  // Normal values that the element type holds exactly.
  std::vector<float> Values(uint32_t dtype, size_t size, float spread = 1.0f) {
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> values(size);
    for (float& v : values) v = Rounded(dtype, normal(random_));
    return values;
  }
  static float Rounded(uint32_t dtype, float v) {
    return dtype == RANKFEED_DTYPE_F16    ? FloatOfF16(F16OfFloat(v))
           : dtype == RANKFEED_DTYPE_BF16 ? FloatOfBf16(Bf16OfFloat(v))
                                          : v;
  }

  void* Alloc(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(backend_->device_alloc(ctx_, std::max<size_t>(bytes, 1), &memory), 0);
    memory_.push_back(memory);
    return memory;
  }
  template <class Value>
  Value* Copy(const std::vector<Value>& values) {
    void* memory = Alloc(values.size() * sizeof(Value));
    if (!values.empty()) {
      EXPECT_EQ(
          backend_->copy_async(ctx_, memory, values.data(), values.size() * sizeof(Value), stream_),
          0);
      EXPECT_EQ(backend_->stream_synchronize(ctx_, stream_), 0);
    }
    return static_cast<Value*>(memory);
  }
  template <class Value>
  void Fetch(const void* memory, std::vector<Value>* values) {
    if (!values->empty()) {
      EXPECT_EQ(backend_->copy_async(ctx_, values->data(), memory, values->size() * sizeof(Value),
                                     stream_),
                0);
    }
    EXPECT_EQ(backend_->stream_synchronize(ctx_, stream_), 0);
  }
  void* AllocElements(uint32_t dtype, size_t size) {
    return Alloc(size * (dtype == RANKFEED_DTYPE_F32 ? 4 : 2));
  }
  void* CopyElements(uint32_t dtype, const std::vector<float>& values) {
    if (dtype == RANKFEED_DTYPE_F32) return Copy(values);
    std::vector<uint16_t> bits(values.size());
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = dtype == RANKFEED_DTYPE_F16 ? F16OfFloat(values[i]) : Bf16OfFloat(values[i]);
    }
    return Copy(bits);
  }
  std::vector<float> FetchElements(uint32_t dtype, const void* memory, size_t size) {
    std::vector<float> values(size);
    if (dtype == RANKFEED_DTYPE_F32) {
      Fetch(memory, &values);
      return values;
    }
    std::vector<uint16_t> bits(size);
    Fetch(memory, &bits);
    for (size_t i = 0; i < size; ++i)
      values[i] = dtype == RANKFEED_DTYPE_F16 ? FloatOfF16(bits[i]) : FloatOfBf16(bits[i]);
    return values;
  }
  void Compare(uint32_t dtype, const std::vector<float>& expected, const void* out, size_t row,
               float bound = 0) {
    CompareOnly(dtype, expected, out, row, bound);
    Release();
  }
  // Memory stays.
  void CompareOnly(uint32_t dtype, const std::vector<float>& expected, const void* out, size_t row,
                   float bound) {
    if (bound == 0)
      bound = dtype == RANKFEED_DTYPE_F32 ? 2e-5f : dtype == RANKFEED_DTYPE_F16 ? 2e-3f : 1.6e-2f;
    const auto got = FetchElements(dtype, out, expected.size());
    for (size_t begin = 0; begin < expected.size(); begin += row) {
      float largest = 1e-3f;
      for (size_t i = begin; i < begin + row; ++i) {
        if (!std::isnan(expected[i])) largest = std::max(largest, std::fabs(expected[i]));
      }
      for (size_t i = begin; i < begin + row; ++i) {
        if (std::isnan(expected[i])) {
          ASSERT_TRUE(std::isnan(got[i])) << "at " << i << ": " << got[i];
        } else {
          ASSERT_LE(std::fabs(got[i] - expected[i]), bound * largest)
              << "at " << i << ": " << got[i] << ", host " << expected[i];
        }
      }
    }
  }
  void Release() {
    EXPECT_EQ(backend_->stream_synchronize(ctx_, stream_), 0);
    for (void*& memory : memory_) {
      if (memory != scratch_) backend_->device_free(ctx_, memory);
    }
    memory_.clear();
    if (scratch_ != nullptr) memory_.push_back(scratch_);
  }

  const rankfeed_gpu_backend* backend_;
  const rankfeed_gpu_ops* ops_;
  void *ctx_ = nullptr, *stream_ = nullptr, *scratch_ = nullptr;
  uint64_t scratch_bytes_ = 0;
  std::vector<float> host_scratch_;
  std::vector<void*> memory_;
  std::mt19937_64 random_;
};

// All operations over shapes that meet every edge: empty rows, length 1, sizes that fill no tile,
// every size of head. scale 1 is what the emulation takes in seconds; devices take more.
inline void CheckAllKernels(const rankfeed_gpu_backend* backend, const rankfeed_gpu_ops* ops,
                            uint32_t scale) {
  KernelChecks checks(backend, ops, 11);
  const std::vector<uint32_t> ragged = {1, 0, 129, 3, 64, 0, 65, 128};
  checks.Positions(ragged);
  checks.Positions({0});
  checks.Positions({300 * scale});
  checks.Positions(ragged, -1);
  checks.Unpack<int32_t>(ragged, 130);
  checks.Unpack<int64_t>(ragged, 129);
  checks.Unpack<int64_t>(ragged, 70);
  for (const uint32_t dtype : {RANKFEED_DTYPE_F32, RANKFEED_DTYPE_F16, RANKFEED_DTYPE_BF16}) {
    SCOPED_TRACE(dtype);
    for (const uint32_t hidden : {1u, 27u, 128u, 200u * scale}) {
      checks.Embed(dtype, 9, hidden);
      checks.AddNorm(dtype, 5, hidden);
      checks.Gate(dtype, 3, hidden, hidden % 2 == 0 ? RANKFEED_GPU_GELU : RANKFEED_GPU_SILU);
    }
    for (const uint32_t head_dim : {2u, 18u, 64u}) checks.Rotary(dtype, 5, head_dim);
    checks.Gemm(dtype, 1, 1, 1, RANKFEED_GPU_NO_ACTIVATION);
    checks.Gemm(dtype, 65, 130, 37, RANKFEED_GPU_GELU);
    checks.Gemm(dtype, 64, 64, 64, RANKFEED_GPU_TANH);
    checks.Gemm(dtype, 3, 70, 5, RANKFEED_GPU_NO_ACTIVATION);
    checks.Gemm(dtype, 33, 64, 40, RANKFEED_GPU_GELU_TANH);
    checks.Gemm(dtype, 33, 65, 40, RANKFEED_GPU_RELU);
    checks.Gemm(dtype, 34, 66, 40, RANKFEED_GPU_SILU);
    checks.Gemm(dtype, 131, 72, 40, RANKFEED_GPU_NO_ACTIVATION, false);
    checks.Gemm(dtype, 34, 72, 40, RANKFEED_GPU_GELU, false);
    checks.Gemm(dtype, 33, 65, 40, RANKFEED_GPU_SILU, false);
    checks.Gemm(dtype, 130 * scale, 65 * scale, 33 * scale, RANKFEED_GPU_GELU);
    checks.Attention(dtype, {1, 0, 33, 65, 2}, 2, 32);
    checks.Attention(dtype, {70}, 1, 64);
    checks.Attention(dtype, {31, 32, 34}, 1, 128);
    checks.Attention(dtype, {5, 40}, 3, 9);
    checks.Attention(dtype, {66}, 1, 40);
    checks.Attention(dtype, {1, 50 * scale, 7}, 2, 100);
    checks.Attention(dtype, {17, 130}, 1, 96);
    checks.Attention(dtype, {1, 0, 33, 65, 2}, 2, 32, 1);
    checks.Attention(dtype, {200, 70}, 1, 64, 33);
    checks.Attention(dtype, {129 * scale}, 1, 100, 64);
    checks.Relative(dtype, {1, 0, 33, 65, 2}, 2, 32, true, true);
    checks.Relative(dtype, {70}, 1, 100, true, false);
    checks.Relative(dtype, {40}, 1, 9, false, true);
    checks.Head(dtype, {3, 0, 1, 5}, 130, 3);
    checks.Head(dtype, {2}, 7, 1);
  }
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_GPU_HANDOFF_KERNELS_KERNEL_CHECKS_H_
