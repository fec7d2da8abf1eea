// SPDX-License-Identifier: MIT
// python/src/template.h: a row template of an LLM reranker with a vocabulary, see rankfeed/template.h.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model.h"
#include "rankfeed/template.hpp"

namespace rankfeed::python {

class RowTemplateObject {
 public:
  // name: of a preset, or, where json is not empty, of its source in messages.
  RowTemplateObject(const Model& model, const std::string& name, const std::string& json);

  const rankfeed_template_info& info() const { return info_; }
  const RowTemplate& compiled() const { return template_; }
  // Says whether a row holds several documents.
  bool list() const { return info_.max_documents != 0; }
  // Ids around query and document, for a reranker over texts that are made here.
  const rankfeed_pair_template* pair() const { return pair_; }
  // Token limits of query and document in rows of that length; 0: none.
  std::pair<uint32_t, uint32_t> Limits(uint32_t max_length) const;
  uint32_t truncation() const { return truncation_; }
  uint32_t pad_to_multiple_of() const { return pad_to_multiple_of_; }

  const rankfeed_template* get() const { return template_.get(); }

  std::string QueryText(rankfeed_text query, std::string_view instruction) const;
  // The texts of documents that depend on no query; their bytes are in *joined.
  std::vector<rankfeed_text> DocumentTexts(const std::vector<rankfeed_text>& documents, std::string* joined) const;
  // Puts the document's text at the end of *out, and returns where in that text the document begins.
  size_t AddDocumentText(rankfeed_text query, std::string_view instruction, rankfeed_text document,
                         std::string* out) const;

 private:
  RowTemplate template_;
  rankfeed_template_info info_;
  const rankfeed_pair_template* pair_ = nullptr;
  uint32_t truncation_ = 0, pad_to_multiple_of_ = 0;
};

}  // namespace rankfeed::python
