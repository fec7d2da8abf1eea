// SPDX-License-Identifier: MIT
// builder/unicode/unicode_tables.cc: two-stage tables from ICU and the corrections to it.
//
// A table is cut into blocks of 256 code points; equal blocks are stored once. The three mapping
// tables (lower case, two decompositions) share one pool of code points.
#include "builder/unicode/unicode_tables.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/unistr.h>

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <map>
#include <utility>

#include "base/narrow.h"
#include "builder/unicode/unicode_delta.h"
#include "rankfeed/model.h"

namespace rankfeed::builder {
namespace {

using image::SectionId;

constexpr uint32_t kCodePoints = 0x110000;
constexpr uint32_t kBlockSize = 256;
constexpr UChar32 kHangulFirst = 0xAC00, kHangulLast = 0xD7A3;  // composed by arithmetic

bool IsScalar(uint32_t c) {
  return c < 0xD800 || (c > 0xDFFF && c < kCodePoints);
}

// Adds the two sections of value(c) for every scalar value c; surrogates get 0.
template <class T, class F>
void AddTable(SectionId blocks_id, SectionId data_id, F value, std::vector<SectionData>* out) {
  std::map<std::vector<T>, uint16_t> known;
  std::vector<uint16_t> blocks;
  std::vector<T> data;
  std::vector<T> block(kBlockSize);
  for (uint32_t first = 0; first < kCodePoints; first += kBlockSize) {
    // Unassigned blocks are alike, and so are those of planes 15 and 16, which are private use but for
    // their last two places: looking at one of each saves four fifths of the sweep.
    const uint32_t in_plane = first & 0xFFFF;
    if ((IsUnassigned(first) && IsUnassigned(first - 1)) ||
        (first > 0xF0000 && in_plane != 0 && in_plane != 0xFF00)) {
      blocks.push_back(blocks.back());
      continue;
    }
    for (uint32_t i = 0; i < kBlockSize; ++i) {
      block[i] = IsScalar(first + i) ? static_cast<T>(value(first + i)) : T{0};
    }
    const auto [it, added] = known.try_emplace(block, static_cast<uint16_t>(known.size()));
    if (added) data.insert(data.end(), block.begin(), block.end());
    blocks.push_back(it->second);
  }
  out->emplace_back(blocks_id, std::move(blocks));
  out->emplace_back(data_id, std::move(data));
}

uint16_t GraphemeClassOf(UChar32 c) {
  switch (HfGraphemeBreak(c)) {
    case GraphemeBreak::kCr:
      return image::kGraphemeCr;
    case GraphemeBreak::kLf:
      return image::kGraphemeLf;
    case GraphemeBreak::kControl:
      return image::kGraphemeControl;
    case GraphemeBreak::kPrepend:
      return image::kGraphemePrepend;
    case GraphemeBreak::kZwj:
      return image::kGraphemeZwj;
    case GraphemeBreak::kSpacingMark:
      return image::kGraphemeSpacingMark;
    case GraphemeBreak::kRegionalIndicator:
      return image::kGraphemeRegionalIndicator;
    case GraphemeBreak::kL:
      return image::kGraphemeL;
    case GraphemeBreak::kV:
      return image::kGraphemeV;
    case GraphemeBreak::kT:
      return image::kGraphemeT;
    case GraphemeBreak::kLv:
      return image::kGraphemeLv;
    case GraphemeBreak::kLvt:
      return image::kGraphemeLvt;
    case GraphemeBreak::kExtend:
      switch (HfConjunctBreak(c)) {
        case ConjunctBreak::kLinker:
          return image::kGraphemeLinker;
        case ConjunctBreak::kNone:
          return image::kGraphemeZwnj;
        default:
          return image::kGraphemeExtend;
      }
    case GraphemeBreak::kOther:
      break;
  }
  if (HfPictographic(c)) return image::kGraphemePictographic;
  if (InRanges(kInCbConsonant, c)) return image::kGraphemeConsonant;
  return image::kGraphemeOther;
}

uint16_t PropsOf(UChar32 c) {
  uint16_t props = GraphemeClassOf(c);
  if (u_isUWhiteSpace(c)) props |= image::kWhiteSpace;
  if (HfWord(c)) props |= image::kWord;
  if (HfPunctuation(c)) props |= image::kPunctuationProp;
  if (HfNumeric(c)) props |= image::kNumeric;
  if (HfCombiningMark(c)) props |= image::kCombiningMark;
  if (HfBertRemoved(c)) props |= image::kBertRemoved;
  if (HfNonspacingMark(c)) props |= image::kNonspacingMark;
  return props;
}

uint8_t SplitClassOf(UChar32 c) {
  const uint8_t of = HfSplitClass(c);
  if (!HfNormalizationKnows(c)) return of;
  const auto check = u_getIntPropertyValue(c, UCHAR_NFC_QUICK_CHECK);
  if (check == UNORM_NO || (check == UNORM_MAYBE && c >= 0x1100 && c <= 0x11FF)) {
    return of | split::kUnstable;
  }
  if (check == UNORM_MAYBE) return of | split::kCombining;
  return u_getCombiningClass(c) != 0 ? of | split::kOrdered : of;
}

const icu::Normalizer2& Forms(bool compatible) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* forms = compatible ? icu::Normalizer2::getNFKCInstance(error)
                                             : icu::Normalizer2::getNFCInstance(error);
  if (U_FAILURE(error)) {
    throw BuildError(RANKFEED_E_NO_MEMORY, "ICU normalization data cannot be loaded");
  }
  return *forms;
}

// Mappings of code points to code points, in one pool. An entry is offset << 8 | length; 0 means
// that the code point stays as it is.
class MapPool {
 public:
  uint32_t Add(const icu::UnicodeString& text) {
    const auto offset = Size32(pool_);
    for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
      pool_.push_back(static_cast<uint32_t>(text.char32At(i)));
    }
    return offset << 8 | (Size32(pool_) - offset);
  }
  bool empty() const { return pool_.empty(); }
  std::vector<uint32_t> Take() { return std::move(pool_); }

