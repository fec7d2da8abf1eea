// SPDX-License-Identifier: MIT
// capi/template.cc: argument checks around row templates.
#include "rankfeed/template.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/layout.h"
#include "encode/encoder.h"
#include "image/model.h"
#include "rerank/templates/row_template.h"

namespace {

using rankfeed::Layout;
using namespace rankfeed::templates;

// This tells whether the template was initialized, and whether there is a place for so many bytes.
bool Good(const rankfeed_template* row, const void* out = nullptr, size_t capacity = 0) {
  return row != nullptr && row->magic == kTemplateMagic && (out != nullptr || capacity == 0);
}

}  // namespace

rankfeed_status rankfeed_template_preset(const char* name, rankfeed_row_template* out) {
  if (name == nullptr || out == nullptr) return RANKFEED_E_ARGUMENT;
  for (const rankfeed_row_template& row : Presets()) {
    if (std::strcmp(row.name.data, name) != 0) continue;
    *out = row;
    return RANKFEED_OK;
  }
  return RANKFEED_E_NOT_FOUND;
}

const char* rankfeed_template_preset_name(uint32_t i) {
  return i < Presets().size() ? Presets()[i].name.data : nullptr;
}

rankfeed_status rankfeed_template_mem_req(const rankfeed_model* model, const rankfeed_row_template* row,
                                          rankfeed_mem_req* out) {
  const bool given = out != nullptr && model != nullptr && model->magic == rankfeed::kModelMagic && row != nullptr;
  if (!given) return RANKFEED_E_ARGUMENT;
  if (row->struct_size != sizeof(*row)) return RANKFEED_E_STRUCT_SIZE;
  if ((row->parts == nullptr) != (row->part_count == 0) || (row->answers == nullptr) != (row->answer_count == 0) ||
      !IsGood(row->instruction) || !IsGood(row->pad) ||
      !std::all_of(row->answers, row->answers + row->answer_count, IsGood)) {
    return RANKFEED_E_ARGUMENT;
  }
  Layout layout(nullptr);
  layout.Take<rankfeed_template>(1);
  if (!RowTemplate().Carve(*model, *row, layout)) return RANKFEED_E_LIMIT;
  *out = {layout.size(), Layout::kAlignment};
  return RANKFEED_OK;
}

rankfeed_status rankfeed_template_init(const rankfeed_model* model, const rankfeed_row_template* row,
                                       rankfeed_encoder* encoder, void* storage, size_t storage_size,
                                       rankfeed_template** out, const char** problem, uint32_t* part) {
  if (problem != nullptr) *problem = nullptr;
  if (part != nullptr) *part = 0;
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  rankfeed_mem_req need;
  if (const rankfeed_status status = rankfeed_template_mem_req(model, row, &need)) return status;
  const bool fits = encoder != nullptr && encoder->magic == rankfeed::kEncoderMagic && encoder->model == model;
  if (!fits || storage == nullptr) return RANKFEED_E_ARGUMENT;
  if (reinterpret_cast<uintptr_t>(storage) % need.alignment != 0) return RANKFEED_E_ALIGNMENT;
  if (storage_size < need.size) return RANKFEED_E_WORKSPACE_SIZE;
  Layout layout(storage);
  auto* made = new (layout.Take<rankfeed_template>(1)) rankfeed_template;
  made->Carve(*model, *row, layout);  // succeeds as it measured above
  Refusal why;
  const rankfeed_status status = made->Init(*model, *row, *encoder, &why);
  if (problem != nullptr) *problem = why.rule;
  if (part != nullptr) *part = why.part;
  if (status == RANKFEED_OK) *out = made;
  return status;
}

rankfeed_status rankfeed_template_get_info(const rankfeed_template* row, rankfeed_template_info* info) {
  if (!Good(row) || info == nullptr) return RANKFEED_E_ARGUMENT;
  if (info->struct_size != sizeof(*info)) return RANKFEED_E_STRUCT_SIZE;
  *info = row->info;
  info->struct_size = sizeof(*info);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_template_options(const rankfeed_template* row, uint32_t max_length,
                                          rankfeed_rerank_options* options) {
  if (!Good(row) || options == nullptr) return RANKFEED_E_ARGUMENT;
  if (options->struct_size != sizeof(*options)) return RANKFEED_E_STRUCT_SIZE;
  options->template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options->pair_template = &row->pair;
  options->truncation = row->rules.truncation;
  options->max_length = max_length != 0 || row->info.max_documents != 0 ? max_length : row->info.max_length;
  row->Limits(options->max_length, &options->max_query_tokens, &options->max_tokens_per_doc);
  if (options->layout == RANKFEED_PADDED) {
    options->padding_side = RANKFEED_LEFT;
    options->pad_to_multiple_of = row->rules.pad_to_multiple_of;
  }
  return RANKFEED_OK;
}

rankfeed_status rankfeed_template_query(const rankfeed_template* row, rankfeed_text query,
                                        rankfeed_text instruction, char* out, size_t capacity,
                                        size_t* size) {
  const bool good = Good(row, out, capacity) && size != nullptr && IsGood(query) && IsGood(instruction);
  if (!good) return RANKFEED_E_ARGUMENT;
  TextWriter writer(out, capacity);
  row->Write(row->query, row->Of(query, instruction), &writer);
  *size = writer.size();
  return writer.ok() ? RANKFEED_OK : RANKFEED_E_OUTPUT_SIZE;
}

rankfeed_status rankfeed_template_document(const rankfeed_template* row, rankfeed_text query,
                                           rankfeed_text instruction, rankfeed_text document, char* out,
                                           size_t capacity, size_t* size, size_t* document_begin) {
  if (!Good(row, out, capacity) || size == nullptr || row->info.max_documents != 0 || !IsGood(query) ||
      !IsGood(instruction) || !IsGood(document)) {
    return RANKFEED_E_ARGUMENT;
  }
  const Roles roles = row->Of(query, instruction, document);
  TextWriter writer(out, capacity);
  row->Write(row->before_document(), roles, &writer);
  if (document_begin != nullptr) *document_begin = writer.size();
  row->Write(row->document.subspan(row->document_at), roles, &writer);
  *size = writer.size();
  return writer.ok() ? RANKFEED_OK : RANKFEED_E_OUTPUT_SIZE;
}

rankfeed_status rankfeed_template_list(const rankfeed_template* row, rankfeed_encoder* encoder, uint32_t flags,
                                       rankfeed_text query, rankfeed_text instruction,
                                       const rankfeed_text* documents, uint32_t document_count, char* work,
                                       size_t work_bytes, rankfeed_encoding* io) {
  constexpr uint32_t kFlags = RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
  if (!Good(row, work, work_bytes) || encoder == nullptr || encoder->magic != rankfeed::kEncoderMagic ||
      encoder->model != row->model || (flags & ~kFlags) != 0 || !IsGood(query) || !IsGood(instruction) ||
      documents == nullptr || document_count == 0 || document_count > row->info.max_documents ||
      !std::all_of(documents, documents + document_count, IsGood) || io == nullptr ||
      (io->input_ids == nullptr && io->capacity != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (io->struct_size != sizeof(*io)) return RANKFEED_E_STRUCT_SIZE;
  return row->List(*encoder, flags, row->Of(query, instruction), {documents, document_count}, {work, work_bytes}, io);
}
