// SPDX-License-Identifier: MIT
// python/src/ring.cc: see ring.h. The stream numbers are those of __dlpack__ in the Python array API, the
// dictionary that of Numba's CUDA array interface, version 3.
#include "ring.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#ifndef _WIN32
#include <dlfcn.h>
#include <unistd.h>
#endif

#include <chrono>
#include <filesystem>
#include <thread>

#include "backends/backend_library.h"

namespace rankfeed::python {
namespace {

[[maybe_unused]] constexpr int kHere = 0;

long Process() {
#ifdef _WIN32
  return 1;
#else
  return static_cast<long>(getpid());
#endif
}

std::filesystem::path ModuleFolder() {  // a backend may be put beside the extension
#ifdef _WIN32
  return {};  // there is none for it
#else
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&kHere), &here) == 0) return {};
  return std::filesystem::path(here.dli_fname).parent_path();
#endif
}

void Check(const Error& error) {
  if (error) throw StatusError(error.status, error.message);
}

[[noreturn]] void NoStream(int64_t number, int32_t device_type) {
  const char* there = device_type == RANKFEED_DL_CUDA
                          ? "1 (the legacy default stream), 2 (the thread's), -1 (no order) or a cudaStream_t"
                      : device_type == RANKFEED_DL_ROCM ? "0 (the default stream), -1 (no order) or a hipStream_t"
                                                        : "None, because the memory is the host's";
  PyErr_Format(PyExc_ValueError, "stream is %lld; it must be %s", static_cast<long long>(number), there);
  throw nb::python_error();
}

// The handle of a stream that a caller names, 0 being a framework's default stream.
void* Handle(int64_t number, const Ring& ring) {
  const int32_t type = ring.info().dl_device_type;
  if (number < 0 || (type == RANKFEED_DL_ROCM && (number == 1 || number == 2))) NoStream(number, type);
  if (number <= 1) return nullptr;
  return reinterpret_cast<void*>(static_cast<uintptr_t>(number));
}

void InRange(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  PyErr_Format(PyExc_ValueError, "%s is %lld; it must be from %lld to %lld", name, static_cast<long long>(value),
               static_cast<long long>(least), static_cast<long long>(most));
  throw nb::python_error();
}

const char* TypeString(uint32_t dtype) {
  return dtype == RANKFEED_DL_INT64 ? "<i8" : dtype == RANKFEED_DL_UINT32 ? "<u4" : dtype == RANKFEED_DL_UINT8 ? "|u1" : "<i4";
}

}  // namespace

Ring::Ring(uint32_t slots, uint64_t slot_bytes, const std::string& backend, int32_t device, bool device_slots,
           uint64_t mapped_limit)
    : process_(Process()), device_slots_(device_slots) {
  const handoff::FoundBackend found = handoff::FindBackend(backend, {ModuleFolder()});
  if (found.backend == nullptr) throw StatusError(found.status, "ring: " + found.message);
  rankfeed_handoff_options options{};
  options.flags = device_slots ? uint32_t{RANKFEED_HANDOFF_DEVICE_SLOTS} : 0u;
  options.slot_bytes = slot_bytes;
  options.slots = slots;
  options.device = device;
  options.backend = found.backend;
  options.mapped_limit = mapped_limit;
  ring_.emplace(Take(Handoff::Open(options)));
  info_ = ring_->info();
}

Ring::~Ring() {
  if (process_ == Process() || !ring_) return;
  // Closing would wait for threads that are the parent's.
  if (copies_) (void)new HandoffStream(std::move(*copies_));
  (void)new Handoff(std::move(*ring_));
}

void Ring::CheckProcess() const {
  if (process_ == Process()) return;
  throw StatusError(RANKFEED_E_STATE, "the ring is of the process that this one was forked from; open one here");
}

std::shared_ptr<Arena> Ring::Acquire(uint64_t timeout_ns) {
  CheckProcess();
  auto use = std::make_shared<SlotUse>(shared_from_this(), Take(ring_->WaitAcquire(timeout_ns)));
  return use->Memory(use);
}

void* Ring::CopyStream() {
  const std::lock_guard lock(mutex_);
  if (!copies_) copies_.emplace(Take(ring_->MakeStream()));
  return copies_->get();
}

std::shared_ptr<Arena> SlotUse::Memory(const std::shared_ptr<SlotUse>& use) {
  const std::span<std::byte> bytes = use->filling_->bytes();
  return std::make_shared<Arena>(bytes.data(), bytes.size(), nullptr, use->ring_->info().dl_host_device_type, use);
}

SlotUse::~SlotUse() {
  if (told_ || ring_->on_host()) return;
  // Nobody said what reads the slot: work on the default stream does, where it was not queued on another.
  if (lease_) {
    (void)lease_->RecordStream(nullptr);
  } else {
    (void)filling_->RecordStream(nullptr);
  }
}

