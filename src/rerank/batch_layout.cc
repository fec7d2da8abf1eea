// SPDX-License-Identifier: MIT
// rerank/batch_layout.cc: carving arenas and writing rows.
#include "rerank/batch_layout.h"

#include <algorithm>
#include <cstring>

namespace rankfeed::rerank {
namespace {

size_t ElementSize(uint32_t type) {
  return type == RANKFEED_INT64 ? 8 : 4;
}

// Hands out ranges of an arena, adding up with overflow checks.
class Carver {
 public:
  explicit Carver(void* base) : base_(static_cast<unsigned char*>(base)) {}

  rankfeed_tensor Take(uint32_t type, uint64_t rows, uint64_t columns, uint32_t dimensions) {
    rankfeed_tensor tensor = {};
    size_t elements, start, end;
    if (__builtin_mul_overflow(rows, columns, &elements) ||
        __builtin_mul_overflow(elements, ElementSize(type), &tensor.bytes) ||
        __builtin_add_overflow(size_, kTensorAlignment - 1, &start) ||
        __builtin_add_overflow(start &= ~(kTensorAlignment - 1), tensor.bytes, &end)) {
      ok_ = false;
      return {};
    }
    size_ = end;
    tensor.byte_offset = start;
    // Integer arithmetic: the base may be null (measuring) or the address on a device.
    tensor.data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base_) + start);
    tensor.shape[0] = static_cast<int64_t>(rows);
    tensor.shape[1] = dimensions == 2 ? static_cast<int64_t>(columns) : 0;
    tensor.dimensions = dimensions;
    tensor.type = type;
    return tensor;
  }
  bool ok() const { return ok_; }
  size_t size() const { return size_; }

 private:
  unsigned char* base_;
  size_t size_ = 0;
  bool ok_ = true;
};

// One row's columns from its first position on, pads included. Null columns are not wanted.
template <class T>
struct Columns {
  T *ids, *mask, *types, *positions;
};

// Loops over so many elements become vector instructions at -O2 too, which loops over a count that
// is not known do not (GCC 12).
constexpr size_t kBlock = 16;

template <class T>
void Fill(T* to, size_t count, T value) {
  size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) std::fill_n(to + i, kBlock, value);
  for (; i < count; ++i) to[i] = value;
}

template <class T>
void Copy(std::span<const int32_t> from, T* to) {
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size_bytes());
  } else {
    size_t i = 0;
    for (; i + kBlock <= from.size(); i += kBlock) std::copy_n(from.data() + i, kBlock, to + i);
    for (; i < from.size(); ++i) to[i] = from[i];
  }
}

template <class T>
void WritePads(const Columns<T>& columns, const RowStyle& style, size_t begin, size_t end) {
  const auto fill = [&](T* column, uint32_t value) {
    if (column != nullptr) Fill(column + begin, end - begin, static_cast<T>(value));
  };
  fill(columns.ids, style.pad_id);
  fill(columns.mask, 0);
  fill(columns.types, style.pad_type_id);
  fill(columns.positions, style.position_pad);
}

// Positions count up from the offset. Models with an offset (RoBERTa and its kin) number the tokens
// that are not the pad id, wherever it stands: create_position_ids_from_input_ids of transformers'
// modeling_xlm_roberta.py. So a literal <pad> in a text gets the pad position and is not counted.
template <class T>
void WritePositions(const RowStyle& style, const T* ids, size_t count, T* positions) {
  uint32_t next = style.position_offset;
  if (style.position_offset == 0) {
    for (size_t i = 0; i < count; ++i) positions[i] = static_cast<T>(next++);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const bool pad = ids[i] == static_cast<T>(style.pad_id);
    positions[i] = static_cast<T>(pad ? style.position_pad : next);
    next += !pad;
  }
}

template <class T>
void WriteTokens(const PairTemplate& pair_template, const RowTokens& row, T* ids, T* types) {
  size_t at = 0;
  for (const TemplateItem& item : pair_template.items) {
    size_t count = 1;
    if (item.kind == static_cast<uint32_t>(TemplateKind::kSpecial)) {
      ids[at] = static_cast<T>(item.id);
    } else {
      const bool query = item.kind == static_cast<uint32_t>(TemplateKind::kSequenceA);
      const std::span<const int32_t> from = query ? row.query : row.document;
      Copy(from, ids + at);
      count = from.size();
    }
    if (types != nullptr) Fill(types + at, count, static_cast<T>(item.type_id));
    at += count;
  }
}

}  // namespace

