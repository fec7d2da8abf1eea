// SPDX-License-Identifier: MIT
// crossencoder/model/safetensors.h: the safetensors container: names, types, shapes and bytes of
// tensors.
//
//   u64 LE  n, length of the header
//   n bytes JSON object: name -> {"dtype", "shape", "data_offsets": [begin, end]}, and optionally
//           "__metadata__": strings; may be padded with spaces
//   rest    data; offsets count from its start
//
// A file is taken only when it is exactly that: offsets inside the data, as many bytes as type and
// shape say, no two tensors overlapping, no byte of the data belonging to none (the rules of the
// format's own reader, safetensors/src/tensor.rs). Cost: the header; data is not touched.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_SAFETENSORS_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rankfeed::handoff {

enum class TensorType { kF32, kF16, kBf16, kF64, kOther };

struct StoredTensor {
  TensorType type = TensorType::kOther;
  std::string type_name;  // as written, for messages
  std::vector<uint64_t> shape;
  uint64_t elements = 1;
  std::span<const std::byte> data;  // not aligned
};

class Safetensors {
 public:
  // Empty. name is for messages.
  explicit Safetensors(const std::string& name) : name_(name) {}
  // One file, as by Add.
  Safetensors(std::span<const std::byte> file, const std::string& name) : name_(name) {
    Add(file, name);
  }
  // file is borrowed; name is for messages about it. Throws ModelError (PARSE, also for a tensor
  // that is there already; LIMIT for a header above 64 MiB).
  void Add(std::span<const std::byte> file, const std::string& name);

  const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }
  // Takes another file's tensors, their names after a prefix.
  void Merge(const Safetensors& other, const std::string& prefix);
  // The same with names cut by a prefix, with which all of them begin.
  Safetensors Without(std::string_view prefix) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

// Throws ModelError (PARSE) where the first bytes are those of what is often found in place of a
// model's file: a git-lfs pointer, an HTML page, a gzip or zip archive, UTF-16.
void RefuseOtherKind(std::span<const std::byte> file, const std::string& name);

// Tells whether all elements are finite numbers. The type must not be kOther.
bool AllFinite(const StoredTensor& tensor);

// Elements as float; out has tensor.elements entries. The type must not be kOther.
void CopyToFloat(const StoredTensor& tensor, float* out);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_SAFETENSORS_H_
