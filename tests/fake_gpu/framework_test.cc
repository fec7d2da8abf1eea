// SPDX-License-Identifier: MIT
// What frameworks take from a ring, over the fake runtimes: device memory by the stream rules of
// DLPack, slots that come back after the consumer's streams, and page-locked memory on the
// device's node.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "fake_gpu/fake.h"
#include "fake_gpu/thread_sanitizer.h"
#include "numa.h"
#include "rankfeed/handoff.hpp"

namespace rankfeed::handoff {
namespace {

constexpr uint64_t kBytes = 8192;
constexpr uint64_t kSoon = 10'000'000'000;  // nanoseconds

class FrameworkTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const fake_gpu_options options = FakeOptions(2);
    fake_gpu_reset(&options);
    backend_ = FakeBackend(GetParam());
    ASSERT_NE(backend_, nullptr);
    ASSERT_EQ(backend_->device_open(backend_->self, 1, &ctx_), 0);
    ASSERT_EQ(backend_->page_lock(ctx_, kBytes, 0, &back_), 0);
    ASSERT_EQ(backend_->stream_create(ctx_, &consumer_), 0);
  }
  void TearDown() override {
    if (ctx_ == nullptr) return;
    backend_->stream_destroy(ctx_, consumer_);
    backend_->page_unlock(ctx_, &back_);
    backend_->device_close(ctx_);
    EXPECT_EQ(Found(), "");
  }
  bool Cuda() const { return GetParam() == "cuda"; }
  // Of the second device, with as many slots.
  Handoff Open(uint32_t slots = 1) {
    rankfeed_handoff_options options{};
    options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
    options.slot_bytes = kBytes;
    options.slots = slots;
    options.device = 1;
    options.backend = backend_;
    auto ring = Handoff::Open(options);
    EXPECT_TRUE(ring) << ring.error().message;
    return std::move(*ring);
  }
  // A slot with a byte in all places, submitted; held: no device goes on from there.
  static LeasedSlot Send(Handoff& ring, const HandoffStream& copies, char byte, uint32_t flags = 0,
                         bool held = false) {
    auto slot = ring.WaitAcquire(kSoon);
    EXPECT_TRUE(slot) << slot.error().message;
    std::memset(slot->bytes().data(), byte, kBytes);
    fake_gpu_hold(held ? 1 : 0);
    auto lease = slot->Submit(kBytes, copies.get(), flags);
    EXPECT_TRUE(lease) << lease.error().message;
    return std::move(*lease);
  }
  static LeasedSlot SendHeld(Handoff& ring, const HandoffStream& copies, char byte) {
    return Send(ring, copies, byte, 0, true);
  }
  static rankfeed_dl_tensor Describe(Handoff& ring, const LeasedSlot& lease) {
    rankfeed_dl_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    EXPECT_EQ(rankfeed_handoff_dl_tensor(ring.get(), lease.ticket(), RANKFEED_HANDOFF_DL_SUBMITTED,
                                         &tensor),
              RANKFEED_OK);
    return tensor;
  }
  // What a framework does with a tensor: work of its own on its own stream.
  void Read(const void* data, void* stream) {
    ASSERT_EQ(backend_->copy_async(ctx_, back_.host, data, kBytes, stream), 0);
  }
  bool ReadWas(char byte) const {
    const auto* at = static_cast<const char*>(back_.host);
    return std::all_of(at, at + kBytes, [byte](char c) { return c == byte; });
  }

  const rankfeed_gpu_backend* backend_ = nullptr;
  void *ctx_ = nullptr, *consumer_ = nullptr;
  rankfeed_gpu_host_block back_{};
};

TEST_P(FrameworkTest, DeviceAndMappedMemoryAreOfTheDevice) {
  Handoff ring = Open(2);
  auto copies = std::move(*ring.MakeStream());
  for (const uint32_t flags : {0u, uint32_t{RANKFEED_HANDOFF_MAPPED}}) {
    LeasedSlot lease = Send(ring, copies, 'm', flags);
    const rankfeed_dl_tensor tensor = Describe(ring, lease);
    EXPECT_EQ(tensor.device_type, Cuda() ? RANKFEED_DL_CUDA : RANKFEED_DL_ROCM);
    EXPECT_EQ(tensor.device_id, 1);
    EXPECT_EQ(tensor.data, lease.data());
    EXPECT_EQ(tensor.data_bytes, kBytes);
    ASSERT_FALSE(lease.DlWait(static_cast<int64_t>(reinterpret_cast<uintptr_t>(consumer_))));
    Read(tensor.data, consumer_);
    ASSERT_EQ(backend_->stream_synchronize(ctx_, consumer_), 0);
    EXPECT_TRUE(ReadWas('m')) << flags;
  }
}

