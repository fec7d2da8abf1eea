// SPDX-License-Identifier: MIT
// image/sections.h: what follows from the lines of sections.def and the members of Model that they
// name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "image/format.h"
#include "image/model.h"

namespace rankfeed::image {

// The elements of the section of a member of Model.
template <class Member>
struct ElementOf;
template <class T>
struct ElementOf<std::span<const T>> {
  using Type = T;
};
template <class T>
struct ElementOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct ElementOf<CodePointTable<T>> {
  using Type = T;
};
template <>
struct ElementOf<trie::View> {
  using Type = trie::Unit;
};
#define RANKFEED_ELEMENT(member) ElementOf<decltype(std::declval<Model&>().member)>::Type

// Element size by section id; 0 = id unknown to this version (skipped: a newer minor added it). A
// number that sections.def gives twice is refused here.
constexpr uint32_t ElementSize(uint32_t id) {
  switch (static_cast<SectionId>(id)) {
#define SECTION(number, name, member) \
  case SectionId::name:               \
    return sizeof(RANKFEED_ELEMENT(member));
#define TABLE(number, blocks, name, member) \
  case SectionId::blocks:                   \
    return sizeof(uint16_t);                \
  case SectionId::name:                     \
    return sizeof(RANKFEED_ELEMENT(member));
#include "image/sections.def"
  }
  return 0;
}
#undef RANKFEED_ELEMENT

struct SectionInfo {
  SectionId id;
  const char* name;  // as in SectionId
};
// Every section, in the order of sections.def.
inline constexpr SectionInfo kSections[] = {
#define SECTION(number, name, member) {SectionId::name, #name},
#define TABLE(number, blocks, name, member) {SectionId::blocks, #blocks}, {SectionId::name, #name},
#include "image/sections.def"
};

constexpr bool SectionIdsRise() {
  for (const SectionInfo& section : kSections) {
    if (&section != kSections && section.id <= (&section - 1)->id) return false;
    if (static_cast<uint32_t>(section.id) >= kMaxSections) return false;
  }
  return true;
}
static_assert(SectionIdsRise(),
              "a number of image/sections.def is out of order or beyond kMaxSections");

}  // namespace rankfeed::image
