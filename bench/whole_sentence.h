// SPDX-License-Identifier: MIT
// bench/whole_sentence.h: another design to measure against, with SentencePiece's ids: a byte trie of
// 64-byte nodes, one cache line each, and one search over the whole normalized sentence.
//
// This is the layout that pplx-unigram (Rust) describes for itself, reproduced so that the two designs run on the same
// text in the same program; it is not that library's code. A node holds a bitmap of its 256 possible children, their
// first index and the ranks of the bitmap's words, so that a step is one cache line and one population count; score and
// id of a piece that ends there lie beside them. Nodes are on huge pages when the kernel gives them. Text is normalized
// first, with a fast path for ASCII. Only what XLM-R's model needs is there: pieces of the types normal, control and
// unknown, a dummy prefix, collapsed and escaped spaces.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "normalize/charsmap.h"

namespace rankfeed::bench {

class WholeSentence {
 public:
  // The charsmap's memory must outlive this. Ends the program when the model needs more than is there.
  WholeSentence(const sentencepiece::SentencePieceProcessor& model, const Charsmap& charsmap);
  ~WholeSentence();
  WholeSentence(const WholeSentence&) = delete;
  WholeSentence& operator=(const WholeSentence&) = delete;

  // Ids of text, into out, which has room for one per normalized byte. Returns how many.
  size_t Encode(std::string_view text, int32_t* out);

  size_t trie_bytes() const { return node_count_ * sizeof(Node); }

 private:
  struct alignas(64) Node {
    uint64_t children[4];  // one bit for each byte
    uint32_t first_child;
    uint8_t rank[4];  // children in the words before
    int32_t id;       // of the piece that ends here, -1: none
    float score;
  };
  static_assert(sizeof(Node) == 64);
  struct Best {
    float score;
    int32_t id;
    uint32_t from;
  };

  void Build(const std::vector<std::pair<std::string, int32_t>>& pieces, const sentencepiece::SentencePieceProcessor& model);
  void Normalize(std::string_view text);

  Charsmap charsmap_;
  Node* nodes_ = nullptr;
  size_t node_count_ = 0, mapped_ = 0;
  int32_t unknown_ = 0;
  float unknown_score_ = 0;
  std::string normalized_;
  std::vector<Best> best_;
};

}  // namespace rankfeed::bench
