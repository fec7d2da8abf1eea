// SPDX-License-Identifier: MIT
// cli/json_file.cc: see json_file.h.
#include "cli/json_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/cli.h"
#include "platform/files/file_calls.h"

namespace rankfeed::cli {

nlohmann::ordered_json ReadJsonFile(const std::string& path) {
  files::CheckReadable(path, files::ReadAs::kStream);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Failure("{}: {}", path, strerror(errno));
  try {
    return nlohmann::ordered_json::parse(in);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    throw Failure("{}: byte {}: not valid JSON", path, error.byte - 1);
  } catch (const nlohmann::ordered_json::exception&) {
    throw Failure(path + ": not JSON: a number too large for any type");
  }
}

void WriteTextFile(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    fmt::print("{}", text);
    return;
  }
  files::FileInfo target;
  // A rename would put an end to a device or a pipe, which is written to.
  const bool in_place = files::InfoOf(path.c_str(), &target) == 0 && !target.regular;
  const std::string to = in_place ? path : fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out || (!in_place && rename(to.c_str(), path.c_str()) != 0)) {
    const int error = errno;
    if (!in_place) unlink(to.c_str());
    throw Failure("{}: {}", path, strerror(error));
  }
}

}  // namespace rankfeed::cli
