// SPDX-License-Identifier: MIT
// general/long_path.h: the references' own search (best_path.h) over text of any length in memory
// that does not grow with it.
//
// Characters come one by one from a stream that can be copied, state and all, into arrays that hold
// two blocks. The search goes on over them block by block. Behind a block the paths to all places
// that a piece may still end at, a window of max_piece_chars, mostly have a place in common, and up
// to that the path is known. Where they have none in a block, as in long runs of one character,
// checkpoints are kept from there to the end of the word: stream, window, and for each place of the
// window which place of the window before its best path comes through. When there are too many
// every second one is dropped. At the end of the word the places that the best path passes are
// known, from the last checkpoint to the first, and the stretch between two is searched again from
// the first of them: at once if it fits into the arrays, else with checkpoints of its own. Sums are
// those of best_path.h, in the same order, so the path is the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "base/layout.h"
#include "general/best_path.h"
#include "image/model.h"

namespace rankfeed::general {

// A normalized character. mark: of the stream.
struct Character {
  char32_t c;
  uint32_t mark;
};

// Where in the text something came from, in bytes.
struct Place {
  uint32_t begin, end;
};

// A character that knows it.
struct PlacedCharacter : Character {
  Place place;
};

// Characters in arrays.
struct CharacterArrays {
  uint32_t* c = nullptr;
  uint32_t* mark = nullptr;
  // Places; null: of characters without.
  uint32_t* begin = nullptr;
  uint32_t* end = nullptr;

  Place PlaceAt(uint32_t at) const { return {begin[at], end[at]}; }
  void SetPlace(uint32_t at, Place place) const {
    begin[at] = place.begin;
    end[at] = place.end;
  }
};

// What the search works in.
struct LongScratch {
  // Longer pieces would make checkpoints large.
  static constexpr uint32_t kMaxPieceChars = 255;
  // Of checkpoints. With 16 of them on each level but the first, which has at least four times as
  // many, half are left where every second one was dropped: 32 * 8^6 blocks are enough for any
  // text.
  static constexpr uint32_t kLevels = 7, kLeastFirst = 4;

  // Of a checkpoint, by place from it on.
  template <class Stream>
  struct Node {
    double best;
    typename Stream::Char character;  // behind the place
    uint16_t before;      // where its path comes through the window of the checkpoint before
    bool reached;
  };
  // A stream, and what was read of it ahead of a word's end.
  template <class Stream>
  struct Source {
    static_assert(std::is_trivially_copyable_v<Stream>);
    Stream stream;
    typename Stream::Char next{};
    bool has_next = false, ended = false;  // ended: no character of the word is left
  };
  // Places are counted from the begin of the word.
  template <class Stream>
  struct State {
    Source<Stream> source;
    uint64_t at, entry;       // entry: where the best path enters the window
    uint32_t read;            // characters behind at
  };

  uint32_t block = 0, window = 0;     // block 0: there is none
  uint32_t first_kept = 0, kept = 0;  // checkpoints of the first level and of others
  void* states = nullptr;             // checkpoints, level by level
  void* nodes = nullptr;              // theirs
  uint16_t* through = nullptr;  // by place, of LongSearch::Compose
  // Of Room() characters, by whoever carves:
  Lattice lattice = {};
  CharacterArrays chars = {};

  uint32_t StateCount() const { return first_kept + (kLevels - 1) * kept; }
  static uint32_t WindowOf(const Model& model) {
    return std::clamp(model.config->max_piece_chars, 1u, kMaxPieceChars) + 1;
  }
  // Two blocks, and a window before, between and behind them.
  static constexpr uint32_t RoomFor(uint32_t block, uint32_t window) {
    return 2 * block + 3 * window;
  }
  uint32_t Room() const { return RoomFor(block, window); }

  // Measures or carves, for texts of that stream. kept_count: even, 4 or more; tests have it small.
  // The first level gets what is left of so many bytes.
  template <class Stream>
  void Carve(Layout& layout, const Model& model, uint32_t block_chars, uint32_t kept_count,
             uint32_t bytes) {
    window = WindowOf(model);
    block = std::max(block_chars, window + 1);
    kept = kept_count;
    const auto fit =
        static_cast<uint32_t>(bytes / (sizeof(State<Stream>) + window * sizeof(Node<Stream>)));
    first_kept = std::max(kLeastFirst * kept, fit - std::min(fit, (kLevels - 1) * kept)) / 2 * 2;
    states = layout.Take<State<Stream>>(StateCount());
    nodes = layout.Take<Node<Stream>>(size_t{StateCount()} * window);
    through = layout.Take<uint16_t>(size_t{Room()} + 1);
  }
};

// Stream: trivially copyable, `Char`, a Character or PlacedCharacter, `bool Next(Char*)`,
// `static bool BeginsWord(const Char&)`, `uint32_t Run(const CharacterArrays&, at, count)`: as many
// of the next `count` as it has at once, none of which begins a word, to `at`.
// Emitter: `bool Piece(value, const CharacterArrays&, at, count)` for each piece of a best path in
// order, its characters from `at` on; false: it has seen enough of the word.
template <class Arithmetic, class Stream, class Emitter>
class LongSearch {
 public:
  using Source = LongScratch::Source<Stream>;
  using State = LongScratch::State<Stream>;
  using Node = LongScratch::Node<Stream>;
  using Char = typename Stream::Char;

