// SPDX-License-Identifier: MIT
// python/src/arrow.h: columns of text in the memory of Arrow, by its C data interface and the
// capsules of its PyCapsule interface: the structs are those of the specification.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "rankfeed/rankfeed.h"

namespace rankfeed::python {

namespace nb = nanobind;

extern "C" {
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

// One array of strings or bytes, kept until this object goes.
struct ArrowColumn {
  ArrowColumn() = default;
  ~ArrowColumn() {
    if (array.release != nullptr) array.release(&array);
  }
  ArrowColumn(const ArrowColumn&) = delete;

  int64_t size() const { return array.length; }
  // False: null.
  bool At(int64_t i, rankfeed_text* text) const;

  ArrowArray array{};
  char layout = 0;  // 'u': offsets of 32 bits; 'U': of 64; 'v': views
};

// Puts the arrays of an object with __arrow_c_array__ or __arrow_c_stream__ into *out. False for
// one with neither, and for dictionary-encoded columns; TypeError, which begins with `name`, for
// columns of anything but text.
bool ArrowColumnsOf(nb::handle object, const char* name,
                    std::vector<std::unique_ptr<ArrowColumn>>* out);

}  // namespace rankfeed::python
