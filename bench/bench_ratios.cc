// SPDX-License-Identifier: MIT
// bench/bench_ratios.cc: how many times faster than other exact engines, one thread, XLM-R vocabulary.
//
// Engines, in one process on the same texts: rankfeed in both parity modes, libsentencepiece, and whole_sentence (64-byte
// trie nodes and one search over the sentence: whole_sentence.h). Rows:
//
//   cold     the word cache is emptied, then every text once; again until 100 ms are timed, so that the CPU's caches are as the
//            engine itself leaves them
//   first    one such pass, right after another engine's
//   stream   new texts on a cache that has seen the language: the last quarter of 40 MB of English documentation, every text
//            once, after the other three quarters. The stream is that of `bench/text_streams.py --stream english`, its file
//            named by RANKFEED_ENGLISH; all its texts are distinct. Engines that remember nothing encode only the quarter.
//   eighth   new texts on a cache that has seen few: an eighth of XQuAD's English (190 KB) at a time, after the other seven
// In all these, rankfeed encodes 64 texts a call (rankfeed_encode_batch), and once more one by one. Of many languages it is the
// stream of `bench/text_streams.py`, its file named by RANKFEED_MANY_LANGUAGES.
//
//   p50      of single calls on English documents of about 512 tokens, four passes: each with an encoder made just before (cold),
//            and the same again at once (warm)
//
// Ids of every text of every row are compared with libsentencepiece's before anything is timed (rankfeed's HuggingFace mode:
// fast path with general path); a difference ends the program with exit code 1. Then rounds: each engine once, in an order
// that changes from round to round; a ratio is taken within a round, and median, lowest and highest round are printed.
// Times are the thread's CPU time, single calls the monotonic clock.
//
// RANKFEED_ISA names the instruction set that all encoders are forced to, as rankfeed_force_isa has them.
//
// usage: bench_ratios [--rounds N] [--json FILE] [--rows NAME,...] [--engines NAME,...]
//   --engines  those that are timed; ids of all are compared all the same
#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "corpus.h"
#include "image/model.h"
#include "measure.h"
#include "placed.h"
#include "whole_sentence.h"

namespace rankfeed::bench {
namespace {

using Texts = std::vector<std::string>;

constexpr uint32_t kMaxTextBytes = 1 << 20;
// What a stream of tens of megabytes fills; else a smaller one, which is quick to make.
constexpr uint32_t kCacheBytes = 1 << 20, kStreamCacheBytes = 4 << 20;
constexpr size_t kTogether = 64;  // texts in one call of rankfeed_encode_batch

struct Engine {
  std::string name;
  std::function<size_t(const std::string&, int32_t* out)> encode;
  std::function<void()> reset = {};  // forgets what it has seen; empty in an engine that remembers nothing
  // Ids of up to kTogether texts, one behind the other; returns how many.
  std::function<size_t(const std::string* texts, size_t count, int32_t* out)> encode_together = {};
};

// An image of a file of the shared folder, on the largest pages there are, and an encoder over it.
class Rankfeed {
 public:
  Rankfeed(const std::string& file, bool offsets, int32_t parity = RANKFEED_PARITY_AUTO) {
    placed_ = Place(SharedFile(file), parity);
    limits_ = {sizeof(limits_), kMaxTextBytes, offsets ? 1u : 0u, kStreamCacheBytes};
    rankfeed_mem_req need{};
    Check(rankfeed_encoder_mem_req(placed_->model(), &limits_, &need));
    memory_ = AlignedBytes(need);
    begin_.resize(offsets ? kMaxTextBytes : 0);
    Reset();
  }
  void UseCache(uint32_t bytes) {
    limits_.cache_bytes = bytes;
    Reset();
  }
  void Reset() { Check(rankfeed_encoder_init(placed_->model(), &limits_, memory_.data(), memory_.size(), &encoder_)); }
  size_t Encode(const std::string& text, int32_t* out) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = kMaxTextBytes;
    io.input_ids = out;
    io.offset_begin = begin_.empty() ? nullptr : begin_.data();
    Check(rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io));
    return io.count;
  }
  size_t EncodeTogether(const std::string* texts, size_t count, int32_t* out) {
    rankfeed_text views[kTogether];
    uint32_t cu_seqlens[kTogether + 1];
    for (size_t i = 0; i < count; ++i) views[i] = {texts[i].data(), texts[i].size()};
    rankfeed_encodings io{};
    io.struct_size = sizeof(io);
    io.capacity = kMaxTextBytes;
    io.input_ids = out;
    io.cu_seqlens = cu_seqlens;
    Check(rankfeed_encode_batch(encoder_, views, count, nullptr, &io));
    return io.count;
  }
  const receipt::PlacedImage& placed() const { return *placed_; }
  const char* isa() const { return rankfeed_encoder_isa(encoder_); }

