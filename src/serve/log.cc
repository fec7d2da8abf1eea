// SPDX-License-Identifier: MIT
// serve/log.cc: see log.h.
#include "serve/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/utf8.h"
#include "serve/thread.h"

namespace rankfeed::serve {
namespace {

// Lines gather for this long, so that the log's thread wakes seldom however many requests there are.
constexpr auto kGather = std::chrono::milliseconds(50);
constexpr auto kFarewell = std::chrono::milliseconds(250);
constexpr int kPatienceMs = 50;  // between two looks at whether a reader takes more

// Returns whether a line has the character as it is: not a control character, nor bytes that are no UTF-8.
bool IsPlain(const utf8::Decoded& c) {
  return c.valid && c.code_point >= 0x20 && (c.code_point < 0x7f || c.code_point > 0x9f);
}

bool IsWord(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](unsigned char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

Line::Line(bool json, Level level, std::string_view event) noexcept : json_(json) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm t{};
  gmtime_r(&now.tv_sec, &t);
  const std::string_view name = kLevelNames[static_cast<size_t>(level)];
  const auto written = fmt::format_to_n(
      bytes_.data(), kBytes, fmt::runtime(json ? "{{\"time\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\",\"level\":\"{}\",\"event\":\"{}\""
                                               : "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z {:5} {}"),
      t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, now.tv_nsec / 1'000'000, name, event);
  size_ = std::min(written.size, kBytes);
}

void Line::Add(std::string_view text) noexcept {
  std::memcpy(bytes_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

// Begins a field. False where a value of `most` bytes would have no room.
bool Line::Name(std::string_view name, size_t most) noexcept {
  if (size_ + name.size() + most + 16 > kBytes) return false;
  Add(json_ ? ",\"" : " ");
  Add(name);
  Add(json_ ? "\":" : "=");
  return true;
}

void Line::Value(std::string_view value, size_t most) noexcept {
  for (const size_t end = size_ + most - 8; !value.empty();) {
    if (size_ >= end) return Add("…");
    const utf8::Decoded c = utf8::Decode(value, 0);
    if (!IsPlain(c)) {
      size_ += fmt::format_to_n(bytes_.data() + size_, 6, "\\u{:04x}", static_cast<uint32_t>(c.code_point)).size;
    } else {
      if (value[0] == '"' || value[0] == '\\') Add("\\");
      Add(value.substr(0, c.size));
    }
    value.remove_prefix(c.size);
  }
}

Line& Line::Text(std::string_view name, std::string_view value, size_t most) noexcept {
  if (value.empty() || !Name(name, most)) return *this;
  const bool quoted = json_ || !IsWord(value);
  if (quoted) Add("\"");
  Value(value, most);
  if (quoted) Add("\"");
  return *this;
}

Line& Line::Number(std::string_view name, uint64_t value) noexcept {
  const fmt::format_int digits(value);
  if (Name(name, digits.size())) Add({digits.data(), digits.size()});
  return *this;
}

Line& Line::Milliseconds(std::string_view name, std::chrono::nanoseconds time) noexcept {
  const int64_t us = std::max<int64_t>(time.count(), 0) / 1000;
  if (Name(name, 32)) size_ += fmt::format_to_n(bytes_.data() + size_, 32, "{}.{:03}", us / 1000, us % 1000).size;
  return *this;
}

std::string_view Line::bytes() noexcept {
  Add(json_ ? "}\n" : "\n");
  return {bytes_.data(), size_};
}

Log::Log(const LogOptions& options) : options_(options) {
  // A descriptor that is closed will be that of a connection, whose client shall not read the log.
  if (fcntl(options_.descriptor, F_GETFD) < 0) options_.level = Level::kOff;
  if (options_.level == Level::kOff) return;
  filled_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  writing_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  thread_ = StartThread("writes the log", [this] { Run(); });
}

void Log::Put(Line& line) noexcept {
  const std::string_view bytes = line.bytes();
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || bytes.size() > kBuffer - size_) {
      ++lost_;
      return;
    }
    std::memcpy(filled_.get() + size_, bytes.data(), bytes.size());
    const size_t before = std::exchange(size_, size_ + bytes.size());
    wakes = before == 0 || (before <= kBuffer / 2 && size_ > kBuffer / 2);
  }
  if (wakes) wake_.notify_one();
}

void Log::Stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Log::Run() noexcept {
  for (uint64_t told = 0;;) {
    size_t size = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || size_ > 0; });
      wake_.wait_for(lock, kGather, [this] { return stopping_ || size_ > kBuffer / 2; });
      std::swap(filled_, writing_);
      size = std::exchange(size_, 0);
    }
    Write({writing_.get(), size});
    if (const uint64_t lost = lost_; lost != told) {
      Line line = Begin(Level::kWarn, "log_lines_lost");
      Write(line.Number("lines", lost - told).bytes());
      told = lost;
    }
    if (stopping_ && size == 0) return;
  }
}

// Writes no more at once than a reader that is ready takes without a wait, so that Stop is seen.
void Log::Write(std::string_view lines) noexcept {
  std::chrono::steady_clock::time_point end{};
  while (!lines.empty()) {
    pollfd reader{options_.descriptor, POLLOUT, 0};
    if (poll(&reader, 1, kPatienceMs) <= 0) {
      const auto now = std::chrono::steady_clock::now();
      if (stopping_ && end == decltype(end){}) end = now + kFarewell;
      if (stopping_ && now >= end) break;
      continue;
    }
    const ssize_t written = write(options_.descriptor, lines.data(), std::min<size_t>(lines.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) break;
    if (written > 0) lines.remove_prefix(static_cast<size_t>(written));
  }
  lost_ += static_cast<uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
}

}  // namespace rankfeed::serve
