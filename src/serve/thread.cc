// SPDX-License-Identifier: MIT
// serve/thread.cc: see thread.h.
#include "serve/thread.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace rankfeed::serve {
namespace {

thread_local Reserve* t_reserve = nullptr;

}  // namespace

Reserve::Reserve(size_t bytes) noexcept : bytes_(bytes) {
  std::set_new_handler(GiveUp);
  t_reserve = this;
  Refill();
}

Reserve::~Reserve() {
  t_reserve = nullptr;
  std::free(block_);
}

void Reserve::Refill() noexcept {
  if (t_reserve != nullptr && t_reserve->block_ == nullptr) t_reserve->block_ = std::malloc(t_reserve->bytes_);
}

void Reserve::GiveUp() {
  if (t_reserve == nullptr || t_reserve->block_ == nullptr) throw std::bad_alloc();
  std::free(std::exchange(t_reserve->block_, nullptr));
}

std::thread StartThread(const char* name, size_t reserve, std::function<void()> f) {
  try {
    return std::thread([reserve, f = std::move(f)] {
      const Reserve held(reserve);
      f();
    });
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format("cannot start a thread that {}: {}", name, error.code().message()));
  }
}

}  // namespace rankfeed::serve
