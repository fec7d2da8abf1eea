// SPDX-License-Identifier: MIT
// Memory for a text where reading beyond it is noticed.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace rankfeed::fast_test {

// A page with nothing to read before and behind it.
class GuardedPage {
 public:
  GuardedPage() : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<char*>(
        mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(base_ + size_, size_, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedPage() { munmap(base_, 3 * size_); }
  std::string_view AtBegin(std::string_view text) { return Put(text, base_ + size_); }
  std::string_view AtEnd(std::string_view text) { return Put(text, base_ + 2 * size_ - text.size()); }

 private:
  static std::string_view Put(std::string_view text, char* to) {
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }
  size_t size_;
  char* base_;
};

}  // namespace rankfeed::fast_test
