// SPDX-License-Identifier: MIT
// kernels/rows.inl: kernels over ids and rows: position ids and the list of tiles, unpacking to
// padded tensors, the first token of each row, the head's scores. One block per row.

// out[t] = pad + tokens of the row so far that are not pad; pad for a pad. tiles: this row's share
// of the list, which ends where the next row's begins (ops.h), or with the list.
RF_KERNEL(kThreads)
PositionsKernel(const int32_t* ids, const int32_t* cu_seqlens, int32_t pad, int32_t* out,
                int32_t* ids_out, int32_t* cu_out, int32_t* tiles, uint32_t rows,
                uint32_t tile_count, uint32_t row_count) {
  RF_SHARED(shared);
  RF_SHARED_POINTER(int32_t) const scratch = RF_SHARED_AS(int32_t, shared);
  const int32_t base = cu_seqlens[0];
  const int32_t begin = cu_seqlens[RF_BLOCK_X] - base, end = cu_seqlens[RF_BLOCK_X + 1] - base;
  if (cu_out != nullptr && RF_THREAD == 0) {
    if (RF_BLOCK_X == 0) cu_out[0] = 0;
    cu_out[RF_BLOCK_X + 1] = end;
  }
  if (cu_out != nullptr && RF_BLOCK_X + 1 == rows) {
    for (uint32_t r = rows + 1 + RF_THREAD; r <= row_count; r += RF_THREADS) cu_out[r] = end;
  }
  if (tiles != nullptr) {
    constexpr int32_t kTokens = RANKFEED_GPU_TILE;
    const int32_t row = static_cast<int32_t>(RF_BLOCK_X),
                  used = (end - begin + kTokens - 1) / kTokens;
    const int32_t first = begin / kTokens + row;
    const int32_t next =
        RF_BLOCK_X + 1 == rows ? static_cast<int32_t>(tile_count) : end / kTokens + row + 1;
    for (int32_t i = static_cast<int32_t>(RF_THREAD); i < next - first;
         i += static_cast<int32_t>(RF_THREADS))
      tiles[first + i] = i < used ? row : -1;
  }
  int32_t before = 0;
  for (int32_t chunk = begin; chunk < end; chunk += static_cast<int32_t>(RF_THREADS)) {
    const int32_t t = chunk + static_cast<int32_t>(RF_THREAD);
    const int32_t id = t < end ? ids[t] : pad;
    if (t < end && ids_out != nullptr) ids_out[t] = id;
    const bool real = id != pad;
    int32_t total;
    const int32_t count = BlockCount(real, scratch, &total);
    if (t < end) out[t] = real ? pad + before + count : pad;
    before += total;
  }
}

template <class Id>
RF_KERNEL(kThreads)
UnpackKernel(const int32_t* ids, const int32_t* cu_seqlens, uint32_t row_length, int32_t pad,
             Id* ids_out, Id* mask_out, Id* positions_out) {
  RF_SHARED(shared);
  RF_SHARED_POINTER(int32_t) const scratch = RF_SHARED_AS(int32_t, shared);
  const int32_t begin = cu_seqlens[RF_BLOCK_X] - cu_seqlens[0];
  const uint32_t size = static_cast<uint32_t>(cu_seqlens[RF_BLOCK_X + 1] - cu_seqlens[RF_BLOCK_X]);
  int32_t before = 0;
  for (uint32_t chunk = 0; chunk < row_length; chunk += RF_THREADS) {
    const uint32_t i = chunk + RF_THREAD;
    const bool inside = i < row_length && i < size;
    const int32_t id = inside ? ids[begin + static_cast<int32_t>(i)] : pad;
    int32_t total;
    const int32_t count = BlockCount(id != pad, scratch, &total);
    if (i < row_length) {
      const uint64_t at = static_cast<uint64_t>(RF_BLOCK_X) * row_length + i;
      if (ids_out != nullptr) ids_out[at] = id;
      if (mask_out != nullptr) mask_out[at] = inside ? 1 : 0;
      if (positions_out != nullptr) positions_out[at] = id == pad ? pad : pad + before + count;
    }
    before += total;
  }
}

template <class T>
RF_KERNEL(kThreads)
FirstKernel(const typename T::Stored* x, const int32_t* cu_seqlens, uint32_t hidden,
            typename T::Stored* out) {
  const int32_t begin = cu_seqlens[RF_BLOCK_X] - cu_seqlens[0];
  const bool empty = cu_seqlens[RF_BLOCK_X + 1] == cu_seqlens[RF_BLOCK_X];
  for (uint32_t i = RF_THREAD; i < hidden; i += RF_THREADS) {
    typename T::Stored* const to = out + static_cast<uint64_t>(RF_BLOCK_X) * hidden + i;
    if (empty) {
      Store<T>(0.0f, to);
    } else {
      *to = x[static_cast<uint64_t>(begin) * hidden + i];
    }
  }
}

template <class T>
RF_KERNEL(kThreads)
LogitsKernel(const typename T::Stored* x, const typename T::Stored* w, const float* bias,
             const int32_t* cu_seqlens, uint32_t labels, uint32_t hidden, float* logits) {
  RF_SHARED(shared);
  const bool empty = cu_seqlens[RF_BLOCK_X + 1] == cu_seqlens[RF_BLOCK_X];
  const typename T::Stored* const row = x + static_cast<uint64_t>(RF_BLOCK_X) * hidden;
  for (uint32_t l = 0; l < labels; ++l) {
    float sum = 0;
    for (uint32_t i = RF_THREAD; i < hidden; i += RF_THREADS) {
      sum += Load<T>(row + i) * Load<T>(w + static_cast<uint64_t>(l) * hidden + i);
    }
    sum = BlockSum(sum, shared);
    if (RF_THREAD == 0) {
      logits[static_cast<uint64_t>(RF_BLOCK_X) * labels + l] =
          empty ? FloatOfBits(0x7fc00000u) : sum + bias[l];
    }
  }
}
