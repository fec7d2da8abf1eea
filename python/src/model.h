// SPDX-License-Identifier: MIT
// python/src/model.h: a vocabulary with what calls from many Python threads need: encoders, which
// serve one thread at a time, and an executor, which they share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inputs.h"
#include "memory.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/parallel.h"

namespace rankfeed::python {

// Tokens of one text, without special tokens.
struct Tokens {
  std::span<int32_t> ids;
  std::span<uint32_t> begin, end;  // when asked for
  rankfeed_status status = RANKFEED_OK;
};

// Tokens of the texts of one call. One block has room for those of ordinary texts; a range of texts with more has a block
// of its own.
class Tokenized {
 public:
  Tokenized() = default;
  Tokenized(std::span<const rankfeed_text> texts, bool with_offsets);
  const Tokens& operator[](size_t i) const { return texts_[i].tokens; }
  const Tokens& back() const { return texts_.back().tokens; }
  size_t size() const { return texts_.size(); }
  // Encodes texts [begin, end), of those that it was made for. Of disjoint ranges at once from any threads. *repeated: what
  // was encoded in vain, because it did not fit.
  void Encode(rankfeed_encoder* encoder, std::span<const rankfeed_text> texts, uint32_t flags, size_t begin, size_t end,
              RoadCounts* repeated);

 private:
  struct Block {
    Block() = default;
    Block(size_t room, bool with_offsets)
        : capacity(room), ids(new int32_t[room]), offsets(with_offsets ? new uint32_t[2 * room] : nullptr) {}
    size_t capacity = 0;
    std::unique_ptr<int32_t[]> ids;  // not cleared
    std::unique_ptr<uint32_t[]> offsets;  // begins, then ends
  };
  struct Text {
    Tokens tokens;
    size_t at = 0;  // where the room for it begins in the block
    Block own;      // of a range that begins with it
  };
  Tokens TokensAt(const Block& block, size_t at, size_t count) const;
  bool with_offsets_ = false;
  Block block_;
  std::vector<Text> texts_;
};

class Model {
 public:
  Model(const std::string& path, int32_t parity, const std::string& preset, Pages pages);

  // Once in a process: a forked child finds all models in a state that it can go on from.
  static void KeepAcrossFork();

  const rankfeed_model* get() const { return vocabulary_.model(); }
  const rankfeed_model_info& info() const { return info_; }
  const void* image(size_t* size) const { return vocabulary_.image(size); }
  rankfeed_placement placement() const { return vocabulary_.placement(); }
  std::string note() const { return vocabulary_.note(); }

  // Encoders for one call, given back when dropped. One per worker of executor(), or a single one.
  class Lease {
   public:
    Lease(Model* model, size_t longest_text, bool with_offsets, bool parallel);
    ~Lease();
    Lease(const Lease&) = delete;
    std::span<rankfeed_encoder* const> encoders() const { return pointers_; }
    uint32_t max_text_bytes() const { return max_text_bytes_; }
    // Of what these encoders have encoded, for Model::Roads(): that does not count.
    void Discount(const RoadCounts& roads) { Add(roads, &before_); }

   private:
    Model* model_;
    uint32_t max_text_bytes_ = 0;
    bool with_offsets_;
    std::vector<Encoder> encoders_;
    std::vector<rankfeed_encoder*> pointers_;
    RoadCounts before_{};  // of these encoders, when they were taken
  };

  // Threads of batches; made at the first use. Null when threads is 1, and in a forked child of a
  // process that has used some: the calling thread works alone there.
  const rankfeed_executor* executor();
  void set_threads(uint32_t threads);
  // As in rankfeed_limits; set before it is shared.
  void set_max_stretch_bytes(uint32_t bytes) { max_stretch_bytes_ = bytes; }
  uint32_t max_stretch_bytes() const { return max_stretch_bytes_; }
  // For texts of this vocabulary; set before it is shared.
  void set_invalid_text(uint32_t policy);
  Inputs NewInputs() const { return Inputs(invalid_text_, info_.id_count); }
  RoadCounts Roads();  // of the calls that have ended
  size_t Trim();  // of idle encoders; bytes of the pages handed back

  // One result per text, in order; a text that fails has its status and no tokens.
  Tokenized Tokenize(std::span<const rankfeed_text> texts, uint32_t flags, bool with_offsets);

  // The same, throwing for the first text that failed.
  Tokenized TokenizeAll(std::span<const rankfeed_text> texts, uint32_t flags, bool with_offsets);

  // A row without its texts: the special tokens before, between and after them, in order, and the token types
  // of the texts.
  struct Template {
    struct Special {
      int32_t id, type;
    };
    std::vector<Special> specials[3];  // of a single text, the first two
    int32_t query_type = 0, document_type = 0;
    bool document_first = false;  // of a pair
  };
  const Template& TemplateOf(bool pair, bool add_special_tokens);

 private:
  struct Idle {
    uint32_t max_text_bytes;
    bool with_offsets;
    Encoder encoder;
  };
  Template ReadTemplate(bool pair, bool add_special_tokens) const;
  Vocabulary vocabulary_;
  rankfeed_model_info info_{};
  std::atomic<InvalidText> invalid_text_ = InvalidText::kReference;
  // The lock guards the members below in all models. Nobody waits for the GIL while it is held, so fork can wait for it
  // (KeepAcrossFork): a child would wait for ever for another thread's turn to end.
  inline static std::mutex mutex_;
  std::vector<Idle> idle_;
  RoadCounts roads_{};
  std::optional<Template> templates_[2][2];  // single and pair; without special tokens and with them; read once
  uint32_t threads_ = 0;
  uint32_t max_stretch_bytes_ = 0;
  std::shared_ptr<rankfeed_parallel> parallel_;
};

// Fields of rankfeed_rerank_options from a dict of their names.
rankfeed_rerank_options OptionsOf(const nb::dict& dict);

}  // namespace rankfeed::python
