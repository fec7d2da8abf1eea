// SPDX-License-Identifier: MIT
// image/verify.cc: one linear pass over an image. Each rule names the code that relies on it.
// Cost: XXH3 over the image plus one look at each unit, entry and string; no memory.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error_detail.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "image/fast_road.h"
#include "image/reader.h"
#include "image/search_start.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::image {
namespace {

class Verifier {
 public:
  Verifier(const Model& model, rankfeed_error_detail* detail) : m_(model), detail_(detail) {}

  rankfeed_status Run() {
    Checksum();
    ConfigRules();
    if (status_ != RANKFEED_OK) return status_;  // what follows counts by these
    Tables();
    Tries();
    Strings();
    Ids();
    Steps();
    Templates();
    Charsmap(SectionId::kCharsmapUnits, m_.charsmap_units, SectionId::kCharsmapPool,
             m_.charsmap_pool);
    Charsmap(SectionId::kDenormUnits, m_.denorm_units, SectionId::kDenormPool, m_.denorm_pool);
    UnicodeTables();
    Merges();
    Segments();
    return status_;
  }

 private:
  // First violated rule wins; item is the element at fault.
  bool Require(bool rule, SectionId section, size_t item = 0) {
    if (!rule && status_ == RANKFEED_OK) {
      status_ = Fail(detail_, RANKFEED_E_IMAGE_STRUCTURE, 0, static_cast<uint32_t>(section),
                     static_cast<uint32_t>(item));
    }
    return status_ == RANKFEED_OK;
  }

  void Checksum() {
    const XXH128_hash_t hash =
        XXH3_128bits(m_.image + kChecksumFrom, m_.image_size - kChecksumFrom);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    if (std::memcmp(canonical.digest, m_.header->checksum, sizeof(m_.header->checksum)) != 0) {
      status_ = Fail(detail_, RANKFEED_E_IMAGE_CHECKSUM, offsetof(Header, checksum));
    }
  }

  bool IdOrNone(uint32_t id) const { return id == kNoId || id < m_.config->id_count; }

  void ConfigRules() {
    const Config& c = *m_.config;
    Require(c.parity <= RANKFEED_PARITY_SENTENCEPIECE, SectionId::kConfig);
    // Ids are int32_t in the C API.
    Require(c.id_count < 0x7fffffff, SectionId::kConfig);
    // models/unigram/best_path.h steps at most max_piece_chars characters and needs one,
    // normalize/sp_normalize.cc as many bytes.
    Require(c.max_piece_chars > 0 && c.max_piece_chars <= c.max_piece_bytes, SectionId::kConfig);
    Require(c.max_piece_bytes <= kMaxStringBytes, SectionId::kConfig);
    // So kEmptyLabel is no code. There is one at least: Tries() asks each entry of kCodes for less.
    Require(c.code_count <= trie::kMaxCodes, SectionId::kConfig);
    for (const uint32_t id :
         {c.unk_id, c.bos_id, c.eos_id, c.pad_id, c.cls_id, c.sep_id, c.mask_id}) {
      Require(IdOrNone(id), SectionId::kConfig);
    }
    Require(std::isfinite(c.unk_score), SectionId::kConfig);
    ModelKindRules();
    FastRoad();
    for (const Text t : {c.unk_surface, c.unk_piece, c.source_name, c.family}) {
      Require(InStrings(t), SectionId::kConfig);
    }
  }

  // reference/hf_encode.cc asks the kind; models/wordpiece/greedy.cc walks the prefix for each text.
  void ModelKindRules() {
    const Config& c = *m_.config;
    Require(c.model_kind <= static_cast<uint32_t>(ModelKind::kBpe), SectionId::kConfig);
    Require(!m_.wordpiece() || m_.huggingface(), SectionId::kConfig);
    Require(ValidText(c.continuing_prefix) && c.continuing_prefix.size <= kMaxStringBytes,
            SectionId::kConfig);
    Require(m_.wordpiece() || (c.max_input_chars == 0 && c.continuing_prefix.size == 0),
            SectionId::kConfig);
    // A symbol is made of each byte of a text.
    Require(!m_.has(kByteLevel) || (m_.bpe() && m_.byte_ids.size() == 256), SectionId::kByteIds);
  }

