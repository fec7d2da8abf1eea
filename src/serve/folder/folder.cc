// SPDX-License-Identifier: MIT
// serve/folder/folder.cc: see folder.h.
#include "serve/folder/folder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <new>
#include <system_error>

#include "base/other_kind.h"
#include "builder/base/model_spec.h"
#include "folder/document.h"
#include "platform/files/file_calls.h"

namespace rankfeed::folder {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A token as the configurations write it: its text, or an object with the text as "content".
std::optional<std::string> TokenOf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.contains("content") || !value["content"].is_string())
    return std::nullopt;
  return value["content"].get<std::string>();
}

std::optional<std::string> TokenOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? std::nullopt : TokenOf(*found);
}

}  // namespace

Result<Json> ReadObject(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return Json::object();
  if (const char* why = files::WhyUnreadable(path.c_str(), files::ReadAs::kWhole))
    return Error{RANKFEED_E_IO, fmt::format("{}: {}, not a file", path, why)};
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOMEM) throw std::bad_alloc();
  if (!file) return Error{RANKFEED_E_IO, fmt::format("{}: {}", path, std::generic_category().message(errno))};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (const char* what = OtherKind(text))
    return Error{RANKFEED_E_PARSE, fmt::format("{}: is {}", path, what)};
  Json object;
  try {
    object = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{RANKFEED_E_PARSE, fmt::format("{}: byte {}: not valid JSON", path, error.byte - 1)};
  } catch (const Json::exception&) {  // a number too large for any type
  }
  if (!object.is_object()) return Error{RANKFEED_E_PARSE, fmt::format("{} is no JSON object", path)};
  return object;
}

Result<std::string> VocabularyOf(const std::string& folder) {
  files::FileInfo info;
  if (const int error = files::InfoOf(folder.c_str(), &info))
    return Error{RANKFEED_E_NOT_FOUND, fmt::format("{}: {}", folder, std::generic_category().message(error))};
  std::error_code ignored;
  // The builder reads the files beside these itself.
  for (const char* const name : {"tokenizer.json", "vocab.txt", "vocab.json"}) {
    const fs::path pieces = fs::path(folder) / name;
    if (fs::is_regular_file(pieces, ignored)) return pieces.string();
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".model") {
      return Error{RANKFEED_E_NOT_FOUND,
                   fmt::format("{} has no tokenizer.json, vocab.txt or vocab.json; --vocab takes its {} too, with the ids of "
                               "SentencePiece",
                               folder, entry.path().string())};
    }
  }
  return Error{RANKFEED_E_NOT_FOUND, fmt::format("{} has no tokenizer.json, vocab.txt or vocab.json", folder)};
}

std::vector<std::string> VocabularyFiles(const std::string& file, const std::string& preset) {
  std::vector<std::string> files = {file};
  const fs::path name = fs::path(file).filename();
  if (name != "vocab.json" && (name != "vocab.txt" || !preset.empty())) return files;
  for (const char* const beside : {"merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"}) {
    const fs::path path = fs::path(file).parent_path() / beside;
    std::error_code ignored;
    if ((name == "vocab.json" || beside != std::string_view("merges.txt")) && fs::exists(path, ignored)) files.push_back(path.string());
  }
  return files;
}

namespace {

// The member as a number, or `otherwise` where there is none.
uint32_t NumberOf(const simdjson::dom::element& object, const char* name, uint32_t otherwise) {
  uint64_t value;
  return object[name].get(value) == simdjson::SUCCESS ? static_cast<uint32_t>(value) : otherwise;
}

std::string SideOf(const simdjson::dom::element& object) {
  std::string_view value;
  return object["direction"].get(value) == simdjson::SUCCESS && value == "Left" ? "left" : "right";
}

}  // namespace

std::optional<FileDefaults> ReadFileDefaults(const std::string& tokenizer_json) {
  // The parts alone are parsed: the builder parses the file.
  simdjson::padded_string text;
  simdjson::ondemand::parser lazy;
  simdjson::ondemand::document file;
  simdjson::ondemand::object members;
  if (WithMemory(simdjson::padded_string::load(tokenizer_json).get(text)) != simdjson::SUCCESS ||
      WithMemory(lazy.iterate(text).get(file)) != simdjson::SUCCESS || file.get_object().get(members) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element part;
  const auto read = [&](const char* name) {
    simdjson::ondemand::object object;
    std::string_view json;
    return members.find_field_unordered(name).get_object().get(object) == simdjson::SUCCESS && object.raw_json().get(json) == simdjson::SUCCESS &&
           WithMemory(parser.parse(json).get(part)) == simdjson::SUCCESS;
  };
  FileDefaults out;
  std::string_view name;
  if (read("truncation")) {
    auto& cut = out.truncation.emplace();
    cut.max_length = NumberOf(part, "max_length", 0);
    cut.stride = NumberOf(part, "stride", 0);
    cut.side = SideOf(part);
    if (part["strategy"].get(name) != simdjson::SUCCESS) name = "LongestFirst";
    cut.strategy = name == "OnlyFirst" ? "only_first" : name == "OnlySecond" ? "only_second" : "longest_first";
  }
  if (read("padding")) {
    auto& pad = out.padding.emplace();
    simdjson::dom::element strategy;
    if (part["strategy"].get(strategy) == simdjson::SUCCESS && strategy.is_object()) pad.length = NumberOf(strategy, "Fixed", 0);
    pad.multiple = std::max(1u, NumberOf(part, "pad_to_multiple_of", 1));
    pad.id = static_cast<int32_t>(NumberOf(part, "pad_id", 0));
    pad.side = SideOf(part);
    if (part["pad_token"].get(name) == simdjson::SUCCESS) pad.token = name;
  }
  return out;
}

Result<ModelSettings> SettingsOf(const std::string& folder) {
  try {
    return ReadModelSettings(folder);
  } catch (const builder::BuildError& error) {
    return Error{error.code, error.what()};
  }
}

Result<FolderConfig> ReadFolderConfig(const std::string& folder) {
  FolderConfig out;
  auto settings = SettingsOf(folder);
  if (!settings) return settings.error();
  out.settings = std::move(*settings);
  const std::string path = (fs::path(folder) / "tokenizer_config.json").string();
  auto config = ReadObject(path);
  if (!config) return config.error();
  const auto at = [&](const char* name) { return config->value(name, Json()); };
  for (const auto& [name, to] : {std::pair{"truncation_side", &out.truncation_side},
                                 {"padding_side", &out.padding_side}}) {
    const auto value = at(name);
    if (value.is_null()) continue;
    if (value != "left" && value != "right") {
      return Error{RANKFEED_E_PARSE, fmt::format("{}: {} is {}; it must be left or right", path, name,
                                                 value.dump())};
    }
    *to = value.get<std::string>();
  }
  // The map is of older files, and read where the configuration lists no added tokens.
  auto specials = ReadObject((fs::path(folder) / "special_tokens_map.json").string());
  if (!specials) return specials.error();
  if (!config->contains("added_tokens_decoder")) out.pad_token = TokenOf(*specials, "pad_token");
  if (!out.pad_token) out.pad_token = TokenOf(*config, "pad_token");
  // Opening the vocabulary says what is wrong with a file that is no JSON.
  const FileDefaults file = ReadFileDefaults((fs::path(folder) / "tokenizer.json").string()).value_or(FileDefaults{});
  if (file.truncation && !out.truncation_side) out.truncation_side = file.truncation->side;
  if (file.padding && !out.padding_side) out.padding_side = file.padding->side;
  if (file.padding && !out.pad_token) out.pad_token = file.padding->token;
  return out;
}

}  // namespace rankfeed::folder
