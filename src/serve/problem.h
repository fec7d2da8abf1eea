// SPDX-License-Identifier: MIT
// serve/problem.h: answers other than 200, in the shape and with the status that each dialect has
// for them.
#pragma once

#include <string>

#include "rankfeed/rankfeed.hpp"
#include "serve/http.h"
#include "serve/metrics.h"

namespace rankfeed::serve {

// Whose requests and answers a path speaks.
//   kTei       text-embeddings-inference: /rerank with `texts`, /tokenize, /decode
//   kCohereV1  Cohere's API 1, and Jina's and vLLM's at the same path: /v1/rerank
//   kCohereV2  Cohere's API 2: /v2/rerank
//   kJina      Jina's, vLLM's: /rerank with `documents`
//   kInfinity  infinity's clients: /infinity/rerank, and /rerank with `documents` and `raw_scores`
//   kVllm      vLLM's scores of pairs: /score, /v1/score
enum class Dialect { kTei, kCohereV1, kCohereV2, kJina, kInfinity, kVllm };

enum class Kind {
  kMalformed,  // the body is no JSON, or not encoded as it says
  kInvalid,    // a field is missing, or of another type, or out of range
  kEmpty,      // no documents
  kTooLarge,   // more bytes, documents or tokens than the service takes
  kTooLong,    // a row, where cutting was not allowed
  kUnauthorized,
  kNoRoute,
  kMethod,
  kMediaType,
  kOverloaded,
  kUnhealthy,  // the service is ending
  kDeadline,
  kTimeout,  // the client took too long to send
  kHeadTooLarge,
  kExpectation,
  kBackend,
};
inline constexpr Kind kLastKind = Kind::kBackend;

struct Problem {
  Kind kind;
  std::string message;
};

// Returns the dialect's name in the log.
const char* DialectName(Dialect dialect);
// The status that a dialect has for problems of a kind.
int StatusOf(Dialect dialect, Kind kind);
Response ProblemResponse(Dialect dialect, const Problem& problem);
// The answer where memory ran out; without a body where there is none for that either.
Response StarvedResponse(Dialect dialect, Kind kind) noexcept;
Problem ProblemOf(const Error& error);
Outcome OutcomeOf(Kind kind);

// A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
std::string Quoted(std::string_view text);

}  // namespace rankfeed::serve
