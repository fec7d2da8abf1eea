// SPDX-License-Identifier: MIT
// image/format.h: the vocabulary image as it lies on disk and in memory. The only on-disk structs.
//
// Little-endian throughout; every section starts at a multiple of 64 bytes and is an array of one
// fixed-size element type, so an aligned image is used in place. Indices that the encoder follows
// without a check are bounded by image/verify.cc, which names the rule next to each test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image/ops.h"

namespace rankfeed::image {

inline constexpr char kMagic[8] = {'R', 'F', 'I', 'M', 'G', '\r', '\n', '\x1a'};
inline constexpr uint16_t kVersionMajor = 24;  // a reader refuses any other
inline constexpr uint16_t kVersionMinor = 0;   // newer minors only add sections
inline constexpr uint32_t kSectionAlignment = 64;
inline constexpr uint32_t kMaxSections = 64;
inline constexpr uint32_t kCodePointBlocks = 0x110000 >> 8;  // entries of every kXxxBlocks

struct Header {
  char magic[8];
  uint16_t version_major, version_minor;
  uint32_t header_size;  // sizeof(Header)
  uint64_t image_size;   // bytes of the whole image
  uint8_t checksum[16];  // XXH3-128 (canonical form) of bytes [kChecksumFrom, image_size)
  uint8_t config_hash[16];
  uint32_t section_count;  // the table of Section follows the header
  uint32_t reserved;
};
static_assert(sizeof(Header) == 64);
inline constexpr size_t kChecksumFrom = offsetof(Header, config_hash);

enum class SectionId : uint32_t {
#define SECTION(number, id, member) id = number,
#define TABLE(number, blocks, id, member) blocks = number, id = number + 1,
#include "image/sections.def"
};

struct Section {
  uint32_t id;
  uint32_t element_size;  // checked against the type of the member in sections.def
  uint64_t offset, size;  // bytes; size is a multiple of element_size
};
static_assert(sizeof(Section) == 24);

inline constexpr uint32_t kNoId = 0xffffffffu;
inline constexpr uint32_t kPadLongest = 0xffffffffu;  // Config::default_padding
// Bytes of a piece or an added token. Texts cost as much per character as the longest one has, also
// those of an image that was made to be slow. sentencepiece 0.2.3 refuses pieces of 8,000 bytes.
inline constexpr uint32_t kMaxStringBytes = 8192;

// Range in kStrings.
struct Text {
  uint32_t offset, size;
};

// SentencePiece piece types (sentencepiece_model.proto, 0.1.97). HuggingFace images use kNormal,
// kUnknown and kByte, and kUnused for ids that no token has.
enum class PieceType : uint8_t {
  kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6
};
inline constexpr uint8_t kIdTypeMask = 0x0f, kIdSpecial = 0x10, kIdAdded = 0x20;

enum ConfigFlags : uint32_t {
  kByteFallback = 1u << 0,
  // SentencePiece normalizer_spec and trainer_spec (normalizer.cc, 0.1.97)
  kAddDummyPrefix = 1u << 1,
  kRemoveExtraWhitespaces = 1u << 2,
  kEscapeWhitespaces = 1u << 3,
  kTreatWhitespaceAsSuffix = 1u << 4,
  // SentencePiece denormalizer_spec, meaningful with kDenormUnits
  kDenormAddDummyPrefix = 1u << 5,
  kDenormRemoveExtraWhitespaces = 1u << 6,
  kDenormEscapeWhitespaces = 1u << 7,
  // template
  kHasTokenTypeIds = 1u << 8,   // the pair template assigns a type other than 0
  kTemplateFromFile = 1u << 9,  // else chosen by preset or default
  kPadLeft = 1u << 10,          // family or file pads on the left (XLNet)
  kTrimOffsets = 1u << 11,      // RobertaProcessing with trim_offsets
  kTruncateLeft = 1u << 12,     // the file's truncation direction
  kTrimKeepsPrefix = 1u << 13,  // and with add_prefix_space
  // BPE
  kByteLevel = 1u << 14,     // symbols begin as bytes, and pieces are spelled in ByteLevel's alphabet
  kIgnoreMerges = 1u << 15,  // a split that is a piece is that piece
  kFuseUnk = 1u << 16,       // unknown characters next to each other are one unknown token
};

// The method that finds the pieces of a word.
enum class ModelKind : uint32_t { kUnigram = 0, kWordPiece = 1, kBpe = 2 };

// Row positions (transformers modelling code 4.x): kRobertaPositions counts from pad_id + 1 and
// gives pads pad_id (modeling_xlm_roberta.py create_position_ids_from_input_ids).
struct Config {
  uint32_t parity;  // RANKFEED_PARITY_*
  uint32_t flags;
  uint32_t id_count;
  uint32_t piece_count;  // in kTrieUnits
  uint32_t max_piece_chars, max_piece_bytes;
  uint32_t code_count;      // character codes are 1 .. code_count-1
  uint32_t template_specials_single, template_specials_pair;
  uint32_t unk_id;          // kNoId if none
  uint32_t bos_id, eos_id, pad_id, cls_id, sep_id, mask_id;
  uint32_t pad_type_id;
  uint32_t position_offset, position_pad;
  // Worst growth of the normalizer: output bytes <= growth_numerator * input bytes / 256
  // + growth_constant.
  uint32_t growth_numerator, growth_constant;
  // Defaults the file carries (tokenizer.json truncation/padding), 0 = none. default_truncation is
  // one of RANKFEED_TRUNCATE_*, default_padding a length or kPadLongest.
  uint32_t default_max_length, default_truncation, default_stride, default_padding;
  uint32_t default_pad_multiple;
  // Unigram: min_score - 10 (kUnkPenalty / K_UNK_PENALTY), in the mode's width.
  double unk_score;
  Text unk_surface;          // SentencePiece decode of the unknown id
  Text unk_piece;
  Text source_name;          // "sentencepiece" or "tokenizer.json"
  Text family;               // preset name, or empty
  // Why texts do not take the fast road: FastRoadReason, and for the reasons that are about an
  // element its number in ops.def, else 0.
  uint32_t fast_road_reason, fast_road_op;
  uint32_t model_kind;  // ModelKind
  // Limits of WordPiece: the most characters of a word (longer ones are the unknown token), and the
  // prefix of pieces that go on in a word. 0 and empty otherwise.
  uint32_t max_input_chars;
  Text continuing_prefix;
};
static_assert(sizeof(Config) == 168);

// One element of a normalizer, pre-tokenizer or decoder; what the fields mean stands in ops.def.
struct Step {
  uint32_t op;  // Op
  uint32_t arg0, arg1, reserved;
  Text a, b;

