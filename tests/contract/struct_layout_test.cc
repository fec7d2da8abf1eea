// SPDX-License-Identifier: MIT
// Sizes and offsets of the public structs on 64-bit targets. Structs with struct_size may only grow
// at the end; a change here is an ABI change and belongs in CHANGELOG.md.
#include <gtest/gtest.h>

#include <cstddef>

#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"

namespace {

#define EXPECT_FIELD(type, field, offset) EXPECT_EQ(offsetof(type, field), size_t{offset})

static_assert(sizeof(void*) != 8 || sizeof(size_t) == 8);

TEST(StructLayout, Status) {
  EXPECT_EQ(sizeof(rankfeed_error_detail), 24u);
  EXPECT_FIELD(rankfeed_error_detail, struct_size, 0);
  EXPECT_FIELD(rankfeed_error_detail, code, 4);
  EXPECT_FIELD(rankfeed_error_detail, byte_offset, 8);
  EXPECT_FIELD(rankfeed_error_detail, section, 16);
  EXPECT_FIELD(rankfeed_error_detail, item, 20);
}

TEST(StructLayout, Model) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_mem_req), 16u);
  EXPECT_EQ(sizeof(rankfeed_mapping), 40u);
  EXPECT_FIELD(rankfeed_mapping, data, 0);
  EXPECT_FIELD(rankfeed_mapping, size, 8);
  EXPECT_FIELD(rankfeed_mapping, page_size_obtained, 16);
  EXPECT_FIELD(rankfeed_mapping, base, 24);
  EXPECT_FIELD(rankfeed_mapping, base_size, 32);
  EXPECT_EQ(sizeof(rankfeed_model_info), 104u);
  EXPECT_FIELD(rankfeed_model_info, struct_size, 0);
  EXPECT_FIELD(rankfeed_model_info, parity, 4);
  EXPECT_FIELD(rankfeed_model_info, id_count, 8);
  EXPECT_FIELD(rankfeed_model_info, piece_count, 12);
  EXPECT_FIELD(rankfeed_model_info, unk_id, 16);
  EXPECT_FIELD(rankfeed_model_info, bos_id, 20);
  EXPECT_FIELD(rankfeed_model_info, eos_id, 24);
  EXPECT_FIELD(rankfeed_model_info, pad_id, 28);
  EXPECT_FIELD(rankfeed_model_info, cls_id, 32);
  EXPECT_FIELD(rankfeed_model_info, sep_id, 36);
  EXPECT_FIELD(rankfeed_model_info, mask_id, 40);
  EXPECT_FIELD(rankfeed_model_info, pad_type_id, 44);
  EXPECT_FIELD(rankfeed_model_info, max_piece_chars, 48);
  EXPECT_FIELD(rankfeed_model_info, specials_single, 52);
  EXPECT_FIELD(rankfeed_model_info, specials_pair, 56);
  EXPECT_FIELD(rankfeed_model_info, position_offset, 60);
  EXPECT_FIELD(rankfeed_model_info, position_pad, 64);
  EXPECT_FIELD(rankfeed_model_info, has_token_type_ids, 68);
  EXPECT_FIELD(rankfeed_model_info, byte_fallback, 72);
  EXPECT_FIELD(rankfeed_model_info, image_size, 80);
  EXPECT_FIELD(rankfeed_model_info, config_hash, 88);
}

TEST(StructLayout, Encode) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_text), 16u);
  EXPECT_EQ(sizeof(rankfeed_limits), 16u);
  EXPECT_FIELD(rankfeed_limits, max_text_bytes, 4);
  EXPECT_FIELD(rankfeed_limits, with_offsets, 8);
  EXPECT_FIELD(rankfeed_limits, cache_bytes, 12);
  EXPECT_EQ(sizeof(rankfeed_encode_options), 16u);
  EXPECT_FIELD(rankfeed_encode_options, flags, 4);
  EXPECT_FIELD(rankfeed_encode_options, sp_extra, 8);
  EXPECT_EQ(sizeof(rankfeed_encoding), 56u);
  EXPECT_FIELD(rankfeed_encoding, struct_size, 0);
  EXPECT_FIELD(rankfeed_encoding, capacity, 4);
  EXPECT_FIELD(rankfeed_encoding, input_ids, 8);
  EXPECT_FIELD(rankfeed_encoding, offset_begin, 16);
  EXPECT_FIELD(rankfeed_encoding, offset_end, 24);
  EXPECT_FIELD(rankfeed_encoding, special_tokens_mask, 32);
  EXPECT_FIELD(rankfeed_encoding, token_type_ids, 40);
  EXPECT_FIELD(rankfeed_encoding, count, 48);
}

TEST(StructLayout, Builder) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_builder_error), 512u);
  EXPECT_FIELD(rankfeed_builder_error, code, 4);
  EXPECT_FIELD(rankfeed_builder_error, byte_offset, 8);
  EXPECT_FIELD(rankfeed_builder_error, message, 16);
  EXPECT_EQ(sizeof(rankfeed_compile_options), 16u);
  EXPECT_FIELD(rankfeed_compile_options, parity, 4);
  EXPECT_FIELD(rankfeed_compile_options, preset, 8);
  EXPECT_EQ(sizeof(rankfeed_image), 16u);
}

TEST(StructLayout, Enumerators) {
  EXPECT_EQ(RANKFEED_PARITY_AUTO, -1);
  EXPECT_EQ(RANKFEED_PARITY_HUGGINGFACE, 0);
  EXPECT_EQ(RANKFEED_PARITY_SENTENCEPIECE, 1);
  EXPECT_EQ(RANKFEED_OPEN_TRUSTED_IMAGE, 1u);
  EXPECT_EQ(RANKFEED_ADD_SPECIAL_TOKENS, 1u);
  EXPECT_EQ(RANKFEED_OFFSETS_CODE_POINTS, 2u);
  EXPECT_EQ(RANKFEED_SPLIT_SPECIAL_TOKENS, 4u);
  EXPECT_EQ(RANKFEED_ERROR_ON_SPECIAL, 8u);
  EXPECT_EQ(RANKFEED_SKIP_SPECIAL_TOKENS, 1u);
  EXPECT_EQ(RANKFEED_SP_BOS, 1);
  EXPECT_EQ(RANKFEED_SP_EOS, 2);
  EXPECT_EQ(RANKFEED_SP_REVERSE, 3);
  EXPECT_EQ(RANKFEED_SP_UNK, 4);
}

}  // namespace
