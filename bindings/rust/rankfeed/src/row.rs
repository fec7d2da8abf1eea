// SPDX-License-Identifier: MIT
//! A row of one or two texts' tokens: truncation and template, by the library.
use std::mem::{size_of, zeroed};

use rankfeed_sys as sys;

use crate::error::{check, Result};
use crate::memory::Block;
use crate::tokenizer::{TruncationDirection, TruncationParams, TruncationStrategy};

/// Where a token of a row comes from.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    Template(u32),
    Text { sequence: usize, token: usize },
}

/// Tokens of a row, and their type ids.
pub(crate) struct Row {
    pub origins: Vec<Origin>,
    pub type_ids: Vec<u32>,
}

// The library takes ids as they are and does not look them up, so a token travels as its number: -1 - token
// in the first text, and on from there in the second. Ids of the template are not negative.
fn numbers(from: usize, count: usize) -> Vec<i32> {
    (from..from + count).map(|i| -1 - i as i32).collect()
}

fn source(ids: &[i32]) -> sys::rankfeed_source {
    let none = sys::rankfeed_text { data: std::ptr::null(), size: 0 };
    sys::rankfeed_source {
        text: none,
        ids: ids.as_ptr(),
        offset_begin: std::ptr::null(),
        offset_end: std::ptr::null(),
        id_count: ids.len() as u32,
    }
}

fn options(
    pair: bool,
    add_special_tokens: bool,
    truncation: Option<&TruncationParams>,
) -> sys::rankfeed_rerank_options {
    let mut options: sys::rankfeed_rerank_options = unsafe { zeroed() };
    options.struct_size = size_of::<sys::rankfeed_rerank_options>() as u32;
    options.template_kind = if pair { sys::RANKFEED_TEMPLATE_PAIR } else { sys::RANKFEED_TEMPLATE_SINGLE };
    options.no_special_tokens = u8::from(!add_special_tokens);
    options.layout = sys::RANKFEED_PACKED;
    options.tensors = sys::RANKFEED_TENSOR_TOKEN_TYPE_IDS;
    if let Some(params) = truncation {
        options.max_length = u32::try_from(params.max_length).unwrap_or(u32::MAX);
        options.truncation = match params.strategy {
            TruncationStrategy::LongestFirst => sys::RANKFEED_TRUNCATE_LONGEST_FIRST,
            TruncationStrategy::OnlyFirst => sys::RANKFEED_TRUNCATE_ONLY_FIRST,
            // Without a second text a row that is too long is an error, in the tokenizers crate too.
            TruncationStrategy::OnlySecond if !pair => sys::RANKFEED_TRUNCATE_NONE,
            TruncationStrategy::OnlySecond => sys::RANKFEED_TRUNCATE_ONLY_SECOND,
        };
        options.truncation_side = match params.direction {
            TruncationDirection::Right => sys::RANKFEED_RIGHT,
            TruncationDirection::Left => sys::RANKFEED_LEFT,
        };
    }
    options
}

/// first, second: numbers of tokens. One text: second is None.
pub(crate) fn build(
    model: *const sys::rankfeed_model,
    first: usize,
    second: Option<usize>,
    add_special_tokens: bool,
    truncation: Option<&TruncationParams>,
) -> Result<Row> {
    let options = options(second.is_some(), add_special_tokens, truncation);
    // The library's single template goes around the document.
    let (query, document) = match second {
        Some(second) => (numbers(0, first), numbers(first, second)),
        None => (Vec::new(), numbers(0, first)),
    };
    let mut limits: sys::rankfeed_rerank_limits = unsafe { zeroed() };
    limits.struct_size = size_of::<sys::rankfeed_rerank_limits>() as u32;
    limits.max_documents = 1;
    limits.max_tokens = (query.len() + document.len()) as u64;
    let mut need = sys::rankfeed_mem_req { size: 0, alignment: 64 };
    check(unsafe { sys::rankfeed_reranker_mem_req(model, &limits, &options, &mut need) }, "truncation")?;
    let scratch = Block::new(need);
    let mut reranker = std::ptr::null_mut();
    let status = unsafe {
        sys::rankfeed_reranker_init(
            model,
            &limits,
            &options,
            std::ptr::null(),
            scratch.data(),
            scratch.size(),
            &mut reranker,
        )
    };
    check(status, "truncation")?;
    fill(reranker, &source(&query), &source(&document), first)
}

fn fill(
    reranker: *mut sys::rankfeed_reranker,
    query: &sys::rankfeed_source,
    document: &sys::rankfeed_source,
    first: usize,
) -> Result<Row> {
    let mut document_status = 0;
    let request = sys::rankfeed_request {
        struct_size: size_of::<sys::rankfeed_request>() as u32,
        document_count: 1,
        query: *query,
        documents: document,
        document_status: &mut document_status,
        executor: std::ptr::null(),
        control: std::ptr::null(),
    };
    let mut batch: sys::rankfeed_batch = unsafe { zeroed() };
    batch.struct_size = size_of::<sys::rankfeed_batch>() as u32;
    let mut arena = Block::new(sys::rankfeed_mem_req { size: 4096, alignment: 256 });
    loop {
        batch.arena = arena.data();
        batch.arena_capacity = arena.size();
        let status = unsafe { sys::rankfeed_encode_pairs(reranker, &request, &mut batch) };
        if status == sys::RANKFEED_E_OUTPUT_SIZE && batch.arena_size > arena.size() {
            arena = Block::new(sys::rankfeed_mem_req { size: batch.arena_size, alignment: 256 });
            continue;
        }
        check(status, "pair")?;
        check(document_status, "pair")?;
        break;
    }
    let count = batch.tokens as usize;
    let column = |tensor: &sys::rankfeed_tensor| -> &[i32] {
        unsafe { std::slice::from_raw_parts(tensor.data.cast::<i32>(), count) }
    };
    let origins = column(&batch.input_ids).iter().map(|&id| origin(id, first)).collect();
    let type_ids = column(&batch.token_type_ids).iter().map(|&id| id as u32).collect();
    Ok(Row { origins, type_ids })
}

fn origin(id: i32, first: usize) -> Origin {
    if id >= 0 {
        return Origin::Template(id as u32);
    }
    let number = (-1 - id) as usize;
    if number < first {
        Origin::Text { sequence: 0, token: number }
    } else {
        Origin::Text { sequence: 1, token: number - first }
    }
}
