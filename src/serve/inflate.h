// SPDX-License-Identifier: MIT
// serve/inflate.h: bodies with Content-Encoding. What comes out counts against a limit before
// memory is taken for it, so that a small body cannot become a large one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rankfeed::serve {

enum class Inflated { kOk, kUnknownEncoding, kDamaged, kTooLarge };

// Replaces *out by `bytes` decoded; encodings: gzip, x-gzip, deflate (with zlib's header),
// identity, empty. Never holds more than limit bytes. Throws bad_alloc.
Inflated Inflate(std::string_view encoding, std::string_view bytes, uint64_t limit,
                 std::string* out);
bool KnownEncoding(std::string_view encoding);

}  // namespace rankfeed::serve
