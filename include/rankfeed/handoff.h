/* SPDX-License-Identifier: MIT
 * rankfeed/handoff.h: batches to an accelerator through a ring of page-locked slots.
 * Library rankfeed_handoff; it knows nothing of tokens or tensors: a slot is one arena of
 * slot_bytes, aligned to 256 bytes, that the batch code carves and one copy moves.
 *
 *              acquire            submit                  copy landed
 *      FREE -----------> FILLING ---------> IN_FLIGHT ------------------------> FREE
 *       ^                   |    (leased) ----------> LEASED --release--> ...--> FREE
 *       |      abandon      |                    |  device error
 *       +-------------------+                    +------------> QUARANTINED --reset--> FREE
 *
 * A slot is reused only after the event recorded after its copy (and, when leased, the event of
 * rankfeed_handoff_release) has completed. Work is ordered on the caller's streams; nothing here
 * synchronises a device or a stream. One ring serves one device; use one ring per device.
 *
 * rankfeed_handoff: internally synchronised. Everything but open and close may be called from any
 * thread at any time without locks or allocation; a slot in FILLING belongs to whoever acquired it.
 * Not detected: calls during or after rankfeed_handoff_close, and writes to a slot that is not
 * FILLING. Nothing blocks except rankfeed_handoff_wait_acquire, rankfeed_handoff_close and the
 * stream_synchronize helper.
 *
 * Device errors (RANKFEED_E_DEVICE; the vendor's number is in rankfeed_handoff_stats):
 *   - the copy could not be queued: the slot stays FILLING with its bytes, submit or abandon it;
 *   - the copy was queued but its event could not be recorded, or an event reports an error: the
 *     device may still read the slot, so it is QUARANTINED: never handed out again until
 *     rankfeed_handoff_reset. The other slots go on working;
 *   - a release event could not be recorded: the slot stays as it was, release it again. */
#ifndef RANKFEED_HANDOFF_H_
#define RANKFEED_HANDOFF_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_handoff rankfeed_handoff;
/* Table of functions over one vendor's runtime (gpu_handoff/backend.h). */
typedef struct rankfeed_gpu_backend rankfeed_gpu_backend;

/* One use of one slot, from acquire to the next acquire of the same slot: the slot's index in the
 * low 16 bits, its use count (never 0, 48 bits: never wraps) above. A ticket of an earlier use is
 * told apart from the current one. */
typedef uint64_t rankfeed_handoff_slot;
#define RANKFEED_HANDOFF_ALL_SLOTS UINT64_MAX

enum {
  RANKFEED_HANDOFF_ALIGNMENT = 256, /* of slots; DLPack 1.1 asks it of data pointers */
  RANKFEED_HANDOFF_MAX_SLOTS = 4096,
  RANKFEED_HANDOFF_MAX_STREAMS = 4 /* of one consumer, rankfeed_handoff_release_streams */
};

/* The built-in backend: threads as streams, ordinary memory, mlock tried. Always there; for
 * programs without an accelerator and for tests. Static; never null. O(1), any thread. */
RANKFEED_API const rankfeed_gpu_backend* rankfeed_handoff_host_backend(void);

/* The backends over the vendors' runtimes, each in a library of its own (rankfeed_handoff_cuda,
 * rankfeed_handoff_hip), linked or loaded by name where wanted. Static; never null, also on a machine
 * without a device, where calls answer NO_DEVICE. O(1), any thread. */
RANKFEED_API const rankfeed_gpu_backend* rankfeed_handoff_cuda_backend(void);
/* Returns the backend of HIP, as rankfeed_handoff_cuda_backend does that of CUDA. O(1), any thread.
 * */
RANKFEED_API const rankfeed_gpu_backend* rankfeed_handoff_hip_backend(void);

/* Devices a backend sees; 0 with RANKFEED_E_NO_DEVICE when its runtime finds none. backend null =
 * host. Errors: ARGUMENT, NO_DEVICE, UNSUPPORTED (the driver is older than the backend needs),
 * DEVICE (the runtime has another error). O(1); the first call may load a driver. Any thread. */
RANKFEED_API rankfeed_status rankfeed_handoff_device_count(const rankfeed_gpu_backend* backend,
                                                           int32_t* count);

/* ---- open and close ---------------------------------------------------------------------- */

