// SPDX-License-Identifier: MIT
#include "builder/files/row_template_json.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "base/narrow.h"
#include "builder/files/json_value.h"

namespace rankfeed::builder {
namespace {

constexpr std::pair<const char*, uint32_t> kRoles[] = {{"query", RANKFEED_PART_QUERY},
                                                       {"instruction", RANKFEED_PART_INSTRUCTION},
                                                       {"document", RANKFEED_PART_DOCUMENT},
                                                       {"count", RANKFEED_PART_COUNT},
                                                       {"number", RANKFEED_PART_NUMBER}};
constexpr std::pair<const char*, uint8_t> kTruncations[] = {
    {"none", RANKFEED_TRUNCATE_NONE},
    {"longest_first", RANKFEED_TRUNCATE_LONGEST_FIRST},
    {"longest_first_slow", RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW},
    {"only_first", RANKFEED_TRUNCATE_ONLY_FIRST},
    {"only_second", RANKFEED_TRUNCATE_ONLY_SECOND},
    {"text_end", RANKFEED_TRUNCATE_TEXT_END}};

template <class Choices>
auto Choice(const Json& value, const Choices& choices) {
  const std::string name = value.String();
  std::string all;
  for (const auto& [known, number] : choices) {
    if (name == known) return number;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  value.Fail(RANKFEED_E_PARSE, "is \"" + name + "\"; it must be one of " + all);
}

class Loaded : public rankfeed_loaded_template {
 public:
  void Read(const Json& root) {
    std::vector<std::string_view> known = {"parts"};
    const auto find = [&](const char* key) {
      known.push_back(key);
      return root.Find(key);
    };
    row.struct_size = sizeof(row);
    for (const auto& [key, text] : {std::pair("name", &row.name), std::pair("source", &row.source),
                                    std::pair("revision", &row.revision), std::pair("instruction", &row.instruction),
                                    std::pair("pad", &row.pad)}) {
      if (const auto value = find(key)) *text = Keep(value->String());
    }
    AddParts(root.At("parts"));
    row.parts = parts_.data();
    row.part_count = Size32(parts_);
    if (const auto answers = find("answers")) {
      answers->Each([&](const Json& answer) { answers_.push_back(Keep(answer.String())); });
      if (answers_.size() > RANKFEED_TEMPLATE_MAX_ANSWERS) {
        answers->Fail(RANKFEED_E_LIMIT, "has more than " + std::to_string(RANKFEED_TEMPLATE_MAX_ANSWERS) + " texts");
      }
      row.answers = answers_.data();
      row.answer_count = Size32(answers_);
    }
    row.truncation = RANKFEED_TRUNCATE_TEXT_END;
    if (const auto value = find("truncation")) row.truncation = Choice(*value, kTruncations);
    for (const auto& [key, number] : {std::pair("max_length", &row.max_length), std::pair("max_documents", &row.max_documents),
                                      std::pair("max_query_tokens", &row.max_query_tokens),
                                      std::pair("max_document_tokens", &row.max_document_tokens)}) {
      if (const auto value = find(key)) *number = value->U32();
    }
    for (const auto& [key, number, most] : {std::tuple("prefix_times", &row.prefix_times, 16u),
                                            std::tuple("suffix_times", &row.suffix_times, 16u),
                                            std::tuple("query_quarters", &row.query_quarters, 4u),
                                            std::tuple("pad_to_multiple_of", &row.pad_to_multiple_of, 255u)}) {
      const auto value = find(key);
      const uint32_t given = value ? value->U32() : 0;
      if (given > most) value->Fail(RANKFEED_E_LIMIT, "is above " + std::to_string(most));
      *number = static_cast<uint8_t>(given);
    }
    if (const auto limit = find("document_limit")) row.document_limit = limit->Bool();
    root.EachMember([&](std::string_view key, const Json& value) {
      const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
      if (!is_known) value.Fail(RANKFEED_E_PARSE, "is no member of a row template");
    });
  }

 private:
  rankfeed_text Keep(std::string text) {
    texts_.push_back(std::move(text));
    return {texts_.back().data(), texts_.back().size()};
  }
  // Parts, and {"each": [parts]}.
  void AddParts(const Json& parts) {
    parts.Each([&](const Json& part) {
      const auto each = part.is_object() ? part.Find("each") : std::nullopt;
      if (!each) return parts_.push_back(Part(part));
      parts_.push_back({RANKFEED_PART_EACH, 0, {}});
      each->Each([&](const Json& inner) { parts_.push_back(Part(inner)); });
      parts_.push_back({RANKFEED_PART_END, 0, {}});
    });
  }
  // "apart", {"text": ...}, {"special": ...} or {"role": ...}.
  rankfeed_row_part Part(const Json& part) {
    if (part.is_string()) {
      if (part.String() != "apart") part.Fail(RANKFEED_E_PARSE, "must be \"apart\" or an object");
      return {RANKFEED_PART_APART, 0, {}};
    }
    rankfeed_row_part out = {};
    uint32_t kinds = 0;
    if (const auto value = part.Find("text")) out = {RANKFEED_PART_TEXT, 0, Keep(value->String())}, ++kinds;
    if (const auto value = part.Find("special")) out = {RANKFEED_PART_SPECIAL, 0, Keep(value->String())}, ++kinds;
    if (const auto value = part.Find("role")) out = {Choice(*value, kRoles), 0, {}}, ++kinds;
    if (kinds != 1) part.Fail(RANKFEED_E_PARSE, "must have one of text, special and role");
    if (part.BoolOr("with_instruction", false)) out.flags |= RANKFEED_PART_WITH_INSTRUCTION;
    if (part.BoolOr("marker", false)) out.flags |= RANKFEED_PART_MARKER;
    return out;
  }

  std::deque<std::string> texts_;  // which stay where they are
  std::vector<rankfeed_row_part> parts_;
  std::vector<rankfeed_text> answers_;
};

}  // namespace

rankfeed_loaded_template* ReadRowTemplate(std::string_view json, const char* name) {
  const JsonSource source{name, simdjson::padded_string(json)};
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(source.text).get(root)) FailParse(source, error);
  auto loaded = std::make_unique<Loaded>();
  loaded->Read(Json(source, root, ""));
  return loaded.release();
}

}  // namespace rankfeed::builder
