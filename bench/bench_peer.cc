// SPDX-License-Identifier: MIT
// bench/bench_peer.cc: one engine of bench/peers/compare.py and stream.py in a process of its own, as each Python wheel is. Reads
// commands from standard input:
//   ids FILE   writes the ids of all texts: per text a uint32 count and that many int32
//   run        encodes all texts, ids into one buffer, again and again until 20 ms are timed, and answers with
//              "wall_ns cpu_ns tokens" of one pass
//   cold       the same with an encoder made anew (empty word cache) for each pass; making it is not timed
//   range FROM TO TIMES   encodes texts [FROM, TO) in order, TIMES times, on one thread, and answers as run does, of all times
//   isa        answers with the instruction set of rankfeed's encoder; RANKFEED_ISA forces one, as rankfeed_force_isa has them
//   resident   answers with the bytes of memory that loading and the passes so far have added, texts and ids apart
//
// With THREADS each thread has its own encoder (libsentencepiece is shared, as it allows) and its share of the texts,
// neighbours in the file; time is then until all are done.
//
// usage: bench_peer rankfeed IMAGE TEXTS.jsonl [THREADS [CACHE_BYTES]] | bench_peer sentencepiece FILE.model TEXTS.jsonl [THREADS]
//        bench_peer compile FILE IMAGE
#include <sentencepiece_processor.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "placed.h"
#include "texts.h"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kMaxTextBytes = 1 << 20;
constexpr uint32_t kCacheBytes = 4 << 20;  // unless the command says otherwise

size_t ResidentBytes() {
  size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

constexpr size_t kTogether = 64;  // texts in one call of rankfeed_encode_batch

// The encoder of one thread: texts into out, one after the other, which has room; returns the number of ids.
struct Worker {
  std::function<size_t(const std::string*, int32_t* out, size_t capacity)> encode;
  std::function<size_t(const std::string*, size_t count, int32_t* out, size_t capacity)> encode_all;
  std::function<void()> reset = [] {};
  std::string isa = "-";
  size_t begin = 0, end = 0, capacity = 0, tokens = 0;  // its texts; room for its ids
  int32_t* ids = nullptr;
};

Worker SentencePieceWorker(const sentencepiece::SentencePieceProcessor& processor) {
  Worker worker;
  auto ids = std::make_shared<std::vector<int>>();
  worker.encode = [ids, &processor](const std::string* text, int32_t* out, size_t) {
    if (!processor.Encode(*text, ids.get()).ok()) Die("sentencepiece failed");
    std::memcpy(out, ids->data(), ids->size() * sizeof(int32_t));
    return ids->size();
  };
  worker.encode_all = [encode = worker.encode](const std::string* texts, size_t count, int32_t* out, size_t capacity) {
    size_t tokens = 0;
    for (size_t i = 0; i < count; ++i) tokens += encode(texts + i, out + tokens, capacity - tokens);
    return tokens;
  };
  return worker;
}

Worker RankfeedWorker(const rankfeed_model* model, uint32_t cache_bytes) {
  struct State {
    AlignedBytes scratch;
    rankfeed_encoder* encoder = nullptr;
  };
  auto state = std::make_shared<State>();
  const rankfeed_limits limits{sizeof(limits), kMaxTextBytes, 0, cache_bytes};
  rankfeed_mem_req need{};
  if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK) Die("encoder");
  state->scratch = AlignedBytes(need);
  Worker worker;
  worker.reset = [=] {
    if (rankfeed_encoder_init(model, &limits, state->scratch.data(), state->scratch.size(), &state->encoder) != RANKFEED_OK) {
      Die("encoder");
    }
  };
  worker.reset();
  worker.isa = rankfeed_encoder_isa(state->encoder);
  worker.encode = [state](const std::string* text, int32_t* out, size_t capacity) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(capacity);
    io.input_ids = out;
    if (rankfeed_encode(state->encoder, {text->data(), text->size()}, nullptr, &io) != RANKFEED_OK) Die("encode failed");
    return size_t{io.count};
  };
  worker.encode_all = [state](const std::string* texts, size_t count, int32_t* out, size_t capacity) {
    size_t tokens = 0;
    for (size_t i = 0; i < count; i += kTogether) {
      rankfeed_text views[kTogether];
      uint32_t cu_seqlens[kTogether + 1];
      const size_t together = std::min(kTogether, count - i);
      for (size_t k = 0; k < together; ++k) views[k] = {texts[i + k].data(), texts[i + k].size()};
      rankfeed_encodings io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(capacity - tokens);
      io.input_ids = out + tokens;
      io.cu_seqlens = cu_seqlens;
      if (rankfeed_encode_batch(state->encoder, views, together, nullptr, &io) != RANKFEED_OK) Die("encode failed");
      tokens += io.count;
    }
    return tokens;
  };
  return worker;
}

