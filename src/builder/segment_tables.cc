// SPDX-License-Identifier: MIT
// builder/segment_tables.cc: which pipelines may run segment by segment, and the tables for it.
//
// Eligible are SentencePiece models with the usual white space handling, and three forms of
// HuggingFace pipelines, those of published XLM-R files (A, B and C below) and their relatives:
//
//   B  [Precompiled]                              WhitespaceSplit, Metaspace(always, split)
//   A  [Precompiled], Strip(right), Replace( {2,}) Metaspace(always, split)
//   C  [Precompiled], Replace( {2,})               Metaspace(always, split)
//
// All split normalized text at spaces, with a U+2581 at the front of every word, and drop empty
// words; no piece holds a U+2581 but at its front, or words are searched one by one anyway. In A
// and C runs of spaces become one separator. C keeps a space at the end, which is then a word of
// one U+2581 (kTrailingSpaceIsWord).
//
// A raw byte separates words when it is ASCII and normalizes to one space on its own. Inside words,
// segments end between the common bytes (ASCII punctuation and digits) and characters that share no
// piece with them. Which bytes are common is read off the pieces: a byte that is next to an ASCII
// letter in some piece is not common, and a character next to a common byte is loose. Two unknown
// characters never meet there, because common bytes are pieces themselves.
//
// Normalization by single characters is exact because a character is marked when it could be read
// together with the one before it. HuggingFace's Precompiled works on grapheme clusters (tokenizers
// 0.23.2 normalizers/precompiled.rs): clusters shorter than 6 bytes are replaced as a whole when a
// key is a prefix of them. A mark sends its segment through the normalizer if that may happen to it
// and the character before it (kCharMarks): if that is a key, or begins some and the mark stands
// later in some, and both are short enough together. A separator begins no longer key, and where it
// is a key itself it is a control, which marks do not join. SentencePiece takes the longest key
// there is, so there every character that stands second or later in a key plays the mark's part. A
// character that begins such a key is loose if the replacement might share a piece with a common
// byte, and no common byte itself.
#include "builder/segment_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "builder/automaton.h"
#include "base/byte_set.h"
#include "normalize/charsmap.h"
#include "normalize/precompiled.h"
#include "base/utf8.h"
#include "segment/search.h"
#include "segment/key.h"

