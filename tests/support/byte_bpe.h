// SPDX-License-Identifier: MIT
// support/byte_bpe.h: small byte-level BPE vocabularies, as a tokenizer.json and as plain code. Pieces and merges
// are given as raw bytes; files and plain::HfBpe spell them in ByteLevel's alphabet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_alphabet.h"
#include "base/utf8.h"
#include "builder/byte_level.h"
#include "plain/hf_bpe.h"

namespace rankfeed::test {

class ByteBpe {
 public:
  explicit ByteBpe(bool ignore_merges) : ignore_merges_(ignore_merges) {
    for (int byte = 0; byte < 256; ++byte) Add({static_cast<char>(byte)});
  }

  // Adds a piece that no merge makes, unless there is one.
  void Add(const std::string& piece) { ids_.try_emplace(piece, static_cast<uint32_t>(ids_.size())); }

  // Adds a piece with merges that make it of its bytes. cut(piece): where the last of them joins, from 1 to
  // one less than its size.
  template <class Cut>
  void Make(const std::string& piece, const Cut& cut) {
    Add(piece);
    if (piece.size() == 1) return;
    const size_t at = cut(piece);
    const std::pair<std::string, std::string> merge(piece.substr(0, at), piece.substr(at));
    Make(merge.first, cut);
    Make(merge.second, cut);
    if (std::find(merges_.begin(), merges_.end(), merge) == merges_.end()) merges_.push_back(merge);
  }

  // Splits end as GPT-2's pattern says: before every space.
  std::string File() const {
    std::string more, merges;
    for (const auto& [piece, id] : ids_) {
      if (id >= 256) more += "," + Quoted(piece) + ":" + std::to_string(id);
    }
    for (const auto& [left, right] : merges_) {
      merges += (merges.empty() ? "[" : ",[") + Quoted(left) + "," + Quoted(right) + "]";
    }
    const std::string members = std::string(R"("ignore_merges":)") + (ignore_merges_ ? "true," : "false,");
    return R"({"pre_tokenizer":)" + builder_test::ByteLevelSplit() + R"(,"model":)" +
           builder_test::ByteLevelModel(more, merges, members) + "}";
  }

  plain::HfBpe Plain() const {
    plain::HfBpe::Vocabulary vocabulary;
    std::vector<std::pair<std::string, std::string>> merges;
    for (const auto& [piece, id] : ids_) vocabulary[Spelled(piece)] = id;
    for (const auto& [left, right] : merges_) merges.emplace_back(Spelled(left), Spelled(right));
    return {std::move(vocabulary), merges, {.unk_token = {}, .ignore_merges = ignore_merges_}};
  }

  // The tokens of a split by plain code. A token of a part of a character has the place of all of it.
  static std::vector<plain::HfToken> Encode(const plain::HfBpe& plain, std::string_view split) {
    std::vector<plain::HfToken> tokens = *plain.Encode(Spelled(split));
    uint32_t at = 0;
    for (plain::HfToken& token : tokens) {
      const uint32_t size = Characters(Spelled(split), token.begin, token.end);
      uint32_t begin = at, end = at += size;
      while (begin > 0 && utf8::IsContinuation(split[begin])) --begin;
      while (end < split.size() && utf8::IsContinuation(split[end])) ++end;
      token.begin = begin, token.end = end;
    }
    return tokens;
  }

 private:
  static std::string Spelled(std::string_view bytes) {
    std::string spelled;
    for (const char byte : bytes) {
      char c[4];
      spelled.append(c, utf8::Encode(kByteAlphabet.chars[static_cast<uint8_t>(byte)], c));
    }
    return spelled;
  }
  static std::string Quoted(std::string_view bytes) {
    std::string quoted = "\"";
    for (const char c : Spelled(bytes)) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return quoted + '"';
  }
  static uint32_t Characters(std::string_view text, uint32_t begin, uint32_t end) {
    return static_cast<uint32_t>(
        std::count_if(text.begin() + begin, text.begin() + end, [](char c) { return !utf8::IsContinuation(c); }));
  }

  std::map<std::string, uint32_t> ids_;
  std::vector<std::pair<std::string, std::string>> merges_;
  const bool ignore_merges_;
};

}  // namespace rankfeed::test
