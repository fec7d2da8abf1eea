// SPDX-License-Identifier: MIT
// crossencoder/model/model_files.cc: see model_files.h.
#include "crossencoder/model/model_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

// config.json is a few kilobytes; simdjson reads its string with padding, so it is copied anyway.
constexpr size_t kMaxConfig = 4u << 20;

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
    for (const char* other : {"model.safetensors.index.json", "pytorch_model.bin",
                              "pytorch_model.bin.index.json", "model.onnx", "tf_model.h5"}) {
      if (fs::exists(folder / other, error)) {
        throw ModelError(
            RANKFEED_E_UNSUPPORTED,
            (folder / other).string() + ": only weights in one model.safetensors are read");
      }
    }
    FailIo(weights.string(), ENOENT);
  }
  return weights.string();
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // not to wait for a pipe's writer
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
      weights_(weights_name_),
      config_(config_name_) {
  if (config_.bytes().size() > kMaxConfig) {
    throw ModelError(RANKFEED_E_LIMIT, config_name_ + ": larger than 4 MiB");
  }
}

std::string_view ModelFiles::config() const {
  return {reinterpret_cast<const char*>(config_.bytes().data()), config_.bytes().size()};
}

}  // namespace rankfeed::handoff
