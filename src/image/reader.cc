// SPDX-License-Identifier: MIT
// image/reader.cc: header and section table, see reader.h.
#include "image/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error_detail.h"
#include "image/sections.h"

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
  void Set(SectionId id, const unsigned char* data, uint64_t size) {
    found_[static_cast<uint32_t>(id)] = {data, size};
  }

  template <class T>
  std::span<const T> Get(SectionId id) const {
    const Found& found = found_[static_cast<uint32_t>(id)];
    return {reinterpret_cast<const T*>(found.data), static_cast<size_t>(found.size / sizeof(T))};
  }

 private:
  Found found_[kMaxSections] = {};
};

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
void Assign(const Sections& s, SectionId id, std::span<const T>* member) {
  *member = s.Get<T>(id);
}
void Assign(const Sections& s, SectionId id, trie::View* member) {
  *member = trie::View(s.Get<trie::Unit>(id));
}
template <class T>
void Assign(const Sections& s, SectionId id, std::optional<T>* member) {
  if (const auto elements = s.Get<T>(id); elements.size() == 1) *member = elements[0];
}

// False when the table has blocks for fewer or more code points than there are.
template <class T>
bool AssignTable(const Sections& s, SectionId blocks_id, SectionId id, CodePointTable<T>* member) {
  const auto blocks = s.Get<uint16_t>(blocks_id);
  const auto data = s.Get<T>(id);
  if (blocks.empty() || data.empty()) return true;
  *member = {blocks.data(), data.data(), data.size()};
  return blocks.size() == kCodePointBlocks;
}

// Every member of model that sections.def names. Block tables have a fixed length; everything else
// is checked by Verify.
rankfeed_status AssignAll(const Sections& s, Model* model, rankfeed_error_detail* detail) {
#define SECTION(number, id, member) Assign(s, SectionId::id, &model->member);
#define TABLE(number, blocks, id, member)                                                         \
  if (!AssignTable(s, SectionId::blocks, SectionId::id, &model->member)) {                        \
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, 0, static_cast<uint32_t>(SectionId::blocks)); \
  }
#include "image/sections.def"
  return RANKFEED_OK;
}

// Binds the sections and checks that those which every model needs are there.
rankfeed_status BindAll(const Sections& s, Model* model, rankfeed_error_detail* detail) {
  if (const rankfeed_status status = AssignAll(s, model, detail)) return status;
  if (!model->config) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, 0, static_cast<uint32_t>(SectionId::kConfig));
  }
  for (const AddedToken& token : model->added_tokens) {
    model->max_added_bytes =
        std::max({model->max_added_bytes, token.content.size, token.normalized.size});
  }
  if (model->pieces.empty() || !model->codes.present()) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, 0,
                static_cast<uint32_t>(SectionId::kTrieUnits));
  }
  return RANKFEED_OK;
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
  *model = {};
  model->image = bytes;
  model->image_size = header.image_size;
  model->header = reinterpret_cast<const Header*>(bytes);
  if (const rankfeed_status status = BindAll(s, model, detail)) return status;
  // Before parts of splits had keys, an image gave them the ids that only whole splits have.
  const auto& segments = model->segment.config;
  if (model->has(kIgnoreMerges) && segments && (segments->rules & (kPatternSplits | kPartsHaveKeys)) == kPatternSplits) {
    return Fail(detail, RANKFEED_E_IMAGE_VERSION, 0, static_cast<uint32_t>(SectionId::kSegmentConfig));
  }
  return RANKFEED_OK;
}

rankfeed_status BindSections(std::span<const SectionBytes> sections, Model* model) {
  Sections s;
  for (const SectionBytes& section : sections) s.Set(section.id, section.data, section.size);
  *model = {};
  return BindAll(s, model, nullptr);
}

}  // namespace rankfeed::image
