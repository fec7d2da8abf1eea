// SPDX-License-Identifier: MIT
// rerank/templates/row_template.h: the object of rankfeed_template: a row's parts as steps, each of which is
// ids or a text.
//
// Parts between two cuts (cuts.h) are a step. A step without a role is tokenized when the template is
// compiled; of a row with one document there is at most one other step before the document's:
//
//   prefix ids | query step | middle ids | document step | suffix ids
//
// Where no cut is known between query and document they are one step, that of the document. A row that
// holds several documents has three sections of steps, of which the second is repeated for each document.
// Both cuts between sections are made after the line feed with which the next one begins, so that a
// section is followed by any number of repetitions in the same way.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "encode/encoder.h"
#include "image/model.h"
#include "rankfeed/template.h"

namespace rankfeed::templates {

inline constexpr uint64_t kTemplateMagic = 0x6574616c706d65ULL;

// A part of the caller, or what a cut has left of it.
using Part = rankfeed_row_part;

// In the order of rankfeed_template_preset_name: templates of published rerankers.
std::span<const rankfeed_row_template> Presets();

inline std::string_view View(rankfeed_text text) {
  return {text.data, text.size};
}
inline bool IsGood(rankfeed_text text) {
  return text.data != nullptr || text.size == 0;
}

// Why a template is refused.
struct Refusal {
  const char* rule = nullptr;
  uint32_t part = 0;
};

// Texts of the roles, the part of a template that changes with a request.
struct Roles {
  std::string_view query, instruction, document;
  uint32_t count = 0, number = 0;  // of documents in the row, and of this one
};

// Ids, or else a text of these parts.
struct Step {
  std::span<const int32_t> ids;
  std::span<const Part> parts;
};

// Writes text by text into a buffer, and counts on past its end.
class TextWriter {
 public:
  TextWriter(char* out, size_t capacity) : out_(out), capacity_(capacity) {}
  void Add(std::string_view text);
  // The text without these names: without the last one first, then in what is left without the others.
  void AddWithout(std::string_view text, std::span<const std::string_view> names);
  void AddNumber(uint32_t number);
  size_t size() const { return size_; }
  bool ok() const { return size_ <= capacity_; }

 private:
  char* out_;
  size_t capacity_;
  size_t size_ = 0;
};

struct RowTemplate {
  // Measures (layout over null) or carves what a template of these parts needs; the object itself comes before
  // it. False where 32 bits do not count it.
  bool Carve(const Model& model, const rankfeed_row_template& row, Layout& layout);

  rankfeed_status Init(const Model& of, const rankfeed_row_template& row, rankfeed_encoder& encoder, Refusal* why);

  // The ids of a row that holds several documents; texts are put together in text[0, text_bytes).
  rankfeed_status List(rankfeed_encoder& encoder, uint32_t flags, Roles roles,
                       std::span<const rankfeed_text> documents, std::span<char> work,
                       rankfeed_encoding* io) const;
  // The text of a step's parts.
  void Write(std::span<const Part> step, const Roles& roles, TextWriter* out) const;
  // Returns the parts of the document's step before the document; after_document, those after it.
  std::span<const Part> before_document() const { return document.first(document_at); }
  std::span<const Part> after_document() const { return document.subspan(document_at + 1); }
  // The limits of query and document, as the reference has them for rows of so many tokens; 0: none.
  void Limits(uint32_t row_tokens, uint32_t* query_tokens, uint32_t* document_tokens) const;
  // The roles with the template's own instruction where the request has none.
  Roles Of(rankfeed_text query_text, rankfeed_text instruction_text, rankfeed_text document_text = {}) const;

  uint64_t magic = 0;
  const Model* model = nullptr;
  std::span<char> text;
  std::span<Part> parts;
  std::span<int32_t> ids;
  std::span<Step> steps;
  size_t sections[4] = {};  // begins and ends of them in `steps`; a row with one document has the first only
  std::string_view markers[RANKFEED_TEMPLATE_MAX_MARKERS];  // names of tokens that texts may not have
  std::span<const Part> query, document;  // steps; query may be empty
  size_t document_at = 0;                 // the part of `document` that is it
  std::string_view instruction;           // of requests without one
  rankfeed_pair_template pair = {};
  rankfeed_template_info info = {};
  rankfeed_row_template rules = {};  // its numbers; what it points to is the caller's
  uint32_t beside_limit = 0;         // tokens of a row that the reference's limit does not count
};

}  // namespace rankfeed::templates

// The opaque public handle is the template itself.
struct rankfeed_template : rankfeed::templates::RowTemplate {};
