// SPDX-License-Identifier: MIT
// serve/problem.cc: see problem.h.
#include "serve/problem.h"

#include <fmt/format.h>

#include <new>
#include <nlohmann/json.hpp>

namespace rankfeed::serve {
namespace {

// One row for each Kind: the status for text-embeddings-inference, its error_type, the status for
// Cohere and vLLM, and the one for Jina and infinity, which are FastAPI services.
struct Row {
  int tei;
  const char* tei_type;
  int cohere, fastapi;
  const char* reason;  // in the log
};

Row RowOf(Kind kind) {
  switch (kind) {
    case Kind::kMalformed:
      return {400, "Validation", 400, 400, "malformed"};
    case Kind::kInvalid:
      return {422, "Validation", 400, 422, "invalid"};
    case Kind::kEmpty:
      return {400, "Empty", 400, 422, "empty"};
    case Kind::kTooLarge:
      return {413, "Validation", 413, 413, "too_large"};
    case Kind::kTooLong:
      return {413, "Validation", 400, 422, "too_long"};
    case Kind::kUnauthorized:
      return {401, "Unauthorized", 401, 401, "unauthorized"};
    case Kind::kNoRoute:
      return {404, "NotFound", 404, 404, "no_route"};
    case Kind::kMethod:
      return {405, "Method", 405, 405, "method"};
    case Kind::kMediaType:
      return {415, "Validation", 415, 415, "media_type"};
    case Kind::kOverloaded:
      return {429, "Overloaded", 429, 429, "overloaded"};
    case Kind::kUnhealthy:
      return {503, "Unhealthy", 503, 503, "shutting_down"};
    case Kind::kDeadline:
      return {504, "Deadline", 504, 504, "deadline"};
    case Kind::kTimeout:
      return {408, "Timeout", 408, 408, "timeout"};
    case Kind::kHeadTooLarge:
      return {431, "Validation", 431, 431, "head_too_large"};
    case Kind::kExpectation:
      return {417, "Validation", 417, 417, "expectation"};
    case Kind::kBackend:
      return {424, "Backend", 500, 500, "failed"};
  }
  return {500, "Backend", 500, 500, "failed"};
}

// Returns the type of an error as infinity and vLLM name it, both in OpenAI's shape.
const char* ErrorType(Dialect dialect, int status) {
  if (dialect == Dialect::kVllm) return status < 500 ? "BadRequestError" : "InternalServerError";
  return status == 401   ? "authentication_error"
         : status == 429 ? "rate_limit_error"
         : status < 500  ? "invalid_request_error"
                         : "server_error";
}

Facts FactsOf(Dialect dialect, Kind kind) {
  Facts out;
  out.dialect = DialectName(dialect);
  out.reason = RowOf(kind).reason;
  out.failed = kind == Kind::kBackend;
  return out;
}

}  // namespace

const char* DialectName(Dialect dialect) {
  switch (dialect) {
    case Dialect::kTei:
      return "tei";
    case Dialect::kCohereV1:
      return "cohere-v1";
    case Dialect::kCohereV2:
      return "cohere-v2";
    case Dialect::kJina:
      return "jina";
    case Dialect::kInfinity:
      return "infinity";
    case Dialect::kVllm:
      return "vllm";
  }
  return "";
}

int StatusOf(Dialect dialect, Kind kind) {
  const Row row = RowOf(kind);
  switch (dialect) {
    case Dialect::kTei:
      return row.tei;
    case Dialect::kCohereV1:
    case Dialect::kCohereV2:
    case Dialect::kVllm:
      return row.cohere;
    case Dialect::kJina:
    case Dialect::kInfinity:
      return row.fastapi;
  }
  return 500;
}

std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Response ProblemResponse(Dialect dialect, const Problem& problem) {
  const Row row = RowOf(problem.kind);
  const std::string message = Quoted(problem.message);
  Response out;
  out.content_type = "application/json";
  out.status = StatusOf(dialect, problem.kind);
  out.facts = FactsOf(dialect, problem.kind);
  switch (dialect) {
    case Dialect::kTei:
      out.body = fmt::format("{{\"error\":{},\"error_type\":\"{}\"}}", message, row.tei_type);
      break;
    case Dialect::kCohereV1:
    case Dialect::kCohereV2:
      out.body = fmt::format("{{\"message\":{}}}", message);
      break;
    case Dialect::kJina:
      out.body = fmt::format("{{\"detail\":{}}}", message);
      break;
    case Dialect::kInfinity:
    case Dialect::kVllm:
      out.body =
          fmt::format("{{\"error\":{{\"message\":{},\"type\":\"{}\",\"param\":null,\"code\":{}}}}}",
                      message, ErrorType(dialect, out.status), out.status);
      break;
  }
  if (problem.kind == Kind::kUnauthorized) out.fields += "WWW-Authenticate: Bearer\r\n";
  return out;
}

Response StarvedResponse(Dialect dialect, Kind kind) noexcept {
  try {
    return ProblemResponse(dialect, {kind, "out of memory"});
  } catch (const std::bad_alloc&) {
    Response out;
    out.status = StatusOf(dialect, kind);
    out.facts = FactsOf(dialect, kind);
    return out;
  }
}

Problem ProblemOf(const Error& error) {
  switch (error.status) {
    case RANKFEED_E_DEADLINE:
      return {Kind::kDeadline, error.message};
    case RANKFEED_E_CANCELLED:
      return {Kind::kUnhealthy, "the service is shutting down"};
    case RANKFEED_E_TOO_LONG:
    case RANKFEED_E_TRUNCATION:
      return {Kind::kTooLong, error.message};
    case RANKFEED_E_LIMIT:
      return {Kind::kTooLarge, error.message};
    case RANKFEED_E_ARGUMENT:
    case RANKFEED_E_NOT_FOUND:
    case RANKFEED_E_ID_RANGE:
    case RANKFEED_E_UNK_ID:
    case RANKFEED_E_SPECIAL_IN_TEXT:
      return {Kind::kInvalid, error.message};
    default:
      return {Kind::kBackend, error.message};
  }
}

Outcome OutcomeOf(Kind kind) {
  switch (kind) {
    case Kind::kOverloaded:
      return Outcome::kOverloaded;
    case Kind::kDeadline:
      return Outcome::kDeadline;
    case Kind::kUnhealthy:
    case Kind::kBackend:
      return Outcome::kFailed;
    default:
      return Outcome::kInvalid;
  }
}

}  // namespace rankfeed::serve
