// SPDX-License-Identifier: MIT
// cli/corpus_shards.cc: see corpus_shards.h.
#include "cli/corpus_shards.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/json_file.h"
#include "cli/sha256.h"
#include "rankfeed/rerank.hpp"

namespace rankfeed::cli {
namespace {

namespace fs = std::filesystem;

struct ManifestCommand {
  std::string output;
  std::vector<std::string> stores;
};

// The store's name in a manifest of that folder; it has to lie there or below.
std::string NameIn(const fs::path& folder, const std::string& store) {
  const fs::path name = fs::weakly_canonical(store).lexically_relative(folder);
  if (name.empty() || name == "." || *name.begin() == "..") {
    throw Failure("{}: not in the manifest's folder {}", store, folder.string());
  }
  return name.generic_string();
}

void RunManifest(const ManifestCommand& c) {
  const fs::path folder = fs::weakly_canonical(fs::absolute(c.output)).parent_path();
  std::vector<Corpus> shards;
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const std::string& path : c.stores) {
    const std::string hash = Sha256(path);
    // Sound now, and its SHA-256 says whether it still is.
    auto shard = Corpus::Open(path, nullptr, RANKFEED_CORPUS_MAP_FILE);
    if (!shard) throw Failure(shard.error().message);
    const rankfeed_corpus_info info = shard->info();
    entries.push_back({{"file", NameIn(folder, path)},
                       {"bytes", fs::file_size(path)},
                       {"documents", info.documents},
                       {"tokens", info.tokens},
                       {"sha256", hash}});
    shards.push_back(std::move(*shard));
  }
  const size_t count = shards.size();
  std::vector<const rankfeed_corpus*> open;
  for (const Corpus& shard : shards) open.push_back(shard.get());
  const rankfeed_mem_req need = rankfeed_corpus_set_mem_req(static_cast<uint32_t>(count));
  const AlignedBytes storage(need);
  if (!storage) throw Failure("out of memory");
  rankfeed_corpus* set = nullptr;
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  const auto as_set = [&](uint32_t flags) {
    return rankfeed_corpus_set_open(open.data(), static_cast<uint32_t>(count), flags,
                                    storage.data(), need.size, &set, &detail);
  };
  // Stores that are parted by the ids' hashes, in this order, are found to be so.
  rankfeed_status status = as_set(RANKFEED_CORPUS_BY_HASH);
  const bool by_hash = status == RANKFEED_OK;
  if (status == RANKFEED_E_IMAGE_STRUCTURE) status = as_set(0);
  if (status != RANKFEED_OK) {
    throw Failure("{}: {}", c.stores[std::min<size_t>(detail.item, count - 1)],
                  rankfeed_status_message(status));
  }
  rankfeed_corpus_info info{};
  info.struct_size = sizeof(info);
  (void)rankfeed_corpus_get_info(set, &info);
  std::string hash;
  for (const uint8_t byte : info.config_hash) hash += fmt::format("{:02x}", byte);
  const nlohmann::ordered_json manifest = {{"format", "rankfeed-corpus-manifest"},
                                           {"version", 1},
                                           {"config_hash", hash},
                                           {"routing", by_hash ? "hash" : "probe"},
                                           {"documents", info.documents},
                                           {"tokens", info.tokens},
                                           {"shards", entries}};
  WriteTextFile(c.output, manifest.dump(1) + "\n");
  fmt::print("{}: {} documents, {} tokens in {} shards, {}\n", c.output, info.documents,
             info.tokens, count, by_hash ? "found by hash" : "asked one after the other");
}

}  // namespace

void CheckHashes(const LoadedCorpus& corpus) {
  for (uint32_t i = 0; i < corpus.shard_count(); ++i) {
    const rankfeed_corpus_shard shard = corpus.shard(i);
    const std::string found = Sha256(shard.path);
    if (found != shard.sha256) {
      throw Failure("{}: its SHA-256 is {}, and the manifest says {}", shard.path,
                    found, shard.sha256);
    }
  }
}

void AddManifest(CLI::App* corpus) {
  auto c = std::make_shared<ManifestCommand>();
  auto* command = corpus->add_subcommand(
      "manifest", "Write a manifest of stores, to be opened as one without merging them");
  command->add_option("-o,--output", c->output, "Manifest to write (replaced by rename)")
      ->required();
  command
      ->add_option(
          "STORE", c->stores,
          "Stores made with one vocabulary, in the manifest's folder or below; of equal ids "
          "the one of the later store counts")
      ->required();
  command->callback([c] { RunManifest(*c); });
}

}  // namespace rankfeed::cli
