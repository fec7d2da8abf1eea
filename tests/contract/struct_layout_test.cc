// SPDX-License-Identifier: MIT
// Sizes and offsets of the public structs on 64-bit targets. Structs with struct_size may only grow
// at the end; a change here is an ABI change and belongs in CHANGELOG.md.
#include <gtest/gtest.h>

#include <cstddef>

#include "rankfeed/builder.h"
#include "rankfeed/corpus.h"
#include "rankfeed/encode.h"
#include "rankfeed/handoff.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"
#include "rankfeed/template.h"

namespace {

#define EXPECT_FIELD(type, field, offset) EXPECT_EQ(offsetof(type, field), size_t{offset})

static_assert(sizeof(void*) != 8 || sizeof(size_t) == 8);

TEST(StructLayout, Template) {
  EXPECT_EQ(sizeof(rankfeed_row_part), 24u);
  EXPECT_FIELD(rankfeed_row_part, kind, 0);
  EXPECT_FIELD(rankfeed_row_part, flags, 4);
  EXPECT_FIELD(rankfeed_row_part, text, 8);
  EXPECT_EQ(sizeof(rankfeed_row_template), 136u);
  EXPECT_FIELD(rankfeed_row_template, struct_size, 0);
  EXPECT_FIELD(rankfeed_row_template, part_count, 4);
  EXPECT_FIELD(rankfeed_row_template, parts, 8);
  EXPECT_FIELD(rankfeed_row_template, name, 16);
  EXPECT_FIELD(rankfeed_row_template, source, 32);
  EXPECT_FIELD(rankfeed_row_template, revision, 48);
  EXPECT_FIELD(rankfeed_row_template, instruction, 64);
  EXPECT_FIELD(rankfeed_row_template, pad, 80);
  EXPECT_FIELD(rankfeed_row_template, answers, 96);
  EXPECT_FIELD(rankfeed_row_template, answer_count, 104);
  EXPECT_FIELD(rankfeed_row_template, max_length, 108);
  EXPECT_FIELD(rankfeed_row_template, max_documents, 112);
  EXPECT_FIELD(rankfeed_row_template, max_query_tokens, 116);
  EXPECT_FIELD(rankfeed_row_template, max_document_tokens, 120);
  EXPECT_FIELD(rankfeed_row_template, prefix_times, 124);
  EXPECT_FIELD(rankfeed_row_template, suffix_times, 125);
  EXPECT_FIELD(rankfeed_row_template, query_quarters, 126);
  EXPECT_FIELD(rankfeed_row_template, document_limit, 127);
  EXPECT_FIELD(rankfeed_row_template, truncation, 128);
  EXPECT_FIELD(rankfeed_row_template, pad_to_multiple_of, 129);
  EXPECT_FIELD(rankfeed_row_template, reserved, 130);
  EXPECT_EQ(sizeof(rankfeed_template_info), 112u);
  EXPECT_FIELD(rankfeed_template_info, struct_size, 0);
  EXPECT_FIELD(rankfeed_template_info, prefix_tokens, 4);
  EXPECT_FIELD(rankfeed_template_info, middle_tokens, 8);
  EXPECT_FIELD(rankfeed_template_info, suffix_tokens, 12);
  EXPECT_FIELD(rankfeed_template_info, max_length, 16);
  EXPECT_FIELD(rankfeed_template_info, max_query_tokens, 20);
  EXPECT_FIELD(rankfeed_template_info, max_tokens_per_doc, 24);
  EXPECT_FIELD(rankfeed_template_info, max_documents, 28);
  EXPECT_FIELD(rankfeed_template_info, pad_id, 32);
  EXPECT_FIELD(rankfeed_template_info, query_is_joined, 36);
  EXPECT_FIELD(rankfeed_template_info, document_is_alone, 40);
  EXPECT_FIELD(rankfeed_template_info, literal_bytes, 44);
  EXPECT_FIELD(rankfeed_template_info, answer_count, 48);
  EXPECT_FIELD(rankfeed_template_info, answers, 52);
  EXPECT_FIELD(rankfeed_template_info, marker_count, 84);
  EXPECT_FIELD(rankfeed_template_info, markers, 88);
  EXPECT_FIELD(rankfeed_template_info, hash, 104);
}

TEST(StructLayout, Folder) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_folder_info), 104u);
  EXPECT_FIELD(rankfeed_folder_info, has_config, 4);
  EXPECT_FIELD(rankfeed_folder_info, label_count, 8);
  EXPECT_FIELD(rankfeed_folder_info, multi_label, 12);
  EXPECT_FIELD(rankfeed_folder_info, activation, 16);
  EXPECT_FIELD(rankfeed_folder_info, max_length, 20);
  EXPECT_FIELD(rankfeed_folder_info, lower_case, 24);
  EXPECT_FIELD(rankfeed_folder_info, split_special_tokens, 28);
  EXPECT_FIELD(rankfeed_folder_info, prompt_count, 32);
  EXPECT_FIELD(rankfeed_folder_info, default_prompt, 36);
  EXPECT_FIELD(rankfeed_folder_info, activation_fn, 40);
  EXPECT_FIELD(rankfeed_folder_info, activation_file, 56);
  EXPECT_FIELD(rankfeed_folder_info, refusal, 72);
  EXPECT_FIELD(rankfeed_folder_info, note, 88);
  EXPECT_EQ(sizeof(rankfeed_folder_key), 40u);
  EXPECT_FIELD(rankfeed_folder_key, rule, 4);
  EXPECT_FIELD(rankfeed_folder_key, file, 8);
  EXPECT_FIELD(rankfeed_folder_key, key, 16);
  EXPECT_FIELD(rankfeed_folder_key, note, 24);
  EXPECT_FIELD(rankfeed_folder_key, taken, 32);
}

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
  EXPECT_EQ(sizeof(rankfeed_placement), 32u);
  EXPECT_FIELD(rankfeed_placement, pages, 4);
  EXPECT_FIELD(rankfeed_placement, huge_bytes, 8);
  EXPECT_FIELD(rankfeed_placement, hugetlb_error, 16);
  EXPECT_FIELD(rankfeed_placement, transparent_error, 20);
  EXPECT_FIELD(rankfeed_placement, fd, 24);
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
  EXPECT_EQ(sizeof(rankfeed_limits), 20u);
  EXPECT_FIELD(rankfeed_limits, max_text_bytes, 4);
  EXPECT_FIELD(rankfeed_limits, with_offsets, 8);
  EXPECT_FIELD(rankfeed_limits, cache_bytes, 12);
  EXPECT_FIELD(rankfeed_limits, max_stretch_bytes, 16);
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
  EXPECT_EQ(sizeof(rankfeed_encodings), 56u);
  EXPECT_FIELD(rankfeed_encodings, struct_size, 0);
  EXPECT_FIELD(rankfeed_encodings, capacity, 4);
  EXPECT_FIELD(rankfeed_encodings, input_ids, 8);
  EXPECT_FIELD(rankfeed_encodings, cu_seqlens, 16);
  EXPECT_FIELD(rankfeed_encodings, count, 24);
  EXPECT_FIELD(rankfeed_encodings, text_count, 32);
  EXPECT_FIELD(rankfeed_encodings, offset_begin, 40);
  EXPECT_FIELD(rankfeed_encodings, offset_end, 48);
  EXPECT_EQ(sizeof(rankfeed_road_counts), 16u);
  EXPECT_FIELD(rankfeed_road_counts, texts, 0);
  EXPECT_FIELD(rankfeed_road_counts, bytes, 8);
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

