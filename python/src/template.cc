// SPDX-License-Identifier: MIT
// python/src/template.cc: see template.h.
#include "template.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "rankfeed/builder.hpp"

namespace rankfeed::python {
namespace {

RowTemplate Compiled(const Model& model, const std::string& name, const std::string& json) {
  if (json.empty()) return Take(RowTemplate::Preset(model.get(), name));
  return Take(ReadRowTemplate(model.get(), json, name));
}

rankfeed_text View(std::string_view text) {
  return {text.data(), text.size()};
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (uint32_t i = 0; const char* name = rankfeed_template_preset_name(i); ++i) names.emplace_back(name);
  return names;
}

// A preset as the JSON object that it would be.
nb::object PresetDict(const std::string& name) {
  rankfeed_row_template row{};
  if (rankfeed_template_preset(name.c_str(), &row) != RANKFEED_OK) {
    std::string message = "name is '" + name + "'; it must be one of ";
    for (const std::string& known : PresetNames()) message += (message.ends_with("of ") ? "" : ", ") + known;
    throw nb::value_error(message.c_str());
  }
  const auto text = [](rankfeed_text t) { return nb::str(t.data, t.size); };
  static constexpr const char* kTruncations[] = {"none", "longest_first", "longest_first_slow",
                                                 "only_first", "only_second", "text_end"};
  nb::dict out;
  out["name"] = text(row.name);
  out["source"] = text(row.source);
  out["revision"] = text(row.revision);
  if (row.instruction.size != 0) out["instruction"] = text(row.instruction);
  if (row.pad.size != 0) out["pad"] = text(row.pad);
  nb::list parts, each;
  bool repeated = false;
  for (uint32_t i = 0; i < row.part_count; ++i) {
    const rankfeed_row_part& part = row.parts[i];
    nb::list& to = repeated ? each : parts;
    if (part.kind == RANKFEED_PART_APART) {
      to.append("apart");
      continue;
    }
    if (part.kind == RANKFEED_PART_EACH || part.kind == RANKFEED_PART_END) {
      repeated = part.kind == RANKFEED_PART_EACH;
      if (repeated) continue;
      nb::dict all;
      all["each"] = each;
      parts.append(all);
      continue;
    }
    nb::dict item;
    if (part.kind == RANKFEED_PART_TEXT) {
      item["text"] = text(part.text);
    } else if (part.kind == RANKFEED_PART_SPECIAL) {
      item["special"] = text(part.text);
    } else {
      static constexpr const char* kRoles[] = {"query", "instruction", "document", "count", "number"};
      item["role"] = kRoles[part.kind - RANKFEED_PART_QUERY];
    }
    if (part.flags == RANKFEED_PART_WITH_INSTRUCTION) item["with_instruction"] = true;
    if (part.flags == RANKFEED_PART_MARKER) item["marker"] = true;
    to.append(item);
  }
  out["parts"] = parts;
  nb::list answers;
  for (uint32_t i = 0; i < row.answer_count; ++i) answers.append(text(row.answers[i]));
  out["answers"] = answers;
  out["truncation"] = kTruncations[row.truncation];
  out["max_length"] = row.max_length;
  if (row.max_documents != 0) {
    out["max_documents"] = row.max_documents;
    out["max_query_tokens"] = row.max_query_tokens;
    out["max_document_tokens"] = row.max_document_tokens;
  }
  out["prefix_times"] = row.prefix_times;
  out["suffix_times"] = row.suffix_times;
  out["query_quarters"] = row.query_quarters;
  out["document_limit"] = row.document_limit != 0;
  out["pad_to_multiple_of"] = row.pad_to_multiple_of;
  return out;
}

}  // namespace

RowTemplateObject::RowTemplateObject(const Model& model, const std::string& name, const std::string& json)
    : template_(Compiled(model, name, json)), info_(template_.info()) {
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  Check(rankfeed_template_options(template_.get(), 0, &options), "row template");
  pair_ = options.pair_template;
  truncation_ = options.truncation;
  pad_to_multiple_of_ = options.pad_to_multiple_of;
}

std::pair<uint32_t, uint32_t> RowTemplateObject::Limits(uint32_t max_length) const {
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  Check(rankfeed_template_options(template_.get(), max_length, &options), "row template");
  return {options.max_query_tokens, options.max_tokens_per_doc};
}

std::string RowTemplateObject::QueryText(rankfeed_text query, std::string_view instruction) const {
  std::string out(query.size + instruction.size() + info_.literal_bytes, '\0');
  size_t size = 0;
  Check(rankfeed_template_query(template_.get(), query, View(instruction), out.data(), out.size(), &size), "query");
  out.resize(size);
  return out;
}

size_t RowTemplateObject::AddDocumentText(rankfeed_text query, std::string_view instruction, rankfeed_text document,
                                          std::string* out) const {
  const size_t before = out->size();
  out->resize(before + query.size + instruction.size() + document.size + info_.literal_bytes);
  size_t size = 0, begin = 0;
  Check(rankfeed_template_document(template_.get(), query, View(instruction), document, out->data() + before,
                                   out->size() - before, &size, &begin), "document");
  out->resize(before + size);
  return begin;
}

std::vector<rankfeed_text> RowTemplateObject::DocumentTexts(const std::vector<rankfeed_text>& documents,
                                                            std::string* joined) const {
  std::vector<size_t> ends;
  for (const rankfeed_text document : documents) {
    AddDocumentText({}, {}, document, joined);
    ends.push_back(joined->size());
  }
  std::vector<rankfeed_text> texts;
  for (size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) texts.push_back({joined->data() + begin, ends[i] - begin});
  return texts;
}

void BindTemplate(nb::module_& module) {
  nb::class_<RowTemplateObject>(module, "RowTemplate", "A row template of an LLM reranker, compiled with a vocabulary.")
      .def(nb::init<const Model&, const std::string&, const std::string&>(), nb::keep_alive<1, 2>(), nb::arg("model"),
           nb::arg("name"), nb::arg("json") = "")
      .def("limits", &RowTemplateObject::Limits, nb::arg("max_length"),
           "Limits of query and document in rows of that length; 0: none.")
      .def("query_text", [](const RowTemplateObject& t, const std::string& query, const std::string& instruction) {
             return t.QueryText(View(query), instruction);
           }, nb::arg("query"), nb::arg("instruction") = "",
           "The text that is tokenized for a query.")
      .def("document_text",
           [](const RowTemplateObject& t, const std::string& document, const std::string& query, const std::string& instruction) {
             std::string out;
             t.AddDocumentText(View(query), instruction, View(document), &out);
             return out;
           }, nb::arg("document"), nb::arg("query") = "", nb::arg("instruction") = "",
           "The text that is tokenized for a document; of a template that joins the query to it, with that.")
      .def_prop_ro("prefix_tokens", [](const RowTemplateObject& t) { return t.info().prefix_tokens; },
                   "Tokens that the rows of all requests begin with.")
      .def_prop_ro("template_tokens", [](const RowTemplateObject& t) {
             return t.info().prefix_tokens + t.info().middle_tokens + t.info().suffix_tokens;
           }, "Tokens of every row that depend on no text.")
      .def_prop_ro("max_length", [](const RowTemplateObject& t) { return t.info().max_length; },
                   "Tokens of a row, as the reference limits them; 0: it does not.")
      .def_prop_ro("pad_id", [](const RowTemplateObject& t) { return t.info().pad_id; }, "Of padded rows; -1: the vocabulary's.")
      .def_prop_ro("max_documents", [](const RowTemplateObject& t) { return t.info().max_documents; },
                   "That a row holds; 0: each has a row of its own.")
      .def_prop_ro("markers", [](const RowTemplateObject& t) {
             return std::vector<int32_t>(t.info().markers, t.info().markers + t.info().marker_count);
           }, "Ids of the tokens at which the model's output is read.")
      .def_prop_ro("query_is_joined", [](const RowTemplateObject& t) { return t.info().query_is_joined != 0; },
                   "Whether the query is tokenized anew with each document, because no place between them is known where "
                   "every text may be cut.")
      .def_prop_ro("truncation", &RowTemplateObject::truncation)
      .def_prop_ro("pad_to_multiple_of", &RowTemplateObject::pad_to_multiple_of)
      .def_prop_ro("answers", [](const RowTemplateObject& t) {
             return std::vector<int32_t>(t.info().answers, t.info().answers + t.info().answer_count);
           }, "Ids of the answers, the last one yes.")
      .def_prop_ro("hash", [](const RowTemplateObject& t) { return t.info().hash; });
  module.def("template_preset", &PresetDict, nb::arg("name"), "A preset as the object that its JSON file would hold.",
             nb::sig("def template_preset(name: str) -> dict[str, object]"));
  module.def("template_names", &PresetNames, "Names of the presets.");
}

}  // namespace rankfeed::python
