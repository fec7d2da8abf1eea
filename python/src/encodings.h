// SPDX-License-Identifier: MIT
// python/src/encodings.h: _core.Row, the base of Encoding: one row of a call. A type of the
// interpreter's own and not nanobind's, because a call of many texts makes as many, and mostly for
// their ids alone.
#pragma once

#include <nanobind/nanobind.h>

namespace rankfeed::python {

namespace nb = nanobind;

// The ids of a row of a _core.Rows object as a list, a new reference; null with an exception set.
PyObject* IdsOfRow(PyObject* rows, size_t row) noexcept;

void BindEncodings(nb::module_& module);

}  // namespace rankfeed::python
