// SPDX-License-Identifier: MIT
// serve/log.h: the log of a service on stderr, one line for each event.
//
//   any thread: Line -> Log::Put -> a buffer of fixed size; full: the line is dropped and counted
//   the log's thread: takes what has gathered -> writes it while its reader takes it
//
// Nobody but the log's thread waits for the reader, and after the log is made nothing here takes memory: a service
// without any, or with a reader that sleeps, answers as before. That is why this is no logging library: spdlog's
// queue allocates for a line of more than 250 bytes, and every build of the program would need it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace rankfeed::serve {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError, kOff };
inline constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warn", "error", "off"};

struct LogOptions {
  Level level = Level::kInfo;  // the least that is written
  bool json = false;           // an object of JSON a line; else words for a terminal
  int descriptor = 2;
};

// One line: time, level and event, then fields. Values are cut; control characters, and bytes that
// are no UTF-8, are escaped, so that a value from outside neither ends a line nor moves a terminal's cursor. A
// field for which there is no room is left out. Takes no memory.
class Line {
 public:
  static constexpr size_t kMostValue = 2048;
  Line(bool json, Level level, std::string_view event) noexcept;
  // An empty value: no field. most: bytes of the value as it is written.
  Line& Text(std::string_view name, std::string_view value, size_t most = kMostValue) noexcept;
  Line& Number(std::string_view name, uint64_t value) noexcept;
  Line& Milliseconds(std::string_view name, std::chrono::nanoseconds time) noexcept;
  // Returns the line with its end.
  std::string_view bytes() noexcept;

 private:
  static constexpr size_t kBytes = 4096;  // PIPE_BUF: a pipe takes it whole
  bool Name(std::string_view name, size_t most) noexcept;
  void Add(std::string_view text) noexcept;
  void Value(std::string_view value, size_t most) noexcept;
  const bool json_;
  size_t size_ = 0;
  std::array<char, kBytes> bytes_;
};

class Log {
 public:
  // Starts the thread, unless the level is kOff or the descriptor is closed, which is as if it were. Throws std::runtime_error, std::bad_alloc.
  explicit Log(const LogOptions& options);
  ~Log() { Stop(); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool Has(Level level) const { return level >= options_.level && options_.level != Level::kOff; }
  Line Begin(Level level, std::string_view event) const { return Line(options_.json, level, event); }
  // Queues the line; any thread, without waiting for its reader. Between Begin and Put a caller asks Has.
  void Put(Line& line) noexcept;
  // Writes what is queued, as far as its reader takes it within a quarter of a second. Later lines are dropped.
  void Stop() noexcept;
  // Lines that were dropped until now.
  uint64_t lost() const { return lost_; }

 private:
  static constexpr size_t kBuffer = 512 << 10;
  void Run() noexcept;
  void Write(std::string_view lines) noexcept;
  LogOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::unique_ptr<char[]> filled_, writing_;
  size_t size_ = 0;  // of filled_
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> lost_{0};
  std::thread thread_;
};

}  // namespace rankfeed::serve
