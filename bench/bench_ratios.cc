// SPDX-License-Identifier: MIT
// bench/bench_ratios.cc: how many times faster than other exact engines, one thread, XLM-R vocabulary.
//
// Engines, in one process on the same texts: rankfeed in both parity modes, the newest SentencePiece (newest.h), Debian's
// 0.1.97, and whole_sentence (64-byte trie nodes and one search over the sentence: whole_sentence.h). Rows:
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
// The engines door_sp and door_hf are rankfeed through the C++ wrapper, opened and called as the README's program does and with its
// defaults (a cache of 1 MiB in all rows, texts of 64 KiB or the row's longest); they are what the README's table shows.
// capi_sp and capi_hf are the same calls of the C API with the same limits, in memory that they too are given anew
// where they forget: beside them the door is measured. The others go through the C API in memory that stays theirs, with a
// larger cache in the rows stream and eighth.
//
// Rows of other vocabularies (words_xquad-en, words_xquad-zh, words_xquad-all, words_code), where they are among the shared files: three of
// BERT's, Qwen's and ModernBERT's beside XLM-R's on the same texts (English, Chinese, twelve languages, and code and Markdown, which are files
// of this tree), through rankfeed_encode_batch:
//   new       texts on an empty word cache
//   repeated  the same again, with a cache of 4 MiB
//   offsets   new texts, with the places of tokens
//
// Ids of every text of every row are compared before anything is timed: rankfeed's mode `sentencepiece` with the newest
// SentencePiece, its mode `sentencepiece-0.2.1` and whole_sentence with 0.1.97, its HuggingFace mode fast path with general
// path; a difference ends the program with exit code 1. Without the newest SentencePiece rankfeed_sp is in the mode of 0.1.97,
// and the output says so. Then rounds: each engine once, in an order
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
#include <sstream>

#include "corpus.h"
#include "image/model.h"
#include "newest.h"
#include "ratio_engines.h"
#include "whole_sentence.h"