TEST(StructLayout, Rerank) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_source), 48u);
  EXPECT_FIELD(rankfeed_source, text, 0);
  EXPECT_FIELD(rankfeed_source, ids, 16);
  EXPECT_FIELD(rankfeed_source, offset_begin, 24);
  EXPECT_FIELD(rankfeed_source, offset_end, 32);
  EXPECT_FIELD(rankfeed_source, id_count, 40);
  EXPECT_EQ(sizeof(rankfeed_template_part), 32u);
  EXPECT_FIELD(rankfeed_template_part, text, 0);
  EXPECT_FIELD(rankfeed_template_part, ids, 16);
  EXPECT_FIELD(rankfeed_template_part, id_count, 24);
  EXPECT_FIELD(rankfeed_template_part, type_id, 28);
  EXPECT_EQ(sizeof(rankfeed_pair_template), 120u);  // 112 without row_template: still taken
  EXPECT_FIELD(rankfeed_pair_template, struct_size, 0);
  EXPECT_FIELD(rankfeed_pair_template, query_type_id, 4);
  EXPECT_FIELD(rankfeed_pair_template, document_type_id, 8);
  EXPECT_FIELD(rankfeed_pair_template, prefix, 16);
  EXPECT_FIELD(rankfeed_pair_template, middle, 48);
  EXPECT_FIELD(rankfeed_pair_template, suffix, 80);
  EXPECT_FIELD(rankfeed_pair_template, row_template, 112);
  EXPECT_EQ(sizeof(rankfeed_rerank_options), 88u);
  EXPECT_FIELD(rankfeed_rerank_options, struct_size, 0);
  EXPECT_FIELD(rankfeed_rerank_options, encode_flags, 4);
  EXPECT_FIELD(rankfeed_rerank_options, max_length, 8);
  EXPECT_FIELD(rankfeed_rerank_options, max_query_tokens, 12);
  EXPECT_FIELD(rankfeed_rerank_options, max_tokens_per_doc, 16);
  EXPECT_FIELD(rankfeed_rerank_options, stride, 20);
  EXPECT_FIELD(rankfeed_rerank_options, max_chunks_per_doc, 24);
  EXPECT_FIELD(rankfeed_rerank_options, truncation, 28);
  EXPECT_FIELD(rankfeed_rerank_options, truncation_side, 29);
  EXPECT_FIELD(rankfeed_rerank_options, overflow, 30);
  EXPECT_FIELD(rankfeed_rerank_options, template_kind, 31);
  EXPECT_FIELD(rankfeed_rerank_options, no_special_tokens, 32);
  EXPECT_FIELD(rankfeed_rerank_options, layout, 33);
  EXPECT_FIELD(rankfeed_rerank_options, id_type, 34);
  EXPECT_FIELD(rankfeed_rerank_options, padding_side, 35);
  EXPECT_FIELD(rankfeed_rerank_options, tensors, 36);
  EXPECT_FIELD(rankfeed_rerank_options, pad_to_length, 40);
  EXPECT_FIELD(rankfeed_rerank_options, pad_to_multiple_of, 44);
  EXPECT_FIELD(rankfeed_rerank_options, buckets, 48);
  EXPECT_FIELD(rankfeed_rerank_options, bucket_count, 56);
  EXPECT_FIELD(rankfeed_rerank_options, max_rows_per_batch, 60);
  EXPECT_FIELD(rankfeed_rerank_options, max_tokens_per_batch, 64);
  EXPECT_FIELD(rankfeed_rerank_options, budget, 68);
  EXPECT_FIELD(rankfeed_rerank_options, sort, 69);
  EXPECT_FIELD(rankfeed_rerank_options, reserved, 70);
  EXPECT_FIELD(rankfeed_rerank_options, max_arena_bytes, 72);
  EXPECT_FIELD(rankfeed_rerank_options, pair_template, 80);
  EXPECT_EQ(sizeof(rankfeed_tensor), 48u);
  EXPECT_FIELD(rankfeed_tensor, data, 0);
  EXPECT_FIELD(rankfeed_tensor, byte_offset, 8);
  EXPECT_FIELD(rankfeed_tensor, bytes, 16);
  EXPECT_FIELD(rankfeed_tensor, shape, 24);
  EXPECT_FIELD(rankfeed_tensor, dimensions, 40);
  EXPECT_FIELD(rankfeed_tensor, type, 44);
  EXPECT_EQ(sizeof(rankfeed_batch_row), 32u);
  EXPECT_FIELD(rankfeed_batch_row, document, 0);
  EXPECT_FIELD(rankfeed_batch_row, chunk, 4);
  EXPECT_FIELD(rankfeed_batch_row, token_begin, 8);
  EXPECT_FIELD(rankfeed_batch_row, token_end, 12);
  EXPECT_FIELD(rankfeed_batch_row, byte_begin, 16);
  EXPECT_FIELD(rankfeed_batch_row, byte_end, 20);
  EXPECT_FIELD(rankfeed_batch_row, query_tokens, 24);
  EXPECT_FIELD(rankfeed_batch_row, length, 28);
  EXPECT_EQ(sizeof(rankfeed_batch), 456u);  // 408 without last_tokens, 400 without generation: still taken
  EXPECT_FIELD(rankfeed_batch, struct_size, 0);
  EXPECT_FIELD(rankfeed_batch, rows, 4);
  EXPECT_FIELD(rankfeed_batch, arena, 8);
  EXPECT_FIELD(rankfeed_batch, arena_capacity, 16);
  EXPECT_FIELD(rankfeed_batch, arena_size, 24);
  EXPECT_FIELD(rankfeed_batch, row_length, 32);
  EXPECT_FIELD(rankfeed_batch, max_seqlen, 36);
  EXPECT_FIELD(rankfeed_batch, tokens, 40);
  EXPECT_FIELD(rankfeed_batch, first_row, 48);
  EXPECT_FIELD(rankfeed_batch, row_map, 56);
  EXPECT_FIELD(rankfeed_batch, input_ids, 64);
  EXPECT_FIELD(rankfeed_batch, attention_mask, 112);
  EXPECT_FIELD(rankfeed_batch, token_type_ids, 160);
  EXPECT_FIELD(rankfeed_batch, position_ids, 208);
  EXPECT_FIELD(rankfeed_batch, lengths, 256);
  EXPECT_FIELD(rankfeed_batch, cu_seqlens, 304);
  EXPECT_FIELD(rankfeed_batch, row_of_token, 352);
  EXPECT_FIELD(rankfeed_batch, generation, 400);
  EXPECT_FIELD(rankfeed_batch, last_tokens, 408);
  EXPECT_EQ(sizeof(rankfeed_executor), 24u);
  EXPECT_FIELD(rankfeed_executor, struct_size, 0);
  EXPECT_FIELD(rankfeed_executor, workers, 4);
  EXPECT_FIELD(rankfeed_executor, context, 8);
  EXPECT_FIELD(rankfeed_executor, parallel_for, 16);
  EXPECT_EQ(sizeof(rankfeed_control), 40u);
  EXPECT_FIELD(rankfeed_control, struct_size, 0);
  EXPECT_FIELD(rankfeed_control, reserved, 4);
  EXPECT_FIELD(rankfeed_control, cancel, 8);
  EXPECT_FIELD(rankfeed_control, deadline_ns, 16);
  EXPECT_FIELD(rankfeed_control, clock_ns, 24);
  EXPECT_FIELD(rankfeed_control, clock_context, 32);
  EXPECT_EQ(sizeof(rankfeed_rerank_limits), 40u);
  EXPECT_FIELD(rankfeed_rerank_limits, struct_size, 0);
  EXPECT_FIELD(rankfeed_rerank_limits, max_documents, 4);
  EXPECT_FIELD(rankfeed_rerank_limits, max_rows, 8);
  EXPECT_FIELD(rankfeed_rerank_limits, max_text_bytes, 12);
  EXPECT_FIELD(rankfeed_rerank_limits, max_tokens, 16);
  EXPECT_FIELD(rankfeed_rerank_limits, workers, 24);
  EXPECT_FIELD(rankfeed_rerank_limits, with_offsets, 28);
  EXPECT_FIELD(rankfeed_rerank_limits, max_stretch_bytes, 32);
  EXPECT_EQ(sizeof(rankfeed_request), 104u);  // 88 without instruction: still taken
  EXPECT_FIELD(rankfeed_request, struct_size, 0);
  EXPECT_FIELD(rankfeed_request, document_count, 4);
  EXPECT_FIELD(rankfeed_request, query, 8);
  EXPECT_FIELD(rankfeed_request, documents, 56);
  EXPECT_FIELD(rankfeed_request, document_status, 64);
  EXPECT_FIELD(rankfeed_request, executor, 72);
  EXPECT_FIELD(rankfeed_request, control, 80);
  EXPECT_FIELD(rankfeed_request, instruction, 88);
  EXPECT_EQ(sizeof(rankfeed_score_options), 16u);
  EXPECT_FIELD(rankfeed_score_options, struct_size, 0);
  EXPECT_FIELD(rankfeed_score_options, activation, 4);
  EXPECT_FIELD(rankfeed_score_options, labels, 8);
  EXPECT_FIELD(rankfeed_score_options, label, 12);
  EXPECT_EQ(sizeof(rankfeed_rank_options), 16u);
  EXPECT_FIELD(rankfeed_rank_options, struct_size, 0);
  EXPECT_FIELD(rankfeed_rank_options, aggregation, 4);
  EXPECT_FIELD(rankfeed_rank_options, ties, 8);
  EXPECT_FIELD(rankfeed_rank_options, top_n, 12);
  EXPECT_EQ(sizeof(rankfeed_ranked), 8u);
  EXPECT_FIELD(rankfeed_ranked, index, 0);
  EXPECT_FIELD(rankfeed_ranked, score, 4);
}