  // Requires that the stated reason is so: whoever asks for it is told nothing else.
  void FastRoad() {
    const Config& c = *m_.config;
    Require(c.fast_road_reason <= kLastFastRoadReason, SectionId::kConfig);
    Require((c.fast_road_reason == 0) == m_.segment.config.has_value(), SectionId::kSegmentConfig);
    const OpInfo* const op = FindOp(c.fast_road_op);
    const auto reason = static_cast<FastRoadReason>(c.fast_road_reason);
    const Part part =
        reason == FastRoadReason::kNormalizer ? Part::kNormalizer : Part::kPreTokenizer;
    Require(AboutAnElement(reason) ? op != nullptr && op->part == part : c.fast_road_op == 0,
            SectionId::kConfig);
  }

  // trie::View::Step reads unit base + code: in bounds for every code of the trie.
  void Trie(SectionId id, std::span<const trie::Unit> units, uint32_t codes, uint32_t values) {
    uint32_t bad_base = 0, bad_value = 0;  // branch-free, so the pass runs at memory speed
    for (const trie::Unit u : units) {
      bad_base |= trie::Base(u) + codes > units.size();
      bad_value |= uint32_t{trie::Value(u) >= values} & uint32_t{trie::Value(u) != trie::kNoValue};
    }
    Require(!bad_base && !bad_value, id);
  }

  // stretch/added_tokens.h steps along whole characters from any byte that some token begins with. From
  // one inside a character a split would begin there, and what reads it goes by first bytes.
  void AddedTrie(SectionId id, const trie::View& trie, uint32_t tokens) {
    Trie(id, trie.units(), 257, tokens);
    for (uint32_t byte = 0x80; byte < 0xc0 && !trie.empty() && status_ == RANKFEED_OK; ++byte) {
      trie::Unit unit = trie.root();
      if (trie.Step(unit, byte + 1)) Require(false, id, byte);
    }
  }

  void Tries() {
    const Config& c = *m_.config;
    Trie(SectionId::kTrieUnits, m_.pieces.units(), c.code_count, c.id_count);
    const auto added = Size32(m_.added_tokens);
    AddedTrie(SectionId::kAddedTrieRaw, m_.added_raw, added);
    AddedTrie(SectionId::kAddedTrieNormalized, m_.added_normalized, added);
    Trie(SectionId::kUserDefinedTrie, m_.user_defined.units(), 257, trie::kNoValue);
    uint32_t bad_code = 0;
    for (size_t i = 0; i < m_.codes.size; ++i) bad_code |= m_.codes.data[i] >= c.code_count;
    Require(!bad_code, SectionId::kCodes);
    Require(m_.scores.size() == (m_.unigram() ? c.id_count : 0), SectionId::kScores);
    // Comparisons in the search assume an order; a NaN has none.
    for (size_t i = 0; i < m_.scores.size(); ++i) {
      if (!std::isfinite(m_.scores[i])) Require(false, SectionId::kScores, i);
    }
  }

  // CodePointTable::operator[] reads 256 entries per block.
  template <class T>
  void Blocks(SectionId id, const CodePointTable<T>& table) {
    if (!table.present()) return;
    const size_t blocks = table.size / 256;
    Require(table.size % 256 == 0, id);
    for (uint32_t i = 0; i < kCodePointBlocks; ++i) {
      if (table.blocks[i] >= blocks) Require(false, id, i);
    }
  }

  void Tables() {
#define TABLE(number, blocks, id, member) Blocks(SectionId::blocks, m_.member);
#include "image/sections.def"
  }

  bool InStrings(Text t) const {
    return t.offset <= m_.strings.size() && t.size <= m_.strings.size() - t.offset;
  }

  // Texts are walked by lead byte (normalizers, decoders), so each must be valid on its own.
  bool ValidText(Text t) const {
    return InStrings(t) && ValidUtf8(m_.text(t));
  }

  static bool ValidUtf8(std::string_view s) {
    for (size_t pos = 0; pos < s.size();) {
      if (s.size() - pos >= 8) {  // eight ASCII bytes at a time
        uint64_t word;
        std::memcpy(&word, s.data() + pos, 8);
        if ((word & 0x8080808080808080u) == 0) {
          pos += 8;
          continue;
        }
      }
      const utf8::Decoded c = utf8::Decode(s, pos);
      if (!c.valid) return false;
      pos += c.size;
    }
    return true;
  }

