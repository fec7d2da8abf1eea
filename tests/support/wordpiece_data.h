// SPDX-License-Identifier: MIT
// support/wordpiece_data.h: where tests find published WordPiece vocabularies.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace rankfeed::test {

// The content of a file, empty if there is none.
inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// RANKFEED_SHARED_DATA, empty without that, and the folder of WordPiece vocabularies in it.
inline std::string SharedData() {
  const char* data = std::getenv("RANKFEED_SHARED_DATA");
  return data == nullptr ? "" : data;
}
inline std::string WordPieceData() {
  const std::string data = SharedData();
  return data.empty() ? "" : data + "/wordpiece/";
}

}  // namespace rankfeed::test
