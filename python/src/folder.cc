// SPDX-License-Identifier: MIT
// python/src/folder.cc: binding of what a model's folder says beside its vocabulary, see rankfeed/builder.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "memory.h"
#include "rankfeed/builder.h"
#include "rankfeed/rerank.h"

namespace rankfeed::python {
namespace {

nb::str Str(rankfeed_text text) {
  return nb::str(text.data, text.size);
}

nb::dict FolderSettings(const std::string& path) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_folder* opened = nullptr;
  const rankfeed_status status = rankfeed_folder_open(path.c_str(), &opened, &error);
  if (status != RANKFEED_OK) throw StatusError(status, error.message);
  const std::unique_ptr<rankfeed_folder, void (*)(rankfeed_folder*)> folder(opened, rankfeed_folder_free);
  rankfeed_folder_info info{};
  info.struct_size = sizeof(info);
  Check(rankfeed_folder_get_info(opened, &info), "folder");
  nb::list labels;
  nb::dict prompts, out;
  rankfeed_text name{}, text{};
  for (uint32_t i = 0; rankfeed_folder_label(opened, i, &name) == RANKFEED_OK; ++i) labels.append(Str(name));
  nb::object default_prompt = nb::none();
  for (uint32_t i = 0; rankfeed_folder_prompt(opened, i, &name, &text) == RANKFEED_OK; ++i) {
    prompts[Str(name)] = Str(text);
    if (static_cast<int32_t>(i) == info.default_prompt) default_prompt = Str(name);
  }
  out["has_config"] = info.has_config != 0;
  out["labels"] = labels;
  out["multi_label"] = info.multi_label != 0;
  out["activation"] = info.activation == RANKFEED_SCORE_RAW       ? nb::object(nb::str("raw"))
                      : info.activation == RANKFEED_SCORE_SIGMOID ? nb::object(nb::str("sigmoid"))
                                                                  : nb::none();
  out["activation_fn"] = Str(info.activation_fn);
  out["activation_file"] = Str(info.activation_file);
  out["max_length"] = info.max_length == 0 ? nb::none() : nb::object(nb::int_(info.max_length));
  out["lower_case"] = info.lower_case != 0;
  out["split_special_tokens"] = info.split_special_tokens != 0;
  out["prompts"] = prompts;
  out["default_prompt_name"] = default_prompt;
  out["refusal"] = Str(info.refusal);
  out["note"] = Str(info.note);
  return out;
}

nb::list FolderKeys() {
  constexpr const char* kRules[] = {"obeyed", "harmless", "refused"};
  nb::list out;
  rankfeed_folder_key key{};
  key.struct_size = sizeof(key);
  for (uint32_t i = 0; rankfeed_folder_key_at(i, &key) == RANKFEED_OK; ++i) {
    out.append(nb::make_tuple(key.file, key.key, kRules[key.rule], key.note,
                              key.taken == nullptr ? nb::none() : nb::object(nb::str(key.taken))));
  }
  return out;
}

}  // namespace

void BindFolder(nb::module_& module) {
  module.def("folder_settings", &FolderSettings, nb::arg("path"), nb::sig("def folder_settings(path: str) -> dict[str, typing.Any]"),
             "What the files of a model's folder say of its texts, rows and scores: a dict.");
  module.def("folder_keys", &FolderKeys, nb::sig("def folder_keys() -> list[tuple[str, str, str, str, str | None]]"),
             "The keys of a folder's files that their author's software obeys, and what becomes of each: (file, key, rule, why, the "
             "value that is taken).");
}

}  // namespace rankfeed::python
