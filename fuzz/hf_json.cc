// SPDX-License-Identifier: MIT
// fuzz/hf_json.cc: hostile tokenizer.json files (the property is in model_file.h). Generated ones are
// good files with bytes damaged, values put in the place of others, values that fit nowhere, and now
// and then the dearest that there are (tests/support/hostile_files.h). An execution is one file.
#include "model_file.h"
#include "support/hostile_files.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

void Run(std::span<const uint8_t> file) {
  if (file.empty() || file[0] != '{') return;
  TryModelFile(file);
}

// Where a JSON value begins: after ':', ',' or '['; not inside strings, roughly.
std::vector<size_t> ValueStarts(std::string_view json) {
  std::vector<size_t> starts;
  bool quoted = false;
  for (size_t i = 0; i + 1 < json.size(); ++i) {
    if (json[i] == '"' && (i == 0 || json[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && (json[i] == ':' || json[i] == ',' || json[i] == '[')) starts.push_back(i + 1);
  }
  return starts;
}

size_t ValueEnd(std::string_view json, size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"' && json[at - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') {
      if (depth-- == 0) break;
    }
    if (c == ',' && depth == 0) break;
  }
  return at;
}

void ReplaceValue(Random& random, std::string* json) {
  static const std::string kValues[] = {
      "null", "true", "false", "0", "-1", "4294967295", "4294967296", "1e308", "-1e308", "1e400",
      "1e-400", "-0.0", "0.1", "NaN", "Infinity", "18446744073709551616", "\"\"", "\"a\"",
      "\"\\u0000\"", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\uD83D\\uDE00\"", "[]", "{}", "[[]]",
      "[\"a\",-1]", "[\"a\"]", "[\"\",-1]", "{\"type\":\"NFC\"}", "{\"type\":\"BPE\"}",
      "{\"type\":\"Sequence\",\"normalizers\":[]}", "{\"String\":\"\"}", "{\"Regex\":\"(a*)*b\"}",
      "\"\xff\"", "\"\xed\xa0\x80\"", "99999999999999999999999999999999999999", "-"};
  const std::vector<size_t> starts = ValueStarts(*json);
  if (starts.empty()) return;
  const size_t at = starts[random.Below(starts.size())];
  const size_t end = ValueEnd(*json, at);
  if (random.OneIn(4)) {  // another value of the same file
    const size_t other = starts[random.Below(starts.size())];
    const std::string value = json->substr(other, ValueEnd(*json, other) - other);
    json->replace(at, end - at, value);
  } else if (random.OneIn(24)) {  // deep nesting
    const size_t depth = 1 + random.Below(1200);
    json->replace(at, end - at, std::string(depth, '[') + std::string(depth, ']'));
  } else {
    json->replace(at, end - at, kValues[random.Below(std::size(kValues))]);
  }
}

void Generate(Random& random, Bytes* input) {
  static Pool pool;
  const auto make = [&] {  // small: most have 400 to 1000 bytes, of which the form takes 300
    const Bytes bytes = RandomBytes(random, 300);
    Input in(bytes);
    HfVocabulary vocabulary = DrawHfVocabulary(in);
    const size_t most = random.OneIn(16) ? 60 : 2 + random.Below(10);
    if (vocabulary.pieces.size() > most) vocabulary.pieces.resize(most);
    std::string json = DrawTokenizerJson(in, vocabulary);
    for (int tries = 0; tries < 8 && json.size() > 1200; ++tries) {  // without a charsmap
      json = DrawTokenizerJson(in, vocabulary);
    }
    return ToBytes(json);
  };
  const Bytes& good = pool.Pick(random, make);
  if (random.OneIn(2048)) {  // as dear as its size can be
    const auto& files = test::HostileJson();
    *input = ToBytes(files[random.Below(files.size())].make(1 + random.Below(100'000)));
    return;
  }
  const size_t how = random.Below(512);
  if (how == 0) {
    *input = good;
  } else if (how < 40) {
    std::string json(good.begin(), good.end());
    for (size_t n = 1 + random.Below(3); n > 0; --n) ReplaceValue(random, &json);
    *input = ToBytes(json);
  } else {
    *input = good;
    Mutate(random, input);
    // Most damage should be to the form: a changed letter of a piece is a good file again, and a good
    // file costs as much as fifty that are refused.
    if (!random.OneIn(64) && !input->empty()) {
      static constexpr char kForm[] = "{}[]\",:\\0tfn-e.\x01\xff";
      (*input)[random.Below(input->size())] =
          static_cast<uint8_t>(kForm[random.Below(sizeof(kForm) - 1)]);
    }
    if (!input->empty()) (*input)[0] = '{';
  }
}

const Register registered({"hf_json", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
