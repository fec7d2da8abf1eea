// SPDX-License-Identifier: MIT
// builder/fast/charsmap_keys.cc: walks the charsmap's trie, laid out as normalize/charsmap.h says. Its
// keys were checked to be UTF-8 and finite when the file was read (builder/normalize/charsmap_check.cc).
#include "builder/fast/charsmap_keys.h"

#include "base/narrow.h"
#include "base/utf8.h"
#include "normalize/precompiled.h"

namespace rankfeed::builder {
namespace {

constexpr size_t Offset(uint32_t unit) {
  return static_cast<size_t>(unit >> 10) << ((unit & 0x200) >> 6);
}
constexpr uint32_t kLabelBits = 0x800000ff, kHasValue = 0x100;

}  // namespace

CharsmapKeys::CharsmapKeys(const Model& model, Pipeline pipeline)
    : pipeline_(pipeline),
      units_(pipeline.precompiled ? model.charsmap_units : std::span<const uint32_t>()),
      children_(units_),
      charsmap_(model.charsmap_units, model.charsmap_pool) {
  std::string key;
  if (!units_.empty()) Collect(Offset(units_[0]), &key);
}

bool CharsmapKeys::Find(std::string_view prefix, Node* node) const {
  if (units_.empty()) return false;
  *node = {Offset(units_[0]), false};
  for (const char c : prefix) {
    const auto byte = Byte(c);
    const size_t child = node->at ^ byte;
    if (child >= units_.size() || (units_[child] & kLabelBits) != byte) return false;
    *node = {child ^ Offset(units_[child]), (units_[child] & kHasValue) != 0};
  }
  return true;
}

bool CharsmapKeys::HasChildren(size_t node) const {
  return !children_.Of(node).empty();
}

bool CharsmapKeys::SomeLonger(std::string_view prefix) const {
  Node node{};
  return Find(prefix, &node) && HasChildren(node.at);
}

bool CharsmapKeys::SomeBegin(std::string_view prefix) const {
  Node node{};
  return Find(prefix, &node) && (node.key || HasChildren(node.at));
}

std::string_view CharsmapKeys::Normalized(std::string_view character) const {
  if (!pipeline_.precompiled) return character;
  const CharsmapMatch match =
      pipeline_.sentencepiece ? charsmap_.Longest(character) : charsmap_.Shortest(character);
  return match ? match.replacement : character;
}

void CharsmapKeys::Collect(size_t node, std::string* key) {
  for (const uint32_t child : children_.Of(node)) {
    key->push_back(static_cast<char>(children_.Label(child)));
    if ((units_[child] & kHasValue) != 0) CollectKey(*key);
    Collect(child ^ Offset(units_[child]), key);
    key->pop_back();
  }
}

void CharsmapKeys::CollectKey(std::string_view key) {
  const utf8::Decoded first = utf8::Decode(key, 0);
  if (first.size == key.size()) return;
  const std::string_view value = charsmap_.Longest(key).replacement;
  joins_.insert({first.code_point, value.empty() ? U' ' : utf8::Decode(value, 0).code_point});
  for (size_t pos = first.size; pos < key.size();) {
    const utf8::Decoded c = utf8::Decode(key, pos);
    pos += c.size;
    if (!pipeline_.sentencepiece && pos >= normalize::kWholeClusterBytes) break;
    first_[first.code_point] = true;
    later_[c.code_point] = true;
  }
}

}  // namespace rankfeed::builder
