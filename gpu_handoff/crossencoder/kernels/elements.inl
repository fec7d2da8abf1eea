// SPDX-License-Identifier: MIT
// kernels/elements.inl: element types of weights and activations, one at a time and 16 bytes at a
// time, and sums over a warp and a block. Kernels compute in float and touch elements through what
// is here only.

struct F32 {
  using Stored = float;
  static constexpr uint32_t kPerWord = 1;
  RF_DEVICE_MEMBER float Of(Stored bits) { return bits; }
  RF_DEVICE_MEMBER Stored To(float value) { return value; }
  RF_DEVICE_MEMBER void Expand(uint32_t word, float* values) { values[0] = FloatOfBits(word); }
  RF_DEVICE_MEMBER uint32_t Word(const float* values) { return BitsOfFloat(values[0]); }
};

// Two to a word, the first in its low half.
template <class Half>
struct Halves {
  using Stored = uint16_t;
  static constexpr uint32_t kPerWord = 2;
  RF_DEVICE_MEMBER void Expand(uint32_t word, float* values) {
    values[0] = Half::Of(static_cast<uint16_t>(word));
    values[1] = Half::Of(static_cast<uint16_t>(word >> 16));
  }
  RF_DEVICE_MEMBER uint32_t Word(const float* values) {
    return Half::To(values[0]) | static_cast<uint32_t>(Half::To(values[1])) << 16;
  }
};
struct F16 : Halves<F16> {
#if defined(__CUDACC__) || defined(__HIPCC__)
  // One instruction each; the portable conversion gives the same bits.
  RF_DEVICE_MEMBER float Of(Stored bits) {
    return __half2float(__ushort_as_half(bits));
  }
  RF_DEVICE_MEMBER Stored To(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
#else
  RF_DEVICE_MEMBER float Of(Stored bits) {
    return FloatOfF16(bits);
  }
  RF_DEVICE_MEMBER Stored To(float value) {
    return F16OfFloat(value);
  }
#endif
};
struct Bf16 : Halves<Bf16> {
  RF_DEVICE_MEMBER float Of(Stored bits) { return FloatOfBf16(bits); }
#if defined(__CUDACC__)
  // One instruction; the portable conversion gives the same bits but for NaNs, of which it keeps
  // more.
  RF_DEVICE_MEMBER Stored To(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
#else
  RF_DEVICE_MEMBER Stored To(float value) {
    return Bf16OfFloat(value);
  }
#endif
};

template <class T>
RF_DEVICE float Load(const typename T::Stored* at) {
  RF_TOUCH(at);
  return T::Of(*at);
}
template <class T>
RF_DEVICE void Store(float value, typename T::Stored* at) {
  RF_TOUCH(at);
  *at = T::To(value);
}

// 16 bytes, the most that a thread moves at once; addresses are multiples of 16.
struct alignas(16) Vector {
  uint32_t word[4];
};
template <class T>
constexpr uint32_t kPerVector = 4 * T::kPerWord;

RF_DEVICE Vector LoadVector(const void* at) {
  const auto* const from = static_cast<const Vector*>(at);
  RF_TOUCH(from);
  return *from;
}
RF_DEVICE void StoreVector(const Vector& vector, void* at) {
  auto* const to = static_cast<Vector*>(at);
  RF_TOUCH(to);
  *to = vector;
}
#if defined(__CUDACC__) || defined(__HIPCC__)
RF_DEVICE Vector LoadShared(const uint32_t* at) {
  return *reinterpret_cast<const Vector*>(at);
}
RF_DEVICE void StoreShared(const Vector& vector, uint32_t* at) {
  *reinterpret_cast<Vector*>(at) = vector;
}
#else
RF_DEVICE Vector LoadShared(RF_SHARED_POINTER(uint32_t) at) {
  emulation::Touch(emulation::Memory::kShared, at.index() * 4, 16);
  Vector vector;
  for (uint32_t i = 0; i < 4; ++i) vector.word[i] = emulation::ReadWord(at.index() + i);
  return vector;
}
RF_DEVICE void StoreShared(const Vector& vector, RF_SHARED_POINTER(uint32_t) at) {
  emulation::Touch(emulation::Memory::kShared, at.index() * 4, 16);
  for (uint32_t i = 0; i < 4; ++i) emulation::WriteWord(at.index() + i, vector.word[i]);
}
#endif

RF_DEVICE void StoreShared(uint32_t first, uint32_t second, RF_SHARED_POINTER(uint32_t) at) {
#if defined(__CUDACC__) || defined(__HIPCC__)
  struct alignas(8) Pair {
    uint32_t word[2];
  };
  *reinterpret_cast<Pair*>(at) = {{first, second}};
#else
  emulation::Touch(emulation::Memory::kShared, at.index() * 4, 8);
  emulation::WriteWord(at.index(), first);
  emulation::WriteWord(at.index() + 1, second);
#endif
}

// The elements of a vector, as floats.
template <class T>
RF_DEVICE void Expand(const Vector& vector, float* values) {
  RF_UNROLL
  for (uint32_t i = 0; i < 4; ++i) T::Expand(vector.word[i], values + i * T::kPerWord);
}
template <class T>
RF_DEVICE Vector Collapse(const float* values) {
  Vector vector;
  RF_UNROLL
  for (uint32_t i = 0; i < 4; ++i) vector.word[i] = T::Word(values + i * T::kPerWord);
  return vector;
}

// 8 floats from a multiple of 8 on. Lanes that read one 8 after the other meet in the same banks
// unless every other 4 of them begin with the second half; lane is where this one stands.
RF_DEVICE void LoadEightShared(RF_SHARED_POINTER(uint32_t) at, uint32_t lane, float* values) {
  const bool swapped = lane / 4 % 2 != 0;
  const Vector one = LoadShared(at + (swapped ? 4 : 0)), other = LoadShared(at + (swapped ? 0 : 4));
  RF_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    values[i] = FloatOfBits(swapped ? other.word[i] : one.word[i]);
    values[4 + i] = FloatOfBits(swapped ? one.word[i] : other.word[i]);
  }
}

// kMany elements, 1 or a vector of them, from and to global memory. Rows whose length is no whole
// number of vectors go one by one: the rows after the first would not begin at a multiple of 16.
template <class T, uint32_t kMany>
RF_DEVICE void LoadMany(const typename T::Stored* at, float* values) {
  if constexpr (kMany == 1) {
    values[0] = Load<T>(at);
  } else {
    Expand<T>(LoadVector(at), values);
  }
}
template <class T, uint32_t kMany>
RF_DEVICE void StoreMany(const float* values, typename T::Stored* at) {
  if constexpr (kMany == 1) {
    Store<T>(values[0], at);
  } else {
    StoreVector(Collapse<T>(values), at);
  }
}
// As many floats: of biases, gammas and betas.
template <uint32_t kMany>
RF_DEVICE void LoadFloats(const float* at, float* values) {
  if constexpr (kMany == 1) {
    values[0] = Load<F32>(at);
  } else {
    RF_UNROLL
    for (uint32_t i = 0; i < kMany; i += 4) Expand<F32>(LoadVector(at + i), values + i);
  }
}

// Threads of a block of every kernel that does not say another number. A power of two: BlockSum
// halves it.
constexpr uint32_t kThreads = 128;

// The sum of value over the warp, in every lane. The order of additions is fixed, so the sum is the
// same in every run; devices may still differ in the last bit of what they add, by fused
// multiply-adds, the width of a warp, and their own exp and erfc.
RF_DEVICE float WarpSum(float value) {
  RF_UNROLL
  for (uint32_t mask = RF_WARP / 2; mask > 0; mask /= 2) value += RF_FROM_LANE_XOR(value, mask);
  return value;
}

// The sum of value over the block, in every thread; scratch[kThreads].
RF_DEVICE float BlockSum(float value, RF_SHARED_POINTER(float) scratch) {
  RF_SYNC();  // scratch may still be read from before
  scratch[RF_THREAD] = value;
  for (uint32_t half = RF_THREADS / 2; half > 0; half /= 2) {
    RF_SYNC();
    if (RF_THREAD < half) scratch[RF_THREAD] += scratch[RF_THREAD + half];
  }
  RF_SYNC();
  return scratch[0];
}

// The number of set flags of this thread and those before it, and of the whole block in *total.
// scratch[2 * kThreads]. The halves change roles in each of the 7 steps, so the answer is read from
// the second one, and the next call may write the first one at once.
static_assert(kThreads == 128);
RF_DEVICE int32_t BlockCount(bool flag, RF_SHARED_POINTER(int32_t) scratch, int32_t* total) {
  RF_SHARED_POINTER(int32_t) from = scratch;
  RF_SHARED_POINTER(int32_t) to = scratch + RF_THREADS;
  from[RF_THREAD] = flag ? 1 : 0;
  for (uint32_t step = 1; step < RF_THREADS; step *= 2) {
    RF_SYNC();
    to[RF_THREAD] = from[RF_THREAD] + (RF_THREAD >= step ? from[RF_THREAD - step] : 0);
    RF_SHARED_POINTER(int32_t) const swap = from;
    from = to;
    to = swap;
  }
  RF_SYNC();
  *total = from[RF_THREADS - 1];
  return from[RF_THREAD];
}
