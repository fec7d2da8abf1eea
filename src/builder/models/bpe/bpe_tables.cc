// SPDX-License-Identifier: MIT
#include "builder/models/bpe/bpe_tables.h"

#include <algorithm>
#include <string>

#include "base/byte_alphabet.h"
#include "base/utf8.h"
#include "builder/base/code_points.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/models/bpe/space_words.h"
#include "builder/models/bpe/word_parts.h"
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
  if (!model.has(image::kByteLevel)) return BuildSpaceWords(model);
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
  config.space_run = normalized.run_ids.empty() ? 0 : static_cast<uint32_t>(normalized.run_ids.size()) + 1;
  std::vector<SectionData> out;
  neighbours.Take(&config, &out);
  AddTable(entries, &config, &out);
  return out;
}

}  // namespace rankfeed::builder
