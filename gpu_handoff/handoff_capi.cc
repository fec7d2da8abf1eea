// SPDX-License-Identifier: MIT
// handoff_capi.cc: the C functions of rankfeed/handoff.h over Ring: argument checks, nothing else.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "ring.h"

namespace {

using rankfeed::handoff::Ring;

// rankfeed_handoff is never defined: the handle is the Ring.
Ring* ToRing(rankfeed_handoff* handoff) {
  return reinterpret_cast<Ring*>(handoff);
}
const Ring* ToRing(const rankfeed_handoff* handoff) {
  return reinterpret_cast<const Ring*>(handoff);
}

rankfeed_status StatusOf(int32_t rc) {
  if (rc == RANKFEED_GPU_OK) return RANKFEED_OK;
  return rc == RANKFEED_GPU_NO_MEMORY ? RANKFEED_E_NO_MEMORY : RANKFEED_E_DEVICE;
}

void CopyText(std::string_view text, char* out, size_t capacity) {
  const size_t size = std::min(text.size(), capacity - 1);
  std::memcpy(out, text.data(), size);
  std::memset(out + size, 0, capacity - size);
}

rankfeed_status CheckAcquire(const rankfeed_handoff* handoff, const rankfeed_handoff_slot* slot,
                             const rankfeed_handoff_view* view) {
  if (handoff == nullptr || slot == nullptr || view == nullptr) return RANKFEED_E_ARGUMENT;
  return view->struct_size == sizeof(rankfeed_handoff_view) ? RANKFEED_OK : RANKFEED_E_STRUCT_SIZE;
}

}  // namespace

extern "C" {

rankfeed_status rankfeed_handoff_device_count(const rankfeed_gpu_backend* backend, int32_t* count) {
  if (count == nullptr) return RANKFEED_E_ARGUMENT;
  *count = 0;
  if (backend == nullptr) backend = rankfeed_handoff_host_backend();
  const int32_t rc = backend->device_count(backend->self, count);
  if (rc == RANKFEED_GPU_OK && *count > 0) return RANKFEED_OK;
  *count = 0;
  if (rc == RANKFEED_GPU_OLD_DRIVER) return RANKFEED_E_UNSUPPORTED;
  return rc == RANKFEED_GPU_OK || rc == RANKFEED_GPU_NO_DEVICE ? RANKFEED_E_NO_DEVICE
                                                               : RANKFEED_E_DEVICE;
}

rankfeed_status rankfeed_handoff_open(const rankfeed_handoff_options* options,
                                      rankfeed_handoff** out, rankfeed_error_detail* detail) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (options == nullptr) return RANKFEED_E_ARGUMENT;
  if (options->struct_size != sizeof(rankfeed_handoff_options)) return RANKFEED_E_STRUCT_SIZE;
  Ring* ring = nullptr;
  const rankfeed_status status = Ring::Open(*options, &ring, detail);
  *out = reinterpret_cast<rankfeed_handoff*>(ring);
  return status;
}

void rankfeed_handoff_close(rankfeed_handoff* handoff) {
  Ring::Close(ToRing(handoff));
}

rankfeed_status rankfeed_handoff_acquire(rankfeed_handoff* handoff, rankfeed_handoff_slot* slot,
                                         rankfeed_handoff_view* view) {
  if (const rankfeed_status bad = CheckAcquire(handoff, slot, view)) return bad;
  const rankfeed_status status = ToRing(handoff)->Acquire(slot);
  if (status == RANKFEED_OK) ToRing(handoff)->View(*slot, view);
  return status;
}

rankfeed_status rankfeed_handoff_wait_acquire(rankfeed_handoff* handoff, uint64_t timeout_ns,
                                              rankfeed_handoff_slot* slot,
                                              rankfeed_handoff_view* view) {
  if (const rankfeed_status bad = CheckAcquire(handoff, slot, view)) return bad;
  const rankfeed_status status = ToRing(handoff)->WaitAcquire(timeout_ns, slot);
  if (status == RANKFEED_OK) ToRing(handoff)->View(*slot, view);
  return status;
}

rankfeed_status rankfeed_handoff_submit(rankfeed_handoff* handoff, rankfeed_handoff_slot slot,
                                        uint64_t bytes, void* stream, void* device_dst,
                                        uint32_t flags) {
  if (handoff == nullptr) return RANKFEED_E_ARGUMENT;
  return ToRing(handoff)->Submit(slot, bytes, stream, device_dst, flags);
}

