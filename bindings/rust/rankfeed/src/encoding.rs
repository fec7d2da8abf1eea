// SPDX-License-Identifier: MIT
//! What a text, or a pair of texts, becomes; with the method names of the tokenizers crate.

/// The columns of an encoding, one entry per token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    pub(crate) ids: Vec<u32>,
    pub(crate) type_ids: Vec<u32>,
    pub(crate) tokens: Vec<String>,
    pub(crate) offsets: Vec<(usize, usize)>,
    pub(crate) special_tokens_mask: Vec<u32>,
    pub(crate) sequence_ids: Vec<Option<usize>>,
}

impl Encoding {
    pub fn len(&self) -> usize {
        self.ids.len()
    }
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
    pub fn get_ids(&self) -> &[u32] {
        &self.ids
    }
    pub fn get_type_ids(&self) -> &[u32] {
        &self.type_ids
    }
    /// Pieces as the vocabulary writes them; the unknown piece for what it lacks.
    pub fn get_tokens(&self) -> &[String] {
        &self.tokens
    }
    /// Half-open, in the token's own sequence; (0, 0) for what the template added.
    pub fn get_offsets(&self) -> &[(usize, usize)] {
        &self.offsets
    }
    /// 1 for what the template added.
    pub fn get_special_tokens_mask(&self) -> &[u32] {
        &self.special_tokens_mask
    }
    /// All 1: nothing is padded here.
    pub fn get_attention_mask(&self) -> Vec<u32> {
        vec![1; self.len()]
    }
    /// 0 or 1 for tokens of the first or second text, None for what the template added.
    pub fn get_sequence_ids(&self) -> &[Option<usize>] {
        &self.sequence_ids
    }
}
