// SPDX-License-Identifier: MIT
// kernels/mma.inl: matrix units. Mma<T> multiplies 16 x 16 matrices of half types and adds in
// float, one warp at a time: with wmma on NVIDIA (CUDA C++ Programming Guide, warp matrix
// functions: sm_80 for bfloat16), with mfma on CDNA (AMD CDNA2 ISA, V_MFMA_F32_16X16X16F16 and
// ..BF16_1K: gfx90a), with plain loops in the emulation. float32 is not here: NVIDIA's
// units would round it to 10 bits.
//
//   Left        a matrix [16 rows][16 of depth], loaded from rows in shared memory
//   Right<kBy>  a matrix [16 of depth][16 columns]; kByColumn: memory holds column after column
//               (depth runs fastest), kByRow: row after row
//   Sum         [16 rows][16 columns] of floats, kEach of them in each lane, x[i]
//   Rows()      the row of every x[i] of this lane
//
// All lanes of a warp call a function together. Distances between rows in shared memory are in
// words and multiples of 4; addresses are multiples of 16 bytes.
constexpr uint32_t kUnit = 16;
enum Order { kByRow, kByColumn };

#if defined(__CUDACC__)

template <class T>
struct UnitType;
template <>
struct UnitType<F16> {
  using Half = __half;
};
template <>
struct UnitType<Bf16> {
  using Half = __nv_bfloat16;
};

template <class T>
struct Mma {
  using Half = typename UnitType<T>::Half;
  template <class Use, class Layout>
  using Fragment = nvcuda::wmma::fragment<Use, kUnit, kUnit, kUnit, Half, Layout>;
  using Left = Fragment<nvcuda::wmma::matrix_a, nvcuda::wmma::row_major>;
  template <Order kBy>
  using Right =
      Fragment<nvcuda::wmma::matrix_b,
               std::conditional_t<kBy == kByRow, nvcuda::wmma::row_major, nvcuda::wmma::col_major>>;
  using Sum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kUnit, kUnit, kUnit, float>;
  static constexpr uint32_t kEach = Sum::num_elements;

  RF_DEVICE_MEMBER void Zero(Sum* sum) { nvcuda::wmma::fill_fragment(*sum, 0.0f); }
  RF_DEVICE_MEMBER void LoadLeft(Left* left, const uint32_t* at, uint32_t stride) {
    nvcuda::wmma::load_matrix_sync(*left, reinterpret_cast<const Half*>(at), 2 * stride);
  }
  template <Order kBy>
  RF_DEVICE_MEMBER void LoadRight(Right<kBy>* right, const uint32_t* at, uint32_t stride) {
    nvcuda::wmma::load_matrix_sync(*right, reinterpret_cast<const Half*>(at), 2 * stride);
  }
  template <Order kBy>
  RF_DEVICE_MEMBER void MultiplyAdd(Sum* sum, const Left& left, const Right<kBy>& right) {
    nvcuda::wmma::mma_sync(*sum, left, right, *sum);
  }
  RF_DEVICE_MEMBER void StoreSum(const Sum& sum, float* at, uint32_t stride) {
    nvcuda::wmma::store_matrix_sync(at, sum, stride, nvcuda::wmma::mem_row_major);
  }
  // The layout of a Sum is the compiler's secret, so it is asked: a matrix whose elements are the
  // numbers of their rows. scratch: 16 rows, `stride` words apart, of the warp's own.
  RF_DEVICE_MEMBER void Rows(uint32_t (&rows)[kEach], float* scratch, uint32_t stride) {
    for (uint32_t i = RF_THREAD % RF_WARP; i < kUnit * kUnit; i += RF_WARP)
      scratch[i / kUnit * stride + i % kUnit] = static_cast<float>(i / kUnit);
    RF_SYNC_WARP();
    Sum numbers;
    nvcuda::wmma::load_matrix_sync(numbers, scratch, stride, nvcuda::wmma::mem_row_major);
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) rows[i] = static_cast<uint32_t>(numbers.x[i]);
    RF_SYNC_WARP();
  }
};

#else

// mfma's layout where a warp has 64 lanes; the one that wmma is known to have where it has 32.
RF_DEVICE uint32_t UnitRow(uint32_t lane, uint32_t i) {
  return RF_WARP == 64 ? lane / 16 * 4 + i : lane / 4 + i / 2 % 2 * 8;
}
RF_DEVICE uint32_t UnitColumn(uint32_t lane, uint32_t i) {
  return RF_WARP == 64 ? lane % 16 : lane % 4 * 2 + i % 2 + i / 4 * 8;
}

// Functions that do not depend on how products are made.
struct UnitSum {
  static constexpr uint32_t kEach = kUnit * kUnit / RF_WARP;
  struct Sum {
    float x[kEach];
  };
  RF_DEVICE_MEMBER void Zero(Sum* sum) {
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) sum->x[i] = 0.0f;
  }
  RF_DEVICE_MEMBER void StoreSum(const Sum& sum, RF_SHARED_POINTER(float) at, uint32_t stride) {
    const uint32_t lane = RF_THREAD % RF_WARP;
    RF_SHARED_POINTER(uint32_t) const words = RF_SHARED_AS(uint32_t, at);
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t place = UnitRow(lane, i) * stride + UnitColumn(lane, i);
      if constexpr (RF_WARP == 64) {
        at[place] = sum.x[i];
      } else if (i % 2 == 0) {  // the next is beside it
        StoreShared(BitsOfFloat(sum.x[i]), BitsOfFloat(sum.x[i + 1]), words + place);
      }
    }
  }
  RF_DEVICE_MEMBER void Rows(uint32_t (&rows)[kEach], RF_SHARED_POINTER(float), uint32_t) {
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) rows[i] = UnitRow(RF_THREAD % RF_WARP, i);
  }
};

