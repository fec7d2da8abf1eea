// SPDX-License-Identifier: MIT
// builder/models/bpe/quiet_characters.cc: see quiet_characters.h.
#include "builder/models/bpe/quiet_characters.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/utf8.h"
#include "builder/models/bpe/bpe_tables.h"
#include "image/merges.h"

namespace rankfeed::builder {
namespace {

using image::SectionId;

constexpr uint32_t kNever = image::kLoud;  // the rank of no merge

bool IsContinuation(char byte) { return utf8::IsContinuation(byte); }

class QuietCharacters {
 public:
  explicit QuietCharacters(const Model& model)
      : model_(model), bytes_(model.config->id_count), least_left_(bytes_.size(), kNever),
        least_right_(bytes_.size(), kNever) {
    for (uint32_t id = 0; id < bytes_.size(); ++id) bytes_[id] = BytesOf(model.piece(id));
    const std::span<const uint64_t> merges = model.merges.merges;
    for (uint32_t number = 0; number < merges.size(); ++number) {
      const uint32_t left = image::MergeLeft(merges[number]), right = image::MergeRight(merges[number]);
      number_of_[merges[number] >> 20] = number;
      least_left_[left] = std::min(least_left_[left], number);
      least_right_[right] = std::min(least_right_[right], number);
    }
  }

  std::vector<uint32_t> Crossings() const {
    std::vector<uint32_t> out(image::kCrossingLasts * image::kCrossingFirsts, kNever);
    for (const auto& [pair, number] : number_of_) {
      const std::string& left = bytes_[pair >> 20];
      const std::string& right = bytes_[pair & (image::kMaxMergeIds - 1)];
      if (left.empty() || right.empty() || IsContinuation(right[0])) continue;
      const auto last = static_cast<uint8_t>(left.back()), first = static_cast<uint8_t>(right[0]);
      const size_t whole = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      const bool ends_partial = std::all_of(left.begin(), left.end(), IsContinuation);
      if (last >= image::kCrossingLasts || (!ends_partial && right.size() >= whole)) continue;
      uint32_t& least = out[image::CrossingAt(last, first)];
      least = std::min(least, number);
    }
    return out;
  }

  std::vector<image::QuietCharacter> Find() const {
    std::vector<image::QuietCharacter> out(0x110000, {0, kNever, 0, kNever});
    for (uint32_t id = 0; id < bytes_.size(); ++id) {
      const std::string_view text = bytes_[id];
      if (text.size() < 2) continue;
      const bool spaced = text[0] == ' ';
      const utf8::Decoded c = utf8::Decode(text, spaced);
      if (!c.valid || c.size == 1 || c.size + spaced != text.size()) continue;
      const uint32_t rank = RankOf(id, text);
      // No text before a space that begins a word.
      const uint32_t next = spaced ? least_left_[id] : std::min(least_left_[id], least_right_[id]);
      if (rank >= next) continue;
      image::QuietCharacter& to = out[c.code_point];
      if (spaced) to.spaced_id = id, to.spaced_rank = rank;
      else to.id = id, to.rank = rank;
    }
    return out;
  }

 private:
  // The greatest rank of the merges of a text that becomes that id, kNever if it becomes something else
  // or ends with a whole character on the way.
  uint32_t RankOf(uint32_t id, std::string_view text) const {
    std::vector<uint32_t> symbols;
    for (const char byte : text) symbols.push_back(model_.byte_ids[static_cast<uint8_t>(byte)]);
    uint32_t rank = 0;
    while (symbols.size() > 1) {
      const std::string& last = bytes_[symbols.back()];
      if (!std::all_of(last.begin(), last.end(), IsContinuation)) return kNever;
      uint32_t least = kNever;
      size_t place = 0;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = number_of_.find(uint64_t{symbols[i]} << 20 | symbols[i + 1]);
        if (found == number_of_.end() || found->second >= least) continue;
        least = found->second, place = i;
      }
      if (least == kNever) return kNever;
      rank = std::max(rank, least);
      symbols[place] = image::MergeProduct(model_.merges.merges[least]);
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(place) + 1);
    }
    return symbols[0] == id ? rank : kNever;
  }

  const Model& model_;
  std::vector<std::string> bytes_;  // by id
  std::unordered_map<uint64_t, uint32_t> number_of_;  // by pair
  std::vector<uint32_t> least_left_, least_right_;  // by id: the least rank of a merge with it there
};

}  // namespace

std::vector<SectionData> MakeQuietCharacters(const Model& model) {
  const QuietCharacters characters(model);
  const std::vector<image::QuietCharacter> all = characters.Find();
  std::vector<uint16_t> blocks(image::kCodePointBlocks, 0);
  std::vector<image::QuietCharacter> data(256, {0, kNever, 0, kNever});
  const auto is_loud = [](const image::QuietCharacter& c) {
    return c.rank == kNever && c.spaced_rank == kNever;
  };
  for (size_t block = 0; block < blocks.size(); ++block) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(block * 256);
    if (std::all_of(begin, begin + 256, is_loud)) continue;
    blocks[block] = static_cast<uint16_t>(data.size() / 256);
    data.insert(data.end(), begin, begin + 256);
  }
  std::vector<SectionData> out;
  out.emplace_back(SectionId::kQuietBlocks, std::move(blocks));
  out.emplace_back(SectionId::kQuiet, std::move(data));
  out.emplace_back(SectionId::kCrossings, characters.Crossings());
  return out;
}

}  // namespace rankfeed::builder
