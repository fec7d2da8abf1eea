// SPDX-License-Identifier: MIT
// numa.cc: see numa.h. The numbers are those of linux/mempolicy.h, whose header is not part of what
// a compiler brings.
#include "numa.h"

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cstring>

namespace rankfeed::handoff {
namespace {

[[maybe_unused]] constexpr int kPreferred = 1;  // MPOL_PREFERRED: another node where this one is full
const char* sysfs_root = nullptr;

// Appends; false when it does not fit.
template <size_t kCapacity>
class Path {
 public:
  bool Add(const char* text, size_t size) {
    if (size >= kCapacity - size_) return false;
    std::memcpy(text_ + size_, text, size);
    size_ += size;
    return true;
  }
  bool Add(const char* text) { return Add(text, std::strlen(text)); }
  const char* text() const { return text_; }

 private:
  char text_[kCapacity] = {};
  size_t size_ = 0;
};

// A number of up to six digits, perhaps negative, and a line's end. Anything else is unknown.
[[maybe_unused]] int32_t Number(const char* text, size_t size) {
  int32_t value = 0;
  size_t digits = 0;
  for (; digits < size && text[digits] >= '0' && text[digits] <= '9' && digits < 6; ++digits) {
    value = value * 10 + (text[digits] - '0');
  }
  return digits == 0 || (digits < size && text[digits] != '\n') ? kUnknownNode : value;
}

}  // namespace

void SetSysfsRoot(const char* root) {
  sysfs_root = root;
}

int32_t NodeOfPciDevice(const char* bus_id) {
  Path<512> path;
  bool fits = path.Add(sysfs_root != nullptr ? sysfs_root : "/sys");
  fits = fits && path.Add("/bus/pci/devices/");
  const size_t size = std::strlen(bus_id);
  for (size_t i = 0; i < size; ++i) {
    char c = bus_id[i];
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' ||
                      (c == '.' && i != 0 && bus_id[i - 1] != '.');
    fits = fits && part && path.Add(&c, 1);
  }
  if (!fits || size == 0 || !path.Add("/numa_node")) return kUnknownNode;
#ifdef _WIN32
  return kUnknownNode;
#else
  const int fd = open(path.text(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kUnknownNode;
  char text[16];
  const ssize_t got = read(fd, text, sizeof text);
  close(fd);
  return got <= 0 ? kUnknownNode : Number(text, static_cast<size_t>(got));
#endif
}

#ifdef __linux__

int32_t NodeOfMemory(const void* memory, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  uintptr_t at = begin - begin % page;
  int32_t node = kUnknownNode;
  constexpr size_t kPages = 512;  // asked about at once
  void* pages[kPages];
  int status[kPages];
  while (at < begin + bytes) {
    size_t count = 0;
    for (; count < kPages && at < begin + bytes; at += page) {
      pages[count++] = reinterpret_cast<void*>(at);
    }
    std::fill_n(status, count, -1);
    // The call says where pages are if it gets no nodes to move them to.
    if (syscall(SYS_move_pages, 0, count, pages, nullptr, status, 0) != 0) return kUnknownNode;
    for (size_t i = 0; i < count; ++i) {
      if (status[i] < 0) return kUnknownNode;
      if (node == kUnknownNode) node = status[i];
      if (status[i] != node) return kSeveralNodes;
    }
  }
  return node;
}

PreferNode::PreferNode(int32_t node) {
  constexpr unsigned long kBits = sizeof(unsigned long) * 8;
  if (node < 0 || static_cast<size_t>(node) >= kWords * kBits) return;
  if (syscall(SYS_get_mempolicy, &mode_, mask_, kWords * kBits, nullptr, 0) != 0) return;
  unsigned long wanted[kWords] = {};
  wanted[static_cast<size_t>(node) / kBits] = 1ul << (static_cast<size_t>(node) % kBits);
  // One bit more than there are: the kernel takes the number as one too many.
  changed_ = syscall(SYS_set_mempolicy, kPreferred, wanted, kWords * kBits + 1) == 0;
}

PreferNode::~PreferNode() {
  constexpr unsigned long kBits = sizeof(unsigned long) * 8;
  if (changed_) (void)syscall(SYS_set_mempolicy, mode_, mask_, kWords * kBits + 1);
}

#else

int32_t NodeOfMemory(const void*, size_t) {
  return kUnknownNode;
}
PreferNode::PreferNode(int32_t) {}
PreferNode::~PreferNode() {}

#endif

}  // namespace rankfeed::handoff
