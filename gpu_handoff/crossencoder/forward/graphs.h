// SPDX-License-Identifier: MIT
// crossencoder/forward/graphs.h: the forward of small batches as graphs of a device: what its
// layers launch is recorded once and then queued with one call, where a launch for each kernel
// would keep the device waiting for the host. Over backends that have graphs (backend.h).
//
//   positions, embed | projection, all layers, first tokens, dense of the head | logits
//     each launched  |                       one graph                         | launched
//
// A graph knows addresses and sizes by heart. What lies outside reads and writes the caller's
// memory, which changes from batch to batch; inside there is the workspace alone. A graph is of a
// workspace and a bucket: rows and tokens rounded up, whatever the rows' lengths. Rows after the
// batch's last are empty ones, and what the layers make of tokens after its last is read by
// nobody.
//
// The first batch of a bucket runs without, so that the vendor's library has its plans and loads
// its kernels; the second is recorded; from the third on nothing is allocated. Where recording
// fails, or all graphs are in use, the batch runs without as well.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_FORWARD_GRAPHS_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_FORWARD_GRAPHS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "backend.h"
#include "crossencoder/forward/forward.h"

namespace rankfeed::handoff {

// A batch's sizes as its graph has them.
struct Bucket {
  uint32_t rows, tokens;
  bool operator==(const Bucket&) const = default;
};
// tokens is not 0. Monotonic in each.
Bucket BucketOf(uint32_t rows, uint32_t tokens);

// Any thread; locks nothing. A thread that finds another at the same graph, or recording, does
// without.
class GraphCache {
 public:
  static constexpr uint32_t kGraphs = 64;
  struct Counts {
    uint32_t graphs;              // there are now
    uint64_t launches, failures;  // of graphs; recordings and launches that failed
  };

  GraphCache() = default;
  ~GraphCache() { Close(); }
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;
  // Backends without graphs leave it closed: 0. Else the error of making a stream.
  int32_t Open(const rankfeed_gpu_backend* backend, void* ctx, uint32_t most_tokens);
  // All launches have completed.
  void Close();

  // Batches may be graphs: their workspace is that of their bucket.
  bool on() const { return stream_ != nullptr; }
  bool Takes(const rankfeed_packed_batch& batch) const {
    return on() && batch.tokens != 0 && batch.tokens <= most_tokens_;
  }
  // True: the layers of the batch, whose ids and cu_seqlens are in the workspace, were queued as a
  // graph. False: nothing of them was. plan is that of the batch's bucket.
  bool RunLayers(const rankfeed_gpu_ops& ops, const DeviceModel& model,
                 const rankfeed_packed_batch& batch, const WorkspacePlan& plan, void* workspace,
                 void* stream) noexcept;
  Counts counts() const;

 private:
  struct Key {
    Bucket bucket;
    const void* workspace;
    bool operator==(const Key&) const = default;
  };
  // Taken: a thread has it, and it alone looks at what is below.
  enum State : uint32_t { kEmpty, kTaken, kSeen, kReady, kRefused };
  struct Entry {
    std::atomic<uint32_t> state{kEmpty};
    std::atomic<uint64_t> tag{0};   // of the key; of two with the same the key decides
    std::atomic<uint64_t> used{0};  // when, in calls
    Key key{};
    void* graph = nullptr;
    void* done = nullptr;  // event after its last launch
    bool lost = false;     // when its last launch is over cannot be known: never destroyed
  };
  struct Call;

  Entry* Find(const Key& key, uint64_t tag, State* was);
  void Claim(const Key& key, uint64_t tag);
  bool Record(const Call& call, Entry* entry);
  bool Launch(const Call& call, Entry* entry);
  bool Failed();

  const rankfeed_gpu_backend* backend_ = nullptr;
  void* ctx_ = nullptr;
  void* stream_ = nullptr;  // on which graphs are recorded, and nothing runs
  uint32_t most_tokens_ = 0;
  std::atomic<bool> recording_{false};
  std::atomic<uint64_t> calls_{0}, launches_{0}, failures_{0};
  std::atomic<uint32_t> graphs_{0};
  std::array<Entry, kGraphs> entries_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_FORWARD_GRAPHS_H_
