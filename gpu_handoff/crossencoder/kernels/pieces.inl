// SPDX-License-Identifier: MIT
// kernels/pieces.inl: tiles of matrices of half types on their way from global to shared memory, by
// way of registers and 16 bytes at a time, so that they travel while others are worked on.

// A matrix in global memory: rows `stride` elements apart.
struct HalfRows {
  const uint16_t* at;
  uint64_t stride;
  uint32_t rows, columns;
};

// 8 elements of a row; zeros for what is outside. Columns that are no multiple of 8 go one by one:
// the rows after the first would not begin at a multiple of 16 bytes.
template <class T>
RF_DEVICE Vector LoadPiece(const HalfRows& matrix, uint32_t row, uint32_t column) {
  Vector piece = {};
  if (row >= matrix.rows) return piece;
  const uint16_t* const at = matrix.at + row * matrix.stride + column;
  if (matrix.columns % 8 == 0) return column < matrix.columns ? LoadVector(at) : piece;
  float values[8] = {};
  for (uint32_t i = 0; i < 8; ++i) {
    if (column + i < matrix.columns) values[i] = Load<T>(at + i);
  }
  return Collapse<T>(values);
}

// A tile of kRows rows of kPieces times 8 elements, shared by the kBlock threads of a block.
template <class T, uint32_t kRows, uint32_t kPieces, uint32_t kBlock>
struct Tile {
  static constexpr uint32_t kEach = kRows * kPieces / kBlock;
  static_assert(kRows % 8 == 0 && kRows * kPieces % kBlock == 0);
  // Words of a row in shared memory: 16 bytes more than it holds, so that the same piece of 8 rows,
  // which a matrix unit's load touches at once, lies in all banks.
  static constexpr uint32_t kStride = kPieces * 4 + 4;
  static_assert(kPieces % 2 == 0);
  static constexpr uint32_t kWords = kRows * kStride;

  // 8 threads that store at once have 8 rows, for the banks' sake; the pieces of a sector are still
  // asked for by one warp at once.
  RF_DEVICE_MEMBER uint32_t RowOf(uint32_t i) {
    return Index(i) / (8 * kPieces) * 8 + Index(i) % 8;
  }
  RF_DEVICE_MEMBER uint32_t PieceOf(uint32_t i) { return Index(i) / 8 % kPieces; }

  RF_DEVICE_CALL void Load(const HalfRows& matrix, uint32_t row, uint32_t column) {
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i)
      piece[i] = LoadPiece<T>(matrix, row + RowOf(i), column + PieceOf(i) * 8);
  }
  RF_DEVICE_CALL void Store(RF_SHARED_POINTER(uint32_t) to) const {
    RF_UNROLL
    for (uint32_t i = 0; i < kEach; ++i)
      StoreShared(piece[i], to + (RowOf(i) * kStride + PieceOf(i) * 4));
  }

  Vector piece[kEach];

 private:
  RF_DEVICE_MEMBER uint32_t Index(uint32_t i) { return i * kBlock + RF_THREAD; }
};