enum {
  /* Allocate slot_bytes of device memory beside each slot (view.device); submit with a null
   * device_dst copies there. */
  RANKFEED_HANDOFF_DEVICE_SLOTS = 1u,
  /* Count how long consumer streams had work and how long they waited for the next batch
   * (rankfeed_handoff_stats), between stream_wait and release of leased slots, by timed events: two
   * more records per batch. Of up to 4 streams, 31 batches ahead; the rest counts as unmeasured. */
  RANKFEED_HANDOFF_MEASURE_IDLE = 2u
};

typedef struct {
  uint32_t struct_size;
  uint32_t flags;                      /* RANKFEED_HANDOFF_DEVICE_SLOTS ... */
  uint64_t slot_bytes;                 /* 1 ..; rounded up to a multiple of 256 internally */
  uint32_t slots;                      /* 1 .. 4096; 3 let filling, copying and consuming overlap */
  int32_t device;                      /* index in the backend's numbering */
  const rankfeed_gpu_backend* backend; /* null = host; must outlive the ring */
  uint64_t mapped_limit; /* for RANKFEED_HANDOFF_CHOOSE; rankfeed_handoff_calibrate measures it */
} rankfeed_handoff_options;

/* Allocates everything the ring will ever use: a control block, page-locked memory for all slots
 * in one piece, two events per slot, device memory when asked. On failure *out is null, nothing is
 * left over, and *detail (nullable) says which step failed: section = 1 device, 2 control block,
 * 3 page-locked memory, 4 device memory, 5 events (item = slot), 6 timed events; byte_offset = bytes
 * asked for.
 * Errors: ARGUMENT, STRUCT_SIZE, LIMIT (sizes overflow), NO_MEMORY, NO_DEVICE, UNSUPPORTED (the
 * driver is too old), DEVICE.
 * O(slots * slot_bytes): pages are touched. Slow with vendor backends (milliseconds); once per
 * program, never per batch. */
RANKFEED_API rankfeed_status rankfeed_handoff_open(const rankfeed_handoff_options* options,
                                                   rankfeed_handoff** out,
                                                   rankfeed_error_detail* detail);

/* Blocks until every queued copy has landed and every released slot has drained, then frees all.
 * Leases not yet released are taken as over, FILLING slots are dropped: their memory is gone when
 * this returns, and so is memory of tensors exported from it. Null is a no-op. O(slots), and
 * BLOCKS as said. */
RANKFEED_API void rankfeed_handoff_close(rankfeed_handoff* handoff);

/* ---- the slot cycle ---------------------------------------------------------------------- */

/* Place of a slot's bytes. Set struct_size before the call. */
typedef struct {
  uint32_t struct_size;
  uint32_t index; /* 0 .. slots-1, stable for the life of the ring */
  void* host;     /* page-locked, 256-byte aligned; whatever an earlier batch left in it */
  void* device;   /* device memory of the slot (RANKFEED_HANDOFF_DEVICE_SLOTS) or null */
  void* mapped;   /* address under which the device reads host directly, or null */
  uint64_t bytes; /* slot_bytes as asked for at open */
} rankfeed_handoff_view;

/* FREE -> FILLING. Takes a free slot, or one whose events have completed. Never blocks.
 * Errors: ARGUMENT, STRUCT_SIZE; BUSY: no slot is free now (back-pressure; *slot = 0);
 * DEVICE: every slot is quarantined, waiting is pointless. O(slots) looks at atomics, and one
 * event query per slot in flight when none is free. */
RANKFEED_API rankfeed_status rankfeed_handoff_acquire(rankfeed_handoff* handoff,
                                                      rankfeed_handoff_slot* slot,
                                                      rankfeed_handoff_view* view);

/* Acquires as rankfeed_handoff_acquire does, but BLOCKS up to timeout_ns (UINT64_MAX: no limit; 0:
 * one try) by sleeping in growing steps of 2 to 64 microseconds. Errors: ARGUMENT, STRUCT_SIZE,
 * DEADLINE (no slot became free in time; *slot = 0), DEVICE as acquire. O(slots) for each try. */
RANKFEED_API rankfeed_status rankfeed_handoff_wait_acquire(rankfeed_handoff* handoff,
                                                           uint64_t timeout_ns,
                                                           rankfeed_handoff_slot* slot,
                                                           rankfeed_handoff_view* view);

