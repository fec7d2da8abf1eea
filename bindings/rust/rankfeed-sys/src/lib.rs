// SPDX-License-Identifier: MIT
//! Declarations of the C API of rankfeed: loading, encoding, decoding and pairs. What each function
//! does, which errors it has and which thread may call it is in the headers, `rankfeed/*.h`.
//! Structs begin with their size, so a library of another version refuses them and does not guess.
#![allow(non_camel_case_types)]

use std::ffi::c_void;
use std::os::raw::c_char;

pub type rankfeed_status = i32;

pub const RANKFEED_OK: rankfeed_status = 0;
pub const RANKFEED_E_OUTPUT_SIZE: rankfeed_status = 4;

pub const RANKFEED_PARITY_AUTO: i32 = -1;

pub const RANKFEED_ADD_SPECIAL_TOKENS: u32 = 1;
pub const RANKFEED_OFFSETS_CODE_POINTS: u32 = 2;
pub const RANKFEED_SKIP_SPECIAL_TOKENS: u32 = 1;

pub const RANKFEED_TRUNCATE_NONE: u8 = 0;
pub const RANKFEED_TRUNCATE_LONGEST_FIRST: u8 = 1;
pub const RANKFEED_TRUNCATE_ONLY_FIRST: u8 = 3;
pub const RANKFEED_TRUNCATE_ONLY_SECOND: u8 = 4;
pub const RANKFEED_RIGHT: u8 = 0;
pub const RANKFEED_LEFT: u8 = 1;
pub const RANKFEED_TEMPLATE_PAIR: u8 = 0;
pub const RANKFEED_TEMPLATE_SINGLE: u8 = 1;
pub const RANKFEED_PACKED: u8 = 1;
pub const RANKFEED_TENSOR_TOKEN_TYPE_IDS: u32 = 2;

