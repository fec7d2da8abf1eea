// SPDX-License-Identifier: MIT
#include "plain/hf_bpe.h"

#include <cstdio>

namespace rankfeed::plain {

HfBpe::HfBpe(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
             Options options)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    products_[{vocabulary_.at(left), vocabulary_.at(right)}] = {rank, vocabulary_.at(left + right)};
  }
}

std::optional<std::vector<HfToken>> HfBpe::Encode(std::string_view word) const {
  if (options_.ignore_merges) {
    const auto whole = vocabulary_.find(word);
    if (whole != vocabulary_.end()) return {{{whole->second, 0, static_cast<uint32_t>(word.size())}}};
  }
  std::vector<HfToken> tokens;
  bool after_unknown = false;
  for (uint32_t begin = 0, end; begin < word.size(); begin = end) {
    end = begin + 1;
    while (end < word.size() && (word[end] & 0xc0) == 0x80) ++end;
    const auto found = vocabulary_.find(word.substr(begin, end - begin));
    const bool unknown = found == vocabulary_.end();
    if (!unknown) {
      tokens.push_back({found->second, begin, end});
    } else if (options_.byte_fallback) {
      for (uint32_t at = begin; at < end; ++at) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned char>(word[at]));
        tokens.push_back({vocabulary_.at(name), at, at + 1});
      }
    } else if (options_.unk_token) {
      const auto unk = vocabulary_.find(*options_.unk_token);
      if (unk == vocabulary_.end()) return std::nullopt;
      if (options_.fuse_unk && after_unknown) {
        tokens.back().end = end;
      } else {
        tokens.push_back({unk->second, begin, end});
      }
    }
    after_unknown = unknown;
  }
  for (;;) {
    const Product* best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = products_.find({tokens[i].id, tokens[i + 1].id});
      if (found == products_.end() || (best != nullptr && found->second.rank >= best->rank)) continue;
      best = &found->second;
      place = i;
    }
    if (best == nullptr) return tokens;
    tokens[place] = {best->id, tokens[place].begin, tokens[place + 1].end};
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(place) + 1);
  }
}

}  // namespace rankfeed::plain