 private:
  std::unique_ptr<receipt::PlacedImage> placed_;
  rankfeed_limits limits_{};
  AlignedBytes memory_;
  std::vector<uint32_t> begin_;
  rankfeed_encoder* encoder_ = nullptr;
};

double Nanoseconds(const Engine& engine, const Texts& texts, size_t begin, size_t end, int32_t* out) {
  const uint64_t start = Clock(CLOCK_THREAD_CPUTIME_ID);
  if (engine.encode_together) {
    for (size_t i = begin; i < end; i += kTogether) engine.encode_together(&texts[i], std::min(kTogether, end - i), out);
  } else {
    for (size_t i = begin; i < end; ++i) engine.encode(texts[i], out);
  }
  return static_cast<double>(Clock(CLOCK_THREAD_CPUTIME_ID) - start);
}

void Reset(const Engine& engine) {
  if (engine.reset) engine.reset();
}

double First(const Engine& engine, const Texts& texts, int32_t* out) {
  Reset(engine);
  return Nanoseconds(engine, texts, 0, texts.size(), out);
}

double Cold(const Engine& engine, const Texts& texts, int32_t* out) {
  double total = 0, passes = 0;
  for (; total < 100e6; ++passes) total += First(engine, texts, out);
  return total / passes;
}

// Where the timed quarter of a steady stream begins.
size_t LastQuarter(const Texts& texts) { return texts.size() - texts.size() / 4; }

double Stream(const Engine& engine, const Texts& texts, int32_t* out) {
  const size_t begin = LastQuarter(texts);
  Reset(engine);
  if (engine.reset) (void)Nanoseconds(engine, texts, 0, begin, out);
  return Nanoseconds(engine, texts, begin, texts.size(), out);
}

double Eighth(const Engine& engine, const Texts& texts, int32_t* out) {
  constexpr size_t kParts = 8;
  double ns = 0;
  for (size_t part = 0; part < kParts; ++part) {
    const size_t begin = texts.size() * part / kParts, end = texts.size() * (part + 1) / kParts;
    Reset(engine);
    (void)Nanoseconds(engine, texts, 0, begin, out);
    (void)Nanoseconds(engine, texts, end, texts.size(), out);
    ns += Nanoseconds(engine, texts, begin, end, out);
  }
  return ns;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Single(const Engine& engine, const Texts& texts, bool warm, int32_t* out) {
  constexpr int kPasses = 4;  // so that the CPU's caches are as the engine itself leaves them
  std::vector<double> ns;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const std::string& text : texts) {
      if (warm) {
        engine.encode(text, out);
      } else {
        Reset(engine);
      }
      const uint64_t start = Clock(CLOCK_MONOTONIC);
      engine.encode(text, out);
      ns.push_back(static_cast<double>(Clock(CLOCK_MONOTONIC) - start));
    }
  }
  return Median(ns);
}

// Passages joined and cut at a space to at most 512 tokens, at least 500.
Texts Documents(const Texts& passages, const Engine& engine, int32_t* out) {
  Texts documents;
  std::string text;
  for (const std::string& passage : passages) {
    text += passage + " ";
    while (engine.encode(text, out) > 512) text.resize(text.rfind(' ', text.size() - 2) + 1);
    if (engine.encode(text, out) < 500) continue;
    documents.push_back(std::move(text));
    text.clear();
  }
  return documents;
}

struct Row {
  std::string name, what;
  const Texts* texts;
  std::function<double(const Engine&, const Texts&, int32_t*)> time;
  size_t rounds;
  uint32_t cache_bytes = kCacheBytes;
  size_t first = 0;  // the texts before it are not timed
  std::string without_texts = "RANKFEED_SHARED_DATA has no texts of it";
};

