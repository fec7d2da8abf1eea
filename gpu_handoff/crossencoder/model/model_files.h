// SPDX-License-Identifier: MIT
// crossencoder/model/model_files.h: finds the files of a model and maps them.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_FILES_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_FILES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "crossencoder/model/modules.h"
#include "crossencoder/model/safetensors.h"

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

// path: a folder with config.json, modules.json and the modules' folders if it is modular, and
// either model.safetensors or model.safetensors.index.json with the shards that it names, or a
// .safetensors file with config.json beside it. Throws ModelError; names what a folder holds
// instead (pytorch_model.bin).
class ModelFiles {
 public:
  explicit ModelFiles(const std::string& path);
  std::string_view config() const;
  const std::string& config_name() const { return config_name_; }
  // The modules of modules.json after the first, and the file's name; none where there is no such
  // file.
  const std::vector<Module>& modules() const { return modules_; }
  const std::string& modules_name() const { return modules_name_; }
  // The tensors of all files, which point into them, and those of modules, named after its path and
  // a slash. Throws ModelError (PARSE) for a tensor in two shards, and where index and shards say
  // different things.
  Safetensors Tensors(bool with_modules) const;

 private:
  void OpenShards(const std::string& folder);
  void OpenModules(const std::string& folder);
  void CheckIndex(const Safetensors& all) const;

  std::string weights_name_, config_name_, modules_name_;  // weights: the one file, or the index
  std::map<std::string, std::unique_ptr<MappedFile>> shards_;  // by path; the one file is one too
  std::map<std::string, std::string> index_;                   // path by tensor; empty: no index
  std::vector<Module> modules_;
  std::vector<std::unique_ptr<MappedFile>> module_configs_;
  std::map<std::string, std::unique_ptr<MappedFile>> module_weights_;  // by the module's path
  MappedFile config_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_FILES_H_
