// SPDX-License-Identifier: MIT
// segment/decode_suffix.cc: segments to spans where a U+2581 stands behind words
// (image::kSpaceEndsWord). It ends a span then, as no piece goes on behind it, and where spaces
// collapse a space behind it, or behind nothing, is none. All of that is told from the segment, but
// for the end of a text: spaces there are lost, also those of the segments before.
#include <algorithm>

#include "segment/decode.h"

namespace rankfeed::segment {

// Spans of short segments that were decoded with the U+2581 in front.
void SpanDecoder::MoveSpaces(uint32_t first, uint32_t last) {
  uint16_t* const codes = search_.codes();
  for (Span *span = search_.spans() + first, *end = search_.spans() + last; span != end; ++span) {
    if (!span->word_start) continue;
    std::copy(codes + span->begin + 1, codes + span->end, codes + span->begin);
    codes[span->end - 1] = metaspace_;
    span->word_start = false;
  }
}

// A space comes, or the end of a segment that has one behind it. What was appended of a word lies
// in the open span, or before it in the batch before.
void SpanDecoder::EndWord() {
  if (every_space_ || InPart() || run_.size != run_.open()) Add(metaspace_);
}

// As AddElements.
void SpanDecoder::AddBehindWords(std::span<const uint16_t> elements, const char* text,
                                 uint32_t skip, uint32_t before, uint32_t group_end) {
  const auto end = static_cast<uint32_t>(elements.size());
  uint32_t behind_space = 0;
  for (uint32_t i = skip; i < end; ++i) {
    if (elements[i] != 0) {
      Add(elements[i]);
      continue;
    }
    EndWord();
    Close();
    run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
    behind_space = i + 1;
  }
  if (behind_space == 0) return;
  EndElements(text, end != behind_space, before + behind_space, group_end);
}

// All of the segment is appended but what a U+2581 behind it makes. Only at the end of a text there
// may be none where nothing or a space comes last.
Outcome SpanDecoder::EndSegment(bool word_end) {
  if (word_end) {
    EndWord();
  } else if (!every_space_ && !InPart() && run_.size == run_.open()) {
    // That of another segment, or one in the batch before.
    if (run_.count == first_count_) return Outcome::General(RANKFEED_REASON_CONTEXT);
    --run_.count;
    --run_.size;
  }
  Close();
  return {};
}

}  // namespace rankfeed::segment
