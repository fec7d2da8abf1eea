// SPDX-License-Identifier: MIT
#include "plain/hf_wordpiece.h"

#include <utility>

namespace rankfeed::plain {

HfWordPiece::HfWordPiece(Vocabulary vocabulary, std::string prefix, size_t max_input_chars,
                         std::optional<uint32_t> unk_id)
    : vocabulary_(std::move(vocabulary)),
      prefix_(std::move(prefix)),
      max_input_chars_(max_input_chars),
      unk_id_(unk_id) {}

std::optional<std::vector<HfToken>> HfWordPiece::Encode(std::string_view word) const {
  std::vector<size_t> ends;  // of characters
  for (size_t at = 1; at <= word.size(); ++at) {
    if (at == word.size() || (static_cast<unsigned char>(word[at]) & 0xc0) != 0x80) ends.push_back(at);
  }
  std::vector<HfToken> tokens;
  bool unknown = ends.size() > max_input_chars_;
  for (size_t begin = 0; begin < word.size() && !unknown;) {
    const size_t before = tokens.size();
    for (auto end = ends.rbegin(); end != ends.rend() && *end > begin; ++end) {
      const std::string part(word.substr(begin, *end - begin));
      const auto entry = vocabulary_.find(begin == 0 ? part : prefix_ + part);
      if (entry == vocabulary_.end()) continue;
      tokens.push_back({entry->second, static_cast<uint32_t>(begin), static_cast<uint32_t>(*end)});
      break;
    }
    unknown = tokens.size() == before;
    if (!unknown) begin = tokens.back().end;
  }
  if (!unknown) return tokens;
  if (!unk_id_) return std::nullopt;
  return std::vector<HfToken>{{*unk_id_, 0, static_cast<uint32_t>(word.size())}};
}

}  // namespace rankfeed::plain
