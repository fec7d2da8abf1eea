// SPDX-License-Identifier: MIT
// cli/corpus.cc: `rankfeed corpus build|append|remove|info|verify|get|compact|merge`, and `manifest` of
// corpus_shards.cc.
//
// Texts are tokenized in chunks by several threads and put into the store in the order of the file, so
// that a store is the same bytes for any number of threads.
#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/cli.h"
#include "cli/corpus_shards.h"
#include "cli/growing_encoder.h"
#include "cli/store.h"
#include "cli/text_source.h"
#include "parallel/cpus.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/corpus_writer.h"
#include "serve/stretch_error.h"

namespace rankfeed::cli {
namespace {

// A chunk is large enough that handing it over costs nothing beside tokenizing it.
constexpr size_t kChunkBytes = 256 << 10;
constexpr size_t kChunkTexts = 1024;

rankfeed_text Text(const std::string& s) {
  return {s.data(), s.size()};
}

// Calls f(&error) and throws its message if it fails.
template <class F>
void Checked(F f) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  if (f(&error) != RANKFEED_OK) throw Failure(error.message);
}

// These commands look at a store once and may be asked about one that is larger than memory, so
// they map it.
Store Trusted(const std::string& path) {
  rankfeed_corpus_options options{};
  options.flags = RANKFEED_CORPUS_TRUSTED | RANKFEED_CORPUS_MAP_FILE;
  return Store(path, nullptr, options);
}

// Facts of a store that a command changes or has made.
rankfeed_corpus_info TrustedInfo(const std::string& path) {
  const Store store = Trusted(path);
  if (store.loaded().shard_count() != 0) {
    throw Failure(path + ": a manifest cannot be changed; change one of its stores and write the manifest again");
  }
  return store.info();
}

using WriterPtr = std::unique_ptr<rankfeed_corpus_writer, void (*)(rankfeed_corpus_writer*)>;

WriterPtr OpenWriter(const std::string& path, const rankfeed_model* model,
                     rankfeed_corpus_writer_options options) {
  options.struct_size = sizeof(options);
  rankfeed_corpus_writer* writer = nullptr;
  Checked([&](rankfeed_builder_error* error) {
    return rankfeed_corpus_writer_open(path.c_str(), model, &options, &writer, error);
  });
  return {writer, rankfeed_corpus_writer_close};
}

// One thread's encoder of documents, as they are or as a row template has them.
class Tokenizer {
 public:
  // row: null without one.
  Tokenizer(const rankfeed_model* model, const RowTemplate* row, uint32_t flags, bool offsets, uint32_t max_stretch_bytes)
      : model_(model), row_(row), max_stretch_bytes_(max_stretch_bytes), encoder_(model, offsets, max_stretch_bytes) {
    options_.flags = flags;
  }
  Error Encode(const std::string& document, Encoding* out) {
    const std::string& text = TextOf(document);
    if (const Error error = encoder_.Grow(text.size())) return error;
    Error error = encoder_.For(text.size()).Encode(text, options_, out);
    if (error.status == RANKFEED_E_LIMIT) {
      error.message = "the text " + serve::StretchError(model_, text.size(), max_stretch_bytes_);
    }
    return error;
  }

 private:
  // Returns the text that is tokenized for a document.
  const std::string& TextOf(const std::string& document) {
    if (row_ == nullptr) return document;
    joined_.resize(document.size() + row_->info().literal_bytes);
    size_t size = 0;
    CheckStatus(rankfeed_template_document(row_->get(), {}, {}, Text(document), joined_.data(), joined_.size(), &size,
                                           nullptr), "document");
    joined_.resize(size);
    return joined_;
  }