  LongSearch(const Model& model, const LongScratch& scratch, const Stream& stream, Emitter& emitter)
      : model_(model),
        scratch_(scratch),
        lattice_(scratch.lattice),
        chars_(scratch.chars),
        emitter_(emitter),
        max_chars_(scratch.window - 1),
        states_(static_cast<State*>(scratch.states)),
        nodes_(static_cast<Node*>(scratch.nodes)),
        live_{stream},
        work_{stream},
        begin_{stream} {}

  // Whether there is another word.
  bool More() { return Peek(live_); }

  // The first character of the next word, where there is one, and not to search that word, of one
  // character.
  const Char& next() const { return live_.next; }
  void Skip() { live_.has_next = false; }

  // Searches the next word, of which there is one, from that score on, and emits its path. again:
  // whether WordAgain may be called. False: the emitter had seen enough.
  bool Word(double start, bool again) {
    start_ = start;
    if (again) begin_ = live_;
    specials_ = true;
    return Solve();
  }
  // The same word once more, without the pieces that are special tokens.
  bool WordAgain() {
    live_ = begin_;
    specials_ = false;
    return Solve();
  }

  double score() const { return score_; }  // behind the word
  // Whether the best way to some place of the word is an unknown character, which the model has no
  // id for.
  bool needs_unknown() const { return needs_unknown_; }
  const Stream& stream() const { return live_.stream; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  static bool Peek(Source& source) {
    if (!source.has_next) source.has_next = source.stream.Next(&source.next);
    return source.has_next;
  }

  State* Store(uint32_t level) {
    return states_ + (level == 0 ? 0 : scratch_.first_kept + (level - 1) * scratch_.kept);
  }
  Node* NodesOf(const State* state) const {
    return nodes_ + static_cast<size_t>(state - states_) * scratch_.window;
  }
  uint32_t MostKept(uint32_t level) const {
    return level == 0 ? scratch_.first_kept : scratch_.kept;
  }
  // Characters of the best piece that ends there.
  uint32_t Length(uint32_t at) const { return lattice_.link[at] & kLinkMask; }
  void SetLength(uint32_t at, uint32_t length) {
    lattice_.link[at] = (lattice_.link[at] & ~kLinkMask) | length;
  }

  bool Solve() {
    source_ = &live_;
    live_.ended = needs_unknown_ = false;
    at_ = count_ = 0;
    place_ = 0;
    lattice_.best[0] = start_;
    lattice_.link[0] = 0;
    // From there on the arrays have what was searched last; before it, no more than a block.
    uint32_t last = 0;
    while (GoOn(scratch_.block)) {
      const uint32_t settled = Settled(last);
      if (settled == kNone) return SolveOpen(last);
      if (!EmitBlock(0, settled)) return false;
      Move(settled, 0);
      Save(Store(0));
      last = at_;
    }
    score_ = lattice_.best[at_];
    return EmitBlock(0, at_);
  }

  // The rest of a word, whose paths have no place in common from `last` on, where the first
  // checkpoint is. What leads to that stays in the arrays.
  bool SolveOpen(uint32_t last) {
    const uint32_t base = last + scratch_.window;
    uint32_t kept = 1;
    uint64_t interval = 1, blocks = 0;
    std::iota(table_, table_ + scratch_.window, uint16_t{0});
    Compose(last);
    for (bool more = true; more;) {
      if (++blocks == interval) {
        kept = Keep(0, kept, &interval);
        blocks = 0;
      }
      Move(at_, base);
      more = GoOn(scratch_.block);
      Compose(base);
    }
    score_ = lattice_.best[at_];
    SetEntries(0, kept, table_[0]);
    const State& first = *Store(0);
    const auto entry = static_cast<uint32_t>(first.entry - first.at);
    return EmitBlock(0, last + entry) && EmitBetween(0, kept, place_);
  }

  // Reads characters of the word up to so many behind what is searched.
  void Read(uint32_t most) {
    Source& source = *source_;
    for (const uint32_t end = at_ + most; count_ < end && !source.ended;) {
      const uint32_t run = source.has_next ? 0 : source.stream.Run(chars_, count_, end - count_);
      if (run != 0) {
        PutCodes(run);
        continue;
      }
      const bool first = place_ == at_ && count_ == 0;
      if (!Peek(source) || (!first && Stream::BeginsWord(source.next))) {
        source.ended = true;
        break;
      }
      Put(source.next, count_);
      PutCodes(1);
      source.has_next = false;
    }
  }
  static constexpr bool kPlaces = std::is_same_v<Char, PlacedCharacter>;
  void Put(const Char& c, uint32_t at) const {
    chars_.c[at] = c.c;
    chars_.mark[at] = c.mark;
    if constexpr (kPlaces) chars_.SetPlace(at, c.place);
  }
  Char CharAt(uint32_t at) const {
    const Character c{chars_.c[at], chars_.mark[at]};
    if constexpr (kPlaces) {
      return {c, chars_.PlaceAt(at)};
    } else {
      return c;
    }
  }
  // Behind count_ there are so many characters more.
  void PutCodes(uint32_t more) {
    for (const uint32_t end = count_ + more; count_ < end;) {
      lattice_.link[count_] |= uint32_t{model_.codes[chars_.c[count_]]} << kLinkBits;
      lattice_.link[++count_] = 0;
    }
  }

  // Searches so many characters on. False: the word ended, and all of it is searched.
  bool GoOn(uint32_t most) {
    Read(most + max_chars_);
    const uint32_t end = source_->ended ? count_ : at_ + most;
    Search(end);
    return !source_->ended;
  }

  void Search(uint32_t end) {
    specials_ ? Search<true>(end) : Search<false>(end);
    if (source_ == &live_ && model_.config->unk_id == image::kNoId) {
      const uint32_t* const values = lattice_.value;
      needs_unknown_ |=
          std::find(values + at_ + 1, values + end + 1, trie::kNoValue) != values + end + 1;
    }
    place_ += end - at_;
    at_ = end;
  }
  template <bool kSpecials>
  void Search(uint32_t end) {
    PathFinder<Arithmetic, kSpecials> finder(model_, lattice_, count_, max_chars_);
    finder.RunOn(at_, end);
  }

  // The last place that the paths to all places of the window have in common, if it is not before
  // `last`.
  uint32_t Settled(uint32_t last) const {
    uint32_t places[LongScratch::kMaxPieceChars + 1];
    uint32_t count = 0;
    for (uint32_t at = std::min(at_ + max_chars_, count_); at > at_; --at) {
      if (Length(at) != 0) places[count++] = at;
    }
    places[count++] = at_;
    // They fall from the first to the last. The first goes back by a piece, to its place among
    // them.
    while (count > 1) {
      if (places[0] <= last) return kNone;
      const uint32_t back = places[0] - Length(places[0]);
      uint32_t i = 0;
      for (; i + 1 < count && places[i + 1] > back; ++i) places[i] = places[i + 1];
      if (i + 1 < count && places[i + 1] == back) {
        std::copy(places + i + 1, places + count, places + i);
        --count;
      } else {
        places[i] = back;
      }
    }
    return places[0] >= last ? places[0] : kNone;
  }

  // Moves what is behind `from` down to `to`.
  void Move(uint32_t from, uint32_t to) {
    const auto move = [from, to](auto* array, uint32_t end) {
      std::copy(array + from, array + end, array + to);
    };
    move(lattice_.best, count_ + 1);
    move(lattice_.link, count_ + 1);
    move(lattice_.value, count_ + 1);
    move(chars_.c, count_);
    move(chars_.mark, count_);
    if constexpr (kPlaces) {
      move(chars_.begin, count_);
      move(chars_.end, count_);
    }
    at_ -= from - to;
    count_ -= from - to;
  }

  // For each place of the window, table_ has where its path comes through the window of the last
  // checkpoint; before, the same of the window that the search came from at `base`.
  void Compose(uint32_t base) {
    uint16_t* const through = scratch_.through;
    const uint32_t from = at_ - base, end = std::min(at_ + max_chars_, count_) - base;
    through[0] = 0;
    for (uint32_t i = 1; i <= end; ++i) {
      const uint32_t length = Length(base + i);
      if (length == 0) {
        through[i] = 0;  // not reached
      } else {
        through[i] = length > i ? static_cast<uint16_t>(i) : through[i - length];
      }
    }
    uint16_t table[LongScratch::kMaxPieceChars + 1];
    std::copy_n(table_, scratch_.window, table);
    for (uint32_t i = from; i <= end; ++i) table_[i - from] = table[through[i]];
  }

  void Save(State* to) const {
    to->source = *source_;
    to->at = place_;
    to->read = count_ - at_;
    Node* const nodes = NodesOf(to);
    std::fill_n(nodes, scratch_.window, Node{});
    for (uint32_t i = 0; i <= to->read; ++i) {
      const uint32_t at = at_ + i;
      nodes[i] = {lattice_.best[at], {}, table_[i], i == 0 || Length(at) != 0};
      if (i != to->read) nodes[i].character = CharAt(at);
    }
  }

  // Goes back to a checkpoint, in arrays that hold nothing else.
  void Restore(const State& from) {
    source_ = &work_;
    work_ = from.source;
    at_ = 0;
    place_ = from.at;
    count_ = from.read;
    for (uint32_t i = 0; i <= count_; ++i) {
      const Node& node = NodesOf(&from)[i];
      lattice_.best[i] = node.best;
      lattice_.link[i] = node.reached ? i + 1 : 0;  // from before the checkpoint
      lattice_.value[i] = trie::kNoValue;
      if (i == count_) break;
      Put(node.character, i);
      lattice_.link[i] |= uint32_t{model_.codes[node.character.c]} << kLinkBits;
    }
  }

  // Another checkpoint, behind `count` others. Where there are as many as there may be, every
  // second one goes.
  uint32_t Keep(uint32_t level, uint32_t count, uint64_t* interval) {
    State* const store = Store(level);
    if (count == MostKept(level)) {
      const Node* before = NodesOf(&store[count - 1]);
      for (uint32_t i = 0; i < scratch_.window; ++i) table_[i] = before[table_[i]].before;
      for (uint32_t k = 1; k < count / 2; ++k) {
        before = NodesOf(&store[2 * k - 1]);
        Node* const nodes = NodesOf(&store[2 * k]);
        for (uint32_t i = 0; i < scratch_.window; ++i)
          nodes[i].before = before[nodes[i].before].before;
        store[k] = store[2 * k];
        std::copy_n(nodes, scratch_.window, NodesOf(&store[k]));
      }
      count /= 2;
      *interval *= 2;
    }
    Save(&store[count]);
    std::iota(table_, table_ + scratch_.window, uint16_t{0});
    return count + 1;
  }

  // Where the best path enters at the checkpoints of a level. through: its place in the window of
  // the last one.
  void SetEntries(uint32_t level, uint32_t count, uint16_t through) {
    State* const store = Store(level);
    for (uint32_t k = count; k > 0;) {
      --k;
      store[k].entry = store[k].at + through;
      through = NodesOf(&store[k])[through].before;
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
    Restore(start);
    if (exit - place_ > 2 * scratch_.block) return EmitLong(exit, level);
    const auto end = static_cast<uint32_t>(exit - place_);
    Read(end + max_chars_);
    Search(end);
    return EmitBlock(static_cast<uint32_t>(start.entry - start.at), end);
  }

  // The same from where it was gone back to, with more checkpoints on the way.
  bool EmitLong(uint64_t exit, uint32_t level) {
    if (level == LongScratch::kLevels) return false;  // longer than any text
    std::iota(table_, table_ + scratch_.window, uint16_t{0});
    uint64_t interval = 1, blocks = 0;
    uint32_t count = Keep(level, 0, &interval);
    while (place_ != exit) {
      if (blocks == interval) {
        count = Keep(level, count, &interval);
        blocks = 0;
      }
      Move(at_, 0);
      const auto most = static_cast<uint32_t>(std::min<uint64_t>(exit - place_, scratch_.block));
      Read(most + max_chars_);
      Search(at_ + most);
      Compose(0);
      ++blocks;
    }
    SetEntries(level, count, table_[0]);
    return EmitBetween(level, count, exit);
  }

  // Emits the path whose links lead from exit to entry.
  bool EmitBlock(uint32_t entry, uint32_t exit) {
    // Turned to lead forwards: the size of a piece stands where it begins.
    uint32_t after = 0;
    for (uint32_t at = exit; at > entry;) {
      const uint32_t length = Length(at);
      SetLength(at, after);
      after = length;
      at -= length;
    }
    for (uint32_t at = entry, length = after; at < exit; length = Length(at)) {
      if (!emitter_.Piece(lattice_.value[at + length], chars_, at, length)) return false;
      at += length;
    }
    return true;
  }

  const Model& model_;
  const LongScratch& scratch_;
  const Lattice lattice_;
  const CharacterArrays chars_;
  Emitter& emitter_;
  const uint32_t max_chars_;
  State* const states_;
  Node* const nodes_;
  Source live_;   // of the text
  Source work_;   // of what is searched again
  Source begin_;  // of the word
  double start_ = 0, score_ = 0;
  bool specials_ = true, needs_unknown_ = false;
  // In the arrays: characters before at_ are searched, count_ are read.
  Source* source_ = nullptr;
  uint32_t at_ = 0, count_ = 0;
  uint64_t place_ = 0;  // of at_
  uint16_t table_[LongScratch::kMaxPieceChars + 1] = {};
};

}  // namespace rankfeed::general
