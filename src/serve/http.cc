// SPDX-License-Identifier: MIT
// serve/http.cc: see http.h. Boost.Beast parses, Boost.Asio runs the loop.
#include "serve/http.h"

#include <fmt/format.h>

#include <algorithm>
#ifdef __linux__
#include <linux/filter.h>
#include <sys/socket.h>
#endif

#include <boost/asio.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <ctime>
#include <list>
#include <new>
#include <utility>

#include "serve/answerer.h"
#include "serve/framing.h"
#include "serve/thread.h"

namespace rankfeed::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

bool Body::Append(const void* data, size_t size) {
  const size_t need = bytes_.size() + size;
  if (need > charged_) {
    // Doubles, as the string does, so that what is charged is what is held.
    const uint64_t more = std::max<uint64_t>(need, 2 * charged_) - charged_;
    if (budget_ != nullptr && !budget_->Take(more)) return false;
    charged_ += more;
    bytes_.reserve(charged_);
  }
  bytes_.append(static_cast<const char*>(data), size);
  return true;
}

void Body::Clear() {
  if (budget_ != nullptr) budget_->Give(charged_);
  charged_ = 0;
  std::string().swap(bytes_);
}

namespace {

constexpr size_t kHeadBuffer = 4096, kBodyBuffer = 64 << 10;
// The most bytes that are read before they are understood: nothing says before the extensions of a
// chunk how long they are.
constexpr size_t kMostBuffered = 2 * kBodyBuffer;
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kStarving = std::chrono::milliseconds(10);  // between two tries of a loop that finds no memory
constexpr auto kLingering = std::chrono::seconds(2);
constexpr auto kGrace =
    std::chrono::milliseconds(500);  // for requests that are on their way when a drain begins
constexpr auto kHandshake =
    std::chrono::milliseconds(200);  // for connections that have begun by then

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

// Beast's Body concept over Body.
struct ChargedBody {
  using value_type = Body;
  class reader {
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<uint64_t>&, error_code& error) { error = {}; }
    template <class Buffers>
    size_t put(const Buffers& buffers, error_code& error) {
      size_t size = 0;
      for (auto i = asio::buffer_sequence_begin(buffers); i != asio::buffer_sequence_end(buffers);
           ++i) {
        if (!body_.Append(i->data(), i->size())) {
          error = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
          return size;
        }
        size += i->size();
      }
      error = {};
      return size;
    }
    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

std::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

const char* Reason(int status) {
  return http::obsolete_reason(static_cast<http::status>(status)).data();
}

std::string DateField() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[40];
  return std::string(text, std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts));
}

std::string HeadOf(const Response& response, bool keep, unsigned version) {
  std::string out =
      fmt::format("HTTP/1.{} {} {}\r\nDate: {}\r\nContent-Length: {}\r\n", version % 10,
                  response.status, Reason(response.status), DateField(), response.body.size());
  if (!response.content_type.empty())
    out += fmt::format("Content-Type: {}\r\n", response.content_type);
  out += response.fields;
  if (!keep) {
    out += "Connection: close\r\n";
  } else if (version == 10) {
    out += "Connection: keep-alive\r\n";
  }
  return out += "\r\n";
}

enum class Phase { kIdle, kHead, kBody, kWork, kWrite, kLinger };

}  // namespace

class Listener::Impl {
 public:
  Impl(const ListenerOptions& options, Application* application)
      : options_(options),
        application_(application),
        budget_(options.body_budget),
        acceptor_(io_),
        tick_(io_),
        pause_(io_) {}

  std::string Open();
  void Run();
  void Stop() {
    over_ = true;
    io_.stop();
  }

  class Connection;
  using Connections = std::list<std::shared_ptr<Connection>>;

  asio::awaitable<void> Accept(Mark here);
  asio::awaitable<void> Tick(Mark here);
  void Start(tcp::socket socket);
  bool MakeRoom();
  void BeginNoConnections();
  void CloseAcceptor();
  Clock::time_point DrainEnd() const { return drain_begin_ + options_.drain; }

  const ListenerOptions options_;
  Application* const application_;
  ByteBudget budget_;
  ListenerCounts counts_;
  bool accepting_ = false, ticking_ = false;  // Accept and Tick are there
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer tick_, pause_;
  std::function<void()> on_tick_ = [] {};
  Connections connections_;  // in order of arrival
  std::atomic<bool> drain_wanted_{false}, over_{false};
  bool draining_ = false;
  Clock::time_point drain_begin_;
};