TEST(StructLayout, Handoff) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_handoff_options), 40u);
  EXPECT_FIELD(rankfeed_handoff_options, struct_size, 0);
  EXPECT_FIELD(rankfeed_handoff_options, flags, 4);
  EXPECT_FIELD(rankfeed_handoff_options, slot_bytes, 8);
  EXPECT_FIELD(rankfeed_handoff_options, slots, 16);
  EXPECT_FIELD(rankfeed_handoff_options, device, 20);
  EXPECT_FIELD(rankfeed_handoff_options, backend, 24);
  EXPECT_FIELD(rankfeed_handoff_options, mapped_limit, 32);
  EXPECT_EQ(sizeof(rankfeed_handoff_view), 40u);
  EXPECT_FIELD(rankfeed_handoff_view, struct_size, 0);
  EXPECT_FIELD(rankfeed_handoff_view, index, 4);
  EXPECT_FIELD(rankfeed_handoff_view, host, 8);
  EXPECT_FIELD(rankfeed_handoff_view, device, 16);
  EXPECT_FIELD(rankfeed_handoff_view, mapped, 24);
  EXPECT_FIELD(rankfeed_handoff_view, bytes, 32);
  EXPECT_EQ(sizeof(rankfeed_handoff_info), 248u);
  EXPECT_FIELD(rankfeed_handoff_info, device_numa_node, 240);
  EXPECT_FIELD(rankfeed_handoff_info, numa_node, 244);
  EXPECT_FIELD(rankfeed_handoff_info, mapped_limit, 232);
  EXPECT_FIELD(rankfeed_handoff_info, struct_size, 0);
  EXPECT_FIELD(rankfeed_handoff_info, slots, 4);
  EXPECT_FIELD(rankfeed_handoff_info, slot_bytes, 8);
  EXPECT_FIELD(rankfeed_handoff_info, slot_stride, 16);
  EXPECT_FIELD(rankfeed_handoff_info, device, 24);
  EXPECT_FIELD(rankfeed_handoff_info, dl_host_device_type, 28);
  EXPECT_FIELD(rankfeed_handoff_info, dl_device_type, 32);
  EXPECT_FIELD(rankfeed_handoff_info, page_locked, 36);
  EXPECT_FIELD(rankfeed_handoff_info, page_lock_error, 40);
  EXPECT_FIELD(rankfeed_handoff_info, has_mapped, 44);
  EXPECT_FIELD(rankfeed_handoff_info, backend, 48);
  EXPECT_FIELD(rankfeed_handoff_info, device_name, 64);
  EXPECT_FIELD(rankfeed_handoff_info, note, 128);
  EXPECT_EQ(sizeof(rankfeed_handoff_stats), 192u);
  EXPECT_FIELD(rankfeed_handoff_stats, mapped, 144);
  EXPECT_FIELD(rankfeed_handoff_stats, consumer_batches, 152);
  EXPECT_FIELD(rankfeed_handoff_stats, consumer_busy_ns, 160);
  EXPECT_FIELD(rankfeed_handoff_stats, consumer_idle_ns, 168);
  EXPECT_FIELD(rankfeed_handoff_stats, consumer_unmeasured, 176);
  EXPECT_FIELD(rankfeed_handoff_stats, consumer_launch_bound, 184);
  EXPECT_FIELD(rankfeed_handoff_stats, struct_size, 0);
  EXPECT_FIELD(rankfeed_handoff_stats, slots_free, 4);
  EXPECT_FIELD(rankfeed_handoff_stats, slots_filling, 8);
  EXPECT_FIELD(rankfeed_handoff_stats, slots_in_flight, 12);
  EXPECT_FIELD(rankfeed_handoff_stats, slots_leased, 16);
  EXPECT_FIELD(rankfeed_handoff_stats, slots_quarantined, 20);
  EXPECT_FIELD(rankfeed_handoff_stats, in_flight_high_water, 24);
  EXPECT_FIELD(rankfeed_handoff_stats, last_device_error, 28);
  EXPECT_FIELD(rankfeed_handoff_stats, acquires, 32);
  EXPECT_FIELD(rankfeed_handoff_stats, acquires_busy, 40);
  EXPECT_FIELD(rankfeed_handoff_stats, waits, 48);
  EXPECT_FIELD(rankfeed_handoff_stats, wait_ns, 56);
  EXPECT_FIELD(rankfeed_handoff_stats, copies, 64);
  EXPECT_FIELD(rankfeed_handoff_stats, bytes, 72);
  EXPECT_FIELD(rankfeed_handoff_stats, submits, 80);
  EXPECT_FIELD(rankfeed_handoff_stats, landed, 88);
  EXPECT_FIELD(rankfeed_handoff_stats, abandoned, 96);
  EXPECT_FIELD(rankfeed_handoff_stats, device_errors, 104);
  EXPECT_FIELD(rankfeed_handoff_stats, landed_ns_min, 112);
  EXPECT_FIELD(rankfeed_handoff_stats, landed_ns_p50, 120);
  EXPECT_FIELD(rankfeed_handoff_stats, landed_ns_p99, 128);
  EXPECT_FIELD(rankfeed_handoff_stats, landed_ns_max, 136);
  EXPECT_EQ(sizeof(rankfeed_dl_tensor), 80u);
  EXPECT_FIELD(rankfeed_dl_tensor, struct_size, 0);
  EXPECT_FIELD(rankfeed_dl_tensor, dtype, 4);
  EXPECT_FIELD(rankfeed_dl_tensor, rank, 8);
  EXPECT_FIELD(rankfeed_dl_tensor, flags, 12);
  EXPECT_FIELD(rankfeed_dl_tensor, device_type, 16);
  EXPECT_FIELD(rankfeed_dl_tensor, device_id, 20);
  EXPECT_FIELD(rankfeed_dl_tensor, shape, 24);
  EXPECT_FIELD(rankfeed_dl_tensor, strides, 32);
  EXPECT_FIELD(rankfeed_dl_tensor, data, 40);
  EXPECT_FIELD(rankfeed_dl_tensor, data_bytes, 48);
  EXPECT_FIELD(rankfeed_dl_tensor, byte_offset, 56);
  EXPECT_FIELD(rankfeed_dl_tensor, release, 64);
  EXPECT_FIELD(rankfeed_dl_tensor, release_context, 72);
}