namespace rankfeed::bench {
namespace {

double Eighth(const Engine& engine, const Texts& texts, int32_t* out) {
  constexpr size_t kParts = 8;
  double ns = 0;
  for (size_t part = 0; part < kParts; ++part) {
    const size_t begin = texts.size() * part / kParts, end = texts.size() * (part + 1) / kParts;
    if (engine.reset) engine.reset();
    (void)Nanoseconds(engine, texts, 0, begin, out);
    (void)Nanoseconds(engine, texts, end, texts.size(), out);
    ns += Nanoseconds(engine, texts, begin, end, out);
  }
  return ns;
}

double Single(const Engine& engine, const Texts& texts, bool warm, int32_t* out) {
  constexpr int kPasses = 4;  // so that the CPU's caches are as the engine itself leaves them
  std::vector<double> ns;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const std::string& text : texts) {
      if (warm) {
        engine.encode(text, out);
      } else if (engine.reset) {
        engine.reset();
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

// Every engine, by name; what the ratios are taken of and against.
constexpr const char* kDebian = "sentencepiece_0.1.97";
constexpr const char* kMine[] = {"door_sp", "door_hf", "capi_sp", "capi_hf", "rankfeed_sp", "rankfeed_hf", "rankfeed_sp_single"};
constexpr const char* kPeers[] = {"sentencepiece", kDebian, "whole_sentence"};

// The engine that makes the same calls through the C API: the difference is the wrapper's cost.
std::string CApiOf(const std::string& mine) { return mine.starts_with("door_") ? "capi_" + mine.substr(5) : ""; }

class Engines {
 public:
  Engines()
      : newest_(NewestSentencePiece::Load(SharedFile("xlmr.model"))),
        sp_("xlmr.model", false, newest_ ? RANKFEED_PARITY_SENTENCEPIECE : kLinkedParity),
        linked_("xlmr.model", false, kLinkedParity),
        hf_("xlmr.tokenizer.json", false),
        hf_plain_(hf_.shared(), true),
        door_sp_("xlmr.model", newest_ ? RANKFEED_PARITY_SENTENCEPIECE : kLinkedParity),
        door_hf_("xlmr.tokenizer.json"),
        capi_sp_(sp_.shared(), false, Memory::kAnew),
        capi_hf_(hf_.shared(), false, Memory::kAnew) {
    capi_sp_.UseCache(Encoder::kDefaultCacheBytes);
    capi_hf_.UseCache(Encoder::kDefaultCacheBytes);
    if (!debian_.Load(SharedFile("xlmr.model")).ok()) Die("libsentencepiece does not load xlmr.model");
    const rankfeed_model& model = *linked_.placed().model();
    whole_ = std::make_unique<WholeSentence>(debian_, Charsmap(model.charsmap_units, model.charsmap_pool));
    engines_ = {sp_.AsEngine("rankfeed_sp", true), hf_.AsEngine("rankfeed_hf", true), door_sp_.AsEngine("door_sp"), door_hf_.AsEngine("door_hf"),
                capi_sp_.AsEngine("capi_sp", true), capi_hf_.AsEngine("capi_hf", true)};
    if (newest_) {
      engines_.push_back({"sentencepiece", [this](const std::string& t, int32_t* out) { return newest_->Encode(t, out, kMaxTextBytes); }});
    }
    engines_.push_back({kDebian, [this](const std::string& t, int32_t* out) {
                          if (!debian_.Encode(t, &pieces_).ok()) Die("libsentencepiece failed");
                          std::memcpy(out, pieces_.data(), pieces_.size() * sizeof(int32_t));
                          return pieces_.size();
                        }});
    engines_.push_back({"whole_sentence", [this](const std::string& t, int32_t* out) { return whole_->Encode(t, out); }});
    engines_.push_back(sp_.AsEngine("rankfeed_sp_single", false));
  }
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  const std::vector<Engine>& all() const { return engines_; }
  const Engine& Named(const std::string& name) const {
    return *std::find_if(engines_.begin(), engines_.end(), [&](const Engine& e) { return e.name == name; });
  }
  void CheckIds(const Texts& texts, const std::string& where) {
    CheckTogether(Named("rankfeed_sp"), texts, where);
    CheckTogether(Named("rankfeed_hf"), texts, where);
    for (const char* door : {"door_sp", "door_hf"}) {
      CheckTogether(Named(door), texts, where);
      CheckSame(Named(door), Named(CApiOf(door)), texts, where);
    }
    if (newest_) CheckSame(Named("rankfeed_sp"), Named("sentencepiece"), texts, where);
    CheckSame(linked_.AsEngine("rankfeed_sp of sentencepiece-0.2.1", false), Named(kDebian), texts, where);
    CheckSame(Named("whole_sentence"), Named(kDebian), texts, where);
    CheckSame(hf_plain_.AsEngine("the general path", false), Named("rankfeed_hf"), texts, where);
  }
  void UseCache(uint32_t bytes) {
    sp_.UseCache(bytes);
    hf_.UseCache(bytes);
  }
  // For timing. The longest text that the doors are told of is the README program's, or that of texts.
  void Prepare(const Texts& texts) {
    size_t longest = 1 << 16;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    for (Door* door : {&door_sp_, &door_hf_}) {
      door->UseLongest(static_cast<uint32_t>(longest));
      door->CopyIds(false);
    }
    for (Rankfeed* capi : {&capi_sp_, &capi_hf_}) capi->UseLongest(static_cast<uint32_t>(longest));
  }
  const NewestSentencePiece* newest() const { return newest_.get(); }
  const Rankfeed& sp() const { return sp_; }
  const Door& door() const { return door_hf_; }
  const WholeSentence& whole() const { return *whole_; }

 private:
  std::unique_ptr<NewestSentencePiece> newest_;
  sentencepiece::SentencePieceProcessor debian_;
  Rankfeed sp_, linked_, hf_, hf_plain_;
  Door door_sp_, door_hf_;
  Rankfeed capi_sp_, capi_hf_;
  std::unique_ptr<WholeSentence> whole_;
  std::vector<int> pieces_;
  std::vector<Engine> engines_;
};

struct Options {
  size_t rounds = 5;
  std::string json_file, rows, engines;

  Options(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (i + 1 == argc) Die(kUsage);
      if (name == "--rounds") rounds = std::strtoul(argv[i + 1], nullptr, 10);
      else if (name == "--json") json_file = argv[i + 1];
      else if (name == "--rows") rows = std::string(",") + argv[i + 1] + ",";
      else if (name == "--engines") engines = std::string(",") + argv[i + 1] + ",";
      else Die(kUsage);
    }
    if (rounds == 0) Die(kUsage);
  }
  static bool Has(const std::string& list, const std::string& name) {
    return list.empty() || list.find("," + name + ",") != std::string::npos;
  }
  // Ends the program where --rows names a row that is none of these.
  void CheckRows(const std::vector<std::string>& known) const {
    std::istringstream names(rows.empty() ? rows : rows.substr(1));
    for (std::string name; std::getline(names, name, ',');) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::fprintf(stderr, "bench_ratios: there is no row \"%s\"; there are", name.c_str());
      for (const std::string& other : known) std::fprintf(stderr, "%s %s", &other == known.data() ? "" : ",", other.c_str());
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
  }

 private:
  static constexpr const char* kUsage = "usage: bench_ratios [--rounds N] [--json FILE] [--rows NAME,...] [--engines NAME,...]";
};

nlohmann::ordered_json Header(const Engines& engines) {
  const Rankfeed& sp = engines.sp();
  const auto& pages = sp.placed().ladder().obtained;
  nlohmann::ordered_json report;
  report["pages"] = {{"kind", pages.kind}, {"page_bytes", pages.page_size}};
  const rankfeed_placement door = engines.door().placement();
  report["door_pages"] = {{"kind", rankfeed_pages_name(door.pages)}, {"huge_bytes", door.huge_bytes}};
  report["door_cache_bytes"] = Encoder::kDefaultCacheBytes;
  report["simd_target"] = sp.isa();
  report["cache_bytes"] = kCacheBytes;
  report["stream_cache_bytes"] = kStreamCacheBytes;
  report["texts_together"] = kTogether;
  report["image_bytes"] = sp.placed().size();
  report["whole_sentence_trie_bytes"] = engines.whole().trie_bytes();
  if (const NewestSentencePiece* newest = engines.newest()) {
    report["sentencepiece"] = newest->version();
  } else {
    report["sentencepiece_not_run"] = NewestSentencePiece::kNotBuilt;
    std::printf("newest SentencePiece: not run: %s; rankfeed_sp is in the mode sentencepiece-0.2.1\n", NewestSentencePiece::kNotBuilt);
  }
  report["rows"] = nlohmann::ordered_json::array();
  std::printf("pages of the image: %s; SIMD target: %s; word cache %u KiB, of the stream %u KiB; sentencepiece is %s\n\n",
              pages.kind.c_str(), sp.isa(), kCacheBytes >> 10, kStreamCacheBytes >> 10,
              engines.newest() ? engines.newest()->version().c_str() : "not there");
  return report;
}

// Times the engines on a row, prints its line; the row of the report.
nlohmann::ordered_json Time(const Row& row, const Options& options, Engines* engines, std::mt19937* random) {
  std::vector<int32_t> ids(kMaxTextBytes);
  engines->UseCache(row.cache_bytes);
  engines->Prepare(*row.texts);
  const size_t bytes = BytesOf(*row.texts, row.first);
  // Single calls are single calls: the last engine would only warm the image of the first.
  const bool single = row.name.starts_with("document");
  std::vector<const Engine*> order;
  for (const Engine& engine : engines->all()) {
    if (Options::Has(options.engines, engine.name) && !(single && engine.name == "rankfeed_sp_single")) order.push_back(&engine);
  }
  std::map<std::string, std::vector<double>> ns;
  for (size_t round = 0; round < row.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), *random);
    for (const Engine* engine : order) ns[engine->name].push_back(row.time(*engine, *row.texts, ids.data()));
  }
  nlohmann::ordered_json entry = {{"name", row.name}, {"what", row.what}, {"texts", row.texts->size() - row.first},
                                  {"bytes", bytes}, {"texts_before", row.first}, {"rounds", row.rounds}};
  for (const auto& [name, values] : ns) {
    entry["engines"][name] = single ? nlohmann::ordered_json{{"p50_us", Median(values) / 1e3}}
                                    : nlohmann::ordered_json{{"megabytes_per_second", static_cast<double>(bytes) / Median(values) * 1e3}};
    entry["engines"][name]["ns"] = values;  // by round
  }
  std::printf("%s\n", row.what.c_str());
  for (const char* mine : kMine) {
    if (!ns.contains(mine)) continue;
    const double own = Median(ns[mine]);
    std::printf("  %-20s %8.1f %s", mine, single ? own / 1e3 : static_cast<double>(bytes) / own * 1e3, single ? "us  " : "MB/s");
    std::vector<std::string> others(std::begin(kPeers), std::end(kPeers));
    others.push_back(CApiOf(mine));
    for (const std::string& peer : others) {
      if (!ns.contains(peer)) continue;
      std::vector<double> ratios;
      for (size_t round = 0; round < row.rounds; ++round) ratios.push_back(ns[peer][round] / ns[mine][round]);
      const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
      entry["ratios"][mine][peer] = {{"median", Median(ratios)}, {"min", *low}, {"max", *high}};
      std::printf(" | %s x%.2f (%.2f-%.2f)", peer.c_str(), Median(ratios), *low, *high);
    }
    std::printf("\n");
  }
  std::fflush(stdout);
  return entry;
}

// One pass over texts that the engine has just seen.
double Repeated(const Engine& engine, const Texts& texts, int32_t* out) {
  if (engine.reset) engine.reset();
  (void)Nanoseconds(engine, texts, 0, texts.size(), out);
  return Nanoseconds(engine, texts, 0, texts.size(), out);
}

// A vocabulary as three engines: for new texts, for repeated ones, and with offsets.
struct Words {
  Words(const char* called, const char* file) : name(called), fresh(file, false), repeated(fresh.shared(), false), offsets(fresh.shared(), true) {
    fresh.UseCache(kCacheBytes);
    repeated.UseCache(kStreamCacheBytes);
    offsets.UseCache(kCacheBytes);
  }
  std::string name;
  Rankfeed fresh, repeated, offsets;
};

void TimeWords(const std::vector<Corpus>& corpora, const Options& options, nlohmann::ordered_json* report) {
  std::vector<std::unique_ptr<Words>> all;
  for (const auto& [name, file] : {std::pair("xlmr", "xlmr.tokenizer.json"), std::pair("uncased", "wordpiece/bert-base-uncased/tokenizer.json"),
                                   std::pair("cased", "wordpiece/bert-base-cased/tokenizer.json"),
                                   std::pair("multilingual", "wordpiece/bert-base-multilingual-cased/tokenizer.json"),
                                   std::pair("qwen", "bpe/qwen/tokenizer.json"), std::pair("modernbert", "bpe/modernbert/tokenizer.json")}) {
    if (std::ifstream(SharedFile(file))) all.push_back(std::make_unique<Words>(name, file));
  }
  std::vector<int32_t> ids(kMaxTextBytes);
  for (const Corpus& corpus : corpora) {
    const Texts& texts = corpus.passages;
    if (!Options::Has(options.rows, "words_" + corpus.name) || texts.empty()) continue;
    std::map<std::string, std::vector<double>> ns;
    for (const auto& words : all) {
      CheckTogether(words->fresh.AsEngine(words->name, true), texts, corpus.name);
      CheckSame(words->offsets.AsEngine(words->name + ", offsets", false), words->fresh.AsEngine(words->name, true), texts, corpus.name);
    }
    for (size_t round = 0; round < options.rounds; ++round) {
      for (const auto& words : all) {
        ns[words->name + " new"].push_back(First(words->fresh.AsEngine("", true), texts, ids.data()));
        ns[words->name + " repeated"].push_back(Repeated(words->repeated.AsEngine("", true), texts, ids.data()));
        ns[words->name + " offsets"].push_back(First(words->offsets.AsEngine("", true), texts, ids.data()));
      }
    }
    const size_t bytes = BytesOf(texts, 0);
    nlohmann::ordered_json entry = {{"name", "words_" + corpus.name}, {"texts", texts.size()}, {"bytes", bytes}, {"rounds", options.rounds}};
    std::printf("%s, several vocabularies\n", corpus.name.c_str());
    for (const auto& [name, values] : ns) {
      const double speed = static_cast<double>(bytes) / Median(values) * 1e3;
      entry["engines"][name] = {{"megabytes_per_second", speed}, {"ns", values}};
      std::printf("  %-20s %8.1f MB/s\n", name.c_str(), speed);
    }
    std::fflush(stdout);
    (*report)["rows"].push_back(entry);
  }
}

int Main(int argc, char** argv) {
  const Options options(argc, argv);
  ForceIsa();
  const Corpus english = LoadXquad("en"), all = LoadXquad("all"), thai = LoadXquad("th"), chinese = LoadXquad("zh"), many = LoadManyLanguages(),
               documentation = LoadEnglish();
  const std::vector<Corpus> words = {english, chinese, all, LoadCode()};
  Texts documents;  // of English, made below
  const auto warm = [](const Engine& e, const Texts& t, int32_t* out) { return Single(e, t, true, out); };
  const auto cold = [](const Engine& e, const Texts& t, int32_t* out) { return Single(e, t, false, out); };
  const size_t rounds = options.rounds;
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
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  for (const Corpus& corpus : words) names.push_back("words_" + corpus.name);
  options.CheckRows(names);
  if (english.passages.empty() || !std::ifstream(SharedFile("xlmr.model"))) Die("not run: no XLM-R vocabulary or texts in RANKFEED_SHARED_DATA");
  Engines engines;
  std::vector<int32_t> ids(kMaxTextBytes);
  documents = Documents(english.passages, engines.Named("rankfeed_sp"), ids.data());
  std::erase_if(rows, [&](const Row& r) { return !Options::Has(options.rows, r.name); });
  for (const Row& row : rows) engines.CheckIds(*row.texts, row.name);

  nlohmann::ordered_json report = Header(engines);
  std::mt19937 random(1);
  for (const Row& row : rows) {
    if (!row.texts->empty()) {
      report["rows"].push_back(Time(row, options, &engines, &random));
      continue;
    }
    report["rows"].push_back({{"name", row.name}, {"what", row.what}, {"not_run", row.without_texts}});
    std::printf("%s\n  not run: %s\n", row.what.c_str(), row.without_texts.c_str());
  }
  TimeWords(words, options, &report);
  if (!options.json_file.empty()) std::ofstream(options.json_file) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