#[repr(C)]
pub struct rankfeed_model {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct rankfeed_loaded {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct rankfeed_encoder {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct rankfeed_reranker {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rankfeed_mem_req {
    pub size: usize,
    pub alignment: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rankfeed_text {
    pub data: *const c_char,
    pub size: usize,
}

#[repr(C)]
pub struct rankfeed_builder_error {
    pub struct_size: u32,
    pub code: rankfeed_status,
    pub byte_offset: u64,
    pub message: [c_char; 496],
}

#[repr(C)]
pub struct rankfeed_compile_options {
    pub struct_size: u32,
    pub parity: i32,
    pub preset: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rankfeed_model_info {
    pub struct_size: u32,
    pub parity: u32,
    pub id_count: u32,
    pub piece_count: u32,
    pub unk_id: i32,
    pub bos_id: i32,
    pub eos_id: i32,
    pub pad_id: i32,
    pub cls_id: i32,
    pub sep_id: i32,
    pub mask_id: i32,
    pub pad_type_id: u32,
    pub max_piece_chars: u32,
    pub specials_single: u32,
    pub specials_pair: u32,
    pub position_offset: u32,
    pub position_pad: u32,
    pub has_token_type_ids: u32,
    pub byte_fallback: u32,
    pub image_size: u64,
    pub config_hash: [u8; 16],
}

#[repr(C)]
pub struct rankfeed_limits {
    pub struct_size: u32,
    pub max_text_bytes: u32,
    pub with_offsets: u32,
    pub cache_bytes: u32,
    pub max_stretch_bytes: u32,
}

#[repr(C)]
pub struct rankfeed_encode_options {
    pub struct_size: u32,
    pub flags: u32,
    pub sp_extra: [u8; 8],
}

#[repr(C)]
pub struct rankfeed_encoding {
    pub struct_size: u32,
    pub capacity: u32,
    pub input_ids: *mut i32,
    pub offset_begin: *mut u32,
    pub offset_end: *mut u32,
    pub special_tokens_mask: *mut u8,
    pub token_type_ids: *mut u32,
    pub count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rankfeed_source {
    pub text: rankfeed_text,
    pub ids: *const i32,
    pub offset_begin: *const u32,
    pub offset_end: *const u32,
    pub id_count: u32,
}

#[repr(C)]
pub struct rankfeed_rerank_options {
    pub struct_size: u32,
    pub encode_flags: u32,
    pub max_length: u32,
    pub max_query_tokens: u32,
    pub max_tokens_per_doc: u32,
    pub stride: u32,
    pub max_chunks_per_doc: u32,
    pub truncation: u8,
    pub truncation_side: u8,
    pub overflow: u8,
    pub template_kind: u8,
    pub no_special_tokens: u8,
    pub layout: u8,
    pub id_type: u8,
    pub padding_side: u8,
    pub tensors: u32,
    pub pad_to_length: u32,
    pub pad_to_multiple_of: u32,
    pub buckets: *const u32,
    pub bucket_count: u32,
    pub max_rows_per_batch: u32,
    pub max_tokens_per_batch: u32,
    pub budget: u8,
    pub sort: u8,
    pub reserved: [u8; 2],
    pub max_arena_bytes: usize,
    pub pair_template: *const c_void,
}

#[repr(C)]
pub struct rankfeed_rerank_limits {
    pub struct_size: u32,
    pub max_documents: u32,
    pub max_rows: u32,
    pub max_text_bytes: u32,
    pub max_tokens: u64,
    pub workers: u32,
    pub with_offsets: u32,
    pub max_stretch_bytes: u32,
}

#[repr(C)]
pub struct rankfeed_request {
    pub struct_size: u32,
    pub document_count: u32,
    pub query: rankfeed_source,
    pub documents: *const rankfeed_source,
    pub document_status: *mut rankfeed_status,
    pub executor: *const c_void,
    pub control: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rankfeed_tensor {
    pub data: *mut c_void,
    pub byte_offset: usize,
    pub bytes: usize,
    pub shape: [i64; 2],
    pub dimensions: u32,
    pub r#type: u32,
}

#[repr(C)]
pub struct rankfeed_batch {
    pub struct_size: u32,
    pub rows: u32,
    pub arena: *mut c_void,
    pub arena_capacity: usize,
    pub arena_size: usize,
    pub row_length: u32,
    pub max_seqlen: u32,
    pub tokens: u64,
    pub first_row: u64,
    pub row_map: *const c_void,
    pub input_ids: rankfeed_tensor,
    pub attention_mask: rankfeed_tensor,
    pub token_type_ids: rankfeed_tensor,
    pub position_ids: rankfeed_tensor,
    pub lengths: rankfeed_tensor,
    pub cu_seqlens: rankfeed_tensor,
    pub row_of_token: rankfeed_tensor,
    pub generation: u64,
}

extern "C" {
    pub fn rankfeed_status_name(status: rankfeed_status) -> *const c_char;
    pub fn rankfeed_status_message(status: rankfeed_status) -> *const c_char;

    pub fn rankfeed_load(
        path: *const c_char,
        options: *const rankfeed_compile_options,
        out: *mut *mut rankfeed_loaded,
        error: *mut rankfeed_builder_error,
    ) -> rankfeed_status;
    pub fn rankfeed_loaded_model(loaded: *const rankfeed_loaded) -> *const rankfeed_model;
    pub fn rankfeed_loaded_free(loaded: *mut rankfeed_loaded);

    pub fn rankfeed_model_get_info(model: *const rankfeed_model, info: *mut rankfeed_model_info) -> rankfeed_status;
    pub fn rankfeed_model_id_to_piece(
        model: *const rankfeed_model,
        id: u32,
        data: *mut *const c_char,
        size: *mut usize,
    ) -> rankfeed_status;
    pub fn rankfeed_model_piece_to_id(model: *const rankfeed_model, data: *const c_char, size: usize) -> i32;

    pub fn rankfeed_max_text_bytes(model: *const rankfeed_model) -> u32;
    pub fn rankfeed_encoder_mem_req(
        model: *const rankfeed_model,
        limits: *const rankfeed_limits,
        out: *mut rankfeed_mem_req,
    ) -> rankfeed_status;
    pub fn rankfeed_encoder_init(
        model: *const rankfeed_model,
        limits: *const rankfeed_limits,
        scratch: *mut c_void,
        scratch_size: usize,
        out: *mut *mut rankfeed_encoder,
    ) -> rankfeed_status;
    pub fn rankfeed_encode(
        encoder: *mut rankfeed_encoder,
        text: rankfeed_text,
        options: *const rankfeed_encode_options,
        io: *mut rankfeed_encoding,
    ) -> rankfeed_status;
    pub fn rankfeed_decode(
        encoder: *mut rankfeed_encoder,
        input_ids: *const i32,
        count: usize,
        flags: u32,
        out: *mut c_char,
        capacity: usize,
        size: *mut usize,
    ) -> rankfeed_status;

    pub fn rankfeed_reranker_mem_req(
        model: *const rankfeed_model,
        limits: *const rankfeed_rerank_limits,
        options: *const rankfeed_rerank_options,
        out: *mut rankfeed_mem_req,
    ) -> rankfeed_status;
    pub fn rankfeed_reranker_init(
        model: *const rankfeed_model,
        limits: *const rankfeed_rerank_limits,
        options: *const rankfeed_rerank_options,
        encoders: *const *mut rankfeed_encoder,
        scratch: *mut c_void,
        scratch_size: usize,
        out: *mut *mut rankfeed_reranker,
    ) -> rankfeed_status;
    pub fn rankfeed_encode_pairs(
        reranker: *mut rankfeed_reranker,
        request: *const rankfeed_request,
        io: *mut rankfeed_batch,
    ) -> rankfeed_status;
}
