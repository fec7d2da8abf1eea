// SPDX-License-Identifier: MIT
// corpus_builder/rewrite.cc: see rewrite.h.
#include "corpus_builder/rewrite.h"

#include <cstring>
#include <utility>

#include "builder/base/model_spec.h"
#include "corpus_builder/guarded.h"
#include "corpus_builder/writer.h"

namespace rankfeed::corpus_builder {
namespace {

using builder::BuildError;
using corpus::Corpus;
using corpus::Document;

// A verified store.
struct Source {
  explicit Source(const std::string& path) : mapping(path) {
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    rankfeed_status status =
        corpus::Bind(mapping.data(), mapping.size(), &corpus, nullptr, &detail);
    if (status == RANKFEED_OK) status = corpus::Verify(corpus, &detail);
    CheckStore(status, path, detail);
  }
  FileMapping mapping;
  Corpus corpus;
};

void CopyDocuments(const Source& source, Writer* writer) {
  for (uint64_t position = 0; position < source.corpus.positions; ++position) {
    Document document;
    const rankfeed_status status = corpus::Get(source.corpus, position, &document);
    if (status == RANKFEED_E_NOT_FOUND) continue;
    if (status != RANKFEED_OK) throw BuildError(status, rankfeed_status_message(status));
    const size_t offsets = source.corpus.has_offsets ? document.token_count : 0;
    writer->Put(document.id, {document.input_ids, document.token_count},
                {document.offset_begin, offsets}, {document.offset_end, offsets});
  }
}

}  // namespace

void Compact(const std::string& path) {
  File lock = File::OpenExisting(path);  // nothing may be appended from here on
  const Source source(path);
  Writer writer =
      Writer::Create(path, source.corpus.header, std::move(lock), source.corpus.commit.sequence);
  CopyDocuments(source, &writer);
  writer.Commit();
}

void MergeStores(std::span<const std::string> sources, const std::string& path) {
  if (sources.empty()) throw BuildError(RANKFEED_E_ARGUMENT, "no stores to merge");
  std::vector<Source> stores;
  stores.reserve(sources.size());
  for (const std::string& name : sources) {
    stores.emplace_back(name);
    // Everything but the checksum: vocabulary, encode_flags, offsets. Equal checksums say the same.
    if (std::memcmp(&stores.back().corpus.header, &stores[0].corpus.header,
                    sizeof(corpus::Header)) != 0) {
      throw BuildError(RANKFEED_E_VOCABULARY,
                       name, ": not made with the vocabulary and the options of ", sources[0]);
    }
  }
  Writer writer = Writer::Create(path, stores[0].corpus.header);
  for (const Source& store : stores) CopyDocuments(store, &writer);
  writer.Commit();
}

}  // namespace rankfeed::corpus_builder
