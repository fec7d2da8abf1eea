/* SPDX-License-Identifier: MIT
 * The header and the backend table as a C11 program sees them: one batch through the host backend,
 * one DLPack export, everything by the public functions. */
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "rankfeed/handoff.h"

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static void count_release(void* context) {
  ++*(int*)context;
}

/* As a consumer declares it: version, context, deleter come first for ever. */
struct managed_prefix {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
};

int main(void) {
  int32_t devices = 0;
  CHECK(rankfeed_handoff_device_count(NULL, &devices) == RANKFEED_OK && devices == 1);
  CHECK(strcmp(rankfeed_handoff_host_backend()->name, "host") == 0);

  rankfeed_handoff_options options = {.struct_size = sizeof options,
                                      .flags = RANKFEED_HANDOFF_DEVICE_SLOTS,
                                      .slot_bytes = 1000,
                                      .slots = 3};
  rankfeed_handoff* ring = NULL;
  rankfeed_error_detail detail = {.struct_size = sizeof detail};
  CHECK(rankfeed_handoff_open(&options, &ring, &detail) == RANKFEED_OK);

  rankfeed_handoff_slot slot = 0;
  rankfeed_handoff_view view = {.struct_size = sizeof view};
  CHECK(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view) == RANKFEED_OK);
  CHECK(view.bytes == 1000 && view.host != NULL && view.device != NULL);
  memset(view.host, 0x5A, 1000);

  void* stream = NULL;
  CHECK(rankfeed_handoff_stream_create(ring, &stream) == RANKFEED_OK);
  CHECK(rankfeed_handoff_submit(ring, slot, 1000, stream, NULL, 0) == RANKFEED_OK);
  CHECK(rankfeed_handoff_stream_synchronize(ring, stream) == RANKFEED_OK);
  CHECK(rankfeed_handoff_poll(ring, slot) == RANKFEED_OK);
  CHECK(memcmp(view.host, view.device, 1000) == 0);

  int released = 0;
  const int64_t shape[2] = {2, 125};
  rankfeed_dl_tensor tensor = {.struct_size = sizeof tensor,
                               .dtype = RANKFEED_DL_INT32,
                               .rank = 2,
                               .shape = shape,
                               .release = count_release,
                               .release_context = &released};
  CHECK(rankfeed_handoff_dl_tensor(ring, slot, 0, &tensor) == RANKFEED_OK);
  struct DLManagedTensorVersioned* managed = NULL;
  CHECK(rankfeed_dlpack_export(&tensor, &managed) == RANKFEED_OK);
  const struct managed_prefix* prefix = (const struct managed_prefix*)(const void*)managed;
  CHECK(prefix->major == 1 && prefix->minor == 1);
  prefix->deleter(managed);
  CHECK(released == 1);

  CHECK(rankfeed_handoff_release(ring, slot, stream) == RANKFEED_OK);
  CHECK(rankfeed_handoff_stream_synchronize(ring, stream) == RANKFEED_OK);
  CHECK(rankfeed_handoff_poll(ring, slot) == RANKFEED_OK);
  uint32_t state = 99;
  CHECK(rankfeed_handoff_state(ring, slot, &state) == RANKFEED_OK);
  CHECK(state == RANKFEED_SLOT_FREE);

  rankfeed_handoff_stats stats = {.struct_size = sizeof stats};
  CHECK(rankfeed_handoff_get_stats(ring, &stats) == RANKFEED_OK);
  CHECK(stats.copies == 1 && stats.bytes == 1000 && stats.landed == 1);
  rankfeed_handoff_info info = {.struct_size = sizeof info};
  CHECK(rankfeed_handoff_get_info(ring, &info) == RANKFEED_OK);
  CHECK(info.slot_stride == 1024 && strcmp(info.backend, "host") == 0);

  rankfeed_handoff_stream_destroy(ring, stream);
  rankfeed_handoff_close(ring);
  return 0;
}
