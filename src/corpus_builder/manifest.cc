// SPDX-License-Identifier: MIT
// corpus_builder/manifest.cc: see manifest.h.
#include "corpus_builder/manifest.h"

#include <new>
#include <unordered_set>

#include "builder/files/json_value.h"
#include "rankfeed/corpus.h"

namespace rankfeed::corpus_builder {
namespace {

using builder::Json;

constexpr uint64_t kMaxCount = uint64_t{1} << 48;  // of bytes, documents, tokens; sums do not wrap

uint64_t Count(const Json& object, const char* key) {
  const Json value = object.At(key);
  const uint64_t count = value.U64();
  if (count > kMaxCount) value.Fail(RANKFEED_E_LIMIT, "is larger than 2^48");
  return count;
}

std::string Digits(const Json& value, size_t count) {
  std::string text = value.ShortString("a hash");
  if (text.size() != count || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    value.Fail(RANKFEED_E_PARSE, "must be " + std::to_string(count) + " digits of 0-9 and a-f");
  }
  return text;
}

// A name that stays in the folder: parts between single slashes, none of them "." or "..".
std::string FileName(const Json& value) {
  std::string name = value.ShortString("a file name");
  if (name.empty() || name.size() > 4096 || name.find('\0') != std::string::npos) {
    value.Fail(RANKFEED_E_PARSE, "must be a file name");
  }
  if (name[0] == '/') value.Fail(RANKFEED_E_PARSE, "must be relative to the manifest's folder");
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part(name.data() + at, end - at);
    if (part.empty() || part == "." || part == "..") {
      value.Fail(RANKFEED_E_PARSE, "must not have an empty part, \".\" or \"..\"");
    }
    at = end + 1;
  }
  return name;
}

bool ByHash(const Json& value) {
  const std::string routing = value.ShortString("a routing");
  if (routing != "hash" && routing != "probe") {
    value.Fail(RANKFEED_E_UNSUPPORTED, "must be \"hash\" or \"probe\"");
  }
  return routing == "hash";
}

void CheckFormat(const Json& root) {
  const Json format = root.At("format");
  if (format.ShortString("a format") != kManifestFormat) {
    format.Fail(RANKFEED_E_PARSE, std::string("must be \"") + kManifestFormat + "\"");
  }
  const Json version = root.At("version");
  if (version.U64() != kManifestVersion) {
    version.Fail(RANKFEED_E_IMAGE_VERSION, "is not 1, the version that this library reads");
  }
}

}  // namespace

bool LooksLikeManifest(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '{';
}

Manifest ParseManifest(std::string_view text, const std::string& path) {
  if (text.size() > kMaxManifestBytes) {
    throw builder::BuildError(RANKFEED_E_LIMIT, path + ": a manifest is at most 16 MiB");
  }
  const builder::JsonSource source{path, simdjson::padded_string(text)};
  // simdjson leaves the string empty when it gets no memory.
  if (source.text.size() != text.size()) throw std::bad_alloc();
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  const auto error = parser.parse(source.text).get(document);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS) builder::FailParse(source, error);
  const Json root(source, document, "");
  CheckFormat(root);
  Manifest manifest;
  manifest.config_hash = Digits(root.At("config_hash"), 32);
  manifest.by_hash = ByHash(root.At("routing"));
  manifest.documents = Count(root, "documents");
  manifest.tokens = Count(root, "tokens");
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::unordered_set<std::string> names;
  uint64_t documents = 0, tokens = 0;
  const Json shards = root.At("shards");
  shards.Each([&](const Json& item) {
    if (manifest.shards.size() == RANKFEED_CORPUS_MAX_SHARDS) {
      shards.Fail(RANKFEED_E_LIMIT, "has more than 32768 items");
    }
    const Json file = item.At("file");
    ShardEntry shard{.path = FileName(file),
                     .bytes = Count(item, "bytes"),
                     .documents = Count(item, "documents"),
                     .tokens = Count(item, "tokens"),
                     .sha256 = Digits(item.At("sha256"), 64),
                     .content = {}};
    if (const auto content = item.Find("content")) shard.content = Digits(*content, 64);
    if (!names.insert(shard.path).second) file.Fail(RANKFEED_E_PARSE, "is named twice");
    shard.path = folder + shard.path;
    documents += shard.documents;
    tokens += shard.tokens;
    manifest.shards.push_back(std::move(shard));
  });
  if (manifest.shards.empty()) shards.Fail(RANKFEED_E_PARSE, "must name a shard");
  if (documents != manifest.documents || tokens != manifest.tokens) {
    shards.Fail(RANKFEED_E_PARSE, "has other sums of documents or tokens than the manifest says");
  }
  return manifest;
}

}  // namespace rankfeed::corpus_builder
