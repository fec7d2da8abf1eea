// SPDX-License-Identifier: MIT
// crossencoder/forward/crossencoder.cc: rankfeed/crossencoder.h: opens a model on a backend and
// runs batches.
//
// On the host a batch is cut into chunks of whole rows, and the executor's workers take chunks:
// each runs the whole forward for one chunk in its own part of the workspace, so nothing is shared
// and no layer waits for another. Where chunks begin depends on the row lengths alone, so scores
// are the same for any number of workers. Workspace on the host:
//
//   chunk starts [rows + 1] | worker 0 | worker 1 | ...
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend.h"
#include "crossencoder/forward/forward.h"
#include "crossencoder/forward/graphs.h"
#include "crossencoder/host/bfloat16.h"
#include "crossencoder/host/ops_host.h"
#include "crossencoder/model/model_error.h"
#include "crossencoder/model/model_files.h"
#include "ranges.h"
#include "rankfeed/crossencoder.h"

namespace rankfeed::handoff {
namespace {

constexpr uint64_t kAlign = 256;
// A chunk's activations (512 tokens * 3 * hidden floats) stay near the caches, and its products are
// tall enough; longer rows make chunks of their own.
constexpr uint32_t kChunkTokens = 512, kChunkRows = 256;

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

rankfeed_status StatusOf(int32_t rc) {
  switch (rc) {
    case RANKFEED_GPU_OK:
      return RANKFEED_OK;
    case RANKFEED_GPU_NO_MEMORY:
      return RANKFEED_E_NO_MEMORY;
    case RANKFEED_GPU_NO_DEVICE:
      return RANKFEED_E_NO_DEVICE;
    case RANKFEED_GPU_OLD_DRIVER:
      return RANKFEED_E_UNSUPPORTED;
    default:
      return RANKFEED_E_DEVICE;
  }
}

}  // namespace
}  // namespace rankfeed::handoff

using namespace rankfeed::handoff;

struct rankfeed_crossencoder {
  const rankfeed_gpu_backend* backend = nullptr;
  const rankfeed_gpu_ops* ops = nullptr;
  const rankfeed_executor* executor = nullptr;
  void* ctx = nullptr;
  void* block = nullptr;
  uint64_t parameters = 0;
  std::string note;                     // see rankfeed_crossencoder_info
  bool on_host = true;                  // work is done by the calling thread, or the stream's
  uint32_t dtype = RANKFEED_DTYPE_F32;  // of what is multiplied; on the host all else is float32
  DeviceModel model;
  mutable GraphCache graphs;

  ~rankfeed_crossencoder() {
    graphs.Close();
    if (block != nullptr) backend->device_free(ctx, block);
    if (ctx != nullptr) backend->device_close(ctx);
  }
};

