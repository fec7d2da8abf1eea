// SPDX-License-Identifier: MIT
// cli/serve.cc: `rankfeed serve`: the options of the HTTP service, see serve/service.h.
#include "serve/service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "platform/files/file_calls.h"
#include "cli/cli.h"
#include "cli/device.h"

namespace rankfeed::cli {
namespace {

struct ServeCommand {
  serve::Options options;
  DeviceOptions device;
  SpecialsOption specials;
  std::string api_key_file, parity, pages = "auto";
  uint32_t deadline_ms = 30'000, head_ms = 10'000, idle_ms = 75'000, drain_ms = 8'000;
  uint64_t max_body = 16 << 20, body_memory = 256 << 20;
  uint32_t graph_tokens = 0;
  bool no_auto_truncate = false;
  std::string log_level = "info", log_format = "auto";
};

// A key without the marks that editors, files and environments put around it: a byte order mark,
// white space, a carriage return. Throws Failure where no header could carry what is left: none of its
// characters may be another one, and the shortest head that has it must not be longer than `head` bytes.
std::string CleanKey(std::string_view text, const std::string& where, size_t head) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF", kSpace = " \t\r\n\v\f";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  if (text.empty()) throw Failure(where + ": no key in its first line");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    throw Failure(where + ": a key has visible ASCII characters only, and no space in it");
  constexpr std::string_view kShortest = "GET / HTTP/1.0\r\nAuthorization: Bearer \r\n\r\n";
  if (text.size() > head - kShortest.size()) {
    throw Failure("{}: the key has more than {} bytes, and no client could send it: the head of a request has at most {}",
                  where, head - kShortest.size(), head);
  }
  return std::string(text);
}

// The key: the first line of the file, or the environment's. A command line is everybody's to read.
std::string Key(const std::string& file, size_t head) {
  if (file.empty()) {
    const char* const key = std::getenv("RANKFEED_API_KEY");
    return key == nullptr || *key == 0 ? "" : CleanKey(key, "RANKFEED_API_KEY", head);
  }
  files::CheckReadable(file, files::ReadAs::kStream);
  std::ifstream in(file);
  if (!in) throw Failure("{}: {}", file, std::strerror(errno));
  std::string line(64 << 10, '\0');  // more than a head
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(in.gcount()));
  return CleanKey(line.substr(0, line.find('\n')), file, head);
}

void RunServe(const ServeCommand& c) {
  serve::Options options = c.options;
  options.api_key = Key(c.api_key_file, options.listener.max_head_bytes);
  options.auto_truncate = !c.no_auto_truncate;
  options.paths.encode_flags = c.specials.flags();
  options.paths.has_specials = c.specials.is_given();
  options.paths.parity = ParityNumber(c.parity);
  options.paths.pages = PagesOf(c.pages);
  if (!c.device.on_host()) options.paths.device.backend = c.device.Backend();
  options.paths.device.dtype = c.device.dtype_number();
  options.paths.device.graph_tokens = c.graph_tokens;
  const auto level = std::find(serve::kLevelNames.begin(), serve::kLevelNames.end(), c.log_level);
  options.log.level = static_cast<serve::Level>(level - serve::kLevelNames.begin());
  options.log.json = c.log_format == "json" || (c.log_format == "auto" && isatty(STDERR_FILENO) == 0);
  auto& l = options.listener;
  l.request = std::chrono::milliseconds(c.deadline_ms);
  l.head = std::chrono::milliseconds(c.head_ms);
  l.idle = std::chrono::milliseconds(c.idle_ms);
  l.drain = std::chrono::milliseconds(c.drain_ms);
  l.max_body_bytes = c.max_body;
  l.body_budget = std::max(c.body_memory, c.max_body);
  serve::Serve(std::move(options));
}

