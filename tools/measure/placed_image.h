// SPDX-License-Identifier: MIT
// measure/placed_image.h: a copy of a vocabulary image on the pages asked for
// (rankfeed_image_place), why each step of that ladder was left, and what the kernel really gave.
#pragma once

#include <string>
#include <vector>

#include "counters/pages.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::measure {

struct PageLadder {
  std::string asked;  // "largest", "hugetlb", "transparent" or "base"
  struct Step {
    std::string kind;     // "hugetlb", "transparent huge", "base"
    std::string outcome;  // "used", or why it was left
  };
  std::vector<Step> steps;
  counters::PageStatus obtained;
};

class PlacedImage {
 public:
  // Copies image[0, size) and opens a model over the copy; not Pages::kFile. Throws
  // std::runtime_error.
  PlacedImage(const void* image, size_t size, Pages pages);
  ~PlacedImage();
  PlacedImage(const PlacedImage&) = delete;
  PlacedImage& operator=(const PlacedImage&) = delete;

  const rankfeed_model* model() const { return model_; }
  const PageLadder& ladder() const { return ladder_; }
  size_t size() const { return mapping_.size; }

 private:
  void Place(const void* image, size_t size, Pages pages);

  rankfeed_mapping mapping_{};
  PageLadder ladder_;
  AlignedBytes storage_;
  rankfeed_model* model_ = nullptr;
};

}  // namespace rankfeed::measure
