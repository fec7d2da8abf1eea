// SPDX-License-Identifier: MIT
// corpus_builder/capi.cc: rankfeed/corpus_writer.h over the writer. Texts are tokenized here; no
// exception leaves.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "builder/base/model_spec.h"
#include "corpus_builder/guarded.h"
#include "corpus_builder/rewrite.h"
#include "corpus_builder/writer.h"
#include "rankfeed/corpus_writer.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/template.h"

namespace {

using rankfeed::builder::BuildError;
using rankfeed::corpus_builder::Guarded;
using rankfeed::corpus_builder::Report;
using rankfeed::corpus_builder::Writer;

void Check(rankfeed_status status) {
  if (status != RANKFEED_OK) throw BuildError(status, rankfeed_status_message(status));
}

// Tokenizes texts of any length; the encoder is made again, larger, when a longer one comes.
class TextEncoder {
 public:
  TextEncoder(const rankfeed_model* model, uint32_t flags, bool offsets) : model_(model), offsets_(offsets) {
    options_.flags = flags;
  }
  bool has_model() const { return model_ != nullptr; }

  const rankfeed::Encoding& Encode(rankfeed_text text) {
    if (!encoder_ || text.size > max_bytes_) Grow(text.size);
    const rankfeed_status status = encoder_->Encode({text.data, text.size}, options_, &encoding_).status;
    if (status == RANKFEED_E_LIMIT) {
      throw BuildError(status, "a text ", rankfeed::detail::StretchTooLong(model_, text.size, 0),
                       ", in the rankfeed_limits of an encoder whose ids are put instead");
    }
    Check(status);
    return encoding_;
  }

 private:
  void Grow(size_t text_bytes) {
    const size_t most = rankfeed_max_text_bytes(model_);
    if (text_bytes > most) {
      throw BuildError(RANKFEED_E_LIMIT, "a text has ", text_bytes, " bytes; the limit of the vocabulary is ", most);
    }
    while (max_bytes_ < text_bytes) max_bytes_ *= 2;
    max_bytes_ = std::min(max_bytes_, most);
    encoder_.reset();
    auto made = rankfeed::Encoder::Create(model_, static_cast<uint32_t>(max_bytes_), offsets_, 0);
    if (!made) Check(made.error().status);
    encoder_.emplace(std::move(*made));
  }

  const rankfeed_model* model_;
  bool offsets_;
  rankfeed_encode_options options_{.struct_size = sizeof(rankfeed_encode_options)};
  size_t max_bytes_ = 64 << 10;
  std::optional<rankfeed::Encoder> encoder_;
  rankfeed::Encoding encoding_;
};

// Throws unless the store belongs to the model.
void CheckVocabulary(const char* path, const rankfeed::corpus::Header& header,
                     const rankfeed_model_info& info, uint32_t encode_flags, uint64_t template_hash) {
  if (header.parity != info.parity || header.id_count != info.id_count ||
      header.encode_flags != encode_flags || header.template_hash != template_hash ||
      !std::equal(std::begin(info.config_hash), std::end(info.config_hash), header.config_hash)) {
    throw BuildError(RANKFEED_E_VOCABULARY,
                     path, ": ", rankfeed_status_message(RANKFEED_E_VOCABULARY));
  }
}

}  // namespace

struct rankfeed_corpus_writer {
  rankfeed_corpus_writer(Writer&& opened, const rankfeed_model* model, const rankfeed_template* row)
      : row_template(row), writer(std::move(opened)),
        encoder(model, writer.header().encode_flags,
                (writer.header().flags & rankfeed::corpus::kHasOffsets) != 0) {}
  // The text that is tokenized for a document.
  rankfeed_text TextOf(rankfeed_text document) {
    if (row_template == nullptr) return document;
    size_t size = 0;
    const auto write = [&] {
      return rankfeed_template_document(row_template, {}, {}, document, joined.data(), joined.size(), &size, nullptr);
    };
    if (write() == RANKFEED_E_OUTPUT_SIZE) {
      joined.resize(size);
      (void)write();
    }
    return {joined.data(), size};
  }
  const rankfeed_template* row_template;
  std::string joined;
  Writer writer;
  TextEncoder encoder;
};

