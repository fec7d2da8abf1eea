// SPDX-License-Identifier: MIT
//! What needs no reference: errors, decoding, threads, growing texts. RANKFEED_TEST_MODEL: any model with a template.
use rankfeed::{Tokenizer, TruncationParams};

fn tokenizer() -> Tokenizer {
    let model = std::env::var("RANKFEED_TEST_MODEL").expect("RANKFEED_TEST_MODEL names a model");
    Tokenizer::from_file(model).unwrap()
}

#[test]
fn a_missing_file_is_named() {
    let error = Tokenizer::from_file("/nowhere/tokenizer.json").err().unwrap().to_string();
    assert!(error.contains("/nowhere/tokenizer.json"), "{error}");
}

#[test]
fn ids_become_the_text_again() {
    let tokenizer = tokenizer();
    let encoding = tokenizer.encode("What is a panda?", true).unwrap();
    assert_eq!(tokenizer.decode(encoding.get_ids(), true).unwrap(), "What is a panda?");
    assert_eq!(encoding.get_attention_mask(), vec![1; encoding.len()]);
    for (id, token) in encoding.get_ids().iter().zip(encoding.get_tokens()) {
        assert_eq!(tokenizer.id_to_token(*id).as_ref(), Some(token));
        assert_eq!(tokenizer.token_to_id(token), Some(*id));
    }
    assert_eq!(tokenizer.id_to_token(u32::MAX), None);
    assert_eq!(tokenizer.token_to_id("no piece at all"), None);
    assert!(tokenizer.vocab_size() > encoding.len());
}

#[test]
fn texts_may_be_longer_than_any_before() {
    let tokenizer = tokenizer();
    let short = tokenizer.encode("panda ", false).unwrap();
    let long = tokenizer.encode("panda ".repeat(100_000), false).unwrap();
    assert!(long.len() >= 100_000 * short.len() / 2);
    assert_eq!(tokenizer.encode("panda ", false).unwrap(), short);
    assert!(tokenizer.encode("", false).unwrap().is_empty());
}

#[test]
fn truncation_is_refused_or_kept() {
    let mut tokenizer = tokenizer();
    let stride = TruncationParams { stride: 1, ..TruncationParams::default() };
    assert!(tokenizer.with_truncation(Some(stride)).is_err());
    assert_eq!(tokenizer.get_truncation(), None);
    let nothing = TruncationParams { max_length: 0, ..TruncationParams::default() };
    assert!(tokenizer.with_truncation(Some(nothing)).is_err());
    let eight = TruncationParams { max_length: 8, ..TruncationParams::default() };
    let pair = ("What is a panda?", "It is a bear that eats bamboo.");
    let clone = tokenizer.clone();
    let cut = tokenizer.with_truncation(Some(eight)).unwrap().encode(pair, true).unwrap();
    assert_eq!(cut.len(), 8);
    assert!(clone.encode(pair, true).unwrap().len() > 8);
    let two = TruncationParams { max_length: 2, ..TruncationParams::default() };
    assert!(tokenizer.with_truncation(Some(two)).unwrap().encode(pair, true).is_err());
}

#[test]
fn threads_share_one() {
    let tokenizer = tokenizer();
    let expected = tokenizer.encode(("What is a panda?", "A bear."), true).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(tokenizer.encode(("What is a panda?", "A bear."), true).unwrap(), expected);
                }
            });
        }
    });
}
