// SPDX-License-Identifier: MIT
// corpus_builder/guarded.h: exceptions into a status and a message, at the C boundary.
#pragma once

#include <cstdio>
#include <exception>
#include <new>

#include "builder/base/model_spec.h"
#include "rankfeed/builder.h"

namespace rankfeed::corpus_builder {

// Writes an error with its message, or with that of its status; returns the status.
inline rankfeed_status Report(rankfeed_builder_error* error, rankfeed_status code, const char* message,
                              uint64_t byte_offset = 0) {
  if (error != nullptr && error->struct_size >= sizeof(*error)) {
    error->code = code;
    error->byte_offset = byte_offset;
    std::snprintf(error->message, sizeof(error->message), "%s", message);
  }
  return code;
}
inline rankfeed_status Report(rankfeed_builder_error* error, rankfeed_status code) {
  return Report(error, code, rankfeed_status_message(code));
}

// Throws why a store is refused, with the place.
inline void CheckStore(rankfeed_status status, const std::string& path, const rankfeed_error_detail& detail) {
  if (status == RANKFEED_OK) return;
  throw builder::BuildError(status, path, ": ", rankfeed_status_message(status), " (at byte ", detail.byte_offset, ")")
      .At(detail.byte_offset);
}

template <class F>
rankfeed_status Guarded(rankfeed_builder_error* error, F run) {
  try {
    run();
    return RANKFEED_OK;
  } catch (const builder::BuildError& e) {
    return Report(error, e.code, e.what(), e.byte_offset);
  } catch (const std::bad_alloc&) {
    return Report(error, RANKFEED_E_NO_MEMORY);
  } catch (const std::exception& e) {  // std::length_error: a size no container can have
    return Report(error, RANKFEED_E_LIMIT, e.what());
  }
}

}  // namespace rankfeed::corpus_builder
