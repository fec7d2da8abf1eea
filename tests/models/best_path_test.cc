// SPDX-License-Identifier: MIT
// The search of models/unigram/best_path.h against the plain definition of it: all scores, all
// links, in the arithmetic of each reference, over vocabularies that hold runs of many lengths and
// texts that consist of runs, so that ties are frequent and scores pass the threshold where they
// are rebased.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "models/unigram/best_path.h"
#include "reference/sp_engine.h"
#include "reference/sp_model_proto.h"
#include "support/sanitizers.h"

namespace rankfeed::unigram {
namespace {

// Places of a search, as ScoreLattice has them.
struct Nodes {
  explicit Nodes(size_t size) : best(size + 1), link(size + 1), value(size + 1) {}
  ScoreLattice lattice() { return {best.data(), link.data(), value.data()}; }
  std::vector<double> best;
  std::vector<uint32_t> link, value;
};

// Links of the best path by begin, each with the value at its end.
std::vector<std::pair<uint32_t, uint32_t>> PathOf(const Nodes& nodes, size_t size) {
  std::vector<std::pair<uint32_t, uint32_t>> path;
  for (size_t at = 0; at < size; at = nodes.link[at]) {
    path.emplace_back(nodes.link[at], nodes.value[nodes.link[at]]);
  }
  return path;
}

// The place of each character, and the end.
std::vector<uint32_t> PlacesOf(const TextChars& chars) {
  std::vector<uint32_t> places;
  for (uint32_t at = 0; at < chars.size(); ++at) {
    if (!utf8::IsContinuation(chars.text[at])) places.push_back(at);
  }
  places.push_back(chars.size());
  return places;
}
std::vector<uint32_t> PlacesOf(const CodeChars& chars) {
  std::vector<uint32_t> places(chars.size() + 1);
  for (uint32_t at = 0; at <= chars.size(); ++at) places[at] = at;
  return places;
}

// Links and values by place, scores by character.
template <class Arithmetic, bool kSpecials>
void PlainSearch(const Model& model, const std::vector<uint32_t>& codes,
                 const std::vector<uint32_t>& places, double start, Nodes* nodes) {
  const auto size = static_cast<uint32_t>(codes.size());
  std::vector<uint32_t> back(size + 1, 0), values(size + 1);
  nodes->best[0] = start;
  uint32_t frontier = 0;
  const auto relax = [&](uint32_t begin, uint32_t end, double sum, uint32_t value) {
    frontier = std::max(frontier, end);
    if (back[end] != 0 && !(sum > nodes->best[end])) return;
    nodes->best[end] = Arithmetic::Store(sum);
    back[end] = end - begin;
    values[end] = value;
  };
  for (uint32_t begin = 0; begin < size; ++begin) {
    if (Arithmetic::kRebases) {
      Rebase(nodes->best.data(), begin, frontier, [&](uint32_t i) { return back[i] != 0; });
    }
    bool single = false;
    trie::Unit unit = model.pieces.root();
    for (uint32_t end = begin, depth = 0; end < size && depth < model.config->max_piece_chars;) {
      if (!model.pieces.Step(unit, codes[end])) break;
      ++end;
      ++depth;
      const uint32_t value = trie::Value(unit);
      if (value == trie::kNoValue) continue;
      const bool special = (model.id_flags[value] & image::kIdSpecial) != 0;
      if (!kSpecials && special) continue;
      relax(begin, end, Arithmetic::Piece(model.scores[value], nodes->best[begin]), value);
      single |= depth == 1;
    }
    if (!single) {
      relax(begin, begin + 1, Arithmetic::Unknown(model.config->unk_score, nodes->best[begin]),
            trie::kNoValue);
    }
  }
  uint32_t end = size, after = ~uint32_t{0};
  for (; end > 0; end -= back[end]) {
    nodes->link[places[end]] = after;
    nodes->value[places[end]] = values[end];
    after = places[end];
  }
  nodes->link[0] = after;
}

template <class Arithmetic, bool kSpecials, class Chars>
void ExpectSame(const Model& model, const Chars& chars, double start) {
  Nodes plain(chars.size()), nodes(chars.size());
  const std::vector<uint32_t> places = PlacesOf(chars);
  std::vector<uint32_t> codes(places.size());
  codes.resize(chars.PutCodes(codes.data()));
  ASSERT_EQ(codes.size() + 1, places.size());
  for (uint32_t& code : codes) code >>= kLinkBits;
  PlainSearch<Arithmetic, kSpecials>(model, codes, places, start, &plain);
  FindBestPath<Arithmetic, kSpecials>(model, chars, start, nodes.lattice());
  ASSERT_EQ(PathOf(nodes, chars.size()), PathOf(plain, chars.size()));
  for (size_t at = 0; at < codes.size(); ++at) ASSERT_EQ(nodes.best[at], plain.best[at]) << at;
  ASSERT_EQ(nodes.best[chars.size()], plain.best[codes.size()]);
}

template <class Arithmetic>
void ExpectSame(const Model& model, const std::string& text, double start) {
  const TextChars chars{model.codes, text};
  ExpectSame<Arithmetic, true>(model, chars, start);
  ExpectSame<Arithmetic, false>(model, chars, start);
  std::vector<uint16_t> codes;
  for (size_t at = 0; at < text.size();) {
    uint32_t bytes;
    const uint32_t code = model.codes[utf8::DecodeValid(text.data() + at, &bytes)];
    codes.push_back(static_cast<uint16_t>(code != 0 ? code : model.config->code_count));
    at += bytes;
  }
  ExpectSame<Arithmetic, true>(model, CodeChars{codes, model.config->code_count}, start);
}

const std::vector<std::string> kCharacters = {".", "a", "\u00e9", "\u3002", "\U0001f600", "x"};

std::string Repeated(const std::string& c, size_t count) {
  std::string text;
  for (; count > 0; --count) text += c;
  return text;
}

// Runs of all characters but the last, which is in no piece, alone and with others around them.
std::string RandomModel(std::mt19937_64& random) {
  sp_test::ModelProto model;
  model.AddSpecials();
  const size_t characters = 1 + random() % (kCharacters.size() - 1);
  const double scale = random() % 3 == 0 ? 400 : 4;
  const auto score = [&] {
    // Of few different values, so that there are ties.
    return static_cast<float>(-scale * static_cast<double>(1 + random() % 12) / 3);
  };
  std::set<std::string> pieces = {"b"};
  for (size_t i = 0; i < characters; ++i) {
    if (random() % 8 != 0) pieces.insert(kCharacters[i]);
    const size_t longest = random() % 8 == 0 ? 40 : 1 + random() % 20, one_in = 1 + random() % 3;
    for (size_t n = 2; n <= longest; ++n) {
      const std::string run = Repeated(kCharacters[i], n);
      if (random() % one_in == 0) pieces.insert(run);
      if (random() % 8 == 0) pieces.insert(run + kCharacters[random() % characters]);
      if (random() % 8 == 0) pieces.insert(kCharacters[random() % characters] + run);
    }
  }
  for (const std::string& piece : pieces) {
    const float of = score();
    model.Add(piece, random() % 6 == 0 ? of * static_cast<float>(piece.size()) : of);
  }
  return Serialize(model);
}

std::string RandomText(std::mt19937_64& random) {
  std::string text;
  const size_t longest = random() % 4 == 0 ? 600 : 40;
  for (size_t n = 1 + random() % 6; n > 0; --n) {
    text += Repeated(kCharacters[random() % kCharacters.size()], 1 + random() % longest);
  }
  return text;
}

TEST(BestPath, TheSearchIsThePlainOne) {
  std::mt19937_64 random(7);
  size_t beyond = 0;
  const size_t models = kSanitized ? 20 : 60;
  for (size_t m = 0; m < models; ++m) {
    sp_test::Engine engine(RandomModel(random));
    const Model& model = engine.model();
    for (int t = 0; t < 30; ++t) {
      const std::string text = RandomText(random);
      const double start = random() % 2 == 0 ? 0 : static_cast<float>(-99990.0 + (random() % 100));
      ExpectSame<HuggingFaceArithmetic>(model, text, start);
      ExpectSame<SentencePieceArithmetic>(model, text, start);
      ExpectSame<SentencePiece021Arithmetic>(model, text, start);
      if (HasFatalFailure()) FAIL() << "model " << m << " text " << t << ": " << text;
      Nodes nodes(text.size());
      FindBestPath<HuggingFaceArithmetic>(model, TextChars{model.codes, text}, start,
                                          nodes.lattice());
      beyond += nodes.best[text.size()] < -kRebaseBeyond;
    }
  }
  EXPECT_GT(beyond, models * 10 / 3);  // texts in which scores are rebased
}

}  // namespace
}  // namespace rankfeed::unigram
