// SPDX-License-Identifier: MIT
#include "builder/models/bpe/word_parts.h"

#include <algorithm>
#include <cstring>

#include "base/byte_set.h"
#include "builder/fast/segment_table.h"
#include "fast/key.h"

namespace rankfeed::builder {
namespace {

using image::SectionId;

bool IsLead(char c) { return static_cast<uint8_t>(c) >= 0xc2 && static_cast<uint8_t>(c) < 0xf0; }

// The characters of two or three bytes that begin with these.
std::vector<uint32_t> Beginning(std::string_view bytes) {
  std::vector<uint32_t> found;
  if (!IsLead(bytes[0])) return found;
  const uint32_t size = utf8::SizeFromLead(static_cast<uint8_t>(bytes[0]));
  uint32_t high = static_cast<uint8_t>(bytes[0]) & (size == 2 ? 0x1f : 0xf);
  for (const char c : bytes.substr(1)) high = high << 6 | (static_cast<uint8_t>(c) & 0x3f);
  const size_t missing = 6 * (size - bytes.size());
  for (uint32_t low = 0; low < uint32_t{1} << missing; ++low) found.push_back(high << missing | low);
  return found;
}

// The characters of two or three bytes that end with these, or are these.
std::vector<uint32_t> Ending(std::string_view bytes) {
  std::vector<uint32_t> found;
  if (IsLead(bytes[0])) return Beginning(bytes);
  uint32_t low = 0;
  for (const char c : bytes) low = low << 6 | (static_cast<uint8_t>(c) & 0x3f);
  if (!utf8::IsContinuation(bytes[0]) || bytes.size() > 2) return found;
  for (uint32_t c = low; c < 0x10000; c += uint32_t{1} << 6 * bytes.size()) found.push_back(c);
  return found;
}

// Returns true if a part of a split may be these bytes: words may be cut at one of their ends.
bool MayBePart(std::string_view bytes, const image::SegmentConfig& config) {
  const auto may_cut = [&](size_t at) {
    const auto lead = static_cast<uint8_t>(bytes[at]);
    return lead >= 0xe0 ? lead < 0xf0 : lead >= 0xc2 && (config.uncut_firsts >> (lead & 0x3f) & 1) == 0;
  };
  return may_cut(0) || may_cut(utf8::Previous(bytes, bytes.size()));
}

SegmentTable TableOf(const std::vector<Entry>& entries, const image::SegmentConfig& config) {
  const auto is_part = [&](const Entry& entry) { return entry.made && MayBePart(entry.bytes, config); };
  SegmentTable table =
      EmptySegmentTable(entries.size() + static_cast<size_t>(std::count_if(entries.begin(), entries.end(), is_part)));
  for (const Entry& entry : entries) {
    const auto size = static_cast<uint32_t>(entry.bytes.size());
    if (size > image::kMaxEntryBytes) continue;
    for (const bool part : {false, true}) {
      if (part && !is_part(entry)) continue;
      const auto key = fast::SegmentKey::Make(entry.bytes.data(), size, fast::SegmentKey::Tag(size, part));
      InsertSegment(key, entry.id, image::PathInfo::OfWord(1, /*cuts=*/1), &table);
    }
  }
  return table;
}

}  // namespace

void Neighbours::Add(std::string_view piece) {
  size_t begin = 0;
  while (begin < piece.size() && utf8::IsContinuation(piece[begin])) ++begin;
  std::string_view left = piece.substr(0, begin);
  while (begin < piece.size()) {
    size_t end = begin + 1;
    while (end < piece.size() && utf8::IsContinuation(piece[end])) ++end;
    const std::string_view right = piece.substr(begin, end - begin);
    if (!left.empty()) Join(left, right);
    left = right;
    begin = end;
  }
}

void Neighbours::Take(image::SegmentConfig* config, std::vector<SectionData>* out) {
  constexpr uint32_t kFew = 64, kFirstGreek = 0xce;
  for (uint32_t lead = 0xc0; lead < 0xe0; ++lead) {
    const bool uncut = lead < kFirstGreek || pairs_of_[lead] > kFew;
    config->uncut_firsts |= uint64_t{uncut} << (lead & 0x3f);
  }
  config->uncut_lasts = uncut_lasts_;
  out->emplace_back(SectionId::kSpannedPairs, std::move(pairs_));
}

void Neighbours::Join(std::string_view left, std::string_view right) {
  if (left.size() == 1 && right.size() == 1 && IsLead(right[0])) {
    uncut_lasts_ |= uint64_t{1} << (static_cast<uint8_t>(left[0]) & 0x3f);
    return;
  }
  const std::vector<uint32_t> seconds = Beginning(right);
  for (const uint32_t first : Ending(left)) {
    for (const uint32_t second : seconds) {
      const uint32_t bit = image::PairBit(first, second);
      pairs_of_[static_cast<uint8_t>(left[0])] += (pairs_[bit / 64] >> bit % 64 & 1) == 0;
      pairs_[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
}

void AddTable(const std::vector<Entry>& entries, image::SegmentConfig* config, std::vector<SectionData>* out) {
  ByteSet separators;  // where texts are cut (stretch/cuts.h)
  separators.Add(' ');
  std::memcpy(config->separators, separators.low, sizeof(config->separators));
  SegmentTable table = TableOf(entries, *config);
  config->table_bits = table.bits;
  out->emplace_back(SectionId::kSegmentConfig, std::vector<image::SegmentConfig>{*config});
  out->emplace_back(SectionId::kSegmentTable, std::move(table.entries));
}

}  // namespace rankfeed::builder
