// SPDX-License-Identifier: MIT
// fuzz/vocab_txt.cc: hostile vocab.txt files, read with the presets of WordPiece (the property is in
// model_file.h). Generated ones are lists of pieces with bytes damaged, lines moved and white space at
// their ends. An execution is one file.
#include "model_file.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

void Run(std::span<const uint8_t> file) {
  static const char* const kPresets[] = {"bert", "bert-cased", "mpnet"};
  TryModelFile(file, kPresets[file.size() % 3]);
}

void Generate(Random& random, Bytes* input) {
  static Pool pool;
  const auto make = [&] {
    const Bytes bytes = RandomBytes(random, 300);
    Input in(bytes);
    static const char* const kEnds[] = {"\n", "\n", "\n", "\r\n", " \n", "\u2028\n", "\n\n"};
    std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n<s>\n</s>\n";
    for (const auto& [piece, score] : DrawHfVocabulary(in).pieces) {
      lines += (in.OneIn(2) ? "##" : "") + piece + in.Pick(kEnds);
    }
    return ToBytes(lines);
  };
  *input = pool.Pick(random, make);
  if (!random.OneIn(16)) Mutate(random, input);
}

const Register registered({"vocab_txt", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
