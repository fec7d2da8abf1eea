// SPDX-License-Identifier: MIT
// rerank/batch_layout.h: the tensors of a batch in one arena, and how a row is written into them.
//
//   | input_ids | attention_mask | token_type_ids | position_ids | lengths | cu_seqlens |
//   row_of_token | last_tokens |
//
// Only the tensors asked for are there; each starts at a multiple of 256 bytes (what device
// allocators and DLPack consumers expect) and the gaps between them are zeroed. Writing a batch
// touches every byte of it, so nothing of an earlier request survives in a reused arena.
// O(rows * row_length) padded, O(tokens) packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rankfeed/rerank.h"
#include "rerank/pair_template.h"

namespace rankfeed::rerank {

inline constexpr size_t kTensorAlignment = 256;

// The options that decide tensors.
struct TensorSpec {
  uint8_t layout;   // RANKFEED_PADDED, RANKFEED_PACKED
  uint8_t id_type;  // RANKFEED_INT32 ...
  uint32_t tensors;
};

struct BatchShape {
  uint32_t rows = 0;
  uint32_t row_length = 0;  // padded: of every row; packed: of the longest
  uint64_t tokens = 0;      // without pads
};

// Places the tensors at base (any address, never read) and fills everything in *out that follows
// from the shape, arena_size included. E_LIMIT when sizes overflow or cu_seqlens would.
rankfeed_status CarveBatch(const TensorSpec& spec, const BatchShape& shape, void* base,
                           rankfeed_batch* out);

// Facts about the model that rows need.
struct RowStyle {
  uint32_t pad_id, pad_type_id;
  uint32_t position_offset, position_pad;
  bool pad_left;
};

struct RowTokens {
  std::span<const int32_t> query, document;
  uint32_t length;  // with the template
};

// Writes rows one after the other into a carved batch.
class BatchWriter {
 public:
  BatchWriter(const TensorSpec& spec, const RowStyle& style, const PairTemplate& pair_template,
              rankfeed_batch* batch)
      : spec_(spec), style_(style), template_(pair_template), batch_(*batch) {}

  void Row(const RowTokens& row);
  // After the last row: zeroes the gaps.
  void Finish();

 private:
  template <class T>
  void WriteRow(const RowTokens& row);

  TensorSpec spec_;
  RowStyle style_;
  const PairTemplate& template_;
  rankfeed_batch& batch_;
  uint32_t row_ = 0;
  uint64_t token_ = 0;  // packed: tokens before this row
};

}  // namespace rankfeed::rerank
