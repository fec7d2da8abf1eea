// SPDX-License-Identifier: MIT
// crossencoder/emulation/emulator.h: TEST SURFACE. Runs kernels (kernels/portable.h) on the CPU:
// block after block, the threads of a block as coroutines that switch where threads wait only: at
// Sync for the block, at SyncWarp for the warp, in ExchangeInWarp for another lane's value. Every
// word of shared memory has a shadow that knows who wrote and read it, and after which waits.
// Finds races (two threads, one of them writing, with no wait between that orders them), reads of
// what nobody wrote, indices outside shared memory, and threads that leave others waiting; results
// must not depend on the order of threads. access_counts.h counts what the accesses would cost.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_EMULATOR_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_EMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "crossencoder/emulation/access_counts.h"

namespace rankfeed::handoff::emulation {

// When an access was: how many Syncs its block and how many SyncWarps its warp had come past. Both
// count from 1; block 0 is never.
struct Time {
  uint32_t block = 0, warp = 0;
  bool operator==(const Time&) const = default;
};

// One word of shared memory: its bits, and when it was last written and read, by whom.
struct Word {
  uint32_t bits = 0;
  uint32_t writer = 0, reader = 0;
  Time written, read;
  bool many_readers = false;  // at the time `read`, in the warp of `reader`
  bool many_warps = false;    // since the last Sync
};

struct Position {
  uint32_t thread = 0, threads = 0, block_x = 0, block_y = 0;
  uint32_t lanes = 32;  // threads of a warp, a power of two
  Time time{1, 1};
  Word* shared = nullptr;
  size_t shared_words = 0;
};

// Where the running thread is. Only inside kernels.
inline thread_local Position now;
inline const Position& Now() {
  return now;
}

// The fault of an access; kept, and thrown by Run at the end of the block. The first counts.
void Fault(const char* what, size_t index);

inline Word* Access(size_t index) {
  static thread_local Word outside;
  if (index < now.shared_words) return now.shared + index;
  Fault("shared memory: an index outside", index);
  outside = Word();
  outside.written = now.time;
  outside.writer = now.thread;
  return &outside;
}
inline bool InMyWarp(uint32_t thread) {
  return ((thread ^ now.thread) & ~(now.lanes - 1)) == 0;
}
// Whether nothing orders an access of another thread at `then` before what this thread does now.
inline bool Unordered(Time then, uint32_t thread) {
  return thread != now.thread && then.block == now.time.block &&
         (!InMyWarp(thread) || then.warp == now.time.warp);
}

inline uint32_t ReadWord(size_t index) {
  Word& word = *Access(index);
  const bool race = Unordered(word.written, word.writer);
  if (word.written.block == 0) Fault("shared memory: read and never written", index);
  if (race) Fault("shared memory: race of a read with a write before", index);
  const bool same_block = word.read.block == now.time.block;
  const bool other_warp = same_block && !InMyWarp(word.reader);
  word.many_warps = same_block && (word.many_warps || other_warp);
  word.many_readers =
      word.read == now.time && !other_warp && (word.many_readers || word.reader != now.thread);
  word.read = now.time;
  word.reader = now.thread;
  return race ? 0 : word.bits;  // whatever it is, it is wrong: nothing that overflows later
}
inline void WriteWord(size_t index, uint32_t bits) {
  Word& word = *Access(index);
  if (Unordered(word.written, word.writer)) Fault("shared memory: race of two writes", index);
  const bool others_read =
      word.read.block == now.time.block &&
      (word.many_warps || Unordered(word.read, word.reader) ||
       (word.many_readers && InMyWarp(word.reader) && word.read.warp == now.time.warp));
  if (others_read) Fault("shared memory: race of a write with a read before", index);
  word.written = now.time;
  word.writer = now.thread;
  word.bits = bits;
}

// A pointer into shared memory, as kernels use it.
template <class T>
class Shared {
  static_assert(sizeof(T) == 4);

 public:
  class Element {
   public:
    explicit Element(size_t index) : index_(index) {}
    operator T() const {
      Touch(Memory::kShared, index_ * 4, 4);
      const uint32_t bits = ReadWord(index_);
      T value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    const Element& operator=(T value) const {
      Touch(Memory::kShared, index_ * 4, 4);
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      WriteWord(index_, bits);
      return *this;
    }
    const Element& operator=(const Element& other) const { return *this = T(other); }
    const Element& operator+=(T value) const { return *this = T(*this) + value; }

   private:
    size_t index_;
  };

  explicit Shared(size_t index) : index_(index) {}
  Element operator[](size_t i) const { return Element(index_ + i); }
  Shared operator+(size_t i) const { return Shared(index_ + i); }
  size_t index() const { return index_; }
  template <class Other>
  Shared<Other> As() const {
    return Shared<Other>(index_);
  }

 private:
  size_t index_;
};

// place: where in the source, for OmitSync.
void Sync(const char* file, int line);
void SyncWarp(const char* file, int line);
// bits of the lane `lane ^ mask` of the same warp. All lanes of the warp must call it.
uint32_t ExchangeInWarp(uint32_t bits, uint32_t mask);
inline float FromLaneXor(float value, uint32_t mask) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = ExchangeInWarp(bits, mask);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

// The order in which threads run between two waits.
enum class Order { kForward, kBackward, kShuffled };
void SetOrder(Order order);  // for the calling thread; kForward at first

// Planted faults: the places of Sync and SyncWarp met so far, "file:line" in the order in which
// they were met; and one of them (an index, or -1 for none) that all threads pass without waiting.
std::vector<std::string> SyncPlaces();
void OmitSync(int place);

struct Grid {
  uint32_t x = 1, y = 1;  // blocks
  uint32_t threads = 1;   // of a block, whole warps or less than one
  uint32_t lanes = 32;    // threads of a warp, a power of two
  size_t shared_words = 0;
};

// Runs body once per thread of every block. Throws std::logic_error when some threads of a block or
// a warp have returned while others wait for them, and for what was wrong with shared memory.
void Run(const Grid& grid, const std::function<void()>& body);

}  // namespace rankfeed::handoff::emulation

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_EMULATOR_H_
