// SPDX-License-Identifier: MIT
// builder/image/sections.cc: see sections.h.
#include "builder/image/sections.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/narrow.h"
#include "builder/base/model_spec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::builder {
namespace {

static_assert(std::endian::native == std::endian::little,
              "images are written as they lie in memory");

uint64_t Aligned(uint64_t size) {
  return (size + image::kSectionAlignment - 1) / image::kSectionAlignment *
         image::kSectionAlignment;
}

void Seal(const ImageBytes& image) {
  XXH128_canonical_t checksum;
  XXH128_canonicalFromHash(&checksum, XXH3_128bits(image.data() + image::kChecksumFrom,
                                                   image.size() - image::kChecksumFrom));
  static_assert(sizeof checksum == sizeof image::Header::checksum);
  std::memcpy(image.data() + offsetof(image::Header, checksum), &checksum, sizeof checksum);
}

}  // namespace

void Sections::Put(SectionData section) {
  for (SectionData& old : sections_) {
    if (old.id() != section.id()) continue;
    old = std::move(section);
    return;
  }
  Add(std::move(section));
}

Model Sections::Bind() const {
  std::vector<image::SectionBytes> parts;
  for (const SectionData& section : sections_) {
    parts.push_back({section.id(), section.bytes().data(), section.bytes().size()});
  }
  Model model;
  if (image::BindSections(parts, &model) != RANKFEED_OK) {
    throw BuildError(RANKFEED_E_IMAGE_STRUCTURE, "the sections that were built make no image");
  }
  return model;
}

ImageBytes Sections::Write(const ConfigHash& config_hash) {
  std::sort(sections_.begin(), sections_.end(),
            [](const SectionData& a, const SectionData& b) { return a.id() < b.id(); });
  image::Header header{};
  std::memcpy(header.magic, image::kMagic, sizeof header.magic);
  header.version_major = image::kVersionMajor;
  header.version_minor = image::kVersionMinor;
  header.header_size = sizeof header;
  std::memcpy(header.config_hash, config_hash.bytes, sizeof header.config_hash);
  header.section_count = Size32(sections_);
  std::vector<image::Section> table;
  uint64_t at = Aligned(sizeof header + sections_.size() * sizeof(image::Section));
  for (const SectionData& section : sections_) {
    const auto id = static_cast<uint32_t>(section.id());
    table.push_back({id, image::ElementSize(id), at, section.bytes().size()});
    at = Aligned(at + section.bytes().size());
  }
  header.image_size = at;

  ImageBytes out(at);
  uint64_t written = 0;
  const auto put = [&](uint64_t offset, const void* data, uint64_t size) {
    std::memset(out.data() + written, 0, offset - written);
    std::memcpy(out.data() + offset, data, size);
    written = offset + size;
  };
  put(0, &header, sizeof header);
  put(sizeof header, table.data(), table.size() * sizeof(image::Section));
  for (size_t i = 0; i < sections_.size(); ++i) {
    put(table[i].offset, sections_[i].bytes().data(), table[i].size);
    sections_[i].Free();
  }
  std::memset(out.data() + written, 0, at - written);
  sections_.clear();
  Seal(out);
  return out;
}

}  // namespace rankfeed::builder
