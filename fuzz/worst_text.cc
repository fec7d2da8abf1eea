// SPDX-License-Identifier: MIT
// fuzz/worst_text.cc: looks for the texts that cost one pipeline most per byte, and measures texts
// that were found.
//
//   worst_text search IMAGE PLAIN.jsonl [--seconds S] [--seed N] [--quick]   prints the dearest as
//                     recipes
//   worst_text time   IMAGE PLAIN.jsonl RECIPES [BYTES [offsets]]   prints nanoseconds per byte of
//                     each
//   worst_text count  IMAGE PLAIN.jsonl RECIPES [BYTES [offsets]]   encodes each once, for
//                     callgrind to count
//
// A recipe is a line "SEED ATOM ATOM ...", an atom code points in hexadecimal joined by "+". With
// seed 0 the atoms follow each other in order, again and again; with another they are drawn by a
// generator with that seed, so that few words come twice and nothing is found in the word cache.
// Every text is encoded with an empty word cache, plain text too.
//
// The search: every code point alone; then every ordered pair of representatives of what costs
// alike; then mixtures, changed at random and kept if dearer. Candidates are ranked by the least of
// several times; callgrind then says what they cost (worst_text.py), which depends on no clock.
#include <simdjson.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "rankfeed/builder.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

constexpr uint32_t kLong = 1 << 16;   // bytes of a text that is reported
constexpr uint32_t kShort = 1 << 11;  // of one that is only tried
constexpr uint32_t kCacheBytes = 1 << 18;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "worst_text: %s\n", why.c_str());
  std::exit(1);
}

