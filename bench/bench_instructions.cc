// SPDX-License-Identifier: MIT
// bench/bench_instructions.cc: encodes the texts of a JSONL file once with an empty word cache, then ROUNDS times more, and
// prints bytes and tokens of one round: the program bench/callgrind.py counts, in first_pass() and in warm_rounds().
//
// usage: bench_instructions VOCABULARY TEXTS.jsonl ROUNDS
//
// bench_instructions_planted is the same with RANKFEED_PLANTED_DELAY defined: a few instructions more for every byte, a
// regression that the gate of callgrind.py has to see (callgrind_test.sh).
#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rankfeed/builder.hpp"

namespace {

struct Work {
  rankfeed_encoder* encoder;
  std::vector<std::string> texts;
  std::vector<int32_t> ids = std::vector<int32_t>(1 << 18);
  size_t tokens = 0;  // of the last round

  void Round() {
    tokens = 0;
    for (const std::string& text : texts) {
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(ids.size());
      io.input_ids = ids.data();
      if (rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io) != RANKFEED_OK) std::exit(1);
      tokens += io.count;
#ifdef RANKFEED_PLANTED_DELAY
      for (size_t i = 0; i < text.size(); ++i) asm volatile("" : : "r"(i));
#endif
    }
  }
};

}  // namespace

// Names that callgrind finds.
extern "C" {
[[gnu::noinline]] void first_pass(Work* work) { work->Round(); }
[[gnu::noinline]] void warm_rounds(Work* work, long rounds) {
  for (; rounds > 0; --rounds) work->Round();
}
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto vocabulary = rankfeed::Vocabulary::Load(argv[1]);
  if (!vocabulary) return std::fprintf(stderr, "%s\n", vocabulary.error().message.c_str()), 1;
  auto encoder = rankfeed::Encoder::Create(vocabulary->model(), 1 << 18, false, 1 << 20);
  if (!encoder) return std::fprintf(stderr, "%s\n", encoder.error().message.c_str()), 1;
  Work work{encoder->get(), {}};
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  if (parser.load_many(argv[2]).get(lines)) return std::fprintf(stderr, "%s: cannot be read\n", argv[2]), 1;
  size_t bytes = 0;
  for (const auto line : lines) {
    std::string_view text;
    if (line["text"].get(text)) continue;
    work.texts.emplace_back(text);
    bytes += text.size();
  }
  first_pass(&work);
  warm_rounds(&work, std::atol(argv[3]));
  std::printf("%zu %zu\n", bytes, work.tokens);
  return 0;
}