  void Strings() {
    for (size_t i = 0; i + 1 < m_.id_pieces.size(); ++i) {
      const uint32_t begin = m_.id_pieces[i], end = m_.id_pieces[i + 1];
      const Text piece{begin, std::max(begin, end) - begin};
      if (begin > end || !ValidText(piece)) Require(false, SectionId::kIdPieces, i);
    }
    for (size_t i = 0; i < m_.added_tokens.size(); ++i) {
      const AddedToken& token = m_.added_tokens[i];
      Require(ValidText(token.content) && ValidText(token.normalized), SectionId::kAddedTokens, i);
      // stretch/added_tokens.h looks as deep as the longest at every byte.
      Require(token.content.size > 0 && token.content.size <= kMaxStringBytes &&
                  token.normalized.size <= kMaxStringBytes,
              SectionId::kAddedTokens, i);
      Require(token.id < m_.config->id_count, SectionId::kAddedTokens, i);
    }
  }

  void Ids() {
    const Config& c = *m_.config;
    Require(m_.id_pieces.size() == size_t{c.id_count} + 1, SectionId::kIdPieces);
    Require(m_.id_flags.size() == c.id_count, SectionId::kIdFlags);
    for (size_t i = 0; i < m_.piece_index.size(); ++i) {
      if (m_.piece_index[i] >= c.id_count) Require(false, SectionId::kPieceIndex, i);
    }
    Require(m_.byte_ids.empty() || m_.byte_ids.size() == 256, SectionId::kByteIds);
    Require(!m_.has(kByteFallback) || m_.byte_ids.size() == 256, SectionId::kByteIds);
    for (size_t i = 0; i < m_.byte_ids.size(); ++i) {
      Require(IdOrNone(m_.byte_ids[i]), SectionId::kByteIds, i);
    }
    // models/bpe/word.cc takes the id of every byte of a text; these are in none.
    const auto in_utf8 = [](size_t byte) { return byte < 0xf5 && byte != 0xc0 && byte != 0xc1; };
    for (size_t i = 0; i < m_.byte_ids.size() && m_.has(kByteLevel); ++i) {
      Require(!in_utf8(i) || m_.byte_ids[i] < c.id_count, SectionId::kByteIds, i);
    }
    // SentencePiece has no way to encode without an unknown id or all byte pieces.
    Require(m_.huggingface() || c.unk_id != kNoId || m_.has(kByteFallback), SectionId::kConfig);
    // Only HuggingFace's Unigram looks whether all bytes of a character have one (reference/hf_encode.cc).
    const bool takes_any = m_.has(kByteFallback) && (m_.bpe() || !m_.huggingface());
    for (size_t i = 0; i < m_.byte_ids.size() && takes_any; ++i) {
      Require(m_.byte_ids[i] != kNoId, SectionId::kByteIds, i);
    }
  }

  // models/bpe/merge.h takes whatever bits of a hash as a place, and what a slot and a merge say as it
  // is, and has bits above the ids for its own.
  void Merges() {
    const MergeTables& t = m_.merges;
    const size_t count = t.merges.size(), factors = t.factors.size(), slots = t.slots.size();
    const uint32_t ids = m_.config->id_count, mask = MergeNumberMask(count);
    Require(m_.bpe() || (factors == 0 && slots == 0 && count == 0), SectionId::kMerges);
    if (!m_.bpe()) return QuietCharacters();
    Require(std::has_single_bit(factors) && factors > 1, SectionId::kMergeFactors);
    Require(std::has_single_bit(slots) && slots > 1 && slots >> 33 == 0, SectionId::kMergeSlots);
    Require(count <= kMaxMerges && (t.ranks.empty() || t.ranks.size() == count),
            SectionId::kMergeRanks);
    Require(ids <= kMaxMergeIds, SectionId::kConfig);
    for (size_t i = 0; i < slots; ++i) {
      const bool bad = t.slots[i] != kNoMerge && (t.slots[i] & mask) >= count;
      if (bad) Require(false, SectionId::kMergeSlots, i);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint64_t merge = t.merges[i];
      const bool bad =
          std::max({MergeLeft(merge), MergeRight(merge), MergeProduct(merge)}) >= ids;
      if (bad) Require(false, SectionId::kMerges, i);
      if (!t.ranks.empty() && t.ranks[i] > i) Require(false, SectionId::kMergeRanks, i);
    }
    QuietCharacters();
  }