namespace rankfeed::builder {
namespace {

constexpr char32_t kSpaceMark = 0x2581;
constexpr std::string_view kSpaceMarkBytes = "\xe2\x96\x81";

enum class Form { kWhitespaceSplit, kStripped, kTrailing, kSentencePiece };

bool Is(const image::Step& step, image::Op op) { return step.op == static_cast<uint32_t>(op); }

struct Pipeline {
  Form form;
  bool precompiled;
};

// What the search over costs needs of the pieces.
bool CostsFit(const Model& model) {
  // Two unknown characters must never beat a piece that spells them, so that no fused unknown is in
  // the vocabulary: unk_score is min_score - 10.
  if (model.config->unk_score >= -10 || model.config->unk_score < -1e9) return false;
  for (const double score : model.scores) {
    if (score > 0) return false;
  }
  return model.config->max_piece_chars <= image::kMaxSegmentPieceChars &&
         model.config->code_count + 1 < trie::kEmptyLabel;
}

std::optional<Pipeline> ClassifySentencePiece(const Model& model) {
  if (!model.user_defined.empty() || !model.has(image::kAddDummyPrefix) ||
      !model.has(image::kRemoveExtraWhitespaces) || !model.has(image::kEscapeWhitespaces) ||
      model.has(image::kTreatWhitespaceAsSuffix)) {
    return std::nullopt;
  }
  // Several spaces in one replacement do not collapse, and a U+2581 in one is a space too.
  const std::string_view pool(model.charsmap_pool.data(), model.charsmap_pool.size());
  if (pool.find("  ") != std::string_view::npos ||
      pool.find(kSpaceMarkBytes) != std::string_view::npos) {
    return std::nullopt;
  }
  return Pipeline{Form::kSentencePiece, !model.charsmap_units.empty()};
}

std::optional<Pipeline> Classify(const Model& model) {
  if (model.has(image::kByteFallback) || model.config->unk_id == image::kNoId ||
      !CostsFit(model)) {
    return std::nullopt;
  }
  if (!model.huggingface()) return ClassifySentencePiece(model);
  if (!model.added_normalized.empty()) return std::nullopt;

  auto steps = model.normalizer;
  Pipeline pipeline{};
  if (!steps.empty() && Is(steps[0], image::Op::kPrecompiled)) {
    pipeline.precompiled = true;
    steps = steps.subspan(1);
  }
  bool strip = false, collapse = false;
  if (!steps.empty() && Is(steps[0], image::Op::kStrip)) {
    if (steps[0].arg0 != 0 || steps[0].arg1 == 0) return std::nullopt;  // right only
    strip = true;
    steps = steps.subspan(1);
  }
  if (!steps.empty() && Is(steps[0], image::Op::kReplaceRun)) {
    const std::string_view b = model.text(steps[0].b);
    if (model.text(steps[0].a) != " " || steps[0].arg0 != 2 || (b != " " && b != kSpaceMarkBytes)) {
      return std::nullopt;
    }
    collapse = true;
    steps = steps.subspan(1);
  }
  if (!steps.empty()) return std::nullopt;

  auto splits = model.pre_tokenizer;
  bool whitespace_split = false;
  if (!splits.empty() && Is(splits[0], image::Op::kWhitespaceSplit)) {
    whitespace_split = true;
    splits = splits.subspan(1);
  }
  if (splits.size() != 1 || !Is(splits[0], image::Op::kMetaspace) ||
      model.text(splits[0].a) != kSpaceMarkBytes || splits[0].arg0 != image::kPrependAlways ||
      splits[0].arg1 == 0) {
    return std::nullopt;
  }
  if (whitespace_split) {
    if (strip || collapse) return std::nullopt;  // harmless together, but not seen in any file
    pipeline.form = Form::kWhitespaceSplit;
  } else {
    if (!collapse) return std::nullopt;  // every further space would be a word
    pipeline.form = strip ? Form::kStripped : Form::kTrailing;
  }
  return pipeline;
}

// Charsmap units, as normalize/charsmap.h. Units were checked when the image was opened.
constexpr size_t Offset(uint32_t u) { return static_cast<size_t>(u >> 10) << ((u & 0x200) >> 6); }

class Tables {
 public:
  Tables(const Model& model, Pipeline pipeline)
      : model_(model),
        pipeline_(pipeline),
        charsmap_(model.charsmap_units, model.charsmap_pool) {}

  // Which characters are next to each other in some piece. False when a U+2581 stands inside a
  // piece of a model whose words are one search.
  bool FindNeighbours() {
    const auto units = model_.pieces.units();
    // No two nodes share a base, so a child's place less its label names its parent.
    std::vector<uint32_t> owner(units.size(), 0);
    for (uint32_t i = 1; i < units.size(); ++i) {
      if (trie::Label(units[i]) != trie::kEmptyLabel) owner[trie::Base(units[i])] = i;
    }
    owner[trie::Base(units[0])] = 0;
    parent_.assign(units.size(), 0);
    pairs_.assign(image::kPairBits / 64, 0);
    code_point_.assign(model_.config->code_count, 0);
    for (char32_t cp = 0; cp < 0x110000; ++cp) {
      if (model_.codes[cp] != 0) code_point_[model_.codes[cp]] = cp;
    }
    const uint32_t space = model_.codes[kSpaceMark];
    for (uint32_t i = 1; i < units.size(); ++i) {
      const uint32_t code = trie::Label(units[i]);
      if (code == trie::kEmptyLabel) continue;
      parent_[i] = owner[i - code];
      if (parent_[i] == 0) continue;
      const uint32_t before = trie::Label(units[parent_[i]]);
      if (code == space && pipeline_.form == Form::kSentencePiece) return false;
      const uint32_t bit = image::PairBit(before, code);
      pairs_[bit / 64] |= uint64_t{1} << bit % 64;
      const char32_t a = code_point_[before], b = code_point_[code];
      if (MaybeCommon(a) || MaybeCommon(b)) neighbours_.insert({a, b});
      if (std::max(a, b) >= image::kFirstCjk) {
        has_cjk_.insert({static_cast<uint16_t>(before), static_cast<uint16_t>(code)});
      }
    }
    // The U+2581 between two words has to be known, or it would join the unknowns around it.
    return pipeline_.form != Form::kSentencePiece || IsPiece(kSpaceMark);
  }

