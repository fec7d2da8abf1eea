// SPDX-License-Identifier: MIT
// capi/model.cc: argument checks and C linkage over image/.
#include "rankfeed/model.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "base/error_detail.h"
#include "base/layout.h"
#include "image/fast_road.h"
#include "image/model.h"
#include "image/reader.h"
#include "platform/map_file.h"
#include "platform/place.h"

using rankfeed::Fail;
using rankfeed::Model;

namespace {
// Names by number.
constexpr const char* kParityNames[] = {"huggingface", "sentencepiece-0.2.1", "sentencepiece"};
}  // namespace

const char* rankfeed_parity_name(uint32_t parity) {
  return parity < std::size(kParityNames) ? kParityNames[parity] : nullptr;
}

rankfeed_status rankfeed_parity_from_name(const char* name, uint32_t* parity) {
  if (name == nullptr || parity == nullptr) return RANKFEED_E_ARGUMENT;
  for (uint32_t i = 0; i < std::size(kParityNames); ++i) {
    if (std::strcmp(kParityNames[i], name) != 0) continue;
    *parity = i;
    return RANKFEED_OK;
  }
  return RANKFEED_E_NOT_FOUND;
}

rankfeed_status rankfeed_image_verify(const void* image, size_t image_size,
                                      rankfeed_error_detail* detail) {
  Model model;
  if (const rankfeed_status status = rankfeed::image::Bind(image, image_size, &model, detail)) {
    return status;
  }
  return rankfeed::image::Verify(model, detail);
}

