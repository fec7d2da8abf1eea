// SPDX-License-Identifier: MIT
// capi/folders/guard.h: exceptions into a status and a message, at the C boundary of builder.h.
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "builder/base/model_spec.h"
#include "rankfeed/builder.h"

namespace rankfeed::folders {

using builder::BuildError;

inline rankfeed_status Report(rankfeed_builder_error* error, rankfeed_status code, uint64_t offset,
                       const char* message) {
  if (error != nullptr && error->struct_size == sizeof *error) {
    error->code = code;
    error->byte_offset = offset;
    std::snprintf(error->message, sizeof error->message, "%s", message);
  }
  return code;
}

// Runs body and turns what it throws into a status.
template <class Body>
rankfeed_status Guard(rankfeed_builder_error* error, const Body& body) noexcept {
  try {
    body();
    return RANKFEED_OK;
  } catch (const BuildError& e) {
    return Report(error, e.code, e.byte_offset, e.what());
  } catch (const std::bad_alloc&) {
    return Report(error, RANKFEED_E_NO_MEMORY, 0, "out of memory");
  } catch (const std::length_error&) {
    return Report(error, RANKFEED_E_NO_MEMORY, 0, "out of memory");
  } catch (const std::exception& e) {
    return Report(error, RANKFEED_E_STATE, 0, e.what());
  }
}

inline void CheckNotNull(const void* pointer, const char* name) {
  if (pointer == nullptr) throw BuildError(RANKFEED_E_ARGUMENT, std::string(name), " is null");
}

}  // namespace rankfeed::folders
