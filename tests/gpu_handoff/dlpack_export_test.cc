// SPDX-License-Identifier: MIT
#include "dlpack_export.h"

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "support.h"

namespace rankfeed::handoff {
namespace {

alignas(256) unsigned char g_memory[4096];

rankfeed_dl_tensor Tensor(uint32_t dtype, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>* strides = nullptr) {
  rankfeed_dl_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = dtype;
  tensor.rank = static_cast<uint32_t>(shape.size());
  tensor.device_type = RANKFEED_DL_CPU;
  tensor.shape = shape.data();
  tensor.strides = strides ? strides->data() : nullptr;
  tensor.data = g_memory;
  tensor.data_bytes = sizeof g_memory;
  return tensor;
}

void Increment(void* context) {
  ++*static_cast<int*>(context);
}

TEST(DlpackExport, VersionedTensorSaysEverything) {
  int released = 0;
  std::vector<int64_t> shape{4, 3, 5};
  auto tensor = Tensor(RANKFEED_DL_INT64, shape);
  tensor.byte_offset = 512;
  tensor.flags = RANKFEED_DL_READ_ONLY | RANKFEED_DL_COPIED;
  tensor.release = &Increment;
  tensor.release_context = &released;
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(rankfeed_dlpack_export(&tensor, &managed), RANKFEED_OK);
  shape.assign(3, -1);  // copied, not borrowed
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->version.minor, 1u);
  EXPECT_EQ(managed->flags, 3u);  // bits 0 and 1 of the standard
  const DLTensor& dl = managed->dl_tensor;
  EXPECT_EQ(dl.data, g_memory);
  EXPECT_EQ(dl.byte_offset, 512u);
  EXPECT_EQ(dl.device.device_type, 1);
  EXPECT_EQ(dl.device.device_id, 0);
  ASSERT_EQ(dl.ndim, 3);
  EXPECT_EQ(dl.dtype.code, 0);
  EXPECT_EQ(dl.dtype.bits, 64);
  EXPECT_EQ(dl.dtype.lanes, 1);
  EXPECT_EQ(std::vector<int64_t>(dl.shape, dl.shape + 3), (std::vector<int64_t>{4, 3, 5}));
  EXPECT_EQ(std::vector<int64_t>(dl.strides, dl.strides + 3), (std::vector<int64_t>{15, 5, 1}));
  EXPECT_EQ(released, 0);
  managed->deleter(managed);
  EXPECT_EQ(released, 1);
}

TEST(DlpackExport, LegacyTensorSaysTheSame) {
  int released = 0;
  const std::vector<int64_t> shape{2, 6}, strides{8, 1};  // rows padded to 8
  auto tensor = Tensor(RANKFEED_DL_INT32, shape, &strides);
  tensor.release = &Increment;
  tensor.release_context = &released;
  DLManagedTensor* managed = nullptr;
  ASSERT_EQ(rankfeed_dlpack_export_legacy(&tensor, &managed), RANKFEED_OK);
  EXPECT_EQ(managed->dl_tensor.ndim, 2);
  EXPECT_EQ(managed->dl_tensor.strides[0], 8);
  EXPECT_EQ(managed->dl_tensor.strides[1], 1);
  EXPECT_EQ(managed->dl_tensor.shape[1], 6);
  EXPECT_EQ(managed->dl_tensor.dtype.bits, 32);
  managed->deleter(managed);
  EXPECT_EQ(released, 1);

  tensor.flags = RANKFEED_DL_READ_ONLY;  // what that struct cannot say
  EXPECT_EQ(rankfeed_dlpack_export_legacy(&tensor, &managed), RANKFEED_E_UNSUPPORTED);
  EXPECT_EQ(managed, nullptr);
  EXPECT_EQ(released, 1);
}

TEST(DlpackExport, DataTypes) {
  const std::vector<int64_t> shape{2};
  const struct {
    uint32_t dtype;
    uint8_t code, bits;
  } cases[] = {{RANKFEED_DL_INT32, 0, 32},
               {RANKFEED_DL_INT64, 0, 64},
               {RANKFEED_DL_UINT32, 1, 32},
               {RANKFEED_DL_UINT8, 1, 8}};
  for (const auto& c : cases) {
    auto tensor = Tensor(c.dtype, shape);
    DLManagedTensorVersioned* managed = nullptr;
    ASSERT_EQ(rankfeed_dlpack_export(&tensor, &managed), RANKFEED_OK);
    EXPECT_EQ(managed->dl_tensor.dtype.code, c.code);
    EXPECT_EQ(managed->dl_tensor.dtype.bits, c.bits);
    managed->deleter(managed);
  }
  for (const uint32_t bad : {0u, 5u, UINT32_MAX}) {
    auto tensor = Tensor(bad, shape);
    DLManagedTensorVersioned* managed = nullptr;
    EXPECT_EQ(rankfeed_dlpack_export(&tensor, &managed), RANKFEED_E_ARGUMENT);
  }
}

TEST(DlpackExport, ScalarsAndEmptyTensors) {
  auto scalar = Tensor(RANKFEED_DL_INT32, {});
  scalar.shape = nullptr;
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(rankfeed_dlpack_export(&scalar, &managed), RANKFEED_OK);
  EXPECT_EQ(managed->dl_tensor.ndim, 0);
  EXPECT_EQ(managed->dl_tensor.data, g_memory);
  managed->deleter(managed);
  scalar.data_bytes = 3;
  EXPECT_EQ(rankfeed_dlpack_export(&scalar, &managed), RANKFEED_E_LIMIT);

  const std::vector<int64_t> shape{3, 0, 2};
  auto empty = Tensor(RANKFEED_DL_INT32, shape);
  empty.byte_offset = 64;
  ASSERT_EQ(rankfeed_dlpack_export(&empty, &managed), RANKFEED_OK);
  EXPECT_EQ(managed->dl_tensor.data, nullptr);
  EXPECT_EQ(managed->dl_tensor.byte_offset, 0u);
  EXPECT_NE(managed->dl_tensor.strides, nullptr);
  managed->deleter(managed);
  empty.data = nullptr;
  empty.data_bytes = 0;
  ASSERT_EQ(rankfeed_dlpack_export(&empty, &managed), RANKFEED_OK);
  managed->deleter(managed);
}

TEST(DlpackExport, NoElementMayLieOutsideItsMemory) {
  const std::vector<int64_t> shape{8, 16};  // 512 bytes of int32
  DLManagedTensorVersioned* managed = nullptr;
  auto tensor = Tensor(RANKFEED_DL_INT32, shape);
  const auto status = [&] {
    const rankfeed_status result = rankfeed_dlpack_export(&tensor, &managed);
    if (result == RANKFEED_OK) managed->deleter(managed);
    return result;
  };
  tensor.data_bytes = 512;
  EXPECT_EQ(status(), RANKFEED_OK);
  tensor.data_bytes = 511;
  EXPECT_EQ(status(), RANKFEED_E_LIMIT);
  tensor.data_bytes = 516;
  tensor.byte_offset = 4;
  EXPECT_EQ(status(), RANKFEED_OK);
  tensor.byte_offset = 8;
  EXPECT_EQ(status(), RANKFEED_E_LIMIT);
  tensor.byte_offset = UINT64_MAX - 3;
  EXPECT_EQ(status(), RANKFEED_E_LIMIT);
  tensor.byte_offset = 0;

  const std::vector<int64_t> strides{20, 1};  // last element 7 * 20 + 15 = 155
  tensor.strides = strides.data();
  tensor.data_bytes = 156 * 4;
  EXPECT_EQ(status(), RANKFEED_OK);
  tensor.data_bytes = 156 * 4 - 1;
  EXPECT_EQ(status(), RANKFEED_E_LIMIT);
  const std::vector<int64_t> broadcast{0, 1};
  tensor.strides = broadcast.data();
  tensor.data_bytes = 64;
  EXPECT_EQ(status(), RANKFEED_OK);

  tensor.data_bytes = UINT64_MAX;
  const std::vector<int64_t> huge{INT64_MAX, INT64_MAX};
  tensor.strides = huge.data();
  EXPECT_EQ(status(), RANKFEED_E_LIMIT);
  tensor.strides = nullptr;
  tensor.shape = huge.data();
  EXPECT_EQ(status(), RANKFEED_E_LIMIT);
}

TEST(DlpackExport, RefusesWhatItCannotExport) {
  const std::vector<int64_t> shape{2, 2}, nine(9, 1), negative{2, -1};
  int released = 0;
  const auto refused = [&](const std::function<void(rankfeed_dl_tensor&)>& change) {
    auto tensor = Tensor(RANKFEED_DL_INT64, shape);
    tensor.release = &Increment;
    tensor.release_context = &released;
    change(tensor);
    auto* versioned = reinterpret_cast<DLManagedTensorVersioned*>(g_memory);
    auto* legacy = reinterpret_cast<DLManagedTensor*>(g_memory);
    const rankfeed_status status = rankfeed_dlpack_export(&tensor, &versioned);
    EXPECT_EQ(rankfeed_dlpack_export_legacy(&tensor, &legacy), status);
    EXPECT_EQ(versioned, nullptr);
    EXPECT_EQ(legacy, nullptr);
    return status;
  };
  EXPECT_EQ(refused([](auto& t) { t.struct_size = 1; }), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(refused([&](auto& t) { t.rank = 9, t.shape = nine.data(); }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.shape = nullptr; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([&](auto& t) { t.shape = negative.data(); }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([&](auto& t) { t.strides = negative.data(); }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.data = nullptr; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.flags = 4; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.device_type = 7; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.device_id = 1; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.device_type = RANKFEED_DL_CUDA_HOST, t.device_id = 1; }),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.device_type = RANKFEED_DL_CUDA, t.device_id = -1; }),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(refused([](auto& t) { t.byte_offset = 4; }), RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(released, 0);
  auto tensor = Tensor(RANKFEED_DL_INT64, shape);
  DLManagedTensorVersioned* managed = nullptr;
  EXPECT_EQ(rankfeed_dlpack_export(nullptr, &managed), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_dlpack_export(&tensor, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_dlpack_export_legacy(nullptr, nullptr), RANKFEED_E_ARGUMENT);
}

TEST(DlpackExport, AFailedAllocationIsReported) {
  const std::vector<int64_t> shape{2};
  const auto tensor = Tensor(RANKFEED_DL_INT32, shape);
  const DlpackAllocate none = [](size_t) -> void* { return nullptr; };
  DLManagedTensorVersioned* versioned = nullptr;
  DLManagedTensor* legacy = nullptr;
  EXPECT_EQ(ExportVersioned(tensor, none, &versioned), RANKFEED_E_NO_MEMORY);
  EXPECT_EQ(ExportLegacy(tensor, none, &legacy), RANKFEED_E_NO_MEMORY);
  EXPECT_EQ(versioned, nullptr);
  EXPECT_EQ(legacy, nullptr);
}

TEST(DlpackExport, DevicesAndTheirNumbers) {
  const std::vector<int64_t> shape{2};
  for (const int32_t type : {RANKFEED_DL_CUDA, RANKFEED_DL_ROCM}) {
    auto tensor = Tensor(RANKFEED_DL_INT32, shape);
    tensor.device_type = type;
    tensor.device_id = 3;
    DLManagedTensorVersioned* managed = nullptr;
    ASSERT_EQ(rankfeed_dlpack_export(&tensor, &managed), RANKFEED_OK);
    EXPECT_EQ(managed->dl_tensor.device.device_type, type);
    EXPECT_EQ(managed->dl_tensor.device.device_id, 3);
    managed->deleter(managed);
  }
}

// A tensor carved out of a slot, read back through the struct as a consumer would, then the lease
// is given back by the deleter.
TEST(DlpackExport, SlotTensorsEndTheirLeaseThroughTheDeleter) {
  for (const uint32_t device : {0u, 1u}) {
    TestRing t(4096, 1, RANKFEED_HANDOFF_DEVICE_SLOTS);
    rankfeed_handoff_view view{};
    const auto slot = t.Take(&view);
    auto* ids = reinterpret_cast<int32_t*>(static_cast<char*>(view.host) + 1024);
    for (int32_t i = 0; i < 60; ++i) ids[i] = i * i;
    ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 4096, t.copy_stream, nullptr, 0), RANKFEED_OK);
    t.Sync(t.copy_stream);

    struct Lease {
      rankfeed_handoff* ring;
      rankfeed_handoff_slot slot;
    } lease{t.ring, slot};
    const std::vector<int64_t> shape{6, 10};
    auto tensor = Tensor(RANKFEED_DL_INT32, shape);
    ASSERT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, device, &tensor), RANKFEED_OK);
    EXPECT_EQ(tensor.data, device ? view.device : view.host);
    EXPECT_EQ(tensor.data_bytes, 4096u);
    tensor.byte_offset = 1024;
    tensor.release_context = &lease;
    tensor.release = [](void* context) {
      auto* held = static_cast<Lease*>(context);
      EXPECT_EQ(rankfeed_handoff_release_now(held->ring, held->slot), RANKFEED_OK);
    };
    DLManagedTensorVersioned* managed = nullptr;
    ASSERT_EQ(rankfeed_dlpack_export(&tensor, &managed), RANKFEED_OK);
    const DLTensor& dl = managed->dl_tensor;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(dl.data) % 256, 0u);
    const auto* first =
        reinterpret_cast<const int32_t*>(static_cast<const char*>(dl.data) + dl.byte_offset);
    for (int64_t r = 0; r < 6; ++r) {
      for (int64_t c = 0; c < 10; ++c) {
        EXPECT_EQ(first[r * dl.strides[0] + c * dl.strides[1]], (r * 10 + c) * (r * 10 + c));
      }
    }
    rankfeed_handoff_slot none = 0;
    EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);
    managed->deleter(managed);
    rankfeed_handoff_poll(t.ring, slot);
    EXPECT_EQ(t.Acquire(&none), RANKFEED_OK);
  }
}

