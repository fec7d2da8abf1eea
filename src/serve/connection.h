// SPDX-License-Identifier: MIT
// serve/connection.h: one connection of a listener: a coroutine that reads a request, has it answered, and goes
// on with the next. Included by http.cc and connection.cc only.
#pragma once

#include <boost/asio.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <array>
#include <list>

#include "serve/http.h"

namespace rankfeed::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

struct ChargedBody;
struct Loop;
struct Waiting;

// After the begin of a drain, for requests that are on their way.
inline constexpr auto kGrace = std::chrono::milliseconds(500);

enum class Phase { kIdle, kHead, kBody, kWork, kWrite, kLinger };

class Connection {
 public:
  // Answers what comes from the socket until the client or the listener has had enough of it. The connection is
  // on the loop's list for as long as its coroutine is there, however that ends. Throws std::bad_alloc.
  static void Begin(Loop* loop, tcp::socket socket);
  Connection(Loop* loop, tcp::socket socket);

  Phase phase() const { return phase_; }
  bool served() const { return served_; }
  bool aborted() const { return aborted_; }
  Clock::time_point since() const { return since_; }

  // Ends what the connection waits for; what follows depends on its phase. Between two reads there
  // is nothing to end, and the next tick tries again.
  void Interrupt();
  void Abort();
  void Tick(Clock::time_point now);

 private:
  using Parser = http::request_parser<ChargedBody>;
  struct Leave {
    std::list<Connection>::iterator place;
    void operator()(Loop* loop) const;
  };
  using Place = std::unique_ptr<Loop, Leave>;

  asio::awaitable<void> Run(Place here);
  void Enter(Phase phase, Clock::duration time) { EnterUntil(phase, Clock::now() + time); }
  void EnterUntil(Phase phase, Clock::time_point deadline);
  asio::awaitable<bool> Turn();
  asio::awaitable<bool> Begun();
  bool ReadAs11();
  asio::awaitable<bool> ReadBody(Parser* parser, std::string_view path, Clock::time_point deadline);
  asio::awaitable<bool> HeadFailed(const Parser& parser, error_code error);
  asio::awaitable<bool> Refuse(Fault fault, std::string_view path, const Parser* parser = nullptr);
  asio::awaitable<Response> Handled(Request request, std::shared_ptr<Waiting> waiting, std::function<void(Response)> done);
  asio::awaitable<bool> Answer(Response response, std::string_view path, const Parser* parser);
  std::string_view id() const { return {id_.data(), id_size_}; }
  void TakeId(std::string_view given);
  asio::awaitable<void> Linger();
  void ReleaseBuffer();

  // The most bytes that are read before they are understood: nothing says before the extensions of a
  // chunk how long they are.
  static constexpr size_t kBodyBuffer = 64 << 10, kMostBuffered = 2 * kBodyBuffer;
  Loop* const loop_;
  tcp::socket socket_;
  beast::flat_buffer buffer_{kMostBuffered};
  Phase phase_ = Phase::kIdle;
  Clock::time_point since_, deadline_;
  bool interrupted_ = false;  // in this phase
  bool aborted_ = false, served_ = false;
  // Bytes of a request's id; longer ones are replaced. UUIDs and the ids of tracing systems have up to 55.
  static constexpr size_t kMostId = 128;
  uint8_t id_size_ = 0;
  std::array<char, kMostId> id_;
  Clock::time_point arrival_;  // of the request that is read or answered
};

// Returns 64 bits that no other process has.
uint64_t RandomNumber();

// The state that a listener shares with its connections. Of the loop's thread.
struct Loop {
  Loop(const ListenerOptions& o, Application* a) : options(o), application(a), budget(o.body_budget) {}
  Clock::time_point DrainEnd() const { return drain_begin + options.drain; }

  const ListenerOptions options;
  Application* const application;
  ByteBudget budget;
  ListenerCounts counts;
  std::function<void()> on_tick = [] {};
  const uint64_t process = RandomNumber();  // with a serial number: ids of requests that bring none
  uint64_t serial = 0;
  std::atomic<bool> drain_wanted{false};  // any thread
  bool draining = false;
  Clock::time_point drain_begin;
  std::list<Connection> connections;  // in order of arrival
  asio::io_context io{1};             // last: it ends coroutines, which are on the list
};

}  // namespace rankfeed::serve
