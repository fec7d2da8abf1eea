// SPDX-License-Identifier: MIT
// receipt/placed_image.h: a copy of a vocabulary image on the largest pages there are, and what the
// kernel really gave. The ladder: hugetlb pages, transparent huge pages, base pages; each step that
// was left has its reason.
#pragma once

#include <string>
#include <vector>

#include "counters/pages.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::receipt {

enum class Pages { kLargest, kBase };

struct PageLadder {
  std::string asked;  // "largest" or "base"
  struct Step {
    std::string kind;     // "hugetlb", "transparent huge", "base"
    std::string outcome;  // "used", or why it was left
  };
  std::vector<Step> steps;
  counters::PageStatus obtained;
};

class PlacedImage {
 public:
  // Copies image[0, size) and opens a model over the copy. Throws std::runtime_error.
  PlacedImage(const void* image, size_t size, Pages pages);
  ~PlacedImage();
  PlacedImage(const PlacedImage&) = delete;
  PlacedImage& operator=(const PlacedImage&) = delete;

  const rankfeed_model* model() const { return model_; }
  const PageLadder& ladder() const { return ladder_; }
  size_t size() const { return size_; }

 private:
  bool TryHugetlb(const void* image);
  bool TryTransparent(const void* image);
  void UseBase(const void* image);
  void Measure();

  size_t size_, mapped_ = 0;
  void* base_ = nullptr;   // of the mapping
  void* data_ = nullptr;   // of the image in it
  PageLadder ladder_;
  AlignedBytes storage_;
  rankfeed_model* model_ = nullptr;
};

}  // namespace rankfeed::receipt