// The numbers of the array API: which there are, and whose stream waits. While the devices are
// held, a producer that blocked the host would make them go on.
TEST_P(FrameworkTest, ConsumersStreamWaitsAndTheHostDoesNot) {
  const auto own = static_cast<int64_t>(reinterpret_cast<uintptr_t>(consumer_));
  const std::vector<int64_t> allowed =
      Cuda() ? std::vector<int64_t>{-2, 1, 2, own} : std::vector<int64_t>{-2, 0, own};
  const std::vector<int64_t> refused =
      Cuda() ? std::vector<int64_t>{-3, 0} : std::vector<int64_t>{-3, 1, 2};
  Handoff ring = Open();
  auto copies = std::move(*ring.MakeStream());
  char byte = 'a';
  for (const int64_t number : allowed) {
    LeasedSlot lease = SendHeld(ring, copies, ++byte);
    for (const int64_t bad : refused) {
      EXPECT_EQ(lease.DlWait(bad).status, RANKFEED_E_ARGUMENT) << bad;
    }
    const uint64_t waits = fake_gpu_calls("StreamWaitEvent"),
                   blocking = fake_gpu_calls("StreamSynchronize");
    ASSERT_FALSE(lease.DlWait(number)) << number;
    EXPECT_EQ(fake_gpu_calls("StreamWaitEvent"), waits + 1);
    EXPECT_EQ(fake_gpu_calls("StreamSynchronize"), blocking);
    EXPECT_EQ(ring.Poll(lease.ticket()), RANKFEED_E_BUSY) << "the host waited for the copy";
    // CUDA's numbers 1 and 2 are handles; of ROCm's streams the default one is null.
    const int64_t unsaid = Cuda() ? 1 : 0;
    void* const stream = reinterpret_cast<void*>(
        static_cast<uintptr_t>(number == RANKFEED_DL_STREAM_NOT_SAID ? unsaid : number));
    Read(Describe(ring, lease).data, stream);
    // Let alone, it gets no further than the wait: had it not waited, it would have read poison.
    if (number > 2) fake_gpu_run(stream, 10);
    fake_gpu_hold(0);
    ASSERT_EQ(backend_->stream_synchronize(ctx_, stream), 0);
    EXPECT_TRUE(ReadWas(byte)) << number;
  }
}

TEST_P(FrameworkTest, ConsumerThatWantsNoOrderGetsNone) {
  Handoff ring = Open();
  auto copies = std::move(*ring.MakeStream());
  LeasedSlot lease = SendHeld(ring, copies, 'n');
  const uint64_t waits = fake_gpu_calls("StreamWaitEvent");
  ASSERT_FALSE(lease.DlWait(RANKFEED_DL_STREAM_NO_WAIT));
  EXPECT_EQ(fake_gpu_calls("StreamWaitEvent"), waits);
  fake_gpu_hold(0);
  {
    auto filling = ring.Acquire();  // none is free
    EXPECT_EQ(filling.error().status, RANKFEED_E_BUSY);
  }
}

// The stream that __dlpack__ was told is one of those that the slot comes back after.
TEST_P(FrameworkTest, SlotComesBackAfterTheStreamThatDlpackWasTold) {
  Handoff ring = Open();
  auto copies = std::move(*ring.MakeStream());
  {
    LeasedSlot lease = Send(ring, copies, '1');
    ASSERT_FALSE(lease.DlWait(static_cast<int64_t>(reinterpret_cast<uintptr_t>(consumer_))));
    ASSERT_FALSE(copies.Synchronize());
    fake_gpu_hold(1);
    Read(Describe(ring, lease).data, consumer_);
  }
  fake_gpu_run(copies.get(), 10);  // everybody but the consumer has done what there was to do
  fake_gpu_run(nullptr, 10);
  EXPECT_EQ(ring.Acquire().error().status, RANKFEED_E_BUSY);
  fake_gpu_hold(0);
  Send(ring, copies, '2');
  ASSERT_EQ(backend_->stream_synchronize(ctx_, consumer_), 0);
  EXPECT_TRUE(ReadWas('1'));
}

// A framework copies page-locked memory itself, and the slot is dropped before the copy has run.
TEST_P(FrameworkTest, PageLockedSlotComesBackAfterTheStreamsThatWereRecorded) {
  for (const bool recorded : {true, false}) {
    Handoff ring = Open();
    auto memory = std::move(*ring.Allocate(kBytes));
    fake_gpu_hold(1);
    {
      auto slot = ring.Acquire();
      ASSERT_TRUE(slot);
      std::memset(slot->bytes().data(), '1', kBytes);
      if (recorded) {
        ASSERT_FALSE(slot->RecordStream(consumer_));
      }
      ASSERT_EQ(backend_->copy_async(ctx_, memory.get(), slot->bytes().data(), kBytes, consumer_),
                0);
    }
    if (recorded) {
      EXPECT_EQ(ring.Acquire().error().status, RANKFEED_E_BUSY);
    }
#ifndef RANKFEED_FAKE_GPU_TSAN  // it sees the same as a race, and ends
    if (!recorded) {
      // What the lease prevents: the slot is free, and the store below hits memory that is being
      // copied.
      EXPECT_EXIT(
          {
            auto next = ring.Acquire();
            if (next) std::memset(next->bytes().data(), '2', kBytes);
          },
          testing::ExitedWithCode(FAKE_GPU_EXIT), "page-locked-written-while-read");
    }
#endif
    fake_gpu_hold(0);
    auto next = ring.WaitAcquire(kSoon);
    ASSERT_TRUE(next);
    ASSERT_EQ(backend_->stream_synchronize(ctx_, consumer_), 0);
    Read(memory.get(), consumer_);
    ASSERT_EQ(backend_->stream_synchronize(ctx_, consumer_), 0);
    EXPECT_TRUE(ReadWas('1'));
  }
}