enum {
  /* The slot stays unavailable after the copy has landed, until rankfeed_handoff_release. */
  RANKFEED_HANDOFF_LEASE = 1u,
  /* No copy: the consumer reads view.mapped. Needs view.mapped and a null device_dst; implies
   * LEASE. */
  RANKFEED_HANDOFF_MAPPED = 2u,
  /* The ring chooses: at most mapped_limit bytes are read in place as with MAPPED, more are copied to
   * the slot's device memory. Needs RANKFEED_HANDOFF_DEVICE_SLOTS and a null device_dst; implies
   * LEASE. rankfeed_handoff_data says where the bytes are. */
  RANKFEED_HANDOFF_CHOOSE = 4u
};

/* FILLING -> IN_FLIGHT (or LEASED). Queues one copy of the first `bytes` bytes on `stream` (the
 * caller's own: cudaStream_t, hipStream_t, a host stream; null = the backend's default stream) to
 * device_dst, and an event after it. device_dst null = the slot's own device memory, which
 * implies LEASE, because the next submit would overwrite it. bytes 0 queues the event alone.
 * device_dst must stay valid until the copy has landed. The slot must not be written any more.
 * Errors: ARGUMENT (bytes > slot_bytes, unknown flags, no destination; the slot stays FILLING),
 * STATE (not FILLING under this ticket: submitted before, abandoned, or another's), DEVICE (see
 * the head of this file; rankfeed_handoff_state tells FILLING from QUARANTINED). O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_submit(rankfeed_handoff* handoff,
                                                     rankfeed_handoff_slot slot, uint64_t bytes,
                                                     void* stream, void* device_dst,
                                                     uint32_t flags);

/* *data: where the device reads the bytes of a submitted slot: view.mapped, the slot's device memory,
 * or the device_dst of the submission. Errors: ARGUMENT, STATE (not IN_FLIGHT or LEASED under this
 * ticket; *data is null). O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_data(const rankfeed_handoff* handoff,
                                                   rankfeed_handoff_slot slot, void** data);

/* Queues what a consumer does with a batch at data; for rankfeed_handoff_calibrate. */
typedef rankfeed_status (*rankfeed_handoff_consume)(void* context, void* stream, void* data,
                                                    uint64_t bytes);

/* Measures up to which size reading in place beats a copy with this consumer, on this machine, and
 * makes it the ring's mapped_limit; *limit (nullable) gets it, 0 where in place never wins or cannot be
 * had. For set-up: every slot must be FREE, their content is sent as it is; BLOCKS for some ten batches
 * of each size from 1 KiB, doubling, to slot_bytes at most. Errors: ARGUMENT (also without
 * RANKFEED_HANDOFF_DEVICE_SLOTS), BUSY, DEVICE, and what consume answers; the limit is then as it was.
 * O(slot_bytes). */
RANKFEED_API rankfeed_status rankfeed_handoff_calibrate(rankfeed_handoff* handoff, void* stream,
                                                        rankfeed_handoff_consume consume,
                                                        void* context, uint64_t* limit);

/* FILLING -> FREE without sending anything. Errors: ARGUMENT, STATE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_abandon(rankfeed_handoff* handoff,
                                                      rankfeed_handoff_slot slot);

/* OK once the copy of this ticket has landed, even when the slot has been reused since (tickets of
 * abandoned uses count as over); frees the slot when nothing else holds it. BUSY while in flight.
 * Errors: ARGUMENT (no such slot), STATE (still FILLING), DEVICE (quarantined, or the last failure
 * of that slot). O(1), at most two event queries. */
RANKFEED_API rankfeed_status rankfeed_handoff_poll(rankfeed_handoff* handoff,
                                                   rankfeed_handoff_slot slot);

/* Orders consumer_stream after the copy: work queued on it from now on starts after the copy has
 * landed. Does not block the host. A copy that has landed needs no ordering: OK.
 * Errors: ARGUMENT, STATE (still FILLING), DEVICE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_stream_wait(rankfeed_handoff* handoff,
                                                          rankfeed_handoff_slot slot,
                                                          void* consumer_stream);

/* LEASED -> draining: records an event on consumer_stream; the slot becomes FREE once everything
 * queued there so far, and the copy itself, has completed. Exactly one release per lease; a
 * consumer with several streams: rankfeed_handoff_release_streams.
 * Errors: ARGUMENT, STATE (not leased), DEVICE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_release(rankfeed_handoff* handoff,
                                                      rankfeed_handoff_slot slot,
                                                      void* consumer_stream);
/* LEASED or FILLING -> draining: the slot becomes FREE once everything queued so far on each of
 * these 1 to RANKFEED_HANDOFF_MAX_STREAMS streams, and the copy if there was one, has completed; no
 * stream waits for another. Of a FILLING slot: it was not submitted, and the consumer's own copies
 * or kernels read view.host; nothing is sent. Errors: ARGUMENT, STATE (neither leased nor filling),
 * DEVICE (the slot is as it was, release it again; or quarantined). O(count). */