  // Returns whether it is an element, of Op or of the enum of one part.
  template <class Element>
  constexpr bool Is(Element element) const {
    return op == static_cast<uint32_t>(element);
  }
};
static_assert(sizeof(Step) == 32);

enum AddedFlags : uint32_t {
  kSingleWord = 1, kLstrip = 2, kRstrip = 4, kNormalized = 8, kSpecial = 16
};
struct AddedToken {
  uint32_t id, flags;
  Text content;     // as written
  Text normalized;  // content run through the normalizer, when kNormalized
};
static_assert(sizeof(AddedToken) == 24);

enum class TemplateKind : uint32_t { kSpecial = 0, kSequenceA = 1, kSequenceB = 2 };
struct TemplateItem {
  uint32_t kind, id, type_id, reserved;
};
static_assert(sizeof(TemplateItem) == 16);

struct ComposePair {
  uint32_t first, second, composed;
};

// How raw text becomes segments, for pipelines whose segments can be found and encoded one by one.
// What makes a pipeline eligible, and why each rule is exact, is in builder/fast/eligibility.cc,
// characters.cc and boundaries.h.
enum SegmentRule : uint32_t {
  kTrailingSpaceIsWord = 1 << 0,  // separators after the last word make a word of one U+2581
  // White space at an end of a stretch is dropped before anything else; in SentencePiece parity
  // what becomes one space.
  kStripLeft = 1 << 1,
  kStripRight = 1 << 2,
  // Each of several separators in a row makes a word; the words between are of one U+2581. Those in
  // runs of U+0020, and a line feed after a carriage return, count as one with these rules.
  kEverySpaceIsWord = 1 << 3,
  kSpaceRunIsOne = 1 << 4,
  kCrLfIsOne = 1 << 5,
  // Metaspace "first" and "never": a stretch begins a word only at the begin of the text, or not.
  kPrependOnlyFirst = 1 << 6,
  kPrependsNever = 1 << 7,
  // The U+2581 in front of a word has the offsets of the word's first character, not of a space.
  kSpaceHasNoOffsets = 1 << 8,
  // Offsets follow rules of their own: the general path knows them.
  kNoOffsets = 1 << 9,
  // A separator that begins the text is an empty word too (only with kEverySpaceIsWord).
  kFrontSpaceIsWord = 1 << 10,
  // White space that is a character between others is dropped at an end of a stretch: those with
  // such an end take the general path.
  kDropsOtherLeft = 1 << 11,
  kDropsOtherRight = 1 << 12,
  // Each punctuation character, a sign, is a word of its own, with a U+2581 before it. The common
  // bytes are the signs of ASCII; kExpansions says which other characters become signs. Not with
  // kEverySpaceIsWord.
  kPunctuationIsWord = 1 << 13,
  // Spaces before a sign make a word of one U+2581 (only with kPunctuationIsWord).
  kSpaceBeforeSignIsWord = 1 << 14,
  // BPE of bytes: segments are the splits of the pattern, and parts of them. With no other rule but the next.
  kPatternSplits = 1 << 15,
  // Under ignore_merges a split that is a piece is that piece, while a part of one becomes what merges make
  // of it, so parts have keys of their own: those with kKeyWordStart.
  kPartsHaveKeys = 1 << 16,
  // BPE of characters, in which a space is a U+2581: segments begin at a U+0020 after another character,
  // and are parts of such words. With kFrontSpaceIsWord a U+2581 is put in front of a stretch that begins
  // with a space too. The one that is put there is a part of the first segment, which has kKeyWordStart.
  kSpaceWords = 1 << 17,
  // And no merge joins two characters of different classes, which are letters, digits and others but spaces, so that
  // words are cut between those; nor two digits.
  kClassesApart = 1 << 18,
  kDigitsApart = 1 << 19,
};
inline constexpr uint32_t kDropsOther = kDropsOtherLeft | kDropsOtherRight;
inline constexpr uint32_t kPrependRules = kPrependOnlyFirst | kPrependsNever;
// Limit of max_input_chars on the fast road, for models with independent words.
inline constexpr uint32_t kMaxWordChars = 4096;
inline constexpr uint32_t kSegmentRules = (1 << 16) - 1;
struct SegmentConfig {
  uint32_t rules;  // SegmentRule
  uint32_t table_bits;
  uint32_t space_code;  // character code of U+2581
  // Base of the root: unit root_base + code is the state after that character alone, for every
  // code. The code after the last, Config::code_count, stands for a character in no piece.
  uint32_t root_base;
  double cost_unit;  // of costs (builder/models/unigram/automaton.cc), a power of two, kMaxCostUnit at most
  uint32_t span_bits;
  // kPatternSplits: runs of two to so many spaces are added tokens of normalized text; 0: none are.
  uint32_t space_run;
  // Masks of BPE: words are not cut into parts after characters of three bytes, by the low
  // six bits of the last one, and beside characters of two, by those of the first.
  uint64_t uncut_lasts, uncut_firsts;
  // ByteSet::low of raw ASCII bytes: those that separate words, the common ones (punctuation
  // and digits, or signs) and the letters. No piece spans a common byte and a letter.
  uint8_t separators[16], common[16], letters[16];
};
static_assert(sizeof(SegmentConfig) == 96);

// On the fast road the trie of pieces is an automaton too (Aho and Corasick, 1975). A unit of it is
// a state, which stands for the longest stretch before a place that begins some piece. It goes on
// from base + code if the unit there has the code as its label, else from fail + code with the fail
// that kAutomatonFails holds for that base, and so on. A leaf has the base of its longest suffix
// that is none, and a bit that keeps the trie's readers from following it. As no other two units
// share a base, a base names its owner: its fail is the base of the owner's longest proper suffix
// that has one. The children of the root lie at its base, one for each code, with a leaf for those
// that begin no piece.
//
// A fail: bits 23..0 the base, 31..24 the characters of the owner of the base that it is for, so
// that ways along the fails can be checked to end at the root.
inline constexpr uint32_t kFailBaseMask = 0xffffff, kFailCharsShift = 24;
constexpr uint32_t MakeFail(uint32_t chars, uint32_t base) {
  return chars << kFailCharsShift | base;
}

// Other pieces of a state: those that end there, longest first, without those that no best path takes
// (builder/models/unigram/pruning.h). Those after the first are often the same in other states, which share
// them.
struct AutomatonState {
  uint64_t edge;  // kNoEdge in units that are not used
  uint32_t more;  // in kAutomatonEdges, from where two may be read: kNoEdge stands after the last
  uint32_t edge_count;  // of all
};
static_assert(sizeof(AutomatonState) == 16);
// A best path leads by this much score over one through an edge that was left out.
inline constexpr double kPrunedLead = 4;
inline constexpr uint32_t kMaxSegmentPieceChars = 16;  // greatest depth and edge_count

// An edge of the lattice: bits 63..28 its cost, 27..4 its id, 3..0 16 - characters of the piece, so
// that a sum needs nothing masked off and the least sum says what it ends in. A character that is
// no piece has an edge of its own, with kEdgeUnknown.
inline constexpr uint32_t kMaxCost = 0x1fffff;
// Sums of scores over any text stay below 2^63 so; builder/fast/eligibility.cc, ClassifyPieces, asks for less.
inline constexpr double kMaxCostUnit = 1024;
inline constexpr uint32_t kEdgeUnknown = 0xffffff;  // a character that is no piece
inline constexpr uint32_t kEdgeLiteral = 0xfffffe;  // the unknown piece, spelled out
inline constexpr uint32_t kEdgeCostShift = 28;
inline constexpr uint64_t kEdgeCostMask = ~uint64_t{0} << kEdgeCostShift;
constexpr uint64_t MakeEdge(uint64_t cost, uint32_t chars, uint32_t id) {
  return cost << kEdgeCostShift | uint64_t{id} << 4 | (kMaxSegmentPieceChars - chars);
}
constexpr uint64_t EdgeCost(uint64_t edge) { return edge >> kEdgeCostShift; }
constexpr uint32_t EdgeId(uint64_t edge) { return static_cast<uint32_t>(edge) >> 4 & 0xffffff; }
constexpr uint32_t EdgeChars(uint64_t edge) {
  return kMaxSegmentPieceChars - (static_cast<uint32_t>(edge) & 15);
}
// Above any sum of kMaxSegmentPieceChars edges; what sums differ by stays below 2^32 costs.
inline constexpr uint64_t kNoEdge = MakeEdge(uint64_t{kMaxCost + 1} << 5, 1, 0);
static_assert(kMaxSegmentPieceChars == 16);

// A node of a search: the low half of the least sum that ends there, and how much less it is than
// the next, in cost units.
struct LatticeNode {
  uint32_t last, margin;
};

// Searches begin after their first codes: kSearchStarts[c] is what one knows after U+2581 and code
// c ([0]: after U+2581 alone), kSearchStarts[code_count + 1 + c] after code c alone.
struct SearchStart {
  uint64_t sum;     // the least, an edge's bits below its costs
  uint32_t base;    // of the state
  uint32_t margin;  // LatticeNode::margin
  LatticeNode node() const { return {static_cast<uint32_t>(sum), margin}; }
};
static_assert(sizeof(SearchStart) == 16);
constexpr size_t SearchStartCount(uint32_t code_count) { return 2 * (size_t{code_count} + 1); }

// A hash of two neighbouring character codes; a clear bit says that no piece holds them.
inline constexpr uint32_t kPairFactor = 0x9e3779b1u, kPairShift = 12;
inline constexpr uint32_t kPairBits = 1u << (32 - kPairShift);
constexpr uint32_t PairBit(uint32_t first, uint32_t second) {
  return ((first << 16 | second) * kPairFactor) >> kPairShift;
}

// BPE: the pairs are code points of two or three bytes that some piece holds next to each other, also in
// part (SegmentConfig).
constexpr bool Spanned(const uint64_t* pairs, uint32_t first, uint32_t second) {
  const uint32_t bit = PairBit(first, second);
  return (pairs[bit / 64] >> bit % 64 & 1) != 0;
}

// Scripts without spaces are written on without an end, but in those of many characters few
// neighbours share a piece. From here on segments are cut at every place where none does.
inline constexpr char32_t kFirstCjk = 0x2e80;

// Size of kDirectCodes: codes, by code point, of those of the first 65,536 characters that are one
// code, a piece, and not read with the character before them; the last element is only read beyond.
inline constexpr uint32_t kDirectCodeCount = 0x10001;

// Says how many ids a segment has, and when they hold (models/unigram/exactness.h).
struct alignas(4) PathInfo {
  static constexpr uint8_t kAlways = 60;         // in exact_below: at any score
  static constexpr uint16_t kMostBound = 0xffff;  // in score_bound: as much, or more

