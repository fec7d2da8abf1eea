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

constexpr size_t kHuge = 2 << 20;

// An errno value of a step of the ladder, or ENODATA where only the outcome shows that it was left.
std::string TransparentReason(int error, size_t size) {
  if (error != ENODATA) return fmt::format("madvise: {}", strerror(error));
  if (counters::TransparentHugePageMode() == "never") return "transparent_hugepage/enabled is never";
  if (size < kHuge) return "the image is smaller than one huge page";
  return "the kernel accepted the advice and gave base pages";
}

}  // namespace

PlacedImage::PlacedImage(const void* image, size_t size, Pages pages)
    : storage_(rankfeed_model_mem_req()) {
  ladder_.asked = pages == Pages::kLargest ? "largest" : "base";
  if (pages == Pages::kLargest) {
    UseLadder(image, size);
  } else {
    UseBase(image, size);
  }
  ladder_.obtained = counters::PagesOf(mapping_.data, mapping_.size);
  // The image given may lie in memory that others write to: what is verified is the copy.
  const rankfeed_status status = rankfeed_model_open(
      mapping_.data, mapping_.size, 0, storage_.data(), storage_.size(), &model_, nullptr);
  if (status != RANKFEED_OK) {
    rankfeed_image_unmap(&mapping_);
    CheckStatus(status, "image");
  }
}

PlacedImage::~PlacedImage() { rankfeed_image_unmap(&mapping_); }

void PlacedImage::UseLadder(const void* image, size_t size) {
  rankfeed_placement placement{};
  placement.struct_size = sizeof(placement);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  if (rankfeed_image_place(image, size, 0, &mapping_, &placement, &detail) != RANKFEED_OK) {
    throw std::runtime_error(fmt::format("image: {}", strerror(static_cast<int>(detail.item))));
  }
  const auto step = [&](const char* kind, std::string outcome) {
    ladder_.steps.push_back({kind, std::move(outcome)});
  };
  if (placement.pages == RANKFEED_PAGES_HUGETLB) return step("hugetlb", "used");
  step("hugetlb", fmt::format("{} pages of 2 MiB asked, {} free: {}", (size + kHuge - 1) / kHuge,
                              counters::FreeHugetlbPages(), strerror(placement.hugetlb_error)));
  if (placement.pages == RANKFEED_PAGES_TRANSPARENT) return step("transparent huge", "used");
  step("transparent huge", TransparentReason(placement.transparent_error, size));
  step("base", "used");
}

void PlacedImage::UseBase(const void* image, size_t size) {
  void* const base =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::runtime_error(fmt::format("image: {}", strerror(errno)));
  (void)madvise(base, size, MADV_NOHUGEPAGE);  // what was asked for, and what is measured
  memcpy(base, image, size);
  (void)mprotect(base, size, PROT_READ);
  mapping_.data = mapping_.base = base;
  mapping_.size = mapping_.base_size = size;
  ladder_.steps.push_back({"base", "used"});
}

}  // namespace rankfeed::receipt
