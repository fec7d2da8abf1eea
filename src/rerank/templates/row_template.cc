// SPDX-License-Identifier: MIT
// rerank/templates/row_template.cc: from parts to steps, and the ids of those that are the same in all rows.
#include "rerank/templates/row_template.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/narrow.h"
#include "encode/text_encoder.h"
#include "rerank/templates/cuts.h"

namespace rankfeed::templates {
namespace {

// This tells whether the part's text differs from row to row.
bool Varies(const Part& part) {
  return (part.kind >= RANKFEED_PART_QUERY && part.kind <= RANKFEED_PART_NUMBER) ||
         (part.flags & RANKFEED_PART_WITH_INSTRUCTION) != 0;
}

// This tells whether the part is a text that stands in all rows.
bool IsLiteral(const Part& part) {
  return part.kind == RANKFEED_PART_TEXT && part.flags == 0;
}

bool EndsSection(const Part& part) {
  return part.kind == RANKFEED_PART_EACH || part.kind == RANKFEED_PART_END;
}

// This checks the rules that need no vocabulary.
Refusal OfRow(const rankfeed_row_template& row) {
  uint32_t seen[RANKFEED_PART_END + 1] = {}, markers = 0;
  const uint32_t &documents = seen[RANKFEED_PART_DOCUMENT], &begins = seen[RANKFEED_PART_EACH];
  const uint32_t& ends = seen[RANKFEED_PART_END];
  for (uint32_t i = 0; i < row.part_count; ++i) {
    const Part& part = row.parts[i];
    const bool literal = part.kind == RANKFEED_PART_TEXT, special = part.kind == RANKFEED_PART_SPECIAL;
    const bool instruction = part.kind == RANKFEED_PART_INSTRUCTION, document = part.kind == RANKFEED_PART_DOCUMENT;
    const bool query = instruction || part.kind == RANKFEED_PART_QUERY, named = literal || special;
    const bool inside = begins != ends;
    if (part.kind > RANKFEED_PART_END) return {"there is no part of this kind", i};
    if (!IsGood(part.text) || (part.text.size != 0) != named) {
      return {named ? "a literal and a special token have a text" : "only literals and special tokens have a text", i};
    }
    const uint32_t flags = special                  ? uint32_t{RANKFEED_PART_MARKER}
                           : literal || instruction ? uint32_t{RANKFEED_PART_WITH_INSTRUCTION}
                                                    : 0u;
    if ((part.flags & ~flags) != 0) {
      return {"literals and the instruction can depend on there being one, special tokens can be markers", i};
    }
    if (inside && query) return {"what is repeated for each document has no query", i};
    if (part.kind == RANKFEED_PART_NUMBER && !inside) return {"only what is repeated has a number", i};
    if (query && documents != 0 && begins == 0) return {"query and instruction come before the document", i};
    if (document && !inside && begins != 0) return {"the document is in what is repeated", i};
    ++seen[part.kind];
    markers += special && part.flags != 0;
  }
  const uint32_t all = row.part_count, counts = seen[RANKFEED_PART_COUNT] + markers;
  if (documents != 1) return {"a row has the document once", all};
  if (seen[RANKFEED_PART_QUERY] > 1 && begins == 0) return {"a row has the query at most once", all};
  if (begins > 1 || ends != begins) return {"one begin and one end of what is repeated", all};
  if (begins == 0 && counts != 0) return {"only a row that repeats something has a count and markers", all};
  if (markers > RANKFEED_TEMPLATE_MAX_MARKERS) return {"there are too many markers", all};
  if (row.truncation > RANKFEED_TRUNCATE_TEXT_END || row.query_quarters > 4 || row.document_limit > 1 ||
      (row.reserved[0] | row.reserved[1]) != 0 || row.answer_count > RANKFEED_TEMPLATE_MAX_ANSWERS) {
    return {"a field of the template is none of its values", all};
  }
  return {};
}

// This adds the ids of a text after ids[*count - 1], as many as there is room for, and how many they are to the count.
rankfeed_status AddIdsOf(rankfeed_encoder& encoder, uint32_t flags, std::string_view text, std::span<int32_t> ids,
                         size_t* count) {
  const rankfeed_encode_options options = {sizeof(options), flags, {}};
  rankfeed_encoding io = {};
  io.struct_size = sizeof(io);
  io.capacity = *count < ids.size() ? static_cast<uint32_t>(ids.size() - *count) : 0;
  io.input_ids = io.capacity != 0 ? ids.data() + *count : nullptr;
  const rankfeed_status status = encode::TextEncoder(encoder, options).EncodeText({text.data(), text.size()}, &io);
  if (status == RANKFEED_OK || status == RANKFEED_E_OUTPUT_SIZE) *count += io.count;
  return status;
}

// This makes a template of the caller's parts, up to the first that is wrong.
class Compiler {
 public:
  Compiler(const rankfeed_row_template& row, rankfeed_encoder& encoder, RowTemplate* out, Refusal* why)
      : row_(row), encoder_(encoder), out_(*out), why_(*why), pool_(out->text.data(), out->text.size()) {}