rankfeed_status rankfeed_corpus_writer_open(const char* path, const rankfeed_model* model,
                                            const rankfeed_corpus_writer_options* options,
                                            rankfeed_corpus_writer** out,
                                            rankfeed_builder_error* error) {
  if (out == nullptr) return Report(error, RANKFEED_E_ARGUMENT, "out is null");
  *out = nullptr;
  // The size of programs compiled before the field was there.
  constexpr size_t kWithoutTemplate = offsetof(rankfeed_corpus_writer_options, row_template);
  if (options != nullptr && options->struct_size != sizeof(*options) && options->struct_size != kWithoutTemplate) {
    return Report(error, RANKFEED_E_STRUCT_SIZE);
  }
  rankfeed_corpus_writer_options o = {};
  if (options != nullptr) std::memcpy(&o, options, options->struct_size);
  rankfeed_template_info row{};
  row.struct_size = sizeof(row);
  constexpr uint32_t kFlags =
      RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  if (path == nullptr || path[0] == '\0' || o.mode > RANKFEED_CORPUS_APPEND ||
      (o.encode_flags & ~kFlags) != 0 || o.with_offsets > 1 ||
      (o.row_template != nullptr && rankfeed_template_get_info(o.row_template, &row) != RANKFEED_OK) ||
      (model == nullptr && o.mode == RANKFEED_CORPUS_CREATE) ||
      (model != nullptr && rankfeed_model_get_info(model, &info) != RANKFEED_OK)) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  if (row.query_is_joined != 0) {
    return Report(error, RANKFEED_E_UNSUPPORTED, "the row template joins the query to a document, whose ids alone are no use");
  }
  return Guarded(error, [&] {
    if (o.mode == RANKFEED_CORPUS_CREATE) {
      const auto header = rankfeed::corpus_builder::MakeHeader(
          info.parity, info.id_count, info.config_hash, o.encode_flags, o.with_offsets != 0, row.hash);
      *out = new rankfeed_corpus_writer(Writer::Create(path, header), model, o.row_template);
      return;
    }
    Writer writer = Writer::Append(path);
    if (model != nullptr) CheckVocabulary(path, writer.header(), info, o.encode_flags, row.hash);
    *out = new rankfeed_corpus_writer(std::move(writer), model, o.row_template);
  });
}

rankfeed_status rankfeed_corpus_writer_put(rankfeed_corpus_writer* writer, rankfeed_text id,
                                           const rankfeed_source* source,
                                           rankfeed_builder_error* error) {
  if (writer == nullptr || id.data == nullptr || source == nullptr ||
      (source->ids == nullptr && source->text.data == nullptr && source->text.size != 0) ||
      (source->ids == nullptr && !writer->encoder.has_model())) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  return Guarded(error, [&] {
    const std::string_view key(id.data, id.size);
    if (source->ids != nullptr) {
      const size_t begins = source->offset_begin != nullptr ? source->id_count : 0;
      const size_t ends = source->offset_end != nullptr ? source->id_count : 0;
      writer->writer.Put(key, {source->ids, source->id_count}, {source->offset_begin, begins},
                         {source->offset_end, ends});
      return;
    }
    const rankfeed::Encoding& e = writer->encoder.Encode(writer->TextOf(source->text));
    writer->writer.Put(key, e.input_ids, e.offset_begin, e.offset_end);
  });
}

rankfeed_status rankfeed_corpus_writer_remove(rankfeed_corpus_writer* writer, rankfeed_text id,
                                              rankfeed_builder_error* error) {
  if (writer == nullptr || id.data == nullptr) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  return Guarded(error, [&] { writer->writer.Remove({id.data, id.size}); });
}

rankfeed_status rankfeed_corpus_writer_commit(rankfeed_corpus_writer* writer,
                                              rankfeed_builder_error* error) {
  if (writer == nullptr) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  return Guarded(error, [&] { writer->writer.Commit(); });
}

void rankfeed_corpus_writer_close(rankfeed_corpus_writer* writer) {
  delete writer;
}

rankfeed_status rankfeed_corpus_compact(const char* path, rankfeed_builder_error* error) {
  if (path == nullptr) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  return Guarded(error, [&] { rankfeed::corpus_builder::Compact(path); });
}

rankfeed_status rankfeed_corpus_merge(const char* const* sources, size_t source_count,
                                      const char* path, rankfeed_builder_error* error) {
  if (path == nullptr || (source_count != 0 && sources == nullptr) ||
      std::any_of(sources, sources + source_count, [](const char* s) { return s == nullptr; })) {
    return Report(error, RANKFEED_E_ARGUMENT);
  }
  return Guarded(error, [&] {
    const std::vector<std::string> names(sources, sources + source_count);
    rankfeed::corpus_builder::MergeStores(names, path);
  });
}
