// SPDX-License-Identifier: MIT
// rerank/token_store.h: the ids of one request's documents, between tokenizing and writing rows.
//
// Each worker tokenizes into its own staging area, plans the document's rows, takes room in the
// common store with one atomic addition and copies the ids that rows will use there. Where a
// document's ids end up depends on the schedule, what they are does not, and neither does whether
// the store suffices: only the sum counts. Past its capacity it keeps counting, so the need is
// exact. Documents that come as ids are not copied. No locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "rankfeed/rerank.h"
#include "rerank/rows.h"
#include "rerank/stop.h"
#include "rerank/templates/row_template.h"

namespace rankfeed::rerank {

// Ids with their byte offsets; the latter may be null.
struct TokenArray {
  int32_t* ids = nullptr;
  uint32_t *begin = nullptr, *end = nullptr;

  void Carve(Layout& layout, size_t count, bool with_offsets) {
    ids = layout.Take<int32_t>(count);
    begin = with_offsets ? layout.Take<uint32_t>(count) : nullptr;
    end = with_offsets ? layout.Take<uint32_t>(count) : nullptr;
  }
};

// Tokenized sequence to read from; ids[0] is token number `first` of the sequence.
struct TokenView {
  const int32_t* ids = nullptr;
  const uint32_t *begin = nullptr, *end = nullptr;
  uint32_t first = 0;
  uint32_t count = 0;  // tokens of the whole sequence
};

struct Document {
  TokenView tokens;
  DocumentRows rows;
  uint64_t first_row;  // of this document, counting rows in the documents' order
};

// The maker of tokens; tests put another one in its place. Each function is the one of
// encode::TextEncoder by that name.
struct Tokenizer {
  rankfeed_status (*encode_text)(rankfeed_encoder*, rankfeed_text, const rankfeed_encode_options*,
                                 rankfeed_encoding*);
  rankfeed_status (*encode_texts)(rankfeed_encoder*, const rankfeed_text*, size_t,
                                  const rankfeed_encode_options*, rankfeed_encodings*);
};
extern const Tokenizer kTokenizer;

struct Worker {
  rankfeed_encoder* encoder;
  TokenArray staging;
  char* text;  // of a row template: documents with what is tokenized together with them
};

class TokenStore {
 public:
  struct Sizes {
    uint64_t max_tokens;   // of the store
    uint32_t text_tokens;  // most tokens one text can have: query and staging areas
    uint32_t max_text_bytes;
    uint32_t workers;
    bool with_offsets;
    bool joins;  // texts with others, of a row template
  };

  // Measures or carves; sizes are kept.
  void Carve(Layout& layout, const Sizes& sizes);
  void SetEncoders(const Tokenizer& tokenizer, rankfeed_encoder* const* encoders);
  uint32_t workers() const { return sizes_.workers; }

  // Forgets all documents.
  void Reset() { used_.store(0, std::memory_order_relaxed); }
  // Tokens stored so far, or needed when above max_tokens.
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool full() const { return used() > sizes_.max_tokens; }

  // Tokenizes text by itself into the first worker's staging area, valid until the next call.
  rankfeed_status EncodeText(rankfeed_text text, uint32_t flags, const int32_t** ids,
                             uint32_t* count);

  // The query, kept until the next Reset. row (nullable): what is tokenized together with it, and with the
  // documents that follow.
  rankfeed_status SetQuery(const rankfeed_source& query, const rankfeed_template* row,
                           rankfeed_text instruction, uint32_t flags, TokenView* out);
  // Bytes of what stands before a document in its text.
  size_t before_bytes() const { return before_.size(); }

  // Documents [begin, end) of a request, on one worker.
  struct Job {
    const rankfeed_source* sources;
    rankfeed_status* status;  // written for each document
    Document* documents;
    const RowRules* rules;
    uint32_t query_tokens;
    uint32_t flags;
    Stop* stop;
  };
  void Tokenize(const Job& job, size_t begin, size_t end, uint32_t worker);

 private:
  // The document with what is beside it, at `to` unless there is nothing.
  rankfeed_text Joined(rankfeed_text document, char* to) const;
  bool AloneIsJoined() const { return before_.size() + after_.size() != 0; }
  rankfeed_status Encode(rankfeed_text text, uint32_t flags, uint32_t worker, uint32_t* count);
  // Texts that are encoded together at most: what short ones wait for arrives while others work.
  static constexpr size_t kTogether = 32;
  size_t TokenizeTexts(const Job& job, size_t begin, size_t end, uint32_t worker);
  rankfeed_status TokenizeOne(const Job& job, const rankfeed_source& source, uint32_t worker,
                              Document* out);
  rankfeed_status Keep(const Job& job, const TokenArray& tokens, uint32_t count, Document* out);

  Sizes sizes_ = {};
  Tokenizer tokenizer_ = {};
  Worker* workers_ = nullptr;
  TokenArray query_, store_;
  char* beside_ = nullptr;             // [2 * max_text_bytes], where texts are joined
  std::string_view before_, after_;    // of a document, in beside_
  bool needs_text_ = false;            // documents' ids depend on the query
  std::atomic<uint64_t> used_{0};
};

}  // namespace rankfeed::rerank
