// SPDX-License-Identifier: MIT
// bench/bench_peer.cc: one engine of bench/peers/compare.py in a process of its own, as each Python wheel is. Reads
// commands from standard input:
//   ids FILE   writes the ids of all texts: per text a uint32 count and that many int32
//   run        encodes all texts once, ids into one buffer, and answers with "wall_ns cpu_ns tokens"
//   cold       the same with an encoder made anew (empty word cache); making it is not timed
//
// usage: bench_peer rankfeed IMAGE TEXTS.jsonl | bench_peer sentencepiece FILE.model TEXTS.jsonl
#include <sentencepiece_processor.h>
#include <simdjson.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "rankfeed/builder.hpp"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kMaxTextBytes = 1 << 20;
constexpr uint32_t kCacheBytes = 4 << 20;

uint64_t Clock(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "bench_peer: %s\n", what.c_str());
  std::exit(1);
}

// Encodes text i into out, which has room; returns the number of ids.
struct Peer {
  std::function<size_t(const std::string&, int32_t* out, size_t capacity)> encode;
  std::function<void()> reset;
};

int Main(int argc, char** argv) {
  if (argc != 4) Die("usage: bench_peer rankfeed|sentencepiece VOCABULARY TEXTS.jsonl");
  std::vector<std::string> texts;
  size_t bytes = 0;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  if (parser.load_many(argv[3]).get(lines)) Die(std::string(argv[3]) + " cannot be read");
  for (const auto line : lines) {
    std::string_view text;
    if (line["text"].get(text)) Die("a line without text");
    texts.emplace_back(text);
    bytes += text.size() + 8;
  }
  Peer peer;
  sentencepiece::SentencePieceProcessor processor;
  std::unique_ptr<Vocabulary> vocabulary;
  AlignedBytes scratch;
  rankfeed_encoder* encoder = nullptr;
  std::vector<int> piece_ids;
  if (std::string(argv[1]) == "sentencepiece") {
    if (!processor.Load(argv[2]).ok()) Die("sentencepiece cannot load the model");
    peer.encode = [&](const std::string& text, int32_t* out, size_t) {
      if (!processor.Encode(text, &piece_ids).ok()) Die("sentencepiece failed");
      std::memcpy(out, piece_ids.data(), piece_ids.size() * sizeof(int32_t));
      return piece_ids.size();
    };
    peer.reset = [] {};
  } else {
    auto loaded = Vocabulary::Load(argv[2]);
    if (!loaded) Die(loaded.error().message);
    vocabulary = std::make_unique<Vocabulary>(std::move(*loaded));
    const rankfeed_limits limits{sizeof(limits), kMaxTextBytes, 0, kCacheBytes};
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(vocabulary->model(), &limits, &need) != RANKFEED_OK) Die("encoder");
    scratch = AlignedBytes(need);
    peer.reset = [&, limits] {
      if (rankfeed_encoder_init(vocabulary->model(), &limits, scratch.data(), scratch.size(), &encoder) != RANKFEED_OK) {
        Die("encoder");
      }
    };
    peer.reset();
    peer.encode = [&](const std::string& text, int32_t* out, size_t capacity) {
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(capacity);
      io.input_ids = out;
      if (rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io) != RANKFEED_OK) Die("encode failed");
      return size_t{io.count};
    };
  }
  std::vector<int32_t> ids(4 * bytes);
  for (std::string command; std::getline(std::cin, command);) {
    if (command.starts_with("ids ")) {
      std::ofstream out(command.substr(4), std::ios::binary);
      for (const std::string& text : texts) {
        const auto count = static_cast<uint32_t>(peer.encode(text, ids.data(), ids.size()));
        out.write(reinterpret_cast<const char*>(&count), sizeof(count));
        out.write(reinterpret_cast<const char*>(ids.data()), count * sizeof(int32_t));
      }
      out.close();
      std::printf("%s\n", out ? "ok" : "failed");
    } else {
      if (command == "cold") peer.reset();
      const uint64_t wall = Clock(CLOCK_MONOTONIC), cpu = Clock(CLOCK_PROCESS_CPUTIME_ID);
      size_t at = 0;
      for (const std::string& text : texts) at += peer.encode(text, ids.data() + at, ids.size() - at);
      std::printf("%llu %llu %zu\n", static_cast<unsigned long long>(Clock(CLOCK_MONOTONIC) - wall),
                  static_cast<unsigned long long>(Clock(CLOCK_PROCESS_CPUTIME_ID) - cpu), at);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
