// SPDX-License-Identifier: MIT
// kernels/attention.inl: the tiles of attention, and attention of float32 over packed rows of any
// length, which no matrix unit computes (mma.inl); half types have attention_halves.inl. The
// softmax runs along as there.
//
// One block takes kQueries queries of one row and head and goes through the row's keys, kKeys at a
// time: scores into shared memory, running maximum and sum per query, then the sum of values, which
// lives in registers. 128 threads as 16 x 8: thread (ty, tx) has the queries ty * kEach .. and the
// keys tx * 4 .., and the values' dimensions tx, tx + 8, ... Shared memory: 21,888, 34,176, 29,440
// and 37,632 bytes for heads of up to 32, 64, 96 and 128.

// The row and place of a tile of RANKFEED_GPU_TILE queries.
struct RowTile {
  uint64_t first;          // token of the batch with which the row begins
  uint32_t length, begin;  // tokens of the row; the tile's first query in it
};

// The tile'th entry of op.tiles (ops.h); false: it is none.
RF_DEVICE bool FindTile(const rankfeed_op_attention& op, uint32_t tile, RowTile* found) {
  const int32_t row = op.tiles[tile];
  if (row < 0) return false;
  const uint32_t begin = static_cast<uint32_t>(op.cu_seqlens[row] - op.cu_seqlens[0]);
  found->first = begin;
  found->length = static_cast<uint32_t>(op.cu_seqlens[row + 1] - op.cu_seqlens[0]) - begin;
  found->begin =
      (tile - (begin / RANKFEED_GPU_TILE + static_cast<uint32_t>(row))) * RANKFEED_GPU_TILE;
  return true;
}

constexpr uint32_t kKeys = 32;

template <uint32_t kDim>
struct AttentionTile {
  static constexpr uint32_t kQueries = kDim <= 64 ? 64 : 32;
  static constexpr uint32_t kEach = kQueries / 16;
  static constexpr uint32_t kStride = kDim + 1, kScoreStride = kKeys + 1;
  // query tile | key or value tile | scores | maximum, sum, rescale of each query
  static constexpr uint32_t kKeyAt = kQueries * kStride;
  static constexpr uint32_t kScoreAt = kKeyAt + kKeys * kStride;
  static constexpr uint32_t kStateAt = kScoreAt + kQueries * kScoreStride;
  static constexpr uint32_t kShared = kStateAt + 3 * kQueries;  // floats
};