  // Ids of a word that has no score. cuts: where its tokens lie (fast/word_cuts.h), 1 for one token of all its bytes.
  static constexpr PathInfo OfWord(uint32_t count, uint32_t cuts) {
    return {static_cast<uint8_t>(count), kAlways, static_cast<uint16_t>(cuts)};
  }
  // Ids that no loop may write which goes by infos: they do not hold at any score.
  static constexpr PathInfo Never(uint32_t count) { return {static_cast<uint8_t>(count), 0, kMostBound}; }

  uint8_t count;
  uint8_t exact_below;    // the ids hold while the score so far is above -2^exact_below
  uint16_t score_bound;   // what the segment adds to that at most; of a word: its cuts
};
static_assert(sizeof(PathInfo) == 4);

// A segment that is one token.
struct SegmentEntry {
  uint64_t key[3];  // fast::SegmentKey without its last 8 bytes; all zero in unused entries
  uint32_t id;
  PathInfo info;  // count 1; all zero in unused entries
};
static_assert(sizeof(SegmentEntry) == 32);
inline constexpr uint32_t kMaxEntryBytes = 23;      // of a segment in the table
// In a key's tag: a U+2581 stands before it, which is not of the text; with kPartsHaveKeys: it is a part of a split.
inline constexpr uint8_t kKeyWordStart = 0x80;

// The ids of a part of one or two characters, between places where no piece crosses. In kSpanTable:
// at [code] that of one, after those buckets of two at code_count + 1 + 2 * hash, and one to read
// beyond.
struct SpanEntry {
  uint32_t codes;  // both, the first in the low half; 0 in unused entries
  uint32_t ids[2];
  PathInfo info;
};
static_assert(sizeof(SpanEntry) == 16);
constexpr size_t SpanTableCount(uint32_t code_count, uint32_t span_bits) {
  return size_t{code_count} + 1 + (size_t{2} << span_bits) + 1;
}
constexpr uint32_t SpanHash(uint32_t codes, uint32_t span_bits) {
  return (codes * kPairFactor) >> (32 - span_bits);
}

// Limit of the lists that characters become (image/char_info.h). Longer replacements go through the normalizer; the
// longest of published charsmaps is U+FDFA's, of 18.
inline constexpr uint32_t kMaxExpansionCodes = 24;
// Stands before the code of a sign in a list. Above any code.
inline constexpr uint16_t kSign = 0xffff;
// Code points of up to three bytes are looked up in kCharInfo at once.
inline constexpr uint32_t kBasicBlocks = 0x10000 >> 8;

// Bits of kProps. Unicode versions follow the reference wheel, see builder/unicode/unicode_delta.h.
enum UnicodeProp : uint16_t {
  kGraphemeMask = 0x1f,  // GraphemeClass
  kWhiteSpace = 1 << 5,
  kWord = 1 << 6,           // \w of the Rust regex crate
  kPunctuationProp = 1 << 7,  // ascii punctuation or General_Category P* (unicode_categories crate)
  kNumeric = 1 << 8,        // char::is_numeric
  kCombiningMark = 1 << 9,  // unicode-normalization-alignments is_combining_mark
  kBertRemoved = 1 << 10,     // BertNormalizer's clean_text takes it out
  kNonspacingMark = 1 << 11,  // General_Category Mn (unicode_categories crate)
};

// UAX #29 Grapheme_Cluster_Break, refined so that one value per code point also answers
// Extended_Pictographic (GB11) and Indic_Conjunct_Break (GB9c). Fewer classes are not exact, not
// even for nmt_nfkc: see the note on cluster boundaries in builder/unicode/unicode_delta.h.
enum GraphemeClass : uint16_t {
  kGraphemeOther = 0, kGraphemeCr = 1, kGraphemeLf = 2, kGraphemeControl = 3,
  kGraphemeExtend = 4,      // Extend and InCB=Extend
  kGraphemePrepend = 5,
  kGraphemeZwj = 6,         // InCB=Extend too
  kGraphemeSpacingMark = 7,
  kGraphemeRegionalIndicator = 8,
  kGraphemeL = 9, kGraphemeV = 10, kGraphemeT = 11, kGraphemeLv = 12, kGraphemeLvt = 13,
  kGraphemePictographic = 14,  // Other, and Extended_Pictographic
  kGraphemeConsonant = 15,     // Other, and InCB=Consonant
  kGraphemeLinker = 16,        // Extend, and InCB=Linker
  kGraphemeZwnj = 17,          // U+200C: Extend, and InCB=None
};

}  // namespace rankfeed::image
