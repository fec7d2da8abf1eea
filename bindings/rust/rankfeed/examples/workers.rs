// SPDX-License-Identifier: MIT
//! Tokenization as text-embeddings-inference has it (core/src/tokenization.rs): workers with a clone of the tokenizer
//! each, requests through a channel, truncation set for each request. There, `use rankfeed::...` takes the place of
//! `use tokenizers::...`; see the README beside the crates.
//!
//!     workers MODEL MAX_LENGTH QUERY DOCUMENT...
//!
//! Prints one line of ids for each document.
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};

use rankfeed::{Encoding, Result, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

enum EncodingInput {
    Dual(String, String),
}

struct Request {
    input: EncodingInput,
    answer: Sender<Result<Encoding>>,
}

fn encode_input(input: EncodingInput, max_input_length: usize, tokenizer: &mut Tokenizer) -> Result<Encoding> {
    let truncation = TruncationParams {
        direction: TruncationDirection::Right,
        max_length: max_input_length,
        strategy: TruncationStrategy::LongestFirst,
        stride: 0,
    };
    let EncodingInput::Dual(first, second) = input;
    tokenizer.with_truncation(Some(truncation))?.encode::<(String, String)>((first, second), true)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 5 {
        return Err("workers MODEL MAX_LENGTH QUERY DOCUMENT...".into());
    }
    let tokenizer = Tokenizer::from_file(&arguments[1])?;
    let max_input_length: usize = arguments[2].parse()?;
    let (requests, queue) = channel::<Request>();
    let queue = Arc::new(Mutex::new(queue));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (queue, mut tokenizer) = (queue.clone(), tokenizer.clone());
            std::thread::spawn(move || loop {
                let next = queue.lock().unwrap().recv();
                match next {
                    Ok(Request { input, answer }) => {
                        let _ = answer.send(encode_input(input, max_input_length, &mut tokenizer));
                    }
                    Err(_) => return,
                }
            })
        })
        .collect();
    let mut answers = Vec::new();
    for document in &arguments[4..] {
        let (answer, result) = channel();
        let request = Request { input: EncodingInput::Dual(arguments[3].clone(), document.clone()), answer };
        requests.send(request).map_err(|_| "the workers are gone")?;
        answers.push(result);
    }
    drop(requests);
    for answer in answers {
        let ids: Vec<String> = answer.recv()??.get_ids().iter().map(u32::to_string).collect();
        println!("{}", ids.join(" "));
    }
    for worker in workers {
        worker.join().expect("a worker ended with a panic");
    }
    Ok(())
}
