// SPDX-License-Identifier: MIT
// cli/npz.h: NumPy files. A .npz is a zip archive of .npy members, numpy.load reads both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankfeed::cli {

// A compact row-major array; dtype is NumPy's little-endian descriptor, for example "<i4".
struct NpyArray {
  std::string name;
  const char* dtype;
  std::vector<int64_t> shape;
  const void* data;
  size_t bytes;
};

// Writes one array as a .npy file, by way of a temporary. Throws Failure.
void WriteNpy(const std::string& path, const NpyArray& array);

// Collects arrays (their bytes are copied) and writes them at Finish. The file appears under its
// name only when it is complete. Throws Failure.
class NpzFile {
 public:
  explicit NpzFile(std::string path) : path_(std::move(path)) {}
  void Add(const NpyArray& array);
  void Finish();

 private:
  struct Member {
    std::string name, bytes;
  };
  std::string path_;
  std::vector<Member> members_;
};

}  // namespace rankfeed::cli
