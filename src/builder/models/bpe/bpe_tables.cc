// SPDX-License-Identifier: MIT
#include "builder/models/bpe/bpe_tables.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/byte_alphabet.h"
#include "base/byte_set.h"
#include "base/utf8.h"
#include "builder/base/code_points.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/fast/segment_table.h"
#include "fast/scan.h"
#include "models/bpe/word.h"

namespace rankfeed::builder {
namespace {

using image::FastRoadReason;
using image::Op;
using image::SectionId;

// Why the steps keep texts off the road, if they do.
OffTheFastRoad StepsOff(const Model& model) {
  for (const image::Step& step : model.normalizer) {
    if (step.op != static_cast<uint32_t>(Op::kNfc)) return {FastRoadReason::kNormalizer, step.op};
  }
  bool has_pattern = false, has_bytes = false;
  for (const image::Step& step : model.pre_tokenizer) {
    const bool pattern = step.op == static_cast<uint32_t>(Op::kSplitPattern);
    const bool bytes = step.op == static_cast<uint32_t>(Op::kByteLevel);
    const bool known = pattern ? !has_pattern
                               : bytes && step.arg0 == 0;
    if (!known) return {FastRoadReason::kPreTokenizer, step.op};
    has_pattern |= pattern;
    has_bytes |= bytes;
  }
  return {has_pattern && has_bytes ? FastRoadReason::kNone : FastRoadReason::kNoPattern, 0};
}

// The added tokens of normalized text: runs of two to `most` spaces, each with an id, and others.
struct NormalizedTokensOf {
  std::vector<uint32_t> run_ids;  // from two on
  bool can_be_found = true;

  explicit NormalizedTokensOf(const Model& model) {
    std::vector<uint32_t> by_length;
    for (const image::AddedToken& token : model.added_tokens) {
      if ((token.flags & image::kNormalized) == 0) continue;
      const std::string_view text = model.text(token.normalized);
      if (text.find_first_not_of(' ') == text.npos) {
        if (text.size() >= by_length.size()) by_length.resize(text.size() + 1, image::kNoId);
        by_length[text.size()] = token.id;
        constexpr uint32_t kAlone = image::kSingleWord | image::kLstrip | image::kRstrip | image::kSpecial;
        can_be_found &= text.size() > 1 && (token.flags & kAlone) == 0;
      } else {
        can_be_found &= text.size() > 1 && std::all_of(text.begin(), text.end(), [](char c) {
          return static_cast<unsigned char>(c) < 0x80 && c > ' ';
        });
      }
    }
    if (by_length.empty()) return;
    run_ids.assign(by_length.begin() + 2, by_length.end());
    can_be_found &= std::count(run_ids.begin(), run_ids.end(), image::kNoId) == 0;
  }
};

// This knows which characters of two or three bytes stand next to each other in some piece, whole or in part.
class Neighbours {
 public:
  Neighbours() : pairs_(image::kPairBits / 64, 0) {}