  rankfeed_status Compile() {
    why_ = OfRow(row_);
    if (why_.rule != nullptr) return RANKFEED_E_ARGUMENT;
    for (uint32_t i = 0; i < row_.part_count && status_ == RANKFEED_OK; ++i) {
      const Part& part = row_.parts[i];
      if (part.kind == RANKFEED_PART_APART) {
        Close();
      } else if (EndsSection(part)) {
        Section(i);
      } else if (part.kind == RANKFEED_PART_SPECIAL) {
        Special(i);
      } else {
        const size_t begin = i != 0 && EndsSection(row_.parts[i - 1]) ? 1 : 0;
        const Part own = {part.kind, part.flags, Copy({part.text.data + begin, part.text.size - begin})};
        uint32_t next = i + 1;
        while (next < row_.part_count && IsLiteral(row_.parts[next])) ++next;
        const bool role = next < row_.part_count && Varies(row_.parts[next]);
        if (Varies(part)) {
          Open(own);
        } else {
          Literal(own, role ? &row_.parts[next] : nullptr);
        }
      }
    }
    if (status_ == RANKFEED_OK) Close();
    out_.sections[++section_] = step_count_;
    out_.instruction = View(Copy(View(row_.instruction)));
    if (status_ == RANKFEED_OK && section_ == 1) SetPair();
    if (status_ == RANKFEED_OK) SetLimits();
    if (status_ == RANKFEED_OK) SetIds();
    return status_;
  }

 private:
  void Refuse(rankfeed_status status, const char* rule, uint32_t part) {
    status_ = status;
    why_ = {rule, part};
  }
  // This keeps a text in the template's own pool.
  rankfeed_text Copy(std::string_view from) {
    const rankfeed_text to = {out_.text.data() + pool_.size(), from.size()};
    pool_.Add(from);
    return to;
  }
  void Open(const Part& part) {
    out_.parts[part_count_++] = part;
    varies_ |= Varies(part);
  }

  // This ends the step under way.
  void Close() {
    const std::span<const Part> step = out_.parts.subspan(open_, part_count_ - open_);
    if (varies_) {
      open_ = part_count_;
      out_.steps[step_count_++] = {{}, step};
    } else if (!step.empty()) {  // its texts are neighbours in the pool
      const char* const end = step.back().text.data + step.back().text.size;
      const size_t before = id_count_;
      part_count_ = open_;
      const std::string_view whole(step.front().text.data, static_cast<size_t>(end - step.front().text.data));
      status_ = AddIdsOf(encoder_, 0, whole, out_.ids, &id_count_);
      if (status_ == RANKFEED_OK && id_count_ != before) AddIds(before);
    }
    varies_ = false;
  }