#if defined(__HIPCC__)

template <class T>
struct Mma : UnitSum {
  // A lane's part of an operand: four of depth, for one row or column.
  struct Left {
    uint32_t word[2];
  };
  template <Order kBy>
  using Right = Left;
  using Four = __attribute__((__vector_size__(4 * sizeof(float)))) float;

  RF_DEVICE_MEMBER void LoadLeft(Left* left, const uint32_t* at, uint32_t stride) {
    const uint32_t lane = RF_THREAD % RF_WARP;
    const uint32_t* const from = at + lane % kUnit * stride + lane / kUnit * 2;
    left->word[0] = from[0];
    left->word[1] = from[1];
  }
  template <Order kBy>
  RF_DEVICE_MEMBER void LoadRight(Left* right, const uint32_t* at, uint32_t stride) {
    if constexpr (kBy == kByColumn) {
      LoadLeft(right, at, stride);
    } else {
      const uint32_t lane = RF_THREAD % RF_WARP;
      const auto* const from =
          reinterpret_cast<const uint16_t*>(at) + lane / kUnit * 4 * 2 * stride + lane % kUnit;
      right->word[0] = from[0] | static_cast<uint32_t>(from[2 * stride]) << 16;
      right->word[1] = from[4 * stride] | static_cast<uint32_t>(from[6 * stride]) << 16;
    }
  }
  template <Order kBy>
  RF_DEVICE_MEMBER void MultiplyAdd(Sum* sum, const Left& left, const Left& right) {
#if defined(__HIP_DEVICE_COMPILE__)
    using Floats = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
    using Shorts = __attribute__((__vector_size__(4 * sizeof(short)))) short;
    Four to = {sum->x[0], sum->x[1], sum->x[2], sum->x[3]};
    if constexpr (std::is_same_v<T, F16>) {
      to = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(Floats, left.word),
                                                 __builtin_bit_cast(Floats, right.word), to, 0, 0,
                                                 0);
    } else {
      to = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(Shorts, left.word),
                                                     __builtin_bit_cast(Shorts, right.word), to, 0,
                                                     0, 0);
    }
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) sum->x[i] = to[i];
#else
    static_cast<void>(sum), static_cast<void>(left), static_cast<void>(right);
#endif
  }
};

#else

// Every lane reads all that its own elements of a Sum are made of.
template <class T>
struct Mma : UnitSum {
  static constexpr uint32_t kRows = RF_WARP == 64 ? 4 : 2, kColumns = RF_WARP == 64 ? 1 : 4;
  struct Left {
    float of[kRows][kUnit];
  };
  template <Order kBy>
  struct Right {
    float of[kColumns][kUnit];
  };
  // Which of a lane's rows and columns x[i] is in.
  RF_DEVICE_MEMBER uint32_t Row(uint32_t i) { return RF_WARP == 64 ? i : i / 2 % 2; }
  RF_DEVICE_MEMBER uint32_t Column(uint32_t i) { return RF_WARP == 64 ? 0 : i % 2 + i / 4 * 2; }
  // The first x[i] in its r-th row, its c-th column.
  RF_DEVICE_MEMBER uint32_t InRow(uint32_t r) { return RF_WARP == 64 ? r : r * 2; }
  RF_DEVICE_MEMBER uint32_t InColumn(uint32_t c) { return c % 2 + c / 2 * 4; }

  RF_DEVICE_MEMBER void LoadLeft(Left* left, RF_SHARED_POINTER(uint32_t) at, uint32_t stride) {
    emulation::TouchMatrix(at.index() * 4, stride * 4, true);
    for (uint32_t r = 0; r < kRows; ++r) {
      const uint32_t row = UnitRow(RF_THREAD % RF_WARP, InRow(r));
      for (uint32_t k = 0; k < kUnit; k += 2)
        T::Expand(emulation::ReadWord(at.index() + row * stride + k / 2), &left->of[r][k]);
    }
  }
  template <Order kBy>
  RF_DEVICE_MEMBER void LoadRight(Right<kBy>* right, RF_SHARED_POINTER(uint32_t) at,
                                  uint32_t stride) {
    emulation::TouchMatrix(at.index() * 4, stride * 4, kBy == kByColumn);
    for (uint32_t c = 0; c < kColumns; ++c) {
      const uint32_t column = UnitColumn(RF_THREAD % RF_WARP, InColumn(c));
      for (uint32_t k = 0; k < kUnit; ++k) {
        const size_t half = kBy == kByColumn ? 2 * column * stride + k : 2 * k * stride + column;
        float two[2];
        T::Expand(emulation::ReadWord(at.index() + half / 2), two);
        right->of[c][k] = two[half % 2];
      }
    }
  }
  template <Order kBy>
  RF_DEVICE_MEMBER void MultiplyAdd(Sum* sum, const Left& left, const Right<kBy>& right) {
    for (uint32_t i = 0; i < kEach; ++i) {
      for (uint32_t k = 0; k < kUnit; ++k) sum->x[i] += left.of[Row(i)][k] * right.of[Column(i)][k];
    }
  }
};

#endif
#endif