// ---- page-locked memory near the device ----

class NumaTest : public FrameworkTest {
 protected:
  void SetUp() override {
    FrameworkTest::SetUp();
    std::string name = std::filesystem::temp_directory_path() / "rankfeed_sysfs_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    SetSysfsRoot(root_.c_str());
  }
  void TearDown() override {
    SetSysfsRoot(nullptr);
    std::filesystem::remove_all(root_);
    FrameworkTest::TearDown();
  }
  // The fake runtime's second device is 0000:A1:00.0.
  void Say(const std::string& node) {
    const std::filesystem::path folder =
        root_ / std::filesystem::path("bus/pci/devices/0000:a1:00.0");
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "numa_node") << node;
  }
  struct Outcome {
    int32_t device_node, node, mode;
    uint64_t nodes;
  };
  Outcome Ring() {
    Handoff ring = Open();
    const rankfeed_handoff_info info = ring.info();
    Outcome out{info.device_numa_node, info.numa_node, 0, 0};
    fake_gpu_host_policy(&out.mode, &out.nodes);
    return out;
  }

  std::filesystem::path root_;
};

TEST_P(NumaTest, SlotsAreAllocatedOnTheNodeOfTheDevice) {
  int page = 0;
  const int32_t here = NodeOfMemory(&page, sizeof page);
  if (here != 0)
    GTEST_SKIP() << "the kernel says no nodes, or this thread's memory is not on node 0";
  Say("0\n");
  const Outcome near = Ring();
  EXPECT_EQ(near.device_node, 0);
  EXPECT_EQ(near.node, 0);
  EXPECT_EQ(near.mode, 1) << "MPOL_PREFERRED while the memory is allocated";
  EXPECT_EQ(near.nodes, 1u);
  // The thread's policy is what it was: without a node nothing is asked for.
  Say("-1\n");
  const Outcome unknown = Ring();
  EXPECT_EQ(unknown.mode, 0);
  EXPECT_EQ(unknown.nodes, 0u);
}

TEST_P(NumaTest, NodeThatNobodySaysIsUnknownAndNotZero) {
  EXPECT_EQ(Ring().device_node, RANKFEED_NUMA_UNKNOWN);  // no such file
  for (const char* text : {"-1\n", "", "\n", "x\n", "0x1\n", "1 2\n", "12345678\n"}) {
    Say(text);
    const Outcome out = Ring();
    EXPECT_EQ(out.device_node, RANKFEED_NUMA_UNKNOWN) << text;
    EXPECT_LE(out.mode, 0) << text;
  }
  Say("0\n");
  fake_gpu_fail("DeviceGetPCIBusId", 0, 999);
  EXPECT_EQ(Ring().device_node, RANKFEED_NUMA_UNKNOWN);
  fake_gpu_fail(nullptr, 0, 0);
  EXPECT_EQ(Ring().device_node, 0);
}

// A node that this machine does not have is reported as the device's, and the memory is where it
// is.
TEST_P(NumaTest, NodeThatCannotBeHadIsNotReported) {
  Say("1000\n");
  const Outcome out = Ring();
  EXPECT_EQ(out.device_node, 1000);
  EXPECT_NE(out.node, 1000);
  Say("99999\n");
  EXPECT_EQ(Ring().device_node, 99999);
}

TEST(Numa, BusIdsThatAreNoneReadNoFile) {
  SetSysfsRoot("/");
  for (const char* id : {"", "..", "../../x", "0000:a1:00.0/..", "a b", "g"}) {
    EXPECT_EQ(NodeOfPciDevice(id), kUnknownNode) << id;
  }
  EXPECT_EQ(NodeOfPciDevice(std::string(5000, '0').c_str()), kUnknownNode);
  SetSysfsRoot(nullptr);
}

INSTANTIATE_TEST_SUITE_P(Vendors, FrameworkTest, testing::ValuesIn(FakeVendors()),
                         [](const auto& vendor) { return vendor.param; });
INSTANTIATE_TEST_SUITE_P(Vendors, NumaTest, testing::ValuesIn(FakeVendors()),
                         [](const auto& vendor) { return vendor.param; });

}  // namespace
}  // namespace rankfeed::handoff