  const rankfeed_model* model_;
  const RowTemplate* row_;
  uint32_t max_stretch_bytes_;
  rankfeed_encode_options options_{.struct_size = sizeof(rankfeed_encode_options)};
  GrowingEncoder encoder_;
  std::string joined_;
};

struct BuildCommand {
  VocabOptions vocab;
  std::string docs = "-", store;
  bool jsonl = false, offsets = false;
  SpecialsOption specials;
  uint32_t threads = 0, max_stretch_bytes = 0;
  std::string template_name;
};

struct Chunk {
  std::vector<std::string> ids, texts;
  std::vector<uint64_t> lines;
  std::vector<Encoding> encodings;
};
using ChunkPtr = std::shared_ptr<Chunk>;

struct Totals {
  uint64_t documents = 0, tokens = 0, bytes = 0;
};

ChunkPtr ReadChunk(TextSource* source) {
  auto chunk = std::make_shared<Chunk>();
  std::string text, id;
  for (size_t bytes = 0; bytes < kChunkBytes && chunk->texts.size() < kChunkTexts;) {
    if (!source->Next(&text, &id)) break;
    bytes += text.size();
    chunk->ids.push_back(id.empty() ? std::to_string(source->line()) : id);
    chunk->texts.push_back(text);
    chunk->lines.push_back(source->line());
  }
  return chunk->texts.empty() ? nullptr : chunk;
}

Totals PutDocuments(const BuildCommand& c, const rankfeed_model* model, uint32_t encode_flags,
                    bool offsets, const RowTemplate* row, rankfeed_corpus_writer* writer) {
  TextSource source(c.docs, c.jsonl ? TextSource::Format::kJsonl : TextSource::Format::kByName);
  tbb::enumerable_thread_specific<Tokenizer> tokenizers(
      [&] { return Tokenizer(model, row, encode_flags, offsets, c.max_stretch_bytes); });
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  c.threads != 0 ? c.threads : UsableCpus());
  Totals totals;
  const auto read = [&](tbb::flow_control& control) {
    ChunkPtr chunk = ReadChunk(&source);
    if (chunk == nullptr) control.stop();
    return chunk;
  };
  const auto tokenize = [&](ChunkPtr chunk) {
    Tokenizer& tokenizer = tokenizers.local();
    chunk->encodings.resize(chunk->texts.size());
    for (size_t i = 0; i < chunk->texts.size(); ++i) {
      if (const Error error = tokenizer.Encode(chunk->texts[i], &chunk->encodings[i])) {
        throw Failure("{}:{}: {}", c.docs, chunk->lines[i], error.message);
      }
    }
    return chunk;
  };
  const auto put = [&](const ChunkPtr& chunk) {
    static constexpr int32_t kNoIds[1] = {};
    for (size_t i = 0; i < chunk->texts.size(); ++i) {
      const Encoding& e = chunk->encodings[i];
      rankfeed_source ids{};
      ids.ids = e.input_ids.empty() ? kNoIds : e.input_ids.data();
      ids.id_count = static_cast<uint32_t>(e.input_ids.size());
      if (offsets) {
        ids.offset_begin = e.offset_begin.data();
        ids.offset_end = e.offset_end.data();
      }
      rankfeed_builder_error error{};
      error.struct_size = sizeof(error);
      if (rankfeed_corpus_writer_put(writer, Text(chunk->ids[i]), &ids, &error) != RANKFEED_OK) {
        throw Failure("{}:{}: {}", c.docs, chunk->lines[i], error.message);
      }
      ++totals.documents;
      totals.tokens += e.input_ids.size();
      totals.bytes += chunk->texts[i].size();
    }
  };
  const size_t in_flight = 4 * static_cast<size_t>(tbb::this_task_arena::max_concurrency());
  tbb::parallel_pipeline(
      in_flight, tbb::make_filter<void, ChunkPtr>(tbb::filter_mode::serial_in_order, read) &
                     tbb::make_filter<ChunkPtr, ChunkPtr>(tbb::filter_mode::parallel, tokenize) &
                     tbb::make_filter<ChunkPtr, void>(tbb::filter_mode::serial_in_order, put));
  return totals;
}

