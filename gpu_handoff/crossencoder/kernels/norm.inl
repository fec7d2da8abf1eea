// SPDX-License-Identifier: MIT
// kernels/norm.inl: embeddings with LayerNorm, and residual addition with LayerNorm. One warp per
// token; the row is read three times (mean, variance, result), from the cache after the first, so
// that no size of hidden asks for more registers.

constexpr uint32_t kNormRows = kThreads / RF_WARP;  // of a block

// The block's row that this warp has.
RF_DEVICE uint32_t NormedRow() {
  return RF_BLOCK_X * kNormRows + RF_THREAD / RF_WARP;
}

// value(i, v) writes the elements i .. i + kMany - 1 of what is normalized; out[0 .. hidden) gets
// the result, and sums, unless null, what was normalized. beta null: none.
template <class T, uint32_t kMany, class Value>
RF_DEVICE void NormRow(const Value& value, const float* gamma, const float* beta, float eps,
                       uint32_t hidden, typename T::Stored* out, typename T::Stored* sums) {
  const uint32_t begin = RF_THREAD % RF_WARP * kMany, step = RF_WARP * kMany;
  float v[kMany];
  float sum = 0;
  for (uint32_t i = begin; i < hidden; i += step) {
    value(i, v);
    RF_UNROLL
    for (uint32_t j = 0; j < kMany; ++j) sum += v[j];
  }
  const float mean = WarpSum(sum) / static_cast<float>(hidden);
  float square = 0;
  for (uint32_t i = begin; i < hidden; i += step) {
    value(i, v);
    RF_UNROLL
    for (uint32_t j = 0; j < kMany; ++j) square += (v[j] - mean) * (v[j] - mean);
  }
  const float variance = WarpSum(square) / static_cast<float>(hidden);
  const float scale = 1.0f / sqrtf(variance + eps);
  // Each element is read and written by the same lane, so out or sums may be what value reads.
  for (uint32_t i = begin; i < hidden; i += step) {
    float g[kMany], b[kMany] = {};
    value(i, v);
    if (sums != nullptr) StoreMany<T, kMany>(v, sums + i);
    LoadFloats<kMany>(gamma + i, g);
    if (beta != nullptr) LoadFloats<kMany>(beta + i, b);
    RF_UNROLL
    for (uint32_t j = 0; j < kMany; ++j) v[j] = (v[j] - mean) * scale * g[j] + b[j];
    StoreMany<T, kMany>(v, out + i);
  }
}

// v += the kMany elements from row[i] on. row null: nothing.
template <class T, uint32_t kMany>
RF_DEVICE void AddMany(const typename T::Stored* row, uint32_t i, float* v) {
  if (row == nullptr) return;
  float more[kMany];
  LoadMany<T, kMany>(row + i, more);
  RF_UNROLL
  for (uint32_t j = 0; j < kMany; ++j) v[j] += more[j];
}

template <class T, uint32_t kMany>
struct EmbeddingSum {
  const typename T::Stored *word, *position, *type;  // the last two nullable
  RF_DEVICE_CALL void operator()(uint32_t i, float* v) const {
    LoadMany<T, kMany>(word + i, v);
    AddMany<T, kMany>(position, i, v);
    AddMany<T, kMany>(type, i, v);
  }
};

template <class T, uint32_t kMany>
struct ResidualSum {
  const typename T::Stored *x, *residual;  // residual and bias nullable
  const float* bias;                       // of x
  RF_DEVICE_CALL void operator()(uint32_t i, float* v) const {
    LoadMany<T, kMany>(x + i, v);
    if (bias != nullptr) {
      float more[kMany];
      LoadFloats<kMany>(bias + i, more);
      RF_UNROLL
      for (uint32_t j = 0; j < kMany; ++j) v[j] += more[j];
    }
    AddMany<T, kMany>(residual, i, v);
  }
};

// Row `row` of a table whose rows have `width` elements; null of null.
template <class T>
RF_DEVICE typename T::Stored* RowAt(const void* table, uint64_t row, uint32_t width) {
  using Stored = typename T::Stored;
  return table == nullptr ? nullptr : static_cast<Stored*>(const_cast<void*>(table)) + row * width;
}

RF_DEVICE bool IndexBelow(int32_t index, uint32_t size) {
  return index >= 0 && static_cast<uint32_t>(index) < size;
}

template <class T, uint32_t kMany>
RF_KERNEL(kThreads)
EmbedKernel(rankfeed_op_embed op) {
  using Stored = typename T::Stored;
  const uint32_t t = NormedRow();
  if (t >= op.tokens) return;  // the whole warp
  const int32_t id = op.ids[t], position = op.positions[t],
                type = op.types != nullptr ? op.types[t] : 0;
  Stored* const out = RowAt<T>(op.out, t, op.hidden);
  if (!IndexBelow(id, op.vocab) || !IndexBelow(position, op.max_positions) ||
      !IndexBelow(type, op.type_vocab)) {
    for (uint32_t i = RF_THREAD % RF_WARP; i < op.hidden; i += RF_WARP)
      Store<T>(FloatOfBits(0x7fc00000u), out + i);
    return;  // the whole warp
  }
  const auto row = [&](const void* table, int32_t index) {
    return RowAt<T>(table, static_cast<uint64_t>(index), op.hidden);
  };
  const EmbeddingSum<T, kMany> sum{row(op.word, id), row(op.position, position),
                                   row(op.type, type)};
  NormRow<T, kMany>(sum, op.gamma, op.beta, op.eps, op.hidden, out, nullptr);
}

template <class T, uint32_t kMany>
RF_KERNEL(kThreads)
AddNormKernel(rankfeed_op_add_norm op) {
  const uint32_t t = NormedRow();
  if (t >= op.tokens) return;  // the whole warp
  const ResidualSum<T, kMany> sum{RowAt<T>(op.x, t, op.hidden), RowAt<T>(op.residual, t, op.hidden),
                                  op.bias};
  NormRow<T, kMany>(sum, op.gamma, op.beta, op.eps, op.hidden, RowAt<T>(op.out, t, op.hidden),
                    RowAt<T>(op.sum, t, op.hidden));
}
