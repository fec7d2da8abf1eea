// SPDX-License-Identifier: MIT
// corpus_builder/load.cc: rankfeed/corpus_manifest.h. No exception leaves.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "builder/base/model_spec.h"
#include "corpus_builder/guarded.h"
#include "corpus_builder/manifest.h"
#include "platform/files/file_calls.h"
#include "rankfeed/corpus_manifest.h"

namespace {

using rankfeed::builder::BuildError;
using rankfeed::corpus_builder::Manifest;
using rankfeed::corpus_builder::Report;
using rankfeed::corpus_builder::ShardEntry;

struct Free {
  void operator()(void* p) const { rankfeed::AlignedFree(p); }
};
using Storage = std::unique_ptr<void, Free>;

Storage Allocate(rankfeed_mem_req need) {
  const size_t size = (need.size + need.alignment - 1) / need.alignment * need.alignment;
  Storage storage(rankfeed::AlignedAlloc(need.alignment, size));
  if (storage == nullptr) throw std::bad_alloc();
  return storage;
}

[[noreturn]] void ThrowErrno(const std::string& path, int error) {
  if (const char* const why = rankfeed::files::WhyUnreadable(path.c_str(), rankfeed::files::ReadAs::kWhole))
    throw BuildError(RANKFEED_E_IO, path, ": ", why, ", not a file");
  char text[128];
  rankfeed::files::ErrorText(error, text, sizeof text);
  throw BuildError(RANKFEED_E_IO, path, ": ", text);
}

// One open store.
class Store {
 public:
  Store(const std::string& path, const rankfeed_model* model,
        const rankfeed_corpus_options* options)
      : storage_(Allocate(rankfeed_corpus_mem_req())) {
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    const rankfeed_status status =
        rankfeed_corpus_open_file(path.c_str(), model, options, storage_.get(),
                                  rankfeed_corpus_mem_req().size, &mapping_, &corpus_, &detail);
    if (status == RANKFEED_E_IO) ThrowErrno(path, static_cast<int>(detail.item));
    rankfeed::corpus_builder::CheckStore(status, path, detail);
  }
  Store(const Store&) = delete;
  ~Store() { rankfeed_image_unmap(&mapping_); }
  const rankfeed_corpus* get() const { return corpus_; }

