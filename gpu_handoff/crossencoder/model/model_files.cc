// SPDX-License-Identifier: MIT
// crossencoder/model/model_files.cc: see model_files.h.
#include "crossencoder/model/model_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <simdjson.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "crossencoder/model/model_error.h"

namespace rankfeed::handoff {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void FailIo(const std::string& path, int error) {
  throw ModelError(RANKFEED_E_IO, path + ": " + std::strerror(error));
}

// config.json is a few kilobytes; simdjson reads its string with padding, so it
// is copied anyway.
constexpr size_t kMaxConfig = 4u << 20;
// An index has about 120 bytes for each tensor; models of this kind have a few
// hundred.
constexpr size_t kMaxIndex = 16u << 20;
constexpr std::string_view kIndex = "model.safetensors.index.json";

std::string FindWeights(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!path.ends_with(".safetensors")) {
      if (!fs::exists(path, error)) FailIo(path, ENOENT);
      throw ModelError(RANKFEED_E_UNSUPPORTED, path + ": neither a folder nor a .safetensors file");
    }
    return path;
  }
  const fs::path folder(path);
  const fs::path weights = folder / "model.safetensors";
  if (!fs::exists(weights, error)) {
    if (fs::exists(folder / kIndex, error)) return (folder / kIndex).string();
    for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "model.onnx",
                              "tf_model.h5", "flax_model.msgpack"}) {
      if (fs::exists(folder / other, error)) {
        throw ModelError(RANKFEED_E_UNSUPPORTED, (folder / other).string() +
                                                     ": only safetensors are read; transformers "
                                                     "converts the folder: python "
                                                     "-c 'from transformers import "
                                                     "AutoModelForSequenceClassification as M; "
                                                     "M.from_pretrained(\"" +
                                                     path + "\").save_pretrained(\"" + path +
                                                     "\")'");
      }
    }
    FailIo(weights.string(), ENOENT);
  }
  return weights.string();
}

// The text of a file. Throws ModelError: LIMIT for more than most bytes, PARSE
// for another kind of file.
std::string_view TextOf(const MappedFile& file, const std::string& name, size_t most) {
  if (file.bytes().size() > most) {
    throw ModelError(RANKFEED_E_LIMIT,
                     name + ": larger than " + std::to_string(most >> 20) + " MiB");
  }
  RefuseOtherKind(file.bytes(), name);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // not to wait for a pipe's writer
  if (fd < 0) FailIo(path, errno);
  struct stat info;
  int error = fstat(fd, &info) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(info.st_mode)) error = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
  if (error == 0 && info.st_size > 0) {
    size_ = static_cast<size_t>(info.st_size);
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data_ == MAP_FAILED) error = errno;
  }
  close(fd);
  if (error != 0) FailIo(path, error);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

ModelFiles::ModelFiles(const std::string& path)
    : weights_name_(FindWeights(path)),
      config_name_((fs::path(weights_name_).parent_path() / "config.json").string()),
      config_(config_name_) {
  if (weights_name_.ends_with(kIndex)) {
    OpenShards(fs::path(weights_name_).parent_path().string());
  } else {
    shards_[weights_name_] = std::make_unique<MappedFile>(weights_name_);
  }
  OpenModules(fs::path(weights_name_).parent_path().string());
}

void ModelFiles::OpenModules(const std::string& folder) {
  modules_name_ = (fs::path(folder) / "modules.json").string();
  std::error_code error;
  if (!fs::exists(modules_name_, error)) return;
  const MappedFile list(modules_name_);
  modules_ = ReadModules(TextOf(list, modules_name_, kMaxConfig), modules_name_);
  for (Module& module : modules_) {
    const fs::path at = fs::path(folder) / module.path;
    module.config_name = (at / "config.json").string();
    if (fs::exists(module.config_name, error)) {
      module_configs_.push_back(std::make_unique<MappedFile>(module.config_name));
      module.config = TextOf(*module_configs_.back(), module.config_name, kMaxConfig);
    }
    const std::string weights = (at / "model.safetensors").string();
    if (fs::exists(weights, error))
      module_weights_[module.path] = std::make_unique<MappedFile>(weights);
  }
}

void ModelFiles::OpenShards(const std::string& folder) {
  const auto refuse = [&](const std::string& why) {
    throw ModelError(RANKFEED_E_PARSE, weights_name_ + ": " + why);
  };
  const MappedFile file(weights_name_);
  simdjson::dom::parser parser;
  simdjson::dom::object map;
  const std::string_view text = TextOf(file, weights_name_, kMaxIndex);
  const auto error = parser.parse(text.data(), text.size())["weight_map"].get(map);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS || map.size() == 0) {
    refuse("no JSON object with a weight_map of tensors");
  }
  for (const simdjson::dom::key_value_pair entry : map) {
    std::string_view name;
    if (entry.value.get(name) != simdjson::SUCCESS || !name.ends_with(".safetensors") ||
        name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      refuse("weight_map has a file that is no .safetensors of the same folder");
    }
    const std::string path = (fs::path(folder) / name).string();
    if (!index_.emplace(entry.key, path).second) refuse("a tensor stands twice in weight_map");
    auto& shard = shards_[path];
    if (shard == nullptr) shard = std::make_unique<MappedFile>(path);
  }
}

Safetensors ModelFiles::Tensors(bool with_modules) const {
  Safetensors all(weights_name_);
  for (const auto& [path, file] : shards_) all.Add(file->bytes(), path);
  if (!index_.empty()) CheckIndex(all);
  if (!with_modules) return all;
  for (const auto& [path, file] : module_weights_) {
    const Safetensors tensors(
        file->bytes(),
        (fs::path(modules_name_).parent_path() / path / "model.safetensors").string());
    all.Merge(tensors, path + "/");
  }
  return all;
}

void ModelFiles::CheckIndex(const Safetensors& all) const {
  for (const auto& [tensor, path] : index_) {
    const auto found = all.tensors().find(tensor);
    const std::span<const std::byte> shard = shards_.at(path)->bytes();
    if (found == all.tensors().end() || found->second.data.data() < shard.data() ||
        found->second.data.data() > shard.data() + shard.size()) {
      throw ModelError(RANKFEED_E_PARSE, path + ": tensor \"" + tensor.substr(0, 120) +
                                             "\" is not there, where the index puts it");
    }
  }
  if (all.tensors().size() != index_.size()) {
    throw ModelError(RANKFEED_E_PARSE,
                     weights_name_ + ": the shards hold " + std::to_string(all.tensors().size()) +
                         " tensors, weight_map has " + std::to_string(index_.size()));
  }
}

std::string_view ModelFiles::config() const {
  return TextOf(config_, config_name_, kMaxConfig);
}

}  // namespace rankfeed::handoff