  bool FindSeparators() {
    if (pipeline_.precompiled) CollectJoins();
    bool is_separator[128] = {};
    for (uint32_t b = 1; b < 128; ++b) {
      const char byte = static_cast<char>(b);
      const std::string_view c(&byte, 1);
      const std::string_view normal = Normalized(c);
      const bool unmapped_space = normal == c && WhiteSpace(b) &&
                                  pipeline_.form == Form::kWhitespaceSplit;
      is_separator[b] = normal == " " || unmapped_space;
      if (is_separator[b]) {
        if (pipeline_.precompiled && SomeKeyBegins(c, /*proper=*/true)) return false;
        if (pipeline_.form == Form::kSentencePiece) {
          if (later_.contains(b)) return false;
        } else if (pipeline_.precompiled && charsmap_.Shortest(c) && !BreaksClusters(b)) {
          return false;  // it would replace a mark behind it too
        }
        separators_.Add(static_cast<uint8_t>(b));
      }
    }
    // CR LF is one cluster and becomes what CR becomes.
    return is_separator[int{'\r'}] == is_separator[int{'\n'}];
  }

  bool ClassifyCharacters() {
    info_.assign(0x110000, 0);
    mapped_.clear();
    for (char32_t cp = 0; cp < 0x110000; ++cp) {
      if (cp >= 0xd800 && cp < 0xe000) {  // not in any text, but in three bytes that are no UTF-8
        info_[cp] = image::kCharGeneralPath;
        continue;
      }
      char bytes[4];
      const std::string_view c(bytes, utf8::Encode(cp, bytes));
      uint32_t info = pipeline_.precompiled ? JoinFlags(cp, c) : 0;
      // A cluster may join a Prepend character with a separator after it.
      if (pipeline_.form != Form::kSentencePiece && pipeline_.precompiled &&
          GraphemeOf(cp) == image::kGraphemePrepend) {
        if (SomeKeyBegins(c, false)) return false;
        info |= image::kCharNormalizes;
      }
      info_[cp] = info | Meaning(cp, c);
    }
    return true;
  }

  // The greatest set of ASCII bytes other than letters that are pieces, stay as they are, join
  // nothing, and share no piece with an ASCII letter.
  void FindCommonBytes() {
    constexpr uint32_t kNotCommon = image::kCharExpands | image::kCharNormalizes | image::kCharGeneralPath |
                                    image::kCharMarks | image::kCharBases | image::kCharSpace;
    for (char32_t cp = 0x21; cp < 0x7f; ++cp) {
      common_[cp] = MaybeCommon(cp) && (info_[cp] & kNotCommon) == 0 && IsPiece(cp);
    }
    for (const auto& [a, b] : neighbours_) {
      if (a < 0x80 && IsLetter(b)) common_[a] = false;
      if (b < 0x80 && IsLetter(a)) common_[b] = false;
    }
  }

  void MarkLooseCharacters() {
    std::set<char32_t> loose;  // next to a common byte in some piece
    for (const auto& [a, b] : neighbours_) {
      if (Common(a) && !Common(b)) loose.insert(b);
      if (Common(b) && !Common(a)) loose.insert(a);
    }
    const auto is_loose = [&](char32_t cp) { return Common(cp) || loose.contains(cp); };
    // Characters that may become, with those after them, something that ends a word or shares a
    // piece with a common byte before them. The last of a key is a mark, so the other side needs no
    // such look.
    std::set<char32_t> joined;
    for (const auto& [first, begin] : joins_) {
      if (begin == ' ' || begin == kSpaceMark || is_loose(begin)) joined.insert(first);
    }
    // HuggingFace's marks are only where another character swallows them (segment/scan.cc).
    const uint32_t loose_flags =
        image::kCharNormalizes | image::kCharGeneralPath | image::kCharSpace |
        (pipeline_.form == Form::kSentencePiece ? uint32_t{image::kCharMarks} : 0);
    for (char32_t cp = 0; cp < 0x110000; ++cp) {
      if (Common(cp)) continue;
      const uint32_t info = info_[cp];
      bool mark = (info & loose_flags) != 0;
      if ((info & image::kCharExpands) != 0) {
        const uint16_t* list = mapped_.data() + (info & image::kCharCodeMask);
        mark |= list[0] == 0;
        for (uint32_t i = 1; i <= list[0]; ++i) {
          mark |= list[i] < model_.config->code_count && is_loose(code_point_[list[i]]);
        }
      } else {
        const uint32_t code = info & image::kCharCodeMask;
        mark |= code < model_.config->code_count && code != 0 && is_loose(code_point_[code]);
      }
      mark |= joined.contains(cp);
      if (mark) info_[cp] |= image::kCharNoBoundary;
      if (cp < 0x80 && IsLetter(cp) && !mark) letters_.Add(static_cast<uint8_t>(cp));
    }
    for (uint8_t b = 0; b < 0x80; ++b) {
      if (Common(b)) common_set_.Add(b);
    }
  }

