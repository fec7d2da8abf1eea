/* SPDX-License-Identifier: MIT
 * A program in C linked with a vendor's backend (BACKEND): says how many devices it sees. Without
 * one that is a status, and the ring on the host backend takes over. */
#include <rankfeed/handoff.h>

#include <stdio.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

int main(void) {
  const rankfeed_gpu_backend* backend = BACKEND();
  if (backend == NULL) return 1;
  int32_t count = -1;
  const rankfeed_status status = rankfeed_handoff_device_count(backend, &count);
  printf("%s: %d devices, %s\n", TEXT(BACKEND), count, status == RANKFEED_OK ? "OK" : "NO_DEVICE");
  if (status != RANKFEED_OK && status != RANKFEED_E_NO_DEVICE) return 2;

  rankfeed_handoff_options options = {
      .struct_size = sizeof options, .slot_bytes = 4096, .slots = 2, .backend = backend};
  rankfeed_handoff* ring = NULL;
  rankfeed_status opened = rankfeed_handoff_open(&options, &ring, NULL);
  if (opened != status) return 3;
  if (opened == RANKFEED_E_NO_DEVICE) {
    options.backend = NULL; /* the host's */
    opened = rankfeed_handoff_open(&options, &ring, NULL);
  }
  if (opened != RANKFEED_OK) return 4;
  rankfeed_handoff_close(ring);
  return 0;
}