class Listener::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Impl* owner, tcp::socket socket) : owner_(owner), socket_(std::move(socket)) {
    Enter(Phase::kIdle, owner_->options_.idle);
  }

  // Until the client or the listener has had enough of it.
  asio::awaitable<void> Run() {
    const auto self = shared_from_this();
    const Mark here = Marked(&running_);
    for (bool more = true; more;) {
      bool starved = false;
      try {
        more = co_await Turn();
      } catch (const std::bad_alloc&) {  // nothing of an answer was written yet
        starved = true;
      }
      if (starved) more = co_await Refuse(Fault::kNoMemory, {});
    }
    co_await Linger();
    error_code ignored;
    socket_.close(ignored);
  }

  bool running() const { return running_; }
  Phase phase() const { return phase_; }
  bool served() const { return served_; }
  bool aborted() const { return aborted_; }
  Clock::time_point since() const { return since_; }

  // Ends what the connection waits for; what follows depends on its phase. Between two reads there
  // is nothing to end, and the next tick tries again.
  void Interrupt() {
    interrupted_ = true;
    error_code ignored;
    socket_.cancel(ignored);
  }
  void Abort() {
    aborted_ = true;
    error_code ignored;
    socket_.close(ignored);
  }

  void Tick(Clock::time_point now) {
    if (now >= deadline_) {
      owner_->counts_.timed_out +=
          !interrupted_ && phase_ != Phase::kLinger && phase_ != Phase::kIdle;
      Interrupt();
    } else if (owner_->draining_) {
      error_code ignored;
      const auto since = std::max(owner_->drain_begin_, since_);
      if (phase_ == Phase::kIdle && now >= since + kGrace && socket_.available(ignored) == 0)
        Interrupt();
      if (phase_ != Phase::kWork && now >= owner_->DrainEnd()) Interrupt();
    }
  }

 private:
  using Parser = http::request_parser<ChargedBody>;

  void Enter(Phase phase, Clock::duration time) { EnterUntil(phase, Clock::now() + time); }
  void EnterUntil(Phase phase, Clock::time_point deadline) {
    phase_ = phase;
    interrupted_ = false;
    since_ = Clock::now();
    deadline_ = deadline;
  }

  // One request. False when the connection ends.
  asio::awaitable<bool> Turn() {
    error_code error;
    Reserve::Refill();
    if (!co_await Begun()) co_return false;
    const Clock::time_point arrival = Clock::now();
    Enter(Phase::kHead, owner_->options_.head);
    buffer_.reserve(kHeadBuffer);
    std::optional<Parser> latest;
    do {
      latest.emplace();
      latest->header_limit(owner_->options_.max_head_bytes);
      latest->body_limit(owner_->options_.max_body_bytes);
      latest->get().body().SetBudget(&owner_->budget_);
      co_await http::async_read_header(socket_, buffer_, *latest,
                                       asio::redirect_error(asio::use_awaitable, error));
    } while (error == http::error::bad_version && ReadAs11());
    Parser& parser = *latest;
    if (aborted_) co_return false;
    if (error) co_return co_await HeadFailed(parser, error);

    const unsigned version = parser.get().version();
    const std::string_view method = View(parser.get().method_string());
    const std::optional<std::string> path = PathOf(method, View(parser.get().target()));
    if (!BodyIsFramed(parser.get(), version)) {
      co_return co_await Refuse(Fault::kFraming, path.value_or(""), &parser);
    }
    if (!path || !HostIsOne(parser.get(), version) ||
        parser.get().count(http::field::authorization) > 1) {
      co_return co_await Refuse(Fault::kBadRequest, path.value_or(""), &parser);
    }
    Head head{method,
              *path,
              View(parser.get()[http::field::authorization]),
              View(parser.get()[http::field::content_encoding]),
              View(parser.get()[http::field::accept]),
              View(parser.get()["X-Deadline-Ms"]),
              !parser.is_done()};
    Clock::time_point deadline = arrival + owner_->options_.request;
    if (auto refused = owner_->application_->Admit(head, arrival, &deadline)) {
      refused->close |= head.has_body;  // what follows is not read
      co_return co_await Answer(std::move(*refused), &parser);
    }
    if (head.has_body && !co_await ReadBody(&parser, head.path, deadline)) co_return false;
    Request request{std::string(head.method),
                    std::string(head.path),
                    std::string(head.content_encoding),
                    std::string(head.accept),
                    std::move(parser.get().body()),
                    arrival,
                    deadline};
    auto waiting = std::make_shared<Waiting>();
    auto answerer = std::make_shared<Answerer>(&owner_->io_, waiting);
    std::function<void(Response)> done = [answerer](Response response) { (*answerer)(std::move(response)); };
    answerer.reset();
    EnterUntil(Phase::kWork, Clock::time_point::max());
    Response response = co_await Handled(std::move(request), std::move(waiting), std::move(done));
    co_return co_await Answer(std::move(response), &parser);
  }

  // Makes the version at the end of the buffer's first line 1.1, which any later one of HTTP/1 is answered as
  // (RFC 9110, 2.5). False for other versions, and for none.
  bool ReadAs11() {
    constexpr std::string_view kOfHttp1 = "HTTP/1.";
    char* const data = static_cast<char*>(buffer_.data().data());
    const size_t size = kOfHttp1.size() + 1, end = std::string_view(data, buffer_.size()).find("\r\n");
    if (end == std::string_view::npos || end < size) return false;
    char& minor = data[end - 1];
    if (!std::string_view(data + end - size, size).starts_with(kOfHttp1) || minor < '2' || minor > '9') return false;
    minor = '1';
    return true;
  }

  // Waits for the first byte of a request, without memory for it. Takes empty lines before it,
  // which old clients send after a body (RFC 9112, 2.2). False when none comes.
  asio::awaitable<bool> Begun() {
    for (size_t taken = 0;; taken += 2) {
      const char* const data = static_cast<const char*>(buffer_.data().data());
      if (buffer_.size() >= 2 && data[0] == '\r' && data[1] == '\n') {
        if (taken >= owner_->options_.max_head_bytes) {
          co_return co_await Refuse(Fault::kHeadTooLarge, {});
        }
        buffer_.consume(2);
        continue;
      }
      if (buffer_.size() >= 2 || (buffer_.size() == 1 && data[0] != '\r')) co_return true;
      if (buffer_.size() == 0) ReleaseBuffer();
      error_code error, ignored;
      co_await socket_.async_wait(tcp::socket::wait_read,
                                  asio::redirect_error(asio::use_awaitable, error));
      // Bytes that came in the moment of an interruption are a request all the same, and so are
      // those that were read by then.
      if (error && socket_.available(ignored) == 0) co_return false;
      const size_t read = co_await socket_.async_read_some(
          buffer_.prepare(kHeadBuffer - 1), asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return false;
      buffer_.commit(read);
    }
  }

  // False: it was refused, or the client is gone.
  asio::awaitable<bool> ReadBody(Parser* parser, std::string_view path,
                                 Clock::time_point deadline) {
    error_code error;
    EnterUntil(Phase::kBody, deadline);
    const beast::string_view expect = parser->get()[http::field::expect];
    if (!expect.empty() && parser->get().version() >= 11) {
      if (!beast::iequals(expect, "100-continue")) {
        (void)co_await Refuse(Fault::kExpectation, path);
        co_return false;
      }
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(socket_, asio::buffer(kContinue),
                                 asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return false;
    }
    // Beast reads as much at once as the buffer has room for.
    if (parser->chunked() || parser->content_length_remaining().value_or(0) > kHeadBuffer)
      buffer_.reserve(kBodyBuffer);
    co_await http::async_read(socket_, buffer_, *parser,
                              asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return true;
    if (aborted_) co_return false;
    if (error == asio::error::operation_aborted) {
      (void)co_await Refuse(owner_->draining_ ? Fault::kDraining : Fault::kTimeout, path);
    } else if (error == http::error::body_limit) {
      (void)co_await Refuse(Fault::kBodyTooLarge, path);
    } else if (error == boost::system::errc::not_enough_memory) {
      (void)co_await Refuse(Fault::kNoMemory, path);
    } else if (error.category() == make_error_code(http::error::bad_chunk).category() &&
               error != http::error::partial_message) {
      (void)co_await Refuse(Fault::kBadRequest, path);
    }
    co_return false;
  }

  asio::awaitable<bool> HeadFailed(const Parser& parser, error_code error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      co_return co_await Refuse(Fault::kHeadTooLarge, {});
    }
    if (error == http::error::body_limit) {
      co_return co_await Refuse(
          Fault::kBodyTooLarge,
          PathOf(View(parser.get().method_string()), View(parser.get().target())).value_or(""));
    }
    if (error == asio::error::operation_aborted) {
      co_return co_await Refuse(owner_->draining_ ? Fault::kDraining : Fault::kTimeout, {});
    }
    if (error.category() == make_error_code(http::error::bad_chunk).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      co_return co_await Refuse(Fault::kBadRequest, {});
    }
    co_return false;
  }

  // parser: of a head that was read.
  asio::awaitable<bool> Refuse(Fault fault, std::string_view path, const Parser* parser = nullptr) {
    Response response = owner_->application_->Refuse(fault, path);
    response.close = true;
    co_return co_await Answer(std::move(response), parser);
  }

  // The application's answer, which may come from another thread.
  asio::awaitable<Response> Handled(Request request, std::shared_ptr<Waiting> waiting, std::function<void(Response)> done) {
    return asio::async_initiate<const asio::use_awaitable_t<>, void(Response)>(
        [this](auto handler, Request moved, std::shared_ptr<Waiting> held, std::function<void(Response)> answer) {
          held->handler.emplace(std::move(handler));
          try {
            owner_->application_->Handle(std::move(moved), std::move(answer));
          } catch (const std::bad_alloc&) {  // what was dropped has answered
          }
        },
        asio::use_awaitable, std::move(request), std::move(waiting), std::move(done));
  }

  asio::awaitable<bool> Answer(Response response, const Parser* parser) {
    Enter(Phase::kWrite, owner_->options_.write);
    owner_->on_tick_();  // a drain that was asked for since the last tick
    const bool keep = !response.close && parser != nullptr && parser->keep_alive() && !owner_->draining_ &&
                      !owner_->drain_wanted_;
    const bool no_body = parser != nullptr && parser->get().method() == http::verb::head;
    const std::string head =
        HeadOf(response, keep, parser == nullptr ? 11 : parser->get().version());
    const std::array<asio::const_buffer, 2> parts{
        asio::buffer(head), no_body ? asio::const_buffer() : asio::buffer(response.body)};
    error_code error;
    co_await asio::async_write(socket_, parts, asio::redirect_error(asio::use_awaitable, error));
    served_ |= response.status == 200;
    Enter(Phase::kIdle, owner_->options_.idle);
    if (error && !aborted_) owner_->counts_.dropped += 1;
    co_return !error && keep;
  }

  // The client learns that nothing follows, and its further bytes are read and dropped for a
  // while: a socket that is closed with bytes unread makes the kernel take the last answer back.
  asio::awaitable<void> Linger() {
    error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    if (error) co_return;
    Enter(Phase::kLinger, kLingering);
    buffer_.clear();
    ReleaseBuffer();
    char forgotten[2048];
    for (uint64_t left = 64 << 20; left > sizeof(forgotten) && !error;) {
      left -= co_await socket_.async_read_some(asio::buffer(forgotten),
                                               asio::redirect_error(asio::use_awaitable, error));
    }
  }

  void ReleaseBuffer() {
    if (buffer_.capacity() > 0) buffer_ = beast::flat_buffer(kMostBuffered);
  }

  Impl* const owner_;
  tcp::socket socket_;
  beast::flat_buffer buffer_{kMostBuffered};
  Phase phase_ = Phase::kIdle;
  Clock::time_point since_, deadline_;
  bool interrupted_ = false;  // in this phase
  bool aborted_ = false, served_ = false;
  bool running_ = true;  // the coroutine is there
};

std::string Listener::Impl::Open() {
  error_code error;
  // The address that every system gives this name (RFC 6761, 6.3).
  const std::string host = options_.host == "localhost" ? "127.0.0.1" : options_.host;
  const auto address = asio::ip::make_address(host, error);
  if (error) return fmt::format("{}: not an IP address", options_.host);
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(4096, error);
  if (error)
    return fmt::format("cannot listen on {}:{}: {}", options_.host, options_.port, error.message());
  return {};
}

// An operation that finds no memory ends its coroutine: the loop goes on, and the two of its own begin anew.
void Listener::Impl::Run() {
  const auto fail = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  while (!over_) {
    try {
      if (!accepting_) asio::co_spawn(io_, Accept(Marked(&accepting_)), fail);
      if (!ticking_) asio::co_spawn(io_, Tick(Marked(&ticking_)), fail);
      io_.run();
    } catch (const std::bad_alloc&) {
      Reserve::Refill();
      std::this_thread::sleep_for(kStarving);
    }
    if (!over_) io_.restart();
  }
}

void Listener::Impl::Start(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  ++counts_.accepted;
  const auto place = connections_.insert(connections_.end(),
                                         std::make_shared<Connection>(this, std::move(socket)));
  ++counts_.open;
  const auto end = [this, place](std::exception_ptr) {
    --counts_.open;
    connections_.erase(place);
  };
  try {
    asio::co_spawn(io_, (*place)->Run(), end);
  } catch (const std::bad_alloc&) {
    end(nullptr);
  }
}

// Interrupts the connection that deserves its place least. False when every one is being served.
bool Listener::Impl::MakeRoom() {
  Connection* best = nullptr;
  int best_rank = 4;
  for (const auto& connection : connections_) {
    if (connection->aborted()) continue;
    const Phase phase = connection->phase();
    const bool reading = phase == Phase::kIdle || phase == Phase::kHead;
    const int rank = phase == Phase::kLinger            ? 0
                     : reading && !connection->served() ? 1
                     : phase == Phase::kIdle            ? 2
                     : phase == Phase::kBody || reading ? 3
                                                        : 4;
    if (rank < best_rank ||
        (rank == best_rank && best != nullptr && connection->since() < best->since())) {
      best = connection.get();
      best_rank = rank;
      if (rank <= 1) break;  // the list is in order of arrival
    }
  }
  if (best == nullptr) return false;
  ++counts_.evicted;
  best->Abort();
  return true;
}

asio::awaitable<void> Listener::Impl::Accept([[maybe_unused]] Mark here) {
  while (acceptor_.is_open()) {
    error_code error;
    tcp::socket socket(io_);
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    Reserve::Refill();
    // A connection may have come in the moment in which the acceptor was closed.
    if (error && !acceptor_.is_open()) co_return;
    if (error) {  // out of descriptors, most likely: those that wait longest go
      (void)MakeRoom();
      pause_.expires_after(std::chrono::milliseconds(20));
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    if (connections_.size() >= options_.max_connections && !MakeRoom()) continue;  // closes it
    Start(std::move(socket));
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
    tcp::socket socket(io_);
    acceptor_.accept(socket, error);
    if (!error) Start(std::move(socket));
  }
  acceptor_.close(error);
}

asio::awaitable<void> Listener::Impl::Tick([[maybe_unused]] Mark here) {
  for (;;) {
    error_code error;
    tick_.expires_after(kTick);
    co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    Reserve::Refill();
    on_tick_();
    const auto now = Clock::now();
    if (drain_wanted_ && !draining_) {
      draining_ = true;
      drain_begin_ = now;
    }
    if (draining_ && acceptor_.is_open()) {
      if (now >= drain_begin_ + kGrace) BeginNoConnections();
      if (now >= drain_begin_ + kGrace + kHandshake) CloseAcceptor();
    }
    for (auto i = connections_.begin(); i != connections_.end();) {
      if ((*i)->running()) {
        (*i++)->Tick(now);
      } else {  // without its coroutine, for want of memory
        --counts_.open;
        i = connections_.erase(i);
      }
    }
    if (!draining_ || acceptor_.is_open()) continue;
    if (connections_.empty() || now >= DrainEnd() + std::chrono::seconds(1)) {
      counts_.dropped += connections_.size();
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
  impl_->drain_wanted_ = true;
}
void Listener::Stop() {
  impl_->Stop();
}
void Listener::OnTick(std::function<void()> f) {
  impl_->on_tick_ = std::move(f);
}
const ListenerCounts& Listener::counts() const {
  return impl_->counts_;
}

}  // namespace rankfeed::serve