namespace {

// take: platform::CopyFile or platform::MapFile.
rankfeed_status FromFile(int (*take)(const char*, rankfeed::platform::Mapping*), const char* path,
                         rankfeed_mapping* out, rankfeed_error_detail* detail) {
  if (path == nullptr || out == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  rankfeed::platform::Mapping mapping;
  if (const int error = take(path, &mapping)) {
    return Fail(detail, RANKFEED_E_IO, 0, 0, static_cast<uint32_t>(error));
  }
  *out = {};
  out->data = out->base = mapping.base;
  out->size = out->base_size = mapping.size;
  return RANKFEED_OK;
}

using rankfeed::platform::Pages;
using rankfeed::platform::Placement;

// The pages that flags of rankfeed_image_place name; false for several or an unknown one.
bool PagesOf(uint32_t flags, Pages* out) {
  switch (flags) {
    case 0: *out = Pages::kAuto; return true;
    case RANKFEED_PLACE_HUGETLB: *out = Pages::kHugetlb; return true;
    case RANKFEED_PLACE_TRANSPARENT: *out = Pages::kTransparent; return true;
    case RANKFEED_PLACE_BASE: *out = Pages::kBase; return true;
    default: return false;
  }
}

void Report(const Placement& placement, rankfeed_mapping* out, rankfeed_placement* report) {
  *out = {};
  out->data = out->base = placement.mapping.base;
  out->size = placement.size;
  out->base_size = placement.mapping.size;
  const bool huge = placement.pages == Pages::kHugetlb || placement.pages == Pages::kTransparent;
  out->page_size_obtained = static_cast<uint32_t>(huge ? rankfeed::platform::kHugePage
                                                       : rankfeed::platform::PageSize());
  if (report != nullptr) {
    *report = {sizeof(rankfeed_placement), static_cast<uint32_t>(placement.pages),
               placement.huge_bytes,       placement.hugetlb_error,
               placement.transparent_error, placement.fd, 0};
  }
}

}  // namespace

rankfeed_status rankfeed_image_map(const char* path, rankfeed_mapping* out,
                                   rankfeed_error_detail* detail) {
  return FromFile(rankfeed::platform::CopyFile, path, out, detail);
}

rankfeed_status rankfeed_image_map_file(const char* path, rankfeed_mapping* out,
                                        rankfeed_error_detail* detail) {
  const rankfeed_status status = FromFile(rankfeed::platform::MapFile, path, out, detail);
  if (status == RANKFEED_OK) {
    out->page_size_obtained = static_cast<uint32_t>(rankfeed::platform::PageSize());
  }
  return status;
}

const char* rankfeed_pages_name(uint32_t pages) {
  static constexpr const char* kNames[] = {"auto", "hugetlb", "transparent", "base", "file"};
  return pages < std::size(kNames) ? kNames[pages] : nullptr;
}

rankfeed_status rankfeed_image_open(const char* path, uint32_t pages, rankfeed_mapping* out,
                                    rankfeed_placement* report, rankfeed_error_detail* detail) {
  if (path == nullptr || pages > RANKFEED_PAGES_FILE || out == nullptr) {
    return Fail(detail, RANKFEED_E_ARGUMENT);
  }
  if (report != nullptr && report->struct_size != sizeof(rankfeed_placement)) {
    return Fail(detail, RANKFEED_E_STRUCT_SIZE);
  }
  Placement placement;
  if (const int error = rankfeed::platform::PlaceFile(path, Pages{pages}, &placement)) {
    return Fail(detail, RANKFEED_E_IO, 0, 0, static_cast<uint32_t>(error));
  }
  Report(placement, out, report);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_image_place(const void* image, size_t image_size, uint32_t flags,
                                     rankfeed_mapping* out, rankfeed_placement* report,
                                     rankfeed_error_detail* detail) {
  Pages wanted = Pages::kAuto;
  if (image == nullptr || image_size == 0 || image_size > PTRDIFF_MAX || out == nullptr ||
      !PagesOf(flags & ~uint32_t{RANKFEED_PLACE_SHARED}, &wanted)) {
    return Fail(detail, RANKFEED_E_ARGUMENT);
  }
  if (report != nullptr && report->struct_size != sizeof(rankfeed_placement)) {
    return Fail(detail, RANKFEED_E_STRUCT_SIZE);
  }
  const bool shared = (flags & RANKFEED_PLACE_SHARED) != 0;
  if (shared && report == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);  // nobody to close fd
  Placement placement;
  if (const int error = rankfeed::platform::Place(image, image_size, shared, wanted, &placement)) {
    return Fail(detail, RANKFEED_E_IO, 0, 0, static_cast<uint32_t>(error));
  }
  Report(placement, out, report);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_image_map_fd(int fd, size_t image_size, rankfeed_mapping* out,
                                      rankfeed_error_detail* detail) {
  if (fd < 0 || out == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  rankfeed::platform::Mapping mapping;
  if (const int error = rankfeed::platform::CopyOrMapSealed(fd, &mapping)) {
    return Fail(detail, RANKFEED_E_IO, 0, 0, static_cast<uint32_t>(error));
  }
  if (image_size > mapping.size) {
    rankfeed::platform::Unmap(mapping);
    return Fail(detail, RANKFEED_E_ARGUMENT);
  }
  *out = {};
  out->data = out->base = mapping.base;
  out->size = image_size == 0 ? mapping.size : image_size;
  out->base_size = mapping.size;
  return RANKFEED_OK;
}

void rankfeed_image_unmap(rankfeed_mapping* mapping) {
  if (mapping == nullptr) return;
  rankfeed::platform::Unmap({mapping->base, mapping->base_size});
  *mapping = {};
}

rankfeed_mem_req rankfeed_model_mem_req(void) {
  return {sizeof(rankfeed_model), rankfeed::Layout::kAlignment};
}

rankfeed_status rankfeed_model_open(const void* image, size_t image_size, uint32_t flags,
                                    void* storage, size_t storage_size, rankfeed_model** out,
                                    rankfeed_error_detail* detail) {
  if (out == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  *out = nullptr;
  if (storage == nullptr || (flags & ~uint32_t{RANKFEED_OPEN_TRUSTED_IMAGE}) != 0) {
    return Fail(detail, RANKFEED_E_ARGUMENT);
  }
  if (reinterpret_cast<uintptr_t>(storage) % rankfeed::Layout::kAlignment != 0) {
    return Fail(detail, RANKFEED_E_ALIGNMENT);
  }
  if (storage_size < sizeof(rankfeed_model)) return Fail(detail, RANKFEED_E_WORKSPACE_SIZE);
  auto* model = new (storage) rankfeed_model();
  if (const rankfeed_status status = rankfeed::image::Bind(image, image_size, model, detail)) {
    return status;
  }
  if ((flags & RANKFEED_OPEN_TRUSTED_IMAGE) == 0) {
    if (const rankfeed_status status = rankfeed::image::Verify(*model, detail)) return status;
  }
  model->magic = rankfeed::kModelMagic;
  *out = model;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_model_get_info(const rankfeed_model* model, rankfeed_model_info* info) {
  if (model == nullptr || info == nullptr || model->magic != rankfeed::kModelMagic) {
    return RANKFEED_E_ARGUMENT;
  }
  if (info->struct_size != sizeof(rankfeed_model_info)) return RANKFEED_E_STRUCT_SIZE;
  const rankfeed::image::Config& c = *model->config;
  const auto id = [](uint32_t v) {
    return v == rankfeed::image::kNoId ? -1 : static_cast<int32_t>(v);
  };
  info->parity = c.parity;
  info->id_count = c.id_count;
  info->piece_count = c.piece_count;
  info->unk_id = id(c.unk_id);
  info->bos_id = id(c.bos_id);
  info->eos_id = id(c.eos_id);
  info->pad_id = id(c.pad_id);
  info->cls_id = id(c.cls_id);
  info->sep_id = id(c.sep_id);
  info->mask_id = id(c.mask_id);
  info->pad_type_id = c.pad_type_id;
  info->max_piece_chars = c.max_piece_chars;
  info->specials_single = c.template_specials_single;
  info->specials_pair = c.template_specials_pair;
  info->position_offset = c.position_offset;
  info->position_pad = c.position_pad;
  info->has_token_type_ids = model->has(rankfeed::image::kHasTokenTypeIds);
  info->byte_fallback = model->has(rankfeed::image::kByteFallback);
  info->image_size = model->image_size;
  std::memcpy(info->config_hash, model->header->config_hash, sizeof(info->config_hash));
  return RANKFEED_OK;
}

const char* rankfeed_model_kind(const rankfeed_model* model) {
  if (model == nullptr || model->magic != rankfeed::kModelMagic) return nullptr;
  return model->bpe() ? "bpe" : model->wordpiece() ? "wordpiece" : "unigram";
}

const char* rankfeed_model_off_fast_road(const rankfeed_model* model) {
  if (model == nullptr || model->magic != rankfeed::kModelMagic) return nullptr;
  return rankfeed::image::WhyOffTheFastRoad(model->config->fast_road_reason,
                                            model->config->fast_road_op);
}

rankfeed_status rankfeed_model_id_to_piece(const rankfeed_model* model, uint32_t id,
                                           const char** data, size_t* size) {
  if (model == nullptr || data == nullptr || size == nullptr) return RANKFEED_E_ARGUMENT;
  if (id >= model->config->id_count) return RANKFEED_E_ID_RANGE;
  const std::string_view piece = model->piece(id);
  *data = piece.data();
  *size = piece.size();
  return RANKFEED_OK;
}

int32_t rankfeed_model_piece_to_id(const rankfeed_model* model, const char* data, size_t size) {
  if (model == nullptr || (data == nullptr && size != 0)) return -1;
  return model->PieceToId({data, size});
}
