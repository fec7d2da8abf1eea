// SPDX-License-Identifier: MIT
// kernels/attention_halves.inl: attention over packed rows of half types on matrix units, with the
// softmax running along (Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv
// 1805.02867), so that no row of scores is ever stored whole.
//
// A block takes kTile queries of one row and head, kUnit of them in each warp, and goes through the
// row's keys kTile at a time. Queries stay in registers, as operands, and so do the sums of values.
// One tile of shared memory holds keys and values by turns: while the one is used, the other is on
// its way from global memory into registers.
//
//   keys -> tile | scores = queries x keys -> shared, a warp's own | weights in their place
//   values -> tile | sums = sums * shrink + weights x values
//
// Rows of the tile (pieces.inl) and of weights are 16 bytes longer than what they hold.
constexpr uint32_t kTile = RANKFEED_GPU_TILE;
constexpr uint32_t kAttentionWarps = kTile / kUnit;
constexpr uint32_t kAttentionThreads = kAttentionWarps * RF_WARP;

// Offsets in a block's shared memory, in words.
template <class T, uint32_t kDim>
struct HalvesAttention {
  using Rows = Tile<T, kTile, kDim / 8, kAttentionThreads>;  // queries, keys or values
  static constexpr uint32_t kStride = Rows::kStride;
  static constexpr uint32_t kParts = RF_WARP / kUnit;  // lanes that share a row of scores
  // Sums are stored without conflicts: pairs of columns of 4 rows at once where a warp has 32
  // lanes, 16 columns of 2 rows, 4 apart, where it has 64. Lanes that read 4 scores at once have
  // kParts pieces of a row, so rows are skewed by what is missing to kParts pieces.
  static constexpr uint32_t kScoreStride = kTile + (RF_WARP == 32 ? 8 : 4);
  static constexpr uint32_t kSkew = kParts - kScoreStride / 4 % 8;
  static constexpr uint32_t kWeightStride = kTile / 2 + 4;
  // Steps along the keys that a thread has in hand at once. Of the widest heads one: what was
  // loaded ahead for others would be spilled.
  static constexpr uint32_t kProducts = kDim > 96 ? 1 : kTile / kUnit;
  // keys or values | scores, then weights | what sums are multiplied with
  static constexpr uint32_t kScoreAt = Rows::kWords;
  static constexpr uint32_t kFactorAt = kScoreAt + kTile * kScoreStride;
  static constexpr uint32_t kShared = kFactorAt + kTile;  // words
};

// A lane's state of the softmax of its row: the largest score so far, in powers of two, and its
// part of the sum of weights.
struct Softmax {
  float most, total;
};

// The scores of a warp's queries, from the row's `query` on, to weights of half type in the same
// memory. first: the first of the kTile keys, of which at least one is in the row of `length`.
// factors[row]: what sums made with the largest score before are multiplied with.
template <class T, class Shape, bool kWindow>
RF_DEVICE void ScoresToWeights(const rankfeed_op_attention& op, RF_SHARED_POINTER(float) scores,
                               RF_SHARED_POINTER(float) factors, uint32_t query, uint32_t first,
                               uint32_t length, float scale, Softmax* softmax) {
  const uint32_t keys = length - first;
  constexpr uint32_t kParts = Shape::kParts, kEach = kTile / kParts;
  const uint32_t row = RF_THREAD % RF_WARP / kParts, part = RF_THREAD % kParts;
  RF_SHARED_POINTER(uint32_t) const words = RF_SHARED_AS(uint32_t, scores);
  float score[kEach];
  float most = softmax->most;
  const uint32_t turn = row * Shape::kSkew + part;
  RF_UNROLL
  for (uint32_t i = 0; i < kEach; i += 4) {
    const uint32_t column = (i / 4 * kParts + turn) * 4 % kTile;
    Expand<F32>(LoadShared(words + (row * Shape::kScoreStride + column)), score + i);
    RF_UNROLL
    for (uint32_t j = 0; j < 4; ++j) {
      const bool seen = column + j < keys && Sees<kWindow>(op, query + row, first + column + j);
      score[i + j] = seen ? score[i + j] * scale : -INFINITY;
      most = fmaxf(most, score[i + j]);
    }
  }
  RF_UNROLL
  for (uint32_t mask = kParts / 2; mask > 0; mask /= 2)
    most = fmaxf(most, RF_FROM_LANE_XOR(most, mask));
  RF_SYNC_WARP();  // all scores are read: weights may take their place
  const float less = exp2f(softmax->most - most);
  float added = 0;
  RF_UNROLL
  for (uint32_t i = 0; i < kEach; i += 4) {
    RF_UNROLL
    for (uint32_t j = 0; j < 4; ++j) {
      score[i + j] = exp2f(score[i + j] - most);
      added += score[i + j];
    }
    const uint32_t column = (i / 4 * kParts + turn) * 4 % kTile;
    StoreShared(T::Word(score + i), T::Word(score + i + 2),
                words + (row * Shape::kWeightStride + column / 2));
  }
  softmax->total = softmax->total * less + added;
  softmax->most = most;
  if (part == 0) factors[row] = less;
}

