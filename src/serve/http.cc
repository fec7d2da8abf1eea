// SPDX-License-Identifier: MIT
// serve/http.cc: see http.h. Boost.Asio runs the loop; connection.cc is what runs in it.
#include "serve/http.h"

#include <fmt/format.h>

#include <algorithm>
#ifdef __linux__
#include <linux/filter.h>
#include <sys/socket.h>
#endif

#include <new>
#include <thread>
#include <utility>

#include "serve/connection.h"
#include "serve/thread.h"

namespace rankfeed::serve {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kStarving = std::chrono::milliseconds(10);  // between two tries of a loop that finds no memory
constexpr auto kHandshake =
    std::chrono::milliseconds(200);  // for connections that have begun when a drain begins

// A mark that says true for as long as a coroutine has it. An exception where the coroutine waits, for want
// of memory for that, is none inside of it: it destroys the coroutine.
struct Unmark {
  void operator()(bool* mark) const { *mark = false; }
};
using Mark = std::unique_ptr<bool, Unmark>;
Mark Marked(bool* mark) {
  *mark = true;
  return Mark(mark);
}

}  // namespace

class Listener::Impl {
 public:
  Impl(const ListenerOptions& options, Application* application)
      : loop_(options, application), acceptor_(loop_.io), tick_(loop_.io), pause_(loop_.io) {}

  std::string Open();
  void Run();
  void Stop() {
    over_ = true;
    loop_.io.stop();
  }

  asio::awaitable<void> Accept(Mark here);
  asio::awaitable<void> Tick(Mark here);
  bool MakeRoom();
  void BeginNoConnections();
  void CloseAcceptor();

  bool accepting_ = false, ticking_ = false;  // Accept and Tick are there
  std::atomic<bool> over_{false};
  Loop loop_;
  tcp::acceptor acceptor_;
  asio::steady_timer tick_, pause_;
};

std::string Listener::Impl::Open() {
  error_code error;
  // The address that every system gives this name (RFC 6761, 6.3).
  const std::string host = loop_.options.host == "localhost" ? "127.0.0.1" : loop_.options.host;
  const auto address = asio::ip::make_address(host, error);
  if (error) return fmt::format("{}: not an IP address", loop_.options.host);
  const tcp::endpoint endpoint(address, loop_.options.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(4096, error);
  if (error)
    return fmt::format("cannot listen on {}:{}: {}", loop_.options.host, loop_.options.port, error.message());
  return {};
}

// An operation that finds no memory ends its coroutine, which takes memory, too: Asio queues the end and may not
// fail. So one operation after the other begins with the whole reserve, and none without: then all clients wait.
// The loop goes on, and the two coroutines of its own begin anew.
void Listener::Impl::Run() {
  const auto fail = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  while (!over_) {
    if (!Reserve::Refill()) {
      loop_.on_tick();  // a drain begins all the same
      std::this_thread::sleep_for(kStarving);
      continue;
    }
    try {
      if (!accepting_ && acceptor_.is_open()) asio::co_spawn(loop_.io, Accept(Marked(&accepting_)), fail);
      if (!ticking_) asio::co_spawn(loop_.io, Tick(Marked(&ticking_)), fail);
      loop_.io.run_one();
    } catch (const std::bad_alloc&) {
    }
  }
}

// Interrupts the connection that deserves its place least. False when every one is being served.
bool Listener::Impl::MakeRoom() {
  Connection* best = nullptr;
  int best_rank = 4;
  for (Connection& connection : loop_.connections) {
    if (connection.aborted()) continue;
    const Phase phase = connection.phase();
    const bool reading = phase == Phase::kIdle || phase == Phase::kHead;
    const int rank = phase == Phase::kLinger            ? 0
                     : reading && !connection.served() ? 1
                     : phase == Phase::kIdle            ? 2
                     : phase == Phase::kBody || reading ? 3
                                                        : 4;
    if (rank < best_rank ||
        (rank == best_rank && best != nullptr && connection.since() < best->since())) {
      best = &connection;
      best_rank = rank;
      if (rank <= 1) break;  // the list is in order of arrival
    }
  }
  if (best == nullptr) return false;
  ++loop_.counts.evicted;
  best->Abort();
  return true;
}

asio::awaitable<void> Listener::Impl::Accept([[maybe_unused]] Mark here) {
  while (acceptor_.is_open()) {
    error_code error;
    tcp::socket socket(loop_.io);
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    // A connection may have come in the moment in which the acceptor was closed.
    if (error && !acceptor_.is_open()) co_return;
    if (error) {  // out of descriptors, most likely: those that wait longest go
      (void)MakeRoom();
      pause_.expires_after(std::chrono::milliseconds(20));
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    if (loop_.connections.size() >= loop_.options.max_connections && !MakeRoom()) continue;  // closes it
    Connection::Begin(&loop_, std::move(socket));
  }
}

// The kernel is told to begin no connection any more: a filter drops packets that have the flag SYN
// (RFC 9293, 3.1: bit 1 of byte 13) and passes those that end a handshake. Who asks meanwhile asks
// again and is refused. Elsewhere than on Linux a connection may come between taking the last one
// and closing, and is reset.
void Listener::Impl::BeginNoConnections() {
#ifdef __linux__
  sock_filter no_syn[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
                          BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
  const sock_fprog filter{std::size(no_syn), no_syn};
  (void)setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
#endif
}

// Connections that the kernel has accepted already would be reset with the socket: they are taken
// first.
void Listener::Impl::CloseAcceptor() {
  error_code error;
  acceptor_.cancel(error);
  acceptor_.non_blocking(true, error);
  while (!error) {
    tcp::socket socket(loop_.io);
    acceptor_.accept(socket, error);
    if (!error) Connection::Begin(&loop_, std::move(socket));
  }
  acceptor_.close(error);
}

asio::awaitable<void> Listener::Impl::Tick([[maybe_unused]] Mark here) {
  for (;;) {
    error_code error;
    tick_.expires_after(kTick);
    co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    loop_.on_tick();
    const auto now = Clock::now();
    if (loop_.drain_wanted && !loop_.draining) {
      loop_.draining = true;
      loop_.drain_begin = now;
    }
    if (loop_.draining && acceptor_.is_open()) {
      if (now >= loop_.drain_begin + kGrace) BeginNoConnections();
      if (now >= loop_.drain_begin + kGrace + kHandshake) CloseAcceptor();
    }
    for (Connection& connection : loop_.connections) connection.Tick(now);
    if (!loop_.draining || acceptor_.is_open()) continue;
    if (loop_.connections.empty() || now >= loop_.DrainEnd() + std::chrono::seconds(1)) {
      loop_.counts.dropped += loop_.connections.size();
      Stop();
      co_return;
    }
  }
}

Listener::Listener(const ListenerOptions& options, Application* application)
    : impl_(std::make_unique<Impl>(options, application)) {}
Listener::~Listener() = default;
std::string Listener::Open() {
  return impl_->Open();
}
uint16_t Listener::port() const {
  return impl_->acceptor_.local_endpoint().port();
}
void Listener::Run() {
  impl_->Run();
}
void Listener::Drain() {
  impl_->loop_.drain_wanted = true;
}
void Listener::Stop() {
  impl_->Stop();
}
void Listener::OnTick(std::function<void()> f) {
  impl_->loop_.on_tick = std::move(f);
}
const ListenerCounts& Listener::counts() const {
  return impl_->loop_.counts;
}

}  // namespace rankfeed::serve
