// SPDX-License-Identifier: MIT
// Memory of a fast::LookUpBatch.
#pragma once

#include <vector>

#include "fast/look_up.h"

namespace rankfeed::fast_test {

class LookUpMemory {
 public:
  explicit LookUpMemory(uint32_t count)
      : keys_(count + kVectorSlack),
        hashes_(keys_.size()),
        hits_(keys_.size()),
        found_(keys_.size()),
        lacking_(keys_.size()),
        misses_(keys_.size()) {
    for (int part = 0; part < 4; ++part) {
      parts_[part].resize(keys_.size());
      batch_.parts[part] = parts_[part].data();
    }
    batch_.keys = keys_.data();
    batch_.hashes = hashes_.data();
    batch_.hits = hits_.data();
    batch_.found = found_.data();
    batch_.lacking = lacking_.data();
    batch_.misses = misses_.data();
  }
  LookUpMemory(const LookUpMemory&) = delete;
  LookUpMemory& operator=(const LookUpMemory&) = delete;

  const fast::LookUpBatch& batch() const { return batch_; }
  // As make_keys of any kernels leaves it.
  void Put(uint32_t i, const fast::SegmentKey& key) {
    keys_[i] = key;
    for (int part = 0; part < 4; ++part) parts_[part][i] = key.part[part];
    hashes_[i] = key.Hash();
  }

 private:
  std::vector<fast::SegmentKey> keys_;
  std::vector<uint64_t> parts_[4], hashes_;
  std::vector<int32_t> hits_;
  std::vector<Found> found_;
  std::vector<uint16_t> lacking_, misses_;
  fast::LookUpBatch batch_;
};

}  // namespace rankfeed::fast_test