  // A literal that is always there: the role before it ends at the first cut, the one after it, which is next
  // (null: none in this text), begins at the last. What a request has once is one step.
  void Literal(const Part& literal, const Part* next) {
    const std::string_view text = View(literal.text);
    const bool once = varies_ && next != nullptr && next->kind != RANKFEED_PART_DOCUMENT;
    size_t begin = 0, first = 0, last = 0;
    for (size_t at = 1; at < text.size() && !once; ++at) {
      if (!CutIsSafe(*out_.model, text, at)) continue;
      if (first == 0) first = at;
      last = at;
    }
    const auto add = [&](size_t end, bool cut) {
      if (end <= begin) return;
      Open({literal.kind, 0, {text.data() + begin, end - begin}});
      begin = end;
      if (cut) Close();
    };
    if (varies_) add(first, true);
    if (!varies_ && next != nullptr) add(last, true);
    add(text.size(), false);
  }

  void Special(uint32_t i) {
    const Part& part = row_.parts[i];
    const int32_t id = SpecialId(*out_.model, View(part.text));
    if (id < 0) return Refuse(RANKFEED_E_NOT_FOUND, "the vocabulary has no such special token", i);
    const bool alone = (i == 0 || row_.parts[i - 1].kind == RANKFEED_PART_APART) &&
                       (i + 1 == row_.part_count || row_.parts[i + 1].kind == RANKFEED_PART_APART);
    if (!alone && !SpecialIsSafe(*out_.model, static_cast<uint32_t>(id))) {
      return Refuse(RANKFEED_E_UNSUPPORTED, "the special token depends on the text beside it, and must stand apart", i);
    }
    Close();
    if (status_ != RANKFEED_OK) return;
    out_.ids[id_count_++] = id;
    AddIds(id_count_ - 1);
    if (part.flags == 0) return;
    out_.markers[out_.info.marker_count] = View(Copy(View(part.text)));
    out_.info.markers[out_.info.marker_count++] = id;
  }

  // The line feed with which the next section begins, and which every text may be cut after, is the end of this one.
  void Section(uint32_t i) {
    const bool more = i + 1 < row_.part_count && IsLiteral(row_.parts[i + 1]);
    const std::string_view next = more ? View(row_.parts[i + 1].text) : std::string_view();
    if (next.size() < 2 || !CutIsSafe(*out_.model, next, 1)) {
      return Refuse(RANKFEED_E_UNSUPPORTED, "what is repeated, and what follows it, begins with a line feed after which "
                                            "every text may be cut", i);
    }
    Open({RANKFEED_PART_TEXT, 0, Copy({next.data(), 1})});
    Close();
    out_.sections[++section_] = step_count_;
  }

  // This makes the ids from `begin` on a step, or the end of the one before.
  void AddIds(size_t begin) {
    const bool more = step_count_ != out_.sections[section_] && out_.steps[step_count_ - 1].parts.empty();
    if (more) begin = static_cast<size_t>(out_.steps[--step_count_].ids.data() - out_.ids.data());
    out_.steps[step_count_++] = {out_.ids.subspan(begin, id_count_ - begin), {}};
  }

  // This sets the steps of a row with one document.
  void SetPair() {
    RowTemplate& out = out_;
    out.pair.prefix.ids = out.pair.middle.ids = out.pair.suffix.ids = out.ids.data();
    rankfeed_template_part* fixed = &out.pair.prefix;  // of these; two steps of ids do not follow each other
    const auto refuse = [&](const char* rule) { Refuse(RANKFEED_E_UNSUPPORTED, rule, row_.part_count); };
    for (const Step& step : out.steps.first(step_count_)) {
      const auto at = std::find_if(step.parts.begin(), step.parts.end(),
                                   [](const Part& part) { return part.kind == RANKFEED_PART_DOCUMENT; });
      if (step.parts.empty()) {
        fixed->ids = step.ids.data();
        fixed->id_count = Size32(step.ids);
      } else if (!out.document.empty()) {
        return refuse("what follows the document, apart from it, is the same in all rows");
      } else if (at != step.parts.end()) {
        out.document = step.parts;
        out.document_at = static_cast<size_t>(at - step.parts.begin());
        fixed = &out.pair.suffix;
      } else if (out.query.empty()) {
        out.query = step.parts;
        fixed = &out.pair.middle;
      } else {
        return refuse("query and instruction must stand in one text");
      }
    }
    out.info.document_is_alone = out.document.size() == 1;
    for (const Part& part : out.document) {
      out.info.query_is_joined |= Varies(part) && part.kind != RANKFEED_PART_DOCUMENT;
      out.info.hash = XXH3_64bits_withSeed(part.text.data, part.text.size, out.info.hash ^ part.kind);
    }
    out.info.hash = out.document.size() == 1 ? 0 : std::max<uint64_t>(out.info.hash, 1);
  }