  bool BuildAutomaton() {
    automaton_ = builder::BuildAutomaton(model_, parent_);
    scores_.assign(model_.config->id_count, 0);
    for (size_t v = 0; v < model_.scores.size(); ++v) {
      scores_[model_.value_ids[v]] = model_.scores[v];
    }
    return !automaton_.states.empty();
  }

  // Every piece that is a segment as it stands and wins its own search. Values are in order of
  // falling score, so that a full bucket drops the rarest.
  void FillSegmentTable() {
    std::vector<uint32_t> unit_of(model_.value_ids.size(), 0);
    const auto units = model_.pieces.units();
    for (uint32_t i = 1; i < units.size(); ++i) {
      if (trie::Value(units[i]) != trie::kNoValue) unit_of[trie::Value(units[i])] = i;
    }
    struct Word {
      std::string text;
      bool start;
      image::SegmentEntry entry{};
    };
    std::vector<Word> words;
    PathFinder finder(model_, *this);
    std::vector<uint16_t> codes;
    for (const uint32_t unit : unit_of) {
      codes.clear();
      for (uint32_t u = unit; u != 0; u = parent_[u]) {
        codes.push_back(static_cast<uint16_t>(trie::Label(units[u])));
      }
      std::reverse(codes.begin(), codes.end());
      Word word;
      word.start = code_point_[codes[0]] == kSpaceMark;
      if (!Spell(std::span(codes).subspan(word.start ? 1 : 0), &word.text)) continue;
      const segment::Path path = finder.Solve(codes, word.start);
      if (path.count != 1 || path.flags != 0 || path.info.exact_below == 0) continue;
      word.entry.id = finder.id(0);
      word.entry.info = path.info;
      words.push_back(std::move(word));
    }
    table_bits_ = static_cast<uint32_t>(
        std::countr_zero(std::bit_ceil(std::max<size_t>(1, words.size() / 2))));
    table_.assign((size_t{2} << table_bits_) + 1, image::SegmentEntry{});
    for (Word& word : words) {
      const auto size = static_cast<uint32_t>(word.text.size());
      const auto key = segment::SegmentKey::Make(word.text.data(), size,
                                            segment::SegmentKey::Tag(size, word.start));
      image::SegmentEntry* bucket = &table_[2 * (key.Hash() & ((uint64_t{1} << table_bits_) - 1))];
      // Entries of a bucket differ in the first parts of their keys.
      image::SegmentEntry* entry = bucket[0].info.count == 0   ? bucket
                                : bucket[1].info.count == 0 ? bucket + 1
                                                            : nullptr;
      if (entry == nullptr || bucket[0].key[0] == key.part[0]) continue;
      std::copy_n(key.part, 3, word.entry.key);
      *entry = word.entry;
    }
  }