rankfeed_status rankfeed_handoff_abandon(rankfeed_handoff* handoff, rankfeed_handoff_slot slot) {
  return handoff ? ToRing(handoff)->Abandon(slot) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_poll(rankfeed_handoff* handoff, rankfeed_handoff_slot slot) {
  return handoff ? ToRing(handoff)->Poll(slot) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_stream_wait(rankfeed_handoff* handoff, rankfeed_handoff_slot slot,
                                             void* consumer_stream) {
  return handoff ? ToRing(handoff)->StreamWait(slot, consumer_stream) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_release(rankfeed_handoff* handoff, rankfeed_handoff_slot slot,
                                         void* consumer_stream) {
  return handoff ? ToRing(handoff)->Release(slot, consumer_stream) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_release_streams(rankfeed_handoff* handoff,
                                                 rankfeed_handoff_slot slot, void* const* streams,
                                                 uint32_t count) {
  return handoff ? ToRing(handoff)->ReleaseStreams(slot, streams, count) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_release_now(rankfeed_handoff* handoff,
                                             rankfeed_handoff_slot slot) {
  return handoff ? ToRing(handoff)->ReleaseNow(slot) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_reset(rankfeed_handoff* handoff, rankfeed_handoff_slot slot) {
  return handoff ? ToRing(handoff)->Reset(slot) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_state(const rankfeed_handoff* handoff, rankfeed_handoff_slot slot,
                                       uint32_t* state) {
  if (handoff == nullptr || state == nullptr) return RANKFEED_E_ARGUMENT;
  return ToRing(handoff)->State(slot, state);
}

rankfeed_status rankfeed_handoff_data(const rankfeed_handoff* handoff, rankfeed_handoff_slot slot,
                                      void** data) {
  if (data == nullptr) return RANKFEED_E_ARGUMENT;
  *data = nullptr;
  return handoff ? ToRing(handoff)->Data(slot, data) : RANKFEED_E_ARGUMENT;
}

rankfeed_status rankfeed_handoff_calibrate(rankfeed_handoff* handoff, void* stream,
                                           rankfeed_handoff_consume consume, void* context,
                                           uint64_t* limit) {
  uint64_t ignored = 0;
  if (limit == nullptr) limit = &ignored;
  *limit = 0;
  if (handoff == nullptr || consume == nullptr) return RANKFEED_E_ARGUMENT;
  return ToRing(handoff)->Calibrate(stream, consume, context, limit);
}

rankfeed_status rankfeed_handoff_get_info(const rankfeed_handoff* handoff,
                                          rankfeed_handoff_info* info) {
  if (handoff == nullptr || info == nullptr) return RANKFEED_E_ARGUMENT;
  if (info->struct_size != sizeof(rankfeed_handoff_info)) return RANKFEED_E_STRUCT_SIZE;
  const Ring& ring = *ToRing(handoff);
  info->slots = ring.slot_count;
  info->slot_bytes = ring.slot_bytes;
  info->slot_stride = ring.stride;
  info->device = ring.device;
  info->dl_host_device_type = ring.backend->dl_host_device_type;
  info->dl_device_type = ring.backend->dl_device_type;
  info->page_locked = ring.block.locked;
  info->page_lock_error = ring.block.locked ? 0 : ring.block.lock_error;
  info->has_mapped = ring.block.mapped != nullptr;
  info->mapped_limit = ring.mapped_limit.load(std::memory_order_relaxed);
  info->device_numa_node = ring.device_node;
  info->numa_node = ring.node;
  CopyText(ring.backend->name, info->backend, sizeof info->backend);
  std::memset(info->device_name, 0, sizeof info->device_name);
  ring.backend->describe(ring.ctx, info->device_name, sizeof info->device_name);
  CopyText(ring.block.note ? ring.block.note : "", info->note, sizeof info->note);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_handoff_get_stats(const rankfeed_handoff* handoff,
                                           rankfeed_handoff_stats* stats) {
  if (handoff == nullptr || stats == nullptr) return RANKFEED_E_ARGUMENT;
  if (stats->struct_size != sizeof(rankfeed_handoff_stats)) return RANKFEED_E_STRUCT_SIZE;
  // Counts timed events that have completed meanwhile: the ring's state stays as it is.
  const_cast<Ring*>(ToRing(handoff))->Stats(stats);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_handoff_stream_create(rankfeed_handoff* handoff, void** stream) {
  if (stream == nullptr) return RANKFEED_E_ARGUMENT;
  *stream = nullptr;
  if (handoff == nullptr) return RANKFEED_E_ARGUMENT;
  const Ring& ring = *ToRing(handoff);
  return StatusOf(ring.backend->stream_create(ring.ctx, stream));
}

void rankfeed_handoff_stream_destroy(rankfeed_handoff* handoff, void* stream) {
  if (handoff == nullptr || stream == nullptr) return;
  const Ring& ring = *ToRing(handoff);
  ring.backend->stream_destroy(ring.ctx, stream);
}

rankfeed_status rankfeed_handoff_stream_synchronize(rankfeed_handoff* handoff, void* stream) {
  if (handoff == nullptr) return RANKFEED_E_ARGUMENT;
  const Ring& ring = *ToRing(handoff);
  return StatusOf(ring.backend->stream_synchronize(ring.ctx, stream));
}

rankfeed_status rankfeed_handoff_device_alloc(rankfeed_handoff* handoff, uint64_t bytes,
                                              void** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (handoff == nullptr || bytes == 0) return RANKFEED_E_ARGUMENT;
  if (bytes > PTRDIFF_MAX) return RANKFEED_E_NO_MEMORY;
  const Ring& ring = *ToRing(handoff);
  return StatusOf(ring.backend->device_alloc(ring.ctx, static_cast<size_t>(bytes), out));
}

void rankfeed_handoff_device_free(rankfeed_handoff* handoff, void* memory) {
  if (handoff == nullptr || memory == nullptr) return;
  const Ring& ring = *ToRing(handoff);
  ring.backend->device_free(ring.ctx, memory);
}

rankfeed_status rankfeed_handoff_dl_tensor(const rankfeed_handoff* handoff,
                                           rankfeed_handoff_slot slot, uint32_t side,
                                           rankfeed_dl_tensor* tensor) {
  if (handoff == nullptr || tensor == nullptr || side > RANKFEED_HANDOFF_DL_SUBMITTED) {
    return RANKFEED_E_ARGUMENT;
  }
  if (tensor->struct_size != sizeof(rankfeed_dl_tensor)) return RANKFEED_E_STRUCT_SIZE;
  const Ring& ring = *ToRing(handoff);
  uint32_t state = 0;
  const rankfeed_status status = ring.State(slot, &state);
  if (status != RANKFEED_OK) return status;
  if (state == RANKFEED_SLOT_FREE || state == RANKFEED_SLOT_QUARANTINED) return RANKFEED_E_STATE;
  rankfeed_handoff_view view;
  ring.View(slot, &view);
  void* data = side == RANKFEED_HANDOFF_DL_HOST ? view.host : view.device;
  if (side == RANKFEED_HANDOFF_DL_SUBMITTED) {
    if (const rankfeed_status not_there = ring.Data(slot, &data)) return not_there;
    if (data != view.device && data != view.mapped) return RANKFEED_E_ARGUMENT;
  }
  if (data == nullptr) return RANKFEED_E_ARGUMENT;
  const bool host = side == RANKFEED_HANDOFF_DL_HOST;
  tensor->data = data;
  tensor->data_bytes = ring.slot_bytes;
  tensor->device_type = host ? ring.backend->dl_host_device_type : ring.backend->dl_device_type;
  // Pinned and plain host memory: device_id 0 (dlpack.h 1.1, DLDevice).
  tensor->device_id = host || tensor->device_type == RANKFEED_DL_CPU ? 0 : ring.device;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_handoff_dl_wait(rankfeed_handoff* handoff, rankfeed_handoff_slot slot,
                                         int64_t stream) {
  if (handoff == nullptr || stream < RANKFEED_DL_STREAM_NOT_SAID) return RANKFEED_E_ARGUMENT;
  Ring& ring = *ToRing(handoff);
  if (ring.backend->dl_device_type == RANKFEED_DL_CPU) {
    return stream == RANKFEED_DL_STREAM_NOT_SAID ? ring.Poll(slot) : RANKFEED_E_ARGUMENT;
  }
  const bool cuda = ring.backend->dl_device_type == RANKFEED_DL_CUDA;
  if (cuda ? stream == 0 : stream == 1 || stream == 2) return RANKFEED_E_ARGUMENT;
  if (stream == RANKFEED_DL_STREAM_NO_WAIT) {
    uint32_t state = 0;
    if (const rankfeed_status bad = ring.State(slot, &state)) return bad;
    if (state == RANKFEED_SLOT_FILLING) return RANKFEED_E_STATE;
    return state == RANKFEED_SLOT_QUARANTINED ? RANKFEED_E_DEVICE : RANKFEED_OK;
  }
  // CUDA's 1 and 2 are the handles cudaStreamLegacy and cudaStreamPerThread.
  const int64_t unsaid = cuda ? 1 : 0;
  const auto handle =
      static_cast<uintptr_t>(stream == RANKFEED_DL_STREAM_NOT_SAID ? unsaid : stream);
  return ring.StreamWait(slot, reinterpret_cast<void*>(handle));
}

}  // extern "C"
