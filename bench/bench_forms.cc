// SPDX-License-Identifier: MIT
// bench/bench_forms.cc: how many times faster than the newest SentencePiece in every published form, one thread, ids.
//
// A form is a tokenizer.json that `tests/oracle/forms.py --all DIR` writes over the XLM-R vocabulary. SentencePiece encodes with
// the same pieces (xlmr.model), whatever the form; its ids are not the form's. Rows are those of bench_ratios.cc. Before a
// form is timed, ids of all texts are compared, of the fast path with those of the general path; a difference ends the program.
// Correctness of forms against the tokenizers wheel is tests/oracle/diff_forms.py. Then rounds, in each both engines in an
// order that changes; a ratio is taken within a round. At the end the slowest form of each row is named.
//
// usage: bench_forms --forms DIR [--form NAME,...] [--rounds N] [--rows NAME,...] [--json FILE]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "newest.h"
#include "ratio_engines.h"

namespace rankfeed::bench {
namespace {

constexpr const char* kUsage = "usage: bench_forms --forms DIR [--form NAME,...] [--rounds N] [--rows NAME,...] [--json FILE]";

struct Options {
  std::string folder, forms, rows, json_file;
  size_t rounds = 3;

  Options(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      if (i + 1 == argc) Die(kUsage);
      const std::string name = argv[i], value = argv[i + 1];
      if (name == "--forms") folder = value;
      else if (name == "--form") forms = "," + value + ",";
      else if (name == "--rounds") rounds = std::strtoul(value.c_str(), nullptr, 10);
      else if (name == "--rows") rows = "," + value + ",";
      else if (name == "--json") json_file = value;
      else Die(kUsage);
    }
    if (folder.empty() || rounds == 0) Die(kUsage);
  }
  static bool Has(const std::string& list, const std::string& name) {
    return list.empty() || list.find("," + name + ",") != std::string::npos;
  }
};

struct Row {
  std::string name, what;
  Corpus texts;
  double (*time)(const Engine&, const Texts&, int32_t*);
  uint32_t cache_bytes = kCacheBytes;
  bool last_quarter = false;
};

std::vector<Row> Rows(const Options& options) {
  std::vector<Row> rows = {{"en_cold", "English, cold", LoadXquad("en"), Cold},
                           {"en_first", "English, cold, right after another engine", LoadXquad("en"), First},
                           {"en_stream", "English, steady stream of new documents", LoadEnglish(), Stream, kStreamCacheBytes, true},
                           {"all_cold", "12 languages mixed, cold", LoadXquad("all"), Cold},
                           {"many_cold", "many languages, cold stream", LoadManyLanguages(), Cold},
                           {"th_cold", "Thai, cold", LoadXquad("th"), Cold},
                           {"zh_cold", "Chinese, cold", LoadXquad("zh"), Cold}};
  std::erase_if(rows, [&](const Row& row) { return !Options::Has(options.rows, row.name); });
  return rows;
}

struct Slowest {
  std::string form = {};
  double ratio = 1e9;
};

// One form on one row: speeds, and ratios of the rounds.
nlohmann::ordered_json Time(const Row& row, size_t rounds, const Engine& mine, const Engine& newest, std::mt19937* random) {
  std::vector<int32_t> ids(kMaxTextBytes);
  std::vector<double> own, other, ratios;
  for (size_t round = 0; round < rounds; ++round) {
    const bool first = (*random)() % 2 == 0;
    if (first) own.push_back(row.time(mine, row.texts.passages, ids.data()));
    other.push_back(row.time(newest, row.texts.passages, ids.data()));
    if (!first) own.push_back(row.time(mine, row.texts.passages, ids.data()));
    ratios.push_back(other.back() / own.back());
  }
  const size_t begin = row.last_quarter ? LastQuarter(row.texts.passages) : 0;
  const auto bytes = static_cast<double>(BytesOf(row.texts.passages, begin));
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  return {{"megabytes_per_second", bytes / Median(own) * 1e3}, {"sentencepiece_megabytes_per_second", bytes / Median(other) * 1e3},
          {"ratio", {{"median", Median(ratios)}, {"min", *low}, {"max", *high}}}};
}

std::vector<std::filesystem::path> Files(const Options& options) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder)) {
    if (entry.path().extension() == ".json" && Options::Has(options.forms, entry.path().stem().string())) files.push_back(entry.path());
  }
  if (files.empty()) Die("--forms " + options.folder + " has no such tokenizer.json; tests/oracle/forms.py --all DIR writes them");
  std::sort(files.begin(), files.end());
  return files;
}