RANKFEED_API rankfeed_status rankfeed_handoff_release_streams(rankfeed_handoff* handoff,
                                                              rankfeed_handoff_slot slot,
                                                              void* const* streams, uint32_t count);
/* The same for a consumer that knows its reads are over (it read on the host, or synchronised).
 * Errors: ARGUMENT, STATE (not leased), DEVICE (quarantined). O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_release_now(rankfeed_handoff* handoff,
                                                          rankfeed_handoff_slot slot);

/* QUARANTINED -> FREE. The caller states that the device no longer touches the slot: its stream
 * was synchronised or destroyed since. RANKFEED_HANDOFF_ALL_SLOTS: every quarantined slot.
 * Errors: ARGUMENT, STATE (not quarantined; never for ALL_SLOTS). O(1), O(slots) for all. */
RANKFEED_API rankfeed_status rankfeed_handoff_reset(rankfeed_handoff* handoff,
                                                    rankfeed_handoff_slot slot);

enum {
  RANKFEED_SLOT_FREE = 0,
  RANKFEED_SLOT_FILLING = 1,
  RANKFEED_SLOT_IN_FLIGHT = 2, /* copying, or released and draining */
  RANKFEED_SLOT_LEASED = 3,
  RANKFEED_SLOT_QUARANTINED = 4
};

/* State of the ticket's slot as last noticed: queries no event and changes nothing. A ticket of an
 * earlier use is over: FREE. Errors: ARGUMENT. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_state(const rankfeed_handoff* handoff,
                                                    rankfeed_handoff_slot slot, uint32_t* state);

/* ---- what the ring is and did ------------------------------------------------------------ */

enum {
  RANKFEED_NUMA_UNKNOWN = -1, /* neither the machine nor the kernel says */
  RANKFEED_NUMA_SEVERAL = -2  /* pages of more than one node */
};

/* Set struct_size before the call. Strings are NUL-terminated. */
typedef struct {
  uint32_t struct_size;
  uint32_t slots;
  uint64_t slot_bytes;  /* as asked for */
  uint64_t slot_stride; /* bytes from one slot to the next */
  int32_t device;
  int32_t dl_host_device_type; /* DLPack device type of view.host: 1 CPU, 3 CUDAHost, 11 ROCMHost */
  int32_t dl_device_type;      /* DLPack device type of device memory: 1, 2 CUDA, 10 ROCM */
  uint32_t page_locked;        /* 1: the pages cannot be swapped and the device copies from them */
  int32_t page_lock_error;     /* errno or vendor number when page_locked is 0 */
  uint32_t has_mapped;         /* view.mapped is there */
  char backend[16];
  char device_name[64];
  char note[104]; /* why page_locked is 0, or empty */
  uint64_t mapped_limit; /* bytes, see RANKFEED_HANDOFF_CHOOSE */
  /* Memory nodes. Slots are allocated on the device's node where that is known and has room;
   * numa_node is where the kernel says that they lie. RANKFEED_NUMA_UNKNOWN ... */
  int32_t device_numa_node;
  int32_t numa_node;
} rankfeed_handoff_info;

/* Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_get_info(const rankfeed_handoff* handoff,
                                                       rankfeed_handoff_info* info);

/* Totals since open; set struct_size before the call. Times in nanoseconds of a monotonic clock.
 * Landed times run from the start of submit until a poll, an acquire or close notices, so they
 * include the time nobody looked; quantiles come from a histogram with steps of at most 6.25 % and
 * name the upper edge of their step. 0 while nothing has landed. */
