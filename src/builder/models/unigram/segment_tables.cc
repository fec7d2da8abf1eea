// SPDX-License-Identifier: MIT
// builder/models/unigram/segment_tables.cc: the parts of the fast road in the order in which one needs
// the other, the first five in builder/fast:
//
//   eligibility.cc       which pipelines may take it
//   piece_neighbours.cc  which characters stand next to each other in pieces
//   charsmap_keys.cc     which characters the charsmap reads together
//   characters.cc        what each character means
//   boundaries.cc        where segments may end inside a word
//   automaton.cc         what a search walks, with what pruning.cc leaves
//   look_up_tables.cc    what needs no search
#include "builder/models/unigram/segment_tables.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "builder/fast/boundaries.h"
#include "builder/fast/characters.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/models/unigram/automaton.h"
#include "builder/models/unigram/look_up_tables.h"

namespace rankfeed::builder {
namespace {

using image::FastRoadReason;
using image::SectionId;

// Whether user-defined symbols are what their characters are one by one, of which none is read
// together with the next: then only what follows one may be read otherwise (fast/symbols.h).
bool SymbolsAreTheirCharacters(const Model& model, const Characters& characters) {
  for (const uint32_t id : PieceIds(model)) {
    const std::string_view text = model.piece(id);
    image::CharInfo previous;
    size_t size = utf8::Decode(text, 0).size;
    if (!IsUserDefined(model, id) || size == text.size()) continue;
    for (size_t at = 0; at < text.size(); at += size) {
      const utf8::Decoded c = utf8::Decode(text, at);
      const image::CharInfo info = characters.info(c.code_point);
      // White space parts segments, also where it has a code.
      if (c.code_point <= ' ' || !info.Follows(previous)) return false;
      if (info.code() != model.codes[c.code_point]) return false;
      previous = info;
      size = c.size;
    }
  }
  return true;
}

constexpr OffTheFastRoad kPunctuation{FastRoadReason::kPreTokenizer,
                                      static_cast<uint32_t>(image::Op::kPunctuation)};

std::vector<uint8_t> IdCodes(const Model& model) {
  std::vector<uint8_t> codes(model.config->id_count, 0);
  for (const uint32_t id : PieceIds(model)) {
    for (const char c : model.piece(id)) codes[id] += !utf8::IsContinuation(c);
  }
  codes[model.config->unk_id] = 0;  // it stands for any number
  return codes;
}

std::vector<SectionData> MakeSections(const Model& model, Pipeline pipeline,
                                      const Characters& characters, const Boundaries& boundaries,
                                      PieceNeighbours neighbours, Automaton automaton) {
  SegmentTable segments = MakeSegmentTable(model, neighbours, characters, automaton);
  SpanTable spans = MakeSpanTable(model, neighbours, automaton);
  image::SegmentConfig config{};
  config.rules = pipeline.rules;
  config.table_bits = segments.bits;
  config.space_code = model.codes[WordStart(model)];
  config.span_bits = spans.bits;
  config.root_base = automaton.root_base;
  config.cost_unit = automaton.cost_unit;
  const auto copy = [](const ByteSet& bytes, uint8_t(&to)[16]) {
    static_assert(sizeof(bytes.low) == sizeof(to));
    std::memcpy(to, bytes.low, sizeof(to));
  };
  copy(characters.separators(), config.separators);
  copy(boundaries.common, config.common);
  copy(boundaries.letters, config.letters);

  std::vector<SectionData> out;
  out.emplace_back(SectionId::kSegmentConfig, std::vector<image::SegmentConfig>{config});
  out.emplace_back(SectionId::kSegmentTable, std::move(segments.entries));
  characters.AddSections(&out);
  out.emplace_back(SectionId::kTrieUnits, std::move(automaton.units));
  out.emplace_back(SectionId::kAutomatonStates, std::move(automaton.states));
  out.emplace_back(SectionId::kAutomatonFails, std::move(automaton.fails));
  out.emplace_back(SectionId::kAutomatonEdges, std::move(automaton.edges));
  out.emplace_back(SectionId::kSearchStarts, std::move(automaton.starts));
  out.emplace_back(SectionId::kIdCodes, IdCodes(model));
  out.emplace_back(SectionId::kSpannedPairs, std::move(neighbours.pairs));
  out.emplace_back(SectionId::kSpanTable, std::move(spans.entries));
  out.emplace_back(SectionId::kDirectCodes, MakeDirectCodes(characters));
  return out;
}

}  // namespace

std::variant<std::vector<SectionData>, OffTheFastRoad> BuildUnigramTables(const Model& model) {
  const auto classified = Classify(model);
  if (const auto* off = std::get_if<OffTheFastRoad>(&classified)) return *off;
  Pipeline pipeline = std::get<Pipeline>(classified);
  if (!NormalizedTokensCanBeFound(model)) {
    return OffTheFastRoad{FastRoadReason::kNormalizedAddedTokens};
  }
  if (!AutomatonHasRoom(model)) return OffTheFastRoad{FastRoadReason::kManyPieces};
  PieceNeighbours neighbours = FindPieceNeighbours(model);
  if (pipeline.whole) {
    // The U+2581 between two words has to be known, or it would join the unknowns around it.
    if (neighbours.metaspace_inside) return OffTheFastRoad{FastRoadReason::kMetaspaceInsidePieces};
    if (!IsPiece(model, WordStart(model))) return OffTheFastRoad{FastRoadReason::kMetaspaceNoPiece};
  }
  const CharsmapKeys keys(model, pipeline);
  NormalizedCharacters normalized(model, keys);
  if (!pipeline.sentencepiece) {
    const OffTheFastRoad off = normalized.Compose(&pipeline);
    if (off.reason != FastRoadReason::kNone) return off;
  }
  const bool has_signs = (pipeline.rules & image::kPunctuationIsWord) != 0;
  // A late Strip would take off the begin of a stretch what would be a word in front of a sign.
  constexpr uint32_t kWithoutSigns = image::kEverySpaceIsWord | image::kDropsOtherLeft;
  if (has_signs && (pipeline.rules & kWithoutSigns) != 0) return kPunctuation;
  Characters characters(model, pipeline, keys, normalized);
  if (const FastRoadReason reason = characters.Classify(); reason != FastRoadReason::kNone) {
    return OffTheFastRoad{reason};
  }
  if (!SymbolsAreTheirCharacters(model, characters)) {
    return OffTheFastRoad{FastRoadReason::kUserDefinedSymbols};
  }
  if (has_signs && !AsciiSigns(model, characters).has_value()) return kPunctuation;
  const Boundaries boundaries = FindBoundaries(model, pipeline, neighbours, keys, normalized, &characters);
  Automaton automaton = BuildAutomaton(model, neighbours.parent);
  return MakeSections(model, pipeline, characters, boundaries, std::move(neighbours),
                      std::move(automaton));
}

}  // namespace rankfeed::builder
