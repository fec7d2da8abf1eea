// SPDX-License-Identifier: MIT
//! Exact Unigram, WordPiece and BPE tokenization for rerankers, over the C library rankfeed. [`Tokenizer`], [`Encoding`] and
//! [`TruncationParams`] have the names and meanings of the tokenizers crate, and ids equal its ids:
//!
//! ```no_run
//! # fn main() -> rankfeed::Result<()> {
//! let mut tokenizer = rankfeed::Tokenizer::from_file("tokenizer.json")?;
//! tokenizer.with_truncation(Some(rankfeed::TruncationParams::default()))?;
//! let pair = tokenizer.encode(("What is a panda?", "A bear that eats bamboo."), true)?;
//! println!("{:?} {:?}", pair.get_ids(), pair.get_type_ids());
//! # Ok(())
//! # }
//! ```
//!
//! A `Tokenizer` is `Send` and `Sync`: threads may share one, or clone it, which shares the vocabulary.
mod encoding;
mod error;
mod memory;
mod row;
mod tokenizer;
mod vocabulary;

pub use encoding::Encoding;
pub use error::{Error, Result, Status};
pub use tokenizer::{EncodeInput, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};