  // The tokens that a row may have beside those that the reference's limit counts, and the limits that
  // follow from it.
  void SetLimits() {
    rankfeed_template_info& info = out_.info;
    info.prefix_tokens = out_.pair.prefix.id_count;
    info.middle_tokens = out_.pair.middle.id_count;
    info.suffix_tokens = out_.pair.suffix.id_count;
    const uint64_t before = uint64_t{row_.prefix_times} * info.prefix_tokens;
    const uint64_t beside = before + uint64_t{row_.suffix_times} * info.suffix_tokens;
    if (beside + row_.max_length > 0x7fffffff) return Refuse(RANKFEED_E_LIMIT, nullptr, 0);
    out_.beside_limit = static_cast<uint32_t>(beside);
    if (row_.max_length != 0) info.max_length = row_.max_length + out_.beside_limit;
    out_.Limits(info.max_length, &info.max_query_tokens, &info.max_tokens_per_doc);
    if (section_ == 1) return;
    info.prefix_tokens = out_.steps[0].parts.empty() ? Size32(out_.steps[0].ids) : 0;
    info.max_documents = row_.max_documents != 0 ? row_.max_documents : 0xffffffff;
    info.max_query_tokens = row_.max_query_tokens;
    info.max_tokens_per_doc = row_.max_document_tokens;
  }

  // This looks up the padding token, and the first id of each answer.
  void SetIds() {
    rankfeed_template_info& info = out_.info;
    info.pad_id = row_.pad.size != 0 ? SpecialId(*out_.model, View(row_.pad)) : -1;
    if (row_.pad.size != 0 && info.pad_id < 0) {
      return Refuse(RANKFEED_E_NOT_FOUND, "the vocabulary has no such padding token", row_.part_count);
    }
    for (; info.answer_count < row_.answer_count; ++info.answer_count) {
      const size_t before = id_count_;
      status_ = AddIdsOf(encoder_, 0, View(row_.answers[info.answer_count]), out_.ids, &id_count_);
      if (status_ != RANKFEED_OK) return;
      if (id_count_ == before || static_cast<uint32_t>(out_.ids[before]) == out_.model->config->unk_id) {
        return Refuse(RANKFEED_E_NOT_FOUND, "an answer has no id", row_.part_count);
      }
      info.answers[info.answer_count] = out_.ids[before];
    }
  }

