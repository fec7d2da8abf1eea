// SPDX-License-Identifier: MIT
// capi/folders/capi_folder.cc: the functions of include/rankfeed/builder.h about a model's folder.
#include "capi/folders/guard.h"
#include "folder/keys.h"
#include "folder/model_settings.h"

using rankfeed::folder::Key;
using rankfeed::folder::Prompt;
using rankfeed::folders::CheckNotNull;
using rankfeed::folders::Guard;

struct rankfeed_folder {
  rankfeed::folder::ModelSettings settings;
};

namespace {

rankfeed_text Text(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

extern "C" {

RANKFEED_API rankfeed_status rankfeed_folder_open(const char* path, rankfeed_folder** out, rankfeed_builder_error* error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&] {
    CheckNotNull(path, "path");
    CheckNotNull(out, "out");
    *out = new rankfeed_folder{rankfeed::folder::ReadModelSettings(path)};
  });
}

RANKFEED_API rankfeed_status rankfeed_folder_get_info(const rankfeed_folder* folder, rankfeed_folder_info* info) {
  if (folder == nullptr || info == nullptr) return RANKFEED_E_ARGUMENT;
  if (info->struct_size != sizeof *info) return RANKFEED_E_STRUCT_SIZE;
  const rankfeed::folder::ModelSettings& s = folder->settings;
  info->has_config = s.has_config;
  info->multi_label = s.multi_label;
  info->label_count = static_cast<uint32_t>(s.labels.size());
  info->activation = s.Activation().value_or(RANKFEED_FOLDER_OTHER_ACTIVATION);
  info->max_length = s.max_length.value_or(0);
  info->lower_case = s.lower_case;
  info->split_special_tokens = s.split_special_tokens;
  info->prompt_count = static_cast<uint32_t>(s.prompts.size());
  info->default_prompt = s.default_prompt ? static_cast<int32_t>(*s.default_prompt) : -1;
  info->activation_fn = Text(s.activation);
  info->activation_file = Text(s.activation_file);
  info->refusal = Text(s.refusal);
  info->note = Text(s.note);
  return RANKFEED_OK;
}

RANKFEED_API rankfeed_status rankfeed_folder_label(const rankfeed_folder* folder, uint32_t number, rankfeed_text* name) {
  if (folder == nullptr || name == nullptr) return RANKFEED_E_ARGUMENT;
  if (number >= folder->settings.labels.size()) return RANKFEED_E_NOT_FOUND;
  *name = Text(folder->settings.labels[number]);
  return RANKFEED_OK;
}

RANKFEED_API rankfeed_status rankfeed_folder_prompt(const rankfeed_folder* folder, uint32_t number, rankfeed_text* name,
                                                    rankfeed_text* text) {
  if (folder == nullptr || name == nullptr || text == nullptr) return RANKFEED_E_ARGUMENT;
  if (number >= folder->settings.prompts.size()) return RANKFEED_E_NOT_FOUND;
  const Prompt& prompt = folder->settings.prompts[number];
  *name = Text(prompt.name);
  *text = Text(prompt.text);
  return RANKFEED_OK;
}

RANKFEED_API void rankfeed_folder_free(rankfeed_folder* folder) {
  delete folder;
}

RANKFEED_API rankfeed_status rankfeed_folder_key_at(uint32_t number, rankfeed_folder_key* out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  if (out->struct_size != sizeof *out) return RANKFEED_E_STRUCT_SIZE;
  const std::span<const Key> keys = rankfeed::folder::Keys();
  if (number >= keys.size()) return RANKFEED_E_NOT_FOUND;
  const Key& key = keys[number];
  out->rule = static_cast<uint32_t>(key.rule);
  out->file = key.file;
  out->key = key.key;
  out->note = key.note;
  out->taken = key.taken;
  return RANKFEED_OK;
}

}  // extern "C"
