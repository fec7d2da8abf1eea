// SPDX-License-Identifier: MIT
// plain/hf_normalize.h: the normalizers of HuggingFace tokenizers 0.23.2 that files
// use, as functions from string to string. Offsets are not followed.
//
// Unicode data: ICU, corrected by builder/unicode/unicode_delta.h. That header is the one thing shared with
// the engine: it is data, and tests/oracle/unicode_sweep.py checks it against the wheel for every
// code point. Text is valid UTF-8.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "plain/charsmap_rules.h"

namespace rankfeed::plain {

std::u32string DecodeUtf8(std::string_view text);
std::string EncodeUtf8(std::u32string_view text);

// Extended grapheme clusters, UAX #29 with Unicode 17 data.
std::vector<std::u32string> GraphemeClusters(const std::u32string& text);

// Every cluster of less than 6 bytes that some key is a prefix of is replaced as a whole by the
// shortest such key's replacement; other clusters character by character, in the same way.
std::string Precompiled(const CharsmapRules& rules, std::string_view text);

enum class Form { kNfc, kNfd, kNfkc, kNfkd };
std::string NormalizationForm(Form form, std::string_view text);
std::string Lowercase(std::string_view text);
std::string StripAccents(std::string_view text);
std::string Nmt(std::string_view text);
// The first, second and third step of BertNormalizer.
std::string BertCleanText(std::string_view text);
std::string BertSpaceChinese(std::string_view text);
std::string BertStripAccents(std::string_view text);
std::string Strip(std::string_view text, bool left, bool right);
std::string Prepend(std::string_view text, std::string_view prefix);
std::string ReplaceAll(std::string_view text, std::string_view pattern, std::string_view content);
// Runs of at least `least` spaces.
std::string ReplaceSpaceRuns(std::string_view text, size_t least, std::string_view content);
// \s{2,}|[\n\r\t]
std::string ReplaceWhitespaceRuns(std::string_view text, std::string_view content);

// The steps of a normalizer of tokenizer.json. Throws std::runtime_error for one that is not known here.
void AppendNormalizer(const nlohmann::json& n, std::vector<std::function<std::string(const std::string&)>>* list);

}  // namespace rankfeed::plain
