// SPDX-License-Identifier: MIT
// python/src/memory.cc: see memory.h. DLPack capsules are made by rankfeed_dlpack_export; the
// capsule protocol (names, who calls the deleter) is that of dlpack's python_spec.rst, 1.1.
#include "memory.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "dlpack_export.h"
#include "ring.h"

namespace rankfeed::python {

std::string TypeName(nb::handle object) {
  const nb::handle type = object.type();
  const std::string name = nb::cast<std::string>(type.attr("__qualname__"));
  const std::string module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  return module == "builtins" ? name : module + "." + name;
}

rankfeed_text TextOf(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<size_t>(size)};
  }
  if (PyBytes_Check(object.ptr())) {
    return {PyBytes_AsString(object.ptr()), static_cast<size_t>(PyBytes_Size(object.ptr()))};
  }
  PyErr_Format(PyExc_TypeError, "a text must be str or bytes, not %s", TypeName(object).c_str());
  throw nb::python_error();
}

std::shared_ptr<Arena> Arena::Allocate(size_t size) {
  constexpr std::align_val_t kAlignment{RANKFEED_HANDOFF_ALIGNMENT};
  void* data = ::operator new(size == 0 ? 1 : size, kAlignment);
  return std::make_shared<Arena>(data, size, [data] { ::operator delete(data, kAlignment); });
}

size_t Tensor::bytes() const {
  size_t count = item_size();
  for (uint32_t i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(count, static_cast<size_t>(shape[i]), &count)) {
      throw StatusError(RANKFEED_E_LIMIT, "a tensor of " + std::to_string(shape[0]) + " x " +
                                              std::to_string(shape[1]) + " elements does not fit into memory");
    }
  }
  return count;
}

nb::object ShapeOf(const Tensor& tensor) {
  return tensor.rank == 1 ? nb::object(nb::make_tuple(tensor.shape[0]))
                          : nb::object(nb::make_tuple(tensor.shape[0], tensor.shape[1]));
}
const char* DTypeOf(const Tensor& tensor) {
  return tensor.dtype == RANKFEED_DL_INT64    ? "int64"
         : tensor.dtype == RANKFEED_DL_UINT32 ? "uint32"
         : tensor.dtype == RANKFEED_DL_UINT8  ? "uint8"
                                              : "int32";
}

nb::object Tensor::Numpy() const {
  const size_t extents[2] = {static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1])};
  auto* owner = new std::shared_ptr<Arena>(arena);
  nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<Arena>*>(p); });
  const nb::dlpack::dtype type = dtype == RANKFEED_DL_INT64   ? nb::dtype<int64_t>()
                                 : dtype == RANKFEED_DL_UINT32 ? nb::dtype<uint32_t>()
                                 : dtype == RANKFEED_DL_UINT8  ? nb::dtype<uint8_t>()
                                                               : nb::dtype<int32_t>();
  nb::ndarray<nb::numpy> array(static_cast<char*>(arena->data()) + byte_offset, rank, extents, capsule,
                               nullptr, type, nb::device::cpu::value);
  return nb::cast(std::move(array));
}

namespace {

constexpr const char *kVersioned = "dltensor_versioned", *kLegacy = "dltensor";

// A capsule that nobody consumed frees its tensor; a consumer renames the capsule first.
template <class Managed>
nb::object Capsule(Managed* managed, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(managed, name, destructor);
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

}  // namespace

nb::object Tensor::DLPack(nb::handle max_version, nb::handle dl_device, nb::handle copy) const {
  std::shared_ptr<Arena> memory = arena;
  size_t offset = byte_offset;
  // Page-locked memory is the CPU's too, and torch (2.11) refuses kDLCUDAHost and kDLROCMHost, although
  // it sees by the address that memory is page-locked. So they are given to those who ask for them.
  int32_t device_type = RANKFEED_DL_CPU;
  if (!dl_device.is_none()) {
    const auto [type, id] = nb::cast<std::pair<int32_t, int32_t>>(dl_device);
    if ((type != arena->device_type() && type != RANKFEED_DL_CPU) || id != 0) {
      PyErr_SetString(PyExc_BufferError, "the tensor is in host memory; copy it to the device");
      throw nb::python_error();
    }
    device_type = type;
  }
  const bool copied = !copy.is_none() && nb::cast<bool>(copy);
  if (copied) {
    memory = Arena::Allocate(bytes());
    std::memcpy(memory->data(), static_cast<char*>(arena->data()) + byte_offset, bytes());
    offset = 0;
    device_type = RANKFEED_DL_CPU;
  }
  rankfeed_dl_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = dtype;
  tensor.rank = rank;
  tensor.flags = copied ? RANKFEED_DL_COPIED : 0u;
  tensor.device_type = device_type;
  tensor.shape = shape;
  tensor.data = memory->data();
  tensor.data_bytes = memory->size();
  tensor.byte_offset = offset;
  return DLPackCapsule(tensor, memory, max_version);
}

nb::object DLPackCapsule(rankfeed_dl_tensor tensor, const std::shared_ptr<Arena>& memory, nb::handle max_version) {
  const bool legacy = max_version.is_none() || nb::cast<int>(max_version[0]) < 1;
  auto* owner = new std::shared_ptr<Arena>(memory);
  if (legacy) tensor.flags = 0;
  tensor.release = [](void* p) { delete static_cast<std::shared_ptr<Arena>*>(p); };
  tensor.release_context = owner;
  rankfeed_status status;
  if (legacy) {
    DLManagedTensor* out = nullptr;
    status = rankfeed_dlpack_export_legacy(&tensor, &out);
    if (status == RANKFEED_OK) {
      return Capsule(out, kLegacy, [](PyObject* capsule) {
        if (!PyCapsule_IsValid(capsule, kLegacy)) return;
        auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kLegacy));
        managed->deleter(managed);
      });
    }
  } else {
    DLManagedTensorVersioned* out = nullptr;
    status = rankfeed_dlpack_export(&tensor, &out);
    if (status == RANKFEED_OK) {
      return Capsule(out, kVersioned, [](PyObject* capsule) {
        if (!PyCapsule_IsValid(capsule, kVersioned)) return;
        auto* managed =
            static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kVersioned));
        managed->deleter(managed);
      });
    }
  }
  delete owner;
  throw StatusError(status, std::string("DLPack: ") + rankfeed_status_message(status));
}

