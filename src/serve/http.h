// SPDX-License-Identifier: MIT
// serve/http.h: an HTTP/1.1 listener with one event loop: many connections, one thread, nothing in
// it that waits. It knows methods, paths, bodies and times, and nothing of what is served.
//
//   Listener::Run   accepts; each connection is a coroutine: head, Application::Admit, body,
//                   Application::Handle (elsewhere, as long as it takes), answer, next request
//   a tick          every 100 ms: whatever has stayed too long in its phase ends
//
// Time and bytes bound a client's resources: a head must be complete head_ms after
// its first byte, a body by the request's deadline, an idle connection is closed after idle_ms, an
// answer that is not read after write_ms; all bodies together take at most body_budget bytes. At
// max_connections the connection that has waited longest without a request ever being answered
// makes room, then the one that has idled longest: clients that are served are not starved by those
// that only hold connections.
//
// Threads: Run belongs to one thread, which calls Admit; Handle is called there too and answers
// from any thread. Drain and Stop may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rankfeed::serve {

using Clock = std::chrono::steady_clock;

// Bytes that all bodies of a listener may take together.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t bytes) : left_(static_cast<int64_t>(bytes)) {}
  bool Take(uint64_t bytes) {
    if (left_.fetch_sub(static_cast<int64_t>(bytes)) >= static_cast<int64_t>(bytes)) return true;
    Give(bytes);
    return false;
  }
  void Give(uint64_t bytes) { left_.fetch_add(static_cast<int64_t>(bytes)); }

 private:
  std::atomic<int64_t> left_;
};

// A body as it came, charged to a budget for as long as it lives.
class Body {
 public:
  Body() = default;
  Body(Body&& other) noexcept { Swap(&other); }
  Body& operator=(Body&& other) noexcept {
    Swap(&other);
    return *this;
  }
  ~Body() { Clear(); }
  void SetBudget(ByteBudget* budget) { budget_ = budget; }
  // False, and nothing taken, when the budget does not have room.
  bool Append(const void* data, size_t size);
  void Clear();
  std::string_view bytes() const { return bytes_; }

 private:
  void Swap(Body* other) {
    bytes_.swap(other->bytes_);
    std::swap(charged_, other->charged_);
    std::swap(budget_, other->budget_);
  }
  std::string bytes_;
  uint64_t charged_ = 0;
  ByteBudget* budget_ = nullptr;
};

// The head of a request, as far as applications look at it. Views end with Admit.
struct Head {
  std::string_view method, path;  // path: as PathOf in framing.h makes it
  std::string_view authorization, content_encoding, accept, deadline_ms;
  bool has_body = false;
};

struct Request {
  std::string method, path, content_encoding, accept;
  Body body;
  Clock::time_point arrival;   // of the first byte
  Clock::time_point deadline;  // of the answer
};

// Facts about an answer that its client is not sent. Texts are literals; empty: not known.
struct Facts {
  const char *dialect = "", *reason = "";  // reason: why there is no other answer
  bool failed = false;                     // by a fault of the service, not of the request
  bool probe = false;                      // of its health or counts
  uint64_t rows = 0, tokens = 0, generation = 0;
  Clock::duration queued{};
};

struct Response {
  int status = 200;
  std::string content_type, body;
  std::string fields;  // more header fields, each with its CRLF
  bool close = false;  // the connection ends with it
  Facts facts;
};

// A request that was answered. Views end with Answered.
struct Exchange {
  std::string_view id;            // the request's X-Request-Id, else one of its own
  std::string_view method, path;  // empty: what came was not understood so far
  const Response& response;
  Clock::duration time;  // from the first byte of the request to the answer
  bool dropped = false;  // the client did not take the answer
};

// Faults that end a request before the application sees it.
enum class Fault {
  kBadRequest,    // 400: no HTTP
  kFraming,       // 400: a head that leaves open where the body ends
  kHeadTooLarge,  // 431
  kBodyTooLarge,  // 413
  kTimeout,       // 408: head or body
  kNoMemory,      // 429: all bodies together take what they may, or there is no more
  kExpectation,   // 417
  kDraining,      // 503
};

class Application {
 public:
  virtual ~Application() = default;
  // A response refuses the request before its body is read. *deadline holds the listener's, and may
  // be made sooner.
  virtual std::optional<Response> Admit(const Head& head, Clock::time_point arrival,
                                        Clock::time_point* deadline) = 0;
  // Calls done once, from any thread; it does not throw. A done that is dropped answers 503.
  virtual void Handle(Request request, std::function<void(Response)> done) = 0;
  // The body of an answer to a fault, in the shape that path answers errors in.
  virtual Response Refuse(Fault fault, std::string_view path) = 0;
  // Called on Run's thread after every answer.
  virtual void Answered(const Exchange& exchange) noexcept = 0;
};

struct ListenerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  uint32_t max_connections = 16384;
  uint32_t max_head_bytes = 16 << 10;
  uint64_t max_body_bytes = 16 << 20;
  uint64_t body_budget = 256 << 20;
  std::chrono::milliseconds head{10'000}, idle{75'000}, write{15'000}, request{30'000};
  std::chrono::milliseconds drain{
      8'000};  // after Drain, until what is unread or unwritten is dropped
};

// Counters; any thread reads.
struct ListenerCounts {
  std::atomic<uint64_t> accepted{0}, open{0}, evicted{0}, timed_out{0}, dropped{0};
};

class Listener {
 public:
  Listener(const ListenerOptions& options, Application* application);
  ~Listener();
  // Binds. The message of what failed, or empty.
  std::string Open();
  uint16_t port() const;
  // Returns after Drain or Stop. A connection for which there is no memory ends, and no other.
  void Run();
  // Answers what was begun, with `Connection: close`, takes what is in the backlog, then returns
  // from Run.
  void Drain();
  void Stop();
  // Runs f on the loop's thread with every tick and before every answer. Before Run.
  void OnTick(std::function<void()> f);
  const ListenerCounts& counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankfeed::serve
