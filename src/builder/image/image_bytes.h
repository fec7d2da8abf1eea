// SPDX-License-Identifier: MIT
// builder/image/image_bytes.h: an image in memory, aligned as one that is mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "base/aligned_memory.h"
#include "image/format.h"

namespace rankfeed::builder {

// Bytes, not yet set, at image::kSectionAlignment, AlignedFree releases them.
class ImageBytes {
 public:
  ImageBytes() = default;
  explicit ImageBytes(size_t size)
      : data_(static_cast<unsigned char*>(AlignedAlloc(
            image::kSectionAlignment, (size + image::kSectionAlignment - 1) /
                                          image::kSectionAlignment * image::kSectionAlignment))),
        size_(size) {
    if (data_ == nullptr) throw std::bad_alloc();
  }

  unsigned char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  unsigned char* release() { return data_.release(); }

 private:
  struct Free {
    void operator()(unsigned char* p) const { AlignedFree(p); }
  };
  std::unique_ptr<unsigned char, Free> data_;
  size_t size_ = 0;
};

}  // namespace rankfeed::builder
