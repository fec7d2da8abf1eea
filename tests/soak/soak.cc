// SPDX-License-Identifier: MIT
// soak/soak.cc: load for as long as one likes. Threads tokenize documents against two vocabularies, one
// of each parity mode, each thread with encoders of its own, while another thread swaps the vocabulary
// under them: it opens a new image, publishes it, waits until the last reader of the old one is gone
// and closes that. Every result is compared with what one thread got before the load began; resident
// memory is sampled: it must not grow after the first third of a run that is long enough to tell.
//
//   rankfeed_soak [--documents N] [--seconds S] [--threads T]...   default: 200000 documents, 2 8 threads
//
// Prints one line of JSON for each number of threads; fails on any difference, and when resident memory
// at the end is above the most of the first third by more than kGrowth and kGrowthPerThread allow.
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rankfeed/builder.h"
#include "rankfeed/rankfeed.hpp"
#include "reference/sp_model_proto.h"
#include "support/stress.h"

namespace rankfeed {
namespace {

constexpr size_t kTexts = 2000;
constexpr size_t kMaxText = 16 << 10;
// Bytes: the allocator's own movements, and for each thread the parts of its encoders' scratch that a
// longer text touches for the first time (two encoders of about 4 MiB, of which texts here use some).
constexpr long kGrowth = 8 << 20, kGrowthPerThread = 512 << 10;
// A swap takes seconds where many threads share few processors, so that the wait for readers samples too.
constexpr uint64_t kWaitsBetweenSamples = 20;
// On a loaded machine all documents may be encoded before the last reader lets go of an old vocabulary: then texts go on
// until one is swapped, but not for ever.
constexpr uint64_t kMostWithoutSwap = 100;
constexpr double kLongEnough = 10;       // seconds; a shorter run is still warming up

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "rankfeed_soak: %s\n", what.c_str());
  std::exit(1);
}

long ResidentBytes() {
  long pages = 0, ignored = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

std::string SentencePieceFile() {
  sp_test::ModelProto model;
  model.AddSpecials();
  model.AddBytes();
  for (const char* piece : {"\u2581", "a", "o", "oo", "ooo", "e", "the", "\u2581the", "ing", "1", "2", ","}) {
    model.Add(piece, -static_cast<float>(std::strlen(piece)));
  }
  model.normalizer.charsmap = sp_test::MakeCharsmap({{"e\u0301", "\u00e9"}, {"\t", " "}, {"\u3000", " "}});
  return sp_test::Serialize(model);
}

std::string HuggingFaceFile() {
  return R"({"added_tokens":[{"id":1,"content":"</s>","special":true,"normalized":false,"lstrip":false,
    "rstrip":false,"single_word":false}],"normalizer":{"type":"NFKC"},"decoder":null,"post_processor":null,
    "pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace",
    "replacement":"▁","prepend_scheme":"always","split":true}]},"model":{"type":"Unigram","unk_id":0,"vocab":[
    ["<unk>",0],["</s>",0],["▁",-2],["a",-2],["o",-2.5],["oo",-4.9],["ooo",-7.4],["e",-2],["the",-3],["▁the",-3],
    ["ing",-3],["1",-3],["2",-3],[",",-3]]}})";
}

// An opened vocabulary in memory of its own; readers hold it while they use it.
struct Vocabulary {
  explicit Vocabulary(const rankfeed_image& image) : bytes({image.size, 64}), storage(rankfeed_model_mem_req()) {
    std::memcpy(bytes.data(), image.data, image.size);
    if (rankfeed_model_open(bytes.data(), image.size, 0, storage.data(), storage.size(), &model, nullptr)) {
      Die("the image does not open");
    }
  }
  ~Vocabulary() { std::memset(bytes.data(), 0xdb, bytes.size()); }  // a late reader would notice
  AlignedBytes bytes, storage;
  rankfeed_model* model = nullptr;
};

rankfeed_image Compile(const std::string& source) {
  rankfeed_image image{};
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  if (rankfeed_compile(source.data(), source.size(), "soak", nullptr, &image, &error)) Die(error.message);
  return image;
}

struct Work {
  rankfeed_image images[2];  // HuggingFace, SentencePiece
  std::vector<std::string> texts;
  std::vector<Encoding> expected[2];
};

rankfeed_encode_options Options(size_t text) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = text % 3 == 0 ? uint32_t{RANKFEED_SPECIALS_ESCAPE} : 0;
  return options;
}

bool Same(const Encoding& a, const Encoding& b) {
  return a.input_ids == b.input_ids && a.offset_begin == b.offset_begin && a.offset_end == b.offset_end;
}

Encoder MakeEncoder(const rankfeed_model* model, bool offsets) {
  auto encoder = Encoder::Create(model, kMaxText, offsets);
  if (!encoder) Die(encoder.error().message);
  return std::move(*encoder);
}

struct Outcome {
  uint64_t documents = 0, tokens = 0, swaps = 0, differences = 0;
  double seconds = 0;
  long early = 0, late = 0, peak = 0;
};