  const rankfeed_row_template& row_;
  rankfeed_encoder& encoder_;
  RowTemplate& out_;
  Refusal& why_;
  rankfeed_status status_ = RANKFEED_OK;
  TextWriter pool_;
  size_t part_count_ = 0, open_ = 0;  // parts written, and those before the step under way
  size_t id_count_ = 0, step_count_ = 0, section_ = 0;
  bool varies_ = false;  // the step under way
};

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
  if (number >= 10) AddNumber(number / 10);
  const char digit = static_cast<char>('0' + number % 10);
  Add({&digit, 1});
}

bool RowTemplate::Carve(const Model& of, const rankfeed_row_template& row, Layout& layout) {
  uint64_t bytes = row.instruction.size;
  for (uint32_t i = 0; i < row.part_count; ++i) bytes += row.parts[i].text.size;
  if (bytes > 0x7fffffff) return false;
  // A part becomes three at most, and each has at least what no text has.
  const uint64_t pieces = 3 * uint64_t{row.part_count};
  uint64_t most = encode::TokenBound(of, bytes) + pieces * encode::TokenBound(of, 0);
  for (uint32_t i = 0; i < row.answer_count; ++i) most += encode::TokenBound(of, row.answers[i].size);
  if (most > 0x7fffffff) return false;
  const auto take = [&]<class T>(std::span<T>* out, uint64_t size) {
    *out = {layout.Take<T>(static_cast<size_t>(size)), static_cast<size_t>(size)};
  };
  take(&parts, pieces);
  take(&steps, pieces);
  take(&ids, most);
  take(&text, bytes);
  return layout.ok();
}

rankfeed_status RowTemplate::Init(const Model& of, const rankfeed_row_template& row, rankfeed_encoder& encoder,
                                  Refusal* why) {
  model = &of;
  rules = row;
  pair.struct_size = sizeof(pair);
  pair.row_template = static_cast<rankfeed_template*>(this);
  info.literal_bytes = Size32(text);
  const rankfeed_status status = Compiler(row, encoder, this, why).Compile();
  if (status == RANKFEED_OK) magic = kTemplateMagic;
  return status;
}

rankfeed_status RowTemplate::List(rankfeed_encoder& encoder, uint32_t flags, Roles roles,
                                  std::span<const rankfeed_text> documents, std::span<char> work,
                                  rankfeed_encoding* io) const {
  const std::span<int32_t> out(io->input_ids, io->capacity);
  size_t count = 0;
  roles.count = Size32(documents);
  for (size_t at = 0; at != sections[3];) {
    if (at == sections[1]) roles.document = View(documents[roles.number]);
    const Step& step = steps[at];
    if (step.parts.empty()) {
      if (count + step.ids.size() <= out.size()) std::copy(step.ids.begin(), step.ids.end(), out.data() + count);
      count += step.ids.size();
    } else {
      TextWriter writer(work.data(), work.size());
      Write(step.parts, roles, &writer);
      if (!writer.ok()) return RANKFEED_E_LIMIT;
      const rankfeed_status status = AddIdsOf(encoder, flags, {work.data(), writer.size()}, out, &count);
      if (status != RANKFEED_OK && status != RANKFEED_E_OUTPUT_SIZE) return status;
    }
    if (++at == sections[2] && ++roles.number < roles.count) at = sections[1];
  }
  if (count > 0x7fffffff) return RANKFEED_E_LIMIT;
  io->count = static_cast<uint32_t>(count);
  return count <= io->capacity ? RANKFEED_OK : RANKFEED_E_OUTPUT_SIZE;
}

void RowTemplate::Limits(uint32_t row_tokens, uint32_t* query_tokens, uint32_t* document_tokens) const {
  *query_tokens = *document_tokens = 0;
  if (row_tokens <= beside_limit) return;
  const uint32_t limit = row_tokens - beside_limit;
  const uint32_t quarters = rules.query_quarters;
  if (quarters != 0) *query_tokens = std::max<uint32_t>(1, limit / 4 * quarters + limit % 4 * quarters / 4);
  if (rules.document_limit != 0) *document_tokens = limit;
}

void RowTemplate::Write(std::span<const Part> step, const Roles& roles, TextWriter* out) const {
  const std::span<const std::string_view> without(markers, info.marker_count);
  for (const Part& part : step) {
    if (part.flags != 0 && roles.instruction.empty()) continue;
    if (part.kind == RANKFEED_PART_QUERY) {
      out->AddWithout(roles.query, without);
    } else if (part.kind == RANKFEED_PART_INSTRUCTION) {
      out->Add(roles.instruction);
    } else if (part.kind == RANKFEED_PART_DOCUMENT) {
      out->AddWithout(roles.document, without);
    } else if (part.kind == RANKFEED_PART_COUNT || part.kind == RANKFEED_PART_NUMBER) {
      out->AddNumber(part.kind == RANKFEED_PART_COUNT ? roles.count : roles.number);
    } else {
      out->Add(View(part.text));
    }
  }
}

Roles RowTemplate::Of(rankfeed_text query_text, rankfeed_text instruction_text, rankfeed_text document_text) const {
  return {View(query_text), instruction_text.size != 0 ? View(instruction_text) : instruction, View(document_text)};
}

}  // namespace rankfeed::templates
