// SPDX-License-Identifier: MIT
// rankfeed/template.hpp: header-only C++20 wrapper over rankfeed/template.h: a compiled row template
// that owns its memory. Immutable, share freely.
#ifndef RANKFEED_TEMPLATE_HPP_
#define RANKFEED_TEMPLATE_HPP_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rankfeed/rankfeed.hpp"
#include "rankfeed/template.h"

namespace rankfeed {
inline namespace v1 {

// A row that holds documents [first, first + count) of a request, and where its markers are.
struct ListRow {
  size_t first = 0, count = 0;
  std::vector<int32_t> ids;
  std::vector<uint32_t> markers;
};

class RowTemplate {
 public:
  // The preset of that name ("qwen3-reranker"), with this vocabulary, which must outlive it.
  static Result<RowTemplate> Preset(const rankfeed_model* model, const std::string& name) {
    rankfeed_row_template row{};
    if (rankfeed_template_preset(name.c_str(), &row) == RANKFEED_OK) return Compile(model, row);
    return detail::OrNoMemory([&] {
      return Error{RANKFEED_E_NOT_FOUND, "there is no row template " + name + "; there are " + PresetNames()};
    });
  }
  // "qwen3-reranker, ...": all presets, for messages. Throws std::bad_alloc.
  static std::string PresetNames() {
    std::string names;
    for (uint32_t i = 0; const char* known = rankfeed_template_preset_name(i); ++i) {
      names += (i != 0 ? ", " : "") + std::string(known);
    }
    return names;
  }
  static Result<RowTemplate> Compile(const rankfeed_model* model, const rankfeed_row_template& row) {
    size_t longest = 1;
    for (uint32_t i = 0; i < row.part_count; ++i) longest += row.parts[i].text.size;
    for (uint32_t i = 0; i < row.answer_count; ++i) longest = std::max(longest, row.answers[i].size);
    // A normalizer may make a text longer.
    const size_t bytes = std::min<size_t>(64 * 1024 + 8 * longest, rankfeed_max_text_bytes(model));
    auto encoder = Encoder::Create(model, static_cast<uint32_t>(bytes), false, 0);
    if (!encoder) return encoder.error();
    rankfeed_mem_req need{};
    const char* problem = nullptr;
    uint32_t part = 0;
    RowTemplate made;
    rankfeed_status status = rankfeed_template_mem_req(model, &row, &need);
    if (status == RANKFEED_OK) {
      made.storage_ = AlignedBytes(need);
      if (!made.storage_) return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
      status = rankfeed_template_init(model, &row, encoder->get(), made.storage_.data(), made.storage_.size(),
                                      &made.template_, &problem, &part);
    }
    if (status == RANKFEED_OK) return made;
    return detail::OrNoMemory([&] { return Error{status, Words(row, status, problem, part)}; });
  }

  rankfeed_template_info info() const {
    rankfeed_template_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_template_get_info(template_, &info);
    return info;
  }
  // Makes the rows of a reranker those of this template, which must outlive it. max_length 0: the
  // reference's.
  Error Apply(rankfeed_rerank_options* options, uint32_t max_length = 0) const {
    const rankfeed_status status = rankfeed_template_options(template_, max_length, options);
    return status == RANKFEED_OK ? Error{} : detail::OrNoMemory([&] { return Error::From(status); });
  }
  const rankfeed_template* get() const { return template_; }

  // The rows of a template whose rows hold several documents. Texts of more tokens than the template's limits
  // say are cut as its reference cuts them: to so many ids, which become text again. A row ends with the
  // document that leaves less than the limit of a document of the row's limit, from which the query's tokens are
  // taken twice. flags: as in rankfeed_encode_options, for offsets none.
  Result<std::vector<ListRow>> ListRows(const rankfeed_model* model, std::string_view query,
                                        std::span<const std::string_view> documents,
                                        std::string_view instruction = {}, uint32_t flags = 0) const {
    return detail::OrNoMemory([&] { return MakeListRows(model, query, documents, instruction, flags); });
  }

  RowTemplate(RowTemplate&& other) noexcept
      : storage_(std::move(other.storage_)), template_(std::exchange(other.template_, nullptr)) {}
  RowTemplate& operator=(RowTemplate&& other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(template_, other.template_);
    return *this;
  }

 private:
  RowTemplate() = default;
  static rankfeed_text View(std::string_view text) { return {text.data(), text.size()}; }

  Result<std::vector<ListRow>> MakeListRows(const rankfeed_model* model, std::string_view query,
                                            std::span<const std::string_view> documents,
                                            std::string_view instruction, uint32_t flags) const {
    const rankfeed_template_info info = this->info();
    size_t longest = std::max(query.size(), instruction.size());
    for (const std::string_view text : documents) longest = std::max(longest, text.size());
    // A text that is cut may grow, as a part of a character becomes U+FFFD.
    const size_t bytes = 3 * longest + query.size() + instruction.size() + info.literal_bytes + 64;
    if (bytes > rankfeed_max_text_bytes(model)) {
      return detail::OverLimit("a text has ", longest, " bytes; with what is beside it in its row the limit of the vocabulary is ",
                               rankfeed_max_text_bytes(model));
    }
    auto encoder = Encoder::Create(model, static_cast<uint32_t>(bytes));
    if (!encoder) return encoder.error();
    Encoding own;
    const auto cut = [&](std::string_view* text, uint32_t limit, std::string* to, size_t* tokens) {
      const rankfeed_encode_options options{sizeof(options), flags, {}};
      Error error = encoder->Encode(*text, options, &own);
      *tokens = own.input_ids.size();
      if (error || limit == 0 || *tokens < limit) return error;
      *tokens = limit;
      own.input_ids.resize(limit);
      error = encoder->Decode(own.input_ids, false, to);
      *text = *to;
      return error;
    };
    std::string cut_query;
    size_t query_tokens = 0;
    if (Error error = cut(&query, info.max_query_tokens, &cut_query, &query_tokens)) return error;
    std::vector<ListRow> rows;
    std::vector<std::string> cut_texts(documents.size());
    std::vector<rankfeed_text> texts;
    std::string work(bytes, '\0');
    int64_t left = 0;
    for (size_t i = 0; i < documents.size(); ++i) {
      if (texts.empty()) {
        left = info.max_length == 0 ? INT64_MAX : int64_t{info.max_length} - 2 * static_cast<int64_t>(query_tokens);
        rows.push_back({i, 0, {}, {}});
      }
      std::string_view text = documents[i];
      size_t tokens = 0;
      if (Error error = cut(&text, info.max_tokens_per_doc, &cut_texts[i], &tokens)) return error;
      texts.push_back(View(text));
      left -= static_cast<int64_t>(tokens);
      if (i + 1 < documents.size() && texts.size() < info.max_documents && left > int64_t{info.max_tokens_per_doc}) continue;
      if (Error error = FillRow(encoder->get(), info, flags, query, instruction, texts, &work, &rows.back())) return error;
      texts.clear();
    }
    return rows;
  }
  Error FillRow(rankfeed_encoder* encoder, const rankfeed_template_info& info, uint32_t flags, std::string_view query,
                std::string_view instruction, const std::vector<rankfeed_text>& texts, std::string* work,
                ListRow* row) const {
    row->count = texts.size();
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    rankfeed_status status;
    do {
      row->ids.resize(io.count);
      io.capacity = static_cast<uint32_t>(row->ids.size());
      io.input_ids = row->ids.data();
      status = rankfeed_template_list(template_, encoder, flags, View(query), View(instruction), texts.data(),
                                      static_cast<uint32_t>(texts.size()), work->data(), work->size(), &io);
    } while (status == RANKFEED_E_OUTPUT_SIZE && io.count > row->ids.size());
    if (status != RANKFEED_OK) return Error::From(status, "a row of several documents");
    row->ids.resize(io.count);
    for (size_t at = 0; at < row->ids.size(); ++at) {
      const int32_t* const end = info.markers + info.marker_count;
      if (std::find(info.markers, end, row->ids[at]) != end) row->markers.push_back(static_cast<uint32_t>(at));
    }
    return {};
  }
  static std::string Words(const rankfeed_row_template& row, rankfeed_status status, const char* problem,
                           uint32_t part) {
    std::string words = "row template";
    if (row.name.size != 0) words += " " + std::string(row.name.data, row.name.size);
    words += ": " + std::string(problem != nullptr ? problem : rankfeed_status_message(status));
    if (problem == nullptr || part >= row.part_count) return words;
    words += " (part " + std::to_string(part);
    const rankfeed_text text = row.parts[part].text;
    if (text.size != 0) words += ", \"" + std::string(text.data, text.size) + "\"";
    return words + ")";
  }

  AlignedBytes storage_;
  rankfeed_template* template_ = nullptr;
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_TEMPLATE_HPP_
