// SPDX-License-Identifier: MIT
// models/unigram/span_paths.cc: see span_paths.h.
#include "models/unigram/span_paths.h"

#include <algorithm>

namespace rankfeed::unigram {

void SpanPaths::Scratch::Carve(Layout& layout, uint32_t most_spans) {
  search.Carve(layout);
  found = layout.Take<Found>(most_spans);
  searches = layout.Take<uint16_t>(most_spans);
  searched = layout.Take<uint16_t>(most_spans);
}

SpanPaths::SpanPaths(const Model& model, const SearchKernels& kernels, Scratch& scratch)
    : model_(model),
      kernels_(kernels),
      scratch_(scratch),
      not_kept_(Path::NotKept(model.has(image::kByteFallback), CountsUnknown(model))) {}

// Whether a span is a long run of one code, as text in a script that the vocabulary lacks is. The
// reference's own search through it costs less than one that looks for margins.
static bool IsLongRun(std::span<const uint16_t> codes) {
  constexpr size_t kLong = 40;
  return codes.size() >= kLong && std::all_of(codes.begin() + 2, codes.end(),
                                              [&](uint16_t code) { return code == codes[1]; });
}

void SpanPaths::Solve(const SpanList& run, uint32_t cjk_codes, const ExactnessRule& rule) {
  run_ = &run;
  // Without characters of those scripts hardly any span is short enough to be looked up.
  constexpr uint32_t kMostOther = 4;  // spans to one of them
  uint32_t search_count = run.count;
  const uint16_t* searches = nullptr;  // all
  if (kMostOther * cjk_codes > run.count) {
    const SpanTable table{model_.segment.spans.data(), model_.config->code_count,
                          model_.segment.config->span_bits};
    search_count = kernels_.look_up_spans(table, run, scratch_.found, scratch_.searches);
    searches = scratch_.searches;
  }
  uint16_t* const searched = scratch_.searched;
  const uint32_t space = model_.segment.config->space_code;
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    const std::span<const uint16_t> codes = run.Codes(i);
    const auto size = static_cast<uint32_t>(codes.size());
    searched[i] =
        IsLongRun(codes)
            ? kNotSearched
            : static_cast<uint16_t>(search().Append(codes.data(), size, codes[0] == space));
  }
  if (search().count() != 0) search().Solve(model_, kernels_, rule);
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    scratch_.found[i] = searched[i] == kNotSearched ? Found{search().ids(), 0, kNotFound}
                                                    : Kept(search().path(searched[i]));
  }
}

}  // namespace rankfeed::unigram
