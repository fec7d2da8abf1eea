// SPDX-License-Identifier: MIT
// bench/sentencepiece/newer_abseil.h: what SentencePiece takes from Abseil that Debian's release does not have yet: logging,
// checks, status macros and two small types, with the meaning they have there. Forced in front of every source. None
// of it runs while a text is encoded.
#pragma once

#include <absl/base/log_severity.h>
#include <absl/status/status.h>
#include <absl/synchronization/mutex.h>

#include <bit>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <new>
#include <sstream>
#include <utility>

namespace absl {

using std::endian;

namespace newer {

enum Severity { INFO, WARNING, ERROR, FATAL };

// A line on stderr; FATAL ends the program.
class Line {
 public:
  explicit Line(Severity severity) : severity_(severity) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    std::cerr << "sentencepiece: " << text_.str() << "\n";
    if (severity_ == FATAL) std::abort();
  }
  template <typename T>
  Line& operator<<(const T& part) {
    text_ << part;
    return *this;
  }

 private:
  Severity severity_;
  std::ostringstream text_;
};

struct Nothing {
  void operator&(const Line&) const {}
};

// Takes the mutex by reference too.
class MutexLock : public ::absl::MutexLock {
 public:
  using ::absl::MutexLock::MutexLock;
  explicit MutexLock(Mutex& mutex) : ::absl::MutexLock(&mutex) {}
};

}  // namespace newer

inline void SetMinLogLevel(LogSeverityAtLeast) {}

// A value that is made in place and never destroyed.
template <typename T>
class NoDestructor {
 public:
  template <typename... Arguments>
  explicit NoDestructor(Arguments&&... arguments) {
    new (storage_) T(std::forward<Arguments>(arguments)...);
  }
  const T& operator*() const { return *std::launder(reinterpret_cast<const T*>(storage_)); }
  T& operator*() { return *std::launder(reinterpret_cast<T*>(storage_)); }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }

 private:
  alignas(T) unsigned char storage_[sizeof(T)];
};

template <typename Signature>
using AnyInvocable = std::function<Signature>;

// A status whose message is streamed.
class StatusBuilder {
 public:
  explicit StatusBuilder(StatusCode code) : code_(code) {}
  StatusBuilder(StatusBuilder&&) = default;
  template <typename T>
  StatusBuilder&& operator<<(const T& part) && {
    text_ << part;
    return std::move(*this);
  }
  operator Status() const { return Status(code_, text_.str()); }  // NOLINT: a function returns it as a status

 private:
  StatusCode code_;
  std::ostringstream text_;
};

}  // namespace absl

#define MutexLock newer::MutexLock
#define LOG(severity) ::absl::newer::Line(::absl::newer::severity)
#define CHECK(condition) \
  (condition) ? (void)0 : ::absl::newer::Nothing() & ::absl::newer::Line(::absl::newer::FATAL) << #condition << " "
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_OK(status) CHECK((status).ok())
#define DCHECK(condition) \
  true || (condition) ? (void)0 : ::absl::newer::Nothing() & ::absl::newer::Line(::absl::newer::FATAL)
#define DCHECK_GE(a, b) DCHECK((a) >= (b))
#define DCHECK_LT(a, b) DCHECK((a) < (b))
#define ABSL_RETURN_IF_ERROR(expression)                                    \
  do {                                                                      \
    if (::absl::Status newer_status = (expression); !newer_status.ok()) {   \
      return newer_status;                                                  \
    }                                                                       \
  } while (false)
