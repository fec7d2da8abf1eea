// SPDX-License-Identifier: MIT
// python/src/arrow.cc: see arrow.h.
#include "arrow.h"

#include <cstring>
#include <string>

#include "memory.h"

namespace rankfeed::python {
namespace {

[[noreturn]] void RefuseType(const char* name, const std::string& what) {
  throw nb::type_error((std::string(name) + " is " + what +
                        "; it must be one column of string, large_string, "
                        "string_view, binary, large_binary or binary_view")
                           .c_str());
}

// 0: a dictionary-encoded column, whose items are read one by one.
char LayoutOf(const ArrowSchema& schema, const char* name) {
  const std::string format = schema.format;
  if (schema.dictionary != nullptr) return 0;
  if (format == "u" || format == "z") return 'u';
  if (format == "U" || format == "Z") return 'U';
  if (format == "vu" || format == "vz") return 'v';
  if (format == "+s") RefuseType(name, "a table");
  RefuseType(name, "a column of Arrow's format '" + format + "'");
}

// A capsule's struct; it stays the capsule's, unless release is taken from it.
template <class T>
T* Contents(nb::handle capsule, const char* kind) {
  auto* contents = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), kind));
  if (contents == nullptr) throw nb::python_error();
  return contents;
}

// A struct that is released at the end of a block.
template <class T>
struct Released : T {
  Released() : T{} {}
  ~Released() {
    if (this->release != nullptr) this->release(this);
  }
};

// What a method that exports to Arrow returns; none where it needs a package that is not installed, or
// a newer one: pandas asks pyarrow to export.
nb::object Exported(nb::handle object, const char* method) {
  try {
    return object.attr(method)();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return {};
  }
}

}  // namespace

bool ArrowColumn::At(int64_t i, rankfeed_text* text) const {
  const int64_t at = array.offset + i;
  const auto* valid = static_cast<const uint8_t*>(array.buffers[0]);
  if (valid != nullptr && (valid[at / 8] >> (at % 8) & 1) == 0) return false;
  if (layout == 'v') {
    struct View {
      int32_t size;
      char inlined[4];
      int32_t buffer, offset;
    };
    const auto* view = static_cast<const View*>(array.buffers[1]) + at;
    const auto size = static_cast<size_t>(view->size);
    *text =
        size <= 12
            ? rankfeed_text{view->inlined, size}
            : rankfeed_text{
                  static_cast<const char*>(array.buffers[2 + view->buffer]) + view->offset, size};
    return true;
  }
  int64_t begin, end;
  if (layout == 'u') {
    const auto* offsets = static_cast<const int32_t*>(array.buffers[1]) + at;
    begin = offsets[0], end = offsets[1];
  } else {
    const auto* offsets = static_cast<const int64_t*>(array.buffers[1]) + at;
    begin = offsets[0], end = offsets[1];
  }
  const auto* data = static_cast<const char*>(array.buffers[2]);
  *text = {data != nullptr ? data + begin : "", static_cast<size_t>(end - begin)};
  return true;
}

bool ArrowColumnsOf(nb::handle object, const char* name,
                    std::vector<std::unique_ptr<ArrowColumn>>* out) {
  if (nb::hasattr(object, "__arrow_c_array__")) {
    const nb::object pair = Exported(object, "__arrow_c_array__");
    if (!pair.is_valid()) return false;
    const nb::object schema = pair[0], capsule = pair[1];
    auto column = std::make_unique<ArrowColumn>();
    column->layout = LayoutOf(*Contents<ArrowSchema>(schema, "arrow_schema"), name);
    if (column->layout == 0) return false;
    auto* array = Contents<ArrowArray>(capsule, "arrow_array");
    column->array = *array;
    array->release = nullptr;  // moved
    out->push_back(std::move(column));
    return true;
  }
  if (!nb::hasattr(object, "__arrow_c_stream__")) return false;
  const nb::object capsule = Exported(object, "__arrow_c_stream__");
  if (!capsule.is_valid()) return false;
  auto* stream = Contents<ArrowArrayStream>(capsule, "arrow_array_stream");
  const auto check = [&](int status) {
    if (status == 0) return;
    const char* why = stream->get_last_error(stream);
    throw StatusError(RANKFEED_E_ARGUMENT,
                      std::string(name) + ": " + (why != nullptr ? why : std::strerror(status)));
  };
  Released<ArrowSchema> schema;
  check(stream->get_schema(stream, &schema));
  const char layout = LayoutOf(schema, name);
  if (layout == 0) return false;
  for (;;) {
    auto column = std::make_unique<ArrowColumn>();
    check(stream->get_next(stream, &column->array));
    if (column->array.release == nullptr) return true;
    column->layout = layout;
    out->push_back(std::move(column));
  }
}

}  // namespace rankfeed::python
