// SPDX-License-Identifier: MIT
// segment/decode_paths.cc: best paths of the spans of a batch (decode.h): from the table of the
// image, from those that are known, or searched.
#include <algorithm>

#include "segment/decode.h"

namespace rankfeed::segment {

// As PathSearch::Append of a span, if its path is not known; else kIsKnown, and *found is that. Words
// of characters that became several come again with each of them: they are searched once. doubtful:
// or kNotSearched.
inline uint16_t SpanDecoder::AppendOnce(std::span<const uint16_t> codes, bool doubtful,
                                        Found* found) {
  if (const KnownSpans::Entry* const entry = known_spans_.Find(codes)) {
    if (entry->number != KnownSpans::kIsKnown) return entry->number;
    *found = entry->found;
    return kIsKnown;
  }
  if (doubtful) return kNotSearched;
  const auto number = static_cast<uint16_t>(
      search_.Append(codes.data(), static_cast<uint32_t>(codes.size()), BeginsWord(codes)));
  known_spans_.Take(codes, number);
  return number;
}

void SpanDecoder::Know(uint32_t span, std::span<const int32_t> ids) {
  const auto unk_id = static_cast<int32_t>(model_.config->unk_id);
  if (!has_words_ || ids.empty() || std::find(ids.begin(), ids.end(), unk_id) != ids.end()) return;
  const auto count = static_cast<uint8_t>(std::min<size_t>(ids.size(), 0xff));
  known_spans_.Know(codes(span), ids, {count, ExactnessRule::kAlways, 0});
}

void SpanDecoder::Solve(const ExactnessRule& rule, uint64_t bound) {
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
  if (has_words_) known_spans_.Start();
  const uint16_t* const same = has_words_ ? scratch_.same : nullptr;
  uint16_t* const searched = scratch_.searched;
  Found* const found = scratch_.found;
  bool any_fused = false;
  if (searches != nullptr) std::fill_n(searched, run_.count, kNotSearched);
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k;
    if (same != nullptr && same[i] != kNotSame) {
      searched[i] = searched[same[i]];
      continue;
    }
    const std::span<const uint16_t> codes = RunSpan(i);
    const bool doubtful = codes.size() >= kLeastDoubtful && doubts_.Expect();
    if (codes.size() >= kLeastRun && (IsPart(i) || IsLongRun(codes))) [[unlikely]] {
      searched[i] = kNotSearched;
    } else if (has_words_) {
      searched[i] = AppendOnce(codes, doubtful, found + i);
      any_fused |= searched[i] == kIsKnown && found[i].id < 0;
    } else if (doubtful) {
      searched[i] = kNotSearched;
    } else {
      searched[i] = static_cast<uint16_t>(
          search_.Append(codes.data(), static_cast<uint32_t>(codes.size()), BeginsWord(codes)));
    }
  }
  if (search_.count() != 0) search_.Solve(model_, kernels_, rule);
  uint8_t flags = 0;
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = searches != nullptr ? searches[k] : k, number = searched[i];
    if (same != nullptr && same[i] != kNotSame) {
      found[i] = found[same[i]];
      continue;
    }
    if (number >= kIsKnown) {
      if (number == kNotSearched) found[i] = {search_.ids(), 0, kNotFound};
      continue;
    }
    const Path& path = search_.path(number);
    if (RunSpan(i).size() >= kLeastDoubtful) [[unlikely]]
      doubts_.Note((bound + path.info.score_bound) >> path.info.exact_below != 0);
    flags |= path.flags;
    found[i] = Kept(path, not_kept_of_runs_);
  }
  has_fused_ = any_fused || (flags & Path::kFused) != 0;
  if (has_words_) {
    // Of those that are kept all is told by what was found.
    known_spans_.Keep([this](uint32_t number) {
      const Path& path = search_.path(number);
      return (path.flags & Path::kListed) == 0 ? Kept(path, not_kept_of_runs_) : Found{};
    });
  }
}

}  // namespace rankfeed::segment