rankfeed_status CarveBatch(const TensorSpec& spec, const BatchShape& shape, void* base,
                           rankfeed_batch* out) {
  const bool packed = spec.layout == RANKFEED_PACKED;
  // cu_seqlens is int32: flash-attention's varlen interface and its followers.
  if (packed && shape.tokens > 0x7fffffff) return RANKFEED_E_LIMIT;
  Carver carver(base);
  const auto tokens = [&](bool wanted) {
    if (!wanted) return rankfeed_tensor{};
    return packed ? carver.Take(spec.id_type, shape.tokens, 1, 1)
                  : carver.Take(spec.id_type, shape.rows, shape.row_length, 2);
  };
  const auto ints = [&](bool wanted, uint64_t count) {
    return wanted ? carver.Take(RANKFEED_INT32, count, 1, 1) : rankfeed_tensor{};
  };
  out->input_ids = tokens(true);
  out->attention_mask = tokens((spec.tensors & RANKFEED_TENSOR_ATTENTION_MASK) != 0);
  out->token_type_ids = tokens((spec.tensors & RANKFEED_TENSOR_TOKEN_TYPE_IDS) != 0);
  out->position_ids = tokens((spec.tensors & RANKFEED_TENSOR_POSITION_IDS) != 0);
  out->lengths = ints((spec.tensors & RANKFEED_TENSOR_LENGTHS) != 0, shape.rows);
  out->cu_seqlens = ints(packed, uint64_t{shape.rows} + 1);
  out->row_of_token =
      ints((spec.tensors & RANKFEED_TENSOR_ROW_OF_TOKEN) != 0, packed ? shape.tokens : 0);
  out->last_tokens = ints((spec.tensors & RANKFEED_TENSOR_LAST_TOKENS) != 0, shape.rows);
  if (!carver.ok()) return RANKFEED_E_LIMIT;
  out->arena_size = carver.size();
  out->rows = shape.rows;
  out->row_length = shape.row_length;
  out->tokens = shape.tokens;
  return RANKFEED_OK;
}

template <class T>
void BatchWriter::WriteRow(const RowTokens& row) {
  const bool packed = spec_.layout == RANKFEED_PACKED;
  const size_t start = packed ? token_ : size_t{row_} * batch_.row_length;
  const auto column = [&](const rankfeed_tensor& tensor) {
    return tensor.dimensions != 0 ? static_cast<T*>(tensor.data) + start : nullptr;
  };
  const Columns<T> columns{column(batch_.input_ids), column(batch_.attention_mask),
                           column(batch_.token_type_ids), column(batch_.position_ids)};
  const size_t pads = packed ? 0 : batch_.row_length - row.length;
  const size_t first = style_.pad_left ? pads : 0;

  const auto at = [&](T* column_start) {
    return column_start != nullptr ? column_start + first : nullptr;
  };
  WriteTokens(template_, row, columns.ids + first, at(columns.types));
  if (columns.mask != nullptr) Fill(columns.mask + first, row.length, T{1});
  if (columns.positions != nullptr) {
    WritePositions(style_, columns.ids + first, row.length, columns.positions + first);
  }
  if (pads != 0) {
    if (style_.pad_left) {
      WritePads(columns, style_, 0, pads);
    } else {
      WritePads(columns, style_, row.length, batch_.row_length);
    }
  }
}

void BatchWriter::Row(const RowTokens& row) {
  if (spec_.id_type == RANKFEED_INT64) {
    WriteRow<int64_t>(row);
  } else {
    WriteRow<int32_t>(row);  // uint32 too: ids and positions are below 2^31
  }
  const auto ints = [](const rankfeed_tensor& tensor) {
    return static_cast<int32_t*>(tensor.data);
  };
  if (batch_.lengths.dimensions != 0) {
    ints(batch_.lengths)[row_] = static_cast<int32_t>(row.length);
  }
  if (batch_.last_tokens.dimensions != 0) {
    const bool packed = spec_.layout == RANKFEED_PACKED;
    const uint64_t begin = packed ? token_ : style_.pad_left ? batch_.row_length - row.length : 0;
    ints(batch_.last_tokens)[row_] = static_cast<int32_t>(begin + row.length) - 1;
  }
  if (batch_.row_of_token.dimensions != 0) {
    Fill(ints(batch_.row_of_token) + token_, row.length, static_cast<int32_t>(row_));
  }
  if (batch_.cu_seqlens.dimensions != 0) {
    if (row_ == 0) ints(batch_.cu_seqlens)[0] = 0;
    ints(batch_.cu_seqlens)[row_ + 1] = static_cast<int32_t>(token_ + row.length);
  }
  token_ += row.length;
  ++row_;
}

void BatchWriter::Finish() {
  auto* base = static_cast<unsigned char*>(batch_.arena);
  size_t end = 0;
  for (const rankfeed_tensor* tensor :
       {&batch_.input_ids, &batch_.attention_mask, &batch_.token_type_ids, &batch_.position_ids,
        &batch_.lengths, &batch_.cu_seqlens, &batch_.row_of_token, &batch_.last_tokens}) {
    if (tensor->dimensions == 0) continue;
    std::memset(base + end, 0, tensor->byte_offset - end);
    end = tensor->byte_offset + tensor->bytes;
  }
}

}  // namespace rankfeed::rerank
