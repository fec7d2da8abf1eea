// SPDX-License-Identifier: MIT
// normalize/precompiled.cc: the charsmap by grapheme clusters (tokenizers 0.23.2,
// normalizers/precompiled.rs).
//
// A cluster shorter than 6 bytes that begins with a key is replaced as a whole by what the shortest
// such key maps to, whatever else the cluster holds: NFD "a U+0302 U+0301" loses its acute. Any
// other cluster is replaced character by character, again by the shortest key, which for one
// character is usually the character itself.
#include "normalize/precompiled.h"

#include "base/narrow.h"
#include "normalize/charsmap.h"
#include "unicode/grapheme.h"

namespace rankfeed::normalize {
namespace {

// count input characters become replacement. The first count of the new ones replace, the rest are
// added; if there are fewer new ones, the last pushed character takes the removals.
// False when there is no room.
bool Replace(std::string_view replacement, int32_t count, Transform* transform) {
  int32_t done = 0;
  for (uint32_t pos = 0; pos < replacement.size(); ++done) {
    // A hostile image may point into the middle of a character: decode with checks.
    const utf8::Decoded d = utf8::Decode(replacement, pos);
    transform->Push(d.code_point, done < count ? 0 : 1);
    pos += d.size;
  }
  if (done < count) transform->Drop(count - done);
  return transform->ok();
}

int32_t CountChars(std::string_view s) {
  int32_t count = 0;
  for (const char c : s) count += !utf8::IsContinuation(c);
  return count;
}

// ASCII characters that no key begins with, as most are. Each is looked up when it first comes.
class AsciiKept {
 public:
  explicit AsciiKept(const Charsmap& charsmap) : charsmap_(charsmap) {}

  // The first place from pos on that is not one of them in a cluster of its own.
  uint32_t Skip(std::string_view text, uint32_t pos) {
    for (; pos < text.size(); ++pos) {
      const auto byte = Byte(text[pos]);
      if (byte >= 0x80 || byte == '\r') break;
      if (pos + 1 != text.size() && Byte(text[pos + 1]) >= 0x80) break;
      if ((kept_[byte / 64] >> byte % 64 & 1) == 0 && !LookUp(text[pos])) break;
    }
    return pos;
  }

 private:
  bool LookUp(char c) {
    if (charsmap_.Shortest({&c, 1})) return false;
    const auto byte = Byte(c);
    kept_[byte / 64] |= uint64_t{1} << byte % 64;
    return true;
  }

  const Charsmap& charsmap_;
  uint64_t kept_[2] = {};
};

}  // namespace

bool RunPrecompiled(const Model& model, const NormalizedText& in, NormalizedText* out) {
  const Charsmap charsmap(model.charsmap_units, model.charsmap_pool);
  const std::string_view text = in.view();
  Transform transform(in, out);
  AsciiKept kept(charsmap);
  for (uint32_t pos = 0; pos < in.size;) {
    if (const uint32_t end = kept.Skip(text, pos); end != pos && transform.Keep(pos, end)) {
      pos = end;
      continue;
    }
    const uint32_t cluster_end = unicode::ClusterEnd(model, text, pos);
    if (cluster_end - pos < kWholeClusterBytes) {
      const std::string_view cluster = in.view(pos, cluster_end);
      if (const CharsmapMatch match = charsmap.Shortest(cluster)) {
        if (!Replace(match.replacement, CountChars(cluster), &transform)) return false;
        pos = cluster_end;
        continue;
      }
    }
    while (pos < cluster_end) {
      uint32_t size;
      const char32_t c = utf8::DecodeValid(in.data + pos, &size);
      if (const CharsmapMatch match = charsmap.Shortest(in.view(pos, pos + size))) {
        if (!Replace(match.replacement, 1, &transform)) return false;
      } else {
        transform.Push(c, 0);
      }
      pos += size;
    }
  }
  return transform.Finish();
}

}  // namespace rankfeed::normalize
