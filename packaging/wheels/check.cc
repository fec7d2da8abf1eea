// SPDX-License-Identifier: MIT
// check.cc TEXTS OUT MODEL...: for systems whose Python cannot be had here, what check.py does by the libraries that
// the extension is linked of. TEXTS: each a size in four bytes, little-endian, and that many bytes. Of each model it
// leaves in OUT its image, the ids and offsets of all texts, and the ids of a batch of pairs; check_program.py has
// them hashed. Then the files: a store is written, locked, compacted, read and mapped, and must give the ids back.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rankfeed/builder.hpp"
#include "rankfeed/corpus_writer.h"
#include "rankfeed/handoff.h"
#include "rankfeed/rerank.hpp"

namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "check: %s\n", what.c_str());
  std::exit(1);
}

std::vector<std::string> ReadTexts(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> texts;
  for (size_t at = 0; at + 4 <= bytes.size();) {
    uint32_t size;
    std::memcpy(&size, bytes.data() + at, 4);
    texts.push_back(bytes.substr(at + 4, size));
    at += 4 + size;
  }
  if (texts.empty()) Die(std::string("no texts in ") + path);
  return texts;
}

class Out {
 public:
  explicit Out(const std::string& path) : file_(path, std::ios::binary) {}
  ~Out() {
    if (!file_.flush()) Die("an output file cannot be written");
  }
  void Put(const void* data, size_t size) { file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size)); }

 private:
  std::ofstream file_;
};

// As Tokenizer.encode_batch: with special tokens, which have no place in the text; offsets in code points.
std::vector<std::vector<int32_t>> Encode(const rankfeed::Vocabulary& vocab, const std::vector<std::string>& texts,
                                         const std::string& out) {
  auto encoder = rankfeed::Encoder::Create(vocab.model(), 1 << 20, /*with_offsets=*/true);
  if (!encoder) Die(encoder.error().message);
  std::printf("isa %s\n", encoder->Isa());
  Out ids(out + ".ids"), offsets(out + ".offsets");
  std::vector<std::vector<int32_t>> plain;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = RANKFEED_ADD_SPECIAL_TOKENS | RANKFEED_OFFSETS_CODE_POINTS;
  rankfeed::Encoding encoding;
  for (const std::string& text : texts) {
    if (auto error = encoder->Encode(text, options, &encoding)) Die(error.message);
    plain.emplace_back();
    for (size_t i = 0; i < encoding.input_ids.size(); ++i) {
      const bool special = encoding.special_tokens_mask[i] != 0 && encoding.offset_begin[i] == encoding.offset_end[i];
      const int64_t range[2] = {special ? 0 : encoding.offset_begin[i], special ? 0 : encoding.offset_end[i]};
      offsets.Put(range, sizeof(range));
    }
    ids.Put(encoding.input_ids.data(), encoding.input_ids.size() * sizeof(int32_t));
    ids.Put("|", 1);
    offsets.Put("|", 1);
  }
  options.flags = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (auto error = encoder->Encode(texts[i], options, &encoding)) Die(error.message);
    plain[i] = encoding.input_ids;
  }
  return plain;
}

void Pairs(const rankfeed::Vocabulary& vocab, const std::vector<std::string>& texts, const std::string& out) {
  Out file(out + ".pairs");
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.max_length = 128;
  options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  options.id_type = RANKFEED_INT64;
  rankfeed_rerank_limits limits{};
  limits.max_documents = 200;
  limits.max_text_bytes = 1 << 20;
  limits.max_tokens = 200 * 128;
  auto reranker = rankfeed::Reranker::Create(vocab.model(), limits, options);
  if (!reranker) {  // a vocabulary without pairs
    const char* const name = rankfeed_status_name(reranker.error().status);
    file.Put(name, std::strlen(name));
    return;
  }
  rankfeed_source query{};
  query.text = {texts[2].data(), texts[2].size()};
  std::vector<rankfeed_source> documents(std::min<size_t>(texts.size(), 200));
  for (size_t i = 0; i < documents.size(); ++i) documents[i].text = {texts[i].data(), texts[i].size()};
  rankfeed_batch batch;
  if (auto error = reranker->Begin(query, documents)) Die(error.message);
  if (auto error = reranker->Next(&batch)) Die(error.message);
  if (batch.rows != documents.size()) Die("pairs: not one batch of all documents");
  file.Put(batch.input_ids.data, static_cast<size_t>(batch.input_ids.shape[0] * batch.input_ids.shape[1]) * sizeof(int64_t));
}

