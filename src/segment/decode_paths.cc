// SPDX-License-Identifier: MIT
// segment/decode_paths.cc: best paths of the spans of a batch (decode.h): from the table of the
// image, or searched.
#include <algorithm>

#include "segment/decode.h"

namespace rankfeed::segment {

// Whether a span is a long run of one code, as text in a script that the vocabulary lacks is. The
// reference's own search through it costs less than one that looks for margins.
static bool IsLongRun(std::span<const uint16_t> codes) {
  constexpr size_t kLong = 40;
  return codes.size() >= kLong && std::all_of(codes.begin() + 2, codes.end(),
                                              [&](uint16_t code) { return code == codes[1]; });
}

void SpanDecoder::Solve(const ExactnessRule& rule) {
  // Without characters of those scripts hardly any span is short enough to be looked up.
  constexpr uint32_t kMostOther = 4;  // spans to one of them
  uint32_t search_count = run_.count;
  const uint16_t* searches = nullptr;  // all
  if (kMostOther * cjk_codes_ > run_.count) {
    const SpanTable table{tables_.spans.data(), model_.config->code_count,
                          tables_.config->span_bits};
    search_count = kernels_.look_up_spans(table, run_, scratch_.found, scratch_.searches);
    searches = scratch_.searches;
  }
  uint16_t* const searched = scratch_.searched;
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    const std::span<const uint16_t> codes = RunSpan(i);
    const auto size = static_cast<uint32_t>(codes.size());
    searched[i] =
        IsLongRun(codes)
            ? kNotSearched
            : static_cast<uint16_t>(search_.Append(codes.data(), size, BeginsWord(codes)));
  }
  if (search_.count() != 0) search_.Solve(model_, kernels_, rule);
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    scratch_.found[i] = searched[i] == kNotSearched ? Found{search_.ids(), 0, kNotFound}
                                                    : Kept(search_.path(searched[i]));
  }
}

}  // namespace rankfeed::segment
