// SPDX-License-Identifier: MIT
// builder/image/sections.h: the sections of an image while it is made. Their elements are taken over, not
// copied, until the image is written, which frees one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "builder/image/image_bytes.h"
#include "image/reader.h"
#include "image/sections.h"

namespace rankfeed::builder {

// Identifies what an image was made from: XXH3-128 over the source bytes, parity and preset.
struct ConfigHash {
  uint8_t bytes[16];
};

// One section. Copies share the elements.
class SectionData {
 public:
  template <class T>
  SectionData(image::SectionId id, std::vector<T> elements) : id_(id) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (image::ElementSize(static_cast<uint32_t>(id)) != sizeof(T)) {
      throw std::logic_error("a section has other elements than image/sections.def says");
    }
    auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
    bytes_ = {reinterpret_cast<const unsigned char*>(owner->data()), owner->size() * sizeof(T)};
    owner_ = std::move(owner);
  }
  image::SectionId id() const { return id_; }
  std::span<const unsigned char> bytes() const { return bytes_; }
  void Free() {
    owner_ = nullptr;
    bytes_ = {};
  }

 private:
  image::SectionId id_;
  std::shared_ptr<const void> owner_;
  std::span<const unsigned char> bytes_;
};

class Sections {
 public:
  // An empty section is left out.
  void Add(SectionData section) {
    if (!section.bytes().empty()) sections_.push_back(std::move(section));
  }
  template <class T>
  void Add(image::SectionId id, std::vector<T> elements) {
    Add(SectionData(id, std::move(elements)));
  }
  // In place of the one of that id, if there is one.
  void Put(SectionData section);

  // A model over the sections as they are, which have to outlive it. Throws BuildError when some
  // that every model needs are missing.
  Model Bind() const;

  // The image, with the sections in the order of their ids, which are freed. O(bytes).
  ImageBytes Write(const ConfigHash& config_hash);

 private:
  std::vector<SectionData> sections_;
};

}  // namespace rankfeed::builder