Outcome Run(const Work& work, size_t threads, uint64_t documents, double seconds) {
  // One published vocabulary of each mode; shared_ptr counts the readers.
  std::shared_ptr<Vocabulary> published[2] = {std::make_shared<Vocabulary>(work.images[0]),
                                              std::make_shared<Vocabulary>(work.images[1])};
  std::atomic<uint64_t> next{0}, tokens{0}, differences{0}, swaps{0};
  std::atomic<bool> stop{false};
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<std::thread> workers;
  for (size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Encoding encoding;
      while (!stop) {
        // A vocabulary is held for some hundred documents, then the newest is taken.
        const size_t mode = (t + next) % 2;
        const std::shared_ptr<Vocabulary> vocabulary = std::atomic_load(&published[mode]);
        Encoder plain = MakeEncoder(vocabulary->model, true), fast = MakeEncoder(vocabulary->model, false);
        uint64_t own_tokens = 0, own_differences = 0;
        for (int i = 0; i < 512 && !stop; ++i) {
          const uint64_t document = next++;
          if (document >= (swaps > 0 ? documents : kMostWithoutSwap * documents)) {
            stop = true;
            break;
          }
          const size_t text = document % kTexts;
          const bool offsets = document % 4 == 0;
          const Error error = (offsets ? plain : fast).Encode(work.texts[text], Options(text), &encoding);
          const Encoding& expected = work.expected[mode][text];
          own_tokens += encoding.input_ids.size();
          own_differences += error || (offsets ? !Same(encoding, expected) : encoding.input_ids != expected.input_ids);
        }
        tokens += own_tokens;
        differences += own_differences;
      }
    });
  }
  Outcome outcome;
  uint64_t waits = 0;
  const auto sample = [&] {
    const long resident = ResidentBytes();
    outcome.peak = std::max(outcome.peak, resident);
    const double part = std::max(static_cast<double>(next) / static_cast<double>(documents), elapsed() / seconds);
    if (part < 0.34) outcome.early = std::max(outcome.early, resident);
    outcome.late = resident;
  };
  while (!stop) {
    for (int mode = 0; mode < 2; ++mode) {
      // Open the new one, publish it, drain the old one, close it.
      std::shared_ptr<Vocabulary> old =
          std::atomic_exchange(&published[mode], std::make_shared<Vocabulary>(work.images[mode]));
      while (old.use_count() > 1 && !stop) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (++waits % kWaitsBetweenSamples == 0) sample();
      }
      swaps += old.use_count() == 1;
    }
    if (stop) break;  // readers may still hold an old one, which is no growth
    sample();
    if (elapsed() >= seconds) stop = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (std::thread& worker : workers) worker.join();
  outcome.seconds = elapsed();
  outcome.documents = std::min<uint64_t>(next, documents);
  outcome.tokens = tokens;
  outcome.swaps = swaps;
  outcome.differences = differences;
  return outcome;
}

int Main(int argc, char** argv) {
  uint64_t documents = 200'000;
  double seconds = 1e9;
  std::vector<size_t> threads;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--documents") {
      documents = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--seconds") {
      seconds = std::strtod(argv[i + 1], nullptr);
    } else if (name == "--threads") {
      threads.push_back(std::strtoull(argv[i + 1], nullptr, 10));
    } else {
      Die("usage: rankfeed_soak [--documents N] [--seconds S] [--threads T]...");
    }
  }
  if (threads.empty()) threads = {2, 8};
  Work work{{Compile(HuggingFaceFile()), Compile(SentencePieceFile())}, {}, {}};
  test::StressTexts stress(7, {"the", "ing", "oo", "</s>", "2,000", "\u2581"});
  while (work.texts.size() < kTexts) {
    std::string text = stress.Next();
    if (text.size() <= kMaxText) work.texts.push_back(std::move(text));
  }
  for (int mode = 0; mode < 2; ++mode) {
    const Vocabulary vocabulary(work.images[mode]);
    Encoder encoder = MakeEncoder(vocabulary.model, true);
    for (size_t i = 0; i < kTexts; ++i) {
      work.expected[mode].emplace_back();
      if (const Error error = encoder.Encode(work.texts[i], Options(i), &work.expected[mode][i])) Die(error.message);
    }
  }
  // An arena for each thread would make memory follow the scheduler, and so would glibc's moving threshold: once a
  // block of an encoder's size is freed, later ones come from the heap and leave holes in it.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  int failures = 0;
  for (const size_t t : threads) {
    const Outcome o = Run(work, t, documents, seconds);
    const bool flat = o.seconds < kLongEnough || o.late - o.early <= kGrowth + kGrowthPerThread * static_cast<long>(t);
    const bool good = o.differences == 0 && flat && o.swaps > 0;
    std::printf("{\"soak\": {\"threads\": %zu, \"documents\": %llu, \"tokens\": %llu, \"swaps\": %llu, "
                "\"differences\": %llu, \"seconds\": %.1f, \"resident_early\": %ld, \"resident_end\": %ld, "
                "\"resident_peak\": %ld, \"outcome\": \"%s\"}}\n",
                t, static_cast<unsigned long long>(o.documents), static_cast<unsigned long long>(o.tokens),
                static_cast<unsigned long long>(o.swaps), static_cast<unsigned long long>(o.differences),
                o.seconds, o.early, o.late, o.peak, good ? "clean" : "FAILED");
    std::fflush(stdout);
    failures += !good;
  }
  for (rankfeed_image& image : work.images) rankfeed_image_free(&image);
  return failures != 0;
}

}  // namespace
}  // namespace rankfeed

int main(int argc, char** argv) {
  return rankfeed::Main(argc, argv);
}
