// SPDX-License-Identifier: MIT
// image/reader.cc: header and section table, see reader.h.
#include "image/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error_detail.h"

namespace rankfeed::image {
namespace {

// One section of the image, before it gets its type.
struct Found {
  const unsigned char* data = nullptr;
  uint64_t size = 0;
};

class Sections {
 public:
  rankfeed_status Read(const unsigned char* image, const Header& header,
                       rankfeed_error_detail* detail);

  template <class T>
  std::span<const T> Get(SectionId id) const {
    const Found& found = found_[static_cast<uint32_t>(id)];
    return {reinterpret_cast<const T*>(found.data), static_cast<size_t>(found.size / sizeof(T))};
  }

 private:
  Found found_[kMaxSections] = {};
};

// Element size by section id; 0 = id unknown to this version (skipped: a newer minor added it).
constexpr uint32_t ElementSize(uint32_t id) {
  switch (static_cast<SectionId>(id)) {
    case SectionId::kConfig: return sizeof(Config);
    case SectionId::kStrings: case SectionId::kCharsmapPool: case SectionId::kDenormPool:
    case SectionId::kIdFlags: case SectionId::kCcc: return 1;
    case SectionId::kTrieUnits: case SectionId::kAddedTrieRaw:
    case SectionId::kAddedTrieNormalized: case SectionId::kUserDefinedTrie: return 8;
    case SectionId::kCodeBlocks: case SectionId::kCodes: case SectionId::kPropBlocks:
    case SectionId::kProps: case SectionId::kCccBlocks: case SectionId::kLowerBlocks:
    case SectionId::kDecompBlocks: case SectionId::kDecompKBlocks: return 2;
    case SectionId::kValueScores: return sizeof(double);
    case SectionId::kValueIds: case SectionId::kCharsmapUnits: case SectionId::kDenormUnits:
    case SectionId::kByteIds: case SectionId::kPieceIndex: case SectionId::kLower:
    case SectionId::kDecomp: case SectionId::kDecompK: case SectionId::kMapPool: return 4;
    case SectionId::kIdPieces: return sizeof(Text);
    case SectionId::kNormalizer: case SectionId::kPreTokenizer: case SectionId::kDecoder:
      return sizeof(Step);
    case SectionId::kAddedTokens: return sizeof(AddedToken);
    case SectionId::kTemplateSingle: case SectionId::kTemplatePair: return sizeof(TemplateItem);
    case SectionId::kCompose: return sizeof(ComposePair);
    case SectionId::kSegmentConfig: return sizeof(SegmentConfig);
    case SectionId::kSegmentTable: return sizeof(SegmentEntry);
    case SectionId::kCharInfoBlocks: case SectionId::kExpansions: case SectionId::kDirectCodes:
      return 2;
    case SectionId::kCharInfo: return 4;
    case SectionId::kAutomatonStates: return sizeof(AutomatonState);
    case SectionId::kSearchStarts: return sizeof(SearchStart);
    case SectionId::kSpanTable: return sizeof(SpanEntry);
    case SectionId::kAutomatonEdges: case SectionId::kIdScores: case SectionId::kSpannedPairs:
    case SectionId::kAutomatonUnits: case SectionId::kAutomatonFails: return 8;
  }
  return 0;
}

rankfeed_status Sections::Read(const unsigned char* image, const Header& header,
                               rankfeed_error_detail* detail) {
  const uint64_t image_size = header.image_size;
  for (uint32_t i = 0; i < header.section_count; ++i) {
    const uint64_t at = sizeof(Header) + i * sizeof(Section);
    Section section;
    std::memcpy(&section, image + at, sizeof(section));
    const uint32_t element = section.id < kMaxSections ? ElementSize(section.id) : 0;
    if (element == 0) continue;
    Found& found = found_[section.id];
    if (section.element_size != element || section.size % element != 0 ||
        section.offset % kSectionAlignment != 0 || section.offset > image_size ||
        section.size > image_size - section.offset || found.data != nullptr) {
      return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, at, section.id, i);
    }
    found = {image + section.offset, section.size};
  }
  return RANKFEED_OK;
}

template <class T>
CodePointTable<T> Table(const Sections& s, SectionId blocks, SectionId data) {
  const auto b = s.Get<uint16_t>(blocks);
  const auto d = s.Get<T>(data);
  CodePointTable<T> table;
  if (!b.empty() && !d.empty()) table = {b.data(), d.data(), d.size()};
  return table;
}

}  // namespace