template <uint32_t kDim>
RF_KERNEL(kThreads)
AttentionKernel(rankfeed_op_attention op) {
  using Tile = AttentionTile<kDim>;
  constexpr uint32_t kEach = Tile::kEach;
  RF_SHARED(shared);
  RF_SHARED_POINTER(float) const query = shared;
  RF_SHARED_POINTER(float) const key = shared + Tile::kKeyAt;  // then value
  RF_SHARED_POINTER(float) const score = shared + Tile::kScoreAt;
  RF_SHARED_POINTER(float) const most = shared + Tile::kStateAt;
  RF_SHARED_POINTER(float) const total = most + Tile::kQueries;
  RF_SHARED_POINTER(float) const rescale = total + Tile::kQueries;

  constexpr uint32_t kParts = RANKFEED_GPU_TILE / Tile::kQueries;  // blocks for a tile
  const uint32_t head = RF_BLOCK_Y;
  RowTile row;
  if (!FindTile(op, RF_BLOCK_X / kParts, &row)) return;  // the whole block
  const uint32_t length = row.length;
  const uint32_t begin = row.begin + RF_BLOCK_X % kParts * Tile::kQueries;
  if (begin >= length) return;  // the whole block
  const uint64_t first = row.first;
  const uint64_t width = static_cast<uint64_t>(op.heads) * op.head_dim;
  const float* const q = static_cast<const float*>(op.qkv) + first * 3 * width +
                         static_cast<uint64_t>(head) * op.head_dim;
  const float* const k = q + width;
  const float* const v = k + width;
  const uint32_t ty = RF_THREAD / 8, tx = RF_THREAD % 8;

  for (uint32_t i = RF_THREAD; i < Tile::kQueries * kDim; i += RF_THREADS) {
    const uint32_t r = i / kDim, d = i % kDim;
    query[r * Tile::kStride + d] = begin + r < length && d < op.head_dim
                                       ? Load<F32>(q + (begin + r) * 3 * width + d) * op.scale
                                       : 0.0f;
  }
  for (uint32_t i = RF_THREAD; i < Tile::kQueries; i += RF_THREADS) {
    most[i] = -INFINITY;
    total[i] = 0.0f;
  }
  float sum[kEach][kDim / 8] = {};

  for (uint32_t keys = 0; keys < length; keys += kKeys) {
    RF_SYNC();  // the values of the step before are used up
    for (uint32_t i = RF_THREAD; i < kKeys * kDim; i += RF_THREADS) {
      const uint32_t r = i / kDim, d = i % kDim;
      key[r * Tile::kStride + d] =
          keys + r < length && d < op.head_dim ? Load<F32>(k + (keys + r) * 3 * width + d) : 0.0f;
    }
    RF_SYNC();
    float dots[kEach][4] = {};
    for (uint32_t d = 0; d < kDim; ++d) {
      float left[kEach], right[4];
      for (uint32_t i = 0; i < kEach; ++i) left[i] = query[(ty * kEach + i) * Tile::kStride + d];
      for (uint32_t j = 0; j < 4; ++j) right[j] = key[(tx * 4 + j) * Tile::kStride + d];
      for (uint32_t i = 0; i < kEach; ++i) {
        for (uint32_t j = 0; j < 4; ++j) dots[i][j] += left[i] * right[j];
      }
    }
    for (uint32_t i = 0; i < kEach; ++i) {
      for (uint32_t j = 0; j < 4; ++j) {
        score[(ty * kEach + i) * Tile::kScoreStride + tx * 4 + j] =
            keys + tx * 4 + j < length ? dots[i][j] : -INFINITY;
      }
    }
    RF_SYNC();  // the keys are used up, the scores are there
    for (uint32_t i = RF_THREAD; i < kKeys * kDim; i += RF_THREADS) {
      const uint32_t r = i / kDim, d = i % kDim;
      key[r * Tile::kStride + d] =
          keys + r < length && d < op.head_dim ? Load<F32>(v + (keys + r) * 3 * width + d) : 0.0f;
    }
    for (uint32_t i = RF_THREAD; i < Tile::kQueries; i += RF_THREADS) {
      RF_SHARED_POINTER(float) const line = score + i * Tile::kScoreStride;
      float largest = most[i];  // at least one key of every step is real, so it becomes finite
      for (uint32_t j = 0; j < kKeys; ++j) largest = fmaxf(largest, line[j]);
      const float shrink = expf(most[i] - largest);
      float added = 0;
      for (uint32_t j = 0; j < kKeys; ++j) {
        line[j] = expf(line[j] - largest);
        added += line[j];
      }
      most[i] = largest;
      total[i] = total[i] * shrink + added;
      rescale[i] = shrink;
    }
    RF_SYNC();  // weights, rescaling and values are there
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) {
      const float shrink = rescale[ty * kEach + i];
      RF_UNROLL
      for (uint32_t d = 0; d < kDim / 8; ++d) sum[i][d] *= shrink;
    }
    for (uint32_t j = 0; j < kKeys; ++j) {
      float value[kDim / 8];  // read once for all queries of the thread
      RF_UNROLL
      for (uint32_t d = 0; d < kDim / 8; ++d) value[d] = key[j * Tile::kStride + tx + d * 8];
      RF_UNROLL
      for (uint32_t i = 0; i < kEach; ++i) {
        const float weight = score[(ty * kEach + i) * Tile::kScoreStride + j];
        RF_UNROLL
        for (uint32_t d = 0; d < kDim / 8; ++d) sum[i][d] += weight * value[d];
      }
    }
  }
  RF_UNROLL
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t r = begin + ty * kEach + i;
    if (r >= length) continue;
    const float inverse = 1.0f / total[ty * kEach + i];
    float* const out = static_cast<float*>(op.out) + (first + r) * width +
                       static_cast<uint64_t>(head) * op.head_dim;
    RF_UNROLL
    for (uint32_t d = 0; d < kDim / 8; ++d) {
      if (tx + d * 8 < op.head_dim) Store<F32>(sum[i][d] * inverse, out + tx + d * 8);
    }
  }
}
