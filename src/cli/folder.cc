// SPDX-License-Identifier: MIT
// cli/folder.cc: see folder.h.
#include "cli/folder.h"

#include <fmt/format.h>

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

FolderConfig ReadFolderConfig(const std::string& folder) {
  FolderConfig out;
  const fs::path path = fs::path(folder) / "tokenizer_config.json";
  if (!fs::is_regular_file(path)) return out;
  std::ifstream file(path);
  const auto config = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw Failure(fmt::format("{} is no JSON object", path.string()));
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
  return out;
}

}  // namespace rankfeed::cli
