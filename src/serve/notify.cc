// SPDX-License-Identifier: MIT
// serve/notify.cc: see notify.h.
#include "serve/notify.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace rankfeed::serve {
namespace {

// Returns the number that a variable holds; 0 where it holds none.
int64_t NumberOf(const char* variable) {
  const char* const text = std::getenv(variable);
  int64_t number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

Manager::Manager() {
  const char* const text = std::getenv("NOTIFY_SOCKET");
  const std::string_view name = text == nullptr ? "" : text;
  // A path, or an abstract name, which begins with a byte 0 (unix(7)).
  if (name.size() < 2 || name.size() >= sizeof(address_.sun_path) || (name[0] != '/' && name[0] != '@')) return;
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, name.data(), name.size());
  if (name[0] == '@') address_.sun_path[0] = '\0';
  size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '/'));
  socket_ = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (socket_ >= 0) fcntl(socket_, F_SETFD, FD_CLOEXEC);
  const int64_t owner = NumberOf("WATCHDOG_PID");
  if (owner == 0 || owner == getpid()) interval_ = std::chrono::microseconds(NumberOf("WATCHDOG_USEC") / 2);
}

Manager::~Manager() {
  if (socket_ >= 0) close(socket_);
}

void Manager::Tell(std::string_view state) const noexcept {
  if (socket_ < 0) return;
  (void)sendto(socket_, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address_), size_);
}

void Manager::TellReloading() const noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char text[64];
  const auto end = fmt::format_to_n(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1'000'000 + now.tv_nsec / 1000).out;
  Tell({text, end});
}

void Manager::TellAlive() noexcept {
  if (interval_.count() <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + interval_;
  Tell("WATCHDOG=1");
}

}  // namespace rankfeed::serve
