// SPDX-License-Identifier: MIT
// fuzz/input.h: decisions out of input bytes. Small choices take one byte each, so that a changed
// byte changes one decision; an input that is used up answers zero, the simplest choice everywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace rankfeed::fuzz {

class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t U8() {
    if (bytes_.empty()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  uint32_t U16() { return U8() | uint32_t{U8()} << 8; }
  uint32_t U32() { return U16() | U16() << 16; }
  // 0 .. n-1, n at least 1.
  size_t Below(size_t n) {
    if (n <= 1) return 0;
    return n <= 256 ? U8() % n : n <= 65536 ? U16() % n : U32() % n;
  }
  bool OneIn(size_t n) { return Below(n) == n - 1; }  // no, once the input is used up
  template <class T, size_t N>
  const T& Pick(const T (&pool)[N]) {
    return pool[Below(N)];
  }
  std::string_view Take(size_t size) {
    size = size < bytes_.size() ? size : bytes_.size();
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace rankfeed::fuzz
