// SPDX-License-Identifier: MIT
// rerank/templates/row_template.cc: from parts to steps, and the ids of those that are the same in all rows.
#include "rerank/templates/row_template.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "encode/text_encoder.h"
#include "rerank/templates/cuts.h"

namespace rankfeed::templates {
namespace {

rankfeed_status Refuse(Refusal* why, rankfeed_status status, const char* rule, uint32_t part) {
  *why = {rule, part};
  return status;
}

constexpr uint32_t Bit(uint32_t kind) {
  return 1u << kind;
}

// These columns differ from row to row.
bool Varies(const Part& part) {
  return part.kind != RANKFEED_PART_TEXT || part.flags != 0;
}

Refusal OfPart(const rankfeed_row_part& part, uint32_t i) {
  const bool literal = part.kind == RANKFEED_PART_TEXT;
  const bool named = literal || part.kind == RANKFEED_PART_SPECIAL;
  if (part.kind > RANKFEED_PART_END) return {"there is no part of this kind", i};
  if (!IsGood(part.text) || (part.text.size != 0) != named) {
    return {named ? "a literal and a special token have a text" : "only literals and special tokens have a text", i};
  }
  const uint32_t flags = part.kind == RANKFEED_PART_SPECIAL                  ? uint32_t{RANKFEED_PART_MARKER}
                         : literal || part.kind == RANKFEED_PART_INSTRUCTION ? uint32_t{RANKFEED_PART_WITH_INSTRUCTION}
                                                                             : 0u;
  if ((part.flags & ~flags) != 0) {
    return {"literals and the instruction can depend on there being one, special tokens can be markers", i};
  }
  return {};
}

// Rules that need no vocabulary. *list: whether they are of a row that holds several documents.
Refusal OfRow(const rankfeed_row_template& row, bool* list) {
  uint32_t seen[RANKFEED_PART_END + 1] = {}, markers = 0;
  for (uint32_t i = 0; i < row.part_count; ++i) {
    const rankfeed_row_part& part = row.parts[i];
    if (const Refusal why = OfPart(part, i); why.rule != nullptr) return why;
    const bool inside = seen[RANKFEED_PART_EACH] != seen[RANKFEED_PART_END];
    const bool query = part.kind == RANKFEED_PART_QUERY || part.kind == RANKFEED_PART_INSTRUCTION;
    if (inside && query) return {"what is repeated for each document has no query", i};
    if (part.kind == RANKFEED_PART_NUMBER && !inside) return {"only what is repeated has a number", i};
    if (query && seen[RANKFEED_PART_DOCUMENT] != 0 && seen[RANKFEED_PART_EACH] == 0) {
      return {"query and instruction come before the document", i};
    }
    if (part.kind == RANKFEED_PART_DOCUMENT && !inside && seen[RANKFEED_PART_EACH] != 0) {
      return {"the document is in what is repeated", i};
    }
    ++seen[part.kind];
    markers += part.kind == RANKFEED_PART_SPECIAL && part.flags != 0;
  }
  *list = seen[RANKFEED_PART_EACH] != 0;
  if (seen[RANKFEED_PART_DOCUMENT] != 1) return {"a row has the document once", row.part_count};
  if (seen[RANKFEED_PART_QUERY] > 1 && !*list) return {"a row has the query at most once", row.part_count};
  if (seen[RANKFEED_PART_EACH] > 1 || seen[RANKFEED_PART_END] != seen[RANKFEED_PART_EACH]) {
    return {"one begin and one end of what is repeated", row.part_count};
  }
  if (!*list && seen[RANKFEED_PART_COUNT] + markers != 0) {
    return {"only a row that repeats something has a count and markers", row.part_count};
  }
  if (markers > RANKFEED_TEMPLATE_MAX_MARKERS) return {"there are too many markers", row.part_count};
  if (row.truncation > RANKFEED_TRUNCATE_TEXT_END || row.query_quarters > 4 || row.document_limit > 1 ||
      (row.reserved[0] | row.reserved[1]) != 0 || row.answer_count > RANKFEED_TEMPLATE_MAX_ANSWERS) {
    return {"a field of the template is none of its values", row.part_count};
  }
  return {};
}

// Makes steps of parts, and ids of the steps without a role.
class Compiler {
 public:
  Compiler(const Model& model, rankfeed_encoder& encoder, RowTemplate* out, Refusal* why)
      : model_(model), encoder_(encoder), out_(*out), why_(why) {}

