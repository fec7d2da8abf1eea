// SPDX-License-Identifier: MIT
// serve/dialect.h: requests of each dialect to a Ranking, and rankings to answers.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/problem.h"
#include "serve/scorer.h"

namespace rankfeed::serve {

using Json = nlohmann::ordered_json;

// JSON that takes no memory to be destroyed: nlohmann-json 3.11 itself lists the values first, and may not fail.
class JsonTree {
 public:
  JsonTree() = default;
  // An empty object or array: a null may not become one, for it is broken where there is no memory for that.
  explicit JsonTree(Json::value_t type) : root(type) {}
  JsonTree(JsonTree&& other) noexcept { root.swap(other.root); }
  JsonTree& operator=(JsonTree&& other) noexcept {
    root.swap(other.root);
    return *this;
  }
  ~JsonTree() { Empty(&root); }
  Json root;

 private:
  static void Empty(Json* value) noexcept;
};

// A body as JSON; no deeper and of no more elements than the options say, which is looked at before
// anything is allocated for them. Throws Problem.
JsonTree ParseJson(std::string_view body, const Options& options);

enum class Action : uint8_t {
  kRerank, kScore, kTokenize, kDecode, kReload,   // POST; kReload on the listener for operators alone
  kModels, kInfo, kHealth, kMetrics, kDocument,   // GET
};
constexpr bool IsPost(Action action) { return action <= Action::kReload; }

// A path with what is done there.
struct Route {
  std::string_view path;
  Action action;
  Dialect dialect;  // of errors before the body is known, and of answers unless the body says another
};
// Returns the route of a path; null where there is none. O(routes).
const Route* FindRoute(std::string_view path);
// Returns the dialect of a path before its body is known; text-embeddings-inference's where there is no route.
Dialect DialectOf(std::string_view path);
// Returns whether requests to the path are ranked, and counted as such.
bool IsRanked(std::string_view path);

struct RerankCall {
  Dialect dialect = Dialect::kTei;
  JsonTree body;
  std::string model;  // as the request names it, else as the service does
  bool with_documents = false;
  Ranking ranking;
};

// Throws Problem; call->dialect is known then, as far as the body tells it.
void ParseRerank(const Route& route, JsonTree body, const Options& options, RerankCall* call);
std::string RerankAnswer(const RerankCall& call, std::string_view id);

// Pairs of texts to score, in their order: vLLM's /score and text-embeddings-inference's /predict. Pairs in a row with
// the same first text are one ranking.
struct ScoreCall {
  std::string model;
  bool single = false;  // /predict of one pair, which is answered without a list around it
  std::vector<Ranking> rankings;
};
ScoreCall ParseScore(const Route& route, const Json& body, const Options& options);  // throws Problem
// label: the name of the label that ranks, which /predict repeats.
std::string ScoreAnswer(const Route& route, const ScoreCall& call, std::string_view id, std::string_view label);

struct TokenizeCall {
  std::vector<std::string> inputs;
  bool add_special_tokens = true;
  std::optional<std::string> prompt_name;  // of the model's folder; unset: no prompt
};
TokenizeCall ParseTokenize(const Json& body, const Options& options);  // throws Problem
std::string TokenizeAnswer(const std::vector<std::vector<Token>>& tokens);

struct DecodeCall {
  std::vector<std::vector<int32_t>> ids;
  bool skip_special_tokens = true;
};
DecodeCall ParseDecode(const Json& body, const Options& options);  // throws Problem

}  // namespace rankfeed::serve
