// SPDX-License-Identifier: MIT
// The search of models/unigram/search.h, over the pieces that builder/models/unigram/pruning.h leaves, against one
// over all pieces: best paths and margins, for random vocabularies and strings.
#include "models/unigram/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "fast/word_forms.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

constexpr const char* kMark = "\u2581";

// Characters of a string of ASCII letters and U+2581, which is '_' here.
std::string Spelled(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '_' ? kMark : std::string(1, c);
  return out;
}

struct Vocabulary {
  std::map<std::string, std::pair<int, double>> pieces;  // id and score
  json file;
};

Vocabulary Random(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return random() % n; };
  Vocabulary v;
  json vocab = json::array();
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) vocab.push_back({special, 0.0});
  const auto add = [&](const std::string& text) {
    // Steps of a quarter make ties.
    const double score =
        -0.25 * static_cast<double>(1 + below(static_cast<uint32_t>(text.size()) * 12 + 20));
    if (v.pieces.emplace(text, std::pair{static_cast<int>(vocab.size()), score}).second) {
      vocab.push_back({Spelled(text), score});
    }
  };
  for (const char c : std::string("_abcdefgh")) {
    if (c == '_' || below(8) != 0) add(std::string(1, c));  // the others are unknown characters
  }
  const uint32_t letters = 2 + below(3), count = 5 + below(80);
  for (uint32_t i = 0; i < count; ++i) {
    std::string text(below(3) == 0 ? "_" : "");
    const uint32_t size = 1 + below(below(6) == 0 ? 15 : 5);
    while (text.size() < size) text += static_cast<char>('a' + below(letters));
    add(text);
  }
  add("efgh");  // gives all letters a code
  add("abcd");
  v.file = DefaultTokenizer();
  v.file["normalizer"] = nullptr;
  v.file["pre_tokenizer"] = Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace});
  v.file["model"]["vocab"] = vocab;
  return v;
}

struct Path {
  std::vector<int> ids;
  uint64_t total = 0, margin = ~uint64_t{0};
  uint32_t steps = 0;
};

// Over all pieces, in the same costs.
Path Search(const Vocabulary& v, const rankfeed_model& model, const std::string& text) {
  const double unit = model.segment.config->cost_unit;
  const auto cost = [&](double score) {
    return static_cast<uint64_t>(std::llround(-score / unit));
  };
  const size_t n = text.size();
  struct Node {
    uint64_t least = ~uint64_t{0}, next = ~uint64_t{0};
    size_t from = 0;
    int id = -1;
  };
  std::vector<Node> nodes(n + 1);
  nodes[0].least = 0;
  for (size_t end = 1; end <= n; ++end) {
    Node& node = nodes[end];
    const auto relax = [&](size_t from, uint64_t edge, int id) {
      const uint64_t sum = nodes[from].least + edge;
      if (sum < node.least) {
        node = {sum, node.least, from, id};
      } else {
        node.next = std::min(node.next, sum);
      }
    };
    for (size_t from = 0; from < end; ++from) {
      const auto piece = v.pieces.find(text.substr(from, end - from));
      if (piece != v.pieces.end()) {
        relax(from, cost(piece->second.second), piece->second.first);
      } else if (from + 1 == end) {
        relax(from, cost(model.config->unk_score), 3);
      }
    }
  }
  Path path;
  path.total = nodes[n].least;
  for (size_t at = n; at > 0; at = nodes[at].from) {
    const Node& node = nodes[at];
    ++path.steps;
    path.margin =
        std::min(path.margin, node.next == ~uint64_t{0} ? node.next : node.next - node.least);
    if (node.id != 3 || path.ids.empty() || path.ids.back() != 3) path.ids.push_back(node.id);
  }
  std::reverse(path.ids.begin(), path.ids.end());
  return path;
}

TEST(Search, PrunedPiecesAreOnNoBestPathAndHideNoMargin) {
  std::mt19937 random(5);
  size_t pruned = 0, compared = 0, ties = 0;
  std::vector<const fast::KernelTable*> kernels;
  fast_test::OnEveryIsa([&] { kernels.push_back(&fast_test::ForcedKernels()); });
  const int rounds = kSanitized ? 12 : 60;
  for (int round = 0; round < rounds; ++round) {
    const unigram::ScoreSums sums =
        round % 2 == 0 ? unigram::ScoreSums::kFloat32Rebased : unigram::ScoreSums::kFloat32;
    const Vocabulary v = Random(random);
    const Image image(v.file);
    const rankfeed_model& model = *image.model();
    ASSERT_TRUE(model.segment.config);
    for (const image::AutomatonState& state : model.segment.states) pruned += state.edge_count == 1;
    unigram::PathSearch search;
    Layout measure(nullptr);
    search.Carve(measure);
    const AlignedBytes memory({measure.size(), Layout::kAlignment});
    Layout carve(memory.data());
    search.Carve(carve);
    const unigram::ExactnessRule rule(model.segment.config->cost_unit, sums,
                                      model.config->unk_score);
    const auto lead = static_cast<uint64_t>(image::kPrunedLead / model.segment.config->cost_unit);
    for (size_t string = 0; string < 400; ++string) {
      // Several spans at once, as many as take turns and more.
      std::vector<std::string> texts;
      search.Clear();
      const uint32_t most = random() % 4 == 0 ? 80 : 20;
      for (uint32_t k = 1 + random() % most; k > 0; --k) {
        std::string text(random() % 2 == 0 ? "_" : "");
        for (uint32_t i = 1 + random() % 24; i > 0; --i) {
          text += static_cast<char>('a' + random() % (random() % 10 == 0 ? 8 : 3));
        }
        std::vector<uint16_t> codes;
        for (const char c : text) {
          codes.push_back(model.codes[c == '_' ? U'\u2581' : static_cast<char32_t>(c)]);
        }
        codes.resize(text.size() + kVectorSlack);
        search.Append(codes.data(), static_cast<uint32_t>(text.size()), text[0] == '_');
        texts.push_back(std::move(text));
      }
      search.Solve(model, kernels[string % kernels.size()]->search, rule);
      for (uint32_t k = 0; k < texts.size(); ++k) {
        SCOPED_TRACE(texts[k]);
        const Path expected = Search(v, model, texts[k]);
        const unigram::Path& result = search.path(k);
        const image::PathInfo exact =
            rule.Make(expected.total, std::min(expected.margin, lead), expected.steps,
                      static_cast<uint32_t>(texts[k].size()));
        if (expected.margin == 0) {
          ++ties;
          ASSERT_EQ(result.info.exact_below, 0u);
          continue;
        }
        ++compared;
        ASSERT_EQ(result.info.exact_below, exact.exact_below);
        ASSERT_EQ(result.info.score_bound, exact.score_bound);
        const std::vector<int> ids(search.ids() + result.first_id,
                                   search.ids() + result.first_id + result.count);
        ASSERT_EQ(ids, expected.ids);
      }
    }
  }
  EXPECT_GT(pruned, 16u * rounds);
  EXPECT_GT(ties, 16u * rounds);
  EXPECT_GT(compared, 1600u * rounds);
}

}  // namespace
}  // namespace rankfeed