  // models/bpe/byte_symbols.h looks every character and all neighbours up.
  void QuietCharacters() {
    const bool bytes = m_.bpe() && m_.has(kByteLevel);
    Require(m_.quiet.present() == bytes, SectionId::kQuiet);
    Require(m_.crossings.size() == (bytes ? kCrossingLasts * kCrossingFirsts : 0),
            SectionId::kCrossings);
    for (size_t i = 0; i < m_.quiet.size; ++i) {
      const QuietCharacter& c = m_.quiet.data[i];
      const bool bad = std::max(c.id, c.spaced_id) >= m_.config->id_count;
      if (bad) Require(false, SectionId::kQuiet, i);
    }
  }

  // A switch over the elements of a part knows no others, and reads arguments without a look
  // (normalize/normalize.cc, split/pretokenize.cc, hf_decode.cc); an empty text would be found
  // everywhere; a step whose tables are missing would read through null.
  void StepList(SectionId section, Part part, std::span<const Step> steps) {
    Require(steps.size() <= 256, section);
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& s = steps[i];
      const OpInfo* const op = FindOp(s.op);
      Require(op != nullptr && op->part == part, section, i);
      if (op == nullptr) continue;
      Require(ValidText(s.a) && ValidText(s.b), section, i);
      Require(s.arg0 <= op->max_arg0 && s.arg1 <= op->max_arg1, section, i);
      Require(!op->needs_text || s.a.size > 0, section, i);
      if (m_.huggingface()) Require(HasTables(op->tables), section, i);
      Require(op->op != Op::kSplitPattern || m_.split_classes.present(), section, i);
    }
  }

  void Steps() {
    StepList(SectionId::kNormalizer, Part::kNormalizer, m_.normalizer);
    StepList(SectionId::kPreTokenizer, Part::kPreTokenizer, m_.pre_tokenizer);
    StepList(SectionId::kDecoder, Part::kDecoder, m_.decoder);
    if (m_.huggingface()) Require(m_.props.present(), SectionId::kProps);
  }

  bool HasTables(uint32_t tables) const {
    const auto has = [&](OpTables table, bool present) { return (tables & table) == 0 || present; };
    return has(kLowerTable, m_.lower.present()) &&
           has(kCanonicalTable, m_.decomp.present() && m_.ccc.present()) &&
           has(kCompatibleTable, m_.decomp_k.present() && m_.ccc.present()) &&
           has(kComposeTable, !m_.compose.empty());
  }

