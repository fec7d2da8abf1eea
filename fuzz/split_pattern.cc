// SPDX-License-Identifier: MIT
// fuzz/split_pattern.cc: any regular expression is a pattern of the family or none, in bounded time, and
// any knobs end the splits of any text: each after the one before it, between characters, the last with the
// text, and the same from the middle on where only a look back would tell. Generated expressions are
// published ones with parts moved.
#include "split/pattern.h"

#include <vector>

#include "base/utf8.h"
#include "builder/split/split_pattern.h"
#include "builder/unicode/unicode_delta.h"
#include "input.h"
#include "target.h"

namespace rankfeed::fuzz {
namespace {

const char* const kParts[] = {"'s|'t|'re|'ve|'m|'ll|'d", "(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)", "?",
                              R"([^\r\n\p{L}\p{N}]?\p{L}+)", R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)", R"(\p{N}{1,3})",
                              R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)",
                              R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)",
                              R"( ?[^\s\p{L}\p{N}]+)", R"([\r\n]*)", R"([\r\n/]*)", R"(\s*[\r\n]+)", R"(\s+(?!\S)|\s+)",
                              R"(\s++$)", R"( ?\p{L}+)", R"(\p{N})", "+", "(?:", ")", "[", "]", "{1,", "}", "\\", "$"};
const char* const kCharacters[] = {"s", "L", "ll", "'", "'", " ", " ", "\n", "\r", "/", "1", "12", "!", "\t", "\u00a0", "\u0301",
                                   "\u017f", "\u4e2d", "\u30fb", "\u01c5", "\u02b0", "\u200d", "\U0001f600"};

Model ModelWithClasses() {
  static std::vector<uint16_t> blocks;
  static std::vector<uint8_t> classes;
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (c % 256 == 0) blocks.push_back(static_cast<uint16_t>(c / 256));
    classes.push_back(builder::HfSplitClass(static_cast<UChar32>(c)));
  }
  Model model = {};
  model.split_classes = {blocks.data(), classes.data(), classes.size()};
  return model;
}

void Run(std::span<const uint8_t> bytes) {
  static const Model model = ModelWithClasses();
  Input in(bytes);
  uint32_t knobs = in.U32();
  std::string text;
  for (size_t n = in.U8(); n > 0; --n) text += in.Pick(kCharacters);
  ++counters.executions;
  if (!in.empty()) {
    const std::string regex = std::string(in.Take(SIZE_MAX));
    const auto read = builder::ReadSplitPattern(regex);
    if (!read) return;
    ++counters.accepted;
    FUZZ_ASSERT(*read != 0 && *read <= split::kMostKnobs);
    FUZZ_ASSERT(builder::ReadSplitPattern(regex) == read);
    knobs = *read;
  }
  const split::Pattern pattern(model, knobs);
  for (size_t at = 0; at < text.size();) {
    const size_t end = pattern.End(text, at);
    FUZZ_ASSERT(end > at && end <= text.size());
    FUZZ_ASSERT(end == text.size() || !utf8::IsContinuation(text[end]));
    // No pattern looks at what is before its match.
    FUZZ_ASSERT(pattern.End(std::string_view(text).substr(at), 0) == end - at);
    at = end;
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 5 + random.Below(40));
  (*input)[4] = static_cast<uint8_t>(random.Below(input->size() - 4));
  input->resize(5 + (*input)[4]);
  if (random.OneIn(3)) return;
  for (size_t n = random.Below(9) + 1; n > 0; --n) {
    const std::string_view part = kParts[random.Below(std::size(kParts))];
    input->insert(input->end(), part.begin(), part.end());
    if (random.OneIn(2)) input->push_back('|');
  }
  if (input->back() == '|') input->pop_back();
}

const Register registered({"split_pattern", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