  rankfeed_status Compile(std::span<const Part> parts);
  // The first id of a text, -1 for one without ids or of unknown characters.
  int32_t FirstId(std::string_view text, rankfeed_status* status);

 private:
  void Open(const Part& part) { out_.parts[part_count_++] = part; }
  rankfeed_status Literal(const Part& literal, const Part* next);
  rankfeed_status Special(std::span<const Part> parts, size_t i);
  rankfeed_status Close();
  rankfeed_status AddText(std::string_view text);
  // After ids were written from `begin` on.
  void AddIds(size_t begin);

  const Model& model_;
  rankfeed_encoder& encoder_;
  RowTemplate& out_;
  Refusal* why_;
  size_t part_count_ = 0, open_ = 0;  // parts written, and those before the step under way
  size_t id_count_ = 0, step_count_ = 0;
  size_t section_ = 0;
  bool open_varies_ = false;
};

// Adds the ids of a text after ids[*count - 1], as many as there is room for, and what they are to the count.
rankfeed_status AddIdsOf(const encode::TextEncoder& texts, std::string_view text, std::span<int32_t> ids, size_t* count) {
  rankfeed_encoding io = {};
  io.struct_size = sizeof(io);
  io.capacity = *count < ids.size() ? static_cast<uint32_t>(ids.size() - *count) : 0;
  io.input_ids = io.capacity != 0 ? ids.data() + *count : nullptr;
  const rankfeed_status status = texts.EncodeText({text.data(), text.size()}, &io);
  if (status == RANKFEED_OK || status == RANKFEED_E_OUTPUT_SIZE) *count += io.count;
  return status;
}

rankfeed_status Compiler::AddText(std::string_view text) {
  const rankfeed_encode_options options = {sizeof(options), 0, {}};
  if (text.size() > encoder_.limits.max_text_bytes) return RANKFEED_E_LIMIT;
  return AddIdsOf(encode::TextEncoder(encoder_, options), text, out_.ids, &id_count_);
}

int32_t Compiler::FirstId(std::string_view text, rankfeed_status* status) {
  const size_t before = id_count_;
  *status = AddText(text);
  const int32_t id = *status == RANKFEED_OK && id_count_ != before ? out_.ids[before] : -1;
  id_count_ = before;
  return static_cast<uint32_t>(id) == model_.config->unk_id ? -1 : id;
}

void Compiler::AddIds(size_t begin) {
  const size_t first = section_ == 0 ? 0 : out_.sections[section_ - 1];
  const bool more = step_count_ != first && out_.steps[step_count_ - 1].parts.empty();
  if (more) begin = static_cast<size_t>(out_.steps[--step_count_].ids.data() - out_.ids.data());
  out_.steps[step_count_++] = {out_.ids.subspan(begin, id_count_ - begin), {}};
}

// Ends the step under way.
rankfeed_status Compiler::Close() {
  const std::span<const Part> step = out_.parts.subspan(open_, part_count_ - open_);
  const bool varies = open_varies_;
  open_varies_ = false;
  if (step.empty()) return RANKFEED_OK;
  if (!varies) {
    // Neighbours in the pool of texts.
    const char* const begin = step.front().text.data();
    const char* const end = step.back().text.data() + step.back().text.size();
    part_count_ = open_;
    const size_t before = id_count_;
    const rankfeed_status status = AddText({begin, static_cast<size_t>(end - begin)});
    if (status == RANKFEED_OK && id_count_ != before) AddIds(before);
    return status;
  }
  open_ = part_count_;
  out_.steps[step_count_++] = {{}, step};
  return RANKFEED_OK;
}

// A literal that is always there: the role before it ends at the first cut, the one after it, which is next
// (null: none in this text), begins at the last. What a request has once is one step.
rankfeed_status Compiler::Literal(const Part& literal, const Part* next) {
  if (open_varies_ && next != nullptr && next->kind != RANKFEED_PART_DOCUMENT) {
    Open(literal);
    return RANKFEED_OK;
  }
  size_t first = 0, last = 0;
  for (size_t at = 1; at < literal.text.size(); ++at) {
    if (!CutIsSafe(model_, literal.text, at)) continue;
    if (first == 0) first = at;
    last = at;
  }
  const auto piece = [&](size_t begin, size_t end) {
    return Part{literal.kind, 0, {literal.text.data() + begin, end - begin}};
  };
  size_t begin = 0;
  if (open_varies_ && first != 0) {
    Open(piece(0, first));
    if (const rankfeed_status status = Close()) return status;
    begin = first;
  }
  if (!open_varies_ && next != nullptr && last > begin) {
    Open(piece(begin, last));
    if (const rankfeed_status status = Close()) return status;
    begin = last;
  }
  if (begin < literal.text.size()) Open(piece(begin, literal.text.size()));
  return RANKFEED_OK;
}

rankfeed_status Compiler::Special(std::span<const Part> parts, size_t i) {
  auto part = static_cast<uint32_t>(i);  // of the caller's: a line feed was put before each begin and end
  for (size_t before = 0; before < i; ++before) {
    part -= parts[before].kind == RANKFEED_PART_EACH || parts[before].kind == RANKFEED_PART_END;
  }
  const int32_t id = SpecialId(model_, parts[i].text);
  if (id < 0) return Refuse(why_, RANKFEED_E_NOT_FOUND, "the vocabulary has no such special token", part);
  const bool alone = (i == 0 || parts[i - 1].kind == RANKFEED_PART_APART) &&
                     (i + 1 == parts.size() || parts[i + 1].kind == RANKFEED_PART_APART);
  if (!alone && !SpecialIsSafe(model_, static_cast<uint32_t>(id))) {
    return Refuse(why_, RANKFEED_E_UNSUPPORTED, "the special token depends on the text beside it, and must stand apart", part);
  }
  if (const rankfeed_status status = Close()) return status;
  out_.ids[id_count_++] = id;
  AddIds(id_count_ - 1);
  return RANKFEED_OK;
}

rankfeed_status Compiler::Compile(std::span<const Part> parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    rankfeed_status status = RANKFEED_OK;
    if (part.kind == RANKFEED_PART_APART) {
      status = Close();
    } else if (part.kind == RANKFEED_PART_EACH || part.kind == RANKFEED_PART_END) {
      status = Close();
      out_.sections[section_++] = step_count_;
    } else if (part.kind == RANKFEED_PART_SPECIAL) {
      status = Special(parts, i);
    } else if (Varies(part)) {
      Open(part);
      open_varies_ = true;
    } else {
      size_t next = i + 1;
      while (next < parts.size() && !Varies(parts[next])) ++next;
      constexpr uint32_t kNone = Bit(RANKFEED_PART_APART) | Bit(RANKFEED_PART_SPECIAL) | Bit(RANKFEED_PART_EACH) |
                                 Bit(RANKFEED_PART_END);
      const bool role = next < parts.size() && (Bit(parts[next].kind) & kNone) == 0;
      status = Literal(part, role ? &parts[next] : nullptr);
    }
    if (status != RANKFEED_OK) return status;
  }
  if (const rankfeed_status status = Close()) return status;
  while (section_ < std::size(out_.sections)) out_.sections[section_++] = step_count_;
  return RANKFEED_OK;
}

// The tokens that a row may have beside those that the reference's limit counts, and the limits that
// follow from it.
rankfeed_status SetLimits(const rankfeed_row_template& row, RowTemplate* out) {
  rankfeed_template_info& info = out->info;
  info.prefix_tokens = out->pair.prefix.id_count;
  info.middle_tokens = out->pair.middle.id_count;
  info.suffix_tokens = out->pair.suffix.id_count;
  const uint64_t beside =
      uint64_t{row.prefix_times} * info.prefix_tokens + uint64_t{row.suffix_times} * info.suffix_tokens;
  if (beside + row.max_length > 0x7fffffff) return RANKFEED_E_LIMIT;
  out->beside_limit = static_cast<uint32_t>(beside);
  out->query_quarters = row.query_quarters;
  out->document_limit = row.document_limit != 0;
  out->truncation = row.truncation;
  out->pad_to_multiple_of = row.pad_to_multiple_of;
  if (row.max_length != 0) info.max_length = row.max_length + out->beside_limit;
  out->Limits(info.max_length, &info.max_query_tokens, &info.max_tokens_per_doc);
  return RANKFEED_OK;
}

// A number for all that a document's ids depend on beside the vocabulary: what is tokenized with it. 0: nothing.
uint64_t HashOf(std::span<const Part> document) {
  if (document.size() == 1) return 0;
  uint64_t hash = 0;
  for (const Part& part : document) {
    hash = XXH3_64bits_withSeed(part.text.data(), part.text.size(), hash ^ part.kind);
  }
  return hash != 0 ? hash : 1;
}

}  // namespace

