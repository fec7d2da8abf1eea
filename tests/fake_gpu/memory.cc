// SPDX-License-Identifier: MIT
// memory.cc: see memory.h.
#include "fake_gpu/memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "fake_gpu/machine.h"
#include "fake_gpu/thread_sanitizer.h"

namespace fake_gpu {
namespace {

constexpr size_t kPage = 4096, kAlign = 256;
constexpr size_t kFence =
    64 << 10;  // on both sides: also what lies a slot beyond the end is caught
constexpr unsigned char kPoison = 0xFF;  // NaN in every element type, -1 as an id
constexpr unsigned char kCanary = 0xC5;

struct Block {
  char* base = nullptr;  // of the mapping, guard pages included
  size_t mapped = 0;
  char* begin = nullptr;  // what the program has
  size_t bytes = 0;
  int device = -1;        // -1: page-locked memory of the host
  char* alias = nullptr;  // page-locked: the device's address
  bool alive = true;
  std::vector<uint16_t> reading, writing;  // copies pending, for each page of page-locked memory

  bool Has(const void* at) const {
    const char* p = static_cast<const char*>(at);
    return (p >= begin && p < begin + bytes) ||
           (alias != nullptr && p >= alias && p < alias + bytes);
  }
  char* pages() const { return base + kFence; }
  size_t page_bytes() const { return mapped - 2 * kFence; }
};

std::vector<std::unique_ptr<Block>>& Blocks() {
  static auto* const blocks = new std::vector<std::unique_ptr<Block>>;
  return *blocks;
}

int32_t policy_mode = -1;
uint64_t policy_nodes = 0;

size_t RoundUp(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

// Pages between two that fault; the program's bytes end at the second one but for alignment.
std::unique_ptr<Block> Map(size_t bytes, int fd) {
  auto block = std::make_unique<Block>();
  const size_t pages = RoundUp(RoundUp(bytes, kAlign), kPage);
  block->mapped = pages + 2 * kFence;
  void* base = mmap(nullptr, block->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  block->base = static_cast<char*>(base);
  const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (mmap(block->pages(), pages, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED)
    return nullptr;
  block->begin = block->pages() + pages - RoundUp(bytes, kAlign);
  block->bytes = bytes;
  return block;
}

Block* Find(const void* at) {
  for (const auto& block : Blocks()) {
    if (block->alive && block->Has(at)) return block.get();
  }
  return nullptr;
}

// The freed block that held this address, or null.
bool WasFreed(const void* at) {
  return std::any_of(Blocks().begin(), Blocks().end(),
                     [&](const auto& block) { return !block->alive && block->Has(at); });
}

bool CanariesHold(const Block& block) {
  const auto is_canary = [](char c) { return static_cast<unsigned char>(c) == kCanary; };
  return std::all_of(block.pages(), block.begin, is_canary) &&
         std::all_of(block.begin + block.bytes, block.pages() + block.page_bytes(), is_canary);
}

void CheckCanaries(const Block& block) {
  if (block.device >= 0 && Options().hide_memory != 0) ShowDeviceMemory(true);
  if (!CanariesHold(block)) {
    Found("write-outside-allocation",
          "bytes beside an allocation of " + std::to_string(block.bytes) + " were overwritten");
  }
  if (block.device >= 0 && Options().hide_memory != 0) ShowDeviceMemory(false);
}

void Retire(Block* block) {
  CheckCanaries(*block);
  mprotect(block->base, block->mapped, PROT_NONE);
  if (block->alias != nullptr && block->alias != block->begin) {
    mprotect(block->alias - (block->begin - block->pages()), block->page_bytes(), PROT_NONE);
  }
  block->alive = false;
}

void Fill(Block* block, unsigned char inside) {
  std::memset(block->pages(), kCanary, block->page_bytes());
  std::memset(block->begin, inside, block->bytes);
}

uint64_t Hash(const char* bytes, size_t size) {  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
  return hash;
}

#ifdef RANKFEED_FAKE_GPU_TSAN
// Its shadow goes by address: one address for host and device, and no protection, which it needs
// not.
constexpr bool kTwoAddresses = false;
#else
constexpr bool kTwoAddresses = true;
#endif

// A copy that is queued holds the whole pages of its page-locked side, as the program sees them.
class Held {
 public:
  Held(Block* block, const char* at, size_t bytes, bool writing)
      : block_(block), writing_(writing) {
    if (block == nullptr || block->device >= 0 || !kTwoAddresses || at < block->begin ||
        at >= block->begin + block->bytes) {
      block_ = nullptr;
      return;
    }
    const auto offset = static_cast<size_t>(at - block->pages());
    first_ = (offset + kPage - 1) / kPage;
    last_ = (offset + bytes) / kPage;
    Count(1);
  }
  ~Held() {
    if (block_ != nullptr && block_->alive) Count(-1);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  void Count(int by) {
    for (size_t page = first_; page < last_; ++page) {
      auto& count = writing_ ? block_->writing[page] : block_->reading[page];
      count = static_cast<uint16_t>(count + by);
      const int protection = block_->writing[page] != 0   ? PROT_NONE
                             : block_->reading[page] != 0 ? PROT_READ
                                                          : PROT_READ | PROT_WRITE;
      mprotect(block_->pages() + page * kPage, kPage, protection);
    }
  }
  Block* block_;
  bool writing_;
  size_t first_ = 0, last_ = 0;
};

void Copy(char* to, const char* from, size_t bytes) {
  SeenRead(from, bytes);
  SeenWrite(to, bytes);
  std::memcpy(to, from, bytes);
}

char* DeviceAddress(Block* block, const char* at) {
  if (block == nullptr || block->alias == nullptr) return const_cast<char*>(at);
  return at >= block->begin && at < block->begin + block->bytes ? block->alias + (at - block->begin)
                                                                : const_cast<char*>(at);
}

bool CopyFits(Block* block, const void* at, size_t bytes, const char* side) {
  if (block == nullptr) {
    if (!WasFreed(at)) return true;
    Found("memory-used-after-free", std::string("copy with a freed ") + side);
    return false;
  }
  const char* p = static_cast<const char*>(at);
  const char* begin =
      p >= block->begin && p < block->begin + block->bytes ? block->begin : block->alias;
  if (bytes <= block->bytes - static_cast<size_t>(p - begin)) return true;
  Found("copy-past-allocation", std::to_string(bytes) + " bytes with a " + side + " of " +
                                    std::to_string(block->bytes - static_cast<size_t>(p - begin)));
  return false;
}

// ---- what protection caught ----

struct sigaction before_segv, before_bus;

void Say(const char* text) {
  (void)!write(STDERR_FILENO, text, std::strlen(text));
}

void OnFault(int number, siginfo_t* info, void* context) {
  const char* at = static_cast<const char*>(info->si_addr);
  for (const auto& block : Blocks()) {
    const bool in_alias = block->alias != nullptr && block->alias != block->begin &&
                          at >= block->alias - kPage && at < block->alias + block->bytes + kPage;
    if ((at < block->base || at >= block->base + block->mapped) && !in_alias) continue;
    if (!block->alive) {
      Say("fake_gpu: memory-used-after-free: the program or a kernel touched freed memory\n");
    } else if (at < block->pages() || at >= block->pages() + block->page_bytes()) {
      Say("fake_gpu: access-outside-allocation: the page beside an allocation was touched\n");
    } else if (block->device >= 0) {
      Say("fake_gpu: host-touched-device-memory: outside the device's own work\n");
    } else {
      const auto page = static_cast<size_t>(at - block->pages()) / kPage;
      Say(block->writing[page] != 0
              ? "fake_gpu: page-locked-touched-while-written: a copy to it is pending\n"
              : "fake_gpu: page-locked-written-while-read: a copy from it is pending\n");
    }
    _exit(FAKE_GPU_EXIT);
  }
  const struct sigaction& before = number == SIGSEGV ? before_segv : before_bus;
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(number, info, context);
  } else {
    sigaction(number, &before, nullptr);
  }
}

}  // namespace

void InstallFaultHandler() {
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

Code Malloc(size_t bytes, void** out) {
  const int device = CurrentDevice();
  EnsureContext(device);
  uint64_t used = 0;
  for (const auto& block : Blocks())
    used += block->alive && block->device == device ? block->bytes : 0;
  if (bytes > Options().memory || used > Options().memory - bytes) return Code::kOutOfMemory;
  std::unique_ptr<Block> block = Map(bytes, -1);
  if (block == nullptr) return Code::kOutOfMemory;
  block->device = device;
  Fill(block.get(), kPoison);
  *out = block->begin;
  if (Options().hide_memory != 0) mprotect(block->pages(), block->page_bytes(), PROT_NONE);
  Blocks().push_back(std::move(block));
  return Code::kOk;
}

Code Free(void* memory) {
  if (memory == nullptr) {
    EnsureContext(CurrentDevice());
    return Code::kOk;
  }
  Block* block = Find(memory);
  if (block == nullptr || block->device < 0 || block->begin != memory) {
    Found("free-of-unknown-memory", "device memory that is not allocated");
    return Code::kInvalidValue;
  }
  Drain(block->device);  // frees wait for the device
  Retire(block);
  return Code::kOk;
}

// As the kernel sees the thread that allocates.
static void NotePolicy() {
  unsigned long mask[16] = {};
  policy_mode = -1;
#ifdef SYS_get_mempolicy
  if (syscall(SYS_get_mempolicy, &policy_mode, mask, sizeof mask * 8, nullptr, 0) != 0)
    policy_mode = -1;
#endif
  policy_nodes = mask[0];
}

Code HostAlloc(size_t bytes, void** out) {
  NotePolicy();
  EnsureContext(CurrentDevice());
  const int fd = memfd_create("fake_gpu", 0);
  if (fd < 0) return Code::kOutOfMemory;
  const size_t pages = RoundUp(RoundUp(bytes, kAlign), kPage);
  std::unique_ptr<Block> block;
  if (ftruncate(fd, static_cast<off_t>(pages)) == 0) block = Map(bytes, fd);
  if (block == nullptr) {
    close(fd);
    return Code::kOutOfMemory;
  }
  block->alias = block->begin;
  if (kTwoAddresses) {
    void* alias = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (alias == MAP_FAILED) {
      close(fd);
      return Code::kOutOfMemory;
    }
    block->alias = static_cast<char*>(alias) + (block->begin - block->pages());
  }
  close(fd);
  block->reading.resize(pages / kPage);
  block->writing.resize(pages / kPage);
  Fill(block.get(), kPoison);  // the real ones promise no zeros
  *out = block->begin;
  Blocks().push_back(std::move(block));
  return Code::kOk;
}

Code HostFree(void* memory) {
  Block* block = Find(memory);
  if (block == nullptr || block->device >= 0 || block->begin != memory) {
    Found("free-of-unknown-memory", "page-locked memory that is not allocated");
    return Code::kInvalidValue;
  }
  for (int device = 0; device < Options().devices; ++device) Drain(device);
  Retire(block);
  return Code::kOk;
}

Code HostDevicePointer(void* host, void** out) {
  Block* block = Find(host);
  if (block == nullptr || block->device >= 0) return Code::kInvalidValue;
  *out = DeviceAddress(block, static_cast<char*>(host));
  return Code::kOk;
}

Code CopyAsync(void* dst, const void* src, size_t bytes, Stream* stream) {
  const int device = DeviceOf(stream);
  if (device < 0) return Code::kInvalidHandle;
  EnsureContext(device);
  Block *const to = Find(dst), *const from = Find(src);
  if (!CopyFits(to, dst, bytes, "destination") || !CopyFits(from, src, bytes, "source"))
    return Code::kInvalidValue;
  char* const out = DeviceAddress(to, static_cast<char*>(dst));
  if (IsCapturing(stream)) {  // runs any number of times, later
    if (to == nullptr || from == nullptr) {
      BreakCapture(stream, "pageable-copy-in-capture", "a copy of memory that is not page-locked");
      return Code::kCaptureUnsupported;
    }
    const char* const in = DeviceAddress(from, static_cast<const char*>(src));
    return Enqueue(stream, "copy", [=] { Copy(out, in, bytes); });
  }
  if (to == nullptr || from == nullptr) {
    if (Options().no_pageable != 0)
      Found("copy-of-pageable-memory", "an asynchronous copy of memory that is not page-locked");
    if (to == nullptr) {  // such a copy to the host returns when it has ended
      const char* const in = DeviceAddress(from, static_cast<const char*>(src));
      const Code code = Enqueue(stream, "copy", [=] { Copy(out, in, bytes); });
      return code == Code::kOk ? StreamSynchronize(stream) : code;
    }
    // And one from the host when the source is no longer needed.
    auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(src),
                                                      static_cast<const char*>(src) + bytes);
    return Enqueue(stream, "copy", [=] { Copy(out, staged->data(), bytes); });
  }
  const char* const in = DeviceAddress(from, static_cast<const char*>(src));
  auto reading = std::make_shared<Held>(from, static_cast<const char*>(src), bytes, false);
  auto writing = std::make_shared<Held>(to, static_cast<char*>(dst), bytes, true);
  const bool from_host = from->device < 0 && to->device >= 0;
  const uint64_t hash = from_host ? Hash(in, bytes) : 0;
  return Enqueue(stream, "copy", [=]() mutable {
    // Changed at once after it was queued: what arrives depends on when.
    if (from_host && Hash(in, bytes) != hash)
      Found("source-changed-while-pending", "the source of a copy was written before it ran");
    Copy(out, in, bytes);
    reading.reset();
    writing.reset();
  });
}

bool DeviceMayTouch(const void* at, size_t bytes, int device, const char* what) {
  Block* block = Find(at);
  const char* p = static_cast<const char*>(at);
  if (block == nullptr) {
    Found(WasFreed(at) ? "memory-used-after-free" : "address-unknown-to-device", what);
    return false;
  }
  const char* begin = block->device < 0 ? block->alias : block->begin;
  if (p < begin || (block->device >= 0 && block->device != device)) {
    Found("address-unknown-to-device", std::string(what) + " of the host or another device");
    return false;
  }
  if (static_cast<size_t>(p - begin) + bytes <= block->bytes) return true;
  Found("access-outside-allocation", std::string(what) + " past the end of its allocation");
  return false;
}

void ShowDeviceMemory(bool show) {
  if (Options().hide_memory == 0) return;
  for (const auto& block : Blocks()) {
    if (block->alive && block->device >= 0)
      mprotect(block->pages(), block->page_bytes(), show ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

void CheckLeftMemory() {
  for (const auto& block : Blocks()) {
    if (!block->alive) continue;
    Found(block->device < 0 ? "page-locked-memory-left" : "device-memory-left",
          std::to_string(block->bytes) + " bytes were not freed");
    CheckCanaries(*block);
  }
}

void ForgetMemory() {
  for (const auto& block : Blocks()) {
    munmap(block->base, block->mapped);
    if (block->alias != nullptr && block->alias != block->begin)
      munmap(block->alias - (block->begin - block->pages()), block->page_bytes());
  }
  Blocks().clear();
  policy_mode = -1;
}

}  // namespace fake_gpu

extern "C" void fake_gpu_host_policy(int32_t* mode, uint64_t* nodes) {
  *mode = fake_gpu::policy_mode;
  *nodes = fake_gpu::policy_nodes;
}
