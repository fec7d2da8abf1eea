// SPDX-License-Identifier: MIT
// tests/reference/sp_texts.h: inputs for the comparisons with libsentencepiece: the real files and
// generated strings.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace rankfeed::sp_test {

inline constexpr const char* kXquadLanguages[] = {"ar", "de", "el", "en", "es", "hi",
                                                  "ro", "ru", "th", "tr", "vi", "zh"};

// Path in the folder of real inputs; empty when there is no such file.
inline std::string SharedData(const std::string& name) {
  const char* folder = std::getenv("RANKFEED_SHARED_DATA");
  if (folder == nullptr) return {};
  std::string path = std::string(folder) + "/" + name;
  return std::ifstream(path).good() ? path : std::string();
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The "text" of every line of a JSONL file.
inline std::vector<std::string> ReadTexts(const std::string& path) {
  std::vector<std::string> texts;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  simdjson::padded_string bytes = simdjson::padded_string::load(path);
  if (parser.parse_many(bytes).get(lines) != simdjson::SUCCESS) return texts;
  for (simdjson::dom::element line : lines) {
    texts.emplace_back(std::string_view(line["text"]));
  }
  return texts;
}

// Fragments that meet a rule of the normalizer or of the search.
inline const std::vector<std::string>& StressFragments() {
  using namespace std::string_literals;
  static const std::vector<std::string> fragments = {
      // ASCII, runs that tie, spaces
      "a", "b", "o", "oo", "aaaaaaa", "hello", "World", " ", "  ", "\t", "\n", "\r\n", "1", "2,000",
      ".", "-", "\"", "``", "''",
      // white space and controls with and without a rule
      "\u0085", "\u00a0", "\u00ad", "\u1680", "\u2000", "\u200b", "\u200c", "\u200d", "\u2028",
      "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\ufffd", "\u2581", "\u2581\u2581", "\x01",
      "\x1f", "\x7f", "\0"s, "\0\0"s,
      // charsmap: long outputs, long keys, combining sequences, half-width kana, Hangul
      "\ufb01", "\ufdfa", "\uff76\uff9e", "\uff8a\uff9f", "\uff21", "\uff21\u0301", "e\u0301",
      "e\u0301\u0323", "a\u0302\u0301", "\u212b\u0301", "\u0301", "\u0345", "\u00bd", "\u2460",
      "\u1112\u1161\u11ab", "\ud55c", "\u0915\u094d\u0937", "\u0e01\u0e33", "\u0644\u0627",
      "\u0600", "\u3099", "\u30ab\u3099",
      // 4-byte characters, flags, ZWJ sequences
      "\U0001f600", "\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea", "\U0001d400",
      "\U0010ffff", "\U0002f800",
      // ill-formed: lone continuation, overlong, surrogate, too large, cut sequences
      "\x80", "\xbf\xbf", "\xc0\x80", "\xc1", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
      "\xf8\x88\x80\x80\x80", "\xff", "\xe2\x96", "\xe2", "\xf0\x9f\x98", "\xc3", "\xef\xbf",
      // words and scripts
      "the", "ing", "Weltanschauung", "\u4e2d\u56fd", "\u65e5\u672c\u8a9e", "\u3053\u3093",
      "\u0e44\u0e17\u0e22", "\u0420\u043e\u0441", "\u05e9\u05dc", "\u0639\u0631", "<s>", "</s>",
      "<unk>", "<0x41>", "<pad>", "<mask>"};
  return fragments;
}

// A string of up to max_fragments fragments; about one in ten gets a random byte changed.
inline std::string StressText(std::mt19937_64& random, size_t max_fragments = 12) {
  const auto& fragments = StressFragments();
  std::string text;
  const size_t count = random() % (max_fragments + 1);
  for (size_t i = 0; i < count; ++i) {
    const std::string& fragment = fragments[random() % fragments.size()];
    const size_t repeat = random() % 16 == 0 ? 1 + random() % 20 : 1;
    for (size_t r = 0; r < repeat; ++r) text += fragment;
  }
  if (!text.empty() && random() % 10 == 0) {
    text[random() % text.size()] = static_cast<char>(random());
  }
  if (!text.empty() && random() % 16 == 0) text.resize(random() % text.size());
  return text;
}

}  // namespace rankfeed::sp_test
