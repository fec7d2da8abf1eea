// SPDX-License-Identifier: MIT
// cli/npz.cc: .npy format version 1.0 as documented in numpy.lib.format; the archive by libzip, stored
// without compression so that numpy can map it.
#include "cli/npz.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <zip.h>

#include <cstdio>

#include "cli/cli.h"

namespace rankfeed::cli {

namespace {

// The bytes of a .npy file.
std::string Npy(const NpyArray& array) {
  std::string shape;
  for (const int64_t extent : array.shape) shape += fmt::format("{}, ", extent);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   array.dtype, shape);
  // Magic, version and length take 10 bytes; the data starts at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(static_cast<const char*>(array.data), array.bytes);
  return bytes;
}

}  // namespace

void WriteNpy(const std::string& path, const NpyArray& array) {
  const std::string bytes = Npy(array), temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  bool ok = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr) ok &= std::fclose(file) == 0;
  if (ok) ok = std::rename(temporary.c_str(), path.c_str()) == 0;
  if (!ok) {
    const std::string reason = strerror(errno);
    std::remove(temporary.c_str());
    throw Failure("{}: {}", path, reason);
  }
}

void NpzFile::Add(const NpyArray& array) {
  members_.push_back({array.name + ".npy", Npy(array)});
}

void NpzFile::Finish() {
  int code = 0;
  zip_t* archive = zip_open(path_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Failure("{}: {}", path_, reason);
  }
  for (const Member& member : members_) {
    zip_source_t* source =
        zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), /*freep=*/0);
    const zip_int64_t index =
        source == nullptr ? -1 : zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0 ||
        zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0) {
      const std::string reason = zip_strerror(archive);
      if (index < 0 && source != nullptr) zip_source_free(source);
      zip_discard(archive);
      throw Failure("{}: {}", path_, reason);
    }
  }
  if (zip_close(archive) != 0) {  // writes a temporary beside the target and renames it
    const std::string reason = zip_strerror(archive);
    zip_discard(archive);
    throw Failure("{}: {}", path_, reason);
  }
}

}  // namespace rankfeed::cli