nlohmann::ordered_json TimeForm(const std::filesystem::path& file, const std::vector<Row>& rows, const Options& options,
                                const Engine& newest, std::map<std::string, Slowest>* slowest, std::mt19937* random) {
  const std::string name = file.stem().string();
  Rankfeed ids(std::shared_ptr<measure::PlacedImage>(Place(file.string())), false), general(ids.shared(), true);
  const Engine mine = ids.AsEngine(name, true), plain = general.AsEngine(name + " with offsets", false);
  const char* const reason = rankfeed_model_off_fast_road(ids.placed().model());
  nlohmann::ordered_json form = {{"name", name}, {"image_bytes", ids.placed().size()}};
  form["off_fast_road"] = reason != nullptr ? nlohmann::ordered_json(reason) : nlohmann::ordered_json();
  std::printf("%s%s%s\n", name.c_str(), reason != nullptr ? ", off the fast road: " : "", reason != nullptr ? reason : "");
  for (const Row& row : rows) {
    if (row.texts.passages.empty()) continue;
    CheckTogether(mine, row.texts.passages, row.name);
    CheckSame(plain, mine, row.texts.passages, row.name);
    ids.UseCache(row.cache_bytes);
    form["rows"][row.name] = Time(row, options.rounds, mine, newest, random);
    const auto& entry = form["rows"][row.name];
    const double ratio = entry["ratio"]["median"];
    if (ratio < (*slowest)[row.name].ratio) (*slowest)[row.name] = {name, ratio};
    std::printf("  %-45s %8.1f MB/s  x%.1f (%.1f-%.1f)\n", row.what.c_str(), entry["megabytes_per_second"].get<double>(), ratio,
                entry["ratio"]["min"].get<double>(), entry["ratio"]["max"].get<double>());
  }
  std::fflush(stdout);
  return form;
}

int Main(int argc, char** argv) {
  const Options options(argc, argv);
  ForceIsa();
  const auto newest = NewestSentencePiece::Load(SharedFile("xlmr.model"));
  if (!newest) Die(std::string("not run: ") + NewestSentencePiece::kNotBuilt);
  const Engine peer = {"sentencepiece", [&](const std::string& t, int32_t* out) { return newest->Encode(t, out, kMaxTextBytes); }};
  const std::vector<Row> rows = Rows(options);
  nlohmann::ordered_json report = {{"sentencepiece", newest->version()}, {"rounds", options.rounds}};
  report["rows"] = report["forms"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    report["rows"].push_back({{"name", row.name}, {"what", row.what}});
    if (row.texts.passages.empty()) report["rows"].back()["not_run"] = "no texts; see bench/run.py";
  }
  std::printf("x: times SentencePiece %s on the same pieces\n", newest->version().c_str());
  std::map<std::string, Slowest> slowest;
  std::mt19937 random(1);
  for (const auto& file : Files(options)) report["forms"].push_back(TimeForm(file, rows, options, peer, &slowest, &random));
  std::printf("\nslowest form of each row\n");
  for (const Row& row : rows) {
    if (row.texts.passages.empty()) {
      std::printf("  %-45s not run: no texts\n", row.what.c_str());
      continue;
    }
    const Slowest& worst = slowest[row.name];
    report["slowest"][row.name] = {{"form", worst.form}, {"ratio", worst.ratio}};
    std::printf("  %-45s %s x%.1f\n", row.what.c_str(), worst.form.c_str(), worst.ratio);
  }
  if (!options.json_file.empty()) std::ofstream(options.json_file) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
