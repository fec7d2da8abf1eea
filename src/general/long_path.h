// SPDX-License-Identifier: MIT
// general/long_path.h: the references' own search (best_path.h) over text of any length in memory
// that does not grow with it.
//
// Characters come one by one from a stream that can be copied, state and all. The search goes
// forwards with the scores of the places that a piece may still end at, a window of max_piece_chars.
// In a word that is longer than a block it keeps checkpoints: stream, window, and for each place of
// the window which place of the window before its best path comes through. When there are too many
// every second one is dropped. At the end of the word the places that the best path passes are
// known, from the last checkpoint to the first, and the stretch between two is searched again from
// the first of them: with every link kept if it fits into a block, else with checkpoints of its own.
// Sums are those of best_path.h, in the same order, so the path is the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/layout.h"
#include "general/arithmetic.h"
#include "general/best_path.h"
#include "image/model.h"

namespace rankfeed::general {

// A normalized character. mark: of the stream.
struct Character {
  char32_t c;
  uint32_t mark;
};

// What the search works in.
struct LongScratch {
  // Longer pieces would make checkpoints large.
  static constexpr uint32_t kMaxPieceChars = 255;
  // Halving 32 checkpoints leaves 16, so that five levels reach beyond 2^34 characters.
  static constexpr uint32_t kLevels = 5;

  struct Node {
    double best;
    uint32_t value;
    uint16_t back;   // characters of the best piece that ends here, 0 without any
    uint16_t cross;  // the first place of its path at or behind the last checkpoint, from there
  };
  struct Char {
    char32_t c;
    uint32_t mark;
    uint16_t code;
  };
  // Places are counted from the begin of the word.
  template <class Stream>
  struct State {
    static_assert(std::is_trivially_copyable_v<Stream>);
    Stream stream;
    Character next;       // read ahead of the word's end
    bool has_next, ended;  // ended: no character of the word is left in the stream
    uint64_t at, read, frontier;
    uint64_t entry;  // of a checkpoint: where the best path enters
    Node* nodes;     // ring
    Char* chars;     // ring
    uint16_t* table;
  };

  uint32_t block = 0, kept = 0, ring = 0;  // block 0: there is none
  void* states = nullptr;                  // two that work, then those kept, level by level
  Node* nodes = nullptr;
  Char* chars = nullptr;
  uint16_t* tables = nullptr;
  // Of a block, by place:
  Char* block_chars = nullptr;
  uint32_t* block_values = nullptr;
  uint16_t* block_links = nullptr;

  uint32_t StateCount() const { return 2 + kLevels * kept; }
  uint32_t BlockRoom() const { return block + 2 * ring; }

  // Measures or carves, for texts of that stream. block and kept (even, 4 or more) as tests have them
  // small.
  template <class Stream>
  void Carve(Layout& layout, const Model& model, uint32_t block_chars_, uint32_t kept_) {
    block = block_chars_;
    kept = kept_;
    ring = std::bit_ceil(std::min(model.config->max_piece_chars, kMaxPieceChars) + 2);
    states = layout.Take<State<Stream>>(StateCount());
    const size_t entries = size_t{StateCount()} * ring;
    nodes = layout.Take<Node>(entries);
    chars = layout.Take<Char>(entries);
    tables = layout.Take<uint16_t>(entries);
    block_chars = layout.Take<Char>(BlockRoom());
    block_values = layout.Take<uint32_t>(BlockRoom());
    block_links = layout.Take<uint16_t>(BlockRoom());
  }
};

// Stream: trivially copyable, `bool Next(Character*)`, `static bool BeginsWord(const Character&)`.
// Emitter: `bool Piece(value, chars, count)` for each piece of a best path in order; false: it has
// seen enough of the word.
template <class Arithmetic, class Stream, class Emitter>
class LongSearch {
 public:
  using State = LongScratch::State<Stream>;
  using Node = LongScratch::Node;
  using Char = LongScratch::Char;

  LongSearch(const Model& model, const LongScratch& scratch, const Stream& stream, Emitter& emitter)
      : model_(model),
        scratch_(scratch),
        emitter_(emitter),
        mask_(scratch.ring - 1),
        max_chars_(std::clamp(model.config->max_piece_chars, 1u, LongScratch::kMaxPieceChars)),
        states_(static_cast<State*>(scratch.states)),
        live_(states_[0]),
        work_(states_[1]) {
    for (uint32_t i = 0; i < scratch.StateCount(); ++i) {
      states_[i].nodes = scratch.nodes + size_t{i} * scratch.ring;
      states_[i].chars = scratch.chars + size_t{i} * scratch.ring;
      states_[i].table = scratch.tables + size_t{i} * scratch.ring;
    }
    live_.stream = stream;
    live_.has_next = false;
  }

  // Whether there is another word.
  bool More() {
    if (!live_.has_next) live_.has_next = live_.stream.Next(&live_.next);
    return live_.has_next;
  }

