// SPDX-License-Identifier: MIT
// builder/base/radix_sort.h: sorts numbers of things by 64-bit keys, a byte at a time from the lowest.
// Hundreds of thousands of pieces are sorted several times while an image is made; comparisons took a
// fifth of that time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankfeed::builder {

// Sorts by rising key(item), a uint64_t. Stable. Bytes in which no two keys differ cost one look at
// each key. O(items); 4 bytes an item of memory.
template <class Key>
void RadixSort(std::vector<uint32_t>* items, const Key& key) {
  uint64_t some = 0, all = UINT64_MAX;  // bits that are set in some key, in all keys
  for (const uint32_t item : *items) {
    some |= key(item);
    all &= key(item);
  }
  std::vector<uint32_t> other(items->size());
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((((some ^ all) >> shift) & 0xff) == 0) continue;
    std::array<size_t, 257> place{};  // where the items of a byte begin, once they are summed
    for (const uint32_t item : *items) ++place[(key(item) >> shift & 0xff) + 1];
    for (size_t byte = 1; byte < 256; ++byte) place[byte] += place[byte - 1];
    for (const uint32_t item : *items) other[place[key(item) >> shift & 0xff]++] = item;
    items->swap(other);
  }
}

// Sorts by rising key(item), and equal ones by less(item, item).
template <class Key, class Less>
void RadixSort(std::vector<uint32_t>* items, const Key& key, const Less& less) {
  RadixSort(items, key);
  for (auto begin = items->begin(); begin != items->end();) {
    const auto end = std::find_if(begin, items->end(),
                                  [&](uint32_t item) { return key(item) != key(*begin); });
    std::sort(begin, end, less);
    begin = end;
  }
}

}  // namespace rankfeed::builder
