// SPDX-License-Identifier: MIT
// serve/service.h: the answers of `rankfeed serve` to its two listeners.
//
// The paths are the routes of dialect.cc. POST /admin/reload takes {"vocab", "corpus", "model"}, each optional: a hot
// swap, only on the listener for operators.
#pragma once

#include <atomic>
#include <ctime>
#include <memory>
#include <span>

#include "serve/dialect.h"
#include "serve/loader.h"
#include "serve/log.h"
#include "serve/metrics.h"
#include "serve/notify.h"
#include "serve/workers.h"

namespace rankfeed::serve {

// Runs until SIGTERM, SIGINT or SIGQUIT; prints where it listens, and what it answered when it has drained. SIGHUP
// loads again what was last loaded; SIGPIPE, SIGUSR1 and SIGUSR2 are ignored.
// Returns the exit status, or throws std::runtime_error with what is wrong with the options or the
// assets.
int Serve(Options options);

// Logs what the operator should know of a set, if there is anything.
void LogNote(const Assets& assets, Log* log) noexcept;

// State that the listeners of one service share. Any thread.
struct State {
  State(const Options& o, Log* l) : options(o), log(l) {}
  const Options& options;
  Log* const log;
  Manager manager;
  AssetBox assets;
  Metrics metrics;
  std::unique_ptr<Workers> workers;
  std::unique_ptr<Loader> loader;
  const ListenerCounts* connections = nullptr;  // of the listener for requests
  std::atomic<bool> draining{false};
  std::atomic<uint64_t> serial{0};
  uint64_t process = 0;  // in ids of answers: no two processes have the same
  const int64_t started = std::time(nullptr);
};

class Service : public Application {
 public:
  // admin: this listener is for operators: it swaps assets and asks for no key.
  Service(State* state, bool admin) : state_(state), admin_(admin) {}
  std::optional<Response> Admit(const Head& head, Clock::time_point arrival,
                                Clock::time_point* deadline) override;
  void Handle(Request request, std::function<void(Response)> done) override;
  Response Refuse(Fault fault, std::string_view path) override;
  void Answered(const Exchange& exchange) noexcept override;

 private:
  Response Get(const Request& request) const;
  Response Info() const;
  Response Models() const;
  void Work(Request request, std::function<void(Response)> done);
  void Count(Kind kind, bool rerank);
  Response Finished(Dialect dialect, const Problem& problem, bool rerank);
  Response Rerank(const Request& request, JsonTree body, Clock::time_point taken, Scorer* scorer);
  Response ScorePairs(const Request& request, const Json& body, Scorer* scorer);  // throws Problem
  std::string NewId(std::string_view kind);
  void CountAnswer(Dialect dialect, std::span<const Ranking> rankings, Clock::duration total, Facts* facts);
  Response Compute(const Request& request, Clock::time_point taken, Scorer* scorer);
  std::string RetryAfter() const;

  State* const state_;
  const bool admin_;
};

// The OpenAPI document: openapi.json, which CMake makes the second function of, with the answers to
// requests that fail, of the dialects' table in problem.cc.
std::string_view OpenApi();
std::string_view OpenApiWithoutProblems();

}  // namespace rankfeed::serve
