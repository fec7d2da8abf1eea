// SPDX-License-Identifier: MIT
// thread_sanitizer.h: what the fake runtime tells ThreadSanitizer: a stream is a fibre, and only
// what the runtime promises orders things. Nothing at all in other builds.
#ifndef RANKFEED_TESTS_FAKE_GPU_THREAD_SANITIZER_H_
#define RANKFEED_TESTS_FAKE_GPU_THREAD_SANITIZER_H_

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RANKFEED_FAKE_GPU_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define RANKFEED_FAKE_GPU_TSAN 1
#endif

#ifdef RANKFEED_FAKE_GPU_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_read_range(void* address, unsigned long size);
void __tsan_write_range(void* address, unsigned long size);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace fake_gpu {

inline void Ignore([[maybe_unused]] bool begin) {
#ifdef RANKFEED_FAKE_GPU_TSAN
  if (begin) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  } else {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  }
#endif
}

// The runtime's own state and lock, while one of these lives.
class Unseen {
 public:
  Unseen() { Ignore(true); }
  ~Unseen() { Ignore(false); }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};
// The work of a device itself, within.
class Seen {
 public:
  Seen() { Ignore(false); }
  ~Seen() { Ignore(true); }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;
};

// The running stream reads, writes that memory. For work on the stack of whoever steps, which is
// not the stream's and whose every access would look like a race.
inline void SeenRead([[maybe_unused]] const void* at, [[maybe_unused]] unsigned long bytes) {
#ifdef RANKFEED_FAKE_GPU_TSAN
  const Seen seen;
  __tsan_read_range(const_cast<void*>(at), bytes);
#endif
}
inline void SeenWrite([[maybe_unused]] void* at, [[maybe_unused]] unsigned long bytes) {
#ifdef RANKFEED_FAKE_GPU_TSAN
  const Seen seen;
  __tsan_write_range(at, bytes);
#endif
}

// What is before Signal happens before what is after Wait. Wait orders the thread or fibre that
// calls it, also inside an Unseen.
class Fence {
 public:
  void Signal() {
#ifdef RANKFEED_FAKE_GPU_TSAN
    Annotated([this] { __tsan_release(this); });
#endif
  }
  void Wait() {
#ifdef RANKFEED_FAKE_GPU_TSAN
    Annotated([this] { __tsan_acquire(this); });
#endif
  }

 private:
#ifdef RANKFEED_FAKE_GPU_TSAN
  template <class Do>
  static void Annotated(Do act) {
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    act();
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  }
#endif
  [[maybe_unused]] char place_ = 0;
};

// A stream, to ThreadSanitizer: a thread of execution of its own.
class Fibre {
 public:
  Fibre() {
#ifdef RANKFEED_FAKE_GPU_TSAN
    fiber_ = __tsan_create_fiber(0);
#endif
  }
  ~Fibre() {
#ifdef RANKFEED_FAKE_GPU_TSAN
    __tsan_destroy_fiber(fiber_);
#endif
  }
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;
  // The host has queued something here: what it did before is visible to the stream.
  void HostQueued() {
    queued_.Signal();
  }
  // The host has seen that all is done.
  void HostSawEnd() {
    ended_.Wait();
  }

 private:
  friend class OnFibre;
  [[maybe_unused]] void* fiber_ = nullptr;
  Fence queued_, ended_;
};

// Runs what follows as the stream; its memory accesses are unseen but inside a Seen.
class OnFibre {
 public:
#ifdef RANKFEED_FAKE_GPU_TSAN
  explicit OnFibre(Fibre& fibre) : fibre_(fibre), back_(__tsan_get_current_fiber()) {
    __tsan_switch_to_fiber(fibre.fiber_, 1);  // 1: orders nothing by itself
    __tsan_acquire(&fibre.queued_);
    Ignore(true);
  }
  ~OnFibre() {
    Ignore(false);
    __tsan_release(&fibre_.ended_);
    __tsan_switch_to_fiber(back_, 1);
  }

 private:
  Fibre& fibre_;
  void* back_;
#else
  explicit OnFibre(Fibre&) {}
  ~OnFibre() {}
#endif
};

}  // namespace fake_gpu

#endif  // RANKFEED_TESTS_FAKE_GPU_THREAD_SANITIZER_H_
