// SPDX-License-Identifier: MIT
// serve/notify.h: what the service manager that started the process is told, by the protocol of systemd's sd_notify(3):
// datagrams to the socket that NOTIFY_SOCKET names, a path or, after an @, an abstract name.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <string_view>

namespace rankfeed::serve {

// The service manager, as the process knows it. Functions do nothing where the environment has no NOTIFY_SOCKET; none takes
// memory, waits or fails.
class Manager {
 public:
  // Reads NOTIFY_SOCKET, and, for a process of WATCHDOG_PID or of no such variable, WATCHDOG_USEC.
  Manager();
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  // Sends lines NAME=VALUE. Any thread.
  void Tell(std::string_view state) const noexcept;
  // Sends that a set is being loaded; Tell("READY=1") ends that. Any thread.
  void TellReloading() const noexcept;
  // Sends that the process is alive, as often as the manager wants it: from the thread that has to be.
  void TellAlive() noexcept;

 private:
  int socket_ = -1;
  sockaddr_un address_{};
  socklen_t size_ = 0;
  std::chrono::microseconds interval_{0};  // 0: the manager does not watch
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace rankfeed::serve