void SlotUse::RecordStream(void* stream) {
  if (ring_->on_host()) return;  // nothing reads later
  const std::lock_guard lock(mutex_);
  Check(lease_ ? lease_->RecordStream(stream) : filling_->RecordStream(stream));
  told_ = true;
}

void SlotUse::Submit(uint64_t bytes, void* stream, uint32_t flags) {
  ring_->CheckProcess();
  const std::lock_guard lock(mutex_);
  if (lease_) throw StatusError(RANKFEED_E_STATE, "the batch has been submitted");
  lease_.emplace(Take(filling_->Submit(bytes, stream, flags)));
  submitted_on_ = stream;
}

rankfeed_dl_tensor SlotUse::Submitted() {
  const std::lock_guard lock(mutex_);
  if (!lease_) throw StatusError(RANKFEED_E_STATE, "the batch has not been submitted");
  rankfeed_dl_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  python::Check(rankfeed_handoff_dl_tensor(ring_->get(), lease_->ticket(), RANKFEED_HANDOFF_DL_SUBMITTED, &tensor),
                "device memory of a batch");
  return tensor;
}

void SlotUse::DlWait(int64_t stream) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const Error error = lease_->DlWait(stream);
      if (error.status == RANKFEED_E_ARGUMENT) NoStream(stream, ring_->info().dl_device_type);
      if (error.status != RANKFEED_E_BUSY) {
        Check(error);
        told_ = told_ || stream != RANKFEED_DL_STREAM_NO_WAIT;
        return;
      }
    }
    const nb::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::optional<uintptr_t> SlotUse::PendingOn() {
  const std::lock_guard lock(mutex_);
  if (rankfeed_handoff_poll(ring_->get(), lease_->ticket()) == RANKFEED_OK) return std::nullopt;
  const auto handle = reinterpret_cast<uintptr_t>(submitted_on_);
  // A thread's default stream is another's on another thread; the legacy one comes after all of them.
  return handle <= 2 ? 1 : handle;
}

