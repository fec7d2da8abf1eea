// SPDX-License-Identifier: MIT
// kernels/attention.inl: the tiles of attention, and attention over packed rows of any length that
// no matrix unit computes (mma.inl): of float32, and with relative positions. Else half types have
// attention_halves.inl. The softmax runs along as there.
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

// The keys that a tile's queries look at: all of the row, or those that the window of some query
// holds.
struct KeyRange {
  uint32_t begin, end;
};
template <bool kWindow>
RF_DEVICE KeyRange KeysOf(const rankfeed_op_attention& op, uint32_t length, uint32_t query,
                          uint32_t queries) {
  if constexpr (!kWindow) return {0, length};
  const uint32_t end = query + queries + op.window;
  return {query > op.window ? query - op.window : 0, end < length ? end : length};
}
template <bool kWindow>
RF_DEVICE bool Sees(const rankfeed_op_attention& op, uint32_t query, uint32_t key) {
  return !kWindow || (query > key ? query - key : key - query) <= op.window;
}
// The largest score so far, before there is one. In a window a query may see none of a step's keys,
// whose weights are to be 0 then: minus infinity less itself would be no number.
template <bool kWindow>
constexpr float kNoScore = kWindow ? -1e30f : -INFINITY;

// Returns what relative positions add to a score: q . keys[p] and k . queries[p] of rankfeed_relative, both
// scaled, as query is already. query and key: rows of shared memory; head: of the tables' rows, the
// element with which the head begins.
template <class T>
RF_DEVICE float RelativeScore(const rankfeed_op_attention& op, RF_SHARED_POINTER(float) query,
                              RF_SHARED_POINTER(float) key, int32_t distance, uint64_t head) {
  using Stored = typename T::Stored;
  const rankfeed_relative& relative = op.relative;
  const int32_t bucket = relative.buckets[static_cast<int32_t>(relative.reach) + distance];
  const uint64_t at = static_cast<uint64_t>(bucket) * op.heads * op.head_dim + head;
  const Stored* const keys = static_cast<const Stored*>(relative.keys);
  const Stored* const queries = static_cast<const Stored*>(relative.queries);
  float of_query = 0, of_key = 0;
  for (uint32_t d = 0; d < op.head_dim; ++d) {
    if (keys != nullptr) of_query += query[d] * Load<T>(keys + at + d);
    if (queries != nullptr) of_key += key[d] * Load<T>(queries + at + d);
  }
  return of_query + op.scale * of_key;
}

template <class T, uint32_t kDim, bool kWindow, bool kRelative>
RF_DEVICE void AttendPlain(const rankfeed_op_attention& op) {
  using Stored = typename T::Stored;
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
  const uint64_t of_head = static_cast<uint64_t>(head) * op.head_dim;
  const Stored* const q = static_cast<const Stored*>(op.qkv) + first * 3 * width + of_head;
  const Stored* const k = q + width;
  const Stored* const v = k + width;
  const uint32_t ty = RF_THREAD / 8, tx = RF_THREAD % 8;

  for (uint32_t i = RF_THREAD; i < Tile::kQueries * kDim; i += RF_THREADS) {
    const uint32_t r = i / kDim, d = i % kDim;
    query[r * Tile::kStride + d] = begin + r < length && d < op.head_dim
                                       ? Load<T>(q + (begin + r) * 3 * width + d) * op.scale
                                       : 0.0f;
  }
  for (uint32_t i = RF_THREAD; i < Tile::kQueries; i += RF_THREADS) {
    most[i] = kNoScore<kWindow>;
    total[i] = 0.0f;
  }
  float sum[kEach][kDim / 8] = {};

  const KeyRange range = KeysOf<kWindow>(op, length, begin, Tile::kQueries);
  for (uint32_t keys = range.begin; keys < range.end; keys += kKeys) {
    RF_SYNC();  // the values of the step before are used up
    for (uint32_t i = RF_THREAD; i < kKeys * kDim; i += RF_THREADS) {
      const uint32_t r = i / kDim, d = i % kDim;
      key[r * Tile::kStride + d] =
          keys + r < length && d < op.head_dim ? Load<T>(k + (keys + r) * 3 * width + d) : 0.0f;
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
        const uint32_t r = ty * kEach + i, c = tx * 4 + j;
        const bool seen = keys + c < length && Sees<kWindow>(op, begin + r, keys + c);
        if constexpr (kRelative) {
          if (seen && begin + r < length)
            dots[i][j] += RelativeScore<T>(
                op, query + r * Tile::kStride, key + c * Tile::kStride,
                static_cast<int32_t>(begin + r) - static_cast<int32_t>(keys + c), of_head);
        }
        score[r * Tile::kScoreStride + c] = seen ? dots[i][j] : -INFINITY;
      }
    }
    RF_SYNC();  // the keys are used up, the scores are there
    for (uint32_t i = RF_THREAD; i < kKeys * kDim; i += RF_THREADS) {
      const uint32_t r = i / kDim, d = i % kDim;
      key[r * Tile::kStride + d] =
          keys + r < length && d < op.head_dim ? Load<T>(v + (keys + r) * 3 * width + d) : 0.0f;
    }
    for (uint32_t i = RF_THREAD; i < Tile::kQueries; i += RF_THREADS) {
      RF_SHARED_POINTER(float) const line = score + i * Tile::kScoreStride;
      float largest = most[i];  // finite, or some key of the step is seen, so it becomes finite
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
    Stored* const out = static_cast<Stored*>(op.out) + (first + r) * width + of_head;
    RF_UNROLL
    for (uint32_t d = 0; d < kDim / 8; ++d) {
      if (tx + d * 8 < op.head_dim) Store<T>(sum[i][d] * inverse, out + tx + d * 8);
    }
  }
}

template <uint32_t kDim>
RF_KERNEL(kThreads)
AttentionKernel(rankfeed_op_attention op) {
  AttendPlain<F32, kDim, false, false>(op);
}
template <uint32_t kDim>
RF_KERNEL(kThreads)
WindowAttentionKernel(rankfeed_op_attention op) {
  AttendPlain<F32, kDim, true, false>(op);
}
// All types: no matrix unit gathers.
template <class T, uint32_t kDim>
RF_KERNEL(kThreads)
RelativeAttentionKernel(rankfeed_op_attention op) {
  AttendPlain<T, kDim, false, true>(op);
}
