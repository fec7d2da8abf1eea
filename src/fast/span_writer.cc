// SPDX-License-Identifier: MIT
// fast/span_writer.cc: see span_writer.h.
#include "fast/span_writer.h"

namespace rankfeed::fast {

SpanWriter::SpanWriter(const Model& model, uint16_t* codes_of_batch, uint16_t* begins_of_batch)
    : RunDecode{{codes_of_batch, begins_of_batch, 0, 0},
                model.segment.char_info.data,
                model.segment.direct_codes.data(),
                model.segment.spanned_pairs.data(),
                model.segment.expansions.data()},
      signs(model),
      metaspace(static_cast<uint16_t>(model.segment.config->space_code)),
      every_space((model.segment.config->rules & image::kEverySpaceIsWord) != 0),
      front_vanishes(every_space && model.huggingface() &&
                     (model.segment.config->rules & image::kFrontSpaceIsWord) == 0) {}

// Whether the open span is one, if it ends here. HuggingFace puts no U+2581 in front of a stretch
// that begins with a space, or of nothing.
bool SpanWriter::Closes() const {
  const bool keeps_empty = every_space && !(at_front && count == first_count);
  return size != open() && (keeps_empty || !IsOnlyMetaspace());
}

void SpanWriter::Close() {
  depends |= every_space && count == first_count && IsOnlyMetaspace();
  if (Closes()) {
    Cut();
  } else {
    size = open();
  }
  at_front = false;
}

void SpanWriter::AddSpace() {
  Close();
  Open(true);
  spaces = true;
  trailing_space = !every_space;
}

void SpanWriter::AddElements(std::span<const uint16_t> elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == 0) {
      AddSpace();
    } else if (elements[i] != image::kSign) {
      Add(elements[i]);
      trailing_space = false;
    } else if (++i != elements.size()) {
      AddSign(elements[i]);
    }
  }
}

void SpanWriter::AddSign(uint32_t code, bool begun) {
  if (!begun) BeginSign();
  spaces = true;
  trailing_space = false;
  Add(code);
  Cut();
  Add(metaspace);
}

// The word of a sign begins. A space before it may be a word.
void SpanWriter::BeginSign() {
  // After another sign it has begun.
  if (has_span() && !trailing_space && IsOnlyMetaspace()) return;
  const bool spaced = trailing_space;
  trailing_space = false;
  if (spaced && signs.after_space()) {
    Cut();
  } else {
    word_first |= front && !has_span() && !Closes() && !spaced && signs.after_space();
    Close();
  }
  Open(true);
}

}  // namespace rankfeed::fast
