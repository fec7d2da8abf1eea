// SPDX-License-Identifier: MIT
// examples/rerank_server.cc: a rerank micro-service over cpp-httplib.
//
//   rerank_server --vocab VOCAB --model MODEL [--corpus STORE] [--port N] [--workers N] [--queue N]
//                 [--deadline-ms N] [--max-length N]
//
//   POST /rerank                   {"query", "texts"}: text-embeddings-inference's request and answer
//   POST /rerank, /v1/rerank, /v2/rerank   {"query", "documents"}: Cohere's and Jina's
//   GET  /health /info /metrics    readiness, facts, Prometheus
//   POST /admin/reload             {"vocab", "corpus", "model"}, each optional: hot swap
//
// A connection occupies a front thread while it is open, so there are a few more of these than the
// queue has places: an overloaded server still reads a request and answers 429. SIGTERM and SIGINT
// drain: new requests get 503, those accepted are answered, then the process ends with 0.
#include <fmt/format.h>
#include <httplib.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

#include "service.h"

namespace example {
namespace {

using Json = nlohmann::ordered_json;

// An answer other than 200.
struct Problem {
  int code;
  std::string message, type;
};

// Throws Problem with 422 where a field is missing or of another type.
template <class T>
T Field(const Json& body, const char* name, std::optional<T> fallback = std::nullopt) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) {
    if (fallback) return *fallback;
    throw Problem{422, fmt::format("missing field `{}`", name), "Validation"};
  }
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw Problem{422, fmt::format("field `{}` is of the wrong type", name), "Validation"};
  }
}

uint32_t Count(const Json& body, const char* name, uint32_t fallback) {
  const int64_t value = Field<int64_t>(body, name, int64_t{fallback});
  if (value < 0 || value > 1'000'000) {
    throw Problem{422, fmt::format("field `{}` is out of range", name), "Validation"};
  }
  return static_cast<uint32_t>(value);
}

class Front {
 public:
  Front(AssetBox* assets, Service* service, uint32_t deadline_ms)
      : assets_(assets), service_(service), deadline_ms_(deadline_ms) {}

  void Install(httplib::Server* server) {
    const auto rerank = [this](const httplib::Request& in, httplib::Response& out) { Rerank(in, out); };
    for (const char* path : {"/rerank", "/v1/rerank", "/v2/rerank"}) server->Post(path, rerank);
    server->Get("/health", [this](const httplib::Request&, httplib::Response& out) {
      out.status = draining_ ? 503 : 200;
    });
    server->Get("/metrics", [this](const httplib::Request&, httplib::Response& out) {
      out.set_content(service_->PrometheusText(), "text/plain; version=0.0.4");
    });
    server->Get("/info", [this](const httplib::Request&, httplib::Response& out) {
      const auto assets = assets_->Get();
      const auto& o = service_->options();
      out.set_content(Json{{"model_id", assets->paths.model},
                           {"vocabulary", assets->paths.vocab},
                           {"corpus", assets->paths.corpus},
                           {"generation", assets->generation},
                           {"max_input_length", std::min(o.max_length, assets->model_info.max_row_tokens)},
                           {"max_batch_tokens", o.max_tokens_per_batch},
                           {"workers", o.workers},
                           {"queue", o.queue},
                           {"version", rankfeed_version_string()}}
                          .dump(),
                      "application/json");
    });
    server->Post("/admin/reload", [this](const httplib::Request& in, httplib::Response& out) {
      Reload(in, out);
    });
  }
  void Drain() { draining_ = true; }

 private:
  static void Answer(httplib::Response& out, int code, const Json& body) {
    out.status = code;
    // Texts come back as they were sent; bytes that are no UTF-8 were refused when parsing.
    out.set_content(body.dump(-1, ' ', false, Json::error_handler_t::replace), "application/json");
  }

