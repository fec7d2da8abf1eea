// SPDX-License-Identifier: MIT
// fault/rewritten_files.h: images and stores that are written to and cut off while they are in use.
//
// A victim is opened once. Rounds change its file, use it and put the file right again; many go on
// in one process that is a fork of the test, and when that ends by a signal the next one goes on
// after that round. Processor time that a round may take is bounded, by a timer of the process:
// what is still at work then hangs.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace rankfeed::fault_test {

// Memory for size bytes with nothing to read or write for a megabyte around it, so that whatever a
// victim writes outside its buffers does not change the test.
class Guarded {
 public:
  // sharing: MAP_PRIVATE, or MAP_SHARED for memory that a fork writes to as well.
  explicit Guarded(size_t size, int sharing = MAP_PRIVATE)
      : size_((size + kPage - 1) / kPage * kPage) {
    base_ = static_cast<char*>(mmap(nullptr, size_ + 2 * kAround, PROT_NONE,
                                    sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + kAround, size_, PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
  }
  ~Guarded() { munmap(base_, size_ + 2 * kAround); }
  Guarded(const Guarded&) = delete;
  void* data() const { return base_ + kAround; }
  // size bytes that end where nothing may be read any more.
  char* last(size_t size) const { return base_ + kAround + size_ - size; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(base_ + kAround);
  }

 private:
  static constexpr size_t kPage = 65536, kAround = 1 << 20;
  size_t size_;
  char* base_;
};

// What is opened over a file.
class Victim {
 public:
  virtual ~Victim() = default;
  // Calls whatever reads the file's bytes, as `round` chooses. Whether all answers are those of the
  // file as it was opened. Allocates nothing.
  virtual bool Use(uint64_t round) = 0;
};

// Bytes [begin, end) of a file that changes go to.
struct Region {
  uint64_t begin, end;
};

// A file and how to spoil it.
class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_GE(fd_, 0) << path;
    bytes_.resize(static_cast<size_t>(lseek(fd_, 0, SEEK_END)));
    EXPECT_EQ(pread(fd_, bytes_.data(), bytes_.size(), 0), static_cast<ssize_t>(bytes_.size()));
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  const std::vector<char>& bytes() const { return bytes_; }

  void Write(const void* data, size_t size, uint64_t at) const {
    if (pwrite(fd_, data, size, static_cast<off_t>(at)) != static_cast<ssize_t>(size)) _exit(3);
  }
  void Cut(uint64_t size) const {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) _exit(3);
  }
  // As it was.
  void Restore(Region region) const {
    Write(bytes_.data() + region.begin, region.end - region.begin, region.begin);
  }

  // One change, a function of round; returns what Restore takes.
  Region Spoil(uint64_t round, const std::vector<Region>& regions) const {
    std::mt19937_64 random(round * 0x9e3779b97f4a7c15u + 1);
    const Region& region = regions[random() % regions.size()];
    const uint64_t at = region.begin + random() % (region.end - region.begin);
    if (random() % 16 == 0) {
      Cut(random() % 2 == 0 ? at : at / 4096 * 4096);
      return {at / 4096 * 4096, bytes_.size()};
    }
    static constexpr uint32_t kSizes[] = {1, 2, 4, 8, 64, 1024, 1 << 15, 1 << 18};
    static char change[1 << 18];
    const uint64_t size = std::min<uint64_t>(kSizes[random() % 8], region.end - at);
    switch (random() % 4) {
      case 0:
        std::memset(change, 0, size);
        break;
      case 1:
        std::memset(change, 0xff, size);
        break;
      case 2:  // of another place of the region: every value may stand somewhere
        std::memcpy(
            change,
            bytes_.data() + region.begin + random() % (region.end - region.begin - size + 1), size);
        break;
      default:
        for (uint64_t i = 0; i < size; i += 8) {
          const uint64_t bits = random();
          std::memcpy(change + i, &bits, std::min<uint64_t>(8, size - i));
        }
    }
    Write(change, size, at);
    return {at, at + size};
  }

 private:
  int fd_;
  std::vector<char> bytes_;
};

// What became of rounds.
struct Outcome {
  uint64_t rounds = 0, differing = 0, hangs = 0, signals = 0, other_ends = 0;
  uint64_t cut_off = 0;    // of the signals, those of a file that ends too early (SIGBUS)
  uint64_t first_bad = 0;  // a round that differed or ended the process
};

// Restores the processor time that a round may take. Far more than any takes, as machines are
// loaded.
inline void AllowSeconds(int seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}
inline constexpr int kRoundSeconds = 20;

// Runs rounds [first, first + count) over the victim and its file.
inline Outcome RunRounds(const File& file, const std::vector<Region>& regions, Victim* victim,
                         uint64_t first, uint64_t count) {
  struct Progress {
    uint64_t round, differing, first_differing;
    Region spoiled;
  };
  auto* const at = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  EXPECT_NE(at, MAP_FAILED);
  *at = {first, 0, 0, {}};
  Outcome outcome;
  for (const uint64_t end = first + count; at->round < end; ++at->round) {
    at->spoiled = {};
    const pid_t child = fork();
    if (child == 0) {
      // A sanitizer's handlers would report them in their own way.
      for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
        std::signal(number, SIG_DFL);
      for (; at->round < end; ++at->round) {
        AllowSeconds(kRoundSeconds);
        at->spoiled = {0, file.bytes().size()};  // until it is known
        at->spoiled = file.Spoil(at->round, regions);
        if (!victim->Use(at->round)) {
          if (at->differing++ == 0) at->first_differing = at->round;
        }
        file.Restore(at->spoiled);
      }
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    if (outcome.first_bad == 0) outcome.first_bad = at->round;
    if (WIFSIGNALED(status)) {
      (WTERMSIG(status) == SIGPROF ? outcome.hangs : outcome.signals) += 1;
      outcome.cut_off += WTERMSIG(status) == SIGBUS;
    } else {
      ++outcome.other_ends;  // a sanitizer's report
    }
    if (at->spoiled.end != 0) file.Restore(at->spoiled);
  }
  outcome.rounds = count;
  outcome.differing = at->differing;
  if (at->differing != 0) outcome.first_bad = at->first_differing;
  munmap(at, sizeof(Progress));
  return outcome;
}

}  // namespace rankfeed::fault_test
