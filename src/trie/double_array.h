// SPDX-License-Identifier: MIT
// trie/double_array.h: read side of the double-array tries of an image.
//
// One 8-byte unit per trie node. A node's children sit at base + code; because no two nodes share a
// base (builder/trie/double_array_build.cc), comparing the code stored in the child is enough, and no
// parent index is needed. Codes are 16-bit: character codes for the piece trie (image kCodes),
// byte + 1 for the added-token tries.
//
//   bits  0..15  label: the code that leads here; kEmptyLabel in unused units and in the root
//   bits 16..38  base: index of the first possible child; a leaf's base is 0
//   bit  39      the unit is a leaf of the piece trie on the fast road, and base that of another
//                one (image/format.h, AutomatonState)
//   bits 40..63  value: kNoValue if no key ends here
//
// Unit 0 is the root. Code 0 means "in no key" and is never stored as a label, so a step with code 0
// always fails. image/verify.cc checks base + code_count <= unit count and value < value count for
// every unit, which makes each step in bounds for any input.
#pragma once

#include <cstdint>
#include <span>

namespace rankfeed::trie {

inline constexpr uint32_t kEmptyLabel = 0xffff;
inline constexpr uint32_t kNoValue = 0xffffff;
inline constexpr uint32_t kMaxUnits = 1u << 23;
inline constexpr uint32_t kMaxCodes = 0xffff;  // codes are 1 .. kMaxCodes - 1

using Unit = uint64_t;

constexpr uint32_t Label(Unit u) { return static_cast<uint32_t>(u) & 0xffff; }
constexpr uint32_t Base(Unit u) {
  return static_cast<uint32_t>(u >> 16) & (kMaxUnits - 1);
}
constexpr uint32_t Value(Unit u) { return static_cast<uint32_t>(u >> 40); }
constexpr Unit MakeUnit(uint32_t label, uint32_t base, uint32_t value) {
  return static_cast<Unit>(label) | static_cast<Unit>(base) << 16 | static_cast<Unit>(value) << 40;
}

inline constexpr Unit kLeafBit = Unit{1} << 39;
// The unit of a leaf, with the base of another one.
constexpr Unit LeafUnit(uint32_t label, uint32_t base, uint32_t value) {
  return MakeUnit(label, base, value) | kLeafBit;
}

class View {
 public:
  View() = default;
  explicit View(std::span<const Unit> units) : units_(units.data()), size_(units.size()) {}
  std::span<const Unit> units() const { return {units_, size_}; }
  bool empty() const { return size_ == 0; }
  Unit root() const { return units_[0]; }
  // Follows code from node u; false when there is no such child.
  bool Step(Unit& u, uint32_t code) const {
    const Unit next = units_[Base(u) + code];
    if (Label(next) != code || (u & kLeafBit) != 0) return false;
    u = next;
    return true;
  }

 private:
  const Unit* units_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rankfeed::trie
