// SPDX-License-Identifier: MIT
// python/src/inputs.cc: see inputs.h.
#include "inputs.h"

#include <limits>
#include <string_view>

namespace rankfeed::python {
namespace {

constexpr int32_t kNoIds[1] = {};

// "None", "a str", "an int": how a message names a value's type.
std::string TypeWords(nb::handle object) {
  if (object.is_none()) return "None";
  const std::string name = TypeName(object);
  const bool vowel = std::string_view("aeiouAEIOU").find(name.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + name;
}

// str(object).
std::string Words(const nb::object& object) {
  return nb::str(nb::handle(object)).c_str();
}

// One text of Arrow, which can be iterated over like a str.
bool IsScalarText(nb::handle object) {
  if (!nb::hasattr(object, "as_py")) return false;
  const nb::object value = object.attr("as_py")();
  return PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr());
}

// Sets why = where + why on the UnicodeError that is raised.
[[noreturn]] void RaiseUnicodeError(const std::string& where) {
  nb::python_error error;
  const std::string reason = where + ": " + Words(error.value().attr("reason"));
  nb::setattr(error.value(), "reason", nb::str(reason.c_str()));
  throw error;
}

}  // namespace

std::string Inputs::Place::Words() const {
  return index < 0 ? name : std::string(name) + "[" + std::to_string(index) + "]";
}

void Inputs::Refuse(nb::handle object, Place place, bool ids) const {
  throw nb::type_error((place.Words() + " is " + TypeWords(object) + "; it must be " +
                        (ids ? "a str, bytes, or a contiguous one-dimensional array of int32 or "
                               "int64 ids in host memory"
                             : "a str or bytes"))
                           .c_str());
}

void Inputs::Push(rankfeed_text text) {
  text_of_.push_back(static_cast<int64_t>(texts_.size()));
  texts_.push_back(text);
  sources_.emplace_back();
}

void Inputs::AddString(nb::handle object, Place place) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
    if (policy_ != InvalidText::kReplace) RaiseUnicodeError(place.Words());
    PyErr_Clear();
    // Halves of pairs that belong together come from careless decoders: "surrogatepass" to UTF-16
    // joins them.
    const nb::object utf16 =
        nb::steal(PyUnicode_AsEncodedString(object.ptr(), "utf-16-le", "surrogatepass"));
    if (!utf16.is_valid()) throw nb::python_error();
    int order = -1;
    const nb::object whole = nb::steal(PyUnicode_DecodeUTF16(
        PyBytes_AsString(utf16.ptr()), PyBytes_Size(utf16.ptr()), "replace", &order));
    if (!whole.is_valid()) throw nb::python_error();
    data = PyUnicode_AsUTF8AndSize(whole.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    kept_.push_back(whole);
  }
  Push({data, static_cast<size_t>(size)});
}

void Inputs::AddBytes(rankfeed_text text, Place place) {
  if (policy_ == InvalidText::kError) {
    const nb::object read =
        nb::steal(PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), "strict"));
    if (!read.is_valid()) RaiseUnicodeError(place.Words());
  }
  Push(text);
}

void Inputs::AddIds(nb::handle object, Place place) {
  rankfeed_source source{};
  Ids array;
  nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> wide;
  const auto check = [&](const auto* data, size_t n) {
    if (n > std::numeric_limits<uint32_t>::max()) {
      throw StatusError(RANKFEED_E_LIMIT,
                        place.Words() + " has " + std::to_string(n) + " ids: 32 bits count them");
    }
    bool good = true;
    for (size_t i = 0; i < n; ++i)
      good &= data[i] >= 0 && data[i] < static_cast<int64_t>(id_count_);
    for (size_t i = 0; i < n && !good; ++i) {
      if (data[i] >= 0 && data[i] < static_cast<int64_t>(id_count_)) continue;
      throw StatusError(RANKFEED_E_ARGUMENT, place.Words() + "[" + std::to_string(i) + "] is " +
                                                 std::to_string(data[i]) +
                                                 "; ids of this vocabulary are 0 to " +
                                                 std::to_string(id_count_ - 1));
    }
  };
  if (nb::try_cast(object, array, /*convert=*/false)) {
    check(array.data(), array.size());
    source.ids = array.size() == 0 ? kNoIds : array.data();
    source.id_count = static_cast<uint32_t>(array.size());
    arrays_.push_back(std::move(array));
  } else if (nb::try_cast(object, wide, /*convert=*/false)) {
    check(wide.data(), wide.size());
    copies_.push_back(std::make_unique<int32_t[]>(wide.size() + 1));
    std::copy_n(wide.data(), wide.size(), copies_.back().get());
    source.ids = copies_.back().get();
    source.id_count = static_cast<uint32_t>(wide.size());
  } else {
    Refuse(object, place, true);
  }
  text_of_.push_back(-1);
  sources_.push_back(source);
}