TEST(StructLayout, Corpus) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "layouts are pinned for 64-bit targets";
  EXPECT_EQ(sizeof(rankfeed_corpus_options), 24u);  // 12 without row_template: still taken
  EXPECT_FIELD(rankfeed_corpus_options, struct_size, 0);
  EXPECT_FIELD(rankfeed_corpus_options, flags, 4);
  EXPECT_FIELD(rankfeed_corpus_options, encode_flags, 8);
  EXPECT_FIELD(rankfeed_corpus_options, row_template, 16);
  EXPECT_EQ(sizeof(rankfeed_corpus_info), 96u);  // 88 without template_hash: still taken
  EXPECT_FIELD(rankfeed_corpus_info, struct_size, 0);
  EXPECT_FIELD(rankfeed_corpus_info, parity, 4);
  EXPECT_FIELD(rankfeed_corpus_info, id_count, 8);
  EXPECT_FIELD(rankfeed_corpus_info, encode_flags, 12);
  EXPECT_FIELD(rankfeed_corpus_info, has_offsets, 16);
  EXPECT_FIELD(rankfeed_corpus_info, index_levels, 20);
  EXPECT_FIELD(rankfeed_corpus_info, documents, 24);
  EXPECT_FIELD(rankfeed_corpus_info, tokens, 32);
  EXPECT_FIELD(rankfeed_corpus_info, positions, 40);
  EXPECT_FIELD(rankfeed_corpus_info, file_bytes, 48);
  EXPECT_FIELD(rankfeed_corpus_info, dead_bytes, 56);
  EXPECT_FIELD(rankfeed_corpus_info, sequence, 64);
  EXPECT_FIELD(rankfeed_corpus_info, config_hash, 72);
}

