// SPDX-License-Identifier: MIT
// rerank/pair_template.cc: templates of the model, without special tokens, and of the caller.
#include "rerank/pair_template.h"

namespace rankfeed::rerank {
namespace {

constexpr auto kQuery = static_cast<uint32_t>(TemplateKind::kSequenceA);
constexpr auto kDocument = static_cast<uint32_t>(TemplateKind::kSequenceB);
constexpr auto kSpecial = static_cast<uint32_t>(TemplateKind::kSpecial);

class Writer {
 public:
  explicit Writer(std::span<TemplateItem> items) : items_(items) {}

  bool Add(uint32_t kind, uint32_t id, uint32_t type_id) {
    if (count_ == items_.size()) return false;
    items_[count_++] = {kind, id, type_id, 0};
    return true;
  }
  std::span<const TemplateItem> written() const { return items_.first(count_); }

 private:
  std::span<TemplateItem> items_;
  size_t count_ = 0;
};

bool PartIsGood(const rankfeed_template_part& part) {
  if (part.ids != nullptr) return part.text.data == nullptr && part.text.size == 0;
  return part.id_count == 0 && (part.text.data != nullptr || part.text.size == 0);
}

rankfeed_status AddPart(const rankfeed_template_part& part, PartEncoder encoder, Writer& writer) {
  if (!PartIsGood(part)) return RANKFEED_E_ARGUMENT;
  const int32_t* ids = part.ids;
  uint32_t count = part.id_count;
  if (ids == nullptr && part.text.size != 0) {
    const rankfeed_status status = encoder.encode(encoder.context, part.text, &ids, &count);
    if (status != RANKFEED_OK) return status;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (ids[i] < 0) return RANKFEED_E_ARGUMENT;
    if (!writer.Add(kSpecial, static_cast<uint32_t>(ids[i]), part.type_id)) {
      return RANKFEED_E_LIMIT;
    }
  }
  return RANKFEED_OK;
}

rankfeed_status AddCustom(const rankfeed_pair_template& custom, PartEncoder encoder,
                          Writer& writer) {
  const auto sequence = [&](uint32_t kind, uint32_t type_id) {
    return writer.Add(kind, 0, type_id) ? RANKFEED_OK : RANKFEED_E_LIMIT;
  };
  rankfeed_status status = AddPart(custom.prefix, encoder, writer);
  if (status == RANKFEED_OK) status = sequence(kQuery, custom.query_type_id);
  if (status == RANKFEED_OK) status = AddPart(custom.middle, encoder, writer);
  if (status == RANKFEED_OK) status = sequence(kDocument, custom.document_type_id);
  if (status == RANKFEED_OK) status = AddPart(custom.suffix, encoder, writer);
  return status;
}

}  // namespace

bool SizeIsGood(const rankfeed_pair_template& custom) {
  return custom.struct_size == sizeof(custom) || custom.struct_size == offsetof(rankfeed_pair_template, row_template);
}

const rankfeed_template* RowTemplateOf(const rankfeed_pair_template& custom) {
  return custom.struct_size == sizeof(custom) ? custom.row_template : nullptr;
}

bool PartsAreGood(const rankfeed_pair_template& custom) {
  for (const rankfeed_template_part* part : {&custom.prefix, &custom.middle, &custom.suffix}) {
    if (!PartIsGood(*part)) return false;
    for (uint32_t i = 0; i < part->id_count; ++i) {
      if (part->ids[i] < 0) return false;
    }
  }
  return true;
}

uint64_t TemplateBound(const TemplateSource& source, uint32_t text_tokens) {
  if (source.kind == RANKFEED_TEMPLATE_PAIR) return source.model_pair.size();
  if (source.kind == RANKFEED_TEMPLATE_SINGLE) return source.model_single.size();
  const rankfeed_pair_template& custom = *source.custom;
  uint64_t items = 2;
  for (const rankfeed_template_part* part : {&custom.prefix, &custom.middle, &custom.suffix}) {
    items += part->ids != nullptr ? part->id_count : part->text.size != 0 ? text_tokens : 0;
  }
  return items;
}

uint32_t TemplateTokens(const TemplateSource& source) {
  uint32_t count = 0;
  if (source.kind == RANKFEED_TEMPLATE_CUSTOM) {
    for (const rankfeed_template_part* part :
         {&source.custom->prefix, &source.custom->middle, &source.custom->suffix}) {
      count += part->ids != nullptr ? part->id_count : 0;
    }
    return count;
  }
  const bool single = source.kind == RANKFEED_TEMPLATE_SINGLE;
  for (const TemplateItem& item : single ? source.model_single : source.model_pair) {
    count += item.kind == kSpecial && !source.no_special_tokens;
  }
  return count;
}

rankfeed_status BuildTemplate(const TemplateSource& source, PartEncoder encoder,
                              std::span<TemplateItem> items, PairTemplate* out) {
  Writer writer(items);
  const bool single = source.kind == RANKFEED_TEMPLATE_SINGLE;
  if (source.kind == RANKFEED_TEMPLATE_CUSTOM) {
    const rankfeed_status status = AddCustom(*source.custom, encoder, writer);
    if (status != RANKFEED_OK) return status;
  } else {
    for (const TemplateItem& item : single ? source.model_single : source.model_pair) {
      // tokenizers leaves the sequences and their types as the template has them.
      if (source.no_special_tokens && item.kind == kSpecial) continue;
      const bool only = single && item.kind == kQuery;
      if (!writer.Add(only ? kDocument : item.kind, item.id, item.type_id)) return RANKFEED_E_LIMIT;
    }
  }

  uint32_t queries = 0, documents = 0;
  *out = {writer.written(), 0, !single};
  for (const TemplateItem& item : out->items) {
    queries += item.kind == kQuery;
    documents += item.kind == kDocument;
    out->special_tokens += item.kind == kSpecial;
  }
  if (documents != 1 || queries != (single ? 0u : 1u)) return RANKFEED_E_UNSUPPORTED;
  return RANKFEED_OK;
}

}  // namespace rankfeed::rerank
