// SPDX-License-Identifier: MIT
#include "capi/folders/changes.h"

#include <utility>

#include "capi/folders/settings.h"
#include "folder/model_settings.h"
#include "folder/rebuilt.h"
#include "image/format.h"
#include "platform/files/file_calls.h"

namespace rankfeed::folders {

std::string VocabularyFileOf(const std::string& folder) {
  files::FileInfo info;
  for (const char* const name : {"tokenizer.json", "vocab.txt", "vocab.json"}) {
    const std::string file = folder + "/" + name;
    if (files::InfoOf(file.c_str(), &info) == 0 && info.regular) return file;
  }
  throw builder::BuildError(RANKFEED_E_IO, folder + ": is a folder, and has no tokenizer.json, vocab.txt or vocab.json");
}

namespace {

uint32_t FlagsOf(const Token& token) {
  uint32_t flags = 0;
  for (const auto& [flag, is_set] : {std::pair(image::kSingleWord, token.single_word), std::pair(image::kLstrip, token.lstrip),
                                     std::pair(image::kRstrip, token.rstrip), std::pair(image::kSpecial, token.special),
                                     std::pair(image::kNormalized, token.normalized.value_or(!token.special))}) {
    if (is_set) flags |= flag;
  }
  return flags;
}

}  // namespace

builder::FileChanges ChangesOf(const std::string& file, std::string* note) {
  const std::string folder = file.substr(0, file.find_last_of("/\\") + 1);
  builder::FileChanges out;
  out.lower_case = folder::ReadModelSettings(folder).lower_case;
  if (!file.ends_with("tokenizer.json")) return out;
  const FilesBeside beside = FilesBeside::Of(folder);
  const Document config(beside.tokenizer_config, folder + "tokenizer_config.json");
  const folder::Rebuilding rebuilding(file);
  out.class_name = rebuilding.name();
  out.note = note;
  out.rebuild = [rebuilding, file](const simdjson::dom::element& json, std::string* sentence) {
    const folder::Rebuilt rebuilt = rebuilding.Of(json);
    *sentence += rebuilding.NoteOf(rebuilt, file);
    return rebuilt.members;
  };
  const Class kind = ClassNamed(out.class_name).value_or(Class::kOther);
  const Settings settings(file, beside, kind);
  const auto named = [&](const char* key) { return settings.Named(key) == nullptr ? std::string() : *settings.Named(key); };
  out.pad_token = named("pad_token");
  if (kind == Class::kBert || kind == Class::kMpnet || kind == Class::kRoberta) {
    out.cls_token = named("cls_token");
    out.sep_token = named("sep_token");
  }
  if (kind == Class::kBert || kind == Class::kMpnet) out.unk_token = named("unk_token");
  using Added = builder::FileChanges::Added;
  const bool rebuilds = !out.class_name.empty() && config.root().Find("added_tokens_decoder");
  out.added = !rebuilds ? Added::kToo : kind == Class::kOther ? Added::kMustBeListed : Added::kInstead;
  out.listed = settings.listed();
  for (const Token& token : settings.tokens()) out.added_tokens.push_back({{token.content, 0, FlagsOf(token)}, token.of_class});
  return out;
}

}  // namespace rankfeed::folders
