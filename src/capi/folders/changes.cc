// SPDX-License-Identifier: MIT
#include "capi/folders/changes.h"

#include "capi/folders/settings.h"
#include "folder/model_settings.h"
#include "folder/rebuilt.h"
#include "platform/files/file_calls.h"

namespace rankfeed::folders {

std::string VocabularyFileOf(const std::string& folder) {
  files::FileInfo info;
  for (const char* const name : {"tokenizer.json", "vocab.txt", "vocab.json"}) {
    const std::string file = folder + "/" + name;
    if (files::InfoOf(file.c_str(), &info) == 0 && info.regular) return file;
  }
  throw builder::BuildError(RANKFEED_E_IO, 0, folder + ": is a folder, and has no tokenizer.json, vocab.txt or vocab.json");
}

builder::FileChanges ChangesOf(const std::string& file) {
  const std::string folder = file.substr(0, file.find_last_of("/\\") + 1);
  builder::FileChanges out;
  out.lower_case = folder::ReadModelSettings(folder).lower_case;
  if (!file.ends_with("tokenizer.json")) return out;
  const FilesBeside beside = FilesBeside::Of(folder);
  const Document config(beside.tokenizer_config, folder + "tokenizer_config.json");
  out.class_name = folder::RebuildingClass(file);
  const std::optional<Class> kind = ClassNamed(out.class_name);
  if (!kind) {
    const Document specials(config.root().Find("added_tokens_decoder") ? "" : beside.special_tokens_map, folder + "special_tokens_map.json");
    for (const Document* const from : {&specials, &config}) {
      const auto pad = from->root().Find("pad_token");
      if (pad && out.pad_token.empty()) out.pad_token = ReadToken(*pad).content;
    }
    return out;
  }
  const Settings settings(file, beside, *kind);
  const auto named = [&](const char* key) { return settings.Named(key) == nullptr ? std::string() : *settings.Named(key); };
  out.pad_token = named("pad_token");
  if (*kind == Class::kBert || *kind == Class::kMpnet || *kind == Class::kRoberta) {
    out.cls_token = named("cls_token");
    out.sep_token = named("sep_token");
  }
  if (!config.root().Find("added_tokens_decoder")) return out;
  auto& kept = out.kept.emplace();
  for (const Token& token : settings.tokens()) kept.insert(token.content);
  return out;
}

}  // namespace rankfeed::folders
