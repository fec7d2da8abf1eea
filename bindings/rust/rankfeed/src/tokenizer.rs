// SPDX-License-Identifier: MIT
//! `Tokenizer`, with the methods of the tokenizers crate's that a reranker or embedding service calls.
use std::path::Path;
use std::sync::{Arc, Mutex};

use rankfeed_sys as sys;

use crate::encoding::Encoding;
use crate::error::Result;
use crate::row::{build, Origin};
use crate::vocabulary::{Encoder, Tokens, Vocabulary};

/// One text, or two that are encoded as a pair.
#[derive(Debug, Clone)]
pub enum EncodeInput<'a> {
    Single(std::borrow::Cow<'a, str>),
    Dual(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>),
}

impl<'a> From<&'a str> for EncodeInput<'a> {
    fn from(text: &'a str) -> Self {
        EncodeInput::Single(text.into())
    }
}
impl From<String> for EncodeInput<'_> {
    fn from(text: String) -> Self {
        EncodeInput::Single(text.into())
    }
}
impl<'a> From<(&'a str, &'a str)> for EncodeInput<'a> {
    fn from(pair: (&'a str, &'a str)) -> Self {
        EncodeInput::Dual(pair.0.into(), pair.1.into())
    }
}
impl From<(String, String)> for EncodeInput<'_> {
    fn from(pair: (String, String)) -> Self {
        EncodeInput::Dual(pair.0.into(), pair.1.into())
    }
}

/// The side that is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationDirection {
    Left,
    Right,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationStrategy {
    LongestFirst,
    OnlyFirst,
    OnlySecond,
}

/// max_length counts the template's tokens too. stride must be 0: overflowing parts are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncationParams {
    pub direction: TruncationDirection,
    pub max_length: usize,
    pub strategy: TruncationStrategy,
    pub stride: usize,
}

impl Default for TruncationParams {
    fn default() -> Self {
        TruncationParams {
            direction: TruncationDirection::Right,
            max_length: 512,
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Chars,
}

/// A vocabulary and encoders for the threads that use it at once. A clone shares the vocabulary and has encoders and
/// truncation of its own.
pub struct Tokenizer {
    vocabulary: Arc<Vocabulary>,
    idle: Mutex<Vec<Encoder>>,
    truncation: Option<TruncationParams>,
}

impl Clone for Tokenizer {
    fn clone(&self) -> Self {
        Tokenizer {
            vocabulary: self.vocabulary.clone(),
            idle: Mutex::new(Vec::new()),
            truncation: self.truncation.clone(),
        }
    }
}

impl Tokenizer {
    /// An image of `rankfeed compile`, a HuggingFace tokenizer.json or a SentencePiece .model. The truncation of a
    /// tokenizer.json is not applied; see with_truncation.
    pub fn from_file<P: AsRef<Path>>(path: P) -> Result<Tokenizer> {
        Ok(Tokenizer {
            vocabulary: Arc::new(Vocabulary::load(path.as_ref())?),
            idle: Mutex::new(Vec::new()),
            truncation: None,
        })
    }

    /// From now on; None cuts nothing.
    pub fn with_truncation(&mut self, truncation: Option<TruncationParams>) -> Result<&mut Self> {
        if let Some(params) = &truncation {
            if params.stride != 0 {
                return Err(format!("stride is {}; it must be 0", params.stride).into());
            }
            if params.max_length == 0 {
                return Err("max_length is 0; it must be at least 1".into());
            }
        }
        self.truncation = truncation;
        Ok(self)
    }

    pub fn get_truncation(&self) -> Option<&TruncationParams> {
        self.truncation.as_ref()
    }

    /// Offsets count bytes.
    pub fn encode<'a, E: Into<EncodeInput<'a>>>(&self, input: E, add_special_tokens: bool) -> Result<Encoding> {
        self.encode_in(&input.into(), add_special_tokens, Unit::Bytes)
    }

    /// Offsets count code points.
    pub fn encode_char_offsets<'a, E: Into<EncodeInput<'a>>>(
        &self,
        input: E,
        add_special_tokens: bool,
    ) -> Result<Encoding> {
        self.encode_in(&input.into(), add_special_tokens, Unit::Chars)
    }

    pub fn encode_batch<'a, E: Into<EncodeInput<'a>>>(
        &self,
        inputs: Vec<E>,
        add_special_tokens: bool,
    ) -> Result<Vec<Encoding>> {
        inputs.into_iter().map(|input| self.encode(input, add_special_tokens)).collect()
    }

    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String> {
        let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        let flags = if skip_special_tokens { sys::RANKFEED_SKIP_SPECIAL_TOKENS } else { 0 };
        self.with_encoder(|encoder| encoder.decode(&ids, flags))
    }

    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.vocabulary.id(token)
    }

    pub fn id_to_token(&self, id: u32) -> Option<String> {
        self.vocabulary.piece(id)
    }

    /// Ids, added tokens included.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.info().id_count as usize
    }

    /// The first position id of a row: pad id + 1 in models of RoBERTa's kind, else 0.
    pub fn position_offset(&self) -> usize {
        self.vocabulary.info().position_offset as usize
    }

    fn with_encoder<T>(&self, work: impl FnOnce(&mut Encoder) -> Result<T>) -> Result<T> {
        let idle = self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let mut encoder = match idle {
            Some(encoder) => encoder,
            None => Encoder::new(self.vocabulary.clone())?,
        };
        let result = work(&mut encoder);
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(encoder);
        result
    }

    fn encode_in(&self, input: &EncodeInput, add_special_tokens: bool, unit: Unit) -> Result<Encoding> {
        let flags = if unit == Unit::Chars { sys::RANKFEED_OFFSETS_CODE_POINTS } else { 0 };
        let texts = match input {
            EncodeInput::Single(text) => vec![text.as_ref()],
            EncodeInput::Dual(first, second) => vec![first.as_ref(), second.as_ref()],
        };
        let sequences = self.with_encoder(|encoder| {
            texts.iter().map(|text| encoder.encode(text, flags)).collect::<Result<Vec<Tokens>>>()
        })?;
        let row = build(
            self.vocabulary.model(),
            sequences[0].ids.len(),
            sequences.get(1).map(|second| second.ids.len()),
            add_special_tokens,
            self.truncation.as_ref(),
        )?;
        let mut encoding = Encoding { type_ids: row.type_ids, ..Encoding::default() };
        for origin in row.origins {
            let (id, offsets, sequence) = match origin {
                Origin::Template(id) => (id, (0, 0), None),
                Origin::Text { sequence, token } => {
                    let from = &sequences[sequence];
                    let range = (from.begin[token] as usize, from.end[token] as usize);
                    (from.ids[token] as u32, range, Some(sequence))
                }
            };
            encoding.ids.push(id);
            encoding.offsets.push(offsets);
            encoding.special_tokens_mask.push(u32::from(sequence.is_none()));
            encoding.sequence_ids.push(sequence);
            encoding.tokens.push(self.vocabulary.piece(id).unwrap_or_default());
        }
        Ok(encoding)
    }
}
