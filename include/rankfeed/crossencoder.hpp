// SPDX-License-Identifier: MIT
// rankfeed/crossencoder.hpp: header-only C++20 wrapper over rankfeed/crossencoder.h. Batches and
// options stay the C structs. Throws nothing.
//
// Crossencoder: immutable, share freely; each call with a workspace of its own.
#ifndef RANKFEED_CROSSENCODER_HPP_
#define RANKFEED_CROSSENCODER_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rankfeed/crossencoder.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed {
inline namespace v1 {

// The packed batch of a rankfeed_batch whose arena lies at `arena` now.
inline Result<rankfeed_packed_batch> PackedBatchOf(const rankfeed_batch& batch, const void* arena,
                                                   bool with_types = false) {
  rankfeed_packed_batch packed{};
  packed.struct_size = sizeof(packed);
  const rankfeed_status status =
      rankfeed_packed_batch_of(&batch, arena, with_types ? 1 : 0, &packed);
  if (status == RANKFEED_OK) return packed;
  return detail::InWords(status, "packed batch");
}

class Crossencoder {
 public:
  // options.struct_size is set here. The error names the file, and the tensor or setting.
  static Result<Crossencoder> Open(const char* path, rankfeed_crossencoder_options options = {}) {
    options.struct_size = sizeof(options);
    rankfeed_crossencoder_error why{};
    why.struct_size = sizeof(why);
    rankfeed_crossencoder* model = nullptr;
    const rankfeed_status status = rankfeed_crossencoder_open(path, &options, &model, &why);
    if (status == RANKFEED_OK) return Crossencoder(model);
    Error error{status, {}};
    (void)detail::OrNoMemory([&] {
      error.message = why.message;
      return Error{};
    });
    return error;
  }

  rankfeed_crossencoder_info info() const {
    rankfeed_crossencoder_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_crossencoder_get_info(get(), &info);
    return info;
  }

  // Workspace of batches of up to this many rows, tokens and tokens per row.
  Result<rankfeed_mem_req> Workspace(uint32_t rows, uint32_t tokens, uint32_t max_seqlen) const {
    rankfeed_mem_req need{};
    const rankfeed_status status =
        rankfeed_crossencoder_workspace(get(), rows, tokens, max_seqlen, &need);
    if (status == RANKFEED_OK) return need;
    return detail::InWords(status, "workspace");
  }

  // Host backend: replaces the content of *logits by [rows][labels]. Both grow when a batch needs
  // it and are kept: after a batch of each size nothing allocates. cancel: not zero ends it,
  // see rankfeed_crossencoder_score_until.
  Error Score(const rankfeed_packed_batch& batch, AlignedBytes* workspace,
              std::vector<float>* logits, const uint32_t* cancel = nullptr) const {
    return detail::OrNoMemory([&] { return ScoreInto(batch, cancel, workspace, logits); });
  }

  // Any backend: queues the forward on `stream`. What the batch points to, workspace and logits
  // stay until the stream has come past, see rankfeed_crossencoder_enqueue.
  Error Enqueue(const rankfeed_packed_batch& batch, void* stream, void* workspace,
                size_t workspace_size, float* logits) const {
    return detail::InWords(
        rankfeed_crossencoder_enqueue(get(), &batch, stream, workspace, workspace_size, logits),
        "forward");
  }

  const rankfeed_crossencoder* get() const { return model_.get(); }

 private:
  explicit Crossencoder(rankfeed_crossencoder* model)
      : model_(model, rankfeed_crossencoder_close), labels_(info().labels) {}
  Error ScoreInto(const rankfeed_packed_batch& batch, const uint32_t* cancel, AlignedBytes* workspace,
                  std::vector<float>* logits) const {
    logits->clear();
    // Rows may all be empty.
    auto need = Workspace(batch.rows, std::max(1u, batch.tokens), std::max(1u, batch.max_seqlen));
    if (!need) return need.error();
    if (workspace->size() < need->size) {
      *workspace = AlignedBytes(*need);
      if (!*workspace) return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
    }
    logits->resize(size_t{batch.rows} * labels_);
    const rankfeed_status status = rankfeed_crossencoder_score_until(
        get(), &batch, cancel, workspace->data(), workspace->size(), logits->data());
    if (status != RANKFEED_OK) logits->clear();
    return detail::InWords(status, "scoring");
  }
  std::unique_ptr<rankfeed_crossencoder, void (*)(rankfeed_crossencoder*)> model_;
  uint32_t labels_;
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_CROSSENCODER_HPP_