// Answers with nanoseconds and tokens.
void Answer(uint64_t wall, uint64_t cpu, size_t tokens) {
  std::printf("%llu %llu %zu\n", static_cast<unsigned long long>(wall), static_cast<unsigned long long>(cpu), tokens);
}

int Main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "compile") {
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    const bool model_file = std::string(argv[2]).ends_with(".model");
    const rankfeed_compile_options options{
        sizeof(options), model_file ? kLinkedParity : int32_t{RANKFEED_PARITY_AUTO}, nullptr};
    if (rankfeed_compile_file(argv[2], argv[3], &options, &error) != RANKFEED_OK) Die(error.message);
    return 0;
  }
  if (argc < 4 || argc > 6) Die("usage: bench_peer rankfeed|sentencepiece VOCABULARY TEXTS.jsonl [THREADS [CACHE_BYTES]]");
  const uint32_t cache_bytes = argc == 6 ? static_cast<uint32_t>(std::strtoul(argv[5], nullptr, 10)) : kCacheBytes;
  const size_t threads = argc >= 5 ? std::strtoul(argv[4], nullptr, 10) : 1;
  ForceIsa();
  const std::vector<std::string> texts = ReadTexts(argv[3]);
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 8;
  std::vector<int32_t> ids(4 * bytes);  // written once here: its pages are not the engine's
  const size_t before = ResidentBytes();
  sentencepiece::SentencePieceProcessor processor;
  std::unique_ptr<measure::PlacedImage> placed;
  std::vector<Worker> workers;
  if (std::string(argv[1]) == "sentencepiece") {
    if (!processor.Load(argv[2]).ok()) Die("sentencepiece cannot load the model");
    for (size_t i = 0; i < threads; ++i) workers.push_back(SentencePieceWorker(processor));
  } else {
    placed = Place(argv[2]);
    for (size_t i = 0; i < threads; ++i) workers.push_back(RankfeedWorker(placed->model(), cache_bytes));
  }
  // Shares of equal size in bytes.
  size_t text = 0, done = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    Worker& worker = workers[i];
    worker.begin = text;
    worker.ids = ids.data() + 4 * done;
    const size_t from = done;
    while (text < texts.size() && (i + 1 == workers.size() || done < bytes * (i + 1) / workers.size())) {
      done += texts[text++].size() + 8;
    }
    worker.end = text;
    worker.capacity = 4 * (done - from);
  }
  const auto pass = [&](Worker& worker) {
    worker.tokens = worker.encode_all(texts.data() + worker.begin, worker.end - worker.begin, worker.ids, worker.capacity);
  };
  for (std::string command; std::getline(std::cin, command);) {
    if (command.starts_with("ids ")) {
      std::ofstream out(command.substr(4), std::ios::binary);
      for (Worker& worker : workers) {
        for (size_t i = worker.begin; i < worker.end; ++i) {
          const auto count = static_cast<uint32_t>(worker.encode(&texts[i], worker.ids, worker.capacity));
          out.write(reinterpret_cast<const char*>(&count), sizeof(count));
          out.write(reinterpret_cast<const char*>(worker.ids), count * sizeof(int32_t));
        }
      }
      out.close();
      std::printf("%s\n", out ? "ok" : "failed");
    } else if (size_t from = 0, to = 0, times = 0; std::sscanf(command.c_str(), "range %zu %zu %zu", &from, &to, &times) == 3) {
      if (from > to || to > texts.size() || workers.size() != 1) Die("range: no such texts, or more than one thread");
      Worker& worker = workers[0];
      const uint64_t wall = Clock(CLOCK_MONOTONIC), cpu = Clock(CLOCK_PROCESS_CPUTIME_ID);
      size_t tokens = 0;
      for (size_t i = 0; i < times; ++i) tokens += worker.encode_all(texts.data() + from, to - from, worker.ids, worker.capacity);
      Answer(Clock(CLOCK_MONOTONIC) - wall, Clock(CLOCK_PROCESS_CPUTIME_ID) - cpu, tokens);
    } else if (command == "isa") {
      std::printf("%s\n", workers[0].isa.c_str());
    } else if (command == "resident") {
      std::printf("%zu\n", ResidentBytes() - before);
    } else {
      uint64_t wall = 0, cpu = 0, passes = 0;
      for (; wall < 20000000; ++passes) {
        for (Worker& worker : workers) {
          if (command == "cold") worker.reset();
        }
        const uint64_t wall_from = Clock(CLOCK_MONOTONIC), cpu_from = Clock(CLOCK_PROCESS_CPUTIME_ID);
        std::vector<std::thread> others;
        for (size_t i = 1; i < workers.size(); ++i) others.emplace_back([&, i] { pass(workers[i]); });
        pass(workers[0]);
        for (std::thread& other : others) other.join();
        wall += Clock(CLOCK_MONOTONIC) - wall_from;
        cpu += Clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_from;
      }
      size_t tokens = 0;
      for (const Worker& worker : workers) tokens += worker.tokens;
      Answer(wall / passes, cpu / passes, tokens);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
