// SPDX-License-Identifier: MIT
// measure/placed_image.cc: see placed_image.h.
#include "measure/placed_image.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>

#include <stdexcept>

#include "measure/engine.h"

namespace rankfeed::measure {
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
  ladder_.asked =
      pages == Pages::kAuto ? "largest" : rankfeed_pages_name(static_cast<uint32_t>(pages));
  Place(image, size, pages);
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

void PlacedImage::Place(const void* image, size_t size, Pages pages) {
  rankfeed_placement placement{};
  placement.struct_size = sizeof(placement);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  const uint32_t flag = pages == Pages::kHugetlb       ? uint32_t{RANKFEED_PLACE_HUGETLB}
                        : pages == Pages::kTransparent ? uint32_t{RANKFEED_PLACE_TRANSPARENT}
                        : pages == Pages::kBase        ? uint32_t{RANKFEED_PLACE_BASE}
                                                       : 0u;
  if (rankfeed_image_place(image, size, flag, &mapping_, &placement, &detail) != RANKFEED_OK) {
    throw std::runtime_error(fmt::format("image: {}", strerror(static_cast<int>(detail.item))));
  }
  const auto step = [&](const char* kind, std::string outcome) {
    ladder_.steps.push_back({kind, std::move(outcome)});
  };
  if (placement.pages == RANKFEED_PAGES_HUGETLB) return step("hugetlb", "used");
  if (placement.hugetlb_error != ECANCELED) {
    step("hugetlb", fmt::format("{} pages of 2 MiB asked, {} free: {}", (size + kHuge - 1) / kHuge,
                                counters::FreeHugetlbPages(), strerror(placement.hugetlb_error)));
  }
  if (placement.pages == RANKFEED_PAGES_TRANSPARENT) return step("transparent huge", "used");
  if (placement.transparent_error != ECANCELED) {
    step("transparent huge", TransparentReason(placement.transparent_error, size));
  }
  step("base", "used");
}

}  // namespace rankfeed::measure
