// SPDX-License-Identifier: MIT
// kernels/norm.inl: embeddings with LayerNorm, and residual addition with LayerNorm. One block per
// token; the row is read three times (mean, variance, result), from the cache after the first, so
// that no size of hidden asks for more shared memory.

// value(i) is what is normalized; writes out[0 .. hidden).
template <class T, class Value>
RF_DEVICE void NormRow(const Value& value, const float* gamma, const float* beta, float eps,
                       uint32_t hidden, RF_SHARED_POINTER(float) shared, typename T::Stored* out) {
  float sum = 0;
  for (uint32_t i = RF_THREAD; i < hidden; i += RF_THREADS) sum += value(i);
  const float mean = BlockSum(sum, shared) / static_cast<float>(hidden);
  float square = 0;
  for (uint32_t i = RF_THREAD; i < hidden; i += RF_THREADS) {
    const float centred = value(i) - mean;
    square += centred * centred;
  }
  const float variance = BlockSum(square, shared) / static_cast<float>(hidden);
  const float scale = 1.0f / sqrtf(variance + eps);
  // Each element is read and written by the same thread, so out may be what value reads.
  for (uint32_t i = RF_THREAD; i < hidden; i += RF_THREADS) {
    T::Store((value(i) - mean) * scale * gamma[i] + beta[i], out + i);
  }
}

template <class T>
struct EmbeddingSum {
  const typename T::Stored *word, *position, *type;
  RF_DEVICE_CALL float operator()(uint32_t i) const {
    return T::Load(word + i) + T::Load(position + i) + T::Load(type + i);
  }
};

template <class T>
struct ResidualSum {
  const typename T::Stored *x, *residual;
  RF_DEVICE_CALL float operator()(uint32_t i) const {
    return T::Load(x + i) + T::Load(residual + i);
  }
};

RF_DEVICE bool IndexBelow(int32_t index, uint32_t size) {
  return index >= 0 && static_cast<uint32_t>(index) < size;
}

template <class T>
RF_KERNEL(kThreads)
EmbedKernel(rankfeed_op_embed op) {
  RF_SHARED(shared);
  using Stored = typename T::Stored;
  const uint32_t t = RF_BLOCK_X;
  const int32_t id = op.ids[t], position = op.positions[t],
                type = op.types != nullptr ? op.types[t] : 0;
  Stored* const out = static_cast<Stored*>(op.out) + static_cast<uint64_t>(t) * op.hidden;
  if (!IndexBelow(id, op.vocab) || !IndexBelow(position, op.max_positions) ||
      !IndexBelow(type, op.type_vocab)) {
    // The whole block comes here or none of it.
    for (uint32_t i = RF_THREAD; i < op.hidden; i += RF_THREADS)
      T::Store(FloatOfBits(0x7fc00000u), out + i);
    return;
  }
  const EmbeddingSum<T> sum{
      static_cast<const Stored*>(op.word) + static_cast<uint64_t>(id) * op.hidden,
      static_cast<const Stored*>(op.position) + static_cast<uint64_t>(position) * op.hidden,
      static_cast<const Stored*>(op.type) + static_cast<uint64_t>(type) * op.hidden};
  NormRow<T>(sum, op.gamma, op.beta, op.eps, op.hidden, shared, out);
}

template <class T>
RF_KERNEL(kThreads)
AddNormKernel(rankfeed_op_add_norm op) {
  RF_SHARED(shared);
  using Stored = typename T::Stored;
  const uint64_t at = static_cast<uint64_t>(RF_BLOCK_X) * op.hidden;
  const ResidualSum<T> sum{static_cast<const Stored*>(op.x) + at,
                           static_cast<const Stored*>(op.residual) + at};
  NormRow<T>(sum, op.gamma, op.beta, op.eps, op.hidden, shared, static_cast<Stored*>(op.out) + at);
}
