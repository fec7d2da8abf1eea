// SPDX-License-Identifier: MIT
// python/src/encodings.cc: see encodings.h.
#include "encodings.h"

namespace rankfeed::python {
namespace {

// Set when it is made, and never again: threads may read it without a lock.
struct Row {
  PyObject_HEAD PyObject* call;  // what the columns come from: _encoding.py, _Rows
  PyObject* rows;  // the _core.Rows that has the ids; null: they are asked of the call
  Py_ssize_t row;
};

PyTypeObject* row_type = nullptr;

Row* Of(PyObject* self) {
  return reinterpret_cast<Row*>(self);
}

// Slots of an extension type are C functions in pointers to void.
template <class Function>
void* Slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

PyObject* Refuse(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "an Encoding is made by encode and encode_batch");
  return nullptr;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(Of(self)->call);
  Py_VISIT(Of(self)->rows);
  return 0;
}

void Deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Py_XDECREF(Of(self)->call);
  Py_XDECREF(Of(self)->rows);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* GetIds(PyObject* self, void*) {
  const Row* const row = Of(self);
  if (row->rows != nullptr) return IdsOfRow(row->rows, static_cast<size_t>(row->row));
  return PyObject_CallMethod(row->call, "ids", "n", row->row);
}

PyObject* GetCall(PyObject* self, void*) {
  Py_INCREF(Of(self)->call);
  return Of(self)->call;
}

PyObject* GetRow(PyObject* self, void*) {
  return PyLong_FromSsize_t(Of(self)->row);
}

PyTypeObject* MakeType() {
  static PyGetSetDef attributes[] = {{"ids", GetIds, nullptr, "Token ids.", nullptr},
                                     {"_call", GetCall, nullptr, nullptr, nullptr},
                                     {"_row", GetRow, nullptr, nullptr, nullptr},
                                     {}};
  PyType_Slot slots[] = {{Py_tp_new, Slot(Refuse)},
                         {Py_tp_traverse, Slot(Traverse)},
                         {Py_tp_dealloc, Slot(Deallocate)},
                         {Py_tp_getset, attributes},
                         {Py_tp_doc, const_cast<char*>("One row of a call.")},
                         {0, nullptr}};
  PyType_Spec spec = {"rankfeed._core.Row", sizeof(Row), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw nb::python_error();
  return type;
}

// `count` rows of a call, the first ones, as objects of a type that Row is a base of. rows: that of
// the call, or None where the call's ids are not those of its rows.
nb::list Encodings(nb::handle type, nb::handle call, nb::handle rows, size_t count) {
  auto* const made = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (!PyType_Check(type.ptr()) || !PyType_IsSubtype(made, row_type)) {
    throw nb::type_error("encodings: type is no subclass of Row");
  }
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(made, Py_tp_alloc));
  nb::list out = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!out.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < count; ++i) {
    PyObject* const self = allocate(made, 0);
    if (self == nullptr) throw nb::python_error();
    Of(self)->call = call.inc_ref().ptr();
    Of(self)->rows = rows.is_none() ? nullptr : rows.inc_ref().ptr();
    Of(self)->row = static_cast<Py_ssize_t>(i);
    NB_LIST_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), self);
  }
  return out;
}

}  // namespace

void BindEncodings(nb::module_& module) {
  row_type = MakeType();
  module.attr("Row") = nb::handle(reinterpret_cast<PyObject*>(row_type));
  module.def("encodings", &Encodings, nb::arg("type"), nb::arg("call"), nb::arg("rows").none(),
             nb::arg("count"),
             nb::sig("def encodings(type: object, call: object, rows: Rows | None, count: int) "
                     "-> list[typing.Any]"));
}

}  // namespace rankfeed::python
