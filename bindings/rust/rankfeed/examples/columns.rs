// SPDX-License-Identifier: MIT
//! Prints the columns of encodings, for comparison with another tokenizer. Lines of standard input, with tabs between:
//! max_length (0: none), strategy, direction, add_special_tokens (0 or 1), a text, and possibly a second one.
//!
//!     columns MODEL <lines
//!
//! One line for each: ids, type ids, special tokens mask, sequence ids (-1: none), begins, ends in code points, with bars
//! between; "error" where there is one.
use std::io::{BufRead, Write};

use rankfeed::{Encoding, Result, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

fn truncation(fields: &[&str]) -> Result<Option<TruncationParams>> {
    let max_length: usize = fields[0].parse()?;
    let strategy = match fields[1] {
        "only_first" => TruncationStrategy::OnlyFirst,
        "only_second" => TruncationStrategy::OnlySecond,
        _ => TruncationStrategy::LongestFirst,
    };
    let direction = match fields[2] {
        "left" => TruncationDirection::Left,
        _ => TruncationDirection::Right,
    };
    Ok((max_length != 0).then_some(TruncationParams { direction, max_length, strategy, stride: 0 }))
}

fn words<T: ToString>(column: impl Iterator<Item = T>) -> String {
    column.map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

fn columns(encoding: &Encoding) -> String {
    let sequence = |id: &Option<usize>| id.map_or(-1, |id| id as i64);
    [
        words(encoding.get_ids().iter()),
        words(encoding.get_type_ids().iter()),
        words(encoding.get_special_tokens_mask().iter()),
        words(encoding.get_sequence_ids().iter().map(sequence)),
        words(encoding.get_offsets().iter().map(|range| range.0)),
        words(encoding.get_offsets().iter().map(|range| range.1)),
    ]
    .join("|")
}

fn main() -> Result<()> {
    let model = std::env::args().nth(1).ok_or("columns MODEL <lines")?;
    let mut tokenizer = Tokenizer::from_file(model)?;
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        tokenizer.with_truncation(truncation(&fields)?)?;
        let special = fields[3] == "1";
        let encoding = match fields.get(5) {
            Some(second) => tokenizer.encode_char_offsets((fields[4], *second), special),
            None => tokenizer.encode_char_offsets(fields[4], special),
        };
        match encoding {
            Ok(encoding) => writeln!(out, "{}", columns(&encoding))?,
            Err(_) => writeln!(out, "error")?,
        }
    }
    Ok(())
}