  // Milliseconds: the server's, or the request's own when it is sooner.
  uint32_t Deadline(const httplib::Request& in) const {
    if (!in.has_header("X-Deadline-Ms")) return deadline_ms_;
    const std::string text = in.get_header_value("X-Deadline-Ms");
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return deadline_ms_;
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw Problem{422, "header X-Deadline-Ms is no number of milliseconds", "Validation"};
    }
    return std::min(deadline_ms_, value);
  }

  // Both request shapes. `tei` tells which answer is due.
  std::shared_ptr<Job> Parse(const httplib::Request& in, bool* tei, bool* with_text) {
    const Json body = Json::parse(in.body, nullptr, /*allow_exceptions=*/false);
    if (!body.is_object()) throw Problem{400, "the body is not a JSON object", "Validation"};
    auto job = std::make_shared<Job>();
    job->arrival = Clock::now();
    job->query = Field<std::string>(body, "query");
    *tei = body.contains("texts");
    const char* name = *tei ? "texts" : "documents";
    const auto list = body.find(name);
    if (list == body.end() || !list->is_array()) {
      throw Problem{422, fmt::format("missing field `{}`", name), "Validation"};
    }
    if (list->empty()) throw Problem{422, fmt::format("`{}` cannot be empty", name), "Empty"};
    for (const Json& item : *list) {
      Document document;
      if (item.is_string()) {
        document.text = item.get<std::string>();
      } else if (!*tei && item.is_object()) {
        document.text = Field<std::string>(item, "text", std::string());
        document.id = Field<std::string>(item, "id", std::string());
      } else {
        throw Problem{422, fmt::format("an element of `{}` is no text", name), "Validation"};
      }
      job->documents.push_back(std::move(document));
    }
    if (*tei) {
      job->raw_scores = Field<bool>(body, "raw_scores", false);
      *with_text = Field<bool>(body, "return_text", false);
      job->policy.truncate = Field<bool>(body, "truncate", false);
      const auto side = Field<std::string>(body, "truncation_direction", std::string("Right"));
      if (side != "Right" && side != "right" && side != "Left" && side != "left") {
        throw Problem{422, "`truncation_direction` must be Left or Right", "Validation"};
      }
      job->policy.left = side == "Left" || side == "left";
    } else {
      *with_text = Field<bool>(body, "return_documents", false);
      job->top_n = Count(body, "top_n", 0);
      job->policy.max_chunks = std::clamp(Count(body, "max_chunks_per_doc", 1), 1u, 1024u);
      job->policy.max_tokens_per_doc = Count(body, "max_tokens_per_doc", 0);
    }
    job->deadline = job->arrival + std::chrono::milliseconds(Deadline(in));
    return job;
  }

  void Rerank(const httplib::Request& in, httplib::Response& out) {
    Metrics& metrics = service_->metrics();
    ++metrics.requests;
    bool tei = true, with_text = false;
    try {
      const std::shared_ptr<Job> job = Parse(in, &tei, &with_text);
      std::future<void> done = job->done.get_future();
      switch (service_->Submit(job)) {
        case Service::Admission::kFull:
          out.set_header("Retry-After", "1");
          throw Problem{429, "Model is overloaded", "Overloaded"};
        case Service::Admission::kStopping:
          out.set_header("Connection", "close");
          throw Problem{503, "the server is shutting down", "Unhealthy"};
        case Service::Admission::kQueued:
          break;
      }
      done.wait();  // the worker keeps the deadline
      if (job->error) throw ProblemOf(job->error);
      Answer(out, 200, tei ? Tei(*job, with_text) : Cohere(*job, with_text));
      ++metrics.ok;
      metrics.Observe(Clock::now() - job->arrival);
    } catch (const Problem& p) {
      ++(p.code == 429   ? metrics.rejected
         : p.code == 504 ? metrics.expired
         : p.code < 500  ? metrics.invalid
                         : metrics.failed);
      if (tei) {
        Answer(out, p.code, {{"error", p.message}, {"error_type", p.type}});
      } else {
        Answer(out, p.code, {{"message", p.message}});
      }
    }
  }

  static Problem ProblemOf(const rankfeed::Error& error) {
    switch (error.status) {
      case RANKFEED_E_DEADLINE:
        return {504, error.message, "Deadline"};
      case RANKFEED_E_TOO_LONG:
      case RANKFEED_E_TRUNCATION:
        return {413, error.message, "Validation"};
      case RANKFEED_E_LIMIT:
      case RANKFEED_E_ARGUMENT:
      case RANKFEED_E_NOT_FOUND:
        return {422, error.message, "Validation"};
      default:
        return {500, error.message, "Backend"};
    }
  }

  static Json Tei(const Job& job, bool with_text) {
    Json out = Json::array();
    for (const rankfeed_ranked& r : job.ranked) {
      Json rank{{"index", r.index}, {"score", r.score}};
      if (with_text) rank["text"] = job.documents[r.index].text;
      out.push_back(std::move(rank));
    }
    return out;
  }

  Json Cohere(const Job& job, bool with_text) {
    Json results = Json::array();
    for (const rankfeed_ranked& r : job.ranked) {
      Json result{{"index", r.index}, {"relevance_score", r.score}};
      if (with_text) result["document"] = {{"text", job.documents[r.index].text}};
      results.push_back(std::move(result));
    }
    return {{"id", fmt::format("rerank-{:016x}", ++serial_)},
            {"results", std::move(results)},
            {"usage", {{"total_tokens", job.tokens}}},
            {"meta", {{"api_version", {{"version", "1"}}}, {"generation", job.generation}}}};
  }

  void Reload(const httplib::Request& in, httplib::Response& out) {
    try {
      const Json body = Json::parse(in.body.empty() ? "{}" : in.body, nullptr, false);
      if (!body.is_object()) throw Problem{400, "the body is not a JSON object", "Validation"};
      AssetPaths paths = assets_->Get()->paths;
      paths.vocab = Field<std::string>(body, "vocab", paths.vocab);
      paths.corpus = Field<std::string>(body, "corpus", paths.corpus);
      paths.model = Field<std::string>(body, "model", paths.model);
      if (auto error = assets_->Swap(paths)) throw Problem{422, error.message, "Validation"};
      ++service_->metrics().swaps;
      Answer(out, 200, {{"generation", assets_->Get()->generation}});
    } catch (const Problem& p) {
      Answer(out, p.code, {{"error", p.message}, {"error_type", p.type}});
    }
  }

  AssetBox* assets_;
  Service* service_;
  uint32_t deadline_ms_;
  std::atomic<bool> draining_{false};
  std::atomic<uint64_t> serial_{0};
};

