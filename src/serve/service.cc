// SPDX-License-Identifier: MIT
// serve/service.cc: see service.h.
#include "serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rankfeed/version.h"
#include "serve/framing.h"
#include "serve/inflate.h"

namespace rankfeed::serve {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kOpenMetrics =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

constexpr size_t kMostPath = 256;  // bytes of a path in the log

// Liveness probes and collectors bring no key.
bool NeedsKey(Action action) { return action != Action::kHealth && action != Action::kMetrics; }

// Takes as long whatever the two have in common.
bool SameSecret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

// The key of a field Authorization: the scheme in any case, white space, the key (RFC 9110, 11.4).
std::string_view BearerKey(std::string_view authorization) {
  const size_t end = std::min(authorization.find_first_of(" \t"), authorization.size());
  if (!SameWord(authorization.substr(0, end), "bearer")) return {};
  const size_t begin = authorization.find_first_not_of(" \t", end);
  return begin == authorization.npos ? std::string_view() : authorization.substr(begin);
}

Response JsonResponse(std::string body) {
  Response out;
  out.content_type = kJson;
  out.body = std::move(body);
  return out;
}

const char* DtypeName(uint32_t dtype) {
  return dtype == RANKFEED_DTYPE_F16    ? "float16"
         : dtype == RANKFEED_DTYPE_BF16 ? "bfloat16"
                                        : "float32";
}

std::string LabelsOf(const Assets& assets) {
  JsonTree names(Json::value_t::object), numbers(Json::value_t::object);
  for (uint32_t i = 0; i < assets.model_info.labels; ++i) {
    const std::string name = assets.pairing.facts.LabelName(i);
    names.root[std::to_string(i)] = name;
    numbers.root[name] = i;
  }
  const auto text = [](const JsonTree& tree) { return tree.root.dump(-1, ' ', false, Json::error_handler_t::replace); };
  return fmt::format("{{\"id2label\":{},\"label2id\":{}}}", text(names), text(numbers));
}

uint64_t Milliseconds(Clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

std::optional<Response> Service::Admit(const Head& head, Clock::time_point arrival,
                                       Clock::time_point* deadline) {
  const Dialect dialect = DialectOf(head.path);
  const auto refuse = [&](Kind kind, std::string message) {
    return ProblemResponse(dialect, {kind, std::move(message)});
  };
  const Route* const route = FindRoute(head.path);
  const bool options = head.method == "OPTIONS", all = head.path == "*";
  if (!all && (route == nullptr || (route->action == Action::kReload && !admin_)))
    return refuse(Kind::kNoRoute, fmt::format("there is no {}{}", head.path, route == nullptr ? "" : " here, but on the listener of --admin-port"));
  const bool post = !all && IsPost(route->action);
  if (options || !(post ? head.method == "POST" : head.method == "GET" || head.method == "HEAD")) {
    Response out = options ? Response()
                           : refuse(Kind::kMethod, fmt::format("{} is not a method of {}",
                                                               head.method, head.path));
    out.fields += all    ? "Allow: GET, HEAD, POST, OPTIONS\r\n"
                  : post ? "Allow: POST, OPTIONS\r\n"
                         : "Allow: GET, HEAD, OPTIONS\r\n";
    return out;
  }
  const std::string& key = state_->options.api_key;
  if (!admin_ && !key.empty() && (all || NeedsKey(route->action)) &&
      !SameSecret(BearerKey(head.authorization), key)) {
    return refuse(Kind::kUnauthorized,
                  "the header Authorization: Bearer KEY is missing or has another key");
  }
  if (!KnownEncoding(head.content_encoding)) {
    Response out =
        refuse(Kind::kMediaType,
               fmt::format("Content-Encoding {}: only gzip, deflate and identity are taken",
                           head.content_encoding));
    out.fields += "Accept-Encoding: gzip, deflate\r\n";
    return out;
  }
  if (!head.deadline_ms.empty()) {
    uint32_t value = 0;
    const char* const last = head.deadline_ms.data() + head.deadline_ms.size();
    const auto [end, error] = std::from_chars(head.deadline_ms.data(), last, value);
    if (error == std::errc::invalid_argument || end != last) {
      return refuse(Kind::kInvalid, "header X-Deadline-Ms is no number of milliseconds");
    }
    if (error == std::errc{})
      *deadline = std::min(*deadline, arrival + std::chrono::milliseconds(value));
  }
  return std::nullopt;
}

Response Service::Refuse(Fault fault, std::string_view path) {
  const Options& o = state_->options;
  Problem problem{Kind::kMalformed, "this is no HTTP/1.1 request"};
  switch (fault) {
    case Fault::kBadRequest:
      break;
    case Fault::kFraming:
      problem.message =
          "Transfer-Encoding may only be one chunked, of HTTP/1.1 and without Content-Length, which "
          "is one number";
      break;
    case Fault::kHeadTooLarge:
      problem = {Kind::kHeadTooLarge,
                 fmt::format("the head has more than {} bytes", o.listener.max_head_bytes)};
      break;
    case Fault::kBodyTooLarge:
      problem = {Kind::kTooLarge,
                 fmt::format("the body has more than {} bytes", o.listener.max_body_bytes)};
      break;
    case Fault::kTimeout:
      problem = {Kind::kTimeout, "the request did not arrive in time"};
      break;
    case Fault::kNoMemory:
      problem = {Kind::kOverloaded,
                 "there is no memory for this request beside the others"};
      break;
    case Fault::kExpectation:
      problem = {Kind::kExpectation, "only Expect: 100-continue can be met"};
      break;
    case Fault::kDraining:
      problem = {Kind::kUnhealthy, "the service is shutting down"};
      break;
  }
  return Finished(DialectOf(path), problem, IsRanked(path));
}

void Service::Count(Kind kind, bool rerank) {
  if (!rerank) return;
  ++state_->metrics.requests;
  ++state_->metrics.outcomes[static_cast<size_t>(OutcomeOf(kind))];
}

Response Service::Finished(Dialect dialect, const Problem& problem, bool rerank) {
  Response out = ProblemResponse(dialect, problem);
  if (problem.kind == Kind::kOverloaded || problem.kind == Kind::kUnhealthy) {
    out.fields += fmt::format("Retry-After: {}\r\n", RetryAfter());
  }
  Count(problem.kind, rerank);  // last: nothing below throws, and who catches counts
  return out;
}

// Seconds until what waits now is done, by the mean of what was done so far.
std::string Service::RetryAfter() const {
  const Metrics& m = state_->metrics;
  const uint64_t done = std::max<uint64_t>(m.finished.load(), 1);
  const double each = static_cast<double>(m.busy_ns.load()) * 1e-9 / static_cast<double>(done);
  const double wait =
      each * static_cast<double>(state_->workers->depth()) / state_->options.workers;
  return std::to_string(std::clamp(static_cast<int>(wait + 0.999), 1, 60));
}

// Texts of requests, and messages, which repeat parts of them, are not in the log: the reason is one of a few words.
void Service::Answered(const Exchange& exchange) noexcept {
  const Response& response = exchange.response;
  const Facts& facts = response.facts;
  const Level level = facts.probe ? Level::kDebug : facts.failed ? Level::kError : response.status >= 400 ? Level::kWarn : Level::kInfo;
  if (!state_->log->Has(level)) return;
  Line line = state_->log->Begin(level, "request");
  line.Text("id", exchange.id).Text("method", exchange.method).Text("path", exchange.path, kMostPath).Text("dialect", facts.dialect);
  line.Number("status", static_cast<uint64_t>(response.status)).Text("reason", facts.reason);
  if (facts.rows != 0) line.Number("rows", facts.rows).Number("tokens", facts.tokens).Number("generation", facts.generation);
  if (facts.queued.count() != 0) line.Milliseconds("queued_ms", facts.queued);
  line.Milliseconds("ms", exchange.time);
  if (exchange.dropped) line.Text("client", "gone");
  state_->log->Put(line);
}

void Service::Handle(Request request, std::function<void(Response)> done) {
  if (request.method != "POST") {
    done(Get(request));
  } else if (FindRoute(request.path)->action != Action::kReload) {
    Work(std::move(request), std::move(done));
  } else if (!state_->loader->Take(std::move(request), done)) {
    done(ProblemResponse(Dialect::kTei, {Kind::kOverloaded, "another set is being loaded"}));
  }
}

Response Service::Get(const Request& request) const {
  Response out;
  const Route* const route = FindRoute(request.path);
  const Action action = route == nullptr ? Action::kDocument : route->action;  // OPTIONS *
  if (action == Action::kHealth) {
    if (state_->draining)
      out = ProblemResponse(Dialect::kTei, {Kind::kUnhealthy, "the service is shutting down"});
    out.facts.probe = true;
    return out;
  }
  if (action == Action::kInfo) return Info();
  if (action == Action::kModels) return Models();
  if (action == Action::kMetrics) {
    const bool open = request.accept.find("application/openmetrics-text") != std::string::npos;
    const auto assets = state_->assets.Get();
    const char* const parity = rankfeed_parity_name(assets->vocabulary_info.parity);
    const rankfeed_placement placement = assets->vocabulary->placement();
    const Gauges gauges{assets->generation,
                        state_->workers->depth(),
                        state_->log->lost(),
                        state_->draining,
                        parity == nullptr ? "" : parity,
                        rankfeed_pages_name(placement.pages),
                        placement.huge_bytes};
    out.facts.probe = true;
    out.content_type = open ? kOpenMetrics : kPrometheus;
    out.body = MetricsText(state_->metrics, gauges, *state_->connections, open);
    return out;
  }
  return JsonResponse(std::string(OpenApi()));
}

// Returns the one model that is served, as OpenAI's list of models has it.
Response Service::Models() const {
  const auto assets = state_->assets.Get();
  const std::string& name = state_->options.model_name.empty() ? assets->paths.model : state_->options.model_name;
  return JsonResponse(fmt::format(
      "{{\"object\":\"list\",\"data\":[{{\"id\":{},\"object\":\"model\",\"created\":{},\"owned_by\":\"rankfeed\","
      "\"root\":{},\"max_model_len\":{}}}]}}",
      Quoted(name), state_->started, Quoted(assets->paths.model), assets->row_tokens));
}

Response Service::Info() const {
  const auto assets = state_->assets.Get();
  const Options& o = state_->options;
  const char* const parity = rankfeed_parity_name(assets->vocabulary_info.parity);
  const rankfeed_crossencoder_info model = assets->model->info();  // products counted until now
  auto by_folder = assets->pairing.Activation(folder::ScoreBy::kFolder);
  const std::string activation =
      fmt::format("{{\"service\":\"{}\",\"folder\":{}}}", folder::ActivationName(assets->Activation(false)),
                  Quoted(by_folder ? folder::ActivationName(*by_folder) : assets->pairing.facts.settings.activation));
  const std::string device = fmt::format(
      "{{\"backend\":{},\"name\":{},\"gemm\":{},\"graphs\":{},\"graph_launches\":{},\"graph_failures\":{}}}",
      Quoted(model.backend), Quoted(assets->device_name), Quoted(model.gemm), model.graphs, model.graph_launches,
      model.graph_failures);
  // Text at once: an object of nlohmann-json takes memory to be destroyed.
  std::string out = "{";
  const auto add = [&out](const char* name, const auto& json) { out += fmt::format("{}\"{}\":{}", out.size() == 1 ? "" : ",", name, json); };
  add("model_id", Quoted(o.model_name.empty() ? assets->paths.model : o.model_name));
  add("model_sha", "null");
  add("model_dtype", Quoted(DtypeName(assets->model_info.dtype)));
  add("model_type", fmt::format("{{\"reranker\":{}}}", LabelsOf(*assets)));
  add("max_concurrent_requests", o.queue + o.workers);
  add("max_input_length", assets->row_tokens);
  add("max_batch_tokens", o.max_batch_tokens);
  add("max_batch_requests", "null");
  add("max_client_batch_size", o.max_documents);
  add("auto_truncate", o.auto_truncate);
  add("tokenization_workers", o.workers);
  add("version", Quoted(rankfeed_version_string()));
  add("sha", "null");
  add("docker_label", "null");
  add("vocabulary", Quoted(assets->vocabulary_file));
  add("corpus", Quoted(assets->paths.corpus));
  add("generation", assets->generation);
  add("ids_parity", Quoted(parity == nullptr ? "" : parity));
  add("activation", activation);
  add("device", device);
  return JsonResponse(out += '}');
}

void Service::Work(Request request, std::function<void(Response)> done) {
  const Dialect dialect = DialectOf(request.path);
  const bool rerank = IsRanked(request.path);
  auto shared = std::make_shared<Request>(std::move(request));
  auto answer = std::make_shared<std::function<void(Response)>>(std::move(done));
  const auto admission = state_->workers->Submit([this, shared, answer, rerank](Scorer* scorer) {
    Metrics& m = state_->metrics;
    ++m.running;
    const auto taken = Clock::now();
    Response response;
    try {
      response = Compute(*shared, taken, scorer);
    } catch (const std::bad_alloc&) {
      Count(Kind::kBackend, rerank);
      response = StarvedResponse(DialectOf(shared->path), Kind::kBackend);
    }
    m.busy_ns += static_cast<uint64_t>((Clock::now() - taken).count());
    ++m.finished;
    --m.running;
    response.facts.queued = taken - shared->arrival;
    (*answer)(std::move(response));
  });
  switch (admission) {
    case Workers::Admission::kQueued:
      return;
    case Workers::Admission::kFull:
      return (*answer)(Finished(dialect, {Kind::kOverloaded, "Model is overloaded"}, rerank));
    case Workers::Admission::kStopping:
      return (*answer)(
          Finished(dialect, {Kind::kUnhealthy, "the service is shutting down"}, rerank));
  }
}

Response Service::Compute(const Request& request, Clock::time_point taken, Scorer* scorer) {
  const Options& o = state_->options;
  const Route& route = *FindRoute(request.path);
  try {
    if (taken >= request.deadline) throw Problem{Kind::kDeadline, "the request waited too long"};
    JsonTree body;
    if (request.content_encoding.empty()) {
      body = ParseJson(request.body.bytes(), o);
    } else {
      std::string plain;
      switch (Inflate(request.content_encoding, request.body.bytes(), o.listener.max_body_bytes,
                      &plain)) {
        case Inflated::kOk:
          break;
        case Inflated::kTooLarge:
          throw Problem{Kind::kTooLarge,
                        fmt::format("the body has more than {} bytes", o.listener.max_body_bytes)};
        default:
          throw Problem{Kind::kMalformed,
                        fmt::format("the body is not {}", request.content_encoding)};
      }
      body = ParseJson(plain, o);
    }
    if (route.action == Action::kRerank) return Rerank(request, std::move(body), taken, scorer);
    if (route.action == Action::kScore) return ScorePairs(request, body.root, scorer);
    if (route.action == Action::kTokenize) {
      const TokenizeCall call = ParseTokenize(body.root, o);
      std::string prompt;
      if (call.prompt_name) {
        auto named = scorer->Prompt(*call.prompt_name);
        if (!named) throw ProblemOf(named.error());
        prompt = std::move(*named);
      }
      std::vector<std::vector<Token>> tokens(call.inputs.size());
      for (size_t i = 0; i < tokens.size(); ++i) {
        if (auto error = scorer->Tokenize(prompt + call.inputs[i], call.add_special_tokens, &tokens[i]))
          throw ProblemOf(error);
        if (Clock::now() >= request.deadline) throw Problem{Kind::kDeadline, "the deadline passed"};
      }
      return JsonResponse(TokenizeAnswer(tokens));
    }
    const DecodeCall call = ParseDecode(body.root, o);
    std::string answer = "[";
    for (const auto& ids : call.ids) {
      std::string text;
      if (auto error = scorer->Decode(ids, call.skip_special_tokens, &text)) throw ProblemOf(error);
      answer += (answer.size() == 1 ? "" : ",") + Quoted(text);
    }
    return JsonResponse(answer += ']');
  } catch (const Problem& problem) {
    return Finished(route.dialect, problem, IsRanked(request.path));
  }
}

Response Service::Rerank(const Request& request, JsonTree body, Clock::time_point taken,
                         Scorer* scorer) {
  RerankCall call;
  try {
    ParseRerank(*FindRoute(request.path), std::move(body), state_->options, &call);
    if (call.model.empty()) call.model = scorer->assets().paths.model;
    call.ranking.deadline = request.deadline;
    if (auto error = scorer->Rank(&call.ranking)) throw ProblemOf(error);
  } catch (const Problem& problem) {
    return Finished(call.dialect, problem, true);
  }
  const Ranking& r = call.ranking;
  Response out = JsonResponse(RerankAnswer(call, NewId("rerank")));
  const auto total = Clock::now() - request.arrival;
  if (call.dialect == Dialect::kTei) {
    out.fields = fmt::format(
        "x-compute-type: {}\r\nx-compute-tokens: {}\r\nx-total-time: {}\r\nx-queue-time: {}\r\n"
        "x-tokenization-time: {}\r\nx-inference-time: {}\r\n",
        scorer->assets().paths.device.on_host() ? "cpu" : "gpu", r.tokens, Milliseconds(total),
        Milliseconds(taken - request.arrival), Milliseconds(r.tokenizing), Milliseconds(r.scoring));
  }
  out.fields += fmt::format("x-rankfeed-generation: {}\r\n", r.generation);
  CountAnswer(call.dialect, {&r, 1}, total, &out.facts);
  return out;
}

Response Service::ScorePairs(const Request& request, const Json& body, Scorer* scorer) {
  const Route& route = *FindRoute(request.path);
  ScoreCall call = ParseScore(route, body, state_->options);
  if (call.model.empty()) call.model = scorer->assets().paths.model;
  uint64_t tokens = 0;
  for (Ranking& ranking : call.rankings) {
    ranking.deadline = request.deadline;
    if (auto error = scorer->Rank(&ranking)) throw ProblemOf(error);
    tokens += ranking.tokens;
    if (const uint64_t most = state_->options.max_request_tokens; tokens > most)
      throw Problem{Kind::kTooLarge, fmt::format("the request has more than {} tokens", most)};
  }
  const folder::Pairing& pairing = scorer->assets().pairing;
  Response out = JsonResponse(ScoreAnswer(route, call, NewId("score"), pairing.facts.LabelName(pairing.label)));
  out.fields = fmt::format("x-rankfeed-generation: {}\r\n", call.rankings.front().generation);
  CountAnswer(route.dialect, call.rankings, Clock::now() - request.arrival, &out.facts);
  return out;
}

// Returns an id that no other answer has.
std::string Service::NewId(std::string_view kind) {
  const uint64_t serial = ++state_->serial;
  return fmt::format("{}-{:016x}{:08x}", kind, state_->process, serial);
}

// Counts a request that was answered, and notes its counts in *facts.
void Service::CountAnswer(Dialect dialect, std::span<const Ranking> rankings, Clock::duration total, Facts* facts) {
  Metrics& m = state_->metrics;
  size_t documents = 0, ranked = 0;
  facts->dialect = DialectName(dialect);
  for (const Ranking& r : rankings) {
    facts->tokens += r.tokens;
    facts->rows += r.rows;
    facts->generation = r.generation;
    m.cut_rows += r.cut_rows;
    m.batches += r.batches;
    m.tokenizing_cpu_ns += r.tokenizing_cpu_ns;
    m.scoring_ns += static_cast<uint64_t>(r.scoring.count());
    documents += r.documents.size();
    ranked += r.ranked.size();
  }
  m.tokens += facts->tokens;
  m.rows += facts->rows;
  ++m.requests;
  m.documents += documents;
  m.candidates.Observe(static_cast<double>(documents));
  m.top_n.Observe(static_cast<double>(ranked));
  m.seconds.Observe(std::chrono::duration<double>(total).count());
  ++m.outcomes[static_cast<size_t>(Outcome::kOk)];
}

}  // namespace rankfeed::serve