  void Add(std::string_view piece) {
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

  // Few pieces hold two Greek letters, and words that are cut between them are shorter and repeat. Where many pieces
  // hold two of a script, and of Latin letters with accents, which seldom stand beside each other, words
  // would be as long as before.
  void Take(image::SegmentConfig* config, std::vector<SectionData>* out) {
    constexpr uint32_t kFew = 64, kFirstGreek = 0xce;
    for (uint32_t lead = 0xc0; lead < 0xe0; ++lead) {
      const bool uncut = lead < kFirstGreek || pairs_of_[lead] > kFew;
      config->uncut_firsts |= uint64_t{uncut} << (lead & 0x3f);
    }
    config->uncut_lasts = uncut_lasts_;
    out->emplace_back(SectionId::kSpannedPairs, std::move(pairs_));
  }

 private:
  // Joins every two characters of which one ends with the bytes left and the other begins with right.
  // Where left and right are single bytes, these pairs are millions: then no word is cut after any
  // character that ends with left.
  void Join(std::string_view left, std::string_view right) {
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
  // The characters of two or three bytes that end with these, or are these.
  static std::vector<uint32_t> Ending(std::string_view bytes) {
    std::vector<uint32_t> found;
    if (IsLead(bytes[0])) return Beginning(bytes);
    uint32_t low = 0;
    for (const char c : bytes) low = low << 6 | (static_cast<uint8_t>(c) & 0x3f);
    if (!utf8::IsContinuation(bytes[0]) || bytes.size() > 2) return found;
    for (uint32_t c = low; c < 0x10000; c += uint32_t{1} << 6 * bytes.size()) found.push_back(c);
    return found;
  }
  static std::vector<uint32_t> Beginning(std::string_view bytes) {
    std::vector<uint32_t> found;
    if (!IsLead(bytes[0])) return found;
    const uint32_t size = utf8::SizeFromLead(static_cast<uint8_t>(bytes[0]));
    uint32_t high = static_cast<uint8_t>(bytes[0]) & (size == 2 ? 0x1f : 0xf);
    for (const char c : bytes.substr(1)) high = high << 6 | (static_cast<uint8_t>(c) & 0x3f);
    const size_t missing = 6 * (size - bytes.size());
    for (uint32_t low = 0; low < uint32_t{1} << missing; ++low) found.push_back(high << missing | low);
    return found;
  }
  static bool IsLead(char c) { return static_cast<uint8_t>(c) >= 0xc2 && static_cast<uint8_t>(c) < 0xf0; }

  std::vector<uint64_t> pairs_;
  uint64_t uncut_lasts_ = 0;
  uint32_t pairs_of_[256] = {};  // by the first byte that is known of the first character
};

// A segment that is one token. made: merges make it, so that it is as a part of a split too, where that matters.
struct Entry {
  std::string bytes;
  uint32_t id;
  bool made;
};

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

std::string BytesOf(std::string_view piece) {
  std::string bytes;
  for (size_t at = 0; at < piece.size();) {
    const utf8::Decoded c = utf8::Decode(piece, at);
    const int byte = kByteAlphabet.ByteOf(c.code_point);
    if (byte < 0) return {};
    bytes.push_back(static_cast<char>(byte));
    at += c.size;
  }
  return bytes;
}

std::variant<std::vector<SectionData>, OffTheFastRoad> BuildBpeTables(const Model& model) {
  if (const OffTheFastRoad off = StepsOff(model); off.reason != FastRoadReason::kNone) return off;
  const NormalizedTokensOf normalized(model);
  if (!normalized.can_be_found) return OffTheFastRoad{FastRoadReason::kNormalizedAddedTokens};
  const bool ignores_merges = model.has(image::kIgnoreMerges);
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < normalized.run_ids.size(); ++i) {
    entries.push_back({std::string(i + 2, ' '), normalized.run_ids[i], false});
  }
  Neighbours neighbours;
  const bpe::Words words(model);
  // A full bucket drops the later ids, which are those of rarer pieces in trained vocabularies.
  std::vector<uint32_t> ids = PieceIds(model);
  std::sort(ids.begin(), ids.end());
  for (const uint32_t id : ids) {
    std::string bytes = BytesOf(model.piece(id));
    if (bytes.empty()) continue;
    neighbours.Add(bytes);
    if (bytes.size() > image::kMaxEntryBytes || (model.id_flags[id] & image::kIdSpecial) != 0) continue;
    if (!utf8::IsValid(bytes)) continue;  // no segment has it alone
    uint32_t made[image::kMaxEntryBytes], sizes[image::kMaxEntryBytes];
    bool missing = false;
    const bool is_made = words.Make(bytes, {made, sizes}, nullptr, &missing) == 1;
    // Only ignore_merges finds a piece that merges do not make, and only as a whole split.
    if (is_made || ignores_merges) entries.push_back({std::move(bytes), id, is_made && ignores_merges});
  }
  image::SegmentConfig config{};
  config.rules = image::kPatternSplits | (ignores_merges ? uint32_t{image::kPartsHaveKeys} : 0);
  ByteSet separators;  // where texts are cut (stretch/cuts.h)
  separators.Add(' ');
  std::memcpy(config.separators, separators.low, sizeof(config.separators));
  config.space_run = normalized.run_ids.empty() ? 0 : static_cast<uint32_t>(normalized.run_ids.size()) + 1;
  std::vector<SectionData> out;
  neighbours.Take(&config, &out);
  SegmentTable table = TableOf(entries, config);
  config.table_bits = table.bits;
  out.emplace_back(SectionId::kSegmentConfig, std::vector<image::SegmentConfig>{config});
  out.emplace_back(SectionId::kSegmentTable, std::move(table.entries));
  return out;
}

}  // namespace rankfeed::builder