rankfeed_builder_error last{sizeof(last)};

void Ok(rankfeed_status status, const char* what) {
  if (status != RANKFEED_OK) Die(std::string(what) + ": " + rankfeed_status_message(status) + " (" + last.message + ")");
}

// The store at path, with flags of rankfeed_corpus_options, has these documents.
void CheckStore(const std::string& path, const rankfeed_model* model, uint32_t flags,
                const std::vector<std::vector<int32_t>>& ids) {
  rankfeed_corpus_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  const rankfeed::AlignedBytes storage(rankfeed_corpus_mem_req());
  rankfeed_mapping mapping{};
  rankfeed_corpus* corpus = nullptr;
  Ok(rankfeed_corpus_open_file(path.c_str(), model, &options, storage.data(), storage.size(), &mapping, &corpus, nullptr), "store");
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string name = std::to_string(i);
    rankfeed_source found{};
    Ok(rankfeed_corpus_find(corpus, {name.data(), name.size()}, &found), "a document of the store");
    if (found.id_count != ids[i].size() || !std::equal(ids[i].begin(), ids[i].end(), found.ids)) Die("ids of the store differ");
  }
  rankfeed_image_unmap(&mapping);
}

void Store(const rankfeed::Vocabulary& vocab, const std::vector<std::string>& texts, const std::vector<std::vector<int32_t>>& ids,
           const std::string& path) {
  const auto put = [&](rankfeed_corpus_writer* writer, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const std::string name = std::to_string(i);
      rankfeed_source source{};
      source.text = {texts[i].data(), texts[i].size()};
      Ok(rankfeed_corpus_writer_put(writer, {name.data(), name.size()}, &source, &last), "put");
    }
    Ok(rankfeed_corpus_writer_commit(writer, &last), "commit");
  };
  const size_t half = texts.size() / 2;
  rankfeed_corpus_writer *writer = nullptr, *second = nullptr;
  for (int round = 0; round < 2; ++round) {  // once over a store that is there
    Ok(rankfeed_corpus_writer_open(path.c_str(), vocab.model(), nullptr, &writer, &last), "create");
    put(writer, 0, half);
    rankfeed_corpus_writer_options append{};
    append.struct_size = sizeof(append);
    append.mode = RANKFEED_CORPUS_APPEND;
    if (rankfeed_corpus_writer_open(path.c_str(), vocab.model(), &append, &second, nullptr) != RANKFEED_E_BUSY) {
      Die("a second writer was let in");
    }
    rankfeed_corpus_writer_close(writer);
    Ok(rankfeed_corpus_writer_open(path.c_str(), vocab.model(), &append, &writer, &last), "append");
    put(writer, half, texts.size());
    put(writer, 0, half);  // again: dead bytes
    rankfeed_corpus_writer_close(writer);
  }
  CheckStore(path, vocab.model(), 0, ids);
  Ok(rankfeed_corpus_compact(path.c_str(), &last), "compact");
  CheckStore(path, vocab.model(), RANKFEED_CORPUS_MAP_FILE, ids);
}

// A ring of the host's backend opens and closes.
void Ring() {
  rankfeed_handoff_options options{};
  options.struct_size = sizeof(options);
  options.slots = 2;
  options.slot_bytes = 1 << 20;
  rankfeed_handoff* ring = nullptr;
  Ok(rankfeed_handoff_open(&options, &ring, nullptr), "ring");
  rankfeed_handoff_close(ring);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::vector<std::string> texts = ReadTexts(argv[1]);
  for (int i = 3; i < argc; ++i) {
    const std::string model = argv[i], name = model.substr(model.find_last_of("/\\") + 1), out = std::string(argv[2]) + "/" + name;
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    if (rankfeed_compile_file(argv[i], (out + ".image").c_str(), nullptr, &error) != RANKFEED_OK) Die(error.message);
    auto vocab = rankfeed::Vocabulary::Load(out + ".image");
    if (!vocab) Die(vocab.error().message);
    auto mapped = rankfeed::Vocabulary::Load(out + ".image", RANKFEED_PARITY_AUTO, nullptr, rankfeed::Pages::kFile);
    if (!mapped) Die(mapped.error().message);
    const std::vector<std::vector<int32_t>> ids = Encode(*mapped, texts, out);
    Pairs(*vocab, texts, out);
    Store(*vocab, texts, ids, out + ".\xC3\xA9.store");  // a name that is not in every code page
    std::remove((out + ".\xC3\xA9.store").c_str());
  }
  Ring();
  return 0;
}