TEST(StructLayout, Enumerators) {
  EXPECT_EQ(RANKFEED_PARITY_AUTO, -1);
  EXPECT_EQ(RANKFEED_PARITY_HUGGINGFACE, 0);
  EXPECT_EQ(RANKFEED_PARITY_SENTENCEPIECE_0_2_1, 1);
  EXPECT_EQ(RANKFEED_PARITY_SENTENCEPIECE, 2);
  EXPECT_EQ(RANKFEED_OPEN_TRUSTED_IMAGE, 1u);
  EXPECT_EQ(RANKFEED_CORPUS_TRUSTED, 1u);
  EXPECT_EQ(RANKFEED_CORPUS_MAP_FILE, 2u);
  EXPECT_EQ(RANKFEED_ADD_SPECIAL_TOKENS, 1u);
  EXPECT_EQ(RANKFEED_OFFSETS_CODE_POINTS, 2u);
  EXPECT_EQ(RANKFEED_SPLIT_SPECIAL_TOKENS, 4u);
  EXPECT_EQ(RANKFEED_ERROR_ON_SPECIAL, 8u);
  EXPECT_EQ(RANKFEED_ESCAPE_SPECIAL, 16u);
  EXPECT_EQ(RANKFEED_OFFSETS_UTF16, 32u);
  EXPECT_EQ(RANKFEED_SKIP_SPECIAL_TOKENS, 1u);
  EXPECT_EQ(RANKFEED_SP_BOS, 1);
  EXPECT_EQ(RANKFEED_SP_EOS, 2);
  EXPECT_EQ(RANKFEED_SP_REVERSE, 3);
  EXPECT_EQ(RANKFEED_SP_UNK, 4);
}

}  // namespace