  // Every character, and every two neighbours in some piece one of which is from image::kFirstCjk
  // on. Those of two in order of falling score, so that a full bucket drops the rarest.
  void FillPartTable() {
    const uint32_t code_count = model_.config->code_count;
    PathFinder finder(model_, *this);
    const auto find = [&](std::span<const uint16_t> codes) {
      image::SpanEntry part{};
      const segment::Path path = finder.Solve(codes, code_point_[codes[0]] == kSpaceMark);
      if (path.flags != 0 || path.info.exact_below == 0) return part;
      part.codes = codes[0] | (codes.size() > 1 ? uint32_t{codes[1]} << 16 : 0);
      for (uint32_t i = 0; i < path.count; ++i) part.ids[i] = finder.id(i);
      part.info = path.info;
      return part;
    };
    std::vector<image::SpanEntry> twos;
    for (const auto& [first, second] : has_cjk_) {
      const uint16_t codes[] = {first, second};
      if (const image::SpanEntry part = find(codes); part.codes != 0) twos.push_back(part);
    }
    std::stable_sort(twos.begin(), twos.end(), [](const auto& a, const auto& b) {
      return a.info.score_bound < b.info.score_bound;
    });
    part_bits_ = static_cast<uint32_t>(
        std::countr_zero(std::bit_ceil(std::max<size_t>(2, twos.size()))));
    part_table_.assign(image::SpanTableCount(code_count, part_bits_), image::SpanEntry{});
    for (uint16_t code = 1; code < code_count; ++code) part_table_[code] = find({&code, 1});
    for (const image::SpanEntry& part : twos) {
      image::SpanEntry* const bucket =
          &part_table_[code_count + 1 + 2 * image::SpanHash(part.codes, part_bits_)];
      image::SpanEntry* const at = bucket[0].codes == 0 ? bucket : bucket + 1;
      if (at->codes == 0) *at = part;
    }
  }

  // By code point.
  void FillPlainTable() {
    constexpr uint32_t kCodeOnly = image::kCharCodeMask | image::kCharBases | image::kCharNoBoundary;
    plain_codes_.assign(image::kDirectCodeCount, 0);
    for (char32_t cp = 1; cp < 0x10000; ++cp) {
      if ((info_[cp] & ~kCodeOnly) == 0) plain_codes_[cp] = static_cast<uint16_t>(info_[cp]);
    }
  }

  std::vector<SectionData> Sections() const {
    image::SegmentConfig config{};
    config.rules = pipeline_.form == Form::kTrailing ? uint32_t{image::kTrailingSpaceIsWord} : 0;
    config.table_bits = table_bits_;
    config.space_code = model_.codes[kSpaceMark];
    config.span_bits = part_bits_;
    config.root_base = automaton_.root_base;
    config.cost_unit = automaton_.cost_unit;
    std::memcpy(config.separators, separators_.low, sizeof(config.separators));
    std::memcpy(config.common, common_set_.low, sizeof(config.common));
    std::memcpy(config.letters, letters_.low, sizeof(config.letters));

    std::vector<uint16_t> blocks;
    std::vector<uint32_t> chars;
    std::map<std::vector<uint32_t>, uint16_t> known;
    for (size_t block = 0; block < image::kCodePointBlocks; ++block) {
      const std::vector<uint32_t> content(info_.begin() + static_cast<ptrdiff_t>(block * 256),
                                          info_.begin() + static_cast<ptrdiff_t>(block * 256 + 256));
      const auto next = static_cast<uint16_t>(chars.size() / 256);
      const auto [it, added] = known.try_emplace(content, next);
      const bool basic = block < image::kBasicBlocks;
      if (added || basic) chars.insert(chars.end(), content.begin(), content.end());
      blocks.push_back(basic ? next : it->second);
    }
    const auto section = [](image::SectionId id, const auto* data, size_t count) {
      return SectionData{id, static_cast<uint32_t>(sizeof(*data)),
                         std::string(reinterpret_cast<const char*>(data), count * sizeof(*data))};
    };
    return {
        section(image::SectionId::kSegmentConfig, &config, 1),
        section(image::SectionId::kSegmentTable, table_.data(), table_.size()),
        section(image::SectionId::kCharInfoBlocks, blocks.data(), blocks.size()),
        section(image::SectionId::kCharInfo, chars.data(), chars.size()),
        section(image::SectionId::kExpansions, mapped_.data(), mapped_.size()),
        section(image::SectionId::kAutomatonUnits, automaton_.units.data(), automaton_.units.size()),
        section(image::SectionId::kAutomatonStates, automaton_.states.data(), automaton_.states.size()),
        section(image::SectionId::kAutomatonFails, automaton_.fails.data(), automaton_.fails.size()),
        section(image::SectionId::kAutomatonEdges, automaton_.edges.data(), automaton_.edges.size()),
        section(image::SectionId::kSearchStarts, automaton_.begins.data(), automaton_.begins.size()),
        section(image::SectionId::kIdScores, scores_.data(), scores_.size()),
        section(image::SectionId::kSpannedPairs, pairs_.data(), pairs_.size()),
        section(image::SectionId::kSpanTable, part_table_.data(), part_table_.size()),
        section(image::SectionId::kDirectCodes, plain_codes_.data(), plain_codes_.size())};
  }