template <class T, uint32_t kDim>
RF_DEVICE void MultiplyKeys(const typename Mma<T>::Left* queries, RF_SHARED_POINTER(uint32_t) tile,
                            RF_SHARED_POINTER(float) scores) {
  using Shape = HalvesAttention<T, kDim>;
  RF_UNROLL_BY(Shape::kProducts)
  for (uint32_t n = 0; n < kTile; n += kUnit) {
    typename Mma<T>::Sum sum;
    Mma<T>::Zero(&sum);
    RF_UNROLL
    for (uint32_t d = 0; d < kDim; d += kUnit) {
      typename Mma<T>::template Right<kByColumn> key;
      Mma<T>::template LoadRight<kByColumn>(&key, tile + (n * Shape::kStride + d / 2),
                                            Shape::kStride);
      Mma<T>::template MultiplyAdd<kByColumn>(&sum, queries[d / kUnit], key);
    }
    Mma<T>::StoreSum(sum, scores + n, Shape::kScoreStride);
  }
}

template <class T, uint32_t kDim>
RF_DEVICE void AddValues(RF_SHARED_POINTER(uint32_t) weights, RF_SHARED_POINTER(uint32_t) tile,
                         typename Mma<T>::Sum* sums) {
  using Shape = HalvesAttention<T, kDim>;
  RF_UNROLL_BY(Shape::kProducts)
  for (uint32_t k = 0; k < kTile; k += kUnit) {
    typename Mma<T>::Left weight;
    Mma<T>::LoadLeft(&weight, weights + k / 2, Shape::kWeightStride);
    RF_UNROLL
    for (uint32_t d = 0; d < kDim; d += kUnit) {
      typename Mma<T>::template Right<kByRow> value;
      Mma<T>::template LoadRight<kByRow>(&value, tile + (k * Shape::kStride + d / 2),
                                         Shape::kStride);
      Mma<T>::template MultiplyAdd<kByRow>(&sums[d / kUnit], weight, value);
    }
  }
}

// A warp's sums times factors[row] to its tokens, from `token` on, by way of the memory of scores.
template <class T, uint32_t kDim>
RF_DEVICE void StoreSums(const typename Mma<T>::Sum* sums, RF_SHARED_POINTER(float) scores,
                         RF_SHARED_POINTER(float) factors, uint32_t token, uint32_t length,
                         uint32_t head_dim, uint64_t stride, uint16_t* out) {
  using Shape = HalvesAttention<T, kDim>;
  constexpr uint32_t kAtOnce = kDim < kTile ? kDim : kTile, kPieces = kAtOnce / 8;
  RF_SHARED_POINTER(uint32_t) const words = RF_SHARED_AS(uint32_t, scores);
  RF_UNROLL
  for (uint32_t first = 0; first < kDim; first += kAtOnce) {
    RF_SYNC_WARP();  // what was here is read
    RF_UNROLL
    for (uint32_t d = first; d < first + kAtOnce && d < kDim; d += kUnit)
      Mma<T>::StoreSum(sums[d / kUnit], scores + (d - first), Shape::kScoreStride);
    RF_SYNC_WARP();
    for (uint32_t i = RF_THREAD % RF_WARP; i < kUnit * kPieces; i += RF_WARP) {
      const uint32_t row = i / kPieces, d = first + i % kPieces * 8;
      if (token + row >= length || d >= head_dim) continue;
      float values[8];
      LoadEightShared(words + (row * Shape::kScoreStride + d - first), i, values);
      for (uint32_t j = 0; j < 8; ++j) values[j] *= factors[row];
      uint16_t* const to = out + row * stride + d;
      if (head_dim % 8 == 0) {
        StoreVector(Collapse<T>(values), to);
      } else {
        for (uint32_t j = 0; j < 8 && d + j < head_dim; ++j) Store<T>(values[j], to + j);
      }
    }
  }
}

