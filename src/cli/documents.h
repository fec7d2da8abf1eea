// SPDX-License-Identifier: MIT
// cli/documents.h: the documents of a request, from a file, and from a corpus where that holds their
// ids.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/store.h"
#include "cli/text_source.h"
#include "rankfeed/rerank.h"

namespace rankfeed::cli {

// --docs, --jsonl and --corpus, as every command that ranks or batches has them.
struct DocumentOptions {
  std::string docs, corpus;
  bool jsonl = false;

  void Add(CLI::App& command) {
    command.add_option("--docs", docs, "Documents, one per line or JSONL; - is standard input")->required();
    command.add_option("--corpus", corpus,
                       "Corpus store of the same vocabulary, or a manifest of stores: documents whose id it holds are "
                       "taken from it, and need no text");
    command.add_flag("--jsonl", jsonl, "Documents are JSONL whatever the file is called");
  }
};

// They and everything that must outlive their batches. Throws Failure where there are none, and for
// one that has neither a text nor a place in the corpus.
class Documents {
 public:
  std::vector<std::string> texts, names;  // a stored document may have no text
  std::vector<rankfeed_source> sources;
  size_t longest = 0, total = 0;  // bytes of texts that are tokenized
  size_t stored_tokens = 0;

  // encode_flags: of the texts; a store must be made with the same.
  Documents(const DocumentOptions& o, const VocabOptions& vocab, const rankfeed_model* model, uint32_t encode_flags,
            const rankfeed_template* row_template = nullptr) {
    if (!o.corpus.empty()) {
      rankfeed_corpus_options options{};
      if (vocab.map_file) options.flags = RANKFEED_CORPUS_MAP_FILE;
      options.encode_flags = encode_flags;
      options.row_template = row_template;
      store_.emplace(o.corpus, model, options);
    }
    TextSource input(o.docs, o.jsonl ? TextSource::Format::kJsonl : TextSource::Format::kByName);
    std::string text, name;
    std::vector<bool> has_text;
    while (input.Next(&text, &name, store_.has_value())) {
      names.push_back(name.empty() ? std::to_string(texts.size()) : name);
      texts.push_back(text);
      has_text.push_back(input.has_text());
    }
    if (texts.empty()) throw Failure("{}: no documents", o.docs);
    for (size_t i = 0; i < texts.size(); ++i) {
      rankfeed_source source{};
      if (store_ && rankfeed_corpus_find(store_->get(), {names[i].data(), names[i].size()}, &source) == RANKFEED_OK) {
        stored_tokens += source.id_count;
      } else if (!has_text[i]) {
        throw Failure("{}: document {} has no text and is not in {}", o.docs, names[i], o.corpus);
      } else {
        source.text = {texts[i].data(), texts[i].size()};
        longest = std::max(longest, texts[i].size());
        total += texts[i].size();
      }
      sources.push_back(source);
    }
  }
  Documents(const Documents&) = delete;  // sources point into texts and the store

 private:
  std::optional<Store> store_;
};

}  // namespace rankfeed::cli
