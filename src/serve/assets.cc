// SPDX-License-Identifier: MIT
// serve/assets.cc: see assets.h.
#include "serve/assets.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "serve/folder/folder.h"
#include "rankfeed/handoff.hpp"
#include "serve/thread.h"

namespace rankfeed::serve {
namespace {

constexpr uint32_t kDefaultRowTokens = 512;
constexpr std::chrono::milliseconds kNoticed{250};  // a shorter time of compiling is not told

// Opens a ring as small as they come: that one can be had is then known before the first request.
Result<std::string> DeviceName(const Device& device) {
  rankfeed_handoff_options options{};
  options.slot_bytes = 1;
  options.slots = 1;
  options.backend = device.backend;
  auto ring = Handoff::Open(options);
  if (!ring) return ring.error();
  if (ring->info().has_mapped == 0) {
    return Error{RANKFEED_E_UNSUPPORTED, "the device cannot write to page-locked memory"};
  }
  return std::string(ring->info().device_name);
}

// The vocabulary's file, and what its folder says of rows.
Error FindVocabulary(const AssetPaths& paths, Assets* out) {
  const std::string place = paths.vocab.empty() ? folder::FolderOf(paths.model) : paths.vocab;
  out->vocabulary_file = out->vocabulary_place = place;
  out->row_tokens = paths.max_length == 0 ? kDefaultRowTokens : paths.max_length;
  std::error_code missing;
  if (!std::filesystem::is_directory(place, missing)) return {};
  auto file = folder::VocabularyOf(place);
  if (!file) return file.error();
  out->vocabulary_file = std::move(*file);
  auto config = folder::ReadFolderConfig(place);
  if (!config) return config.error();
  if (config->settings.split_special_tokens && !paths.has_specials) out->encode_flags |= RANKFEED_SPLIT_SPECIAL_TOKENS;
  out->cut_left = config->truncation_side == "left";
  if (paths.max_length != 0 || !config->settings.max_length) return {};
  out->row_tokens = std::min(*config->settings.max_length, kMostRowTokens);
  if (out->row_tokens >= kLeastRowTokens) return {};
  return Error{RANKFEED_E_VOCABULARY,
               fmt::format("{}: max_seq_length or model_max_length is {}; rows have at least {} tokens: give --max-length",
                           place, out->row_tokens, kLeastRowTokens)};
}

// Returns how long the vocabulary took to compile and how that is spared, with what else its folder says; empty for an image, a
// short time, and a folder that rows are cut at the left for, which an image cannot say.
std::string CompileNote(const Assets& assets, std::chrono::duration<double> took) {
  constexpr size_t kMagicBytes = 8;
  char begin[kMagicBytes] = {};
  size_t size = 0;
  std::ifstream(assets.vocabulary_file, std::ios::binary).read(begin, kMagicBytes);
  if (took < kNoticed || assets.cut_left || std::memcmp(begin, assets.vocabulary->image(&size), kMagicBytes) == 0) return "";
  const AssetPaths& paths = assets.paths;
  const bool of_folder = assets.vocabulary_place != assets.vocabulary_file;
  const bool splits = assets.encode_flags != paths.encode_flags;
  return fmt::format(
      "compiling the vocabulary took {:.1f} s; `rankfeed compile {}{}{} -o vocab.rfimg`, done once, spares it with --vocab vocab.rfimg{}{}",
      took.count(), assets.vocabulary_place,
      paths.parity < 0 ? "" : fmt::format(" --parity {}", rankfeed_parity_name(static_cast<uint32_t>(paths.parity))),
      paths.preset.empty() ? "" : " --preset " + paths.preset, of_folder ? fmt::format(" --max-length {}", assets.row_tokens) : "",
      splits ? " --split-special-tokens" : "");
}

}  // namespace

uint32_t Assets::Activation(bool raw) const {
  // Cannot fail: the folder's own function is not asked for.
  return *pairing.Activation(raw ? folder::ScoreBy::kRaw : folder::ScoreBy::kShare);
}

Result<std::shared_ptr<const Assets>> Assets::Load(const AssetPaths& paths, uint64_t generation) {
  auto out = std::make_shared<Assets>();
  out->paths = paths;
  out->encode_flags = paths.encode_flags;
  out->generation = generation;
  if (auto error = FindVocabulary(paths, out.get())) return error;
  const auto begun = std::chrono::steady_clock::now();
  auto vocabulary = Vocabulary::Load(out->vocabulary_place, paths.parity,
                                     paths.preset.empty() ? nullptr : paths.preset.c_str(), paths.pages);
  if (!vocabulary) return vocabulary.error();
  Reserve::Check();
  out->vocabulary.emplace(std::move(*vocabulary));
  out->note = out->vocabulary->note();
  const std::string compiled = CompileNote(*out, std::chrono::steady_clock::now() - begun);
  if (!compiled.empty()) out->note += (out->note.empty() ? "" : "; ") + compiled;
  out->vocabulary_info = rankfeed::Info(out->vocabulary->model());
  rankfeed_crossencoder_options options{};
  options.backend = paths.device.backend;
  options.dtype = paths.device.dtype;
  options.graph_tokens = paths.device.graph_tokens;
  auto model = Crossencoder::Open(paths.model.c_str(), options);
  if (!model) return model.error();
  Reserve::Check();
  out->model.emplace(std::move(*model));
  out->model_info = out->model->info();
  if (out->model_info.note[0] != 0) {
    out->note += fmt::format("{}{}: {}", out->note.empty() ? "" : "; ", paths.model,
                             out->model_info.note);
  }
  if (!paths.device.on_host()) {
    auto name = DeviceName(paths.device);
    if (!name) return name.error();
    out->device_name = std::move(*name);
  }
  if (!paths.corpus.empty()) {
    // Checks that the store was made with this vocabulary, and special tokens in its texts taken as in those of rows.
    auto corpus = LoadedCorpus::Load(paths.corpus, out->vocabulary->model(), 0, out->encode_flags);
    if (!corpus) return corpus.error();
    out->corpus.emplace(std::move(*corpus));
    Reserve::Check();
  }
  auto pairing = folder::Pair(out->vocabulary->model(), out->model_info, {out->vocabulary_file, paths.model}, paths.label);
  if (!pairing) return pairing.error();
  out->pairing = std::move(*pairing);
  const std::string& note = out->pairing.facts.settings.note;
  if (!note.empty()) out->note += (out->note.empty() ? "" : "; ") + note;
  out->row_tokens = std::min(out->row_tokens, out->model_info.max_row_tokens);
  return std::shared_ptr<const Assets>(std::move(out));
}

Error AssetBox::Swap(const AssetPaths& paths) {
  const std::lock_guard loading(loading_);
  const auto before = Get();
  try {
    auto loaded = Assets::Load(paths, before == nullptr ? 1 : before->generation + 1);
    if (!loaded) return loaded.error();
    const std::lock_guard lock(mutex_);
    current_ = std::move(*loaded);
    return {};
  } catch (const std::bad_alloc&) {
    return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
  }
}

}  // namespace rankfeed::serve
