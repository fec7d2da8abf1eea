// SPDX-License-Identifier: MIT
// segment/groups.cc: see groups.h.
#include "segment/groups.h"

#include <algorithm>

#include "base/utf8.h"
#include "segment/spans.h"
#include "unicode/properties.h"

namespace rankfeed::segment {

CharacterGroups::CharacterGroups(const Model& model) : model_(model) {
  if (!model.huggingface()) return;
  // Without the classes of characters there is no charsmap (image/sections.def).
  if (!model.props.present()) return;
  // What a Replace puts in place of single characters begins clusters too.
  known_ =
      std::all_of(model.normalizer.begin(), model.normalizer.end(), [&](const image::Step& step) {
        const std::string_view text = model.text(step.b);
        return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; }) ||
               text == "\xe2\x96\x81";
      });
}

// Whether a cluster begins with it, behind anything but a Prepend character: by its class alone.
static bool IsOther(const Model& model, char32_t c) {
  const uint32_t is = model.props[c] & image::kGraphemeMask;
  return is == image::kGraphemeOther || is == image::kGraphemePrepend;
}

// The same of all that it may be in front of the charsmap.
bool CharacterGroups::BeginsCluster(char32_t c) const {
  if (!IsOther(model_, c)) return false;
  for (const CodePointTable<uint32_t>* table : {&model_.decomp, &model_.decomp_k, &model_.lower}) {
    if (!table->present()) continue;
    for (const uint32_t part : unicode::Mapping(model_, *table, c)) {
      if (!IsOther(model_, part)) return false;
    }
  }
  return true;
}

bool CharacterGroups::Vanishes(uint32_t info) const {
  if ((info & image::kCharExpands) == 0) return false;
  return ExpansionCount(model_.segment.expansions.data() + (info & image::kCharCodeMask)) == 0;
}

// Whether a group may end before the character at `at`, which is not the first.
bool CharacterGroups::EndsBefore(std::string_view segment, size_t at) const {
  const CodePointTable<uint32_t>& char_info = model_.segment.char_info;
  const char32_t next = utf8::Decode(segment, at).code_point;
  const uint32_t info = char_info[next];
  if ((info & image::kCharMarks) != 0 || Vanishes(info) || !BeginsCluster(next)) return false;
  const uint32_t last = char_info[utf8::Decode(segment, utf8::Previous(segment, at)).code_point];
  return (last & image::kCharNormalizes) == 0 && !Vanishes(last);
}

size_t CharacterGroups::Begin(std::string_view segment, size_t at) const {
  while (at > 0 && !EndsBefore(segment, at)) at = utf8::Previous(segment, at);
  return at;
}

size_t CharacterGroups::End(std::string_view segment, size_t at) const {
  while (at < segment.size() && !EndsBefore(segment, at)) at += utf8::Decode(segment, at).size;
  return at;
}

}  // namespace rankfeed::segment