namespace {

// The data of an enqueued batch on the host until its turn comes. Not in the workspace: batches of
// one stream share that, and the next may be enqueued before this one has run.
struct Job {
  const rankfeed_crossencoder* model;
  rankfeed_packed_batch batch;
  char* workspace;
  float* logits;
};

struct HostPlan {
  uint64_t workers_at, worker_bytes, bytes;
  uint32_t workers;
  WorkspacePlan worker;
};

uint64_t ScratchBytes(const rankfeed_crossencoder& m, uint32_t longest) {
  return m.ops->scratch_bytes(m.ctx, longest, 2 * m.model.config.relative.span);
}

bool PlanHost(const rankfeed_crossencoder& m, uint32_t rows, uint32_t tokens, uint32_t max_seqlen,
              HostPlan* plan) {
  plan->workers = m.executor != nullptr ? m.executor->workers : 1;
  if (plan->workers == 0 || plan->workers > 4096) return false;
  const uint64_t chunk_tokens = std::min(tokens, std::max(kChunkTokens, max_seqlen));
  const uint64_t chunk_rows = std::min(rows, kChunkRows);
  if (!PlanWorkspace(m.model, ScratchBytes(m, max_seqlen), chunk_rows, chunk_tokens,
                     &plan->worker)) {
    return false;
  }
  plan->workers_at = RoundUp((uint64_t{rows} + 1) * sizeof(uint32_t));
  plan->worker_bytes = plan->worker.bytes;
  plan->bytes = plan->workers_at + plan->workers * plan->worker_bytes;
  return true;
}

// as_bucket: for the batch's graph. No smaller than without.
bool PlanDevice(const rankfeed_crossencoder& m, bool as_bucket, uint32_t rows, uint32_t tokens,
                uint32_t longest, WorkspacePlan* plan) {
  if (rows > INT32_MAX || tokens > INT32_MAX || longest > INT32_MAX) return false;
  Bucket sizes{rows, tokens};
  if (as_bucket) sizes = BucketOf(rows, tokens);
  return PlanWorkspace(m.model, ScratchBytes(m, longest), sizes.rows, sizes.tokens, plan);
}

// False unless cu_seqlens is what a packed batch says. Touches nothing but cu_seqlens.
bool RowsAreSound(const rankfeed_packed_batch& b) {
  if (b.cu_seqlens[0] != 0) return false;
  for (uint32_t r = 0; r < b.rows; ++r) {
    const int64_t size = int64_t{b.cu_seqlens[r + 1]} - b.cu_seqlens[r];
    if (size < 0 || size > b.max_seqlen) return false;
  }
  return b.cu_seqlens[b.rows] == static_cast<int64_t>(b.tokens);
}

uint32_t CutChunks(const rankfeed_packed_batch& b, uint32_t* starts) {
  uint32_t chunks = 0;
  for (uint32_t r = 0; r < b.rows;) {
    starts[chunks++] = r;
    const uint32_t first = r;
    do {
      ++r;
    } while (r < b.rows && r - first < kChunkRows &&
             static_cast<uint32_t>(b.cu_seqlens[r + 1] - b.cu_seqlens[first]) <= kChunkTokens);
  }
  starts[chunks] = b.rows;
  return chunks;
}

struct HostRun {
  const rankfeed_crossencoder* model;
  const rankfeed_packed_batch* batch;
  const HostPlan* plan;
  const uint32_t* starts;
  const uint32_t* cancel;
  char* workspace;
  float* logits;
};

void RunChunks(void* context, size_t begin, size_t end, uint32_t worker) {
  const auto& run = *static_cast<const HostRun*>(context);
  const rankfeed_packed_batch& all = *run.batch;
  const uint32_t labels = run.model->model.config.labels;
  for (size_t i = begin; i < end; ++i) {
    const uint32_t first = run.starts[i];
    rankfeed_packed_batch chunk = all;
    chunk.rows = run.starts[i + 1] - first;
    chunk.cu_seqlens = all.cu_seqlens + first;
    chunk.tokens = static_cast<uint32_t>(chunk.cu_seqlens[chunk.rows] - chunk.cu_seqlens[0]);
    chunk.input_ids = all.input_ids + chunk.cu_seqlens[0];
    if (all.token_type_ids != nullptr)
      chunk.token_type_ids = all.token_type_ids + chunk.cu_seqlens[0];
    char* workspace = run.workspace + run.plan->workers_at + worker * run.plan->worker_bytes;
    // The host's operations only fail on arguments that were checked when the model was opened.
    (void)Forward(*run.model->ops, run.model->ctx, nullptr, run.model->model, chunk,
                  run.plan->worker, workspace, run.logits + size_t{first} * labels, kForwardAll,
                  run.cancel);
  }
}

rankfeed_status RunOnHost(const rankfeed_crossencoder& m, const rankfeed_packed_batch& batch,
                          const uint32_t* cancel, char* workspace, float* logits) {
  HostPlan plan;
  if (!PlanHost(m, batch.rows, batch.tokens, batch.max_seqlen, &plan)) return RANKFEED_E_LIMIT;
  auto* starts = reinterpret_cast<uint32_t*>(workspace);
  const uint32_t chunks = CutChunks(batch, starts);
  HostRun run{&m, &batch, &plan, starts, cancel, workspace, logits};
  rankfeed_status status = RANKFEED_OK;
  if (m.executor == nullptr || chunks == 1) {
    RunChunks(&run, 0, chunks, 0);
  } else {
    status = m.executor->parallel_for(m.executor->context, chunks, RunChunks, &run);
  }
  const bool cancelled = cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
  return status == RANKFEED_OK && cancelled ? RANKFEED_E_CANCELLED : status;
}

void RunJob(void* argument) {
  const std::unique_ptr<Job> owned(static_cast<Job*>(argument));
  const Job& job = *owned;
  if (RowsAreSound(job.batch) &&
      RunOnHost(*job.model, job.batch, nullptr, job.workspace, job.logits) == RANKFEED_OK)
    return;
  std::fill_n(job.logits, size_t{job.batch.rows} * job.model->model.config.labels,
              std::numeric_limits<float>::quiet_NaN());
}

bool IdsAreSound(const rankfeed_crossencoder& m, const rankfeed_packed_batch& b) {
  const ModelConfig& c = m.model.config;
  const auto below = [](int32_t index, uint32_t size) {
    return index >= 0 && static_cast<uint32_t>(index) < size;
  };
  for (uint32_t t = 0; t < b.tokens; ++t) {
    if (!below(b.input_ids[t], c.vocab_size)) return false;
    if (b.token_type_ids != nullptr && !below(b.token_type_ids[t], c.type_vocab)) return false;
  }
  return true;
}

// The checks of a batch that both ways to run it need.
rankfeed_status CheckBatch(const rankfeed_crossencoder* m, const rankfeed_packed_batch* b,
                           const void* workspace, size_t size, const float* logits) {
  if (m == nullptr || b == nullptr || logits == nullptr || workspace == nullptr)
    return RANKFEED_E_ARGUMENT;
  if (b->struct_size != sizeof(*b)) return RANKFEED_E_STRUCT_SIZE;
  if (b->rows == 0 || b->cu_seqlens == nullptr || b->rows > INT32_MAX || b->tokens > INT32_MAX ||
      b->max_seqlen > b->tokens ||
      (b->tokens != 0 && (b->max_seqlen == 0 || b->input_ids == nullptr))) {
    return RANKFEED_E_ARGUMENT;
  }
  if (b->max_seqlen > m->model.config.max_row_tokens()) return RANKFEED_E_TOO_LONG;
  if (reinterpret_cast<uintptr_t>(workspace) % kAlign != 0) return RANKFEED_E_ALIGNMENT;
  rankfeed_mem_req need;
  const uint32_t tokens = std::max(1u, b->tokens), longest = std::max(1u, b->max_seqlen);
  if (const auto status = rankfeed_crossencoder_workspace(m, b->rows, tokens, longest, &need))
    return status;
  return size < need.size ? RANKFEED_E_WORKSPACE_SIZE : RANKFEED_OK;
}

rankfeed_status Fail(rankfeed_crossencoder_error* error, rankfeed_status status,
                     const std::string& message) {
  if (error != nullptr && error->struct_size == sizeof(*error)) {
    error->code = status;
    const size_t size = std::min(message.size(), sizeof(error->message) - 1);
    std::memcpy(error->message, message.data(), size);
    error->message[size] = '\0';
  }
  return status;
}

void Check(int32_t rc, const char* what) {
  if (rc == RANKFEED_GPU_OK) return;
  throw ModelError(StatusOf(rc), std::string(what) + (rc == RANKFEED_GPU_OLD_DRIVER
                                                          ? ": the device's driver is too old"
                                                          : " failed with the device's error " +
                                                                std::to_string(rc)));
}

// Things on the device that are gone when this is.
class Temporary {
 public:
  explicit Temporary(const rankfeed_crossencoder& m) : m_(m) {}
  ~Temporary() {
    if (stream_ != nullptr) m_.backend->stream_destroy(m_.ctx, stream_);
    for (void* memory : memory_) m_.backend->device_free(m_.ctx, memory);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void* Stream() {
    if (stream_ == nullptr) Check(m_.backend->stream_create(m_.ctx, &stream_), "making a stream");
    return stream_;
  }
  void* Memory(uint64_t bytes) {
    memory_.push_back(nullptr);
    Check(m_.backend->device_alloc(m_.ctx, bytes, &memory_.back()), "allocating device memory");
    return memory_.back();
  }

 private:
  const rankfeed_crossencoder& m_;
  void* stream_ = nullptr;
  std::vector<void*> memory_;
};

// One row of one token through the whole forward: drivers load kernels when they are first
// launched, and the library of matrix products looks for its algorithms. The first batch shall not
// pay for it, and what cannot run on this device shall be said here.
void WarmUp(const rankfeed_crossencoder& m) {
  WorkspacePlan plan;
  if (!PlanWorkspace(m.model, ScratchBytes(m, 1), 1, 1, &plan))
    throw ModelError(RANKFEED_E_LIMIT, "the workspace of one token is too large");
  const int32_t row[3] = {0, 0, 1};  // id 0; it begins at 0 and ends at 1
  Temporary temporary(m);
  void* const stream = temporary.Stream();
  auto* const on_device = static_cast<int32_t*>(temporary.Memory(sizeof row));
  void* const workspace = temporary.Memory(plan.bytes);
  auto* const logits = static_cast<float*>(temporary.Memory(m.model.config.labels * sizeof(float)));
  Check(m.backend->copy_async(m.ctx, on_device, row, sizeof row, stream), "copying to the device");
  rankfeed_packed_batch batch{};
  batch.struct_size = sizeof batch;
  batch.rows = batch.tokens = batch.max_seqlen = 1;
  batch.input_ids = on_device;
  batch.cu_seqlens = on_device + 1;
  const int32_t rc = Forward(*m.ops, m.ctx, stream, m.model, batch, plan, workspace, logits);
  const int32_t waited = m.backend->stream_synchronize(m.ctx, stream);
  Check(rc != RANKFEED_GPU_OK ? rc : waited, "running one token");
}

// Makes what is made of weights once.
void PrepareModel(rankfeed_crossencoder* m) {
  if (m->model.config.relative.span == 0) return;
  Temporary temporary(*m);
  void* const stream = temporary.Stream();
  const uint64_t scratch = ScratchBytes(*m, 1);
  const rankfeed_op_at at{m->ctx, stream, temporary.Memory(std::max<uint64_t>(scratch, 1)),
                          scratch};
  const int32_t rc = Prepare(*m->ops, at, m->model, static_cast<char*>(m->block));
  const int32_t waited = m->backend->stream_synchronize(m->ctx, stream);
  Check(rc != RANKFEED_GPU_OK ? rc : waited, "making what relative positions take");
}

void OpenModel(rankfeed_crossencoder* m, const char* path,
               const rankfeed_crossencoder_options& options) {
  m->backend = options.backend != nullptr ? options.backend : rankfeed_handoff_host_backend();
  if (m->backend->struct_size < sizeof(rankfeed_gpu_backend) ||
      m->backend->abi != RANKFEED_GPU_BACKEND_ABI) {
    throw ModelError(RANKFEED_E_STRUCT_SIZE,
                     "the backend was built for another version of this library");
  }
  m->executor = options.executor;
  m->ops = m->backend->ops;
  if (m->ops == nullptr && m->backend->dl_device_type == RANKFEED_DL_CPU) m->ops = HostOps();
  if (m->ops == nullptr || m->ops->struct_size < sizeof(rankfeed_gpu_ops) ||
      m->ops->abi != RANKFEED_GPU_OPS_ABI) {
    throw ModelError(RANKFEED_E_UNSUPPORTED,
                     std::string("backend ") + m->backend->name + " has no kernels");
  }
  m->on_host = m->ops == HostOps();
  if (m->executor != nullptr && !m->on_host) {
    throw ModelError(RANKFEED_E_ARGUMENT, "an executor serves the host backend only");
  }

  const ModelFiles files(path);
  bool bare = !files.modules().empty();
  m->model.config = ReadConfig(files.config(), files.config_name(), &bare);
  if (bare) ApplyModules(files.modules(), files.modules_name(), &m->model.config);
  const Safetensors stored = files.Tensors(bare);
  uint32_t dtype = options.dtype;
  if (dtype == RANKFEED_DTYPE_AUTO && m->on_host) dtype = RANKFEED_DTYPE_F32;
  const bool rounds = m->on_host && dtype == RANKFEED_DTYPE_BF16;
  if (rounds) {
    m->ops = HostOpsBfloat16();
    if (m->ops == nullptr)
      throw ModelError(RANKFEED_E_UNSUPPORTED,
                       "this CPU has no products of bfloat16 (x86's AVX512_BF16)");
    const ModelConfig& c = m->model.config;
    uint32_t widest = std::max({c.hidden, c.intermediate, c.embedding});
    for (const HeadStep& step : c.head) widest = std::max(widest, step.width);
    if (widest > kBfloat16Depth)
      throw ModelError(RANKFEED_E_UNSUPPORTED, "the model is too wide for bfloat16 on the host");
    dtype = RANKFEED_DTYPE_F32;  // of the weights: products round them
  }
  const Weights weights(stored, &m->model.config, dtype);
  m->model.dtype = weights.dtype();
  m->dtype = rounds ? uint32_t{RANKFEED_DTYPE_BF16} : m->model.dtype;
  if ((m->ops->dtypes >> m->model.dtype & 1u) == 0) {
    throw ModelError(RANKFEED_E_UNSUPPORTED, std::string("backend ") + m->backend->name +
                                                 " does not compute in the element type asked for");
  }
  m->model.offsets = weights.offsets();
  m->parameters = weights.parameters();
  m->note = weights.note();

  Check(m->backend->device_open(m->backend->self, options.device, &m->ctx), "opening the device");
  const uint64_t bytes = m->model.offsets.bytes;
  Check(m->ops->open(m->ctx), "making ready for matrix products");
  Check(m->backend->device_alloc(m->ctx, bytes, &m->block),
        "allocating device memory for the weights");
  m->model.block = static_cast<const char*>(m->block);
  if (m->backend->dl_device_type == RANKFEED_DL_CPU) {
    weights.Write(m->block);
    PrepareModel(m);  // of the matrices as they are in files
    m->model.packed = m->ops->pack != nullptr;
    for (const WeightOffsets::Matrix& w : m->model.offsets.products) {
      if (!m->model.packed) break;
      Check(m->ops->pack(m->ctx, static_cast<char*>(m->block) + w.at, w.n, w.k),
            "laying out the weights");
    }
    return;
  }
  // Written once in ordinary memory; the copy of pageable memory is slow and happens once.
  const std::unique_ptr<char[]> staged(new char[bytes]);
  weights.Write(staged.get());
  {
    Temporary temporary(*m);
    void* const stream = temporary.Stream();
    const int32_t rc = m->backend->copy_async(m->ctx, m->block, staged.get(), bytes, stream);
    const int32_t waited = m->backend->stream_synchronize(m->ctx, stream);
    Check(rc != RANKFEED_GPU_OK ? rc : waited, "copying the weights");
  }
  PrepareModel(m);
  WarmUp(*m);
  Check(m->graphs.Open(m->backend, m->ctx, options.graph_tokens), "making a stream for graphs");
}

}  // namespace

extern "C" {

rankfeed_status rankfeed_crossencoder_open(const char* path,
                                           const rankfeed_crossencoder_options* options,
                                           rankfeed_crossencoder** out,
                                           rankfeed_crossencoder_error* error) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (path == nullptr) return Fail(error, RANKFEED_E_ARGUMENT, "no path");
  rankfeed_crossencoder_options chosen{};
  if (options != nullptr) {
    if (options->struct_size != sizeof(*options)) {
      return Fail(error, RANKFEED_E_STRUCT_SIZE,
                  "struct_size of the options is not this library's");
    }
    chosen = *options;
  }
  if (chosen.dtype > RANKFEED_DTYPE_BF16 ||
      (chosen.executor != nullptr &&
       (chosen.executor->struct_size != sizeof(rankfeed_executor) ||
        chosen.executor->workers == 0 || chosen.executor->parallel_for == nullptr))) {
    return Fail(error, RANKFEED_E_ARGUMENT, "an option is out of range");
  }
  try {
    auto model = std::make_unique<rankfeed_crossencoder>();
    OpenModel(model.get(), path, chosen);
    *out = model.release();
    return RANKFEED_OK;
  } catch (const ModelError& failure) {
    return Fail(error, failure.status, failure.what());
  } catch (const std::bad_alloc&) {
    return Fail(error, RANKFEED_E_NO_MEMORY, "out of memory");
  } catch (const std::exception& failure) {
    return Fail(error, RANKFEED_E_IO, failure.what());
  }
}

void rankfeed_crossencoder_close(rankfeed_crossencoder* model) {
  delete model;
}

rankfeed_status rankfeed_crossencoder_get_info(const rankfeed_crossencoder* model,
                                               rankfeed_crossencoder_info* info) {
  if (model == nullptr || info == nullptr) return RANKFEED_E_ARGUMENT;
  const uint32_t size = info->struct_size;
  const bool oldest = size == offsetof(rankfeed_crossencoder_info, graphs);
  const bool older = size == offsetof(rankfeed_crossencoder_info, note);
  if (size != sizeof(*info) && !older && !oldest) return RANKFEED_E_STRUCT_SIZE;
  const ModelConfig& c = model->model.config;
  std::memset(info, 0, size);
  info->struct_size = size;
  info->dtype = model->dtype;
  info->vocab_size = c.vocab_size;
  info->hidden_size = c.hidden;
  info->layers = c.layers;
  info->heads = c.heads;
  info->intermediate_size = c.intermediate;
  info->labels = c.labels;
  info->max_positions = c.max_positions;
  info->max_row_tokens = c.max_row_tokens();
  info->type_vocab_size = c.type_vocab;
  info->pad_token_id = c.pad_id;
  info->parameters = model->parameters;
  info->weight_bytes = model->model.offsets.bytes;
  std::strncpy(info->backend, model->backend->name, sizeof(info->backend) - 1);
  model->ops->describe(model->ctx, info->gemm, sizeof(info->gemm));
  if (oldest) return RANKFEED_OK;
  const GraphCache::Counts counts = model->graphs.counts();
  info->graphs = counts.graphs;
  info->graph_launches = counts.launches;
  info->graph_failures = counts.failures;
  if (older) return RANKFEED_OK;
  model->note.copy(info->note, sizeof(info->note) - 1);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_crossencoder_workspace(const rankfeed_crossencoder* model, uint32_t rows,
                                                uint32_t tokens, uint32_t max_seqlen,
                                                rankfeed_mem_req* out) {
  if (model == nullptr || out == nullptr || rows == 0 || tokens == 0 || max_seqlen == 0 ||
      max_seqlen > tokens || max_seqlen > model->model.config.max_row_tokens()) {
    return RANKFEED_E_ARGUMENT;
  }
  out->alignment = kAlign;
  if (model->on_host) {
    HostPlan plan;
    if (!PlanHost(*model, rows, tokens, max_seqlen, &plan)) return RANKFEED_E_LIMIT;
    out->size = plan.bytes;
    return RANKFEED_OK;
  }
  WorkspacePlan plan;
  if (!PlanDevice(*model, model->graphs.on(), rows, tokens, max_seqlen, &plan))
    return RANKFEED_E_LIMIT;
  out->size = plan.bytes;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_crossencoder_score(const rankfeed_crossencoder* model,
                                            const rankfeed_packed_batch* batch, void* workspace,
                                            size_t workspace_size, float* logits) {
  return rankfeed_crossencoder_score_until(model, batch, nullptr, workspace, workspace_size,
                                           logits);
}

rankfeed_status rankfeed_crossencoder_score_until(const rankfeed_crossencoder* model,
                                                  const rankfeed_packed_batch* batch,
                                                  const uint32_t* cancel, void* workspace,
                                                  size_t workspace_size, float* logits) {
  if (const auto status = CheckBatch(model, batch, workspace, workspace_size, logits))
    return status;
  if (!model->on_host) return RANKFEED_E_STATE;
  if (!RowsAreSound(*batch)) return RANKFEED_E_ARGUMENT;
  if (!IdsAreSound(*model, *batch)) return RANKFEED_E_ID_RANGE;
  return RunOnHost(*model, *batch, cancel, static_cast<char*>(workspace), logits);
}

rankfeed_status rankfeed_crossencoder_enqueue(const rankfeed_crossencoder* model,
                                              const rankfeed_packed_batch* batch, void* stream,
                                              void* workspace, size_t workspace_size,
                                              float* logits) {
  if (const auto status = CheckBatch(model, batch, workspace, workspace_size, logits))
    return status;
  const RangeScope range("rankfeed: forward");
  if (model->on_host) {
    std::unique_ptr<Job> job(new (std::nothrow)
                                 Job{model, *batch, static_cast<char*>(workspace), logits});
    if (job == nullptr) return RANKFEED_E_NO_MEMORY;
    const int32_t rc = model->backend->launch_host(model->ctx, stream, RunJob, job.get());
    if (rc == RANKFEED_GPU_OK) (void)job.release();  // the stream has it
    return StatusOf(rc);
  }
  const bool graph = model->graphs.Takes(*batch);
  WorkspacePlan plan;
  if (!PlanDevice(*model, graph, batch->rows, batch->tokens, std::max(1u, batch->max_seqlen),
                  &plan)) {
    return RANKFEED_E_LIMIT;
  }
  const auto forward = [&](uint32_t parts) {
    return Forward(*model->ops, model->ctx, stream, model->model, *batch, plan, workspace, logits,
                   parts);
  };
  if (!graph) return StatusOf(forward(kForwardAll));
  if (const int32_t rc = forward(kForwardInputs)) return StatusOf(rc);
  if (!model->graphs.RunLayers(*model->ops, model->model, *batch, plan, workspace, stream)) {
    if (const int32_t rc = forward(kForwardLayers)) return StatusOf(rc);
  }
  return StatusOf(forward(kForwardScores));
}

rankfeed_status rankfeed_packed_batch_of(const rankfeed_batch* batch, const void* arena,
                                         uint32_t with_types, rankfeed_packed_batch* out) {
  if (batch == nullptr || arena == nullptr || out == nullptr || with_types > 1) {
    return RANKFEED_E_ARGUMENT;
  }
  // The struct's older size ends before generation, which is not needed here.
  const bool known_size = batch->struct_size == sizeof(*batch) ||
                          batch->struct_size == offsetof(rankfeed_batch, generation);
  if (!known_size || out->struct_size != sizeof(*out)) return RANKFEED_E_STRUCT_SIZE;
  // One dimension of `count` int32 inside the arena.
  const auto is_column = [&](const rankfeed_tensor& t, uint64_t count) {
    return t.dimensions == 1 && t.type == RANKFEED_INT32 &&
           t.shape[0] == static_cast<int64_t>(count) && t.bytes == count * sizeof(int32_t) &&
           t.byte_offset % alignof(int32_t) == 0 && t.bytes <= batch->arena_size &&
           t.byte_offset <= batch->arena_size - t.bytes;
  };
  if (batch->rows == 0 || batch->tokens > INT32_MAX ||
      !is_column(batch->input_ids, batch->tokens) ||
      !is_column(batch->cu_seqlens, uint64_t{batch->rows} + 1) ||
      (with_types != 0 && !is_column(batch->token_type_ids, batch->tokens))) {
    return RANKFEED_E_ARGUMENT;
  }
  const auto at = [&](const rankfeed_tensor& t) {
    return reinterpret_cast<const int32_t*>(static_cast<const char*>(arena) + t.byte_offset);
  };
  out->rows = batch->rows;
  out->tokens = static_cast<uint32_t>(batch->tokens);
  out->max_seqlen = batch->max_seqlen;
  out->input_ids = at(batch->input_ids);
  out->cu_seqlens = at(batch->cu_seqlens);
  out->token_type_ids = with_types != 0 ? at(batch->token_type_ids) : nullptr;
  return RANKFEED_OK;
}

}  // extern "C"