void AddLimits(CLI::App* command, ServeCommand* c) {
  auto& o = c->options;
  AddNumber(*command, "--deadline-ms", c->deadline_ms, 1, 86'400'000,
            "From a request's first byte to its answer, reading and parsing included; the header X-Deadline-Ms "
            "shortens it");
  AddNumber(*command, "--header-timeout-ms", c->head_ms, 1, 86'400'000,
            "For the head of a request, from its first byte");
  AddNumber(*command, "--idle-timeout-ms", c->idle_ms, 1, 86'400'000,
            "A connection without a request is closed after this");
  AddNumber(*command, "--drain-ms", c->drain_ms, 1000, 86'400'000,
            "After SIGTERM, SIGINT or SIGQUIT, until requests that are not answered yet are given up; the process ends at "
            "most 1.8 s later");
  AddNumber(*command, "--max-connections", o.listener.max_connections, 1, 1'000'000,
            "Open at once; beyond it those go that wait longest without having asked anything");
  command
      ->add_option("--max-body", c->max_body,
                   "Bytes of a body, as sent and after inflating, for example 16MB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command
      ->add_option("--body-memory", c->body_memory,
                   "Bytes of all bodies together while they are read")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  AddNumber(*command, "--max-documents", o.max_documents, 1, 1'000'000, "Of a request");
  AddMaxStretchBytes(*command, o.max_stretch_bytes);
  command->add_option("--max-request-tokens", o.max_request_tokens, "Of all rows of a request")
      ->capture_default_str();
  AddNumber(*command, "--max-json-depth", o.max_json_depth, 2, 1000, "Levels of a body's JSON");
  AddNumber(*command, "--max-json-elements", o.max_json_elements, 1, 100'000'000, "Values in a body's JSON");
}

}  // namespace

void AddServe(CLI::App& app) {
  auto* command = app.add_subcommand("serve", "Answer rerank requests over HTTP (docs/serve.md)");
  auto c = std::make_shared<ServeCommand>();
  auto& o = c->options;
  command->add_option("--vocab", o.paths.vocab,
                      std::string(kVocabHelp) + "; else the folder of --model");
  AddParityOption(*command, &c->parity);
  AddPagesOption(*command, &c->pages);
  AddPresetOption(*command, &o.paths.preset);
  c->specials.Add(*command);
  AddLabelOption(*command, &o.paths.label);
  command
      ->add_option("--model", o.paths.model,
                   "Cross-encoder: folder with config.json and model.safetensors (or its shards). "
                   "Without --vocab its vocabulary too")
      ->required();
  c->device.Add(*command);
  AddNumber(*command, "--graph-tokens", c->graph_tokens, 0, 1 << 24,
            "Batches of up to this many tokens run as graphs of the device; not run on a GPU yet; 0: none");
  command->add_option("--corpus", o.paths.corpus,
                      "Corpus store of that vocabulary, or a manifest of stores, for documents given by id");
  command->add_option("--host", o.listener.host, "IP address to listen on, or localhost")->capture_default_str();
  command->add_option("--port", o.listener.port, "0: any free one, printed")->default_val(8080);
  command->add_option("--admin-host", o.admin_host, "IP address of the operators' listener")
      ->capture_default_str();
  AddNumber(*command, "--admin-port", o.admin_port, -1, 65535,
            "Health, metrics and /admin/reload on a listener and a thread of their own; 0: any free port, "
            "printed; -1: none");
  command->add_option("--model-name", o.model_name,
                      "What answers and /info call the model; else its path");
  command->add_option("--api-key-file", c->api_key_file,
                      "File whose first line clients must send as Authorization: Bearer KEY; else "
                      "RANKFEED_API_KEY of the "
                      "environment; else no key is asked for");
  AddNumber(*command, "--workers", o.workers, 0, 1024,
            "Threads that tokenize and score; 0: one for each CPU it may use");
  AddNumber(*command, "--queue", o.queue, 1, 65536,
            "Requests that may wait for a worker; more are answered with 429");
  command
      ->add_option("--max-length", o.paths.max_length,
                   "Tokens of a row; the model's limit binds too. Else of a model's folder as "
                   "vocabulary its max_seq_length or model_max_length, or 512")
      ->check(CLI::Range(serve::kLeastRowTokens, serve::kMostRowTokens));
  AddNumber(*command, "--max-batch-tokens", o.max_batch_tokens, 8, 1 << 24, "Tokens that are scored at once");
  command->add_flag("--no-auto-truncate", c->no_auto_truncate,
                    "Rows that are too long are errors of /rerank requests with `texts` that do "
                    "not say `truncate`");
  command
      ->add_option("--log-level", c->log_level,
                   "What the log on stderr has: error (failures), warn (requests that were refused, too), info (all requests), debug "
                   "(health and metrics, too), off")
      ->check(CLI::IsMember(std::vector<std::string>(serve::kLevelNames.begin(), serve::kLevelNames.end())))
      ->capture_default_str();
  command
      ->add_option("--log-format", c->log_format, "Of a line of the log: text, json, or auto: text on a terminal, else json")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
  AddLimits(command, c.get());
  command->callback([c] { RunServe(*c); });
}

}  // namespace rankfeed::cli