template <class T, uint32_t kDim, bool kWindow>
RF_DEVICE void AttendHalves(const rankfeed_op_attention& op) {
  using Shape = HalvesAttention<T, kDim>;
  using Unit = Mma<T>;
  RF_SHARED(shared);
  RF_SHARED_POINTER(uint32_t) const tile = RF_SHARED_AS(uint32_t, shared);
  const uint32_t warp = RF_THREAD / RF_WARP;
  RF_SHARED_POINTER(float)
  const scores = shared + Shape::kScoreAt + warp * kUnit * Shape::kScoreStride;
  RF_SHARED_POINTER(float) const factors = shared + Shape::kFactorAt + warp * kUnit;

  RowTile row;
  if (!FindTile(op, RF_BLOCK_X, &row)) return;  // the whole block
  const uint64_t width = static_cast<uint64_t>(op.heads) * op.head_dim;
  const HalfRows queries{static_cast<const uint16_t*>(op.qkv) + row.first * 3 * width +
                             static_cast<uint64_t>(RF_BLOCK_Y) * op.head_dim,
                         3 * width, row.length, op.head_dim};
  HalfRows keys = queries, values = queries;
  keys.at += width;
  values.at += 2 * width;
  const uint32_t token = row.begin + warp * kUnit;  // the warp's first
  const bool busy = token < row.length;
  const float scale = op.scale * 1.44269504f;  // log2(e): weights are powers of two

  typename Shape::Rows next;
  next.Load(queries, row.begin, 0);
  next.Store(tile);
  const KeyRange range = KeysOf<kWindow>(op, row.length, row.begin, kTile);
  next.Load(keys, range.begin, 0);
  RF_SYNC();
  typename Unit::Left query[kDim / kUnit];
  typename Unit::Sum sums[kDim / kUnit];
  uint32_t rows[Unit::kEach];
  RF_UNROLL
  for (uint32_t d = 0; d < kDim; d += kUnit) {
    Unit::LoadLeft(&query[d / kUnit], tile + (warp * kUnit * Shape::kStride + d / 2),
                   Shape::kStride);
    Unit::Zero(&sums[d / kUnit]);
  }
  Unit::Rows(rows, scores, Shape::kScoreStride);
  Softmax softmax{kNoScore<kWindow>, 0.0f};

  for (uint32_t first = range.begin; first < range.end; first += kTile) {
    RF_SYNC();  // queries are read, or the values of the step before are used up
    next.Store(tile);
    next.Load(values, first, 0);
    RF_SYNC();
    if (busy) {
      MultiplyKeys<T, kDim>(query, tile, scores);
      RF_SYNC_WARP();
      ScoresToWeights<T, Shape, kWindow>(op, scores, factors, token, first, row.length, scale,
                                         &softmax);
    }
    RF_SYNC();  // keys are used up, weights are there
    next.Store(tile);
    if (first + kTile < range.end) next.Load(keys, first + kTile, 0);
    RF_SYNC();
    if (busy) {
      RF_UNROLL
      for (uint32_t i = 0; i < Unit::kEach; ++i) {
        const float factor = factors[rows[i]];
        RF_UNROLL
        for (uint32_t d = 0; d < kDim / kUnit; ++d) sums[d].x[i] *= factor;
      }
      AddValues<T, kDim>(RF_SHARED_AS(uint32_t, scores), tile, sums);
    }
  }
  if (!busy) return;
  float total = softmax.total;
  RF_UNROLL
  for (uint32_t mask = Shape::kParts / 2; mask > 0; mask /= 2)
    total += RF_FROM_LANE_XOR(total, mask);
  RF_SYNC_WARP();  // the last factors are read
  if (RF_THREAD % Shape::kParts == 0) factors[RF_THREAD % RF_WARP / Shape::kParts] = 1.0f / total;
  StoreSums<T, kDim>(sums, scores, factors, token, row.length, op.head_dim, width,
                     static_cast<uint16_t*>(op.out) + (row.first + token) * width +
                         static_cast<uint64_t>(RF_BLOCK_Y) * op.head_dim);
}

template <class T, uint32_t kDim>
RF_KERNEL(kAttentionThreads)
HalvesAttentionKernel(rankfeed_op_attention op) {
  AttendHalves<T, kDim, false>(op);
}
template <class T, uint32_t kDim>
RF_KERNEL(kAttentionThreads)
HalvesWindowAttentionKernel(rankfeed_op_attention op) {
  AttendHalves<T, kDim, true>(op);
}
