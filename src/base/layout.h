// SPDX-License-Identifier: MIT
// base/layout.h: carves typed arrays out of one block of caller memory.
//
// Measuring and carving are the same code run twice: with a null base the carver only adds up, with
// a base it hands out pointers, so the two can never disagree. Every product and sum is checked; an
// overflow makes ok() false and all pointers null.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rankfeed {

// So many elements beyond the last one may be read or written in every array of the fast road:
// vector loops take eight or sixteen at a time whether there are as many or not, and a search
// fetches the states of codes that far ahead.
inline constexpr uint32_t kVectorSlack = 48;

class Layout {
 public:
  // Measures (base == nullptr) or carves. base must be aligned to kAlignment.
  static constexpr size_t kAlignment = 64;  // one cache line, and the widest vector register

  explicit Layout(void* base) : base_(static_cast<unsigned char*>(base)) {}

  // count elements of T on a fresh cache line.
  template <class T>
  T* Take(size_t count) {
    static_assert(alignof(T) <= kAlignment);
    size_t bytes;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return Fail<T>();
    size_t start;
    if (__builtin_add_overflow(size_, kAlignment - 1, &start)) return Fail<T>();
    start &= ~(kAlignment - 1);
    if (__builtin_add_overflow(start, bytes, &size_)) return Fail<T>();
    return base_ != nullptr && ok_ ? reinterpret_cast<T*>(base_ + start) : nullptr;
  }

  bool ok() const { return ok_; }
  size_t size() const { return size_; }  // bytes used so far

 private:
  template <class T>
  T* Fail() {
    ok_ = false;
    return nullptr;
  }
  unsigned char* base_;
  size_t size_ = 0;
  bool ok_ = true;
};

}  // namespace rankfeed