std::string Utf8(char32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  std::string out;
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += static_cast<char>((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (c >> 6 * i & 0x3f));
  return out;
}

using Atom = std::u32string;

struct Recipe {
  uint32_t seed = 0;
  std::vector<Atom> atoms;

  std::string Text(uint32_t size) const {
    std::vector<std::string> parts;
    for (const Atom& atom : atoms) {
      std::string part;
      for (const char32_t c : atom) part += Utf8(c);
      parts.push_back(part);
    }
    std::minstd_rand draw(seed);
    std::string text;
    for (size_t i = 0; text.size() < size; ++i) {
      text += parts[seed == 0 ? i % parts.size() : draw() / 16 % parts.size()];
    }
    return text;
  }

  std::string Line() const {
    std::string line = std::to_string(seed);
    char hex[16];
    for (const Atom& atom : atoms) {
      char before = ' ';
      for (const char32_t c : atom) {
        std::snprintf(hex, sizeof(hex), "%c%X", before, static_cast<unsigned>(c));
        line += hex;
        before = '+';
      }
    }
    return line;
  }

  static Recipe Read(const std::string& line) {
    std::istringstream in(line);
    Recipe recipe;
    in >> recipe.seed;
    for (std::string word; in >> word;) {
      Atom atom;
      std::istringstream codes(word);
      for (std::string code; std::getline(codes, code, '+');) {
        atom += static_cast<char32_t>(std::stoul(code, nullptr, 16));
      }
      recipe.atoms.push_back(atom);
    }
    if (recipe.atoms.empty()) Fail("no atoms in the recipe \"" + line + "\"");
    return recipe;
  }
};

class Engine {
 public:
  Engine(const std::string& image, uint32_t bytes, bool offsets) {
    auto vocabulary = rankfeed::Vocabulary::Load(image);
    if (!vocabulary) Fail(image + ": " + vocabulary.error().message);
    vocabulary_ = std::make_unique<rankfeed::Vocabulary>(std::move(*vocabulary));
    limits_.struct_size = sizeof(limits_);
    limits_.max_text_bytes = std::max(8 * kLong, 2 * bytes);
    limits_.cache_bytes = kCacheBytes;
    limits_.with_offsets = offsets ? 1 : 0;
    if (offsets) begin_.resize(ids_.size()), end_.resize(ids_.size());
    if (rankfeed_encoder_mem_req(model(), &limits_, &need_) != RANKFEED_OK)
      Fail("rankfeed_encoder_mem_req failed");
    scratch_ = std::aligned_alloc(
        need_.alignment, (need_.size + need_.alignment - 1) / need_.alignment * need_.alignment);
    if (scratch_ == nullptr) Fail("no memory");
  }
  ~Engine() { std::free(scratch_); }
  Engine(const Engine&) = delete;

  const rankfeed_model* model() const { return vocabulary_->model(); }

  // Of texts one after the other, from an empty word cache on: nanoseconds. What callgrind counts.
  double Once(const std::vector<std::string>& texts) {
    Clear();
    tokens_ = 0;
    timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    CALLGRIND_START_INSTRUMENTATION;
    for (const std::string& text : texts) {
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(ids_.size());
      io.input_ids = ids_.data();
      if (!begin_.empty()) io.offset_begin = begin_.data(), io.offset_end = end_.data();
      const rankfeed_status status =
          rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io);
      if (status != RANKFEED_OK) Fail(std::string("encode: ") + rankfeed_status_name(status));
      tokens_ += io.count;
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return static_cast<double>(to.tv_sec - from.tv_sec) * 1e9 +
           static_cast<double>(to.tv_nsec - from.tv_nsec);
  }

  // Nanoseconds per byte, the least of several times.
  double Time(const std::vector<std::string>& texts, int times) {
    size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    double least = 1e300;
    for (int i = 0; i < times; ++i) least = std::min(least, Once(texts));
    return least / static_cast<double>(bytes);
  }
  size_t tokens() const { return tokens_; }  // of the last Once

  // Code points of a piece drawn at random, with a space for each U+2581.
  Atom Piece(std::mt19937& random) const {
    rankfeed_model_info info{};
    info.struct_size = sizeof(info);
    if (rankfeed_model_get_info(model(), &info) != RANKFEED_OK)
      Fail("rankfeed_model_get_info failed");
    const char* data = nullptr;
    size_t size = 0;
    Atom piece;
    if (rankfeed_model_id_to_piece(model(), random() % info.id_count, &data, &size) != RANKFEED_OK)
      return piece;
    for (size_t i = 0; i < size;) {
      const auto lead = static_cast<unsigned char>(data[i]);
      const size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      char32_t c = n == 1 ? lead : lead & (0x7fu >> n);
      for (size_t k = 1; k < n && i + k < size; ++k)
        c = c << 6 | (static_cast<unsigned char>(data[i + k]) & 0x3f);
      piece += c == 0x2581 ? U' ' : c;
      i += n;
    }
    return piece;
  }

 private:
  void Clear() {
    if (rankfeed_encoder_init(model(), &limits_, scratch_, need_.size, &encoder_) != RANKFEED_OK) {
      Fail("rankfeed_encoder_init failed");
    }
  }

  std::unique_ptr<rankfeed::Vocabulary> vocabulary_;
  rankfeed_limits limits_{};
  rankfeed_mem_req need_{};
  void* scratch_ = nullptr;
  rankfeed_encoder* encoder_ = nullptr;
  std::vector<int32_t> ids_ = std::vector<int32_t>(1 << 22);
  std::vector<uint32_t> begin_, end_;  // empty without offsets
  size_t tokens_ = 0;
};

// The passages of a JSONL file, as many as reach the size.
std::vector<std::string> Plain(const char* path, size_t size) {
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  if (parser.load_many(path).get(lines)) Fail(std::string(path) + " cannot be read");
  std::vector<std::string> texts;
  size_t bytes = 0;
  for (const auto line : lines) {
    std::string_view text;
    if (line["text"].get(text)) continue;
    texts.emplace_back(text);
    bytes += text.size();
    if (bytes >= size) break;
  }
  if (texts.empty()) Fail(std::string(path) + " holds no texts");
  return texts;
}

class Search {
 public:
  Search(Engine& engine, double plain, uint32_t seed)
      : engine_(engine), plain_(plain), random_(seed) {}

  void Run(double seconds, bool quick) {
    Alone(quick ? 0x3000 : 0x110000);
    const std::vector<Atom> kinds = Kinds(quick ? 30 : 90);
    Pairs(kinds);
    Climb(kinds, seconds);
  }

  // The dearest, each measured again at length, dearest first; of those made of the same characters
  // only one.
  std::vector<std::pair<double, Recipe>> Dearest(size_t count) {
    std::set<std::set<char32_t>> seen;
    std::vector<std::pair<double, Recipe>> best;
    for (const auto& [cost, recipe] : found_) {
      if (best.size() == 4 * count) break;
      std::set<char32_t> characters;
      for (const Atom& atom : recipe.atoms) characters.insert(atom.begin(), atom.end());
      if (seen.insert(characters).second)
        best.emplace_back(engine_.Time({recipe.Text(kLong)}, 3), recipe);
    }
    std::sort(best.begin(), best.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    if (best.size() > count) best.resize(count);
    return best;
  }

 private:
  double Try(const Recipe& recipe, uint32_t size = kShort, int times = 2) {
    return engine_.Time({recipe.Text(size)}, times);
  }

  void Keep(double cost, const Recipe& recipe) {
    found_.emplace(-cost, recipe);
    if (found_.size() > kKept) found_.erase(std::prev(found_.end()));
  }

  void Alone(char32_t end) {
    for (char32_t c = 1; c < end; ++c) {
      if (c >= 0xd800 && c < 0xe000) continue;
      const Recipe recipe{0, {Atom(1, c)}};
      double cost = Try(recipe, kShort / 2, 1);
      if (cost > 2 * plain_) cost = Try(recipe);  // or the machine did something else
      const auto tokens = static_cast<int>(
          std::lround(4 * std::log2(1.0 + 64.0 * static_cast<double>(engine_.tokens()) / kShort)));
      const auto level = static_cast<int>(std::lround(3 * std::log2(std::max(cost, 0.1))));
      kinds_.try_emplace({static_cast<int>(Utf8(c).size()), level, tokens}, c);
      if (cost > 2 * plain_) Keep(cost, recipe);
    }
  }

  // One of each kind, the dearest first, and what matters wherever it stands.
  std::vector<Atom> Kinds(size_t count) const {
    std::vector<std::pair<int, char32_t>> by_cost;
    for (const auto& [kind, c] : kinds_) by_cost.emplace_back(-std::get<1>(kind), c);
    std::sort(by_cost.begin(), by_cost.end());
    std::vector<Atom> kinds;
    for (const char32_t c :
         {U' ',      U'a',      U'e',      U'Q',      U'0',      U'<',      U',',
          U'\'',     U'`',      U'\n',     U'\u00a0', U'\u0301', U'\u0323', U'\u200d',
          U'\u0600', U'\u3000', U'\ufdfa', U'\u4e00', U'\uac01', U'\u1100', U'\U0001f468'}) {
      kinds.emplace_back(1, c);
    }
    for (const auto& [cost, c] : by_cost) {
      if (kinds.size() >= count) break;
      kinds.emplace_back(1, c);
    }
    return kinds;
  }

  void Pairs(const std::vector<Atom>& kinds) {
    for (const Atom& a : kinds) {
      for (const Atom& b : kinds) {
        const Recipe recipe{0, {a, b}};
        Keep(Try(recipe), recipe);
        const Recipe words{0, {a + b, Atom(1, U' ')}};
        Keep(Try(words), words);
      }
    }
  }

  // From mixtures drawn at random, and from what was found, to dearer ones.
  void Climb(const std::vector<Atom>& kinds, double seconds) {
    const auto draw = [&] {
      switch (random_() % 4) {
        case 0:
          return engine_.Piece(random_);
        case 1: {
          Atom piece = engine_.Piece(random_);
          if (piece.size() > 1) piece.pop_back();
          return piece;
        }
        default:
          return kinds[random_() % kinds.size()];
      }
    };
    const double start = Now();
    while (Now() - start < seconds) {
      Recipe recipe;
      if (random_() % 2 == 0 && !found_.empty()) {
        recipe = std::next(found_.begin(),
                           static_cast<ptrdiff_t>(random_() % std::min<size_t>(found_.size(), 64)))
                     ->second;
      } else {
        for (size_t n = 1 + random_() % 8; n > 0; --n) recipe.atoms.push_back(draw());
        recipe.seed = random_() % 2 * (1 + random_() % 9999);
      }
      Clean(&recipe);
      if (recipe.atoms.empty()) continue;
      double cost = Try(recipe, 2 * kShort);
      for (int failed = 0; failed < 30 && Now() - start < seconds;) {
        Recipe other = recipe;
        Change(&other, draw());
        Clean(&other);
        if (other.atoms.empty()) continue;
        const double tried = Try(other, 2 * kShort);
        if (tried > cost && (cost = std::min(tried, Try(other, 2 * kShort, 3))) == tried) {
          recipe = other;
          failed = 0;
        } else {
          ++failed;
        }
      }
      Keep(Try(recipe, 2 * kShort, 3), recipe);
    }
  }

  void Change(Recipe* recipe, const Atom& atom) {
    std::vector<Atom>& atoms = recipe->atoms;
    const size_t at = random_() % atoms.size();
    switch (random_() % 6) {
      case 0:
        atoms.insert(atoms.begin() + static_cast<ptrdiff_t>(at), atom);
        break;
      case 1:
        atoms[at] = atom;
        break;
      case 2:
        atoms[at] += atom;
        break;
      case 3:
        if (atoms.size() > 1) atoms.erase(atoms.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 4:
        atoms[at] += atoms[random_() % atoms.size()];
        break;
      default:
        recipe->seed = recipe->seed == 0 ? 1 + random_() % 9999 : 0;
    }
  }

  // Without empty atoms, and of a length that can be read.
  static void Clean(Recipe* recipe) {
    std::erase_if(recipe->atoms, [](const Atom& atom) { return atom.empty(); });
    if (recipe->atoms.size() > 16) recipe->atoms.resize(16);
    for (Atom& atom : recipe->atoms) {
      if (atom.size() > 24) atom.resize(24);
    }
  }

  static double Now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }

  static constexpr size_t kKept = 256;
  Engine& engine_;
  const double plain_;
  std::mt19937 random_;
  std::multimap<double, Recipe> found_;  // by cost, dearest first
  // By bytes of a character, logarithm of its cost, and logarithm of its tokens.
  std::map<std::tuple<int, int, int>, char32_t> kinds_;
};

int Main(int argc, char** argv) {
  if (argc < 4)
    Fail("usage: search|time|count IMAGE PLAIN.jsonl [RECIPES | --seconds S --seed N --quick]");
  const std::string mode = argv[1];
  const uint32_t bytes =
      mode != "search" && argc >= 6 ? static_cast<uint32_t>(std::atol(argv[5])) : kLong;
  const bool offsets = mode != "search" && argc == 7 && argv[6] == std::string("offsets");
  Engine engine(argv[2], bytes, offsets);
  const std::vector<std::string> plain = Plain(argv[3], 4 * kLong);
  if (mode == "search") {
    double seconds = 60;
    uint32_t seed = 1;
    bool quick = false;
    for (int i = 4; i < argc; ++i) {
      const std::string option = argv[i];
      if (option == "--quick") {
        quick = true;
      } else if (i + 1 < argc && option == "--seconds") {
        seconds = std::atof(argv[++i]);
      } else if (i + 1 < argc && option == "--seed") {
        seed = static_cast<uint32_t>(std::atol(argv[++i]));
      } else {
        Fail("what is " + option + "?");
      }
    }
    const double cost = engine.Time(plain, 5);
    Search search(engine, cost, seed);
    search.Run(seconds, quick);
    for (const auto& [dear, recipe] : search.Dearest(12)) {
      std::fprintf(stderr, "%7.2f times plain text: %s\n", dear / cost, recipe.Line().c_str());
      std::printf("%s\n", recipe.Line().c_str());
    }
    return 0;
  }
  if (argc < 5 || argc > 7 || (argc == 7 && !offsets) || (mode != "time" && mode != "count"))
    Fail("time and count take a file of recipes, how long texts are, and whether offsets are made");
  std::vector<std::pair<std::string, std::vector<std::string>>> texts = {{"plain", plain}};
  std::ifstream lines(argv[4]);
  if (!lines) Fail(std::string(argv[4]) + " cannot be read");
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) texts.push_back({line, {Recipe::Read(line).Text(bytes)}});
  }
  for (const auto& [name, text] : texts) {
    size_t all = 0;
    for (const std::string& one : text) all += one.size();
    if (mode == "time") {
      std::printf("%.3f %zu %s\n", engine.Time(text, 9), all, name.c_str());
      continue;
    }
    engine.Once(text);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    std::printf("%zu %s\n", all, name.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return Main(argc, argv);
}