  // Searches the next word, of which there is one, from that score on, and emits its path. False:
  // the emitter had seen enough.
  bool Word(double start, bool specials) {
    BeginWord(start);
    specials_ = specials;
    return Solve();
  }
  // The same word once more.
  bool WordAgain(double start, bool specials) {
    Copy(Store(0)[0], &live_);
    SetStart(start);
    specials_ = specials;
    return Solve();
  }

  double score() const { return At(live_, live_.at).best; }  // behind the word
  // Whether the best way to some place of the word is an unknown character.
  bool needs_unknown() const { return needs_unknown_; }
  const Stream& stream() const { return live_.stream; }

 private:
  State* Store(uint32_t level) { return states_ + 2 + level * scratch_.kept; }
  Node& At(const State& s, uint64_t at) const { return s.nodes[at & mask_]; }

  void Copy(const State& from, State* to) const {
    Node* const nodes = to->nodes;
    Char* const chars = to->chars;
    uint16_t* const table = to->table;
    std::memcpy(static_cast<void*>(to), &from, sizeof(from));
    to->nodes = nodes;
    to->chars = chars;
    to->table = table;
    std::copy_n(from.nodes, scratch_.ring, nodes);
    std::copy_n(from.chars, scratch_.ring, chars);
    std::copy_n(from.table, scratch_.ring, table);
  }

  void SetStart(double start) { At(live_, 0) = {start, trie::kNoValue, 0, 0}; }

  void BeginWord(double start) {
    live_.ended = false;
    live_.at = live_.read = live_.frontier = live_.entry = 0;
    std::fill_n(live_.nodes, scratch_.ring, Node{0, trie::kNoValue, 0, 0});
    std::fill_n(live_.table, scratch_.ring, uint16_t{0});
    SetStart(start);
  }

  bool Solve() {
    needs_unknown_ = false;
    in_block_ = true;
    first_of_block_ = 0;
    const uint32_t kept = Forward(live_, 0, ~uint64_t{0});
    needs_unknown_ |= live_.at != 0 && At(live_, live_.at).value == trie::kNoValue;
    if (live_.at <= scratch_.block) {
      PutLink(live_, live_.at);
      return EmitBlock(0, live_.at);
    }
    return EmitBetween(0, kept, live_.at, At(live_, live_.at).cross);
  }

  // Reads a character of the word, if there is one.
  bool Read(State& s, Character* c) {
    if (!s.has_next) s.has_next = s.stream.Next(&s.next);
    if (!s.has_next || (s.read != 0 && Stream::BeginsWord(s.next))) return false;
    *c = s.next;
    s.has_next = false;
    return true;
  }

  // Looks at the pieces that begin at s.at and moves on. False at the end of the word.
  bool Step(State& s) {
    while (!s.ended && s.read < s.at + max_chars_) {
      Character c;
      if (!Read(s, &c)) {
        s.ended = true;
        break;
      }
      const Char read = {c.c, c.mark, model_.codes[c.c]};
      s.chars[s.read & mask_] = read;
      if (in_block_ && s.read - first_of_block_ < scratch_.BlockRoom()) {
        scratch_.block_chars[s.read - first_of_block_] = read;
      }
      ++s.read;
    }
    if (s.at == s.read) return false;
    if constexpr (Arithmetic::kRebases) Rebase(s);
    Node& begin = At(s, s.at);
    if (s.at != 0 && begin.value == trie::kNoValue) needs_unknown_ = true;
    if (in_block_) PutLink(s, s.at);
    if (!Push(s, begin)) {
      Relax(s, begin, s.at + 1, Arithmetic::Unknown(model_.config->unk_score, begin.best),
            trie::kNoValue);
    }
    begin.back = 0;  // from now on a place one ring further
    begin.value = trie::kNoValue;
    ++s.at;
    return true;
  }

  bool Push(State& s, const Node& begin) {
    trie::Unit unit = model_.pieces.root();
    bool single = false;
    uint64_t at = s.at;
    for (uint32_t depth = 0; at < s.read && depth < max_chars_; ++depth) {
      if (!model_.pieces.Step(unit, s.chars[at & mask_].code)) break;
      ++at;
      const uint32_t value = trie::Value(unit);
      if (value == trie::kNoValue) continue;
      if (!specials_ && (model_.id_flags[model_.value_ids[value]] & image::kIdSpecial) != 0) {
        continue;
      }
      Relax(s, begin, at, Arithmetic::Piece(model_.scores[value], begin.best), value);
      single |= depth == 0;
    }
    return single;
  }

  void Relax(State& s, const Node& begin, uint64_t end, double sum, uint32_t value) {
    s.frontier = std::max(s.frontier, end);
    Node& node = At(s, end);
    if (node.back == 0 || sum > node.best) {
      node = {Arithmetic::Store(sum), value, static_cast<uint16_t>(end - s.at), begin.cross};
    }
  }

  void Rebase(State& s) {
    const double offset = At(s, s.at).best;
    if (!(std::abs(offset) > kRebaseBeyond)) return;
    for (uint64_t i = s.at; i <= std::max(s.frontier, s.at); ++i) {
      Node& node = At(s, i);
      if (i == s.at || node.back != 0) node.best = AddFloats(node.best, -offset);
    }
  }

