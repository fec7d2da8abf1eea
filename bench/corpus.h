// SPDX-License-Identifier: MIT
// bench/corpus.h: the texts benchmarks run on: XQuAD passages and questions by language, from the
// folder in RANKFEED_SHARED_DATA, and the streams that bench/text_streams.py assembles.
#pragma once

#include <string>
#include <vector>

namespace rankfeed::bench {

struct Corpus {
  std::string name;
  std::vector<std::string> passages, questions;
  size_t passage_bytes = 0;
};

// "en" ... "zh", or "all" for the 12 languages interleaved passage by passage. Empty passages if
// the files are absent.
Corpus LoadXquad(const std::string& language);

// The English passages with bad UTF-8, a U+2581 or a special token in every thousandth byte.
Corpus LoadOdd();

// The streams "many" and "english" of bench/text_streams.py, when RANKFEED_MANY_LANGUAGES and RANKFEED_ENGLISH name their
// files; else no passages.
Corpus LoadManyLanguages();
Corpus LoadEnglish();

// Code and Markdown with its indentation: files of this tree, each cut into texts of about 2,000 bytes at a line.
Corpus LoadCode();

// RANKFEED_SHARED_DATA with a file name appended.
std::string SharedFile(const std::string& name);

}  // namespace rankfeed::bench
