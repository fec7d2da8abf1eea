// SPDX-License-Identifier: MIT
// rerank/token_store.cc: tokenizing documents and keeping what their rows need.
#include "rerank/token_store.h"

#include <cstring>

#include "encode/text_encoder.h"

namespace rankfeed::rerank {
namespace {

template <class T>
void CopyColumn(T* to, const T* from, size_t count) {
  if (to != nullptr && count != 0) std::memcpy(to, from, count * sizeof(T));
}

bool SourceIsGood(const rankfeed_source& source) {
  if (source.ids != nullptr) return true;
  return source.id_count == 0 && (source.text.data != nullptr || source.text.size == 0);
}

TokenView ViewOfIds(const rankfeed_source& source) {
  const bool offsets = source.offset_begin != nullptr && source.offset_end != nullptr;
  return {source.ids, offsets ? source.offset_begin : nullptr,
          offsets ? source.offset_end : nullptr, 0, source.id_count};
}

}  // namespace

const Tokenizer kTokenizer = {
    [](rankfeed_encoder* encoder, rankfeed_text text, const rankfeed_encode_options* options,
       rankfeed_encoding* io) {
      return encode::TextEncoder(*encoder, *options).EncodeText(text, io);
    },
    [](rankfeed_encoder* encoder, const rankfeed_text* texts, size_t count,
       const rankfeed_encode_options* options, rankfeed_encodings* io) {
      return encode::TextEncoder(*encoder, *options).EncodeTexts({texts, count}, io);
    }};

void TokenStore::Carve(Layout& layout, const Sizes& sizes) {
  sizes_ = sizes;
  workers_ = layout.Take<Worker>(sizes.workers);
  query_.Carve(layout, sizes.text_tokens, false);
  const size_t text_bytes = sizes.joins ? sizes.max_text_bytes : 0;
  beside_ = layout.Take<char>(2 * text_bytes);
  store_.Carve(layout, sizes.max_tokens, sizes.with_offsets);
  for (uint32_t i = 0; i < sizes.workers; ++i) {
    TokenArray staging;
    staging.Carve(layout, sizes.text_tokens, sizes.with_offsets);
    char* const text = layout.Take<char>(text_bytes);
    if (workers_ != nullptr) workers_[i] = {nullptr, staging, text};
  }
}

void TokenStore::SetEncoders(const Tokenizer& tokenizer, rankfeed_encoder* const* encoders) {
  tokenizer_ = tokenizer;
  for (uint32_t i = 0; i < sizes_.workers; ++i) workers_[i].encoder = encoders[i];
}

rankfeed_status TokenStore::Encode(rankfeed_text text, uint32_t flags, uint32_t worker,
                                   uint32_t* count) {
  *count = 0;
  if (text.size == 0 && sizes_.workers == 0) return RANKFEED_OK;  // ids only, and none of them
  if (worker >= sizes_.workers) return RANKFEED_E_ARGUMENT;
  if (text.size > sizes_.max_text_bytes) return RANKFEED_E_LIMIT;
  const Worker& own = workers_[worker];
  const rankfeed_encode_options options = {sizeof(options), flags, {}};
  rankfeed_encoding out = {};
  out.struct_size = sizeof(out);
  out.capacity = sizes_.text_tokens;
  out.input_ids = own.staging.ids;
  out.offset_begin = own.staging.begin;
  out.offset_end = own.staging.end;
  const rankfeed_status status = tokenizer_.encode_text(own.encoder, text, &options, &out);
  *count = out.count;
  return status;
}

rankfeed_status TokenStore::EncodeText(rankfeed_text text, uint32_t flags, const int32_t** ids,
                                       uint32_t* count) {
  const rankfeed_status status = Encode(text, flags, 0, count);
  if (status == RANKFEED_OK && *count != 0) *ids = workers_[0].staging.ids;
  return status;
}

rankfeed_text TokenStore::Joined(rankfeed_text document, char* to) const {
  if (!AloneIsJoined()) return document;
  char* at = to;
  for (const std::string_view part :
       {before_, std::string_view(document.data, document.size), after_}) {
    CopyColumn(at, part.data(), part.size());
    at += part.size();
  }
  return {to, static_cast<size_t>(at - to)};
}

rankfeed_status TokenStore::SetQuery(const rankfeed_source& query, const rankfeed_template* row,
                                     rankfeed_text instruction, uint32_t flags, TokenView* out) {
  *out = {};
  before_ = after_ = {};
  needs_text_ = false;
  if (!SourceIsGood(query)) return RANKFEED_E_ARGUMENT;
  rankfeed_text text = query.text;
  if (row != nullptr && sizes_.workers != 0) {  // without workers, all texts are ids
    needs_text_ = row->info.query_is_joined != 0;
    if (row->info.max_documents != 0) return RANKFEED_E_UNSUPPORTED;  // its rows come whole
    if (needs_text_ && query.ids != nullptr) return RANKFEED_E_UNSUPPORTED;
    const templates::Roles roles = row->Of(query.text, instruction);
    const size_t most = sizes_.max_text_bytes;
    templates::TextWriter writer(workers_[0].text, most), before(beside_, most), after(beside_ + most, most);
    if (query.ids == nullptr) row->Write(row->query, roles, &writer);
    row->Write(row->before_document(), roles, &before);
    row->Write(row->after_document(), roles, &after);
    if (!writer.ok() || !before.ok() || !after.ok()) return RANKFEED_E_LIMIT;
    text = {workers_[0].text, writer.size()};
    before_ = {beside_, before.size()};
    after_ = {beside_ + most, after.size()};
  }
  if (query.ids != nullptr) {
    *out = ViewOfIds(query);
    return RANKFEED_OK;
  }
  uint32_t count = 0;
  const rankfeed_status status = Encode(text, flags, 0, &count);
  if (status != RANKFEED_OK) return status;
  if (count != 0) CopyColumn(query_.ids, workers_[0].staging.ids, count);
  *out = {query_.ids, nullptr, nullptr, 0, count};
  return RANKFEED_OK;
}

rankfeed_status TokenStore::TokenizeOne(const Job& job, const rankfeed_source& source,
                                        uint32_t worker, Document* out) {
  if (!SourceIsGood(source)) return RANKFEED_E_ARGUMENT;
  if (source.ids != nullptr) {
    if (needs_text_) return RANKFEED_E_UNSUPPORTED;
    out->tokens = ViewOfIds(source);
    out->rows = PlanDocument(*job.rules, job.query_tokens, out->tokens.count);
    return out->rows.status;
  }
  rankfeed_text text = source.text;
  if (AloneIsJoined()) {  // there are workers
    if (worker >= sizes_.workers) return RANKFEED_E_ARGUMENT;
    const size_t most = sizes_.max_text_bytes;
    if (text.size > most || before_.size() + after_.size() > most - text.size) return RANKFEED_E_LIMIT;
    text = Joined(text, workers_[worker].text);
  }
  uint32_t count;
  const rankfeed_status status = Encode(text, job.flags, worker, &count);
  return status == RANKFEED_OK ? Keep(job, workers_[worker].staging, count, out) : status;
}

// Plans the rows of a document and keeps what they need of its tokens.
rankfeed_status TokenStore::Keep(const Job& job, const TokenArray& tokens, uint32_t count,
                                 Document* out) {
  out->tokens.count = count;
  out->rows = PlanDocument(*job.rules, job.query_tokens, count);
  if (out->rows.status != RANKFEED_OK) return out->rows.status;
  const Range used = out->rows.used();
  const uint64_t place = used_.fetch_add(used.size(), std::memory_order_relaxed);
  if (place + used.size() > sizes_.max_tokens) return RANKFEED_OK;  // full() says so
  const auto keep = [&](auto* to, const auto* from) {
    if (to == nullptr) return to;
    CopyColumn(to + place, from + used.begin, used.size());
    return to + place;
  };
  out->tokens = {keep(store_.ids, tokens.ids), keep(store_.begin, tokens.begin),
                 keep(store_.end, tokens.end), used.begin, count};
  return RANKFEED_OK;
}

// The texts from begin on that fit together into the staging area; returns how many were done.
size_t TokenStore::TokenizeTexts(const Job& job, size_t begin, size_t end, uint32_t worker) {
  // The caller may cancel before every document.
  if (job.stop->controlled() || worker >= sizes_.workers) return 0;
  rankfeed_text texts[kTogether];
  uint32_t cu_seqlens[kTogether + 1];
  size_t count = 0;
  size_t left = sizes_.max_text_bytes;
  const size_t beside = before_.size() + after_.size();
  const Worker& own = workers_[worker];
  for (; count < kTogether && begin + count < end; ++count) {
    const rankfeed_source& source = job.sources[begin + count];
    if (!SourceIsGood(source) || source.ids != nullptr) break;
    if (source.text.size > left || beside > left - source.text.size) break;
    texts[count] = Joined(source.text, own.text + (sizes_.max_text_bytes - left));
    left -= source.text.size + beside;
  }
  if (count < 2) return 0;
  const rankfeed_encode_options options = {sizeof(options), job.flags, {}};
  rankfeed_encodings out = {sizeof(out), sizes_.text_tokens, own.staging.ids, cu_seqlens, 0, 0,
                            own.staging.begin, own.staging.end};
  const rankfeed_status status =
      tokenizer_.encode_texts(own.encoder, texts, count, &options, &out);
  size_t done = 0;
  for (; done < out.text_count && cu_seqlens[done + 1] <= sizes_.text_tokens; ++done) {
    const uint32_t first = cu_seqlens[done];
    const TokenArray tokens = {
        own.staging.ids + first,
        own.staging.begin != nullptr ? own.staging.begin + first : nullptr,
        own.staging.end != nullptr ? own.staging.end + first : nullptr};
    Document document = {};
    job.status[begin + done] =
        Keep(job, tokens, cu_seqlens[done + 1] - first, &document);
    if (job.status[begin + done] != RANKFEED_OK) document.rows.count = 0;
    job.documents[begin + done] = document;
  }
  if (done == out.text_count && done < count && status != RANKFEED_OK) {
    job.status[begin + done] = status;
    job.documents[begin + done] = {};
    ++done;
  }
  return done;
}

void TokenStore::Tokenize(const Job& job, size_t begin, size_t end, uint32_t worker) {
  for (size_t i = begin; i < end;) {
    if (job.stop->Check()) return;
    if (const size_t done = TokenizeTexts(job, i, end, worker)) {
      i += done;
      continue;
    }
    Document document = {};
    job.status[i] = TokenizeOne(job, job.sources[i], worker, &document);
    if (job.status[i] != RANKFEED_OK) document.rows.count = 0;
    job.documents[i++] = document;
  }
}

}  // namespace rankfeed::rerank