rankfeed_status Bind(const void* image, size_t image_size, Model* model,
                     rankfeed_error_detail* detail) {
  if constexpr (std::endian::native != std::endian::little) {
    return Fail(detail, RANKFEED_E_PLATFORM);
  }
  if (image == nullptr || model == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  if (reinterpret_cast<uintptr_t>(image) % kSectionAlignment != 0) {
    return Fail(detail, RANKFEED_E_ALIGNMENT);
  }
  if (image_size < sizeof(Header)) return Fail(detail, RANKFEED_E_IMAGE_MAGIC, image_size);
  const auto* bytes = static_cast<const unsigned char*>(image);
  Header header;  // a copy, as of SegmentConfig and Config
  std::memcpy(&header, bytes, sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Fail(detail, RANKFEED_E_IMAGE_MAGIC, 0);
  }
  if (header.version_major != kVersionMajor) {
    return Fail(detail, RANKFEED_E_IMAGE_VERSION, offsetof(Header, version_major), 0,
                header.version_major);
  }
  if (header.header_size != sizeof(Header) || header.section_count > kMaxSections) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, offsetof(Header, header_size));
  }
  // A longer buffer is fine (a mapping rounded up to pages); a shorter one is a truncated file.
  if (header.image_size > image_size ||
      header.image_size < sizeof(Header) + header.section_count * sizeof(Section)) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, offsetof(Header, image_size));
  }
  Sections s;
  if (const rankfeed_status status = s.Read(bytes, header, detail)) return status;
  const auto config = s.Get<Config>(SectionId::kConfig);
  if (config.size() != 1) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, 0, static_cast<uint32_t>(SectionId::kConfig));
  }

  *model = {};
  model->image = bytes;
  model->image_size = header.image_size;
  model->header = reinterpret_cast<const Header*>(bytes);
  model->config = config[0];
  model->pieces = trie::View(s.Get<trie::Unit>(SectionId::kTrieUnits));
  model->codes = Table<uint16_t>(s, SectionId::kCodeBlocks, SectionId::kCodes);
  model->scores = s.Get<double>(SectionId::kValueScores);
  model->value_ids = s.Get<uint32_t>(SectionId::kValueIds);
  model->strings = s.Get<char>(SectionId::kStrings);
  model->id_pieces = s.Get<Text>(SectionId::kIdPieces);
  model->id_flags = s.Get<uint8_t>(SectionId::kIdFlags);
  model->piece_index = s.Get<uint32_t>(SectionId::kPieceIndex);
  model->byte_ids = s.Get<uint32_t>(SectionId::kByteIds);
  model->normalizer = s.Get<Step>(SectionId::kNormalizer);
  model->pre_tokenizer = s.Get<Step>(SectionId::kPreTokenizer);
  model->decoder = s.Get<Step>(SectionId::kDecoder);
  model->added_tokens = s.Get<AddedToken>(SectionId::kAddedTokens);
  model->added_raw = trie::View(s.Get<trie::Unit>(SectionId::kAddedTrieRaw));
  model->added_normalized = trie::View(s.Get<trie::Unit>(SectionId::kAddedTrieNormalized));
  for (const AddedToken& token : model->added_tokens) {
    model->max_added_bytes =
        std::max({model->max_added_bytes, token.content.size, token.normalized.size});
  }
  model->template_single = s.Get<TemplateItem>(SectionId::kTemplateSingle);
  model->template_pair = s.Get<TemplateItem>(SectionId::kTemplatePair);
  model->charsmap_units = s.Get<uint32_t>(SectionId::kCharsmapUnits);
  model->charsmap_pool = s.Get<char>(SectionId::kCharsmapPool);
  model->denorm_units = s.Get<uint32_t>(SectionId::kDenormUnits);
  model->denorm_pool = s.Get<char>(SectionId::kDenormPool);
  model->user_defined = trie::View(s.Get<trie::Unit>(SectionId::kUserDefinedTrie));
  model->props = Table<uint16_t>(s, SectionId::kPropBlocks, SectionId::kProps);
  model->ccc = Table<uint8_t>(s, SectionId::kCccBlocks, SectionId::kCcc);
  model->lower = Table<uint32_t>(s, SectionId::kLowerBlocks, SectionId::kLower);
  model->decomp = Table<uint32_t>(s, SectionId::kDecompBlocks, SectionId::kDecomp);
  model->decomp_k = Table<uint32_t>(s, SectionId::kDecompKBlocks, SectionId::kDecompK);
  model->map_pool = s.Get<uint32_t>(SectionId::kMapPool);
  model->compose = s.Get<ComposePair>(SectionId::kCompose);
  const auto words = s.Get<SegmentConfig>(SectionId::kSegmentConfig);
  if (words.size() == 1) model->segment.config = words[0];
  model->segment.entries = s.Get<SegmentEntry>(SectionId::kSegmentTable);
  model->segment.char_info = Table<uint32_t>(s, SectionId::kCharInfoBlocks, SectionId::kCharInfo);
  model->segment.expansions = s.Get<uint16_t>(SectionId::kExpansions);
  model->segment.states = s.Get<AutomatonState>(SectionId::kAutomatonStates);
  model->segment.units = s.Get<trie::Unit>(SectionId::kAutomatonUnits);
  model->segment.fails = s.Get<trie::Unit>(SectionId::kAutomatonFails);
  model->segment.edges = s.Get<uint64_t>(SectionId::kAutomatonEdges);
  model->segment.starts = s.Get<SearchStart>(SectionId::kSearchStarts);
  model->segment.id_scores = s.Get<double>(SectionId::kIdScores);
  model->segment.spanned_pairs = s.Get<uint64_t>(SectionId::kSpannedPairs);
  model->segment.spans = s.Get<SpanEntry>(SectionId::kSpanTable);
  model->segment.direct_codes = s.Get<uint16_t>(SectionId::kDirectCodes);

  // The block tables have a fixed length; everything else is checked by Verify.
  const struct {
    const uint16_t* blocks;
    SectionId id;
  } tables[] = {{model->codes.blocks, SectionId::kCodeBlocks},
                {model->props.blocks, SectionId::kPropBlocks},
                {model->ccc.blocks, SectionId::kCccBlocks},
                {model->lower.blocks, SectionId::kLowerBlocks},
                {model->decomp.blocks, SectionId::kDecompBlocks},
                {model->decomp_k.blocks, SectionId::kDecompKBlocks},
                {model->segment.char_info.blocks, SectionId::kCharInfoBlocks}};
  for (const auto& table : tables) {
    if (table.blocks != nullptr && s.Get<uint16_t>(table.id).size() != kCodePointBlocks) {
      return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, 0, static_cast<uint32_t>(table.id));
    }
  }
  if (model->pieces.empty() || !model->codes.present()) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, 0,
                static_cast<uint32_t>(SectionId::kTrieUnits));
  }
  return RANKFEED_OK;
}

}  // namespace rankfeed::image
