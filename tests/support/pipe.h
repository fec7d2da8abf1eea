// SPDX-License-Identifier: MIT
// support/pipe.h: the side of a pipe that the test drivers are on. A frame is u64 size, then the bytes;
// all numbers little-endian. Whatever is not as it should be ends the process with status 2 and a line
// on stderr.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace rankfeed::test {

[[noreturn]] inline void Die(const char* what, long number = 0) {
  std::fprintf(stderr, "%s: %s (%ld)\n", program_invocation_short_name, what, number);
  std::exit(2);
}

// False at the end of input.
inline bool ReadAll(void* out, size_t size) {
  for (char* p = static_cast<char*>(out); size > 0;) {
    const ssize_t got = read(STDIN_FILENO, p, size);
    if (got <= 0) return false;
    p += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

inline bool ReadFrame(std::string* out) {
  uint64_t size;
  if (!ReadAll(&size, sizeof(size))) return false;
  out->resize(size);
  if (!ReadAll(out->data(), size)) Die("short frame");
  return true;
}

inline void WriteFrame(const std::string& data) {
  const uint64_t size = data.size();
  const std::string frame = std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + data;
  for (size_t at = 0; at < frame.size();) {
    const ssize_t put = write(STDOUT_FILENO, frame.data() + at, frame.size() - at);
    if (put <= 0) Die("write failed");
    at += static_cast<size_t>(put);
  }
}

// What is in a frame, in order.
class FrameReader {
 public:
  explicit FrameReader(std::string_view data) : data_(data) {}
  template <class T>
  T Number() {
    T value;
    std::memcpy(&value, Bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  uint32_t U32() { return Number<uint32_t>(); }
  std::string_view Bytes(size_t size) {
    if (size > data_.size()) Die("short frame");
    const std::string_view out = data_.substr(0, size);
    data_.remove_prefix(size);
    return out;
  }
  std::string_view Rest() { return Bytes(data_.size()); }

 private:
  std::string_view data_;
};

// Requests of u32 command and a frame, each answered by a frame, until the input ends.
template <class Answer>
void AnswerRequests(Answer answer) {
  uint32_t command;
  std::string payload;
  while (ReadAll(&command, sizeof(command))) {
    if (!ReadFrame(&payload)) Die("short request");
    WriteFrame(answer(command, std::string_view(payload)));
  }
}

}  // namespace rankfeed::test
