// SPDX-License-Identifier: MIT
// cli/sha256.h: the SHA-256 of a file, by libcrypto.
#pragma once

#include <string>

namespace rankfeed::cli {

// 64 lower-case hexadecimal digits. Throws Failure.
std::string Sha256(const std::string& path);

}  // namespace rankfeed::cli
