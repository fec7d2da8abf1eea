// SPDX-License-Identifier: MIT
// corpus_builder/manifest.h: the JSON file that names the stores of a corpus;
// docs/corpus-format.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankfeed::corpus_builder {

inline constexpr const char* kManifestFormat = "rankfeed-corpus-manifest";
inline constexpr uint64_t kManifestVersion = 1;  // a reader refuses any other
inline constexpr size_t kMaxManifestBytes = 16 << 20;

struct ShardEntry {
  std::string path;  // the folder of the manifest and the name in it
  uint64_t bytes = 0, documents = 0, tokens = 0;
  std::string sha256, content;
};

struct Manifest {
  std::string config_hash;  // 32 hexadecimal digits
  bool by_hash = false;
  uint64_t documents = 0, tokens = 0;
  std::vector<ShardEntry> shards;
};

// text: the bytes of the file at path, which messages name. Checks everything that the file alone
// says: the format, limits, sums, and that names are relative, stay in the folder and differ.
// Throws BuildError (PARSE, LIMIT), std::bad_alloc.
Manifest ParseManifest(std::string_view text, const std::string& path);

// Whether a file that begins so can be a manifest: its first character is an opening brace.
bool LooksLikeManifest(std::string_view head);

}  // namespace rankfeed::corpus_builder
