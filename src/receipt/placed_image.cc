// SPDX-License-Identifier: MIT
// receipt/placed_image.cc: see placed_image.h.
#include "receipt/placed_image.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/mman.h>

#include <stdexcept>

#include "receipt/engine.h"

namespace rankfeed::receipt {
namespace {

constexpr size_t kHuge = 2 << 20;  // the only huge page size tried; 1 GiB pages serve no 20 MB image

size_t RoundUp(size_t size) { return (size + kHuge - 1) / kHuge * kHuge; }

}  // namespace

PlacedImage::PlacedImage(const void* image, size_t size, Pages pages)
    : size_(size), storage_(rankfeed_model_mem_req()) {
  ladder_.asked = pages == Pages::kLargest ? "largest" : "base";
  if (pages == Pages::kBase || (!TryHugetlb(image) && !TryTransparent(image))) UseBase(image);
  const rankfeed_status status =
      rankfeed_model_open(data_, size_, RANKFEED_OPEN_TRUSTED_IMAGE, storage_.data(),
                          storage_.size(), &model_, nullptr);
  if (status != RANKFEED_OK) {
    munmap(base_, mapped_);
    CheckStatus(status, "image");
  }
}

PlacedImage::~PlacedImage() { munmap(base_, mapped_); }

void PlacedImage::Measure() { ladder_.obtained = counters::PagesOf(data_, size_); }

bool PlacedImage::TryHugetlb(const void* image) {
  mapped_ = RoundUp(size_);
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
  if (base_ == MAP_FAILED) {
    ladder_.steps.push_back({"hugetlb", fmt::format("{} pages of 2 MiB asked, {} free: {}",
                                                    mapped_ / kHuge, counters::FreeHugetlbPages(),
                                                    strerror(errno))});
    return false;
  }
  data_ = base_;
  memcpy(data_, image, size_);
  Measure();
  ladder_.steps.push_back({"hugetlb", "used"});
  return true;
}

bool PlacedImage::TryTransparent(const void* image) {
  mapped_ = RoundUp(size_) + kHuge;  // room to align
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base_ == MAP_FAILED) throw std::runtime_error(fmt::format("image: {}", strerror(errno)));
  data_ = reinterpret_cast<void*>(RoundUp(reinterpret_cast<uintptr_t>(base_)));
  const int advised = madvise(data_, RoundUp(size_), MADV_HUGEPAGE) == 0 ? 0 : errno;
  memcpy(data_, image, size_);
  Measure();
  if (ladder_.obtained.page_size >= kHuge) {
    ladder_.steps.push_back({"transparent huge", "used"});
    return true;
  }
  const std::string mode = counters::TransparentHugePageMode();
  ladder_.steps.push_back(
      {"transparent huge",
       advised != 0       ? fmt::format("madvise: {}", strerror(advised))
       : mode == "never"  ? std::string("transparent_hugepage/enabled is never")
       : size_ < kHuge    ? std::string("the image is smaller than one huge page")
                          : fmt::format("the kernel gave {} of {} bytes on huge pages",
                                        ladder_.obtained.huge_bytes, size_)});
  munmap(base_, mapped_);
  return false;
}

void PlacedImage::UseBase(const void* image) {
  mapped_ = RoundUp(size_);
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base_ == MAP_FAILED) throw std::runtime_error(fmt::format("image: {}", strerror(errno)));
  data_ = base_;
  (void)madvise(base_, mapped_, MADV_NOHUGEPAGE);  // what was asked for, and what is measured
  memcpy(data_, image, size_);
  Measure();
  ladder_.steps.push_back({"base", "used"});
}

}  // namespace rankfeed::receipt