typedef struct {
  uint32_t struct_size;
  uint32_t slots_free, slots_filling, slots_in_flight, slots_leased, slots_quarantined; /* now */
  uint32_t in_flight_high_water; /* most slots between submit and FREE at one moment */
  int32_t last_device_error;     /* vendor's number; 0 = none so far */
  uint64_t acquires;             /* successful */
  uint64_t acquires_busy;        /* answered BUSY (each try of wait_acquire counts) */
  uint64_t waits;                /* wait_acquire calls that had to sleep */
  uint64_t wait_ns;              /* time slept in them */
  uint64_t copies, bytes;        /* queued copies (not empty ones) and what they moved */
  uint64_t submits;              /* copies, empty and mapped submissions together */
  uint64_t landed;               /* submissions seen landed */
  uint64_t abandoned;
  uint64_t device_errors; /* calls and events that failed */
  uint64_t landed_ns_min, landed_ns_p50, landed_ns_p99, landed_ns_max;
  uint64_t mapped; /* submissions read in place */
  /* RANKFEED_HANDOFF_MEASURE_IDLE, by the device's clock; else 0. idle is the time between the end of
   * one measured batch's work and the begin of the next one's on the same stream: its share is
   * idle / (idle + busy). busy is the rest, with the gaps between a batch's kernels in which the
   * device waited for the host's next launch. Batches that have completed so far. */
  uint64_t consumer_batches, consumer_busy_ns, consumer_idle_ns;
  uint64_t consumer_unmeasured; /* batches, and gaps between them, that were not measured */
  /* Measured batches that were bound by launches: the host took eight ninths of the batch's busy
   * time or more to queue its work, from stream_wait to release, so that the device waited for it
   * between kernels. Larger batches or graphs (rankfeed_crossencoder_options) help. */
  uint64_t consumer_launch_bound;
} rankfeed_handoff_stats;

/* A snapshot: counters that other threads move meanwhile may be a step apart.
 * Errors: ARGUMENT, STRUCT_SIZE. O(slots + histogram steps), no locks; with MEASURE_IDLE a few event
 * queries for each batch that has completed since the last call. */
RANKFEED_API rankfeed_status rankfeed_handoff_get_stats(const rankfeed_handoff* handoff,
                                                        rankfeed_handoff_stats* stats);

/* ---- streams and device memory for callers that have none of their own --------------------- */

/* A non-blocking stream of the ring's backend, to be given to rankfeed_handoff_stream_destroy. On
 * failure *stream is null. Errors: ARGUMENT, NO_MEMORY, DEVICE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_stream_create(rankfeed_handoff* handoff,
                                                            void** stream);
/* Waits for the stream's queued work where the backend has to (the host backend does), so destroy a
 * ring's streams before the ring is closed and after their work can finish. Null is a no-op.
 * O(1). */
RANKFEED_API void rankfeed_handoff_stream_destroy(rankfeed_handoff* handoff, void* stream);
/* BLOCKS until the work queued on stream is done; null: the default stream. Errors: ARGUMENT,
 * DEVICE. O(queued work). */
RANKFEED_API rankfeed_status rankfeed_handoff_stream_synchronize(rankfeed_handoff* handoff,
                                                                 void* stream);
/* Device memory, aligned to 256 bytes, until rankfeed_handoff_device_free. On failure *out is null.
 * Errors: ARGUMENT, NO_MEMORY, DEVICE. O(bytes) at worst; may wait for the device. */
RANKFEED_API rankfeed_status rankfeed_handoff_device_alloc(rankfeed_handoff* handoff,
                                                           uint64_t bytes, void** out);
/* Waits for queued copies that touch the memory. Null is a no-op. O(1) but for that. */
RANKFEED_API void rankfeed_handoff_device_free(rankfeed_handoff* handoff, void* memory);

/* ---- DLPack 1.1 ---------------------------------------------------------------------------- */

/* The tags of dlpack/dlpack.h, so that both headers can be used together. */
struct DLManagedTensorVersioned;
struct DLManagedTensor;

enum {
  RANKFEED_DL_INT32 = 1,
  RANKFEED_DL_INT64 = 2,
  RANKFEED_DL_UINT32 = 3,
  RANKFEED_DL_UINT8 = 4,
  RANKFEED_DL_MAX_RANK = 8
};
/* DLDeviceType numbers of dlpack.h 1.1. */
enum {
  RANKFEED_DL_CPU = 1,
  RANKFEED_DL_CUDA = 2,
  RANKFEED_DL_CUDA_HOST = 3,
  RANKFEED_DL_ROCM = 10,
  RANKFEED_DL_ROCM_HOST = 11
};
enum {
  RANKFEED_DL_READ_ONLY = 1u, /* flag bit 0 of the versioned struct */
  RANKFEED_DL_COPIED = 2u     /* flag bit 1: memory made for this consumer alone */
};

