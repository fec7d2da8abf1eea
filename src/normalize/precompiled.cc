// SPDX-License-Identifier: MIT
// normalize/precompiled.cc: the charsmap by grapheme clusters (tokenizers 0.23.2,
// normalizers/precompiled.rs).
//
// A cluster shorter than 6 bytes that begins with a key is replaced as a whole by what the shortest
// such key maps to, whatever else the cluster holds: NFD "a U+0302 U+0301" loses its acute. Any
// other cluster is replaced character by character, again by the shortest key, which for one
// character is usually the character itself.
#include "normalize/precompiled.h"

#include <iterator>

#include "base/hash.h"
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
      const auto byte = static_cast<unsigned char>(text[pos]);
      if (byte >= 0x80 || byte == '\r') break;
      if (pos + 1 != text.size() && static_cast<unsigned char>(text[pos + 1]) >= 0x80) break;
      if ((kept_[byte / 64] >> byte % 64 & 1) == 0 && !LookUp(text[pos])) break;
    }
    return pos;
  }

 private:
  bool LookUp(char c) {
    if (charsmap_.Shortest({&c, 1})) return false;
    const auto byte = static_cast<unsigned char>(c);
    kept_[byte / 64] |= uint64_t{1} << byte % 64;
    return true;
  }

  const Charsmap& charsmap_;
  uint64_t kept_[2] = {};
};

// Replacements that were found to be well formed, by their place: a hostile image may have others.
class KnownReplacements {
 public:
  bool Valid(std::string_view replacement) {
    const char* const data = replacement.data();
    const char*& checked = known_[reinterpret_cast<uintptr_t>(data) / 4 % std::size(known_)];
    if (checked == data) return true;
    if (!utf8::IsValid(replacement)) return false;
    checked = data;
    return true;
  }

 private:
  const char* known_[16] = {};
};

// Matches of clusters and characters by their bytes, as texts have few different ones that are not
// ASCII.
class KnownMatches {
 public:
  explicit KnownMatches(const Charsmap& charsmap) : charsmap_(charsmap) {}

  // Charsmap::Shortest of a cluster shorter than kWholeClusterBytes. Stays until the next one.
  const CharsmapMatch& Shortest(std::string_view cluster) {
    static_assert(kWholeClusterBytes <= sizeof(uint64_t));
    uint64_t key = cluster.size();
    for (const char c : cluster) key = key << 8 | static_cast<unsigned char>(c);
    Entry& entry = entries_[HashEnds(0, key, 0) >> (64 - kBits)];
    if (entry.key != key) entry = {key, charsmap_.Shortest(cluster)};
    return entry.match;
  }

 private:
  static constexpr int kBits = 5;
  struct Entry {
    uint64_t key = 0;  // bytes after their count
    CharsmapMatch match;
  };
  const Charsmap& charsmap_;
  Entry entries_[1 << kBits];
};

// Without ranges what does not change is copied in stretches, and a replacement as it stands.
bool RunWithoutRanges(const Model& model, const NormalizedText& in, NormalizedText* out) {
  const Charsmap charsmap(model.charsmap_units, model.charsmap_pool);
  const std::string_view text = in.view();
  Writer writer(in, out);
  uint32_t unchanged = 0;  // from there on nothing was replaced
  KnownReplacements known;
  const auto replace = [&](std::string_view replacement, uint32_t pos, uint32_t end) {
    writer.Copy(unchanged, pos);
    if (known.Valid(replacement)) {
      writer.Put(replacement, pos);
    } else {  // a hostile image
      for (uint32_t at = 0; at < replacement.size();) {
        const utf8::Decoded d = utf8::Decode(replacement, at);
        writer.Put(d.code_point, pos);
        at += d.size;
      }
    }
    unchanged = end;
  };
  AsciiKept kept(charsmap);
  KnownMatches matches(charsmap);
  for (uint32_t pos = 0; pos < in.size;) {
    pos = kept.Skip(text, pos);
    if (pos == in.size) break;
    const uint32_t cluster_end = unicode::ClusterEnd(model, text, pos);
    if (cluster_end - pos < kWholeClusterBytes) {
      if (const CharsmapMatch& match = matches.Shortest(in.view(pos, cluster_end))) {
        replace(match.replacement, pos, cluster_end);
        pos = cluster_end;
        continue;
      }
      // Nor does a key begin with its first character.
      pos += utf8::SizeFromLead(static_cast<unsigned char>(in.data[pos]));
    }
    while (pos < cluster_end) {
      const uint32_t end = pos + utf8::SizeFromLead(static_cast<unsigned char>(in.data[pos]));
      if (const CharsmapMatch& match = matches.Shortest(in.view(pos, end))) {
        replace(match.replacement, pos, end);
      }
      pos = end;
    }
  }
  writer.Copy(unchanged, in.size);
  return writer.ok();
}

}  // namespace

bool RunPrecompiled(const Model& model, const NormalizedText& in, NormalizedText* out) {
  if (in.begin == nullptr) return RunWithoutRanges(model, in, out);
  const Charsmap charsmap(model.charsmap_units, model.charsmap_pool);
  const std::string_view text = in.view();
  Transform transform(in, out);
  AsciiKept kept(charsmap);
  KnownReplacements known;
  KnownMatches matches(charsmap);
  for (uint32_t pos = 0; pos < in.size;) {
    if (const uint32_t end = kept.Skip(text, pos); end != pos && transform.Keep(pos, end)) {
      pos = end;
      continue;
    }
    const uint32_t cluster_end = unicode::ClusterEnd(model, text, pos);
    if (cluster_end - pos < kWholeClusterBytes) {
      const std::string_view cluster = in.view(pos, cluster_end);
      if (const CharsmapMatch& match = matches.Shortest(cluster)) {
        const int32_t count = CountChars(cluster);
        const bool whole = count == 1 && !match.replacement.empty() &&
                           known.Valid(match.replacement) &&
                           transform.Put(match.replacement, pos, cluster_end);
        if (!whole && !Replace(match.replacement, count, &transform)) return false;
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
