// SPDX-License-Identifier: MIT
// numa.h: which node of the machine's memory is a device's, and on which node memory lies. By
// system calls and sysfs: no library is needed. Where the machine, a container's filter or the
// platform does not say, the answer is that it is unknown, without a call of the kernel.
#ifndef RANKFEED_GPU_HANDOFF_NUMA_H_
#define RANKFEED_GPU_HANDOFF_NUMA_H_

#include <cstddef>
#include <cstdint>

namespace rankfeed::handoff {

inline constexpr int32_t kUnknownNode = -1;   // RANKFEED_NUMA_UNKNOWN
inline constexpr int32_t kSeveralNodes = -2;  // RANKFEED_NUMA_SEVERAL

// The node of the device with this PCI bus id, as the vendors' runtimes write it ("0000:AF:00.0"):
// sysfs' numa_node, or kUnknownNode.
int32_t NodeOfPciDevice(const char* bus_id);

// The node that all pages of [memory, memory + bytes) lie on; kSeveralNodes; or kUnknownNode, also
// where a page has not been touched. O(pages).
int32_t NodeOfMemory(const void* memory, size_t bytes);

// While one of these lives, what the calling thread makes the kernel allocate comes from the node
// where it has room; afterwards the thread's policy is what it was. Does nothing for an unknown
// node, nor where the thread's policy cannot be read or set.
class PreferNode {
 public:
  explicit PreferNode(int32_t node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  static constexpr size_t kWords = 16;  // 1024 nodes: the most that Linux can be built for
  [[maybe_unused]] int mode_ = 0;       // of before; elsewhere than on Linux there is none
  [[maybe_unused]] bool changed_ = false;
  [[maybe_unused]] unsigned long mask_[kWords] = {};
};

// For tests: where sysfs is; null: /sys. Borrowed. Not while another thread opens a ring.
void SetSysfsRoot(const char* root);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_NUMA_H_
