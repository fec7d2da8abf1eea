// SPDX-License-Identifier: MIT
#include "builder/files/vocabulary.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "builder/base/limits.h"
#include "trie/double_array.h"

namespace rankfeed::builder {
namespace {

using Entries = std::vector<std::pair<std::string_view, uint32_t>>;

// Makes the pieces of the entries. Returns what is over a limit, with nothing done, or "".
std::string SetVocabulary(const Entries& entries, const std::string* unk_token, ModelSpec* spec) {
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
    if (unk_token != nullptr && text == *unk_token) {
      piece.type = image::PieceType::kUnknown;
      spec->unk_id = id;
    }
  }
  if (unk_token != nullptr) spec->unk_piece = *unk_token;
  return "";
}

}  // namespace

void ReadVocabulary(const Json& vocab, const std::string* unk_token, ModelSpec* spec) {
  constexpr uint32_t kMost = trie::kNoValue - 1;
  Entries entries;
  vocab.EachMember([&](std::string_view text, const Json& id) {
    if (entries.size() >= kMost) {
      vocab.Fail(RANKFEED_E_LIMIT, "has more than " + std::to_string(kMost) + " pieces");
    }
    if (text.size() > kMaxStringBytes) {
      id.Fail(RANKFEED_E_LIMIT, "is the id of a piece that " +
                                    OverLimit(std::to_string(text.size()) + " bytes", "a piece",
                                              kMaxStringBytes));
    }
    entries.emplace_back(text, id.U32());
  });
  if (entries.empty()) vocab.Fail(RANKFEED_E_PARSE, "is empty");
  if (const std::string why = SetVocabulary(entries, unk_token, spec); !why.empty()) {
    vocab.Fail(RANKFEED_E_LIMIT, why);
  }
}

}  // namespace rankfeed::builder
