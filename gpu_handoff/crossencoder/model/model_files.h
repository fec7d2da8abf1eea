// SPDX-License-Identifier: MIT
// crossencoder/model/model_files.h: finds the two files of a model and maps them.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_FILES_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_FILES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rankfeed::handoff {

// A file mapped read-only. Throws ModelError (IO) with path and reason. A file that shrinks while
// it is mapped raises SIGBUS, as with every mapping.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// path: a folder with config.json and model.safetensors, or a .safetensors file with config.json
// beside it. Throws ModelError; names what a folder holds instead (pytorch_model.bin, an index of
// shards).
class ModelFiles {
 public:
  explicit ModelFiles(const std::string& path);
  std::string_view config() const;
  std::span<const std::byte> weights() const { return weights_.bytes(); }
  const std::string& config_name() const { return config_name_; }
  const std::string& weights_name() const { return weights_name_; }

 private:
  std::string weights_name_, config_name_;
  MappedFile weights_, config_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_FILES_H_
