// SPDX-License-Identifier: MIT
// tests/rerank/reference.h: rows of a query and a document, written for clarity: token lists that
// are popped, sliced and joined, with none of the closed forms of src/rerank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rankfeed/rerank.h"

namespace rankfeed::plain {

using Ids = std::vector<int32_t>;

inline Ids Slice(const Ids& ids, size_t begin, size_t end) {
  return Ids(ids.begin() + static_cast<ptrdiff_t>(begin),
             ids.begin() + static_cast<ptrdiff_t>(end));
}

inline void DropOne(Ids& ids, bool left) {
  if (left) {
    ids.erase(ids.begin());
  } else {
    ids.pop_back();
  }
}

inline Ids CutTo(Ids ids, size_t keep, bool left) {
  while (ids.size() > keep) DropOne(ids, left);
  return ids;
}

// tokenizers 0.22.2 utils/truncation.rs, LongestFirst: the lengths that stay, following the cases
// of its source.
inline void LongestFirstLengths(size_t& a, size_t& b, size_t budget) {
  size_t n1 = a, n2 = b;
  const bool swap = n1 > n2;
  if (swap) std::swap(n1, n2);
  n2 = n1 > budget ? n1 : std::max(n1, budget - n1);
  if (n1 + n2 > budget) {
    n1 = budget / 2;
    n2 = n1 + budget % 2;
  }
  if (swap) std::swap(n1, n2);
  a = std::min(a, n1);
  b = std::min(b, n2);
}

// Encoding::truncate: the windows of ids, first the one that stays. Null where it would panic.
inline std::optional<std::vector<Ids>> HuggingFaceWindows(const Ids& ids, size_t size,
                                                          size_t stride, bool left) {
  if (size >= ids.size()) return std::vector<Ids>{ids};
  if (stride >= size) return std::nullopt;
  std::vector<Ids> windows;
  if (!left) {
    for (size_t start = 0;; start += size - stride) {
      const size_t stop = std::min(start + size, ids.size());
      windows.push_back(Slice(ids, start, stop));
      if (stop == ids.size()) return windows;
    }
  }
  for (size_t stop = ids.size();; stop -= size - stride) {
    const size_t start = stop > size ? stop - size : 0;
    windows.push_back(Slice(ids, start, stop));
    if (start == 0) return windows;
  }
}

// Jina's reranker_tokenize_preproc: start, end and the clamp of the last chunk.
inline std::vector<Ids> JinaWindows(const Ids& ids, size_t size, size_t stride) {
  if (ids.size() <= size) return {ids};
  const size_t overlap = std::min(stride, size / 4);
  std::vector<Ids> windows;
  size_t start = 0;
  while (start < ids.size()) {
    const size_t end = start + size;
    if (end >= ids.size()) {
      windows.push_back(Slice(ids, ids.size() - size, ids.size()));
      start = end;
    } else {
      windows.push_back(Slice(ids, start, end));
      start = end - overlap;
    }
  }
  return windows;
}

inline Ids Reversed(const Ids& ids) {
  return Ids(ids.rbegin(), ids.rend());
}

// Query and document parts of the rows of a pair, or the document's status.
struct Rows {
  rankfeed_status status = RANKFEED_OK;
  std::vector<std::pair<Ids, Ids>> rows;
};

// specials: tokens of the pair template.
inline Rows RowsOf(Ids query, Ids document, const rankfeed_rerank_options& o, size_t specials) {
  const bool left = o.truncation_side == RANKFEED_LEFT;
  if (o.max_query_tokens != 0) query = CutTo(query, o.max_query_tokens, left);
  if (o.max_tokens_per_doc != 0) document = CutTo(document, o.max_tokens_per_doc, left);
  const size_t budget = o.max_length - specials;
  if (o.max_length == 0 || query.size() + document.size() <= budget) {
    return {RANKFEED_OK, {{query, document}}};
  }
  if (o.overflow != RANKFEED_OVERFLOW_DROP) {
    if (query.size() >= budget) return {RANKFEED_E_TRUNCATION, {}};
    const size_t size = budget - query.size();
    std::vector<Ids> windows;
    if (o.overflow == RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST) {
      const auto made = HuggingFaceWindows(document, size, o.stride, left);
      if (!made) return {RANKFEED_E_TRUNCATION, {}};
      windows = *made;
    } else if (!left) {
      windows = JinaWindows(document, size, o.stride);
    } else {  // the mirror image
      for (const Ids& window : JinaWindows(Reversed(document), size, o.stride)) {
        windows.push_back(Reversed(window));
      }
    }
    Rows rows;
    for (const Ids& window : windows) {
      if (o.max_chunks_per_doc != 0 && rows.rows.size() == o.max_chunks_per_doc) break;
      rows.rows.emplace_back(query, window);
    }
    return rows;
  }
  if (o.truncation == RANKFEED_TRUNCATE_NONE) return {RANKFEED_E_TOO_LONG, {}};
  size_t a = query.size(), b = document.size();
  const size_t remove = a + b - budget;
  if (budget == 0) {
    a = b = 0;
  } else if (o.truncation == RANKFEED_TRUNCATE_TEXT_END) {
    while (a + b > budget) --(b != 0 ? b : a);
  } else if (o.truncation == RANKFEED_TRUNCATE_LONGEST_FIRST) {
    LongestFirstLengths(a, b, budget);
  } else if (o.truncation == RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW) {
    while (a + b > budget) --(a > b ? a : b);
  } else {
    size_t& target = o.truncation == RANKFEED_TRUNCATE_ONLY_FIRST ? a : b;
    if (target <= remove) return {RANKFEED_E_TRUNCATION, {}};
    target -= remove;
  }
  return {RANKFEED_OK, {{CutTo(query, a, left), CutTo(document, b, left)}}};
}

}  // namespace rankfeed::plain