TEST(DlpackExport, OnlyHeldSlotsCanBeDescribed) {
  TestRing t(256, 2);
  auto tensor = Tensor(RANKFEED_DL_INT32, {});
  const auto slot = t.Take();
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, 0, &tensor), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, 1, &tensor), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, 3, &tensor), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, RANKFEED_HANDOFF_DL_SUBMITTED, &tensor),
            RANKFEED_E_STATE);  // nothing was
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, 0, 0, &tensor), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(nullptr, slot, 0, &tensor), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, 0, nullptr), RANKFEED_E_ARGUMENT);
  tensor.struct_size = 0;
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, 0, &tensor), RANKFEED_E_STRUCT_SIZE);
  tensor.struct_size = sizeof tensor;
  ASSERT_EQ(rankfeed_handoff_abandon(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, slot, 0, &tensor), RANKFEED_E_STATE);
}

// Where the device reads what was submitted: of the ring's memory, not of the caller's.
TEST(DlpackExport, SubmittedSideIsWhereTheDeviceReads) {
  TestRing t(256, 3, RANKFEED_HANDOFF_DEVICE_SLOTS);
  auto tensor = Tensor(RANKFEED_DL_INT32, {});
  rankfeed_handoff_view view{};
  const auto copied = t.Take(&view);
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, copied, 256, t.copy_stream, nullptr, 0), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_dl_tensor(t.ring, copied, RANKFEED_HANDOFF_DL_SUBMITTED, &tensor),
            RANKFEED_OK);
  EXPECT_EQ(tensor.data, view.device);
  const auto mapped = t.Take(&view);
  ASSERT_EQ(
      rankfeed_handoff_submit(t.ring, mapped, 256, t.copy_stream, nullptr, RANKFEED_HANDOFF_MAPPED),
      RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_dl_tensor(t.ring, mapped, RANKFEED_HANDOFF_DL_SUBMITTED, &tensor),
            RANKFEED_OK);
  EXPECT_EQ(tensor.data, view.mapped);
  const auto elsewhere = t.Take();
  ASSERT_EQ(t.Submit(elsewhere, 256, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_dl_tensor(t.ring, elsewhere, RANKFEED_HANDOFF_DL_SUBMITTED, &tensor),
            RANKFEED_E_ARGUMENT);
  for (const auto slot : {copied, mapped, elsewhere}) {
    EXPECT_EQ(rankfeed_handoff_release_now(t.ring, slot), RANKFEED_OK);
  }
}