 private:
  // The encoder's own search, over one piece at a time.
  class PathFinder {
   public:
    PathFinder(const Model& model, const Tables& tables) : model_(model) {
      config_.root_base = tables.automaton_.root_base;
      config_.cost_unit = tables.automaton_.cost_unit;
      model_.segment.config = config_;
      model_.segment.units = tables.automaton_.units;
      model_.segment.states = tables.automaton_.states;
      model_.segment.fails = tables.automaton_.fails;
      model_.segment.edges = tables.automaton_.edges;
      model_.segment.starts = tables.automaton_.begins;
      Layout measure(nullptr);
      stream_.Carve(measure);
      memory_.resize(measure.size() + Layout::kAlignment);
      void* base = memory_.data();
      size_t space = memory_.size();
      Layout carve(std::align(Layout::kAlignment, measure.size(), base, space));
      stream_.Carve(carve);
    }
    segment::Path Solve(std::span<const uint16_t> codes, bool word_start) {
      stream_.Clear();
      uint16_t padded[image::kMaxSegmentPieceChars + segment::kVectorSlack] = {};
      std::copy(codes.begin(), codes.end(), padded);
      stream_.Append(padded, static_cast<uint32_t>(codes.size()), word_start);
      const segment::ExactnessRule rule(model_, config_.cost_unit);
      stream_.Solve(model_, kernels_, rule);
      return stream_.path(0);
    }
    // Of the last Solve.
    uint32_t id(uint32_t i) const {
      return static_cast<uint32_t>(stream_.ids()[stream_.path(0).first_id + i]);
    }

   private:
    Model model_;
    image::SegmentConfig config_{};
    const segment::KernelTable& kernels_ = *segment::KernelsOf(segment::ChosenIsa());
    segment::PathSearch stream_;
    std::vector<unsigned char> memory_;
  };

