// SPDX-License-Identifier: MIT
// serve/thread.cc: see thread.h.
#include "serve/thread.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace rankfeed::serve {
namespace {

// Bytes of a block: some of the allocator's pages, each of which has blocks of one size (mimalloc: 512 KiB for those
// from 16 KiB on). Where the first is not to be had, half of it is asked for, down to the second.
constexpr size_t kMost = 4 << 20, kLeast = 1 << 20;
thread_local Reserve* t_reserve = nullptr;

}  // namespace

Reserve::Reserve() noexcept {
  std::set_new_handler(GiveUp);
  t_reserve = this;
  Refill();
}

Reserve::~Reserve() {
  t_reserve = nullptr;
  std::free(block_);
}

bool Reserve::Refill() noexcept {
  if (t_reserve == nullptr) return true;
  for (size_t size = kMost; t_reserve->block_ == nullptr && size >= kLeast; size /= 2) t_reserve->block_ = std::malloc(size);
  return t_reserve->block_ != nullptr;
}

void Reserve::Check() {
  if (t_reserve != nullptr && t_reserve->block_ == nullptr) throw std::bad_alloc();
}

void Reserve::GiveUp() {
  if (t_reserve == nullptr || t_reserve->block_ == nullptr || t_reserve->spared_) throw std::bad_alloc();
  std::free(std::exchange(t_reserve->block_, nullptr));
}

Reserve::Spared::Spared() noexcept {
  if (t_reserve != nullptr) t_reserve->spared_ = true;
}

Reserve::Spared::~Spared() {
  if (t_reserve != nullptr) t_reserve->spared_ = false;
}

std::thread StartThread(const char* name, std::function<void()> f) {
  try {
    return std::thread([f = std::move(f)] {
      const Reserve held;
      f();
    });
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format("cannot start a thread that {}: {}", name, error.code().message()));
  }
}

}  // namespace rankfeed::serve
