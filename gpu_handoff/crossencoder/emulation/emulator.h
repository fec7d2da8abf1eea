// SPDX-License-Identifier: MIT
// crossencoder/emulation/emulator.h: TEST SURFACE. Runs kernels (kernels/portable.h) on the CPU:
// block after block, the threads of a block as coroutines that switch at Sync only. Every word of
// shared memory has a shadow that knows who wrote and read it since the last Sync. Finds races (two
// threads, one of them writing, with no Sync between), reads of what nobody wrote, indices outside
// shared memory, and threads that leave others waiting; results must not depend on the order of
// threads.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_EMULATOR_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_EMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace rankfeed::handoff::emulation {

// One word of shared memory: its bits, and the Syncs (counted from 1 in each block) behind which it
// was last written and read, by whom.
struct Word {
  uint32_t bits = 0;
  uint32_t written = 0, writer = 0;  // written 0: never
  uint32_t read = 0, reader = 0;
  bool many_readers = false;
};

struct Position {
  uint32_t thread = 0, threads = 0, block_x = 0, block_y = 0;
  uint32_t phase = 1;  // Syncs of the block so far, and 1
  Word* shared = nullptr;
  size_t shared_words = 0;
};

// Where the running thread is. Only inside kernels.
inline thread_local Position now;
inline const Position& Now() {
  return now;
}

// What is wrong with an access; kept, and thrown by Run at the end of the block. The first counts.
void Fault(const char* what, size_t index);

inline Word* Access(size_t index) {
  static thread_local Word outside;
  if (index < now.shared_words) return now.shared + index;
  Fault("shared memory: an index outside", index);
  outside = Word();
  outside.written = now.phase;
  outside.writer = now.thread;
  return &outside;
}
inline uint32_t ReadWord(size_t index) {
  Word& word = *Access(index);
  const bool race = word.written == now.phase && word.writer != now.thread;
  if (word.written == 0) Fault("shared memory: read and never written", index);
  if (race) Fault("shared memory: race of a read with a write before", index);
  word.many_readers = word.read == now.phase && (word.many_readers || word.reader != now.thread);
  word.read = now.phase;
  word.reader = now.thread;
  return race ? 0 : word.bits;  // whatever it is, it is wrong: nothing that overflows later
}
inline void WriteWord(size_t index, uint32_t bits) {
  Word& word = *Access(index);
  if (word.written == now.phase && word.writer != now.thread)
    Fault("shared memory: race of two writes", index);
  if (word.read == now.phase && (word.many_readers || word.reader != now.thread))
    Fault("shared memory: race of a write with a read before", index);
  word.written = now.phase;
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
      const uint32_t bits = ReadWord(index_);
      T value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    const Element& operator=(T value) const {
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
  template <class Other>
  Shared<Other> As() const {
    return Shared<Other>(index_);
  }

 private:
  size_t index_;
};

// place: where in the source, for OmitSync.
void Sync(const char* file, int line);

// The order in which threads run between two Syncs.
enum class Order { kForward, kBackward, kShuffled };
void SetOrder(Order order);  // for the calling thread; kForward at first

// Planted faults: the places of Sync met so far, "file:line" in the order in which they were met;
// and one of them (an index, or -1 for none) that all threads pass without waiting.
std::vector<std::string> SyncPlaces();
void OmitSync(int place);

// Runs body once per thread of every block. Throws std::logic_error when some threads of a block
// have returned while others wait in Sync, and for what was wrong with shared memory.
void Run(uint32_t blocks_x, uint32_t blocks_y, uint32_t threads, size_t shared_words,
         const std::function<void()>& body);

}  // namespace rankfeed::handoff::emulation

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_EMULATOR_H_
