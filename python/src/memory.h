// SPDX-License-Identifier: MIT
// python/src/memory.h: what the parts of the extension share: errors, texts, and memory that tensors
// of any framework keep alive.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rankfeed/handoff.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"

namespace rankfeed::python {

namespace nb = nanobind;

// Becomes rankfeed.RankfeedError in Python.
struct StatusError : std::exception {
  StatusError(rankfeed_status status, std::string message)
      : status(status), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }
  rankfeed_status status;
  std::string message;
};

inline void Check(rankfeed_status status, std::string_view what) {
  if (status == RANKFEED_OK) return;
  throw StatusError(status, std::string(what) + ": " + rankfeed_status_message(status));
}

// The value of an answer, or its error.
template <class T>
T Take(Result<T> result) {
  if (!result) throw StatusError(result.error().status, result.error().message);
  return std::move(*result);
}

// The name of an object's type, with its module unless that is builtins. (tp_name is not in the stable ABI.)
std::string TypeName(nb::handle object);

// The UTF-8 bytes of a str, or those of a bytes object; valid while the object lives. Throws what
// Python throws for lone surrogates and for other types. The GIL is held.
rankfeed_text TextOf(nb::handle object);

class SlotUse;  // ring.h

// One arena: memory of this process, or a slot of a ring. Any thread may drop the last reference,
// with or without the GIL.
class Arena {
 public:
  Arena(void* data, size_t size, std::function<void()> release, int32_t device_type = RANKFEED_DL_CPU,
        std::shared_ptr<SlotUse> slot = nullptr)
      : data_(data), size_(size), device_type_(device_type), release_(std::move(release)), slot_(std::move(slot)) {}
  ~Arena() {
    if (release_) release_();
  }
  Arena(const Arena&) = delete;
  void* data() const { return data_; }
  size_t size() const { return size_; }
  int32_t device_type() const { return device_type_; }
  SlotUse* slot() const { return slot_.get(); }  // null: of no ring
  static std::shared_ptr<Arena> Allocate(size_t size);

 private:
  void* data_;
  size_t size_;
  int32_t device_type_;
  std::function<void()> release_;
  std::shared_ptr<SlotUse> slot_;
};

// A tensor inside an arena. Python sees `rankfeed.Tensor`: __dlpack__, __dlpack_device__, numpy().
struct Tensor {
  std::shared_ptr<Arena> arena;
  size_t byte_offset = 0;
  uint32_t dtype = RANKFEED_DL_INT32;
  uint32_t rank = 0;
  int64_t shape[2] = {};

  size_t item_size() const { return dtype == RANKFEED_DL_INT64 ? 8 : dtype == RANKFEED_DL_UINT8 ? 1 : 4; }
  size_t bytes() const;
  nb::object Numpy() const;  // shares the memory
  nb::object DLPack(nb::handle max_version, nb::handle dl_device, nb::handle copy) const;
};

nb::object ShapeOf(const Tensor& tensor);
const char* DTypeOf(const Tensor& tensor);
// A capsule of the described tensor, which keeps `memory`; versioned where the consumer knows that.
nb::object DLPackCapsule(rankfeed_dl_tensor tensor, const std::shared_ptr<Arena>& memory, nb::handle max_version);

void BindMemory(nb::module_& module);
void BindRing(nb::module_& module);
void BindModel(nb::module_& module);
void BindCorpus(nb::module_& module);
void BindStream(nb::module_& module);
void BindRequest(nb::module_& module);
void BindTemplate(nb::module_& module);
void BindRows(nb::module_& module);
void BindCrossEncoder(nb::module_& module);  // only with the forward pass

}  // namespace rankfeed::python