void TextWriter::Add(std::string_view text) {
  if (!text.empty() && size_ <= capacity_ && text.size() <= capacity_ - size_) {
    std::memcpy(out_ + size_, text.data(), text.size());
  }
  size_ += text.size();
}

void TextWriter::AddWithout(std::string_view text, std::span<const std::string_view> names) {
  const size_t before = size_;
  Add(text);
  if (!ok()) return;  // as much as it may need
  char* const begin = out_ + before;
  for (size_t n = names.size(); n != 0; --n) {
    const std::string_view written(begin, static_cast<size_t>(out_ + size_ - begin)), name = names[n - 1];
    char* end = begin;
    for (size_t from = 0, at = 0; from < written.size(); from = at + name.size()) {
      at = std::min(written.find(name, from), written.size());
      std::memmove(end, written.data() + from, at - from);
      end += at - from;
    }
    size_ = static_cast<size_t>(end - out_);
  }
}

void TextWriter::AddNumber(uint32_t number) {
  char digits[10];
  size_t first = sizeof(digits);
  do {
    digits[--first] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  Add({digits + first, sizeof(digits) - first});
}

bool RowTemplate::Carve(const Model& of, const rankfeed_row_template& row, Layout& layout) {
  uint64_t bytes = row.instruction.size + 2;  // and the line feeds of two cuts
  for (uint32_t i = 0; i < row.part_count; ++i) bytes += row.parts[i].text.size;
  if (bytes > 0x7fffffff) return false;
  // A literal becomes three parts at most, and each has at least what no text has.
  const uint64_t given = uint64_t{row.part_count} + 2, pieces = 3 * given;
  uint64_t most = encode::TokenBound(of, bytes) + pieces * encode::TokenBound(of, 0);
  for (uint32_t i = 0; i < row.answer_count; ++i) most += encode::TokenBound(of, row.answers[i].size);
  if (most > 0x7fffffff) return false;
  const auto take = [&]<class T>(std::span<T>* out, uint64_t size) {
    *out = {layout.Take<T>(static_cast<size_t>(size)), static_cast<size_t>(size)};
  };
  take(&parts, given + pieces);
  take(&steps, pieces);
  take(&ids, most);
  take(&text, bytes);
  return layout.ok();
}

// The caller's parts with texts of this object's. What begins a section of a row with several documents, after
// a line feed that every text may be cut after, loses the line feed to the section before.
rankfeed_status RowTemplate::CopyParts(const rankfeed_row_template& row, std::span<Part>* given, Refusal* why) {
  TextWriter pool(text.data(), text.size());
  const auto copy = [&](std::string_view from) {
    const std::string_view to(text.data() + pool.size(), from.size());
    pool.Add(from);
    return to;
  };
  // After the place of those that cuts leave.
  const std::span<Part> room = parts.last(row.part_count + 2);
  parts = parts.first(parts.size() - room.size());
  size_t count = 0;
  bool cut = false;
  for (uint32_t i = 0; i < row.part_count; ++i) {
    const rankfeed_row_part& part = row.parts[i];
    std::string_view own = View(part.text);
    if (cut) own = {own.data() + 1, own.size() - 1};
    cut = part.kind == RANKFEED_PART_EACH || part.kind == RANKFEED_PART_END;
    if (cut) {
      const bool more = i + 1 < row.part_count && row.parts[i + 1].kind == RANKFEED_PART_TEXT && row.parts[i + 1].flags == 0;
      const std::string_view next = more ? View(row.parts[i + 1].text) : std::string_view();
      if (next.size() < 2 || !CutIsSafe(*model, next, 1)) {
        return Refuse(why, RANKFEED_E_UNSUPPORTED,
                      "what is repeated, and what follows it, begins with a line feed after which every text may be cut", i);
      }
      room[count++] = {RANKFEED_PART_TEXT, 0, copy({next.data(), 1})};
    }
    room[count++] = {part.kind, part.flags, copy(own)};
    if (part.kind == RANKFEED_PART_SPECIAL && part.flags != 0) {
      markers[info.marker_count] = room[count - 1].text;
      info.markers[info.marker_count++] = SpecialId(*model, room[count - 1].text);
    }
  }
  instruction = copy(View(row.instruction));
  *given = room.first(count);
  return RANKFEED_OK;
}

// This sets the steps of a row with one document. It returns why they are none, or null.
const char* RowTemplate::SetPair() {
  rankfeed_template_part* const fixed[] = {&pair.prefix, &pair.middle, &pair.suffix};
  for (rankfeed_template_part* const part : fixed) part->ids = ids.data();
  size_t next = 0;  // of these; two steps of ids do not follow each other
  for (const Step& step : steps.first(sections[0])) {
    const auto at = std::find_if(step.parts.begin(), step.parts.end(),
                                 [](const Part& part) { return part.kind == RANKFEED_PART_DOCUMENT; });
    if (step.parts.empty()) {
      fixed[next]->ids = step.ids.data();
      fixed[next]->id_count = static_cast<uint32_t>(step.ids.size());
    } else if (!document.empty()) {
      return "what follows the document, apart from it, is the same in all rows";
    } else if (at != step.parts.end()) {
      document = step.parts;
      document_at = static_cast<size_t>(at - step.parts.begin());
      next = 2;
    } else if (query.empty()) {
      query = step.parts;
      next = 1;
    } else {
      return "query and instruction must stand in one text";
    }
  }
  info.document_is_alone = document.size() == 1;
  info.hash = HashOf(document);
  for (const Part& part : document) info.query_is_joined |= Varies(part) && part.kind != RANKFEED_PART_DOCUMENT;
  return nullptr;
}

rankfeed_status RowTemplate::Init(const Model& of, const rankfeed_row_template& row,
                                  rankfeed_encoder& encoder, Refusal* why) {
  bool list = false;
  *why = OfRow(row, &list);
  if (why->rule != nullptr) return RANKFEED_E_ARGUMENT;
  model = &of;
  std::span<Part> given;
  rankfeed_status status = CopyParts(row, &given, why);
  if (status != RANKFEED_OK) return status;
  Compiler compiler(of, encoder, this, why);
  status = compiler.Compile(given);
  if (status != RANKFEED_OK) return status;
  pair.struct_size = sizeof(pair);
  pair.row_template = static_cast<rankfeed_template*>(this);
  if (const char* const rule = list ? nullptr : SetPair()) return Refuse(why, RANKFEED_E_UNSUPPORTED, rule, row.part_count);
  status = SetLimits(row, this);
  if (status != RANKFEED_OK) return status;
  if (list) {
    info.prefix_tokens = steps[0].parts.empty() ? static_cast<uint32_t>(steps[0].ids.size()) : 0;
    info.max_documents = row.max_documents != 0 ? row.max_documents : 0xffffffff;
    info.max_query_tokens = row.max_query_tokens;
    info.max_tokens_per_doc = row.max_document_tokens;
  }
  info.pad_id = row.pad.size != 0 ? SpecialId(of, View(row.pad)) : -1;
  if (row.pad.size != 0 && info.pad_id < 0) {
    return Refuse(why, RANKFEED_E_NOT_FOUND, "the vocabulary has no such padding token", row.part_count);
  }
  info.literal_bytes = static_cast<uint32_t>(text.size());
  for (uint32_t i = 0; i < row.answer_count; ++i) {
    const int32_t id = compiler.FirstId(View(row.answers[i]), &status);
    if (status != RANKFEED_OK) return status;
    if (id < 0) return Refuse(why, RANKFEED_E_NOT_FOUND, "an answer has no id", row.part_count);
    info.answers[info.answer_count++] = id;
  }
  magic = kTemplateMagic;
  return RANKFEED_OK;
}

rankfeed_status RowTemplate::List(rankfeed_encoder& encoder, uint32_t flags, Roles roles,
                                  std::span<const rankfeed_text> documents, std::span<char> work,
                                  rankfeed_encoding* io) const {
  const rankfeed_encode_options options = {sizeof(options), flags, {}};
  const encode::TextEncoder texts(encoder, options);
  size_t count = 0;
  const auto add = [&](std::span<const Step> section) -> rankfeed_status {
    for (const Step& step : section) {
      if (step.parts.empty()) {
        if (count + step.ids.size() <= io->capacity) std::memcpy(io->input_ids + count, step.ids.data(), step.ids.size_bytes());
        count += step.ids.size();
        continue;
      }
      TextWriter writer(work.data(), work.size());
      Write(step.parts, roles, &writer);
      if (!writer.ok() || writer.size() > encoder.limits.max_text_bytes) return RANKFEED_E_LIMIT;
      const rankfeed_status status = AddIdsOf(texts, {work.data(), writer.size()}, {io->input_ids, io->capacity}, &count);
      if (status != RANKFEED_OK && status != RANKFEED_E_OUTPUT_SIZE) return status;
    }
    return RANKFEED_OK;
  };
  roles.count = static_cast<uint32_t>(documents.size());
  rankfeed_status status = add(steps.first(sections[0]));
  for (; roles.number < roles.count && status == RANKFEED_OK; ++roles.number) {
    roles.document = View(documents[roles.number]);
    status = add(steps.subspan(sections[0], sections[1] - sections[0]));
  }
  if (status == RANKFEED_OK) status = add(steps.subspan(sections[1], sections[2] - sections[1]));
  if (status != RANKFEED_OK) return status;
  if (count > 0x7fffffff) return RANKFEED_E_LIMIT;
  io->count = static_cast<uint32_t>(count);
  return count <= io->capacity ? RANKFEED_OK : RANKFEED_E_OUTPUT_SIZE;
}

void RowTemplate::Limits(uint32_t row_tokens, uint32_t* query_tokens, uint32_t* document_tokens) const {
  *query_tokens = *document_tokens = 0;
  if (row_tokens <= beside_limit) return;
  const uint32_t limit = row_tokens - beside_limit;
  if (query_quarters != 0) *query_tokens = std::max<uint32_t>(1, limit / 4 * query_quarters + limit % 4 * query_quarters / 4);
  if (document_limit) *document_tokens = limit;
}

void RowTemplate::Write(std::span<const Part> step, const Roles& roles, TextWriter* out) const {
  for (const Part& part : step) {
    if (part.flags != 0 && roles.instruction.empty()) continue;
    const std::span<const std::string_view> without(markers, info.marker_count);
    if (part.kind == RANKFEED_PART_QUERY) {
      out->AddWithout(roles.query, without);
    } else if (part.kind == RANKFEED_PART_INSTRUCTION) {
      out->Add(roles.instruction);
    } else if (part.kind == RANKFEED_PART_DOCUMENT) {
      out->AddWithout(roles.document, without);
    } else if (part.kind == RANKFEED_PART_COUNT || part.kind == RANKFEED_PART_NUMBER) {
      out->AddNumber(part.kind == RANKFEED_PART_COUNT ? roles.count : roles.number);
    } else {
      out->Add(part.text);
    }
  }
}

Roles RowTemplate::Of(rankfeed_text query_text, rankfeed_text instruction_text) const {
  return {View(query_text), instruction_text.size != 0 ? View(instruction_text) : instruction, {}};
}

}  // namespace rankfeed::templates