 private:
  std::vector<uint32_t> pool_;
};

uint32_t LowerOf(UChar32 c, MapPool* pool) {
  // SpecialCasing.txt: the one unconditional lower case mapping to two characters.
  if (c == 0x130) return pool->Add(icu::UnicodeString(u"i\u0307"));
  const UChar32 lower = HfLowercase(c);
  return lower == c ? 0 : pool->Add(icu::UnicodeString(lower));
}

uint32_t DecompositionOf(const icu::Normalizer2& forms, UChar32 c, MapPool* pool) {
  if ((c >= kHangulFirst && c <= kHangulLast) || !HfNormalizationKnows(c)) return 0;
  icu::UnicodeString parts;
  return forms.getDecomposition(c, parts) ? pool->Add(parts) : 0;
}

// Pairs of canonical decompositions that compose again, so without the composition exclusions.
std::vector<image::ComposePair> ComposePairs() {
  const icu::Normalizer2& forms = Forms(false);
  std::vector<image::ComposePair> pairs;
  for (uint32_t c = 0; c < kCodePoints; ++c) {
    if (!IsScalar(c) || (c >= kHangulFirst && c <= kHangulLast) || !HfNormalizationKnows(c)) {
      continue;
    }
    icu::UnicodeString parts;
    if (!forms.getRawDecomposition(c, parts) || parts.countChar32() != 2) continue;
    const UChar32 first = parts.char32At(0);
    const UChar32 second = parts.char32At(parts.moveIndex32(0, 1));
    if (forms.composePair(first, second) != static_cast<UChar32>(c)) continue;
    pairs.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(second), c});
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  return pairs;
}

std::vector<SectionData> Tables(uint32_t wanted) {
  std::vector<SectionData> out;
  AddTable<uint16_t>(SectionId::kPropBlocks, SectionId::kProps, PropsOf, &out);
  if ((wanted & (image::kCanonicalTable | image::kCompatibleTable)) != 0) {
    AddTable<uint8_t>(SectionId::kCccBlocks, SectionId::kCcc, HfCombiningClass, &out);
  }
  if ((wanted & image::kSplitTable) != 0) {
    AddTable<uint8_t>(SectionId::kSplitBlocks, SectionId::kSplitClasses, SplitClassOf, &out);
  }
  MapPool pool;
  if ((wanted & image::kLowerTable) != 0) {
    AddTable<uint32_t>(
        SectionId::kLowerBlocks, SectionId::kLower, [&](UChar32 c) { return LowerOf(c, &pool); },
        &out);
  }
  const auto decompositions = [&](bool k, SectionId blocks, SectionId data) {
    const icu::Normalizer2& forms = Forms(k);
    AddTable<uint32_t>(
        blocks, data, [&](UChar32 c) { return DecompositionOf(forms, c, &pool); }, &out);
  };
  if ((wanted & image::kCanonicalTable) != 0)
    decompositions(false, SectionId::kDecompBlocks, SectionId::kDecomp);
  if ((wanted & image::kCompatibleTable) != 0)
    decompositions(true, SectionId::kDecompKBlocks, SectionId::kDecompK);
  if (!pool.empty()) out.emplace_back(SectionId::kMapPool, pool.Take());
  if ((wanted & image::kComposeTable) != 0) {
    out.emplace_back(SectionId::kCompose, ComposePairs());
  }
  return out;
}

std::mutex tables_mutex;

}  // namespace

TablesLock::TablesLock() {
#ifndef _WIN32
  constexpr auto kUnlock = [] { tables_mutex.unlock(); };
  [[maybe_unused]] static const int known =
      pthread_atfork([] { tables_mutex.lock(); }, kUnlock, kUnlock);
#endif
  lock_ = std::unique_lock(tables_mutex);
}

std::vector<SectionData> BuildUnicodeTables(const ModelSpec& spec) {
  if (spec.sentencepiece()) return {};
  // The corrections are against the data, not only against the headers.
  UVersionInfo unicode;
  u_getUnicodeVersion(unicode);
  if (unicode[0] != 15 || unicode[1] != 0) {
    throw BuildError(RANKFEED_E_UNSUPPORTED,
                     "ICU holds Unicode data of another version than 15.0 (ICU 72)");
  }
  uint32_t tables = 0;  // image::OpTables that some step reads
  for (const StepSpec& step : spec.normalizer) {
    tables |= image::FindOp(static_cast<uint32_t>(step.op))->tables;
  }
  for (const StepSpec& step : spec.pre_tokenizer) {
    if (step.op == image::Op::kSplitPattern) tables |= image::kSplitTable;
  }
  // The same for every model that wants them, so worked out once in a process: at most a dozen
  // sets of about 200 KB.
  const TablesLock lock;
  static std::map<uint32_t, std::vector<SectionData>> known;
  auto found = known.find(tables);
  if (found == known.end()) found = known.emplace(tables, Tables(tables)).first;
  return found->second;
}

}  // namespace rankfeed::builder
