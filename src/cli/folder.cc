// SPDX-License-Identifier: MIT
// cli/folder.cc: see folder.h.
#include "cli/folder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cli.h"

namespace rankfeed::cli {
namespace fs = std::filesystem;

std::string TokenizerJsonOf(const std::string& folder) {
  const fs::path file = fs::path(folder) / "tokenizer.json";
  if (fs::is_regular_file(file)) return file.string();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".model") {
      throw Failure(fmt::format(
          "{} has no tokenizer.json; --vocab takes its {} too, with the ids of SentencePiece",
          folder, entry.path().string()));
    }
  }
  throw Failure(fmt::format("{} has no tokenizer.json", folder));
}

namespace {

// A JSON object; an empty one where there is no such file. Throws Failure for anything else.
nlohmann::json ReadObject(const fs::path& path) {
  if (!fs::is_regular_file(path)) return nlohmann::json::object();
  std::ifstream file(path);
  auto object = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw Failure(fmt::format("{} is no JSON object", path.string()));
  return object;
}

// A token as the configurations write it: its text, or an object with the text as "content".
std::optional<std::string> TokenOf(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object() || !found->contains("content") || !found->at("content").is_string())
    return std::nullopt;
  return found->at("content").get<std::string>();
}

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
  simdjson::dom::parser parser;
  simdjson::dom::element file, part;
  if (parser.load(tokenizer_json).get(file) != simdjson::SUCCESS) return std::nullopt;
  FileDefaults out;
  std::string_view name;
  if (file["truncation"].get(part) == simdjson::SUCCESS && part.is_object()) {
    auto& cut = out.truncation.emplace();
    cut.max_length = NumberOf(part, "max_length", 0);
    cut.stride = NumberOf(part, "stride", 0);
    cut.side = SideOf(part);
    if (part["strategy"].get(name) != simdjson::SUCCESS) name = "LongestFirst";
    cut.strategy = name == "OnlyFirst" ? "only_first" : name == "OnlySecond" ? "only_second" : "longest_first";
  }
  if (file["padding"].get(part) == simdjson::SUCCESS && part.is_object()) {
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

FolderConfig ReadFolderConfig(const std::string& folder) {
  FolderConfig out;
  const fs::path path = fs::path(folder) / "tokenizer_config.json";
  const nlohmann::json config = ReadObject(path);
  const auto at = [&](const char* name) { return config.value(name, nlohmann::json()); };
  const auto limit = at("model_max_length");
  if (!limit.is_null()) {
    // transformers writes 1e30, as an integer of that many digits, for "no limit".
    if (!limit.is_number() || limit.get<double>() < 1) {
      throw Failure(fmt::format("{}: model_max_length is {}; it must be a number of tokens",
                                path.string(), limit.dump()));
    }
    if (limit.get<double>() <= 4294967295.0) out.model_max_length = limit.get<uint32_t>();
  }
  const auto side = [&](const char* name, std::optional<std::string>* to) {
    const auto value = at(name);
    if (value.is_null()) return;
    if (value != "left" && value != "right") {
      throw Failure(
          fmt::format("{}: {} is {}; it must be left or right", path.string(), name, value.dump()));
    }
    *to = value.get<std::string>();
  };
  side("truncation_side", &out.truncation_side);
  side("padding_side", &out.padding_side);
  // The map is of older files, and read where the configuration lists no added tokens.
  const nlohmann::json specials = ReadObject(fs::path(folder) / "special_tokens_map.json");
  if (!config.contains("added_tokens_decoder")) out.pad_token = TokenOf(specials, "pad_token");
  if (!out.pad_token) out.pad_token = TokenOf(config, "pad_token");
  // Where it is no JSON, opening the vocabulary says what is wrong.
  const FileDefaults file = ReadFileDefaults(TokenizerJsonOf(folder)).value_or(FileDefaults{});
  if (file.truncation && !out.truncation_side) out.truncation_side = file.truncation->side;
  if (file.padding && !out.padding_side) out.padding_side = file.padding->side;
  if (file.padding && !out.pad_token) out.pad_token = file.padding->token;
  return out;
}

}  // namespace rankfeed::cli
