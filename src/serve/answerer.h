// SPDX-License-Identifier: MIT
// serve/answerer.h: the way of an answer from whatever thread it is made on to the connection that waits for it
// on the loop's thread. It takes no memory once it has begun, so an answer cannot be lost for want of it.
#pragma once

#include <boost/asio.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "serve/http.h"

namespace rankfeed::serve {

// A request that is answered elsewhere: what waits for the answer, the answer, and memory for the way back
// to the loop's thread, so that this way cannot fail.
struct Waiting {
  using Handler = boost::asio::async_result<boost::asio::use_awaitable_t<>, void(Response)>::handler_type;
  std::optional<Handler> handler;  // unset: nobody waits yet, or any more
  Response response;
  alignas(std::max_align_t) std::byte way_back[256];
};

// Allocates the one operation of a way back.
template <class T>
struct WayBack {
  using value_type = T;
  explicit WayBack(std::byte* memory) : bytes(memory) {}
  template <class U>
  WayBack(const WayBack<U>& other) : bytes(other.bytes) {}  // NOLINT: as allocators convert
  T* allocate(size_t) {
    static_assert(sizeof(T) <= sizeof(Waiting::way_back));
    return reinterpret_cast<T*>(bytes);
  }
  void deallocate(T*, size_t) {}
  template <class U>
  bool operator==(const WayBack<U>& other) const {
    return bytes == other.bytes;
  }
  std::byte* bytes;
};

// Takes one answer to the loop's thread: the one it is given, or 503 where it is dropped without.
class Answerer {
 public:
  Answerer(boost::asio::io_context* io, std::shared_ptr<Waiting> waiting) : io_(io), waiting_(std::move(waiting)) {}
  ~Answerer() {
    if (waiting_ == nullptr) return;
    Response dropped;
    dropped.status = 503;
    (*this)(std::move(dropped));
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;
  void operator()(Response response) {
    const std::shared_ptr<Waiting> waiting = std::move(waiting_);
    waiting->response = std::move(response);
    boost::asio::post(*io_, boost::asio::bind_allocator(WayBack<void>(waiting->way_back), [waiting] {
      if (auto handler = std::exchange(waiting->handler, std::nullopt)) (*handler)(std::move(waiting->response));
    }));
  }

 private:
  boost::asio::io_context* const io_;
  std::shared_ptr<Waiting> waiting_;
};

}  // namespace rankfeed::serve
