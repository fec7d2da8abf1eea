// SPDX-License-Identifier: MIT
// serve/folder/pairing.cc: see pairing.h.
#include "serve/folder/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rankfeed/rerank.hpp"
#include "serve/folder/folder.h"

namespace rankfeed::folder {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Rows of embeddings without an id: models round their number up, and mDeBERTa has 899 of 251,000.
constexpr uint32_t kSpareIds = 1024, kSpareShare = 8;

Error Apart(const std::string& why, const std::pair<std::string, std::string>& names,
            const char* advice = "A SentencePiece .model of the model's family may want --preset, for example --preset xlm-roberta") {
  return Error{RANKFEED_E_VOCABULARY, fmt::format("{} and {} do not belong together: {}. {}", names.first, names.second, why, advice)};
}

std::optional<int64_t> IdOf(const Json& config, const char* name) {
  const auto found = config.find(name);
  if (found == config.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

Error ReadTypes(const Json& own, const std::string& path, ModelFacts* out) {
  const auto types = own.find("token_type_ids");
  if (types == own.end()) return {};
  constexpr int64_t kMostTypes = 1024;
  const auto type = [&](const char* name) {
    const int64_t number = types->is_object() ? IdOf(*types, name).value_or(-1) : -1;
    return number < kMostTypes ? number : -1;
  };
  const int64_t query = type("query"), document = type("document");
  if (query < 0 || document < 0) {
    return Error{RANKFEED_E_PARSE,
                 path + ": token_type_ids is no {\"query\": TYPE, \"document\": TYPE}"};
  }
  out->types = {static_cast<uint32_t>(query), static_cast<uint32_t>(document)};
  return {};
}

std::string Listed(const ModelFacts& facts, uint32_t labels) {
  constexpr uint32_t kMost = 32;
  std::string out;
  for (uint32_t i = 0; i < std::min(labels, kMost); ++i)
    out += (i == 0 ? "" : ", ") + facts.LabelName(i);
  return labels > kMost ? out + ", ..." : out;
}

// path: the model's folder, or a file in it. Errors: IO, PARSE.
Result<ModelFacts> ReadModelFacts(const std::string& path) {
  const fs::path folder = FolderOf(path);
  const auto read = [&](const char* name) { return ReadObject((folder / name).string()); };
  ModelFacts out;
  auto config = read("config.json");
  if (!config) return config.error();
  out.bos = IdOf(*config, "bos_token_id");
  out.eos = IdOf(*config, "eos_token_id");
  out.cls = IdOf(*config, "cls_token_id");
  out.sep = IdOf(*config, "sep_token_id");
  out.type_rows = IdOf(*config, "type_vocab_size");
  auto settings = SettingsOf(folder.string());
  if (!settings) return settings.error();
  out.settings = std::move(*settings);
  auto tokenizer = read("tokenizer_config.json");
  if (!tokenizer) return tokenizer.error();
  const auto inputs = tokenizer->find("model_input_names");
  out.without_types = inputs != tokenizer->end() && inputs->is_array() &&
                      std::find(inputs->begin(), inputs->end(), "token_type_ids") == inputs->end();
  auto ours = read("rankfeed.json");
  if (!ours) return ours.error();
  if (auto error = ReadTypes(*ours, (folder / "rankfeed.json").string(), &out)) return error;
  return out;
}

// The largest token type that the vocabulary's own template gives to a pair.
uint32_t LargestType(const rankfeed_model* vocabulary) {
  if (Info(vocabulary).has_token_type_ids == 0) return 0;
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.layout = RANKFEED_PACKED;
  options.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
  rankfeed_rerank_limits limits{};
  limits.max_documents = 1;
  limits.max_tokens = 2;
  auto rows = Reranker::Create(vocabulary, limits, options);
  const int32_t id = 0;
  rankfeed_source text{};
  text.ids = &id;
  text.id_count = 1;
  rankfeed_batch batch;
  if (!rows || rows->Begin(text, {&text, 1}) || rows->Next(&batch) || batch.rows == 0) return 0;
  const auto* const types = static_cast<const uint32_t*>(batch.token_type_ids.data);
  return *std::max_element(types, types + batch.tokens);
}

// Token types of rows against the rows of the model's table, where it has one.
Error CheckTypes(const rankfeed_model* opened, const rankfeed_crossencoder_info& model,
                 const ModelFacts& facts, const std::pair<std::string, std::string>& names) {
  const uint32_t types = model.type_vocab_size;
  if (facts.types) {
    const uint32_t most = std::max(facts.types->first, facts.types->second);
    if (most < types) return {};
    return Apart(fmt::format("rankfeed.json says token type {}, the model embeds {}", most, types), names);
  }
  if (facts.without_types || facts.type_rows.value_or(0) <= 0) return {};
  const uint32_t most = LargestType(opened);
  if (most < types) return {};
  return Apart(fmt::format("the vocabulary's pairs have token type {}, the model embeds {} (type_vocab_size of "
                           "config.json); model_input_names of tokenizer_config.json without token_type_ids "
                           "would make all of them 0",
                           most, types),
               names);
}

Error CheckTogether(const rankfeed_model* opened, const rankfeed_crossencoder_info& model,
                    const ModelFacts& facts, const std::pair<std::string, std::string>& names) {
  const rankfeed_model_info vocabulary = Info(opened);
  // One id more is common: <mask>, which no text spells by accident.
  const uint32_t ids = vocabulary.id_count, rows = model.vocab_size;
  if (ids > rows + 1 || (rows > ids && rows - ids > std::max(kSpareIds, rows / kSpareShare)))
    return Apart(fmt::format("the vocabulary has {} ids, the model embeds {}", ids, rows), names);
  struct Role {
    const char* name;
    std::optional<int64_t> id;
    int32_t one, other;
  };
  for (const Role& role : {Role{"bos_token_id", facts.bos, vocabulary.bos_id, vocabulary.cls_id},
                           Role{"cls_token_id", facts.cls, vocabulary.cls_id, vocabulary.bos_id},
                           Role{"eos_token_id", facts.eos, vocabulary.eos_id, vocabulary.sep_id},
                           Role{"sep_token_id", facts.sep, vocabulary.sep_id, vocabulary.eos_id}}) {
    const int32_t has = std::max(role.one, role.other);
    if (role.id && has >= 0 && *role.id != role.one && *role.id != role.other) {
      return Apart(fmt::format("config.json says {} {}, the vocabulary has {}", role.name, *role.id, has),
                   names);
    }
  }
  // A text's token with the id of the pad token would stand at the place of one, if positions are
  // counted from the pad token on. Elsewhere packed rows have none.
  const bool counts_after_pad = model.max_row_tokens < model.max_positions;
  const bool no_pad = vocabulary.pad_id < 0 && static_cast<uint32_t>(model.pad_token_id) >= ids;
  if (counts_after_pad && vocabulary.pad_id != model.pad_token_id && !no_pad) {
    return Apart(fmt::format("the model's pad_token_id is {}, the vocabulary's {}", model.pad_token_id,
                             vocabulary.pad_id),
                 names);
  }
  if (auto error = CheckTypes(opened, model, facts, names)) return error;
  // The vocabulary was made of the model's own file.
  std::error_code ignored;
  if (fs::equivalent(names.first, fs::path(FolderOf(names.second)) / "tokenizer.json", ignored)) return {};
  if (const std::string different = DifferentPiece(opened, names.second); !different.empty()) return Apart(different, names);
  auto different = DifferentNormalization(opened, names.second);
  if (!different) return different.error();
  return different->empty() ? Error{}
                            : Apart(*different, names,
                                    "Without --vocab and --preset the vocabulary is that of the model's folder; of a vocab.txt, "
                                    "--preset bert lowercases texts and --preset bert-cased does not");
}

Result<uint32_t> ChooseLabel(const rankfeed_crossencoder_info& model, const ModelFacts& facts,
                             const std::string& wanted, const std::string& name) {
  if (wanted.empty()) {
    if (model.labels == 1) return 0u;
    return Error{RANKFEED_E_UNSUPPORTED,
                 fmt::format("{} has {} labels ({}), and a ranking is by one: give its name or number as "
                             "--label",
                             name, model.labels, Listed(facts, model.labels))};
  }
  for (uint32_t i = 0; i < model.labels; ++i) {
    if (wanted == facts.LabelName(i)) return i;
  }
  for (uint32_t i = 0; i < model.labels; ++i) {
    if (wanted == std::to_string(i)) return i;
  }
  return Error{RANKFEED_E_ARGUMENT, fmt::format("{} has no label {}; it has {}", name, wanted,
                                                Listed(facts, model.labels))};
}

}  // namespace

std::string ModelFacts::LabelName(uint32_t number) const {
  return number < settings.labels.size() ? settings.labels[number] : fmt::format("LABEL_{}", number);
}

std::string FolderOf(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error) || !fs::exists(path, error)) return path;
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

void Pairing::SetTypes(rankfeed_rerank_options* options) const {
  if (with_types) options->tensors |= RANKFEED_TENSOR_TOKEN_TYPE_IDS;
  if (two_types == nullptr) return;
  options->template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options->pair_template = &two_types->parts;
}

Result<Pairing> Pair(const rankfeed_model* vocabulary, const rankfeed_crossencoder_info& model,
                     const std::pair<std::string, std::string>& names, const std::string& label) {
  auto facts = ReadModelFacts(names.second);
  if (!facts) return facts.error();
  if (!facts->settings.refusal.empty()) return Error{RANKFEED_E_UNSUPPORTED, facts->settings.refusal};
  if (auto error = CheckTogether(vocabulary, model, *facts, names)) return error;
  auto chosen = ChooseLabel(model, *facts, label, names.second);
  if (!chosen) return chosen.error();
  Pairing out{std::move(*facts), model.labels, *chosen, false, nullptr};
  if (model.type_vocab_size <= 1) return out;
  out.with_types = out.facts.types || !out.facts.without_types;
  if (!out.facts.types) return out;
  const auto [query, document] = *out.facts.types;
  out.two_types = std::make_unique<TwoTypes>(Info(vocabulary), query, document);
  if (out.two_types->complete()) return out;
  return Error{RANKFEED_E_VOCABULARY, names.first + ": no <s> and </s> to build pairs with"};
}

Result<uint32_t> Pairing::Activation(ScoreBy by) const {
  if (by == ScoreBy::kRaw) return uint32_t{RANKFEED_SCORE_RAW};
  const ModelSettings& settings = facts.settings;
  if (labels > 1) return uint32_t{settings.multi_label ? RANKFEED_SCORE_SIGMOID : RANKFEED_SCORE_SOFTMAX};
  if (by == ScoreBy::kShare) return uint32_t{RANKFEED_SCORE_SIGMOID};
  if (const auto activation = settings.Activation()) return *activation;
  return Error{RANKFEED_E_UNSUPPORTED,
               fmt::format("{} makes scores by {}; supported are torch.nn's Identity and Sigmoid, or give --raw for logits",
                           settings.activation_file, settings.activation)};
}

rankfeed_score_options Pairing::Score(uint32_t activation) const {
  rankfeed_score_options out{};
  out.struct_size = sizeof(out);
  out.labels = labels;
  out.label = label;
  out.activation = activation;
  return out;
}

const char* ActivationName(uint32_t activation) {
  return activation == RANKFEED_SCORE_RAW       ? "identity"
         : activation == RANKFEED_SCORE_SIGMOID ? "sigmoid"
                                                : "softmax";
}

Error CheckLogits(const float* logits, size_t count, const std::string& model) {
  const float* const found = std::find_if(logits, logits + count, [](float x) { return !std::isfinite(x); });
  if (found == logits + count) return {};
  return Error{RANKFEED_E_DEVICE, fmt::format("{}: the forward pass gave the logit {}, which is not a finite number", model,
                                              std::isnan(*found) ? "nan" : *found < 0 ? "-inf" : "inf")};
}

}  // namespace rankfeed::folder
