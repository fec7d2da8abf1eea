// SPDX-License-Identifier: MIT
// cli/checked.h: statuses of the library as exceptions, for programs.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "rankfeed/rankfeed.hpp"

namespace rankfeed::cli {

// Throws std::runtime_error with what, message and name unless status is OK.
inline void CheckStatus(rankfeed_status status, const std::string& what) {
  if (status == RANKFEED_OK) return;
  throw std::runtime_error(what + ": " + rankfeed_status_message(status) + " (" + rankfeed_status_name(status) + ")");
}
// Throws the message of an answer of the C++ wrappers that is an error.
inline void CheckError(const Error& error) {
  if (error) throw std::runtime_error(error.message);
}
// Returns the value of such an answer.
template <class T>
T Take(Result<T> result) {
  if (!result) CheckError(result.error());
  return std::move(*result);
}

}  // namespace rankfeed::cli
