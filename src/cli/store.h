// SPDX-License-Identifier: MIT
// cli/store.h: a corpus as the commands open it: a store, or the stores that a manifest names; and the row template
// that its documents are for.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "cli/checked.h"
#include "cli/cli.h"
#include "platform/files/file_calls.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/corpus.h"

namespace rankfeed::cli {

// A corpus open for reading.
class Store {
 public:
  Store(const std::string& path, const rankfeed_model* model, rankfeed_corpus_options options = {})
      : corpus_(Open(path, model, options)), info_(corpus_.info()) {}
  const rankfeed_corpus* get() const { return corpus_.get(); }
  const rankfeed_corpus_info& info() const { return info_; }
  const LoadedCorpus& loaded() const { return corpus_; }

 private:
  static LoadedCorpus Open(const std::string& path, const rankfeed_model* model,
                           const rankfeed_corpus_options& options) {
    auto corpus = LoadedCorpus::Load(path, model, options.flags, options.encode_flags, options.row_template);
    if (!corpus) throw Failure(corpus.error().message);
    return std::move(*corpus);
  }
  LoadedCorpus corpus_;
  rankfeed_corpus_info info_;
};

// This loads what --template names: a preset, or the template in a file whose name ends in .json. Throws Failure.
inline RowTemplate LoadRowTemplate(const rankfeed_model* model, const std::string& name) {
  if (!name.ends_with(".json")) return Take(RowTemplate::Preset(model, name));
  files::CheckReadable(name, files::ReadAs::kWhole);
  std::ifstream in(name, std::ios::binary);
  const std::string json(std::istreambuf_iterator<char>(in), {});
  if (!in) throw Failure(name + ": cannot be read");
  return Take(ReadRowTemplate(model, json, name));
}

}  // namespace rankfeed::cli
