// SPDX-License-Identifier: MIT
// serve/openapi.cc: the document of GET /docs. Paths, fields and answers are those of openapi.json;
// the answers to requests that fail come from the table of problem.cc, by the path's dialects.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "serve/dialect.h"
#include "serve/service.h"

namespace rankfeed::serve {
namespace {

const char* Meaning(Kind kind) {
  switch (kind) {
    case Kind::kMalformed:
      return "the body is no JSON object, or not encoded as it says";
    case Kind::kInvalid:
      return "a field is missing, of another type or out of range";
    case Kind::kEmpty:
      return "there are no documents";
    case Kind::kTooLarge:
      return "there are more bytes, documents or tokens than are taken";
    case Kind::kTooLong:
      return "a row is too long and may not be cut";
    case Kind::kUnauthorized:
      return "the key is missing or another";
    case Kind::kNoRoute:
      return "there is no such path";
    case Kind::kMethod:
      return "the path has another method";
    case Kind::kMediaType:
      return "the Content-Encoding is none of gzip, deflate and identity";
    case Kind::kOverloaded:
      return "the queue is full; Retry-After says when to come back";
    case Kind::kUnhealthy:
      return "the service is shutting down";
    case Kind::kDeadline:
      return "the deadline passed";
    case Kind::kTimeout:
      return "the request did not arrive in time";
    case Kind::kHeadTooLarge:
      return "the head is too large";
    case Kind::kExpectation:
      return "the Expect field is not 100-continue";
    case Kind::kBackend:
      return "the forward pass failed";
  }
  return "";
}

// The descriptions of the answers to failed requests of a path, by status.
std::map<int, std::string> ProblemsOf(const std::vector<Dialect>& dialects,
                                      const std::vector<Kind>& kinds) {
  std::map<int, std::string> out;
  for (const Kind kind : kinds) {
    for (const Dialect dialect : dialects) {
      std::string& text = out[StatusOf(dialect, kind)];
      const std::string meaning = Meaning(kind);
      if (text.find(meaning) == text.npos) text += (text.empty() ? "" : "; ") + meaning;
    }
  }
  return out;
}

std::vector<Dialect> DialectsOf(const std::string& path) {
  const Route* const route = FindRoute(path);
  if (route->action == Action::kRerank && route->dialect == Dialect::kTei)
    return {Dialect::kTei, Dialect::kJina, Dialect::kInfinity};
  return {DialectOf(path)};
}

std::vector<Kind> KindsOf(const std::string& path, const std::string& method) {
  if (path == "/health" || path == "/ping") return {Kind::kUnhealthy};
  if (path == "/metrics") return {};
  if (method == "get") return {Kind::kUnauthorized};
  std::vector<Kind> out;
  for (int kind = 0; kind <= static_cast<int>(kLastKind); ++kind) {
    const Kind k = static_cast<Kind>(kind);
    if (k != Kind::kNoRoute && k != Kind::kMethod) out.push_back(k);
  }
  return out;
}

const char* ErrorOf(const std::vector<Dialect>& dialects) {
  return dialects.size() > 1                      ? "AnyError"
         : dialects.front() == Dialect::kTei      ? "TeiError"
         : dialects.front() >= Dialect::kInfinity ? "InfinityError"
                                                  : "CohereError";
}

std::string Compose() {
  Json document = Json::parse(OpenApiWithoutProblems());
  const Json deadline = {
      {"name", "X-Deadline-Ms"},
      {"in", "header"},
      {"required", false},
      {"description",
       "Milliseconds from the first byte of the request to its answer; the service's "
       "own limit binds too"},
      {"schema", {{"type", "integer"}, {"minimum", 0}}}};
  for (auto& [path, operations] : document["paths"].items()) {
    for (auto& [method, operation] : operations.items()) {
      const std::vector<Dialect> dialects = DialectsOf(path);
      const Json schema = {{"$ref", std::string("#/components/schemas/") + ErrorOf(dialects)}};
      for (const auto& [status, text] : ProblemsOf(dialects, KindsOf(path, method))) {
        operation["responses"][std::to_string(status)] = {
            {"description", text}, {"content", {{"application/json", {{"schema", schema}}}}}};
      }
      if (IsRanked(path)) operation["parameters"] = Json::array({deadline});
    }
  }
  return document.dump();
}

}  // namespace

std::string_view OpenApi() {
  static const std::string document = Compose();
  return document;
}

}  // namespace rankfeed::serve
