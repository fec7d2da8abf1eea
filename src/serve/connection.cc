// SPDX-License-Identifier: MIT
// serve/connection.cc: see connection.h. Boost.Beast parses.
#include "serve/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <random>
#include <utility>

#include "serve/answerer.h"
#include "serve/framing.h"
#include "serve/thread.h"

namespace rankfeed::serve {

bool Body::Append(const void* data, size_t size) {
  const size_t need = bytes_.size() + size;
  if (need > charged_) {
    // Doubles, as the string does, so that what is charged is what is held.
    const uint64_t more = std::max<uint64_t>(need, 2 * charged_) - charged_;
    if (budget_ != nullptr && !budget_->Take(more)) return false;
    charged_ += more;
    const Reserve::Spared spared;
    try {
      bytes_.reserve(charged_);
    } catch (const std::bad_alloc&) {
      return false;
    }
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

constexpr size_t kHeadBuffer = 4096;
constexpr auto kLingering = std::chrono::seconds(2);

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

std::string HeadOf(const Response& response, std::string_view id, bool keep, unsigned version) {
  std::string out =
      fmt::format("HTTP/1.{} {} {}\r\nDate: {}\r\nContent-Length: {}\r\nX-Request-Id: {}\r\n", version % 10,
                  response.status, Reason(response.status), DateField(), response.body.size(), id);
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

// Ids go into heads, logs and command lines as they are, so they have none of the characters that mean something there.
bool IsOfAnId(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("-_.:=+/@~").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

uint64_t RandomNumber() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
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

void Connection::Begin(Loop* loop, tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  ++loop->counts.accepted;
  Connection& made = loop->connections.emplace_back(loop, std::move(socket));
  ++loop->counts.open;
  asio::co_spawn(loop->io, made.Run(Place(loop, {std::prev(loop->connections.end())})), asio::detached);
}

void Connection::Leave::operator()(Loop* loop) const {
  --loop->counts.open;
  loop->connections.erase(place);
}

Connection::Connection(Loop* loop, tcp::socket socket) : loop_(loop), socket_(std::move(socket)) {
  Enter(Phase::kIdle, loop_->options.idle);
}

asio::awaitable<void> Connection::Run([[maybe_unused]] Place here) {
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
}

void Connection::Interrupt() {
  interrupted_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::Abort() {
  aborted_ = true;
  error_code ignored;
  socket_.close(ignored);
}

void Connection::Tick(Clock::time_point now) {
  if (now >= deadline_) {
    loop_->counts.timed_out +=
        !interrupted_ && phase_ != Phase::kLinger && phase_ != Phase::kIdle;
    Interrupt();
  } else if (loop_->draining) {
    error_code ignored;
    const auto since = std::max(loop_->drain_begin, since_);
    if (phase_ == Phase::kIdle && now >= since + kGrace && socket_.available(ignored) == 0)
      Interrupt();
    if (phase_ != Phase::kWork && now >= loop_->DrainEnd()) Interrupt();
  }
}

void Connection::EnterUntil(Phase phase, Clock::time_point deadline) {
  phase_ = phase;
  interrupted_ = false;
  since_ = Clock::now();
  deadline_ = deadline;
}

// One request. False when the connection ends.
asio::awaitable<bool> Connection::Turn() {
  error_code error;
  arrival_ = Clock::now();
  id_size_ = 0;
  if (!co_await Begun()) co_return false;
  arrival_ = Clock::now();
  Enter(Phase::kHead, loop_->options.head);
  buffer_.reserve(kHeadBuffer);
  std::optional<Parser> latest;
  do {
    latest.emplace();
    latest->header_limit(loop_->options.max_head_bytes);
    latest->body_limit(loop_->options.max_body_bytes);
    latest->get().body().SetBudget(&loop_->budget);
    co_await http::async_read_header(socket_, buffer_, *latest,
                                     asio::redirect_error(asio::use_awaitable, error));
  } while (error == http::error::bad_version && ReadAs11());
  Parser& parser = *latest;
  if (aborted_) co_return false;
  if (error) co_return co_await HeadFailed(parser, error);

  TakeId(View(parser.get()["X-Request-Id"]));
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
  Clock::time_point deadline = arrival_ + loop_->options.request;
  if (auto refused = loop_->application->Admit(head, arrival_, &deadline)) {
    refused->close |= head.has_body;  // what follows is not read
    co_return co_await Answer(std::move(*refused), *path, &parser);
  }
  if (head.has_body && !co_await ReadBody(&parser, head.path, deadline)) co_return false;
  Request request{std::string(head.method),
                  std::string(head.path),
                  std::string(head.content_encoding),
                  std::string(head.accept),
                  std::move(parser.get().body()),
                  arrival_,
                  deadline};
  auto waiting = std::make_shared<Waiting>();
  auto answerer = std::make_shared<Answerer>(&loop_->io, waiting);
  std::function<void(Response)> done = [answerer](Response response) { (*answerer)(std::move(response)); };
  answerer.reset();
  EnterUntil(Phase::kWork, Clock::time_point::max());
  Response response = co_await Handled(std::move(request), std::move(waiting), std::move(done));
  co_return co_await Answer(std::move(response), *path, &parser);
}

// Makes the version at the end of the buffer's first line 1.1, which any later one of HTTP/1 is answered as
// (RFC 9110, 2.5). The line may have come as far as its version only: the parser refuses that before it sees the end.
// False for other versions, and for none.
bool Connection::ReadAs11() {
  constexpr std::string_view kOfHttp1 = "HTTP/1.";
  char* const data = static_cast<char*>(buffer_.data().data());
  const size_t size = kOfHttp1.size() + 1, end = std::min(std::string_view(data, buffer_.size()).find('\r'), buffer_.size());
  if (end < size) return false;
  char& minor = data[end - 1];
  if (!std::string_view(data + end - size, size).starts_with(kOfHttp1) || minor < '2' || minor > '9') return false;
  minor = '1';
  return true;
}

// Waits for the first byte of a request, without memory for it. Takes empty lines before it,
// which old clients send after a body (RFC 9112, 2.2). False when none comes.
asio::awaitable<bool> Connection::Begun() {
  for (size_t taken = 0;; taken += 2) {
    const char* const data = static_cast<const char*>(buffer_.data().data());
    if (buffer_.size() >= 2 && data[0] == '\r' && data[1] == '\n') {
      if (taken >= loop_->options.max_head_bytes) {
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
asio::awaitable<bool> Connection::ReadBody(Parser* parser, std::string_view path,
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
  if (parser->chunked() || parser->content_length_remaining().value_or(0) > kHeadBuffer) {
    const Reserve::Spared spared;
    buffer_.reserve(kBodyBuffer);
  }
  co_await http::async_read(socket_, buffer_, *parser,
                            asio::redirect_error(asio::use_awaitable, error));
  if (!error) co_return true;
  if (aborted_) co_return false;
  if (error == asio::error::operation_aborted) {
    (void)co_await Refuse(loop_->draining ? Fault::kDraining : Fault::kTimeout, path);
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

asio::awaitable<bool> Connection::HeadFailed(const Parser& parser, error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    co_return co_await Refuse(Fault::kHeadTooLarge, {});
  }
  if (error == http::error::body_limit) {
    co_return co_await Refuse(
        Fault::kBodyTooLarge,
        PathOf(View(parser.get().method_string()), View(parser.get().target())).value_or(""));
  }
  if (error == asio::error::operation_aborted) {
    co_return co_await Refuse(loop_->draining ? Fault::kDraining : Fault::kTimeout, {});
  }
  if (error.category() == make_error_code(http::error::bad_chunk).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    co_return co_await Refuse(Fault::kBadRequest, {});
  }
  co_return false;
}

// parser: of a head that was read.
asio::awaitable<bool> Connection::Refuse(Fault fault, std::string_view path, const Parser* parser) {
  Response response = loop_->application->Refuse(fault, path);
  response.close = true;
  co_return co_await Answer(std::move(response), path, parser);
}

// The application's answer, which may come from another thread.
asio::awaitable<Response> Connection::Handled(Request request, std::shared_ptr<Waiting> waiting, std::function<void(Response)> done) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Response)>(
      [this](auto handler, Request moved, std::shared_ptr<Waiting> held, std::function<void(Response)> answer) {
        held->handler.emplace(std::move(handler));
        try {
          loop_->application->Handle(std::move(moved), std::move(answer));
        } catch (const std::bad_alloc&) {  // what was dropped has answered
        }
      },
      asio::use_awaitable, std::move(request), std::move(waiting), std::move(done));
}

// Takes the id that a request brings, or, where that is none, makes one.
void Connection::TakeId(std::string_view given) {
  if (given.empty() || given.size() > kMostId || !std::all_of(given.begin(), given.end(), IsOfAnId)) {
    id_size_ = static_cast<uint8_t>(fmt::format_to_n(id_.data(), kMostId, "{:016x}-{:x}", loop_->process, ++loop_->serial).size);
  } else {
    id_size_ = static_cast<uint8_t>(given.copy(id_.data(), kMostId));
  }
}

asio::awaitable<bool> Connection::Answer(Response response, std::string_view path, const Parser* parser) {
  if (id_size_ == 0) TakeId({});
  const Clock::duration time = Clock::now() - arrival_;
  Enter(Phase::kWrite, loop_->options.write);
  loop_->on_tick();  // a drain that was asked for since the last tick
  const bool keep = !response.close && parser != nullptr && parser->keep_alive() && !loop_->draining &&
                    !loop_->drain_wanted;
  const bool no_body = parser != nullptr && parser->get().method() == http::verb::head;
  const std::string head =
      HeadOf(response, id(), keep, parser == nullptr ? 11 : parser->get().version());
  const std::array<asio::const_buffer, 2> parts{
      asio::buffer(head), no_body ? asio::const_buffer() : asio::buffer(response.body)};
  error_code error;
  co_await asio::async_write(socket_, parts, asio::redirect_error(asio::use_awaitable, error));
  served_ |= response.status == 200;
  Enter(Phase::kIdle, loop_->options.idle);
  if (error && !aborted_) loop_->counts.dropped += 1;
  loop_->application->Answered({id(), parser == nullptr ? "" : View(parser->get().method_string()), path, response, time, bool{error}});
  co_return !error && keep;
}

// The client learns that nothing follows, and its further bytes are read and dropped for a
// while: a socket that is closed with bytes unread makes the kernel take the last answer back.
asio::awaitable<void> Connection::Linger() {
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

void Connection::ReleaseBuffer() {
  if (buffer_.capacity() > 0) buffer_ = beast::flat_buffer(kMostBuffered);
}

}  // namespace rankfeed::serve