  static bool IsLetter(char32_t cp) { return (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z'; }
  static bool MaybeCommon(char32_t cp) { return cp > 0x20 && cp < 0x7f && !IsLetter(cp); }
  bool WhiteSpace(char32_t cp) const {
    return model_.props.present() && (model_.props[cp] & image::kWhiteSpace) != 0;
  }
  bool BreaksClusters(char32_t cp) const {
    const uint32_t is = GraphemeOf(cp);
    return is == image::kGraphemeControl || is == image::kGraphemeCr || is == image::kGraphemeLf;
  }
  uint32_t GraphemeOf(char32_t cp) const { return model_.props[cp] & image::kGraphemeMask; }
  bool Common(char32_t cp) const { return cp < 0x80 && common_[cp]; }
  bool IsPiece(char32_t cp) const {
    trie::Unit u = model_.pieces.root();
    return model_.codes[cp] != 0 && model_.pieces.Step(u, model_.codes[cp]) &&
           trie::Value(u) != trie::kNoValue;
  }
  uint16_t CodeOf(char32_t cp) const {
    const uint16_t code = model_.codes[cp];
    return code != 0 ? code : static_cast<uint16_t>(model_.config->code_count);
  }
  // The same as a CharInfo.
  uint32_t CharOf(char32_t cp) const {
    return CodeOf(cp) | (IsPiece(cp) ? 0 : uint32_t{image::kCharUnknown});
  }

  // Whether some key of the charsmap is longer than prefix and begins with it, or equals it.
  bool SomeKeyBegins(std::string_view prefix, bool proper) const {
    const auto units = model_.charsmap_units;
    if (units.empty()) return false;
    size_t node = Offset(units[0]);
    uint32_t unit = 0;
    for (const char c : prefix) {
      const auto byte = static_cast<unsigned char>(c);
      node ^= byte;
      if (node >= units.size()) return false;
      unit = units[node];
      if ((unit & 0x800000ffu) != byte) return false;
      node ^= Offset(unit);
    }
    if (!proper && (unit & 0x100) != 0) return true;
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const size_t child = node ^ byte;
      if (child < units.size() && (units[child] & 0x800000ffu) == byte) return true;
    }
    return false;
  }

  // Keys of several characters. They were checked to be UTF-8 and finite when the file was read
  // (builder/charsmap_check.cc).
  void CollectJoins() {
    if (!model_.charsmap_units.empty()) CollectJoins(Offset(model_.charsmap_units[0]), "");
  }
  void CollectJoins(size_t node, std::string key) {
    const auto units = model_.charsmap_units;
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const size_t child = node ^ byte;
      if (child >= units.size() || (units[child] & 0x800000ffu) != byte) continue;
      key.push_back(static_cast<char>(byte));
      const utf8::Decoded first = utf8::Decode(key, 0);
      if ((units[child] & 0x100) != 0 && first.size < key.size()) {
        const std::string_view value = charsmap_.Longest(key).replacement;
        joins_.insert({first.code_point, value.empty() ? U' ' : utf8::Decode(value, 0).code_point});
        for (size_t pos = first.size; pos < key.size();) {
          const utf8::Decoded c = utf8::Decode(key, pos);
          pos += c.size;
          if (pipeline_.form != Form::kSentencePiece && pos >= normalize::kWholeClusterBytes) break;
          first_.insert(first.code_point);
          later_.insert(c.code_point);
        }
      }
      CollectJoins(child ^ Offset(units[child]), key);
      key.pop_back();
    }
  }

  // One character through the charsmap, on its own.
  std::string_view Normalized(std::string_view c) const {
    if (!pipeline_.precompiled) return c;
    const CharsmapMatch match = pipeline_.form == Form::kSentencePiece ? charsmap_.Longest(c)
                                                                       : charsmap_.Shortest(c);
    return match ? match.replacement : c;
  }

  uint32_t JoinFlags(char32_t cp, std::string_view c) const {
    uint32_t marks = later_.contains(cp) ? uint32_t{image::kMarkAfterKey} : 0;
    uint32_t bases = first_.contains(cp) ? uint32_t{image::kMarkAfterKey} : 0;
    if (pipeline_.form == Form::kSentencePiece) return marks | bases << image::kCharBaseShift;
    // The shortest key that a cluster begins with replaces all of it, the marks behind that too.
    marks |= c.size() <= 2 ? image::kMarkOfTwoBytes : image::kMarkOfMoreBytes;
    if (charsmap_.Shortest(c)) {
      if (c.size() + 2 < normalize::kWholeClusterBytes) bases |= image::kMarkOfTwoBytes;
      if (c.size() + 3 < normalize::kWholeClusterBytes) bases |= image::kMarkOfMoreBytes;
    }
    const uint32_t info = bases << image::kCharBaseShift;
    switch (GraphemeOf(cp)) {
      case image::kGraphemeExtend: case image::kGraphemeZwj: case image::kGraphemeSpacingMark:
      case image::kGraphemeLinker: case image::kGraphemeZwnj:
        return info | marks;
    }
    return info;
  }

