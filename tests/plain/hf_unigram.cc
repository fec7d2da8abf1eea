// SPDX-License-Identifier: MIT
#include "plain/hf_unigram.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace rankfeed::plain {
namespace {

constexpr double kUnkPenalty = 10.0;  // K_UNK_PENALTY, models/unigram/model.rs

bool IsBoundary(std::string_view text, size_t at) {
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

struct Node {
  bool reached = false;
  double score = 0;
  size_t start = 0;
  bool unknown = false;
};

}  // namespace

HfUnigram::HfUnigram(const std::vector<std::pair<std::string, double>>& pieces,
                     std::optional<uint32_t> unk_id, bool byte_fallback)
    : unk_id_(unk_id), byte_fallback_(byte_fallback) {
  double min_score = std::numeric_limits<double>::infinity();
  for (uint32_t id = 0; id < pieces.size(); id++) {
    pieces_[pieces[id].first] = {id, pieces[id].second};
    min_score = std::min(min_score, pieces[id].second);
    longest_piece_ = std::max(longest_piece_, pieces[id].first.size());
  }
  unk_score_ = min_score - kUnkPenalty;
}

std::optional<std::vector<HfToken>> HfUnigram::Encode(std::string_view text) const {
  std::vector<Node> best(text.size() + 1);
  best[0].reached = true;
  for (size_t start = 0; start < text.size(); start++) {
    if (!IsBoundary(text, start)) continue;
    size_t next = start + 1;
    while (!IsBoundary(text, next)) next++;
    bool single = false;
    const auto offer = [&](size_t end, double score, bool unknown) {
      const double candidate = score + best[start].score;
      if (!best[end].reached || candidate > best[end].score) {
        best[end] = {true, candidate, start, unknown};
      }
    };
    for (size_t end = next; end <= text.size() && end - start <= longest_piece_; end++) {
      if (!IsBoundary(text, end)) continue;
      const auto piece = pieces_.find(text.substr(start, end - start));
      if (piece == pieces_.end()) continue;
      // A piece with the unknown id, such as a literal "<unk>", counts as unknown: it fuses too.
      offer(end, piece->second.score, unk_id_ && piece->second.id == *unk_id_);
      if (end == next) single = true;
    }
    if (!single) {
      offer(next, unk_score_, true);
      // To take the unknown edge for best already fails, whether or not the path goes there.
      if (!unk_id_ && best[next].start == start && best[next].unknown) return std::nullopt;
    }
  }

  // From the end to the start; neighbouring unknown characters become one string.
  struct Span {
    size_t begin, end;
    bool unknown;
  };
  std::vector<Span> spans;
  for (size_t end = text.size(); end > 0; end = best[end].start) {
    const Span span = {best[end].start, end, best[end].unknown};
    if (span.unknown && !spans.empty() && spans.back().unknown) {
      spans.back().begin = span.begin;
    } else {
      spans.push_back(span);
    }
  }
  std::reverse(spans.begin(), spans.end());

  // Ids by string: a fused unknown string may well be a piece.
  std::vector<HfToken> tokens;
  for (const Span& span : spans) {
    const std::string_view part = text.substr(span.begin, span.end - span.begin);
    const uint32_t begin = static_cast<uint32_t>(span.begin), end = static_cast<uint32_t>(span.end);
    if (const auto piece = pieces_.find(part); piece != pieces_.end()) {
      tokens.push_back({piece->second.id, begin, end});
      continue;
    }
    std::vector<uint32_t> bytes;
    for (const char c : part) {
      char name[8];
      std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(c) & 0xff);
      const auto piece = pieces_.find(std::string_view(name));
      if (piece == pieces_.end()) break;
      bytes.push_back(piece->second.id);
    }
    if (byte_fallback_ && bytes.size() == part.size()) {
      for (const uint32_t id : bytes) tokens.push_back({id, begin, end});
    } else {
      tokens.push_back({*unk_id_, begin, end});
    }
  }
  return tokens;
}

}  // namespace rankfeed::plain
