// SPDX-License-Identifier: MIT
// builder/normalize/charsmap_children.h: the children of every node of a charsmap's trie (Darts-clone units,
// normalize/charsmap.h). A unit says only where its children would be, not which there are: trying 255
// bytes at each of 400,000 nodes took a quarter of the time that an image is made in. A child at
// place c with label l belongs to whoever points at c ^ l, so one pass over the units finds them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/narrow.h"

namespace rankfeed::builder {

class CharsmapChildren {
 public:
  CharsmapChildren() = default;
  // units must outlive this. O(units log 255), 8 bytes a unit.
  explicit CharsmapChildren(std::span<const uint32_t> units) : units_(units) {
    // Labels have 8 bits, so a child lies among the 256 units of the place that it belongs to.
    begin_.assign((units.size() | 0xff) + 2, 0);
    for (size_t at = 0; at < units.size(); ++at) {
      if (IsChild(units[at])) ++begin_[Owner(at)];
    }
    uint32_t end = 0;
    for (uint32_t& begin : begin_) begin = end += begin;
    places_.resize(end);
    for (size_t at = units.size(); at-- > 0;) {
      if (IsChild(units[at])) places_[--begin_[Owner(at)]] = static_cast<uint32_t>(at);
    }
    for (size_t base = 0; base + 1 < begin_.size(); ++base) {
      const auto of = places_.begin();
      std::sort(of + begin_[base], of + begin_[base + 1],
                [&](uint32_t a, uint32_t b) { return Label(a) < Label(b); });
    }
  }

  // The places of the children of a node that points at base, by their labels.
  std::span<const uint32_t> Of(size_t base) const {
    if (base + 1 >= begin_.size()) return {};
    return std::span(places_).subspan(begin_[base], begin_[base + 1] - begin_[base]);
  }
  unsigned char Label(size_t place) const { return Byte(units_[place]); }

 private:
  // Neither a value nor a unit that no key uses; a label of 0 is where a value stands.
  static bool IsChild(uint32_t unit) { return (unit & 0x80000000) == 0 && (unit & 0xff) != 0; }
  size_t Owner(size_t place) const { return place ^ Label(place); }

  std::span<const uint32_t> units_;
  std::vector<uint32_t> begin_, places_;
};

}  // namespace rankfeed::builder