  void Template(SectionId section, std::span<const TemplateItem> items, uint32_t specials) {
    uint32_t count = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      Require(items[i].kind <= static_cast<uint32_t>(TemplateKind::kSequenceB), section, i);
      const bool special = items[i].kind == static_cast<uint32_t>(TemplateKind::kSpecial);
      Require(!special || items[i].id < m_.config->id_count, section, i);
      count += special;
    }
    Require(items.size() <= 4096 && count == specials, section);
  }

  void Templates() {
    Template(SectionId::kTemplateSingle, m_.template_single, m_.config->template_specials_single);
    Template(SectionId::kTemplatePair, m_.template_pair, m_.config->template_specials_pair);
  }

  // normalize/charsmap.h walks Darts-clone units: pos ^ offset ^ byte stays inside, and every value
  // points at the start of a NUL-terminated replacement.
  void Charsmap(SectionId id, std::span<const uint32_t> units, SectionId pool_id,
                std::span<const char> pool) {
    if (units.empty()) return;
    for (size_t pos = 0; pos < units.size(); ++pos) {
      const uint32_t u = units[pos];
      if (u & 0x80000000u) {  // a value: darts.h 0.32 sets bit 31 on leaves
        if ((u & 0x7fffffffu) >= pool.size()) Require(false, id, pos);
      } else {
        const size_t offset = static_cast<size_t>(u >> 10) << ((u & 0x200u) >> 6);
        if (((pos ^ offset) | 0xff) >= units.size()) Require(false, id, pos);
      }
    }
    Require(!pool.empty() && pool.back() == '\0' && ValidUtf8({pool.data(), pool.size()}), pool_id);
    for (size_t pos = 0; pos < units.size() && status_ == RANKFEED_OK; ++pos) {
      const uint32_t at = units[pos] & 0x7fffffffu;
      if (units[pos] & 0x80000000u) {
        Require((Byte(pool[at]) & 0xc0) != 0x80, id, pos);
      }
    }
  }

  void Map(SectionId id, const CodePointTable<uint32_t>& table) {
    for (size_t i = 0; i < table.size; ++i) {
      const uint64_t end = uint64_t{table.data[i] >> 8} + (table.data[i] & 0xff);
      if (end > m_.map_pool.size()) Require(false, id, i);
    }
  }

  void UnicodeTables() {
    Map(SectionId::kLower, m_.lower);
    Map(SectionId::kDecomp, m_.decomp);
    Map(SectionId::kDecompK, m_.decomp_k);
    const auto scalar = [](uint32_t c) { return c < 0xd800 || (c >= 0xe000 && c < 0x110000); };
    for (size_t i = 0; i < m_.map_pool.size(); ++i) {
      if (!scalar(m_.map_pool[i])) Require(false, SectionId::kMapPool, i);
    }
    for (size_t i = 0; i < m_.compose.size(); ++i) {
      if (!scalar(m_.compose[i].composed)) Require(false, SectionId::kCompose, i);
    }
  }

  bool Edge(uint64_t edge) const {
    const uint32_t id = EdgeId(edge);
    return edge == kNoEdge ||
           (EdgeCost(edge) <= kMaxCost && (id < m_.config->id_count || id >= kEdgeLiteral));
  }

  // unigram/exactness.h turns scores and the cost unit into integers: a cost unit is 2^-30 to
  // kMaxCostUnit, and no score is further from 0 than kMaxCost. Finite, as NaN compares with
  // nothing.
  void Scores() {
    const double unit = m_.segment.config->cost_unit;
    Require(unit > 1e-9 && unit <= kMaxCostUnit && std::bit_cast<uint64_t>(unit) << 12 == 0,
            SectionId::kSegmentConfig);
    const double lowest = -unit * kMaxCost;
    Require(m_.config->unk_score < 0 && m_.config->unk_score >= lowest, SectionId::kConfig);
    for (size_t i = 0; i < m_.scores.size(); ++i) {
      const double score = m_.scores[i];
      if (!(score <= -lowest && score >= lowest)) Require(false, SectionId::kScores, i);
    }
  }

  // Emit shifts by the limit (fast/kernels/portable_look_up.cc).
  static bool BadLimit(PathInfo info) {
    return info.exact_below > 63;
  }

  // fast/: the hash masks to table_bits; a search reads the unit at base + code for codes up to
  // code_count, goes along the fails until a label fits, which at the root's base one always does,
  // and reads the state's edges; a character that expands copies its list.
  void Segments() {
    if (!m_.segment.config) return;
    if (m_.bpe()) return Splits();
    if (m_.wordpiece()) return Words();
    SegmentSizes();
    if (status_ != RANKFEED_OK) return;  // what follows reads by these sizes
    Scores();
    SegmentTables();
    AutomatonRules();
    CharInfos();
  }

  // Checks the tables that all fast roads read: the one by table_bits, and but for BPE every
  // character.
  void LookUpSizes() {
    const SegmentConfig& w = *m_.segment.config;
    Require(w.table_bits < 28 && m_.segment.entries.size() == (size_t{2} << w.table_bits) + 1,
            SectionId::kSegmentTable);
    Require(m_.bpe() || m_.segment.char_info.present(), SectionId::kCharInfo);
    Require(m_.wordpiece() || m_.segment.spanned_pairs.size() == kPairBits / 64,
            SectionId::kSpannedPairs);
  }

  // BPE (fast/bpe.h): fast/scan.h reads the pattern, the class of every character, and which of
  // them stand together in some piece.
  void Splits() {
    LookUpSizes();
    const SegmentConfig& w = *m_.segment.config;
    Require(m_.split_classes.present(), SectionId::kSplitClasses);
    if (!m_.has(kByteLevel)) return SpaceWords();
    const uint32_t splits = kPatternSplits | (m_.has(kIgnoreMerges) ? uint32_t{kPartsHaveKeys} : 0);
    Require(w.rules == splits && m_.huggingface() && m_.has(kByteLevel), SectionId::kSegmentConfig);
    Require(w.space_run != 1, SectionId::kSegmentConfig);  // a run of one would be a split of none
    // fast/split_scan.h looks for what NFC changes wherever there is a normalizer, and fast/bpe.h
    // for runs of spaces.
    Require(m_.normalizer.empty() || HasTables(kCanonicalTable), SectionId::kNormalizer);
    Require(w.space_run == 0 || !m_.added_normalized.empty(), SectionId::kAddedTrieNormalized);
    if (status_ == RANKFEED_OK) SegmentEntries();
  }

  // BPE of characters: fast/bpe.h takes the id of the U+2581 that it puts before a text, and what merges make of it.
  void SpaceWords() {
    const SegmentConfig& w = *m_.segment.config;
    constexpr uint32_t kMore = kPrependRules | kFrontSpaceIsWord | kNoOffsets | kClassesApart | kDigitsApart;
    Require((w.rules & ~kMore) == kSpaceWords && w.space_run < 1 && !m_.has(kIgnoreMerges), SectionId::kSegmentConfig);
    if (status_ != RANKFEED_OK) return;  // what follows walks the trie
    Require(w.space_code == m_.codes[0x2581] && m_.IsPieceCode(w.space_code), SectionId::kSegmentConfig);
    SegmentEntries();
  }

  void SegmentSizes() {
    const SegmentConfig& w = *m_.segment.config;
    const uint32_t codes = m_.config->code_count;
    LookUpSizes();
    Require(w.space_code != 0 && w.space_code < codes, SectionId::kSegmentConfig);
    Require((w.rules & ~(kSegmentRules ^ kPatternSplits)) == 0, SectionId::kSegmentConfig);
    const bool signs = (w.rules & kPunctuationIsWord) != 0;
    const bool may_have_signs = m_.huggingface() && (w.rules & kEverySpaceIsWord) == 0;
    Require(!signs || may_have_signs, SectionId::kSegmentConfig);
    Require(m_.config->unk_id < m_.config->id_count, SectionId::kConfig);
    const size_t states = m_.segment.states.size();
    Require(w.root_base < states && states - w.root_base > codes, SectionId::kAutomatonStates);
    Require(m_.pieces.units().size() == states, SectionId::kAutomatonStates);
    Require(m_.segment.fails.size() == states, SectionId::kAutomatonFails);
    Require(m_.segment.starts.size() == SearchStartCount(codes), SectionId::kSearchStarts);
    Require(m_.segment.id_codes.size() == m_.config->id_count, SectionId::kIdCodes);
    Require(w.span_bits > 0 && w.span_bits < 28 &&
                m_.segment.spans.size() == SpanTableCount(codes, w.span_bits),
            SectionId::kSpanTable);
    Require(m_.segment.direct_codes.size() == kDirectCodeCount, SectionId::kDirectCodes);
  }

  // fast/wordpiece.h: every segment begins a word; a word's codes have places up to max_input_chars.
  void Words() {
    LookUpSizes();
    Require((m_.segment.config->rules & ~kNoOffsets) == kPunctuationIsWord, SectionId::kSegmentConfig);
    Require(m_.config->max_input_chars <= kMaxWordChars, SectionId::kConfig);
    if (status_ != RANKFEED_OK) return;  // what follows reads by these sizes
    SegmentEntries();
    CharInfos();
  }

  void SegmentEntries() {
    uint32_t bad_entry = 0;
    for (const SegmentEntry& entry : m_.segment.entries) {
      bad_entry |= uint32_t{entry.info.count > 1} | uint32_t{BadLimit(entry.info)} |
                   uint32_t{entry.id >= m_.config->id_count};
    }
    Require(!bad_entry, SectionId::kSegmentTable);
  }

  void SegmentTables() {
    SegmentEntries();
    const uint32_t codes = m_.config->code_count;
    uint32_t bad_code = 0;
    // One of no ids is never used; more than two codes are never looked up.
    bool bad_span = false;
    for (const SpanEntry& span : m_.segment.spans) {
      bad_span |= span.codes != 0 &&
                  (span.info.count < 1 || span.info.count > 2 || span.codes >> 16 > codes);
      bad_span |= BadLimit(span.info);
      for (const uint32_t id : span.ids) bad_span |= id >= m_.config->id_count;
    }
    Require(!bad_span, SectionId::kSpanTable);
    for (const uint16_t code : m_.segment.direct_codes) bad_code |= code > codes;
    Require(!bad_code, SectionId::kDirectCodes);
  }

  void AutomatonRules() {
    const std::span<const trie::Unit> units = m_.pieces.units();
    const uint32_t codes = m_.config->code_count, root_base = m_.segment.config->root_base;
    const size_t states = units.size(), edges = m_.segment.edges.size();
    bool bad_unit = false, bad_state = false, bad_fail = false, bad_edge = false;
    for (uint32_t code = 1; code <= codes; ++code) {
      bad_unit |= trie::Label(units[root_base + code]) != code;
      bad_state |= m_.segment.states[root_base + code].edge_count != 1;
    }
    const size_t last_base = states - codes - 1;
    for (const trie::Unit unit : units) bad_unit |= trie::Base(unit) > last_base;
    for (const AutomatonState& state : m_.segment.states) {
      bad_state |= state.edge_count > kMaxSegmentPieceChars || state.more >= edges ||
                   edges - state.more < std::max(state.edge_count, 3u) - 1;
      bad_edge |= !Edge(state.edge);
    }
    for (size_t base = 0; base <= last_base; ++base) {
      const uint32_t is = m_.segment.fails[base];
      const uint32_t fail = is & kFailBaseMask, chars = is >> kFailCharsShift;
      bad_fail |=
          fail > last_base || chars > kMaxSegmentPieceChars ||
          (chars == 0 ? fail != root_base : m_.segment.fails[fail] >> kFailCharsShift >= chars);
    }
    Require(!bad_fail, SectionId::kAutomatonFails);
    Require(!bad_unit, SectionId::kTrieUnits);
    Require(!bad_state, SectionId::kAutomatonStates);
    for (const uint64_t edge : m_.segment.edges) bad_edge |= !Edge(edge);
    Require(!bad_edge, SectionId::kAutomatonEdges);
    if (status_ == RANKFEED_OK) SearchStarts();  // goes along the automaton
  }

  void CharInfos() {
    const uint32_t codes = m_.config->code_count;
    const bool signs = (m_.segment.config->rules & kPunctuationIsWord) != 0;
    for (uint32_t block = 0; block < kBasicBlocks; ++block) {
      if (m_.segment.char_info.blocks[block] != block)
        Require(false, SectionId::kCharInfoBlocks, block);
    }
    for (size_t i = 0; i < m_.segment.char_info.size; ++i) {
      // A 0 would close the sequence.
      const CharInfo c = m_.segment.char_info.data[i];
      const uint32_t index = c.code();
      bool good = index <= codes &&
                  (index != 0 || c.Normalizes() || c.TakesGeneralPath() || c.EndsWord());
      if (c.Expands()) {
        good = index < m_.segment.expansions.size() &&
               m_.segment.expansions[index] <= kMaxExpansionCodes &&
               m_.segment.expansions[index] < m_.segment.expansions.size() - index;
        const uint32_t count = good ? m_.segment.expansions[index] : 0;
        const bool spaces = c.EndsWord();
        bool is_sign = false;  // of the next code
        for (uint32_t k = 1; good && k <= count; ++k) {
          const uint32_t code = m_.segment.expansions[index + k];
          good = code == kSign ? signs && spaces && k < count && !is_sign
                               : code <= codes && (code != 0 || (spaces && !is_sign));
          is_sign = code == kSign;
        }
      }
      if (!good) Require(false, SectionId::kCharInfo, i);
    }
  }

  void SearchStarts() {
    const uint32_t codes = m_.config->code_count;
    const uint32_t metaspace = m_.segment.config->space_code;
    const Automaton automaton{m_.pieces.units(), m_.segment.fails, m_.segment.states,
                              m_.segment.edges, m_.segment.config->root_base};
    ForEachSearchStart(automaton, codes, metaspace, [&](uint32_t i, const SearchStart& start) {
      const SearchStart& is = m_.segment.starts[i];
      Require(is.base == start.base && is.sum == start.sum && is.margin == start.margin,
              SectionId::kSearchStarts, i);
    });
  }

  const Model& m_;
  rankfeed_error_detail* detail_;
  rankfeed_status status_ = RANKFEED_OK;
};

}  // namespace

rankfeed_status Verify(const Model& model, rankfeed_error_detail* detail) {
  return Verifier(model, detail).Run();
}

}  // namespace rankfeed::image