 private:
  Storage storage_;
  rankfeed_mapping mapping_{};
  rankfeed_corpus* corpus_ = nullptr;
};

struct Descriptor {
  explicit Descriptor(const std::string& path) {
    using rankfeed::files::OpenAs;
    const int error = rankfeed::files::OpenDescriptor(path.c_str(), OpenAs::kReading, &fd);
    if (error != 0) ThrowErrno(path, error);
  }
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() { close(fd); }
  int fd = -1;
};

// The file's bytes if it may be a manifest; nothing for a store. What is larger than a manifest may
// be is read to one byte more.
std::string ReadManifest(const std::string& path) {
  const Descriptor file(path);
  rankfeed::files::FileInfo info;
  if (const int error = rankfeed::files::InfoOf(file.fd, &info)) ThrowErrno(path, error);
  if (!info.regular) return {};
  const size_t most =
      std::min(static_cast<size_t>(info.size), rankfeed::corpus_builder::kMaxManifestBytes + 1);
  std::string text;
  size_t wanted = std::min<size_t>(most, 64);  // a store shows itself by its first bytes
  while (text.size() < wanted) {
    const size_t had = text.size();
    text.resize(wanted);
    const ssize_t got = read(file.fd, text.data() + had, wanted - had);
    const int error = errno;
    text.resize(had + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) ThrowErrno(path, error);
    if (got == 0) break;  // cut off meanwhile
    if (!rankfeed::corpus_builder::LooksLikeManifest(text)) return {};
    wanted = most;
  }
  return text;
}

std::string Hex(const uint8_t (&bytes)[16]) {
  std::string hex;
  for (const uint8_t byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

void CheckSize(const ShardEntry& shard) {
  rankfeed::files::FileInfo info;
  if (const int error = rankfeed::files::InfoOf(shard.path.c_str(), &info)) {
    ThrowErrno(shard.path, error);
  }
  if (info.size != shard.bytes) {
    throw BuildError(RANKFEED_E_IMAGE_STRUCTURE,
                     shard.path, ": has ", info.size,
                     " bytes, and the manifest says ", shard.bytes);
  }
}

void CheckCounts(const Manifest& manifest, const ShardEntry& shard, const rankfeed_corpus* corpus) {
  rankfeed_corpus_info info{};
  info.struct_size = sizeof(info);
  (void)rankfeed_corpus_get_info(corpus, &info);
  if (Hex(info.config_hash) != manifest.config_hash) {
    throw BuildError(RANKFEED_E_VOCABULARY,
                     shard.path, ": made with another vocabulary than the manifest says");
  }
  if (info.documents != shard.documents || info.tokens != shard.tokens) {
    throw BuildError(RANKFEED_E_IMAGE_STRUCTURE,
                     shard.path, ": has ", info.documents, " documents and ",
                     info.tokens, " tokens, and the manifest says ",
                     shard.documents, " and ", shard.tokens);
  }
}

}  // namespace

struct rankfeed_loaded_corpus {
  Manifest manifest;  // no shards: one store
  std::vector<std::unique_ptr<Store>> stores;
  Storage set_storage;
  const rankfeed_corpus* corpus = nullptr;
};

namespace {

void OpenSet(const std::string& path, const rankfeed_model* model,
             const rankfeed_corpus_options* options, rankfeed_loaded_corpus* out) {
  std::vector<const rankfeed_corpus*> shards;
  for (const ShardEntry& shard : out->manifest.shards) {
    CheckSize(shard);
    out->stores.push_back(std::make_unique<Store>(shard.path, model, options));
    shards.push_back(out->stores.back()->get());
    CheckCounts(out->manifest, shard, shards.back());
  }
  const auto count = static_cast<uint32_t>(shards.size());
  const rankfeed_mem_req need = rankfeed_corpus_set_mem_req(count);
  out->set_storage = Allocate(need);
  const uint32_t trusted = options != nullptr ? options->flags & RANKFEED_CORPUS_TRUSTED : 0u;
  const uint32_t flags = trusted | (out->manifest.by_hash ? uint32_t{RANKFEED_CORPUS_BY_HASH} : 0u);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  rankfeed_corpus* set = nullptr;
  const rankfeed_status status = rankfeed_corpus_set_open(
      shards.data(), count, flags, out->set_storage.get(), need.size, &set, &detail);
  if (status == RANKFEED_E_IMAGE_STRUCTURE) {
    throw BuildError(status,
                     out->manifest.shards[detail.item].path,
                     ": has a document that belongs into another shard by its id's hash").At(detail.byte_offset);
  }
  if (status != RANKFEED_OK) {
    const std::string& at = detail.item < count ? out->manifest.shards[detail.item].path : path;
    throw BuildError(status, at, ": ", rankfeed_status_message(status));
  }
  out->corpus = set;
}

}  // namespace

rankfeed_status rankfeed_corpus_load(const char* path, const rankfeed_model* model,
                                     const rankfeed_corpus_options* options,
                                     rankfeed_loaded_corpus** out, rankfeed_builder_error* error) {
  if (out != nullptr) *out = nullptr;
  if (path == nullptr || out == nullptr) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  return rankfeed::corpus_builder::Guarded(error, [&] {
    auto loaded = std::make_unique<rankfeed_loaded_corpus>();
    const std::string text = ReadManifest(path);
    if (text.empty()) {
      loaded->stores.push_back(std::make_unique<Store>(path, model, options));
      loaded->corpus = loaded->stores.back()->get();
    } else {
      loaded->manifest = rankfeed::corpus_builder::ParseManifest(text, path);
      OpenSet(path, model, options, loaded.get());
    }
    *out = loaded.release();
  });
}

const rankfeed_corpus* rankfeed_loaded_corpus_get(const rankfeed_loaded_corpus* loaded) {
  return loaded != nullptr ? loaded->corpus : nullptr;
}

void rankfeed_loaded_corpus_free(rankfeed_loaded_corpus* loaded) {
  delete loaded;
}

uint32_t rankfeed_loaded_corpus_shard_count(const rankfeed_loaded_corpus* loaded) {
  return loaded != nullptr ? static_cast<uint32_t>(loaded->manifest.shards.size()) : 0;
}

rankfeed_status rankfeed_loaded_corpus_shard(const rankfeed_loaded_corpus* loaded, uint32_t index,
                                             rankfeed_corpus_shard* out) {
  if (loaded == nullptr || out == nullptr || index >= loaded->manifest.shards.size()) {
    return RANKFEED_E_ARGUMENT;
  }
  if (out->struct_size != sizeof(*out)) return RANKFEED_E_STRUCT_SIZE;
  const ShardEntry& shard = loaded->manifest.shards[index];
  *out = {sizeof(*out), loaded->manifest.by_hash, shard.bytes,          shard.documents,
          shard.tokens, shard.path.c_str(),       shard.sha256.c_str(), shard.content.c_str()};
  return RANKFEED_OK;
}
