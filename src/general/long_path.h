// SPDX-License-Identifier: MIT
// general/long_path.h: the references' own search (best_path.h) over text of any length in memory
// that does not grow with it.
//
// Characters come one by one from a stream that can be copied, state and all. The search goes
// forwards with the scores of the places that a piece may still end at, a window of
// max_piece_chars, and keeps the links of a block of characters. At the end of a block the paths to
// all places of the window mostly have a place in common, and up to that the path is known. Where
// they have none, as in long runs of one character, checkpoints are kept instead of links: stream,
// window, and for each place of the window which place of the window before its best path comes
// through. When there are too many every second one is dropped. At the end of the word the places
// that the best path passes are known, from the last checkpoint to the first, and the stretch
// between two is searched again from the first of them: with its links if it fits into a block,
// else with checkpoints of its own. Sums are those of best_path.h, in the same order, so the path
// is the same.
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
  // On the first level there are kFirst times as many checkpoints as on the others. With 16 of
  // them, at least 8 are left where every second one was dropped: 32 * 8^5 blocks are enough for
  // any text.
  static constexpr uint32_t kLevels = 6, kFirst = 4;

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
    Character next;        // read ahead of the word's end
    bool has_next, ended;  // ended: no character of the word is left in the stream
    uint64_t at, read, frontier;
    uint64_t entry;  // of a checkpoint: where the best path enters
    Node* nodes;     // ring
    Char* chars;     // ring
    uint16_t* table;
  };

  uint32_t block = 0, kept = 0, ring = 0;  // block 0: there is none
  void* states = nullptr;                  // three that work, then checkpoints, level by level
  Node* nodes = nullptr;
  Char* chars = nullptr;
  uint16_t* tables = nullptr;
  // Of a block, by place:
  Char* block_chars = nullptr;
  uint32_t* block_values = nullptr;
  uint16_t* block_links = nullptr;

  static constexpr uint32_t kWorking = 3;
  uint32_t StateCount() const { return kWorking + (kFirst + kLevels - 1) * kept; }
  // A block, and as much before it that is not settled.
  uint32_t BlockRoom() const { return 2 * (block + ring); }

  // Measures or carves, for texts of that stream. block and kept (even, 4 or more) as tests have
  // them small.
  template <class Stream>
  void Carve(Layout& layout, const Model& model, uint32_t block_chars_, uint32_t kept_) {
    // The links of a block reach beyond its begin's window.
    block = std::max(block_chars_, std::min(model.config->max_piece_chars, kMaxPieceChars) + 1);
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
        work_(states_[1]),
        begin_(states_[2]) {
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

  // Searches the next word, of which there is one, from that score on, and emits its path. again:
  // whether WordAgain may be called. False: the emitter had seen enough.
  bool Word(double start, bool again) {
    live_.ended = false;
    live_.at = live_.read = live_.frontier = live_.entry = 0;
    std::fill_n(live_.nodes, scratch_.ring, Node{0, trie::kNoValue, 0, 0});
    At(live_, 0).best = start;
    if (again) Copy(live_, &begin_);
    specials_ = true;
    return Solve();
  }
  // The same word once more, without the pieces that are special tokens.
  bool WordAgain() {
    Copy(begin_, &live_);
    specials_ = false;
    return Solve();
  }

  double score() const { return At(live_, live_.at).best; }  // behind the word
  // Whether the best way to some place of the word is an unknown character.
  bool needs_unknown() const { return needs_unknown_; }
  const Stream& stream() const { return live_.stream; }

 private:
  // Fewer characters than that are not worth a copy of the state.
  static constexpr uint32_t kFewChars = 64;

  State* Store(uint32_t level) {
    const uint32_t before = level == 0 ? 0 : LongScratch::kFirst + level - 1;
    return states_ + LongScratch::kWorking + before * scratch_.kept;
  }
  uint32_t MostKept(uint32_t level) const {
    return level == 0 ? LongScratch::kFirst * scratch_.kept : scratch_.kept;
  }
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

  bool Solve() {
    needs_unknown_ = false;
    in_block_ = true;
    first_of_block_ = 0;
    State* const store = Store(0);
    uint32_t kept = 0;
    uint64_t interval = scratch_.block, next = std::min(kFewChars, scratch_.block);
    do {
      if (live_.at != next) continue;
      if (in_block_) {
        const uint64_t settled = kept == 0 ? 0 : Settled();
        if (kept == 0 || settled >= store[0].at) {
          if (!EmitSettled(settled)) return false;
          kept = 0;
        } else {
          in_block_ = false;
        }
      }
      kept = Keep(live_, 0, kept, &interval);
      next = live_.at + interval;
    } while (Step(live_));
    needs_unknown_ |= live_.at != 0 && At(live_, live_.at).value == trie::kNoValue;
    if (in_block_) {
      PutLink(live_, live_.at);
      return EmitBlock(first_of_block_, live_.at);
    }
    SetEntries(0, kept, At(live_, live_.at).cross);
    return EmitBlock(first_of_block_, store[0].entry) && EmitBetween(0, kept, live_.at);
  }

  // The last place of the block that the paths to all places of the window have in common.
  uint64_t Settled() {
    uint64_t places[LongScratch::kMaxPieceChars + 1] = {};
    uint32_t count = 0;
    PutLink(live_, live_.at);
    for (uint64_t at = live_.at + max_chars_; at-- > live_.at;) {
      if (At(live_, at).back != 0) places[count++] = at;
    }
    const auto before = [this](uint64_t at) {
      return at - (at > live_.at ? At(live_, at).back : scratch_.block_links[at - first_of_block_]);
    };
    // They fall from the first to the last. The first goes back by a piece, to its place among
    // them.
    while (count > 1) {
      const uint64_t back = before(places[0]);
      uint32_t i = 0;
      for (; i + 1 < count && places[i + 1] > back; ++i) places[i] = places[i + 1];
      if (i + 1 < count && places[i + 1] == back) {
        std::copy(places + i + 1, places + count, places + i);
        --count;
      } else {
        places[i] = back;
      }
    }
    return places[0] > live_.at ? before(places[0]) : places[0];
  }

  // Emits the path up to there, behind which the block begins anew.
  bool EmitSettled(uint64_t settled) {
    if (!EmitBlock(first_of_block_, settled)) return false;
    const uint64_t from = settled - first_of_block_;
    const auto move = [from](auto* array, uint64_t end) {
      std::copy(array + from, array + end, array);
    };
    move(scratch_.block_chars, live_.read - first_of_block_);
    if (live_.at > settled) {
      move(scratch_.block_links, live_.at - first_of_block_);
      move(scratch_.block_values, live_.at - first_of_block_);
    }
    first_of_block_ = settled;
    return true;
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
      if (in_block_) scratch_.block_chars[s.read - first_of_block_] = read;
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

  // Another checkpoint, behind `count` others. Where there are as many as there may be, every
  // second one goes.
  uint32_t Keep(State& s, uint32_t level, uint32_t count, uint64_t* interval) {
    State* const store = Store(level);
    for (uint32_t i = 0; i < scratch_.ring; ++i) {
      Node& node = At(s, s.at + i);
      const bool reached = i < max_chars_ && (i == 0 || node.back != 0);
      s.table[i] = reached ? node.cross : 0;
      node.cross = static_cast<uint16_t>(i);
    }
    if (count == MostKept(level)) {
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

  // Where the best path enters at the checkpoints of a level. cross: of the node that it ends at.
  void SetEntries(uint32_t level, uint32_t count, uint16_t cross) {
    State* const store = Store(level);
    for (uint32_t k = count; k > 0;) {
      --k;
      store[k].entry = store[k].at + cross;
      cross = store[k].table[cross];
    }
  }

  // Emits the path from the first checkpoint of a level to `exit`.
  bool EmitBetween(uint32_t level, uint32_t count, uint64_t exit) {
    State* const store = Store(level);
    for (uint32_t k = 0; k < count; ++k) {
      const uint64_t to = k + 1 < count ? store[k + 1].entry : exit;
      if (!EmitFrom(store[k], to, level + 1)) return false;
    }
    return true;
  }

  // Emits the path from a checkpoint, where it enters, to `exit`.
  bool EmitFrom(const State& start, uint64_t exit, uint32_t level) {
    if (start.entry == exit) return true;
    Copy(start, &work_);
    in_block_ = exit - start.at <= 2 * scratch_.block;
    first_of_block_ = start.at;
    if (!in_block_) return EmitLong(exit, level);
    for (uint64_t i = start.at; i < start.read; ++i) {  // those read already
      scratch_.block_chars[i - start.at] = start.chars[i & mask_];
    }
    while (work_.at != exit) Step(work_);
    PutLink(work_, exit);
    return EmitBlock(start.entry, exit);
  }

  // The same from a copy of the checkpoint, with more of them on the way.
  bool EmitLong(uint64_t exit, uint32_t level) {
    if (level == LongScratch::kLevels) return false;  // longer than any text
    uint64_t interval = scratch_.block;
    uint32_t count = Keep(work_, level, 0, &interval);
    for (uint64_t next = work_.at + interval; work_.at != exit; Step(work_)) {
      if (work_.at != next) continue;
      count = Keep(work_, level, count, &interval);
      next = work_.at + interval;
    }
    SetEntries(level, count, At(work_, exit).cross);
    return EmitBetween(level, count, exit);
  }

  void PutLink(const State& s, uint64_t at) {
    scratch_.block_links[at - first_of_block_] = At(s, at).back;
    scratch_.block_values[at - first_of_block_] = At(s, at).value;
  }

  // Emits the path whose links lead from exit to entry.
  bool EmitBlock(uint64_t entry, uint64_t exit) {
    const auto first = static_cast<uint32_t>(entry - first_of_block_);
    const auto end = static_cast<uint32_t>(exit - first_of_block_);
    // Turned to lead forwards: the size of a piece stands where it begins.
    uint16_t after = 0;
    for (uint32_t at = end; at > first;) {
      const uint16_t size = scratch_.block_links[at];
      scratch_.block_links[at] = after;
      after = size;
      at -= size;
    }
    for (uint32_t at = first, size = after; at < end; size = scratch_.block_links[at]) {
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
  State& live_;   // of the text
  State& work_;   // of what is searched again
  State& begin_;  // of the word
  bool specials_ = true, needs_unknown_ = false;
  bool in_block_ = false;  // links are kept
  uint64_t first_of_block_ = 0;
};

}  // namespace rankfeed::general