  uint32_t Meaning(char32_t cp, std::string_view c) {
    const bool sentencepiece = pipeline_.form == Form::kSentencePiece;
    if (cp == 0 && sentencepiece) return image::kCharGeneralPath;  // ends keys in no reference's tests
    const std::string_view normal = Normalized(c);
    if (normal == c) {
      if (cp == kSpaceMark) return image::kCharGeneralPath;
      if (!sentencepiece && WhiteSpace(cp)) {
        if (pipeline_.form == Form::kWhitespaceSplit) return image::kCharSpace;
        // May be stripped from the end of the text: leave it to the general path.
        if (pipeline_.form == Form::kStripped) return image::kCharGeneralPath;
      }
      return CharOf(cp);
    }
    if (normal == " ") return image::kCharSpace;
    std::vector<uint16_t> list = {0};
    bool spaces = false;
    for (size_t at = 0; at < normal.size();) {
      const utf8::Decoded out = utf8::Decode(normal, at);
      at += out.size;
      if (out.code_point == ' ') {
        list.push_back(0);
        spaces = true;
        continue;
      }
      if (out.code_point == kSpaceMark || (!sentencepiece && WhiteSpace(out.code_point))) {
        return image::kCharGeneralPath;
      }
      list.push_back(CodeOf(out.code_point));
    }
    // ASCII bytes that change stay apart from those that are themselves (FindCommonBytes).
    if (list.size() == 2 && cp >= 0x80) return CharOf(utf8::Decode(normal, 0).code_point);
    list[0] = static_cast<uint16_t>(list.size() - 1);
    if (list[0] > image::kMaxExpansionCodes) return image::kCharNormalizes;
    const auto [it, added] = lists_.try_emplace(list, static_cast<uint32_t>(mapped_.size()));
    if (added) {
      if (mapped_.size() + list.size() > image::kCharCodeMask) {
        lists_.erase(it);
        return image::kCharNormalizes;
      }
      mapped_.insert(mapped_.end(), list.begin(), list.end());
    }
    return image::kCharExpands | (spaces ? uint32_t{image::kCharSpace} : 0) | it->second;
  }

  // The raw text of a segment that reaches the model as it is; false if there is none, or it is too
  // long for the table.
  bool Spell(std::span<const uint16_t> codes, std::string* text) const {
    constexpr uint32_t kNotPlain = image::kCharExpands | image::kCharNormalizes | image::kCharGeneralPath |
                                   image::kCharSpace;
    uint32_t joining = 0;
    for (const uint16_t code : codes) {
      const char32_t cp = code_point_[code];
      if (cp == 0 || (info_[cp] & (kNotPlain | joining)) != 0 ||
          (info_[cp] & image::kCharCodeMask) != code ||
          (cp < 0x80 && separators_.Has(static_cast<uint8_t>(cp)))) {
        return false;
      }
      joining = image::JoiningMarks(info_[cp]);
      char bytes[4];
      text->append(bytes, utf8::Encode(cp, bytes));
    }
    return !text->empty() && text->size() <= image::kMaxEntryBytes;
  }

  const Model& model_;
  const Pipeline pipeline_;
  const Charsmap charsmap_;
  std::vector<uint32_t> parent_;       // by unit
  std::vector<char32_t> code_point_;   // by code
  std::set<std::pair<char32_t, char32_t>> neighbours_;  // one of them MaybeCommon
  // In keys of several characters, without those that only end clusters that are too long to be
  // looked up (HuggingFace).
  std::set<char32_t> first_, later_;
  // Of keys of several characters, the first and what the replacement begins with; a space for
  // none.
  std::set<std::pair<char32_t, char32_t>> joins_;
  bool common_[128] = {};
  ByteSet separators_, common_set_, letters_;
  std::vector<uint32_t> info_;
  std::vector<uint16_t> mapped_;
  std::map<std::vector<uint16_t>, uint32_t> lists_;
  Automaton automaton_;
  std::vector<uint64_t> pairs_;
  std::set<std::pair<uint16_t, uint16_t>> has_cjk_;  // neighbours, by code
  std::vector<double> scores_;
  uint32_t table_bits_ = 0;
  std::vector<image::SegmentEntry> table_;
  uint32_t part_bits_ = 0;
  std::vector<image::SpanEntry> part_table_;
  std::vector<uint16_t> plain_codes_;
};

}  // namespace

std::vector<SectionData> BuildSegmentTables(const Model& model) {
  const std::optional<Pipeline> pipeline = Classify(model);
  if (!pipeline || model.codes[kSpaceMark] == 0) return {};
  Tables tables(model, *pipeline);
  if (!tables.FindNeighbours() || !tables.FindSeparators() || !tables.ClassifyCharacters()) {
    return {};
  }
  tables.FindCommonBytes();
  tables.MarkLooseCharacters();
  if (!tables.BuildAutomaton()) return {};
  tables.FillSegmentTable();
  tables.FillPartTable();
  tables.FillPlainTable();
  return tables.Sections();
}

}  // namespace rankfeed::builder
