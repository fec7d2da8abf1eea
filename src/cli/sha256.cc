// SPDX-License-Identifier: MIT
// cli/sha256.cc: see sha256.h.
#include "cli/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "platform/files/file_calls.h"
#include "cli/cli.h"

namespace rankfeed::cli {

std::string Sha256(const std::string& path) {
  files::CheckReadable(path, files::ReadAs::kWhole);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Failure("{}: {}", path, std::strerror(errno));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  bool ok = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (std::vector<char> chunk(1 << 20); ok && in;) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    ok = EVP_DigestUpdate(context.get(), chunk.data(), static_cast<size_t>(in.gcount())) == 1;
  }
  if (in.bad()) throw Failure("{}: {}", path, std::strerror(errno));
  if (!ok || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
    throw Failure(path + ": no SHA-256 in this machine's libcrypto");
  }
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace rankfeed::cli