std::optional<int64_t> StreamNumber(nb::handle stream) {
  if (stream.is_none()) return std::nullopt;
  nb::object number = nb::borrow(stream);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    number = stream.attr("__cuda_stream__")()[1];
  } else if (nb::hasattr(stream, "cuda_stream")) {
    number = stream.attr("cuda_stream");
  } else if (nb::hasattr(stream, "ptr")) {
    number = stream.attr("ptr");
  }
  if (!PyLong_Check(number.ptr()) || PyBool_Check(number.ptr())) {
    PyErr_Format(PyExc_TypeError, "stream is %s; it must be None, an int or a framework's stream",
                 TypeName(stream).c_str());
    throw nb::python_error();
  }
  const long long value = PyLong_AsLongLong(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

void RecordStream(const std::shared_ptr<Arena>& arena, nb::handle stream) {
  const int64_t number = StreamNumber(stream).value_or(0);
  if (arena == nullptr || arena->slot() == nullptr) return;
  SlotUse& use = *arena->slot();
  if (use.ring().on_host()) return;
  // The lease may end on another thread, whose default stream 2 would be: the legacy one comes after all.
  use.RecordStream(number == 2 && use.ring().info().dl_device_type == RANKFEED_DL_CUDA ? nullptr
                                                                                       : Handle(number, use.ring()));
}

void* SubmitStream(Ring& ring, nb::handle stream) {
  const std::optional<int64_t> number = StreamNumber(stream);
  if (!number) return ring.CopyStream();
  if (ring.on_host()) NoStream(*number, RANKFEED_DL_CPU);
  return Handle(*number, ring);
}

nb::object DeviceTensor::DLPack(nb::handle stream, nb::handle max_version, nb::handle dl_device,
                                nb::handle copy) const {
  if (!dl_device.is_none() &&
      nb::cast<std::pair<int32_t, int32_t>>(dl_device) != std::pair(where.device_type, where.device_id)) {
    PyErr_SetString(PyExc_BufferError, "the tensor is in the device's memory; the batch's tensors are in the host's");
    throw nb::python_error();
  }
  if (!copy.is_none() && nb::cast<bool>(copy)) {
    PyErr_SetString(PyExc_BufferError, "a copy in device memory is the framework's to make");
    throw nb::python_error();
  }
  if (!stream.is_none() && (!PyLong_Check(stream.ptr()) || PyBool_Check(stream.ptr()))) {
    PyErr_Format(PyExc_TypeError, "stream is %s; it must be None or an int", TypeName(stream).c_str());
    throw nb::python_error();
  }
  const std::optional<int64_t> number = StreamNumber(stream);
  if (number && *number < RANKFEED_DL_STREAM_NO_WAIT) NoStream(*number, where.device_type);
  host.arena->slot()->DlWait(number.value_or(RANKFEED_DL_STREAM_NOT_SAID));
  rankfeed_dl_tensor tensor = where;
  tensor.dtype = host.dtype;
  tensor.rank = host.rank;
  tensor.shape = host.shape;
  tensor.byte_offset = host.byte_offset;
  return DLPackCapsule(tensor, host.arena, max_version);
}

nb::dict DeviceTensor::CudaArrayInterface() const {
  if (where.device_type != RANKFEED_DL_CUDA) {
    PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__ is of CUDA's memory; this is not");
    throw nb::python_error();
  }
  const bool empty = host.bytes() == 0;
  const auto address = reinterpret_cast<uintptr_t>(where.data) + host.byte_offset;
  nb::dict out;
  out["shape"] = ShapeOf(host);
  out["typestr"] = TypeString(host.dtype);
  out["data"] = nb::make_tuple(empty ? uintptr_t{0} : address, false);
  out["version"] = 3;
  out["strides"] = nb::none();
  const std::optional<uintptr_t> stream = host.arena->slot()->PendingOn();
  out["stream"] = stream ? nb::object(nb::int_(*stream)) : nb::object(nb::none());
  return out;
}

void BindRing(nb::module_& module) {
  const auto node = [](int32_t number) { return number >= 0 ? std::optional<int32_t>(number) : std::nullopt; };
  nb::class_<Ring>(module, "Ring",
                   "A ring of slots of page-locked memory (rankfeed/handoff.h). A slot is free again when the last "
                   "tensor of its batch is gone and the device has done what was queued until then on the streams that "
                   "read it: those it was told of (record_stream, __dlpack__(stream=)), or the default stream.")
      .def("__init__", [](nb::handle_t<Ring>) { throw StatusError(RANKFEED_E_STATE, "use Ring.open"); })
      .def_static("open",
                  [](int64_t slots, int64_t slot_bytes, const std::string& backend, int32_t device, bool device_slots,
                     int64_t mapped_limit) {
                    InRange("slots", slots, 1, RANKFEED_HANDOFF_MAX_SLOTS);
                    InRange("slot_bytes", slot_bytes, 1, PTRDIFF_MAX);
                    InRange("device", device, 0, INT32_MAX);
                    InRange("mapped_limit", mapped_limit, 0, PTRDIFF_MAX);
                    const nb::gil_scoped_release release;
                    return std::make_shared<Ring>(static_cast<uint32_t>(slots), static_cast<uint64_t>(slot_bytes), backend,
                                                  device, device_slots, static_cast<uint64_t>(mapped_limit));
                  },
                  nb::arg("slots") = 3, nb::arg("slot_bytes") = 16 << 20, nb::arg("backend") = "host",
                  nb::arg("device") = 0, nb::arg("device_slots") = false, nb::arg("mapped_limit") = 0,
                  "backend: 'host', or a vendor whose runtime page-locks the memory (docs/handoff.md); see "
                  "Tensor.host_device_type. device: its number there. device_slots: device memory beside each slot, for "
                  "Batch.submit. mapped_limit: bytes up to which submit(mode='choose') has them read in place.")
      .def_prop_ro("backend", [](const Ring& r) { return std::string(r.info().backend); })
      .def_prop_ro("page_locked", [](const Ring& r) { return r.info().page_locked != 0; })
      .def_prop_ro("slot_bytes", [](const Ring& r) { return r.info().slot_bytes; })
      .def_prop_ro("numa_node", [node](const Ring& r) { return node(r.info().numa_node); },
                   "The memory node that the slots lie on; None: not known, or several.")
      .def_prop_ro("device_numa_node", [node](const Ring& r) { return node(r.info().device_numa_node); },
                   "The memory node beside the device, on which slots are allocated; None: not known.");

  nb::class_<DeviceTensor>(module, "DeviceTensor",
                           "A tensor of a submitted batch in the device's memory, which frameworks read in place: "
                           "torch.from_dlpack, cupy.from_dlpack. It keeps the batch's slot.")
      .def_prop_ro("shape", [](const DeviceTensor& t) { return ShapeOf(t.host); },
                   nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const DeviceTensor& t) { return DTypeOf(t.host); })
      .def_prop_ro("nbytes", [](const DeviceTensor& t) { return t.host.bytes(); })
      .def("record_stream", [](const DeviceTensor& t, nb::handle stream) { RecordStream(t.host.arena, stream); },
           nb::arg("stream").none(), nb::sig("def record_stream(self, stream: object) -> None"),
           "As Batch.record_stream.")
      .def("__dlpack_device__",
           [](const DeviceTensor& t) { return nb::make_tuple(t.where.device_type, t.where.device_id); },
           nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__dlpack__", &DeviceTensor::DLPack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, "
                   "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object"),
           "stream is the consumer's: it waits for the copy, the host does not, and the slot comes back after what it "
           "is given to do.")
      .def_prop_ro("__cuda_array_interface__", &DeviceTensor::CudaArrayInterface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"),
                   "Version 3. stream is the copy's until it has landed. The consumer's stream is not said this way: tell "
                   "the batch with record_stream, unless it is the default one.");
}

}  // namespace rankfeed::python
