// SPDX-License-Identifier: MIT
// kernels/rows.inl: kernels over ids and rows: position ids and the list of tiles, unpacking to
// padded tensors, the first token of each row or their mean, the head's scores; one block per row.
// Rotary embeddings have one per token.

// out[t] = pad + tokens of the row so far that are not pad; pad for a pad. tiles: this row's share
// of the list, which ends where the next row's begins (ops.h), or with the list.
RF_KERNEL(kThreads)
PositionsKernel(rankfeed_op_positions op) {
  RF_SHARED(shared);
  RF_SHARED_POINTER(int32_t) const scratch = RF_SHARED_AS(int32_t, shared);
  const int32_t base = op.cu_seqlens[0];
  const int32_t begin = op.cu_seqlens[RF_BLOCK_X] - base,
                end = op.cu_seqlens[RF_BLOCK_X + 1] - base;
  if (op.cu_out != nullptr && RF_THREAD == 0) {
    if (RF_BLOCK_X == 0) op.cu_out[0] = 0;
    op.cu_out[RF_BLOCK_X + 1] = end;
  }
  if (op.cu_out != nullptr && RF_BLOCK_X + 1 == op.rows) {
    for (uint32_t r = op.rows + 1 + RF_THREAD; r <= op.row_count; r += RF_THREADS)
      op.cu_out[r] = end;
  }
  if (op.tiles != nullptr) {
    constexpr int32_t kTokens = RANKFEED_GPU_TILE;
    const int32_t row = static_cast<int32_t>(RF_BLOCK_X),
                  used = (end - begin + kTokens - 1) / kTokens;
    const int32_t first = begin / kTokens + row;
    const int32_t next =
        RF_BLOCK_X + 1 == op.rows ? static_cast<int32_t>(op.tile_count) : end / kTokens + row + 1;
    for (int32_t i = static_cast<int32_t>(RF_THREAD); i < next - first;
         i += static_cast<int32_t>(RF_THREADS))
      op.tiles[first + i] = i < used ? row : -1;
  }
  int32_t before = 0;
  for (int32_t chunk = begin; chunk < end; chunk += static_cast<int32_t>(RF_THREADS)) {
    const int32_t t = chunk + static_cast<int32_t>(RF_THREAD);
    const int32_t id = t < end ? op.ids[t] : op.pad_id;
    if (t < end && op.ids_out != nullptr) op.ids_out[t] = id;
    const bool real = id != op.pad_id;
    int32_t total;
    const int32_t count = BlockCount(real, scratch, &total);
    if (t < end) op.out[t] = real ? op.pad_id + before + count : op.pad_id;
    before += total;
  }
}

template <class Id>
RF_KERNEL(kThreads)
UnpackKernel(rankfeed_op_unpack op) {
  RF_SHARED(shared);
  RF_SHARED_POINTER(int32_t) const scratch = RF_SHARED_AS(int32_t, shared);
  const int32_t begin = op.cu_seqlens[RF_BLOCK_X] - op.cu_seqlens[0], pad = op.pad_id;
  const uint32_t size =
      static_cast<uint32_t>(op.cu_seqlens[RF_BLOCK_X + 1] - op.cu_seqlens[RF_BLOCK_X]);
  const auto store = [&](void* to, uint32_t i, int32_t value) {
    if (to != nullptr)
      static_cast<Id*>(to)[static_cast<uint64_t>(RF_BLOCK_X) * op.row_length + i] = value;
  };
  int32_t before = 0;
  for (uint32_t chunk = 0; chunk < op.row_length; chunk += RF_THREADS) {
    const uint32_t i = chunk + RF_THREAD;
    const bool inside = i < op.row_length && i < size;
    const int32_t id = inside ? op.ids[begin + static_cast<int32_t>(i)] : pad;
    int32_t total;
    const int32_t count = BlockCount(id != pad, scratch, &total);
    if (i < op.row_length) {
      store(op.ids_out, i, id);
      store(op.mask_out, i, inside ? 1 : 0);
      store(op.positions_out, i, id == pad ? pad : pad + before + count);
    }
    before += total;
  }
}

template <class T>
RF_KERNEL(kThreads)
FirstKernel(rankfeed_op_first op) {
  const int32_t begin = op.cu_seqlens[RF_BLOCK_X] - op.cu_seqlens[0];
  const int32_t size = op.cu_seqlens[RF_BLOCK_X + 1] - op.cu_seqlens[RF_BLOCK_X];
  const int32_t tokens = size > 1 && op.pool == RANKFEED_GPU_FIRST ? 1 : size;
  const typename T::Stored* const x = RowAt<T>(op.x, static_cast<uint64_t>(begin), op.hidden);
  for (uint32_t i = RF_THREAD; i < op.hidden; i += RF_THREADS) {
    float sum = tokens > 0 ? Load<T>(x + i) : 0.0f;
    for (int32_t t = 1; t < tokens; ++t)
      sum += Load<T>(x + static_cast<uint64_t>(t) * op.hidden + i);
    if (tokens > 1) sum /= static_cast<float>(tokens);
    Store<T>(sum, RowAt<T>(op.out, RF_BLOCK_X, op.hidden) + i);
  }
}

template <class T>
RF_KERNEL(kThreads)
RotaryKernel(rankfeed_op_rotary op) {
  const int32_t position = op.position[RF_BLOCK_X];
  const bool known = IndexBelow(position, op.positions);
  const uint32_t half = op.head_dim / 2;
  const float* const cosines =
      op.table + (known ? static_cast<uint64_t>(position) * op.head_dim : 0);
  for (uint32_t i = RF_THREAD; i < op.heads * half; i += RF_THREADS) {
    typename T::Stored* const at =
        RowAt<T>(op.x, RF_BLOCK_X, op.row) + i / half * op.head_dim + i % half;
    const float a = Load<T>(at), b = Load<T>(at + half);
    const float c = known ? Load<F32>(cosines + i % half) : FloatOfBits(0x7fc00000u),
                s = Load<F32>(cosines + half + i % half);
    Store<T>(a * c - b * s, at);
    Store<T>(b * c + a * s, at + half);
  }
}

template <class T>
RF_KERNEL(kThreads)
LogitsKernel(rankfeed_op_logits op) {
  RF_SHARED(shared);
  const bool empty = op.cu_seqlens[RF_BLOCK_X + 1] == op.cu_seqlens[RF_BLOCK_X];
  const typename T::Stored* const row = RowAt<T>(op.x, RF_BLOCK_X, op.hidden);
  for (uint32_t l = 0; l < op.labels; ++l) {
    float sum = 0;
    for (uint32_t i = RF_THREAD; i < op.hidden; i += RF_THREADS)
      sum += Load<T>(row + i) * Load<T>(RowAt<T>(op.w, l, op.hidden) + i);
    sum = BlockSum(sum, shared);
    if (RF_THREAD == 0) {
      const float bias = op.bias != nullptr ? op.bias[l] : 0.0f;
      op.logits[static_cast<uint64_t>(RF_BLOCK_X) * op.labels + l] =
          empty ? FloatOfBits(0x7fc00000u) : sum + bias;
    }
  }
}
