// SPDX-License-Identifier: MIT
// fuzz/hf_json.cc: hostile tokenizer.json files (the property is in model_file.h). Generated ones
// are good files with bytes damaged, values put in the place of others, values that fit nowhere,
// and now and then the dearest that there are (tests/support/hostile_files.h). An execution is one
// file.
#include "json_damage.h"
#include "model_file.h"
#include "support/hostile_files.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

void Run(std::span<const uint8_t> file) {
  if (file.empty() || file[0] != '{') return;
  TryModelFile(file);
}

const std::string kValues[] = {"null",
                               "true",
                               "false",
                               "0",
                               "-1",
                               "4294967295",
                               "4294967296",
                               "1e308",
                               "-1e308",
                               "1e400",
                               "1e-400",
                               "-0.0",
                               "0.1",
                               "NaN",
                               "Infinity",
                               "18446744073709551616",
                               "\"\"",
                               "\"a\"",
                               "\"\\u0000\"",
                               "\"\\ud800\"",
                               "\"\\udc00\\ud800\"",
                               "\"\\uD83D\\uDE00\"",
                               "[]",
                               "{}",
                               "[[]]",
                               "[\"a\",-1]",
                               "[\"a\"]",
                               "[\"\",-1]",
                               "{\"type\":\"NFC\"}",
                               "{\"type\":\"BPE\"}",
                               "{\"type\":\"Sequence\",\"normalizers\":[]}",
                               "{\"String\":\"\"}",
                               "{\"Regex\":\"(a*)*b\"}",
                               "\"\xff\"",
                               "\"\xed\xa0\x80\"",
                               "99999999999999999999999999999999999999",
                               "-"};

void Generate(Random& random, Bytes* input) {
  static Pool pool;
  const auto make = [&] {  // small: most have 400 to 1000 bytes, of which the form takes 300
    const Bytes bytes = RandomBytes(random, 300);
    Input in(bytes);
    HfVocabulary vocabulary = DrawHfVocabulary(in);
    const size_t most = random.OneIn(16) ? 60 : 2 + random.Below(10);
    if (vocabulary.pieces.size() > most) vocabulary.pieces.resize(most);
    const bool wordpiece = random.OneIn(3);
    const auto draw = [&] {
      return wordpiece ? DrawWordPieceJson(in, vocabulary) : DrawTokenizerJson(in, vocabulary);
    };
    std::string json = draw();
    for (int tries = 0; tries < 8 && json.size() > 1200; ++tries) {  // without a charsmap
      json = draw();
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
    for (size_t n = 1 + random.Below(3); n > 0; --n) ReplaceValue(random, kValues, &json);
    *input = ToBytes(json);
  } else {
    *input = good;
    Mutate(random, input);
    // Most damage should be to the form: a changed letter of a piece is a good file again, and a
    // good file costs as much as fifty that are refused.
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
