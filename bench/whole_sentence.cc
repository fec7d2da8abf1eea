// SPDX-License-Identifier: MIT
// bench/whole_sentence.cc: see whole_sentence.h. Rules of normalizer and search are those of SentencePiece 0.1.97
// (normalizer.cc, unigram_model.cc EncodeOptimized): a candidate is compared in double with a stored float.
#include "whole_sentence.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "base/utf8.h"

namespace rankfeed::bench {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581
constexpr size_t kHugePage = 2 << 20;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "whole_sentence: %s\n", what);
  std::exit(1);
}

constexpr bool Printable(unsigned char c) { return c > 0x20 && c < 0x7f; }

}  // namespace

WholeSentence::WholeSentence(const sentencepiece::SentencePieceProcessor& model, const Charsmap& charsmap)
    : charsmap_(charsmap), unknown_(model.unk_id()) {
  std::vector<std::pair<std::string, int32_t>> pieces;
  float least = 0;
  for (int id = 0; id < model.GetPieceSize(); ++id) {
    if (model.IsControl(id) || model.IsUnknown(id)) continue;
    if (model.IsUnused(id) || model.IsByte(id)) Die("the model has pieces of a type this variant does not know");
    pieces.emplace_back(model.IdToPiece(id), id);
    least = std::min(least, model.GetScore(id));
  }
  unknown_score_ = least - 10.0f;  // kUnkPenalty
  std::sort(pieces.begin(), pieces.end());
  Build(pieces, model);
  // The fast path takes ASCII as it is: no key of the charsmap may be made of it.
  for (char a = 0x21; a < 0x7f; ++a) {
    for (char b = 0x20; b < 0x7f; ++b) {
      const char text[2] = {a, b};
      if (charsmap_.Longest({text, 2})) Die("the charsmap rewrites ASCII");
    }
  }
}

WholeSentence::~WholeSentence() { munmap(nodes_, mapped_); }

// Breadth first, so that the children of a node are neighbours and the upper levels share pages.
void WholeSentence::Build(const std::vector<std::pair<std::string, int32_t>>& pieces,
                          const sentencepiece::SentencePieceProcessor& model) {
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Node> nodes = {Node{{}, 0, {}, -1, 0}};
  std::vector<Range> ranges = {{0, pieces.size(), 0}};
  for (size_t at = 0; at < ranges.size(); ++at) {
    auto [begin, end, depth] = ranges[at];
    if (begin < end && pieces[begin].first.size() == depth) {
      nodes[at].id = pieces[begin].second;
      nodes[at].score = model.GetScore(pieces[begin].second);
      ++begin;
    }
    nodes[at].first_child = static_cast<uint32_t>(ranges.size());
    while (begin < end) {
      const auto byte = static_cast<unsigned char>(pieces[begin].first[depth]);
      size_t next = begin;
      while (next < end && static_cast<unsigned char>(pieces[next].first[depth]) == byte) ++next;
      nodes[at].children[byte >> 6] |= uint64_t{1} << (byte & 63);
      ranges.push_back({begin, next, depth + 1});
      nodes.push_back(Node{{}, 0, {}, -1, 0});
      begin = next;
    }
    for (int w = 1; w < 4; ++w) {
      nodes[at].rank[w] = static_cast<uint8_t>(nodes[at].rank[w - 1] + std::popcount(nodes[at].children[w - 1]));
    }
  }
  node_count_ = nodes.size();
  mapped_ = (nodes.size() * sizeof(Node) / kHugePage + 2) * kHugePage;
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Die("no memory for the trie");
  (void)madvise(memory, mapped_, MADV_HUGEPAGE);
  nodes_ = static_cast<Node*>(memory);
  std::copy(nodes.begin(), nodes.end(), nodes_);
}

void WholeSentence::Normalize(std::string_view text) {
  normalized_.clear();
  normalized_.append(kSpace);
  bool after_space = true;
  const auto space = [&] {
    if (!after_space) normalized_.append(kSpace);
    after_space = true;
  };
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    // A key may begin with an ASCII character and go on with a combining one.
    const bool alone = i + 1 == text.size() || static_cast<unsigned char>(text[i + 1]) < 0x80;
    if (Printable(c) && alone) {
      normalized_.push_back(static_cast<char>(c));
      after_space = false;
      ++i;
    } else if (c == ' ' && alone) {
      space();
      ++i;
    } else {
      std::string_view to;
      const std::string_view rest = text.substr(i);
      if (const CharsmapMatch match = charsmap_.Longest(rest)) {
        to = match.replacement;
        i += match.key_size;
      } else if (const utf8::Decoded d = utf8::Decode(text, i); d.valid) {
        to = rest.substr(0, d.size);
        i += d.size;
      } else {
        to = "\xef\xbf\xbd";
        ++i;
      }
      for (const char byte : to) {
        if (byte == ' ') {
          space();
        } else {
          normalized_.push_back(byte);
          after_space = false;
        }
      }
    }
  }
  while (normalized_.ends_with(kSpace)) normalized_.resize(normalized_.size() - kSpace.size());
}

size_t WholeSentence::Encode(std::string_view text, int32_t* out) {
  Normalize(text);
  const size_t size = normalized_.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(normalized_.data());
  constexpr uint32_t kNone = UINT32_MAX;
  best_.assign(size + 1, Best{0, -1, kNone});
  const auto offer = [&](size_t end, double score, int32_t id, size_t from) {
    Best& best = best_[end];
    if (best.from != kNone && !(score > best.score)) return;
    best = {static_cast<float>(score), id, static_cast<uint32_t>(from)};
  };
  for (size_t from = 0; from < size;) {
    const unsigned char lead = bytes[from];
    const size_t character = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const float till_here = best_[from].score;
    bool single = false;
    const Node* node = nodes_;
    for (size_t at = from; at < size;) {
      const unsigned char byte = bytes[at];
      const uint64_t word = node->children[byte >> 6], bit = uint64_t{1} << (byte & 63);
      if ((word & bit) == 0) break;
      node = nodes_ + node->first_child + node->rank[byte >> 6] + std::popcount(word & (bit - 1));
      ++at;
      if (node->id < 0) continue;
      offer(at, static_cast<double>(node->score) + till_here, node->id, from);
      single = single || at - from == character;
    }
    if (!single) offer(from + character, unknown_score_ + till_here, unknown_, from);
    from += character;
  }
  // Backwards; neighbouring unknown characters are one token.
  size_t count = 0;
  for (size_t end = size; end > 0; end = best_[end].from) {
    if (best_[end].id == unknown_ && count > 0 && out[count - 1] == unknown_) continue;
    out[count++] = best_[end].id;
  }
  std::reverse(out, out + count);
  return count;
}

}  // namespace rankfeed::bench
