// SPDX-License-Identifier: MIT
// serve/inflate.cc: see inflate.h.
#include "serve/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "serve/framing.h"

namespace rankfeed::serve {
namespace {

constexpr size_t kStep = 64 << 10;

struct End {
  void operator()(z_stream* z) const { inflateEnd(z); }
};

Inflated InflateZlib(std::string_view bytes, uint64_t limit, std::string* out) {
  z_stream z{};
  // 32: gzip or zlib, by the header. All that can be missing is memory.
  if (inflateInit2(&z, 15 + 32) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, End> end(&z);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(std::min<size_t>(bytes.size(), UINT32_MAX));
  Inflated result = Inflated::kOk;
  for (size_t size = 0;;) {
    // One byte more than the limit tells a body that ends there from one that goes on.
    const size_t room = std::min<uint64_t>(std::max<size_t>(kStep, size), limit + 1 - size);
    out->resize(size + room);
    z.next_out = reinterpret_cast<Bytef*>(out->data() + size);
    z.avail_out = static_cast<uInt>(room);
    const int status = inflate(&z, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    size += room - z.avail_out;
    out->resize(size);
    if (size > limit) {
      result = Inflated::kTooLarge;
      break;
    }
    if (status == Z_STREAM_END) {
      if (z.avail_in == 0) break;
      if (inflateReset(&z) != Z_OK)
        result = Inflated::kDamaged;  // members of gzip follow one another
    } else if (status != Z_OK || (z.avail_in == 0 && z.avail_out != 0)) {
      result = Inflated::kDamaged;
    }
    if (result != Inflated::kOk) break;
  }
  return result;
}

}  // namespace

bool KnownEncoding(std::string_view encoding) {
  return encoding.empty() || SameWord(encoding, "identity") || SameWord(encoding, "gzip") ||
         SameWord(encoding, "x-gzip") || SameWord(encoding, "deflate");
}

Inflated Inflate(std::string_view encoding, std::string_view bytes, uint64_t limit,
                 std::string* out) {
  out->clear();
  if (!KnownEncoding(encoding)) return Inflated::kUnknownEncoding;
  if (encoding.empty() || SameWord(encoding, "identity")) {
    if (bytes.size() > limit) return Inflated::kTooLarge;
    out->assign(bytes);
    return Inflated::kOk;
  }
  const Inflated result = InflateZlib(bytes, limit, out);
  if (result != Inflated::kOk) std::string().swap(*out);
  return result;
}

}  // namespace rankfeed::serve
