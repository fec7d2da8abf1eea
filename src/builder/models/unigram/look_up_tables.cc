// SPDX-License-Identifier: MIT
// builder/models/unigram/look_up_tables.cc: see look_up_tables.h. The entries are what the encoder's own search
// answers, over one piece at a time. Entries come in order of falling score, so that a full bucket
// drops the rarest.
#include "builder/models/unigram/look_up_tables.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>

#include "base/narrow.h"
#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "fast/key.h"
#include "models/unigram/search.h"

namespace rankfeed::builder {
namespace {

class PathFinder {
 public:
  PathFinder(const Model& model, const Automaton& automaton) : model_(model) {
    config_.root_base = automaton.root_base;
    config_.cost_unit = automaton.cost_unit;
    model_.segment.config = config_;
    model_.pieces = trie::View(automaton.units);
    model_.segment.states = automaton.states;
    model_.segment.fails = automaton.fails;
    model_.segment.edges = automaton.edges;
    model_.segment.starts = automaton.starts;
    Layout measure(nullptr);
    search_.Carve(measure);
    memory_.resize(measure.size() + Layout::kAlignment);
    void* base = memory_.data();
    size_t space = memory_.size();
    Layout carve(std::align(Layout::kAlignment, measure.size(), base, space));
    search_.Carve(carve);
  }

  unigram::Path Solve(std::span<const uint16_t> codes, bool word_start) {
    search_.Clear();
    uint16_t padded[image::kMaxSegmentPieceChars + kVectorSlack] = {};
    std::copy(codes.begin(), codes.end(), padded);
    search_.Append(padded, Size32(codes), word_start);
    const unigram::ExactnessRule rule(model_, config_.cost_unit);
    search_.Solve(model_, kernels_, rule);
    return search_.path(0);
  }
  // Returns id i of the last Solve.
  uint32_t id(uint32_t i) const {
    return static_cast<uint32_t>(search_.ids()[search_.path(0).first_id + i]);
  }

 private:
  Model model_;
  image::SegmentConfig config_{};
  const unigram::SearchKernels& kernels_ = fast::KernelsOf(fast::ChosenIsa())->search;
  unigram::PathSearch search_;
  std::vector<unsigned char> memory_;
};

// The raw text of a segment that reaches the model as it is; false if there is none, or it is too
// long for the table.
bool Spell(std::span<const uint16_t> codes, const PieceNeighbours& neighbours,
           const Characters& characters, std::string* text) {
  image::CharInfo previous;
  for (const uint16_t code : codes) {
    const char32_t cp = neighbours.code_point[code];
    const image::CharInfo info = characters.info(cp);
    if (cp == 0 || !info.Follows(previous) || info.code() != code ||
        (cp < 0x80 && characters.separators().Has(static_cast<uint8_t>(cp)))) {
      return false;
    }
    previous = info;
    char bytes[4];
    text->append(bytes, utf8::Encode(cp, bytes));
  }
  return !text->empty() && text->size() <= image::kMaxEntryBytes;
}

// The codes of the piece that a unit of the trie spells.
void CodesOf(uint32_t unit, std::span<const trie::Unit> units, const PieceNeighbours& neighbours,
             std::vector<uint16_t>* codes) {
  codes->clear();
  for (uint32_t at = unit; at != 0; at = neighbours.parent[at]) {
    codes->push_back(static_cast<uint16_t>(trie::Label(units[at])));
  }
  std::reverse(codes->begin(), codes->end());
}

// The units of the trie that spell pieces, by falling score.
std::vector<uint32_t> UnitsOfPieces(const Model& model) {
  std::vector<uint32_t> found;
  const auto units = model.pieces.units();
  for (uint32_t i = 1; i < units.size(); ++i) {
    if (trie::Value(units[i]) != trie::kNoValue) found.push_back(i);
  }
  std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
    const uint32_t x = trie::Value(units[a]), y = trie::Value(units[b]);
    return model.scores[x] != model.scores[y] ? model.scores[x] > model.scores[y] : x < y;
  });
  return found;
}

// A segment that is one token.
struct Segment {
  fast::SegmentKey key;
  uint32_t id;
  image::PathInfo info;
};

}  // namespace

SegmentTable MakeSegmentTable(const Model& model, const PieceNeighbours& neighbours,
                              const Characters& characters, const Automaton& automaton) {
  std::vector<Segment> segments;
  PathFinder finder(model, automaton);
  std::vector<uint16_t> codes;
  std::string text;
  for (const uint32_t unit : UnitsOfPieces(model)) {
    CodesOf(unit, model.pieces.units(), neighbours, &codes);
    const bool word = neighbours.code_point[codes[0]] == WordStart(model);
    const std::span<const uint16_t> raw = std::span(codes).subspan(word ? 1 : 0);
    text.clear();
    if (!Spell(raw, neighbours, characters, &text)) continue;
    const unigram::Path path = finder.Solve(codes, word);
    if (path.count != 1 || path.flags != 0 || path.info.exact_below == 0) continue;
    const auto size = Size32(text);
    const auto key =
        fast::SegmentKey::Make(text.data(), size, fast::SegmentKey::Tag(size, word));
    segments.push_back({key, finder.id(0), path.info});
  }
  SegmentTable table = EmptySegmentTable(segments.size());
  for (const Segment& of : segments) InsertSegment(of.key, of.id, of.info, &table);
  return table;
}

SpanTable MakeSpanTable(const Model& model, const PieceNeighbours& neighbours,
                        const Automaton& automaton) {
  const uint32_t code_count = model.config->code_count;
  PathFinder finder(model, automaton);
  const auto find = [&](std::span<const uint16_t> codes) {
    image::SpanEntry span{};
    const unigram::Path path =
        finder.Solve(codes, neighbours.code_point[codes[0]] == WordStart(model));
    if (path.flags != 0 || path.info.exact_below == 0) return span;
    span.codes = codes[0] | (codes.size() > 1 ? uint32_t{codes[1]} << 16 : 0);
    for (uint32_t i = 0; i < path.count; ++i) span.ids[i] = finder.id(i);
    span.info = path.info;
    return span;
  };
  std::vector<image::SpanEntry> twos;
  for (const auto& [first, second] : neighbours.cjk) {
    const uint16_t codes[] = {first, second};
    if (const image::SpanEntry span = find(codes); span.codes != 0) twos.push_back(span);
  }
  std::stable_sort(twos.begin(), twos.end(), [](const auto& a, const auto& b) {
    return a.info.score_bound < b.info.score_bound;
  });
  SpanTable table;
  table.bits = static_cast<uint32_t>(std::bit_width(std::max<size_t>(2, twos.size()) - 1));
  table.entries.assign(image::SpanTableCount(code_count, table.bits), image::SpanEntry{});
  for (uint16_t code = 1; code < code_count; ++code) table.entries[code] = find({&code, 1});
  for (const image::SpanEntry& span : twos) {
    image::SpanEntry* const bucket =
        &table.entries[code_count + 1 + 2 * image::SpanHash(span.codes, table.bits)];
    image::SpanEntry* const at = bucket[0].codes == 0 ? bucket : bucket + 1;
    if (at->codes == 0) *at = span;
  }
  return table;
}

std::vector<uint16_t> MakeDirectCodes(const Characters& characters) {
  std::vector<uint16_t> codes(image::kDirectCodeCount, 0);
  for (char32_t cp = 1; cp < 0x10000; ++cp) {
    const image::CharInfo info = characters.info(cp);
    if (info.IsDirect() && !info.IsUnknown()) codes[cp] = static_cast<uint16_t>(info.code());
  }
  return codes;
}

}  // namespace rankfeed::builder
