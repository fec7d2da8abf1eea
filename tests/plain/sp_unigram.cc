// SPDX-License-Identifier: MIT
#include "plain/sp_unigram.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <utility>

namespace rankfeed::plain {
namespace {

constexpr char kSpaceSymbol[] = "\xe2\x96\x81";           // U+2581
constexpr char kReplacementCharacter[] = "\xef\xbf\xbd";  // U+FFFD
constexpr float kUnkPenalty = 10.0f;                      // unigram_model.cc

// Bytes of the valid UTF-8 character that text starts with; 0 when it starts with none.
size_t ValidCharacter(std::string_view text) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) < 0xe0) return byte(0) >= 0xc2 && tail(1) ? 2 : 0;
  if (byte(0) < 0xf0) {
    if (!tail(1) || !tail(2)) return 0;
    const uint32_t c = (byte(0) & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63);
    return c >= 0x800 && (c < 0xd800 || c >= 0xe000) ? 3 : 0;
  }
  if (byte(0) < 0xf8) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    const uint32_t c =
        (byte(0) & 7) << 18 | (byte(1) & 63) << 12 | (byte(2) & 63) << 6 | (byte(3) & 63);
    return c >= 0x10000 && c < 0x110000 ? 4 : 0;
  }
  return 0;
}

// string_util::OneCharLen: by the lead byte alone.
size_t LeadLength(char lead) {
  static constexpr uint8_t kLength[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return kLength[static_cast<unsigned char>(lead) >> 4];
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

SpUnigram::SpUnigram(SpModel model) : model_(std::move(model)) {
  // max_score_ starts at FLT_MIN, a small positive number, and so stays there for usual models.
  float min_score = FLT_MAX;
  max_score_ = FLT_MIN;
  for (int id = 0; id < static_cast<int>(model_.pieces.size()); id++) {
    const SpPiece& piece = model_.pieces[id];
    switch (piece.kind) {
      case SpKind::kNormal:
        min_score = std::min(min_score, piece.score);
        max_score_ = std::max(max_score_, piece.score);
        [[fallthrough]];
      case SpKind::kUnused:
        searched_[piece.text] = id;
        longest_piece_ = std::max(longest_piece_, piece.text.size());
        break;
      case SpKind::kUserDefined:
        searched_[piece.text] = id;
        longest_piece_ = std::max(longest_piece_, piece.text.size());
        longest_user_defined_ = std::max(longest_user_defined_, piece.text.size());
        break;
      case SpKind::kUnknown:
        unk_id_ = id;
        break;
      case SpKind::kByte:
        bytes_[piece.text] = id;
        break;
      case SpKind::kControl:
        break;
    }
  }
  unk_score_ = min_score - kUnkPenalty;
}

std::string SpUnigram::NormalizePrefix(std::string_view text, size_t* consumed) const {
  // The 64 shortest user-defined symbols count (PrefixMatch).
  size_t symbol = 0, symbols = 0;
  for (size_t n = 1; n <= std::min(longest_user_defined_, text.size()) && symbols < 64; n++) {
    const auto piece = searched_.find(text.substr(0, n));
    if (piece != searched_.end() && model_.pieces[piece->second].kind == SpKind::kUserDefined) {
      symbol = n;
      symbols++;
    }
  }
  if (symbol > 0) {
    *consumed = symbol;
    return std::string(text.substr(0, symbol));
  }
  if (const std::string* replacement = model_.charsmap.Longest(text, consumed)) return *replacement;
  *consumed = ValidCharacter(text);
  if (*consumed > 0) return std::string(text.substr(0, *consumed));
  *consumed = 1;
  return kReplacementCharacter;
}

std::string SpUnigram::Normalize(std::string_view text, std::vector<size_t>* origin) const {
  origin->clear();
  std::string out;
  if (text.empty()) return out;
  const std::string space = model_.escape_whitespaces ? kSpaceSymbol : " ";
  const bool remove = model_.remove_extra_whitespaces;
  size_t at = 0, size = 0;
  if (remove) {
    while (at < text.size() && NormalizePrefix(text.substr(at), &size) == " ") at += size;
    if (at == text.size()) return out;
  }
  const auto append = [&](std::string_view bytes) {
    out += bytes;
    origin->insert(origin->end(), bytes.size(), at);
  };
  if (model_.add_dummy_prefix && !model_.treat_whitespace_as_suffix) append(space);
  bool after_space = remove;
  while (at < text.size()) {
    std::string part = NormalizePrefix(text.substr(at), &size);
    if (after_space) part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    for (const char c : part) {
      append(c == ' ' && model_.escape_whitespaces ? std::string_view(space)
                                                   : std::string_view(&c, 1));
    }
    // A character that vanished leaves the state as it was.
    if (!part.empty()) after_space = remove && part.back() == ' ';
    at += size;
  }
  if (remove) {
    while (EndsWith(out, space)) {
      at = (*origin)[out.size() - space.size()];
      out.resize(out.size() - space.size());
      origin->resize(out.size());
    }
  }
  if (model_.add_dummy_prefix && model_.treat_whitespace_as_suffix) append(space);
  origin->push_back(at);
  return out;
}

double SpUnigram::UserDefinedScore(size_t bytes) const {
  if (model_.release == SpRelease::k0_2_2)
    return static_cast<float>(0.1 * (static_cast<int>(bytes) - 1));
  return static_cast<float>(bytes) * max_score_ - 0.1;
}

std::vector<SpUnigram::Segment> SpUnigram::BestPath(std::string_view normalized) const {
  struct Node {
    bool reached = false;
    float score = 0;
    size_t start = 0;
    int id = -1;
  };
  const bool floats = model_.release == SpRelease::k0_2_2;
  std::vector<Node> best(normalized.size() + 1);
  best[0].reached = true;
  size_t next = 0, frontier = 0;
  for (size_t start = 0; start < normalized.size(); start = next) {
    next = std::min(start + LeadLength(normalized[start]), normalized.size());
    if (floats && std::abs(best[start].score) > 100000) {
      const float offset = best[start].score;
      for (size_t at = start; at <= frontier; at++) {
        if (best[at].reached) best[at].score -= offset;
      }
    }
    const float here = best[start].score;
    bool single = false;
    for (size_t end = start + 1; end <= normalized.size() && end - start <= longest_piece_; end++) {
      const auto found = searched_.find(normalized.substr(start, end - start));
      if (found == searched_.end()) continue;
      const SpPiece& piece = model_.pieces[found->second];
      if (piece.kind == SpKind::kUnused) continue;
      const double score = piece.kind == SpKind::kUserDefined ? UserDefinedScore(end - start)
                                                              : static_cast<double>(piece.score);
      const double candidate =
          floats ? static_cast<double>(static_cast<float>(score) + here) : score + here;
      frontier = std::max(frontier, end);
      if (!best[end].reached || candidate > best[end].score) {
        best[end] = {true, static_cast<float>(candidate), start, found->second};
      }
      if (end == next) single = true;
    }
    if (!single) {
      frontier = std::max(frontier, next);
      const float candidate = unk_score_ + here;
      if (!best[next].reached || candidate > best[next].score) {
        best[next] = {true, candidate, start, -1};
      }
    }
  }
  std::vector<Segment> path;
  for (size_t end = normalized.size(); end > 0; end = best[end].start) {
    path.push_back({best[end].start, end, best[end].id});
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<SpToken> SpUnigram::Encode(std::string_view text) const {
  std::vector<size_t> origin;
  const std::string normalized = Normalize(text, &origin);
  std::vector<SpToken> tokens;
  bool after_unknown = false;
  for (const Segment& segment : BestPath(normalized)) {
    const uint32_t begin = static_cast<uint32_t>(origin[segment.begin]);
    const uint32_t end = static_cast<uint32_t>(origin[segment.end]);
    const bool unknown = segment.id < 0;
    if (unknown && model_.byte_fallback) {
      // The last byte alone carries the source range.
      for (size_t i = segment.begin; i < segment.end; i++) {
        char name[8];
        std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(normalized[i]) & 0xff);
        const uint32_t id = static_cast<uint32_t>(bytes_.find(std::string_view(name))->second);
        tokens.push_back({id, begin, i + 1 == segment.end ? end : begin});
      }
    } else if (unknown && after_unknown) {
      tokens.back().end = end;
    } else {
      tokens.push_back({static_cast<uint32_t>(unknown ? unk_id_ : segment.id), begin, end});
    }
    after_unknown = unknown;
  }
  return tokens;
}

}  // namespace rankfeed::plain