  // From s on to `stop` or the end of the word, with checkpoints of that level. Returns how many,
  // the first of them where it began.
  uint32_t Forward(State& s, uint32_t level, uint64_t stop) {
    State* const store = Store(level);
    Copy(s, &store[0]);
    uint32_t count = 1;
    uint64_t interval = scratch_.block, next = s.at + interval;
    while (s.at != stop) {
      if (s.at == next) {
        if (AtEnd(s)) break;
        count = Keep(s, store, count, &interval);
        next = s.at + interval;
      }
      if (s.at - first_of_block_ > scratch_.block) in_block_ = false;
      if (!Step(s)) break;
    }
    return count;
  }

  // Whether the word ends here: then there is nothing to keep.
  bool AtEnd(State& s) {
    if (s.ended || s.read > s.at) return s.at == s.read;
    if (!s.has_next) s.has_next = s.stream.Next(&s.next);
    return !s.has_next || (s.read != 0 && Stream::BeginsWord(s.next));
  }

  // Another checkpoint. Where there are `kept` already every second one goes.
  uint32_t Keep(State& s, State* store, uint32_t count, uint64_t* interval) {
    for (uint32_t i = 0; i < scratch_.ring; ++i) {
      Node& node = At(s, s.at + i);
      const bool reached = i < max_chars_ && node.back != 0;
      s.table[i] = reached ? node.cross : 0;
      node.cross = static_cast<uint16_t>(i);
    }
    if (count == scratch_.kept) {
      Follow(store[count - 1].table, s.table);
      for (uint32_t k = 1; k < count / 2; ++k) {
        Follow(store[2 * k - 1].table, store[2 * k].table);
        Copy(store[2 * k], &store[k]);
      }
      count /= 2;
      *interval *= 2;
    }
    Copy(s, &store[count]);
    return count + 1;
  }

  // Makes a table that leads to one checkpoint lead to the one before it.
  void Follow(const uint16_t* before, uint16_t* table) const {
    for (uint32_t i = 0; i < scratch_.ring; ++i) table[i] = before[table[i]];
  }

  // Emits the path through the checkpoints of a level up to `exit`. cross: of the node there.
  bool EmitBetween(uint32_t level, uint32_t count, uint64_t exit, uint16_t cross) {
    State* const store = Store(level);
    for (uint32_t k = count; k-- > 0;) {
      store[k].entry = store[k].at + cross;
      cross = store[k].table[cross];
    }
    for (uint32_t k = 0; k < count; ++k) {
      const uint64_t to = k + 1 < count ? store[k + 1].entry : exit;
      if (!EmitFrom(store[k], to, level + 1)) return false;
    }
    return true;
  }

  // Emits the path from a checkpoint, where it enters, to `exit`.
  bool EmitFrom(const State& start, uint64_t exit, uint32_t level) {
    const uint64_t entry = start.entry;
    if (entry == exit) return true;
    Copy(start, &work_);
    first_of_block_ = start.at;
    in_block_ = exit - start.at <= scratch_.block + scratch_.ring;
    if (in_block_) {
      // Read already:
      for (uint64_t i = start.at; i < start.read; ++i) {
        scratch_.block_chars[i - start.at] = start.chars[i & mask_];
      }
      while (work_.at != exit) Step(work_);
      PutLink(work_, exit);
      return EmitBlock(entry, exit);
    }
    if (level == LongScratch::kLevels) return false;  // longer than any text
    const uint32_t count = Forward(work_, level, exit);
    return EmitBetween(level, count, exit, At(work_, exit).cross);
  }

  void PutLink(const State& s, uint64_t at) {
    scratch_.block_links[at - first_of_block_] = At(s, at).back;
    scratch_.block_values[at - first_of_block_] = At(s, at).value;
  }

  // The links of a block lead from exit to entry.
  bool EmitBlock(uint64_t entry, uint64_t exit) {
    const auto first = static_cast<uint32_t>(entry - first_of_block_);
    auto at = static_cast<uint32_t>(exit - first_of_block_);
    // Turned to lead forwards: the size of a piece stands where it begins.
    uint32_t after = 0;
    while (at > first) {
      const uint16_t size = scratch_.block_links[at];
      scratch_.block_links[at] = static_cast<uint16_t>(after);
      after = size;
      at -= size;
    }
    scratch_.block_links[first] = static_cast<uint16_t>(after);
    const auto end = static_cast<uint32_t>(exit - first_of_block_);
    for (at = first; at < end;) {
      const uint32_t size = scratch_.block_links[at];
      if (!emitter_.Piece(scratch_.block_values[at + size], scratch_.block_chars + at, size)) {
        return false;
      }
      at += size;
    }
    return true;
  }

  const Model& model_;
  const LongScratch& scratch_;
  Emitter& emitter_;
  const uint64_t mask_;
  const uint32_t max_chars_;
  State* const states_;
  State& live_;
  State& work_;
  bool specials_ = true, needs_unknown_ = false;
  bool in_block_ = false;  // links are kept
  uint64_t first_of_block_ = 0;
};

}  // namespace rankfeed::general
