// SPDX-License-Identifier: MIT
// tests/fault/dear_texts.cc: encodes files one by one from an empty word cache on, for callgrind to count
// the instructions of each (dear_texts_test.py).
//
// usage: dear_texts IMAGE FILE...   encodes all without offsets, then all with; prints the bytes of each, and
// callgrind writes a profile for each
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rankfeed/builder.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // the script finds no profiles, and says so
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "dear_texts: %s\n", why.c_str());
  std::exit(1);
}

std::string Read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(std::string(path) + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Counts one text in a new encoder, so that nothing of it is in the word cache.
void Count(const rankfeed_model* model, const std::string& text, bool offsets) {
  constexpr uint32_t kMaxTextBytes = 1 << 20, kCacheBytes = 1 << 18;
  auto encoder = rankfeed::Encoder::Create(model, kMaxTextBytes, offsets, kCacheBytes);
  if (!encoder) Fail(encoder.error().message);
  std::vector<int32_t> ids(1 << 20);
  std::vector<uint32_t> begin(ids.size()), end(ids.size());
  rankfeed_encoding io{};
  io.struct_size = sizeof(io);
  io.capacity = static_cast<uint32_t>(ids.size());
  io.input_ids = ids.data();
  if (offsets) io.offset_begin = begin.data(), io.offset_end = end.data();
  CALLGRIND_START_INSTRUMENTATION;
  const rankfeed_status status =
      rankfeed_encode(encoder->get(), {text.data(), text.size()}, nullptr, &io);
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT("text");
  if (status != RANKFEED_OK) Fail(rankfeed_status_name(status));
  std::printf("%zu\n", text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) Fail("usage: dear_texts IMAGE FILE...");
  auto vocabulary = rankfeed::Vocabulary::Load(argv[1]);
  if (!vocabulary) Fail(vocabulary.error().message);
  for (const bool offsets : {false, true}) {
    for (int i = 2; i < argc; ++i) Count(vocabulary->model(), Read(argv[i]), offsets);
  }
  return 0;
}
