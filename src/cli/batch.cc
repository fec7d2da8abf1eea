// SPDX-License-Identifier: MIT
// cli/batch.cc: `rankfeed batch`: one query and many documents, through the slot ring of the host
// backend, as batches of tensors. What is printed or saved is read from the landed copy of each
// slot, not from the memory it was written to.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/checked.h"
#include "cli/cli.h"
#include "cli/documents.h"
#include "cli/npz.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/handoff.hpp"
#include "rankfeed/parallel.h"
#include "rankfeed/rerank.hpp"
#include "serve/stretch_error.h"

namespace rankfeed::cli {
namespace {


using Choices = std::map<std::string, uint8_t>;

const Choices kTruncation = {{"none", RANKFEED_TRUNCATE_NONE},
                             {"longest_first", RANKFEED_TRUNCATE_LONGEST_FIRST},
                             {"longest_first_slow", RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW},
                             {"only_first", RANKFEED_TRUNCATE_ONLY_FIRST},
                             {"only_second", RANKFEED_TRUNCATE_ONLY_SECOND},
                             {"text_end", RANKFEED_TRUNCATE_TEXT_END}};
const Choices kSide = {{"right", RANKFEED_RIGHT}, {"left", RANKFEED_LEFT}};
const Choices kPaddingSide = {{"right", RANKFEED_RIGHT}, {"left", RANKFEED_LEFT}, {"model", RANKFEED_SIDE_OF_MODEL}};
const Choices kLayout = {{"padded", RANKFEED_PADDED}, {"packed", RANKFEED_PACKED}};
const Choices kType = {
    {"int32", RANKFEED_INT32}, {"int64", RANKFEED_INT64}, {"uint32", RANKFEED_UINT32}};
const Choices kOverflow = {{"drop", RANKFEED_OVERFLOW_DROP},
                           {"short", RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST},
                           {"aligned", RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST}};
const Choices kSort = {{"none", RANKFEED_SORT_NONE},
                       {"descending", RANKFEED_SORT_DESCENDING},
                       {"ascending", RANKFEED_SORT_ASCENDING}};
const Choices kBudget = {{"padded", RANKFEED_BUDGET_PADDED_AREA},
                         {"packed", RANKFEED_BUDGET_PACKED_SUM}};

struct BatchCommand {
  VocabOptions vocab;
  SpecialsOption specials;
  DocumentOptions documents;
  std::string query, npz, prompt;  // prompt: of the folder, before the query
  bool json = false, file_defaults = false;
  uint32_t show = 10;
  uint32_t slots = 3;
  uint32_t threads = 1, max_stretch_bytes = 0;
  uint64_t slot_bytes = 16 << 20;
  rankfeed_rerank_options options;
  std::string truncation = "longest_first", truncation_side = "right", layout = "padded",
              type = "int32", padding_side = "model", overflow = "drop", sort = "none",
              budget = "padded";
  std::optional<std::string> pad_token;  // of the folder that --vocab names
  // Parts of a template of the caller's own; unset: the model's.
  std::string template_name = "pair", instruction;
  std::optional<std::string> prefix, middle, suffix;
  // Choices of the command line among those that a row template makes too.
  bool has_max_length = false, has_truncation = false;
  const RowTemplate* row = nullptr;
};

// monoT5's prompt (castorini/monot5 model cards): one text, scored by the first decoder step.
constexpr const char *kMonoT5Prefix = "Query:", *kMonoT5Middle = "Document:",
                     *kMonoT5Suffix = "Relevant:</s>";

// The row template's options, but for those that the command line has.
void ApplyRow(const BatchCommand& c, rankfeed_rerank_options* o) {
  const rankfeed_rerank_options given = *o;
  CheckError(c.row->Apply(o, c.has_max_length ? given.max_length : 0));
  if (c.has_truncation) o->truncation = given.truncation;
  if (c.padding_side != "model") o->padding_side = given.padding_side;
  if (given.pad_to_multiple_of != 0) o->pad_to_multiple_of = given.pad_to_multiple_of;
  if (given.max_query_tokens != 0) o->max_query_tokens = given.max_query_tokens;
  if (given.max_tokens_per_doc != 0) o->max_tokens_per_doc = given.max_tokens_per_doc;
  o->tensors |= RANKFEED_TENSOR_LAST_TOKENS;
}

rankfeed_rerank_options Options(const BatchCommand& c, rankfeed_pair_template* parts) {
  rankfeed_rerank_options o = c.options;
  o.encode_flags = c.specials.flags();
  if (c.prefix || c.middle || c.suffix) {
    parts->struct_size = sizeof(*parts);
    const auto set = [](const std::optional<std::string>& text, rankfeed_template_part* part) {
      if (text) part->text = {text->data(), text->size()};
    };
    set(c.prefix, &parts->prefix);
    set(c.middle, &parts->middle);
    set(c.suffix, &parts->suffix);
    o.template_kind = RANKFEED_TEMPLATE_CUSTOM;
    o.pair_template = parts;
  } else {
    o.template_kind =
        c.template_name == "single" ? RANKFEED_TEMPLATE_SINGLE : RANKFEED_TEMPLATE_PAIR;
  }
  o.truncation = kTruncation.at(c.truncation);
  o.truncation_side = kSide.at(c.truncation_side);
  o.layout = kLayout.at(c.layout);
  o.id_type = kType.at(c.type);
  o.overflow = kOverflow.at(c.overflow);
  o.sort = kSort.at(c.sort);
  o.budget = kBudget.at(c.budget);
  const bool padded = o.layout == RANKFEED_PADDED;
  o.padding_side = padded ? kPaddingSide.at(c.padding_side) : uint8_t{RANKFEED_RIGHT};
  o.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS |
              (padded ? uint32_t{RANKFEED_TENSOR_ATTENTION_MASK} : 0u);
  o.max_arena_bytes = c.slot_bytes;
  if (c.row != nullptr) ApplyRow(c, &o);
  return o;
}

// The options that have no room for a row of up to `tokens`, each with a value that is enough; empty where all have.
std::string EnoughFor(const rankfeed_rerank_options& o, uint64_t tokens) {
  std::string out;
  const auto add = [&out](const char* option, uint64_t limit, uint64_t need) {
    if (limit != 0 && limit < need) out += fmt::format("{}{} {}", out.empty() ? "" : " ", option, need);
  };
  add("--max-length", o.max_length, tokens);
  add("--pad-to-length", o.pad_to_length, tokens);
  const uint64_t multiple = std::max(o.pad_to_multiple_of, 1u);
  const uint64_t length = (std::max<uint64_t>(o.pad_to_length, tokens) + multiple - 1) / multiple * multiple;
  const bool area = o.budget == RANKFEED_BUDGET_OF_LAYOUT ? o.layout == RANKFEED_PADDED : o.budget == RANKFEED_BUDGET_PADDED_AREA;
  add("--max-tokens", o.max_tokens_per_batch, area ? length : tokens);
  size_t bytes = 0;
  if (length <= UINT32_MAX && rankfeed_batch_arena_size(&o, 1, static_cast<uint32_t>(length), tokens, &bytes) == RANKFEED_OK)
    add("--slot-bytes", o.max_arena_bytes, bytes);
  return out;
}

// Throws what is wrong with the options, named after the one of the command line.
void CheckOptions(const rankfeed_model* model, const rankfeed_rerank_options& options) {
  const char* field = nullptr;
  const char* const rule = rankfeed_rerank_options_problem(model, &options, &field);
  if (rule == nullptr) return;
  std::string option = field, why = rule;
  std::replace(option.begin(), option.end(), '_', '-');
  constexpr std::string_view kMember = "max_length";  // the only one that a rule about another speaks of
  if (const size_t place = why.find(kMember); place != why.npos) why.replace(place, kMember.size(), "--max-length");
  throw Failure("--{}: {}", option, why);
}

int64_t ValueAt(const rankfeed_tensor& t, uint64_t i) {
  if (t.type == RANKFEED_INT64) return static_cast<const int64_t*>(t.data)[i];
  if (t.type == RANKFEED_UINT32) return static_cast<const uint32_t*>(t.data)[i];
  return static_cast<const int32_t*>(t.data)[i];
}

nlohmann::ordered_json TensorJson(const rankfeed_tensor& t) {
  auto rows = nlohmann::ordered_json::array();
  uint64_t at = 0;
  for (int64_t r = 0; r < t.shape[0]; ++r) {
    if (t.dimensions == 1) {
      rows.push_back(ValueAt(t, at++));
      continue;
    }
    auto row = nlohmann::ordered_json::array();
    for (int64_t i = 0; i < t.shape[1]; ++i) row.push_back(ValueAt(t, at++));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Prints or saves landed batches, one after the other.
class Output {
 public:
  // beside: bytes that may be tokenized together with a document.
  Output(const BatchCommand& c, const rankfeed_rerank_options& options, const Documents& documents, size_t beside)
      : c_(c), options_(options), documents_(documents), beside_(beside) {
    if (!c.npz.empty() && !c.npz.ends_with(".npy")) npz_.emplace(c.npz);
  }

  void Batch(const rankfeed_batch& b) {
    const std::pair<const char*, const rankfeed_tensor*> tensors[] = {
        {"input_ids", &b.input_ids},           {"attention_mask", &b.attention_mask},
        {"token_type_ids", &b.token_type_ids}, {"position_ids", &b.position_ids},
        {"lengths", &b.lengths},               {"cu_seqlens", &b.cu_seqlens},
        {"last_tokens", &b.last_tokens}};
    nlohmann::ordered_json object;
    object["rows"] = b.rows;
    object["row_length"] = b.row_length;
    object["max_seqlen"] = b.max_seqlen;
    object["tokens"] = b.tokens;
    std::vector<int32_t> row_document;
    auto documents = nlohmann::ordered_json::array();
    for (uint32_t r = 0; r < b.rows; ++r) {
      documents.push_back(documents_.names[b.row_map[r].document]);
      row_document.push_back(static_cast<int32_t>(b.row_map[r].document));
    }
    object["documents"] = std::move(documents);
    for (const auto& [name, tensor] : tensors) {
      if (tensor->dimensions == 0) continue;
      if (c_.json) object[name] = TensorJson(*tensor);
      if (npz_) npz_->Add(Array(fmt::format("batch{}.{}", batches_, name), *tensor));
    }
    if (c_.npz.ends_with(".npy") && batches_ == 0) WriteNpy(c_.npz, Array("", b.input_ids));
    if (npz_) {
      npz_->Add({fmt::format("batch{}.document", batches_), "<i4", {b.rows}, row_document.data(),
                 row_document.size() * sizeof(int32_t)});
    }
    if (c_.json) {
      fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      Table(b);
    }
    ++batches_;
    rows_ += b.rows;
    tokens_ += b.tokens;
    area_ += c_.layout == "padded" ? uint64_t{b.rows} * b.row_length : b.tokens;
  }

  void Finish(std::span<const rankfeed_status> status, const Handoff& ring,
              const rankfeed_model* model) {
    if (npz_) npz_->Finish();
    if (batches_ > 1 && c_.npz.ends_with(".npy")) {
      throw Failure("{}: holds one batch of {}; a .npz file holds all", c_.npz, batches_);
    }
    size_t failed = 0;
    for (size_t i = 0; i < status.size(); ++i) {
      if (status[i] == RANKFEED_OK) continue;
      ++failed;
      if (status[i] == RANKFEED_E_LIMIT) {
        fmt::print(stderr, "rankfeed: document {} {}\n", documents_.names[i],
                   serve::StretchError(model, documents_.texts[i].size() + beside_, c_.max_stretch_bytes));
        continue;
      }
      if (const std::string enough = Enough(model, status[i], i); !enough.empty()) {
        fmt::print(stderr, "rankfeed: document {}: its row is longer than the options allow; {} is enough\n", documents_.names[i], enough);
        continue;
      }
      fmt::print(stderr, "rankfeed: document {}: {}{} ({})\n", documents_.names[i],
                 rankfeed_status_message(status[i]),
                 status[i] == RANKFEED_E_SPECIAL_IN_TEXT ? Place(model, documents_.texts[i]) : "",
                 rankfeed_status_name(status[i]));
    }
    if (!c_.json) Summary(status.size(), failed, ring);
    std::fflush(stdout);
    if (failed != 0) throw Failure("{} of {} documents failed", failed, status.size());
  }

 private:
  // The options that would let a document have its row, whose status is this one; empty where none would.
  std::string Enough(const rankfeed_model* model, rankfeed_status status, size_t document) const {
    const bool cut = status == RANKFEED_E_TOO_LONG && options_.truncation != RANKFEED_TRUNCATE_NONE;
    if (status != RANKFEED_E_TOO_LONG && status != RANKFEED_E_TRUNCATION) return {};
    const size_t beside = beside_ + c_.query.size() + c_.prefix.value_or("").size() + c_.middle.value_or("").size() +
                          c_.suffix.value_or("").size();
    const uint64_t most = uint64_t{rankfeed_token_bound(model, beside)} + documents_.sources[document].id_count +
                          rankfeed_token_bound(model, documents_.texts[document].size()) + Info(model).specials_pair;
    return EnoughFor(options_, cut && options_.max_length != 0 ? std::min<uint64_t>(most, options_.max_length) : most);
  }
  void Summary(size_t documents, size_t failed, const Handoff& ring) const {
    const rankfeed_handoff_stats stats = ring.stats();
    const rankfeed_handoff_info info = ring.info();
    fmt::print("{} documents ({} failed), {} rows, {} tokens, {:.1f}% padding, {} batches\n",
               documents, failed, rows_, tokens_,
               area_ == 0 ? 0.0 : 100.0 * static_cast<double>(area_ - tokens_) / static_cast<double>(area_),
               batches_);
    fmt::print("handoff: backend {}, {} slots of {} bytes, {}, {} copies, {} bytes\n", info.backend,
               info.slots, info.slot_bytes,
               info.page_locked ? "page-locked" : fmt::format("not page-locked ({})", info.note),
               stats.copies, stats.bytes);
  }

  static std::string Place(const rankfeed_model* model, const std::string& text) {
    auto encoder = Encoder::Create(model, static_cast<uint32_t>(text.size()), true, 0);
    const auto match = encoder ? encoder->FindSpecial(text) : std::nullopt;
    return match ? fmt::format(", id {} at bytes {} to {}", match->id, match->byte_begin, match->byte_end)
                 : "";
  }

  static NpyArray Array(const std::string& name, const rankfeed_tensor& t) {
    static constexpr const char* kDtypes[] = {"<i4", "<i8", "<u4"};
    return {name, kDtypes[t.type], {t.shape, t.shape + t.dimensions}, t.data, t.bytes};
  }

  void Table(const rankfeed_batch& b) {
    fmt::print("batch {}: {} rows, {} tokens, longest {}, {} bytes\n", batches_, b.rows, b.tokens,
               b.max_seqlen, b.arena_size);
    uint64_t at = 0;
    for (uint32_t r = 0; r < b.rows; ++r) {
      const rankfeed_batch_row& row = b.row_map[r];
      if (c_.layout == "padded") at = uint64_t{r} * b.row_length;
      if (r < c_.show) {
        fmt::print("  {:<12} chunk {} tokens {:>4}  ids", documents_.names[row.document], row.chunk,
                   row.length);
        const uint32_t shown = std::min<uint32_t>(12, c_.layout == "padded" ? b.row_length : row.length);
        for (uint32_t i = 0; i < shown; ++i) fmt::print(" {}", ValueAt(b.input_ids, at + i));
        fmt::print("{}\n", shown < row.length ? " ..." : "");
      } else if (r == c_.show) {
        fmt::print("  ... {} more rows (--show N, --json or --npz FILE give them)\n", b.rows - r);
      }
      at += row.length;
    }
  }

  const BatchCommand& c_;
  const rankfeed_rerank_options& options_;
  const Documents& documents_;
  const size_t beside_;
  std::optional<NpzFile> npz_;
  uint64_t batches_ = 0, rows_ = 0, tokens_ = 0, area_ = 0;
};

// Rows are padded with the vocabulary's pad token: a folder that pads with another one would have
// other ids.
void CheckPadToken(const BatchCommand& c, const rankfeed_model* model, int32_t pad_id) {
  if (!c.pad_token || c.layout != "padded") return;
  const int32_t id = rankfeed_model_piece_to_id(model, c.pad_token->data(), c.pad_token->size());
  if (id == pad_id) return;
  throw Failure("the folder's pad_token {} has id {}, the vocabulary's {}, which rows are padded "
                  "with; --layout "
                  "packed has no pad tokens",
                  *c.pad_token, id, pad_id);
}

// Options that the tokenizer.json carries, where the command line gives none.
void TakeFileDefaults(const FileDefaults& file, const CLI::App& command, BatchCommand* c) {
  const auto take = [&](const char* option, const auto& from, auto* to) {
    if (command.count(option) == 0) *to = from;
  };
  if (const auto& cut = file.truncation) {
    take("--max-length", cut->max_length, &c->options.max_length);
    take("--truncation", cut->strategy, &c->truncation);
    take("--truncation-side", cut->side, &c->truncation_side);
    if (c->overflow != "drop") take("--stride", cut->stride, &c->options.stride);
  }
  if (!file.padding || c->layout != "padded") return;
  take("--padding-side", file.padding->side, &c->padding_side);
  take("--pad-to-length", file.padding->length.value_or(0), &c->options.pad_to_length);
  take("--pad-to-multiple-of", file.padding->multiple, &c->options.pad_to_multiple_of);
  c->pad_token = file.padding->token;
}

// Takes the row template that --template names, unless it is the model's own; row holds it then.
void TakeTemplate(const rankfeed_model* model, BatchCommand* c, std::optional<RowTemplate>* row) {
  if (c->template_name == "monot5") {
    c->prefix = c->prefix.value_or(kMonoT5Prefix);
    c->middle = c->middle.value_or(kMonoT5Middle);
    c->suffix = c->suffix.value_or(kMonoT5Suffix);
  }
  if (c->template_name == "pair" || c->template_name == "single" || c->template_name == "monot5") {
    if (!c->instruction.empty()) throw Failure("--instruction: only a row template has a place for it");
    c->query = c->prompt + c->query;  // a row template has its own text there
    return;
  }
  c->row = &row->emplace(LoadRowTemplate(model, c->template_name));
  if ((*row)->info().max_documents != 0) {
    throw Failure("--template " + c->template_name + ": its rows hold several documents, which C++ and Python make");
  }
  if (c->prefix || c->middle || c->suffix) {
    throw Failure("--prefix, --middle and --suffix do not go with a row template, which has the text beside query and document");
  }
}

// Throws what the template's special tokens leave no room for.
void CheckLengths(const rankfeed_rerank_options& options, const rankfeed_model_info& info) {
  const uint32_t specials = options.template_kind == RANKFEED_TEMPLATE_CUSTOM   ? 0
                            : options.template_kind == RANKFEED_TEMPLATE_SINGLE ? info.specials_single
                                                                                : info.specials_pair;
  if (options.max_length == 0) return;
  if (options.max_length < specials) {
    throw Failure("--max-length {} is below the {} special tokens of the template", options.max_length, specials);
  }
  if (options.stride != 0 && options.stride >= options.max_length - specials) {
    throw Failure("--stride {} must be below {}: --max-length without the special tokens", options.stride,
                  options.max_length - specials);
  }
}

// Returns limits for the documents and the query, beside which some bytes may stand in the text that is tokenized.
rankfeed_rerank_limits Limits(const BatchCommand& c, const rankfeed_model* model, const Documents& documents,
                              const rankfeed_pair_template& parts, size_t beside) {
  rankfeed_rerank_limits limits{};
  limits.max_documents = static_cast<uint32_t>(documents.texts.size());
  size_t longest = std::max({size_t{1}, documents.longest, c.query.size()});
  for (const rankfeed_template_part* part : {&parts.prefix, &parts.middle, &parts.suffix}) longest = std::max(longest, part->text.size);
  limits.max_text_bytes = static_cast<uint32_t>(std::min<size_t>(longest + beside, rankfeed_max_text_bytes(model)));
  limits.max_stretch_bytes = c.max_stretch_bytes;
  // A token rarely covers less than a byte (replacements that grow a text a lot do it); what the first batch finds
  // missing is made up for.
  limits.max_tokens = documents.total + documents.stored_tokens + c.query.size() + 64 * documents.texts.size() + 64 + beside;
  return limits;
}

// Fills slot after slot, and gives each batch to the output as it has landed.
void Feed(Reranker& reranker, const rankfeed_rerank_options& options, Handoff& ring, Output* output) {
  const HandoffStream stream = Take(ring.MakeStream());
  for (;;) {
    FillingSlot slot = Take(ring.WaitAcquire());
    rankfeed_batch batch{};
    const Error filled = reranker.Next(slot.bytes(), &batch);
    if (filled.status == RANKFEED_E_OUTPUT_SIZE) {
      throw Failure("a row needs {} bytes, a slot has {}: raise --slot-bytes", batch.arena_size, slot.bytes().size());
    }
    CheckError(filled);
    if (batch.rows == 0) return;
    LeasedSlot lease = Take(slot.Submit(batch.arena_size, stream.get()));
    CheckError(stream.Synchronize());
    // The same tensors over the landed copy.
    rankfeed_batch landed = batch;
    landed.arena = lease.data();
    CheckStatus(rankfeed_batch_carve(&options, batch.rows, batch.row_length, batch.tokens, &landed), "batch");
    landed.max_seqlen = batch.max_seqlen;
    output->Batch(landed);
    CheckError(lease.ReleaseNow());
  }
}

void RunBatch(BatchCommand c) {
  const Vocabulary vocab = c.vocab.Load();
  const rankfeed_model* const model = vocab.model();
  std::optional<RowTemplate> row;
  TakeTemplate(model, &c, &row);
  rankfeed_pair_template parts{};
  const rankfeed_rerank_options options = Options(c, &parts);
  const rankfeed_model_info info = Info(model);
  CheckPadToken(c, model, info.pad_id);
  CheckLengths(options, info);
  const Documents documents(c.documents, c.vocab, model, c.specials.flags(), row ? row->get() : nullptr);
  const size_t beside = row ? row->info().literal_bytes + c.instruction.size() + c.query.size() : 0;
  CheckOptions(model, options);
  std::unique_ptr<rankfeed_parallel, void (*)(rankfeed_parallel*)> parallel{nullptr, rankfeed_parallel_close};
  if (c.threads != 1) {
    rankfeed_parallel* pool = nullptr;
    CheckStatus(rankfeed_parallel_open(c.threads, &pool), "threads");
    parallel.reset(pool);
  }
  Reranker reranker = Take(Reranker::Create(model, Limits(c, model, documents, parts, beside), options));
  rankfeed_handoff_options ring_options{};
  ring_options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
  ring_options.slot_bytes = c.slot_bytes;
  ring_options.slots = std::max(1u, c.slots);
  Handoff ring = Take(Handoff::Open(ring_options));
  Output output(c, options, documents, beside);

  rankfeed_source query{};
  query.text = Text(c.query);
  const Error begun = reranker.Begin(query, documents.sources, rankfeed_parallel_executor(parallel.get()), nullptr, c.instruction);
  if (begun.status == RANKFEED_E_LIMIT && c.query.size() <= rankfeed_max_text_bytes(model)) {
    throw Failure("the query " + serve::StretchError(model, c.query.size() + beside, c.max_stretch_bytes));
  }
  CheckError(begun);
  Feed(reranker, options, ring, &output);
  output.Finish(reranker.status(), ring, model);
}

void AddChoice(CLI::App& command, const char* name, std::string& value, const Choices& choices, const char* help) {
  command.add_option(name, value, help)->check(CLI::IsMember(choices))->capture_default_str();
}

// Adds what says which texts there are, and how they become rows.
void AddRowOptions(CLI::App& command, BatchCommand* c) {
  c->vocab.Add(command);
  c->specials.Add(command);
  command.add_option("--query", c->query, "The question")->required();
  c->documents.Add(command);
  command.add_option("--max-length", c->options.max_length,
                      "Tokens of a row, specials included; else of a model's folder its max_seq_length or model_max_length")
      ->capture_default_str();
  AddChoice(command, "--truncation", c->truncation, kTruncation, "How a longer row is cut");
  AddChoice(command, "--truncation-side", c->truncation_side, kSide, "Which end is cut off");
  command.add_option("--template", c->template_name,
                   "Row template: the model's pair or single one, monoT5's prompt, a JSON file, or one of " +
                       RowTemplate::PresetNames())
      ->capture_default_str();
  command.add_option("--instruction", c->instruction, "Instruction of a row template that has a place for it");
  command.add_option("--prefix", c->prefix,
                      "With --middle and --suffix: rows are prefix, query, middle, document, suffix; "
                      "special tokens written in them become their ids");
  command.add_option("--middle", c->middle, "Between query and document");
  command.add_option("--suffix", c->suffix, "After the document; kept when rows are cut");
  command.add_option("--max-query-tokens", c->options.max_query_tokens, "Cut the query first");
  command.add_option("--max-tokens-per-doc", c->options.max_tokens_per_doc,
                      "Cut each document first");
  AddChoice(command, "--overflow", c->overflow, kOverflow,
         "Windows for long documents (with --truncation only_second): last one short "
         "(HuggingFace) or aligned to the end (Jina)");
  command.add_option("--stride", c->options.stride, "Overlap of windows, in tokens");
  command.add_option("--max-chunks-per-doc", c->options.max_chunks_per_doc,
                      "Windows per document; 0: all");
}

// Adds what says how rows become batches, and what is printed.
void AddBatchOptions(CLI::App& command, BatchCommand* c) {
  AddChoice(command, "--layout", c->layout, kLayout, "Padded rows, or packed with cu_seqlens");
  AddChoice(command, "--dtype", c->type, kType, "Type of input_ids, attention_mask, token_type_ids");
  AddChoice(command, "--padding-side", c->padding_side, kPaddingSide, "Padded layout only");
  command.add_option("--pad-to-multiple-of", c->options.pad_to_multiple_of, "Padded layout only");
  command.add_option("--pad-to-length", c->options.pad_to_length, "Fixed row length");
  AddChoice(command, "--sort", c->sort, kSort, "Order of rows by tokens");
  command.add_option("--max-rows", c->options.max_rows_per_batch, "Rows per batch; 0: no limit");
  command.add_option("--max-tokens", c->options.max_tokens_per_batch,
                      "Tokens per batch; 0: no limit");
  AddChoice(command, "--budget", c->budget, kBudget, "What --max-tokens counts: padded area or packed sum");
  command.add_flag("--file-defaults", c->file_defaults,
                    "Rows as the truncation and padding inside tokenizer.json say, before what a folder says and after "
                    "what options say; without it they are left aside");
  AddMaxStretchBytes(command, c->max_stretch_bytes);
  command.add_option("--threads", c->threads, "Threads that tokenize; 0: one for each CPU it may use")
      ->capture_default_str();
  command.add_option("--slots", c->slots, "Slots of the ring")->capture_default_str();
  command.add_option("--slot-bytes", c->slot_bytes, "Bytes of a slot")->capture_default_str();
  command.add_option("--show", c->show, "Rows of a batch to print")->capture_default_str();
  command.add_flag("--json", c->json, "Print one JSON object per batch");
  command.add_option("--npz", c->npz,
                      "Write all tensors to a NumPy .npz file: batch0.input_ids, ...; a name that "
                      "ends in .npy gets the input_ids of the only batch");
}

// Takes from the model's files what the command line does not say.
void TakeFolder(const CLI::App& command, BatchCommand* c) {
  const FolderConfig config = c->vocab.Config();
  const auto take = [&](const char* option, const auto& from, auto* to) {
    if (from && command.count(option) == 0) *to = *from;
  };
  take("--max-length", config.settings.max_length, &c->options.max_length);
  take("--truncation-side", config.truncation_side, &c->truncation_side);
  take("--padding-side", config.padding_side, &c->padding_side);
  c->pad_token = config.pad_token;
  c->prompt = config.settings.prompt();
  c->specials.Take(config);
  c->has_max_length = command.count("--max-length") != 0;
  c->has_truncation = command.count("--truncation") != 0;
  if (c->file_defaults) TakeFileDefaults(c->vocab.Defaults(), command, c);
}

}  // namespace

void AddBatch(CLI::App& app) {
  auto* command = app.add_subcommand(
      "batch", "Build query-document pairs and pack them into batches in page-locked slots");
  auto c = std::make_shared<BatchCommand>();
  rankfeed_rerank_options_init(&c->options);
  c->options.max_length = 512;
  AddRowOptions(*command, c.get());
  AddBatchOptions(*command, c.get());
  command->callback([c, command] {
    if (command->count("--instruction") != 0 && c->instruction.empty()) {
      throw Failure("--instruction is empty; left out, it is the row template's own");
    }
    TakeFolder(*command, c.get());
    RunBatch(*c);
  });
}

}  // namespace rankfeed::cli