namespace {

Tensor RestoredTensor(const nb::bytes& data, uint32_t dtype, const std::vector<int64_t>& shape) {
  Tensor out;
  out.dtype = dtype;
  out.rank = static_cast<uint32_t>(shape.size());
  if (dtype > RANKFEED_DL_UINT8 || shape.empty() || shape.size() > 2) {
    throw StatusError(RANKFEED_E_ARGUMENT, "no tensor");
  }
  std::copy(shape.begin(), shape.end(), out.shape);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; }) || out.bytes() != data.size()) {
    throw StatusError(RANKFEED_E_ARGUMENT, "a tensor of another size");
  }
  out.arena = Arena::Allocate(data.size());
  std::memcpy(out.arena->data(), data.c_str(), data.size());
  return out;
}

}  // namespace

void BindMemory(nb::module_& module) {
  module.def("restored_tensor", &RestoredTensor, nb::arg("data"), nb::arg("dtype"), nb::arg("shape"),
             "A tensor that was pickled.");
  nb::class_<Tensor>(module, "Tensor",
                     "A tensor that frameworks read in place: numpy.from_dlpack, torch.from_dlpack, "
                     "onnxruntime; or .numpy().")
      .def_prop_ro("shape",
                   [](const Tensor& t) { return ShapeOf(t); },
                   nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype",
                   [](const Tensor& t) { return DTypeOf(t); })
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def("__reduce__",
           [](const Tensor& t) {
             return nb::make_tuple(
                 nb::module_::import_("rankfeed._pickling").attr("tensor"),
                 nb::make_tuple(nb::bytes(static_cast<const char*>(t.arena->data()) + t.byte_offset, t.bytes()), t.dtype,
                                std::vector<int64_t>(t.shape, t.shape + t.rank)));
           },
           nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("numpy", &Tensor::Numpy, nb::sig("def numpy(self) -> NDArray[typing.Any]"),
           "An array over the same memory.")
      .def("__array__",
           [](const Tensor& t, nb::handle dtype, nb::handle) {
             nb::object array = t.Numpy();
             return dtype.is_none() ? array : array.attr("astype")(dtype);
           },
           nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: object = None, copy: object = None) -> NDArray[typing.Any]"))
      .def("record_stream", [](const Tensor& t, nb::handle stream) { RecordStream(t.arena, stream); },
           nb::arg("stream").none(), nb::sig("def record_stream(self, stream: object) -> None"),
           "As Batch.record_stream; of memory that is no ring's, nothing.")
      .def("__dlpack_device__",
           [](const Tensor&) { return nb::make_tuple(int32_t{RANKFEED_DL_CPU}, 0); },
           nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def_prop_ro("host_device_type", [](const Tensor& t) { return t.arena->device_type(); },
                   "DLPack's type of the memory: 1 (kDLCPU), or 3 (kDLCUDAHost), 11 (kDLROCMHost) where "
                   "that runtime page-locked it. __dlpack__ says 1 unless dl_device asks for the other, "
                   "because torch refuses those.")
      .def("__dlpack__",
           [](const Tensor& t, nb::handle, nb::handle max_version, nb::handle dl_device,
              nb::handle copy) { return t.DLPack(max_version, dl_device, copy); },
           nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
           nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | None "
                   "= None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object"));
}

}  // namespace rankfeed::python