// The host's memory has no streams: the consumer gets it when the copy has landed.
TEST(DlpackExport, OnTheHostTheConsumerWaitsForTheCopy) {
  TestRing t(256, 2, RANKFEED_HANDOFF_DEVICE_SLOTS);
  t.script.HoldEvents(true);
  const auto slot = t.Take();
  constexpr int64_t kNotSaid = RANKFEED_DL_STREAM_NOT_SAID;
  EXPECT_EQ(rankfeed_handoff_dl_wait(nullptr, slot, kNotSaid), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_dl_wait(t.ring, slot, kNotSaid), RANKFEED_E_STATE);
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 256, t.copy_stream, nullptr, 0), RANKFEED_OK);
  for (const int64_t stream : {-3, -1, 0, 1, 2, 4096}) {
    EXPECT_EQ(rankfeed_handoff_dl_wait(t.ring, slot, stream), RANKFEED_E_ARGUMENT) << stream;
  }
  EXPECT_EQ(rankfeed_handoff_dl_wait(t.ring, slot, kNotSaid), RANKFEED_E_BUSY);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_dl_wait(t.ring, slot, kNotSaid), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, slot), RANKFEED_OK);
}

TEST(DlpackExport, DeletersTakeNull) {
  const std::vector<int64_t> shape{1};
  auto tensor = Tensor(RANKFEED_DL_UINT8, shape);
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(rankfeed_dlpack_export(&tensor, &managed), RANKFEED_OK);
  managed->deleter(nullptr);
  managed->deleter(managed);
}

}  // namespace
}  // namespace rankfeed::handoff