void Inputs::DropTexts() {
  texts_.clear();
  columns_.clear();
  kept_.clear();
}

void Inputs::AddItem(nb::handle object, Place place, bool ids) {
  if (PyUnicode_Check(object.ptr())) return AddString(object, place);
  if (PyBytes_Check(object.ptr())) {
    return AddBytes(
        {PyBytes_AsString(object.ptr()), static_cast<size_t>(PyBytes_Size(object.ptr()))}, place);
  }
  if (nb::hasattr(object, "as_py")) {  // a scalar of pyarrow
    const nb::object value = object.attr("as_py")();
    if (value.is_none()) throw nb::type_error((place.Words() + " is null; it must be a text").c_str());
    if (!PyUnicode_Check(value.ptr()) && !PyBytes_Check(value.ptr())) Refuse(object, place, ids);
    kept_.push_back(value);
    return AddItem(value, place, false);
  }
  if (!ids) Refuse(object, place, false);
  AddIds(object, place);
}

bool Inputs::AddArrow(nb::handle sequence, const char* name) {
  // A pandas Series of objects would be copied to Arrow first: its items are read as they are.
  if (nb::hasattr(sequence, "dtype") && Words(sequence.attr("dtype")) == "object") return false;
  const size_t first = columns_.size();
  if (!ArrowColumnsOf(sequence, name, &columns_)) return false;
  int64_t at = 0;
  for (size_t c = first; c < columns_.size(); ++c) {
    const ArrowColumn& column = *columns_[c];
    for (int64_t i = 0; i < column.size(); ++i, ++at) {
      rankfeed_text text;
      if (!column.At(i, &text))
        throw nb::type_error((Place{name, at}.Words() + " is null; it must be a text").c_str());
      AddBytes(text, {name, at});
    }
  }
  return true;
}

void Inputs::AddAll(nb::handle sequence, const char* name, bool ids) {
  PyObject* const object = sequence.ptr();
  const std::string what = ids ? "a sequence of documents" : "a sequence of texts";
  if (PyUnicode_Check(object) || PyBytes_Check(object) || IsScalarText(sequence)) {
    throw nb::type_error((std::string(name) + " is one " + TypeName(sequence) +
                          "; it must be " + what + ", such as [" + name + "]")
                             .c_str());
  }
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    if (PyDict_Check(object) || PyAnySet_Check(object) || PyByteArray_Check(object) ||
        PyMemoryView_Check(object) || sequence.is_none()) {
      throw nb::type_error(
          (std::string(name) + " is " + TypeWords(sequence) + "; it must be " + what).c_str());
    }
    if (AddArrow(sequence, name)) return;
    // Iterating over one, as a DataFrame that cannot be exported to Arrow, gives names of columns.
    if (nb::hasattr(sequence, "columns")) {
      throw nb::type_error((std::string(name) + " is a table; it must be " + what).c_str());
    }
  }
  // A tuple of its own, so that nobody changes it while the GIL is released.
  nb::object items = nb::steal(PySequence_Tuple(object));
  if (!items.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || nb::hasattr(sequence, "__iter__"))
      throw nb::python_error();
    PyErr_Clear();
    throw nb::type_error(
        (std::string(name) + " is " + TypeWords(sequence) + "; it must be " + what).c_str());
  }
  const Py_ssize_t n = PyTuple_Size(items.ptr());
  text_of_.reserve(text_of_.size() + static_cast<size_t>(n));
  texts_.reserve(texts_.size() + static_cast<size_t>(n));
  sources_.reserve(sources_.size() + static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) AddItem(PyTuple_GetItem(items.ptr(), i), {name, i}, ids);
  kept_.push_back(std::move(items));
}

}  // namespace rankfeed::python