int Main(int argc, char** argv) {
  CLI::App app("Rerank service");
  AssetPaths paths;
  ServiceOptions options;
  int port = 0;
  uint32_t deadline_ms = 5000;
  app.add_option("--vocab", paths.vocab, "Image, .model or tokenizer.json")->required();
  app.add_option("--model", paths.model, "Cross-encoder: folder with config.json and model.safetensors")->required();
  app.add_option("--corpus", paths.corpus, "Corpus store of that vocabulary");
  app.add_option("--port", port, "On 127.0.0.1; 0: any free one, printed");
  app.add_option("--workers", options.workers, "Threads that tokenize and score")->check(CLI::Range(1, 1024));
  app.add_option("--queue", options.queue, "Requests that may wait")->check(CLI::Range(1, 4096));
  app.add_option("--deadline-ms", deadline_ms, "Of a request; header X-Deadline-Ms shortens it");
  app.add_option("--max-length", options.max_length, "Tokens of a row");
  CLI11_PARSE(app, argc, argv);

  sigset_t signals;  // blocked in every thread, taken by one of its own
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  AssetBox assets;
  if (auto error = assets.Swap(paths)) {
    fmt::print(stderr, "rerank_server: {}\n", error.message);
    return 1;
  }
  Service service(&assets, options);
  Front front(&assets, &service, deadline_ms);
  httplib::Server server;
  const size_t threads = options.queue + options.workers + 16;
  server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
  server.set_keep_alive_max_count(1'000'000);
  server.set_keep_alive_timeout(5);
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(64 << 20);
  front.Install(&server);
  if (port == 0) {
    port = server.bind_to_any_port("127.0.0.1");
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    port = -1;
  }
  if (port < 0) {
    fmt::print(stderr, "rerank_server: cannot listen on 127.0.0.1\n");
    return 1;
  }
  std::thread stopper([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    front.Drain();
    service.Stop();   // accepted requests are answered
    server.stop();    // lets handlers finish
  });
  fmt::print("listening on 127.0.0.1:{}\n", port);
  std::fflush(stdout);
  const bool listened = server.listen_after_bind();
  if (!listened) pthread_kill(stopper.native_handle(), SIGTERM);
  stopper.join();
  fmt::print("drained: {} answered\n", service.metrics().ok.load());
  return listened ? 0 : 1;
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) { return example::Main(argc, argv); }