int Main(int argc, char** argv) {
  size_t rounds = 5;
  std::string json_file, only, timed;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::strtoul(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--json") == 0) json_file = argv[i + 1];
    else if (std::strcmp(argv[i], "--rows") == 0) only = std::string(",") + argv[i + 1] + ",";
    else if (std::strcmp(argv[i], "--engines") == 0) timed = std::string(",") + argv[i + 1] + ",";
    else Die("usage: bench_ratios [--rounds N] [--json FILE] [--rows NAME,...] [--engines NAME,...]");
  }
  if (const char* isa = std::getenv("RANKFEED_ISA"); isa != nullptr && rankfeed_force_isa(isa) != RANKFEED_OK) {
    Die(std::string("RANKFEED_ISA: this CPU or this build has no ") + isa);
  }
  sentencepiece::SentencePieceProcessor processor;
  const Corpus english = LoadXquad("en");
  if (!processor.Load(SharedFile("xlmr.model")).ok() || english.passages.empty()) {
    Die("not run: no XLM-R vocabulary or texts in RANKFEED_SHARED_DATA");
  }
  Rankfeed sp("xlmr.model", false, kLinkedParity), hf("xlmr.tokenizer.json", false), hf_plain("xlmr.tokenizer.json", true);
  const rankfeed_model& model = *sp.placed().model();
  WholeSentence whole(processor, Charsmap(model.charsmap_units, model.charsmap_pool));
  std::vector<int> pieces;
  std::vector<Engine> engines = {
      {"rankfeed_sp", [&](const std::string& t, int32_t* out) { return sp.Encode(t, out); }, [&] { sp.Reset(); }},
      {"rankfeed_hf", [&](const std::string& t, int32_t* out) { return hf.Encode(t, out); }, [&] { hf.Reset(); }},
      {"sentencepiece", [&](const std::string& t, int32_t* out) {
         if (!processor.Encode(t, &pieces).ok()) Die("sentencepiece failed");
         std::memcpy(out, pieces.data(), pieces.size() * sizeof(int32_t));
         return pieces.size();
       }},
      {"whole_sentence", [&](const std::string& t, int32_t* out) { return whole.Encode(t, out); }},
      {"rankfeed_sp_single", [&](const std::string& t, int32_t* out) { return sp.Encode(t, out); }, [&] { sp.Reset(); }}};
  engines[0].encode_together = [&](const std::string* t, size_t n, int32_t* out) { return sp.EncodeTogether(t, n, out); };
  engines[1].encode_together = [&](const std::string* t, size_t n, int32_t* out) { return hf.EncodeTogether(t, n, out); };

  std::vector<int32_t> ids(kMaxTextBytes), other(kMaxTextBytes);
  const Corpus all = LoadXquad("all"), thai = LoadXquad("th"), chinese = LoadXquad("zh"), many = LoadManyLanguages(),
               documentation = LoadEnglish();
  const Texts documents = Documents(english.passages, engines[0], ids.data());
  const auto warm = [](const Engine& e, const Texts& t, int32_t* out) { return Single(e, t, true, out); };
  const auto cold = [](const Engine& e, const Texts& t, int32_t* out) { return Single(e, t, false, out); };
  std::vector<Row> rows = {
      {"en_cold", "English, cold", &english.passages, Cold, rounds},
      {"en_first", "English, cold, right after another engine", &english.passages, First, rounds},
      {"en_stream", "English, steady stream of new documents", &documentation.passages, Stream, rounds, kStreamCacheBytes,
       LastQuarter(documentation.passages), "RANKFEED_ENGLISH names no file"},
      {"en_eighth", "English, XQuAD, an eighth after the other seven", &english.passages, Eighth, rounds, kStreamCacheBytes},
      {"all_cold", "12 languages mixed, cold", &all.passages, Cold, rounds},
      {"many_cold", "many languages, cold stream", &many.passages, Cold, std::min<size_t>(rounds, 5), kCacheBytes, 0,
       "RANKFEED_MANY_LANGUAGES names no file"},
      {"th_cold", "Thai, cold", &thai.passages, Cold, rounds},
      {"zh_cold", "Chinese, cold", &chinese.passages, Cold, rounds},
      {"document_cold", "p50 of one 512-token English document, cold", &documents, cold, rounds},
      {"document_warm", "p50 of one 512-token English document, warm", &documents, warm, rounds}};
  std::erase_if(rows, [&](const Row& r) { return !only.empty() && only.find("," + r.name + ",") == std::string::npos; });

  for (const Row& row : rows) {
    for (size_t i = 0; i < row.texts->size(); i += kTogether) {
      for (const size_t engine : {0u, 1u}) {
        const size_t count = std::min(kTogether, row.texts->size() - i);
        const size_t got = engines[engine].encode_together(&(*row.texts)[i], count, ids.data());
        size_t at = 0;
        for (size_t k = 0; k < count; ++k) {
          const size_t n = engines[engine].encode((*row.texts)[i + k], other.data());
          if (at + n > got || std::memcmp(ids.data() + at, other.data(), n * sizeof(int32_t)) != 0) Die(row.name + ": ids differ in a batch");
          at += n;
        }
        if (at != got) Die(row.name + ": ids differ in a batch");
      }
    }
    for (const std::string& text : *row.texts) {
      const size_t count = engines[2].encode(text, ids.data());
      for (const size_t engine : {0u, 3u}) {
        const size_t got = engines[engine].encode(text, other.data());
        if (got != count || std::memcmp(ids.data(), other.data(), count * sizeof(int32_t)) != 0) {
          Die(row.name + ": ids of " + engines[engine].name + " and libsentencepiece differ: " + text.substr(0, 200));
        }
      }
      const size_t plain = hf_plain.Encode(text, ids.data()), fast = hf.Encode(text, other.data());
      if (plain != fast || std::memcmp(ids.data(), other.data(), plain * sizeof(int32_t)) != 0) {
        Die(row.name + ": fast and general path of HuggingFace parity differ: " + text.substr(0, 200));
      }
    }
  }

  nlohmann::ordered_json report;
  report["pages"] = {{"kind", sp.placed().ladder().obtained.kind}, {"page_bytes", sp.placed().ladder().obtained.page_size}};
  report["simd_target"] = sp.isa();
  report["cache_bytes"] = kCacheBytes;
  report["stream_cache_bytes"] = kStreamCacheBytes;
  report["texts_together"] = kTogether;
  report["image_bytes"] = sp.placed().size();
  report["whole_sentence_trie_bytes"] = whole.trie_bytes();
  report["rows"] = nlohmann::ordered_json::array();
  std::printf("pages of the image: %s; SIMD target: %s; word cache %u KiB, of the stream %u KiB\n\n", sp.placed().ladder().obtained.kind.c_str(),
              sp.isa(), kCacheBytes >> 10, kStreamCacheBytes >> 10);
  std::printf("%-47s %10s | %-46s | %-46s | %-46s\n", "", "rankfeed_sp", "rankfeed_sp against", "rankfeed_hf against",
              "rankfeed_sp, a text a call, against");
  std::mt19937 random(1);
  for (const Row& row : rows) {
    if (row.texts->empty()) {
      report["rows"].push_back({{"name", row.name}, {"what", row.what}, {"not_run", row.without_texts}});
      std::printf("%-47s not run: %s\n", row.what.c_str(), row.without_texts.c_str());
      continue;
    }
    sp.UseCache(row.cache_bytes);
    hf.UseCache(row.cache_bytes);
    size_t bytes = 0;
    for (size_t i = row.first; i < row.texts->size(); ++i) bytes += (*row.texts)[i].size();
    std::map<std::string, std::vector<double>> ns;
    // Single calls are single calls: the last engine would only warm the image of the first.
    const bool single = row.name.starts_with("document");
    std::vector<size_t> order = {0, 1, 2, 3};
    if (!single) order.push_back(4);
    std::erase_if(order, [&](size_t i) { return !timed.empty() && timed.find("," + engines[i].name + ",") == std::string::npos; });
    for (size_t round = 0; round < row.rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t i : order) ns[engines[i].name].push_back(row.time(engines[i], *row.texts, ids.data()));
    }
    nlohmann::ordered_json entry = {{"name", row.name}, {"what", row.what}, {"texts", row.texts->size() - row.first},
                                    {"bytes", bytes}, {"texts_before", row.first}, {"rounds", row.rounds}};
    for (const auto& [name, values] : ns) {
      entry["engines"][name] = single ? nlohmann::ordered_json{{"p50_us", Median(values) / 1e3}}
                                      : nlohmann::ordered_json{{"megabytes_per_second", static_cast<double>(bytes) / Median(values) * 1e3}};
      entry["engines"][name]["ns"] = values;  // by round
    }
    std::string line;
    for (const char* mine : {"rankfeed_sp", "rankfeed_hf", "rankfeed_sp_single"}) {
      if (!ns.contains(mine)) continue;
      line += " |";
      for (const char* peer : {"sentencepiece", "whole_sentence"}) {
        if (!ns.contains(peer)) continue;
        std::vector<double> ratios;
        for (size_t round = 0; round < row.rounds; ++round) ratios.push_back(ns[peer][round] / ns[mine][round]);
        const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
        entry["ratios"][mine][peer] = {{"median", Median(ratios)}, {"min", *low}, {"max", *high}};
        char text[64];
        std::snprintf(text, sizeof(text), " %s x%.1f (%.1f-%.1f)", peer, Median(ratios), *low, *high);
        line += text;
      }
    }
    if (ns.contains("rankfeed_sp")) {
      const double mine = Median(ns["rankfeed_sp"]);
      std::printf("%-47s %7.1f %s%s\n", row.what.c_str(), single ? mine / 1e3 : static_cast<double>(bytes) / mine * 1e3,
                  single ? "us  " : "MB/s", line.c_str());
    }
    std::fflush(stdout);
    report["rows"].push_back(std::move(entry));
  }
  if (!json_file.empty()) std::ofstream(json_file) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
