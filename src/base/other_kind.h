// SPDX-License-Identifier: MIT
// base/other_kind.h: names what is often found in place of a model's file.
#pragma once

#include <string_view>

namespace rankfeed {

// Names the kind of a file by its first bytes, in words that follow its name; null where it may be a
// model's file. No JSON, image or list of pieces begins with these bytes, and no .model: they would be
// fields of types that protobuf does not have.
// gpu_handoff/crossencoder/model/safetensors.cc has the like for weights. O(1).
constexpr const char* OtherKind(std::string_view begin) {
  struct Row {
    std::string_view begin;
    const char* what;
  };
  constexpr Row kRows[] = {
      {"version https://git-lfs", "a git-lfs pointer, not the file; `git lfs pull` fetches it"},
      {"<!", "an HTML page, not the file"},
      {"<html", "an HTML page, not the file"},
      {"<?xml", "an XML page, not the file"},
      {"\x1f\x8b", "a gzip archive; unpack it"},
      {"PK\x03\x04", "a zip archive; unpack it"},
      {"\x28\xb5\x2f\xfd", "a zstd archive; unpack it"},
      {"\xff\xfe", "UTF-16; it must be UTF-8"},
      {"\xfe\xff", "UTF-16; it must be UTF-8"}};
  for (const Row& row : kRows) {
    if (begin.starts_with(row.begin)) return row.what;
  }
  return nullptr;
}

}  // namespace rankfeed
