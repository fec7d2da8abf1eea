// SPDX-License-Identifier: MIT
// cli/folder.cc: see folder.h.
#include "cli/folder.h"

#include <fmt/format.h>
#include <simdjson.h>

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

// Sets what is unset to what the padding and truncation inside tokenizer.json say.
void TakeFileDefaults(const std::string& path, FolderConfig* out) {
  simdjson::dom::parser parser;
  simdjson::dom::element file;
  if (parser.load(path).get(file) != simdjson::SUCCESS)
    return;  // opening the vocabulary says what is wrong
  const auto take = [&](const char* part, const char* name, std::optional<std::string>* to) {
    std::string_view value;
    if (*to || file[part][name].get(value) != simdjson::SUCCESS) return;
    *to = value == "Left" ? "left" : value == "Right" ? "right" : std::string(value);
  };
  take("truncation", "direction", &out->truncation_side);
  take("padding", "direction", &out->padding_side);
  take("padding", "pad_token", &out->pad_token);
}

}  // namespace

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
  TakeFileDefaults(TokenizerJsonOf(folder), &out);
  return out;
}

}  // namespace rankfeed::cli
