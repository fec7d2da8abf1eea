// SPDX-License-Identifier: MIT
#include "builder/vocabulary.h"

#include <algorithm>
#include <unordered_map>

#include "builder/limits.h"

namespace rankfeed::builder {

std::string SetVocabulary(std::span<const std::pair<std::string_view, uint32_t>> entries,
                                   const std::string& unk_token, ModelSpec* spec) {
  std::unordered_map<std::string_view, size_t> last;
  last.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) last[entries[i].first] = i;
  const uint64_t most = MostIds(last.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [text, id] = entries[i];
    if (last[text] != i) continue;
    if (id >= most) {
      return "gives the id " + std::to_string(id) + "; the limit of " +
             std::to_string(last.size()) + " pieces is " + std::to_string(most - 1);
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [text, id] = entries[i];
    if (last[text] != i) continue;
    spec->id_map.push_back(id);
    spec->id_count = std::max(spec->id_count, id + 1);
    PieceSpec& piece = spec->pieces.emplace_back();
    piece.text = text;
    if (!unk_token.empty() && text == unk_token) {
      piece.type = image::PieceType::kUnknown;
      spec->unk_id = id;
    }
  }
  spec->unk_piece = unk_token;
  return "";
}

}  // namespace rankfeed::builder
