// SPDX-License-Identifier: MIT
// measure/foreign_engine.cc: see foreign_engine.h.
#include "measure/foreign_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <simdjson.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

extern char** environ;

namespace rankfeed::measure {

struct ForeignEngine::Parser {
  simdjson::dom::parser parser;
};

void ForeignEngine::Fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("adapter \"{}\": {}", command_, what));
}

ForeignEngine::ForeignEngine(const std::string& command, int timeout_s)
    : command_(command), timeout_s_(timeout_s), parser_(std::make_unique<Parser>()) {
  // A socket pair: writing to an adapter that has died is then an error, not a signal.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Fail(strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = "exec " + command;
  char shell[] = "/bin/sh", flag[] = "-c";
  char* argv[] = {shell, flag, program.data(), nullptr};
  const int error = posix_spawn(&child_, shell, &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  to_ = from_ = ends[0];
  if (error != 0) {
    child_ = -1;
    close(to_);
    Fail(strerror(error));
  }
  try {
    const std::string greeting = ReadLine();
    simdjson::dom::element object;
    int64_t version = 0;
    std::string_view name, text;
    if (parser_->parser.parse(greeting).get(object) || object["adapter"].get(version) ||
        object["implementation"].get(name)) {
      Fail("its first line is not a greeting: " + greeting.substr(0, 200));
    }
    if (version != 1) Fail(fmt::format("speaks version {} of the protocol, not 1", version));
    info_.in_process = false;
    info_.implementation = name;
    if (!object["version"].get(text)) info_.version = text;
    if (!object["parity"].get(text)) info_.parity = text;
    if (!object["family"].get(text)) info_.family = text;
    if (!object["normalization"].get(text)) info_.normalization = text;
    if (!object["config_hash"].get(text)) info_.config_hash = text;
  } catch (...) {
    close(to_);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    throw;
  }
}

ForeignEngine::~ForeignEngine() {
  close(to_);  // end of input: an adapter ends then
  for (int tries = 0; tries < 200; ++tries) {
    if (waitpid(child_, nullptr, WNOHANG) != 0) return;
    usleep(10000);
  }
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

std::string ForeignEngine::ReadLine() {
  size_t searched = 0;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    searched = buffer_.size();
    pollfd ready{from_, POLLIN, 0};
    const int polled = poll(&ready, 1, timeout_s_ * 1000);
    if (polled == 0) Fail(fmt::format("no answer within {} s", timeout_s_));
    if (polled < 0) {
      if (errno == EINTR) continue;
      Fail(strerror(errno));
    }
    char chunk[1 << 16];
    const ssize_t got = read(from_, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) Fail("ended without an answer (its messages are on standard error)");
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

void ForeignEngine::Encode(std::span<const std::string_view> texts, EncodedTexts* out) {
  nlohmann::json request;
  request["texts"] = nlohmann::json::array();
  for (const std::string_view text : texts) request["texts"].push_back(text);
  const std::string line =
      request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const uint64_t start = MonotonicNs();
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(to_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Fail(std::string("cannot be written to: ") + strerror(errno));
    sent += static_cast<size_t>(n);
  }
  const std::string answer = ReadLine();
  const uint64_t round_trip = MonotonicNs() - start;
  simdjson::dom::element object;
  simdjson::dom::array lists;
  if (parser_->parser.parse(answer).get(object)) Fail("answer is not JSON");
  std::string_view error;
  if (!object["error"].get(error)) Fail(std::string(error));
  if (object["ids"].get(lists)) Fail("answer has no list \"ids\"");
  out->begin.assign(1, 0);
  out->ns.clear();
  uint32_t at = 0;
  for (const auto list : lists) {
    simdjson::dom::array ids;
    if (list.get(ids)) Fail("\"ids\" is not a list of lists");
    if (out->ids.size() < at + ids.size()) out->ids.resize(2 * (at + ids.size()));
    for (const auto value : ids) {
      int64_t id;
      if (value.get(id)) Fail("\"ids\" holds something that is not an id");
      out->ids[at++] = static_cast<int32_t>(id);
    }
    out->begin.push_back(at);
  }
  if (out->begin.size() != texts.size() + 1) {
    Fail(fmt::format("{} texts were answered with {} lists", texts.size(), out->begin.size() - 1));
  }
  // Per text, for all, or else the round trip shared out by tokens.
  simdjson::dom::array times;
  uint64_t total = round_trip, part;
  if (!object["ns"].get(times)) {
    for (const auto value : times) {
      if (value.get(part)) Fail("\"ns\" holds something that is not a time");
      out->ns.push_back(static_cast<uint32_t>(part));
    }
    if (out->ns.size() != texts.size()) Fail("\"ns\" has another length than \"texts\"");
  } else {
    if (!object["ns"].get(part)) total = part;
    for (size_t i = 0; i < texts.size(); ++i) {
      const double share = at == 0 ? 1.0 / static_cast<double>(texts.size())
                                   : static_cast<double>(out->begin[i + 1] - out->begin[i]) / at;
      out->ns.push_back(static_cast<uint32_t>(static_cast<double>(total) * share));
    }
  }
  out->assemble_ns = out->batch_ns = 0;
  out->foreign_allocations = -1;
  if (!object["assemble_ns"].get(part)) out->assemble_ns = part;
  if (!object["batch_ns"].get(part)) out->batch_ns = part;
  int64_t allocations;
  if (!object["allocations"].get(allocations)) {
    out->foreign_allocations = static_cast<double>(allocations);
  }
}

}  // namespace rankfeed::measure
