// SPDX-License-Identifier: MIT
// cli/json_file.h: JSON files, read and written as one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rankfeed::cli {

// Throws Failure.
nlohmann::ordered_json ReadJsonFile(const std::string& path);
// Writes the text to a file, beside it and renamed; to standard output for "-" and "". Throws Failure.
void WriteTextFile(const std::string& path, const std::string& text);

}  // namespace rankfeed::cli