void RunBuild(const BuildCommand& c, uint32_t mode) {
  const Vocabulary vocab = c.vocab.Load();
  rankfeed_corpus_writer_options options{};
  options.mode = mode;
  options.encode_flags = c.specials.flags();
  options.with_offsets = c.offsets;
  if (mode == RANKFEED_CORPUS_APPEND) {
    const rankfeed_corpus_info info = TrustedInfo(c.store);
    options.encode_flags = info.encode_flags;
    options.with_offsets = info.has_offsets;
  }
  std::optional<RowTemplate> row;
  if (!c.template_name.empty()) row.emplace(LoadRowTemplate(vocab.model(), c.template_name));
  options.row_template = row ? row->get() : nullptr;
  const auto start = std::chrono::steady_clock::now();
  const WriterPtr writer = OpenWriter(c.store, vocab.model(), options);
  const Totals totals =
      PutDocuments(c, vocab.model(), options.encode_flags, options.with_offsets != 0, row ? &*row : nullptr, writer.get());
  Checked([&](rankfeed_builder_error* error) {
    return rankfeed_corpus_writer_commit(writer.get(), error);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const rankfeed_corpus_info info = TrustedInfo(c.store);
  fmt::print(
      "{}: {} documents read, {} tokens, {} of text, {:.2f} s; store: {} documents, "
      "{}\n",
      c.store, totals.documents, totals.tokens, Bytes(totals.bytes), seconds.count(), info.documents,
      Bytes(info.file_bytes));
}

nlohmann::ordered_json InfoJson(const std::string& path, const Store& store) {
  const rankfeed_corpus_info& i = store.info();
  std::string hash;
  for (const uint8_t byte : i.config_hash) hash += fmt::format("{:02x}", byte);
  nlohmann::ordered_json out = {
          {"store", path},
          {"parity", rankfeed_parity_name(i.parity)},
          {"id_count", i.id_count},
          {"config_hash", hash},
          {"split_special_tokens", (i.encode_flags & RANKFEED_SPLIT_SPECIAL_TOKENS) != 0},
          {"specials_in_text", (i.encode_flags & RANKFEED_SPECIALS_ESCAPE) != 0  ? "escape"
                               : (i.encode_flags & RANKFEED_SPECIALS_ERROR) != 0 ? "error"
                                                                                 : "parse"},
          {"offsets", i.has_offsets != 0},
          {"template_hash", fmt::format("{:016x}", i.template_hash)},
          {"documents", i.documents},
          {"tokens", i.tokens},
          {"file_bytes", i.file_bytes},
          {"dead_bytes", i.dead_bytes},
          {"index_levels", i.index_levels},
          {"commits", i.sequence}};
  if (const uint32_t shards = store.loaded().shard_count(); shards != 0) {
    out["shards"] = shards;
    out["routing"] = store.loaded().shard(0).by_hash != 0 ? "hash" : "probe";
  }
  return out;
}

void RunInfo(const std::string& path, bool json) {
  const nlohmann::ordered_json facts = InfoJson(path, Trusted(path));
  if (json) {
    fmt::print("{}\n", facts.dump(2));
    return;
  }
  for (const auto& [name, value] : facts.items()) {
    fmt::print("{:<20} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

void RunVerify(const std::string& path, const VocabOptions& vocab, const std::string& template_name) {
  std::optional<Vocabulary> loaded;
  std::optional<RowTemplate> row;
  rankfeed_corpus_options options{};
  options.flags = RANKFEED_CORPUS_MAP_FILE;
  if (!vocab.path.empty()) {
    loaded.emplace(vocab.Load());
    const rankfeed_corpus_info info = Trusted(path).info();
    options.encode_flags = info.encode_flags;
    if (!template_name.empty()) {
      options.row_template = row.emplace(LoadRowTemplate(loaded->model(), template_name)).get();
    } else if (info.template_hash != 0) {
      throw Failure(path + ": was made with --template, which is compared too: give it beside --vocab");
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const Store store(path, loaded ? loaded->model() : nullptr, options);
  CheckHashes(store.loaded());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const uint32_t shards = store.loaded().shard_count();
  fmt::print("{}: sound: {} documents, {} tokens, {} in {:.2f} s\n", path,
             store.info().documents, store.info().tokens,
             Bytes(store.info().file_bytes) + (shards != 0 ? fmt::format(" in {} shards", shards) : ""),
             seconds.count());
}

void PrintDocument(std::string_view id, const rankfeed_source& source, bool json) {
  if (!json) {
    std::string line;
    for (uint32_t i = 0; i < source.id_count; ++i) {
      fmt::format_to(std::back_inserter(line), "{}{}", i == 0 ? "" : " ", source.ids[i]);
    }
    fmt::print("{}\t{}\n", id, line);
    return;
  }
  nlohmann::ordered_json object;
  object["id"] = id;
  object["ids"] = std::vector<int32_t>(source.ids, source.ids + source.id_count);
  if (source.offset_begin != nullptr) {
    auto& offsets = object["offsets"] = nlohmann::ordered_json::array();
    for (uint32_t i = 0; i < source.id_count; ++i) {
      offsets.push_back({source.offset_begin[i], source.offset_end[i]});
    }
  }
  // Document ids may be any bytes; JSON has to be UTF-8.
  fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void RunGet(const std::string& path, const std::vector<std::string>& ids, bool all, bool json) {
  const Store store = Trusted(path);
  const auto check = [&](rankfeed_status status, std::string_view what) {
    if (status != RANKFEED_OK) {
      throw Failure("{}: {}: {}", path, what, rankfeed_status_message(status));
    }
  };
  rankfeed_source source;
  for (uint64_t i = 0; all && i < store.info().positions; ++i) {
    rankfeed_text id;
    const rankfeed_status status = rankfeed_corpus_get(store.get(), i, &id, &source);
    if (status == RANKFEED_E_NOT_FOUND) continue;
    check(status, "a document");
    PrintDocument({id.data, id.size}, source, json);
  }
  for (const std::string& id : ids) {
    check(rankfeed_corpus_find(store.get(), Text(id), &source), id);
    PrintDocument(id, source, json);
  }
}

void RunRemove(const std::string& path, const std::vector<std::string>& ids) {
  (void)TrustedInfo(path);
  rankfeed_corpus_writer_options options{};
  options.mode = RANKFEED_CORPUS_APPEND;
  const WriterPtr writer = OpenWriter(path, nullptr, options);
  Checked([&](rankfeed_builder_error* error) {
    for (const std::string& id : ids) {
      if (const auto status = rankfeed_corpus_writer_remove(writer.get(), Text(id), error)) {
        return status;
      }
    }
    return rankfeed_corpus_writer_commit(writer.get(), error);
  });
  fmt::print("{}: {} documents removed\n", path, ids.size());
}

void RunCompact(const std::string& path) {
  const uint64_t before = TrustedInfo(path).file_bytes;
  Checked(
      [&](rankfeed_builder_error* error) { return rankfeed_corpus_compact(path.c_str(), error); });
  const rankfeed_corpus_info after = TrustedInfo(path);
  fmt::print("{}: {} documents, {}, before {}\n", path, after.documents,
             Bytes(after.file_bytes), Bytes(before));
}

void RunMerge(const std::string& output, const std::vector<std::string>& stores) {
  std::vector<const char*> names;
  for (const std::string& store : stores) names.push_back(store.c_str());
  Checked([&](rankfeed_builder_error* error) {
    return rankfeed_corpus_merge(names.data(), names.size(), output.c_str(), error);
  });
  const rankfeed_corpus_info info = TrustedInfo(output);
  fmt::print("{}: {} documents of {} stores, {} tokens, {}\n", output, info.documents,
             stores.size(), info.tokens, Bytes(info.file_bytes));
}

void AddBuildOptions(CLI::App* command, BuildCommand* o) {
  o->vocab.Add(*command);
  command->add_option("--docs", o->docs,
                      "Documents, one per line or JSONL; standard input when absent or -. A "
                      "document's id is the JSONL field \"id\" (string or integer), else the line "
                      "number");
  command->add_flag("--jsonl", o->jsonl,
                    "Every line is a JSON object with a string field \"text\" (default for files "
                    "named *.jsonl)");
  command->add_option("--threads", o->threads, "Threads that tokenize; default: one for each CPU it may use");
  command->add_option("--template", o->template_name,
                      "Store documents as a row template of an LLM reranker has them, with the literal text that is tokenized "
                      "together with each: a JSON file, or one of " + RowTemplate::PresetNames());
  AddMaxStretchBytes(*command, o->max_stretch_bytes);
}

void AddBuildAndAppend(CLI::App* corpus) {
  auto build = std::make_shared<BuildCommand>();
  auto* command = corpus->add_subcommand("build", "Tokenize documents into a new store");
  AddBuildOptions(command, build.get());
  command->add_option("-o,--output", build->store, "Store to write (replaced by rename)")
      ->required();
  command->add_flag("--offsets", build->offsets,
                    "Store byte offsets of every token too: 12 bytes a token, not 4");
  build->specials.Add(*command);
  command->callback([build] {
    build->specials.Take(build->vocab.Config());
    RunBuild(*build, RANKFEED_CORPUS_CREATE);
  });

  auto append = std::make_shared<BuildCommand>();
  command = corpus->add_subcommand("append",
                                   "Add documents to a store; equal ids are replaced. Options of "
                                   "tokenization are those of the store");
  AddBuildOptions(command, append.get());
  command->add_option("STORE", append->store, "Store to change")->required();
  command->callback([append] { RunBuild(*append, RANKFEED_CORPUS_APPEND); });
}

}  // namespace

void AddCorpus(CLI::App& app) {
  auto* corpus = app.add_subcommand("corpus", "Stores of documents tokenized before");
  corpus->require_subcommand(1);
  AddBuildAndAppend(corpus);

  struct Other {
    std::string store;
    std::vector<std::string> names;
    VocabOptions vocab;
    std::string template_name;
    bool json = false, all = false;
  };
  const auto add = [&](const char* name, const char* help) {
    auto* command = corpus->add_subcommand(name, help);
    auto o = std::make_shared<Other>();
    if (name != std::string_view("merge")) {
      const bool reads = name != std::string_view("remove") && name != std::string_view("compact");
      command->add_option("STORE", o->store, reads ? "Store, or manifest of stores" : "Store")
          ->required();
    }
    return std::pair(command, o);
  };
  const auto [info, i] = add("info", "Print facts about a store");
  info->add_flag("--json", i->json, "Print one JSON object");
  info->callback([i = i] { RunInfo(i->store, i->json); });

  const auto [verify, v] = add("verify", "Check every byte of a store; of a manifest, every store and "
                                         "its SHA-256");
  v->vocab.Add(*verify);
  verify->get_option("--vocab")->required(false)->description(
      "Vocabulary that the store must have been made with");
  verify->add_option("--template", v->template_name, "Row template that it must have been made with: a preset or a JSON file")
      ->needs("--vocab");
  verify->callback([v = v] { RunVerify(v->store, v->vocab, v->template_name); });

  const auto [get, g] = add("get", "Print documents: id, tab, token ids");
  get->add_option("ID", g->names, "Document ids");
  get->add_flag("--all", g->all, "All documents, in the order in which they were written");
  get->add_flag("--json", g->json, "Print a JSON object per document");
  get->callback([g = g] { RunGet(g->store, g->names, g->all, g->json); });

  const auto [remove, r] = add("remove", "Remove documents from a store");
  remove->add_option("ID", r->names, "Document ids")->required();
  remove->callback([r = r] { RunRemove(r->store, r->names); });

  const auto [compact, c] = add("compact", "Rewrite a store without its dead bytes");
  compact->callback([c = c] { RunCompact(c->store); });

  const auto [merge, m] = add("merge", "Write the documents of several stores to a new one");
  merge->add_option("-o,--output", m->store, "Store to write (replaced by rename)")->required();
  merge
      ->add_option("STORE", m->names,
                   "Stores made with one vocabulary; of equal ids the one of "
                   "the later store counts")
      ->required();
  merge->callback([m = m] { RunMerge(m->store, m->names); });
  AddManifest(corpus);
}

}  // namespace rankfeed::cli