/* A tensor to export. shape and strides are copied; data is borrowed until the consumer calls the
 * deleter, which then calls release(release_context) once (nullable), on the consumer's thread. */
typedef struct {
  uint32_t struct_size;
  uint32_t dtype;         /* RANKFEED_DL_INT32 ... */
  uint32_t rank;          /* 0 .. 8 dimensions */
  uint32_t flags;         /* RANKFEED_DL_READ_ONLY ... */
  int32_t device_type;    /* RANKFEED_DL_CPU ... */
  int32_t device_id;      /* must be 0 for CPU and page-locked memory */
  const int64_t* shape;   /* rank entries, each >= 0 */
  const int64_t* strides; /* rank entries in elements, each >= 0; null = compact row-major */
  void* data;             /* start of the memory */
  uint64_t data_bytes;    /* its size: no element may lie beyond */
  uint64_t byte_offset;   /* first element, from data */
  void (*release)(void* context);
  void* release_context;
} rankfeed_dl_tensor;

enum {
  RANKFEED_HANDOFF_DL_HOST = 0,     /* the page-locked side */
  RANKFEED_HANDOFF_DL_DEVICE = 1,   /* the slot's device memory */
  RANKFEED_HANDOFF_DL_SUBMITTED = 2 /* where the device reads what was submitted */
};

/* Points *tensor at a slot's memory: sets data, data_bytes, device_type and device_id of one side
 * (RANKFEED_HANDOFF_DL_HOST ...) and leaves the rest. SUBMITTED: the slot's device memory or
 * view.mapped, the device's address of page-locked memory, as memory of the device; not a
 * device_dst of the caller's. The ticket must be current and FILLING, IN_FLIGHT or LEASED (for
 * SUBMITTED not FILLING); export LEASED slots, or keep them FILLING, so that nobody refills them
 * under the consumer. Before a consumer gets device memory: rankfeed_handoff_dl_wait. Errors:
 * ARGUMENT, STRUCT_SIZE, STATE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_dl_tensor(const rankfeed_handoff* handoff,
                                                        rankfeed_handoff_slot slot, uint32_t side,
                                                        rankfeed_dl_tensor* tensor);

enum {
  RANKFEED_DL_STREAM_NOT_SAID = -2, /* Python's None: the legacy default stream is meant */
  RANKFEED_DL_STREAM_NO_WAIT = -1   /* the consumer takes care of the order itself */
};

/* Does what `__dlpack__(stream=...)` of a submitted slot's device memory has to do before the
 * consumer gets it: the consumer's stream waits for the copy, by an event; the host does not.
 * stream is the number of the Python array API. CUDA: 1 the legacy default stream, 2 the calling
 * thread's default stream, above 2 a cudaStream_t; ROCm: 0 the default stream, above 2 a
 * hipStream_t. The host backend's memory has no stream: NOT_SAID alone, and BUSY until the copy has
 * landed. Errors: ARGUMENT (a number that this device does not have: CUDA's 0, ROCm's 1 and 2),
 * BUSY, STATE (FILLING), DEVICE. O(1). */
RANKFEED_API rankfeed_status rankfeed_handoff_dl_wait(rankfeed_handoff* handoff,
                                                      rankfeed_handoff_slot slot, int64_t stream);

/* Makes the struct a consumer takes (capsule "dltensor_versioned"); freed by its deleter. Explicit
 * strides always; data is null and byte_offset 0 when a dimension is 0. On failure *out is null
 * and release is not called. Errors: ARGUMENT, STRUCT_SIZE, LIMIT (an element lies outside data),
 * ALIGNMENT (first element not aligned to its type), NO_MEMORY. O(rank); allocates. Any thread. */
RANKFEED_API rankfeed_status rankfeed_dlpack_export(const rankfeed_dl_tensor* tensor,
                                                    struct DLManagedTensorVersioned** out);
/* The same for consumers older than DLPack 1.0 (capsule "dltensor"). That struct cannot say
 * READ_ONLY: refused. Errors: those of rankfeed_dlpack_export, UNSUPPORTED. O(rank); allocates. */
RANKFEED_API rankfeed_status rankfeed_dlpack_export_legacy(const rankfeed_dl_tensor* tensor,
                                                           struct DLManagedTensor** out);

RANKFEED_END_C

#endif /* RANKFEED_HANDOFF_H_ */
