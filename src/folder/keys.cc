// SPDX-License-Identifier: MIT
#include "folder/keys.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

namespace rankfeed::folder {
namespace {

constexpr auto kObeyed = Rule::kObeyed, kHarmless = Rule::kHarmless, kRefused = Rule::kRefused;
constexpr const char *kModel = "config.json", *kTokenizer = "tokenizer_config.json", *kSpecials = "special_tokens_map.json",
                     *kEncoder = "config_sentence_transformers.json", *kTransformer = "sentence_bert_config.json",
                     *kModules = "modules.json", *kGeneration = "generation_config.json";
constexpr const char *kWeights = "the forward pass", *kTraining = "training only", *kOutputs = "what a call returns beside logits",
                     *kDecoding = "decoded text only", *kChat = "chats only", *kWhere = "where files come from",
                     *kEmbeddings = "embeddings only", *kRow = "the token's id in rows", *kPairing = "compared with the vocabulary's",
                     *kClass = "the normalizer or pre-tokenizer of the classes that read it; others run that of the tokenizer.json";

// Keys of a file that have one rule for one reason.
struct Group {
  const char* file;
  Rule rule;
  const char* note;
  std::initializer_list<const char*> keys;
  const char* taken = nullptr;
};

constexpr Group kGroups[] = {
    // config.json: transformers' classes of settings of the served types, PretrainedConfig, and what people have from before.
    {kModel, kObeyed, kWeights,
     {"model_type", "architectures", "vocab_size", "hidden_size", "dim", "num_hidden_layers", "n_layers",
      "num_attention_heads", "n_heads", "intermediate_size", "hidden_dim", "embedding_size", "hidden_act",
      "activation", "layer_norm_eps", "max_position_embeddings", "type_vocab_size", "pad_token_id", "num_labels",
      "position_embedding_type", "norm_eps", "norm_bias", "hidden_activation", "attention_bias", "mlp_bias",
      "layer_types", "global_attn_every_n_layers", "local_attention", "rope_parameters", "rope_scaling", "rope_theta",
      "global_rope_theta", "local_rope_theta", "classifier_pooling", "classifier_activation", "classifier_bias",
      "layer_norm_type", "logn_attention_scale", "num_experts", "relative_attention", "position_buckets",
      "max_relative_positions", "pos_att_type", "share_att_key", "norm_rel_ebd", "position_biased_input",
      "conv_kernel_size", "attention_head_size", "pooler_hidden_act", "pooler_hidden_size"}},
    {kModel, kObeyed, kPairing, {"bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"}},
    {kModel, kObeyed, "names of labels", {"id2label"}},
    {kModel, kObeyed, "what makes scores of several labels", {"problem_type"}},
    {kModel, kObeyed, "activation_fn in it makes the score of one label", {"sentence_transformers"}},
    {kModel, kObeyed, "makes the score of one label where nothing newer does",
     {"sbert_ce_default_activation_function"}},
    {kModel, kObeyed, "where tokenizer_config.json names none", {"tokenizer_class"}},
    {kModel, kRefused, "attention to what is before a token only", {"is_decoder"}},
    {kModel, kRefused, "layers that are not computed", {"add_cross_attention", "is_encoder_decoder"}},
    {kModel, kRefused, "heads that are not there", {"pruned_heads"}},
    {kModel, kRefused, "weights that are not read", {"quantization_config"}},
    {kModel, kRefused, "weights of another file", {"transformers_weights"}},
    {kModel, kRefused, "half of local_attention under another name", {"sliding_window"}},
    {kModel, kHarmless, "id2label the other way", {"label2id"}},
    {kModel, kHarmless, "that of the weights counts; see --dtype", {"dtype", "torch_dtype"}},
    {kModel, kHarmless, "no output embeddings", {"tie_word_embeddings"}},
    {kModel, kHarmless, "the same numbers in parts", {"chunk_size_feed_forward"}},
    {kModel, kHarmless, "decoders only", {"use_cache"}},
    {kModel, kHarmless, "transformers fails where it is not hidden_size by num_attention_heads", {"head_dim"}},
    {kModel, kHarmless, kTraining,
     {"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout", "attention_dropout", "dropout",
      "qa_dropout", "seq_classif_dropout", "initializer_range", "summary_first_dropout", "summary_last_dropout",
      "embedding_dropout", "mlp_dropout", "pooler_dropout", "cls_dropout", "initializer_cutoff_factor",
      "repad_logits_with_grad", "deterministic_flash_attn"}},
    {kModel, kHarmless, "the weights hold the positions", {"sinusoidal_pos_embds"}},
    {kModel, kHarmless, "heads of other tasks",
     {"summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj", "decoder_bias",
      "sparse_prediction", "sparse_pred_ignore_index", "legacy"}},
    {kModel, kHarmless, "the same numbers another way",
     {"reference_compile", "pack_qkv", "use_memory_efficient_attention"}},
    {kModel, kHarmless, "the same numbers without padding", {"unpad_inputs"}},
    {kModel, kHarmless, "logn_attention_scale only", {"logn_attention_clip1"}},
    {kModel, kHarmless, "conv_kernel_size only", {"conv_act", "conv_groups"}},
    {kModel, kHarmless, kOutputs, {"output_attentions", "output_hidden_states", "return_dict"}},
    {kModel, kHarmless, kWhere, {"transformers_version", "_name_or_path"}},
    {kModel, kHarmless, "code of a folder is not run", {"auto_map"}},
    // tokenizer_config.json: PreTrainedTokenizerBase, and the classes that read the vocabularies.
    {kTokenizer, kObeyed, "the class", {"tokenizer_class"}},
    {kTokenizer, kObeyed, "tokens of a row", {"model_max_length"}},
    {kTokenizer, kObeyed, "model_max_length by its older name", {"max_len"}},
    {kTokenizer, kObeyed, "padded rows; scores are those of rows without pads", {"padding_side"}},
    {kTokenizer, kObeyed, "rows that are cut", {"truncation_side"}},
    {kTokenizer, kObeyed, "whether rows have token types", {"model_input_names"}},
    {kTokenizer, kObeyed, "whether texts spell special tokens", {"split_special_tokens"}},
    {kTokenizer, kObeyed, "added tokens",
     {"added_tokens_decoder", "additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"}},
    {kTokenizer, kObeyed, kRow,
     {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}},
    {kTokenizer, kObeyed, kClass,
     {"do_lower_case", "strip_accents", "tokenize_chinese_chars", "keep_accents", "split_by_punct", "add_prefix_space", "legacy"}},
    {kTokenizer, kObeyed, "offsets of a vocab.json", {"trim_offsets"}},
    {kTokenizer, kRefused, "another pre-tokenizer", {"fix_mistral_regex"}},
    {kTokenizer, kRefused, "arguments of the class by their places", {"init_inputs"}},
    {kTokenizer, kObeyed, "the template of a vocab.json; that of a tokenizer.json counts",
     {"add_bos_token", "add_eos_token"}},
    {kTokenizer, kHarmless, "code of a folder is not run", {"auto_map"}},
    {kTokenizer, kHarmless, kWhere,
     {"backend", "files_loaded", "is_local", "local_files_only", "merges_file", "name_or_path", "processor_class",
      "special_tokens_map_file", "tokenizer_file", "use_fast", "vocab_file"}},
    {kTokenizer, kHarmless, kChat, {"chat_control_tokens", "chat_template", "response_schema", "response_template"}},
    {kTokenizer, kHarmless, kDecoding,
     {"clean_up_tokenization_spaces", "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
      "errors", "spaces_between_special_tokens"}},
    {kTokenizer, kHarmless, "transformers 5 reads it no more", {"do_basic_tokenize", "never_split", "sp_model_kwargs"}},
    {kTokenizer, kHarmless, "calls give it", {"max_length", "pad_to_multiple_of", "stride", "truncation_strategy"}},
    {kTokenizer, kHarmless, "transformers 5 pads with 0", {"pad_token_type_id"}},
    {kTokenizer, kHarmless, "messages only", {"verbose"}},
    // special_tokens_map.json: read where tokenizer_config.json lists no added tokens.
    {kSpecials, kObeyed, kRow,
     {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}},
    {kSpecials, kObeyed, "added tokens", {"additional_special_tokens", "extra_special_tokens"}},
    // config_sentence_transformers.json: BaseModel and CrossEncoder of sentence-transformers.
    {kEncoder, kObeyed, "whether the file is a cross-encoder's", {"model_type"}},
    {kEncoder, kObeyed, "makes the score of one label", {"activation_fn"}},
    {kEncoder, kObeyed, "texts before a query", {"prompts"}},
    {kEncoder, kObeyed, "the prompt that is put there unasked", {"default_prompt_name"}},
    {kEncoder, kHarmless, "the head is computed in float32 anyway", {"keep_in_fp32_modules"}},
    {kEncoder, kHarmless, "versions of packages", {"requirements"}},
    {kEncoder, kHarmless, kEmbeddings, {"similarity_fn_name"}},
    {kEncoder, kHarmless, kWhere, {"__version__"}},
    // sentence_bert_config.json: Transformer of sentence-transformers.
    {kTransformer, kObeyed, "tokens of a row", {"max_seq_length"}},
    {kTransformer, kObeyed, "texts in lower case", {"do_lower_case"}},
    {kTransformer, kRefused, "another head", {"transformer_task"}, "\"sequence-classification\""},
    {kTransformer, kRefused, "arguments of calls", {"processing_kwargs"}},
    {kTransformer, kRefused, "arguments of the tokenizer", {"processor_kwargs", "tokenizer_args"}},
    {kTransformer, kRefused, "other values of config.json", {"config_kwargs", "config_args"}},
    {kTransformer, kRefused, "arguments of the model", {"model_kwargs", "model_args"}},
    {kTransformer, kRefused, "a vocabulary elsewhere", {"tokenizer_name_or_path"}},
    {kTransformer, kObeyed, "whether rows are texts or chats", {"modality_config"}},
    {kTransformer, kRefused, "another output", {"module_output_name"}, "\"scores\""},
    {kTransformer, kHarmless, kEmbeddings, {"document_length", "query_expansion", "query_length"}},
    {kTransformer, kHarmless, "the same numbers without padding", {"unpad_inputs"}},
    // modules.json: each of its entries.
    {kModules, kObeyed, "a Transformer, and its head where its class has none", {"type"}},
    {kModules, kObeyed, "a module's folder; a Transformer below the model's own is refused", {"path"}},
    {kModules, kHarmless, "names of arguments that calls may give", {"kwargs"}},
    {kModules, kHarmless, "the order, which is that of the list", {"idx"}},
    {kModules, kHarmless, "a name", {"name"}},
    // generation_config.json is of models that write.
    {kGeneration, kHarmless, "generated text only", {"*"}},
};

constexpr size_t CountKeys() {
  size_t count = 0;
  for (const Group& group : kGroups) count += group.keys.size();
  return count;
}

constexpr auto kKeys = [] {
  std::array<Key, CountKeys()> all{};
  auto* next = all.data();
  for (const Group& group : kGroups) {
    for (const char* const key : group.keys) *next++ = {group.file, key, group.rule, group.note, group.taken};
  }
  return all;
}();

// Asks for nothing.
bool IsEmpty(std::string_view json) {
  constexpr std::array kEmpty = {"null", "false", "\"\"", "[]", "{}"};
  return std::find(kEmpty.begin(), kEmpty.end(), json) != kEmpty.end();
}

}  // namespace

std::span<const Key> Keys() {
  return kKeys;
}

const Key* FindKey(std::string_view file, std::string_view key) {
  const auto found = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& one) {
    return one.file == file && (one.key == key || one.key == std::string_view("*"));
  });
  return found == std::end(kKeys) ? nullptr : found;
}

std::string RefusedKey(std::string_view file, const std::string& path, const builder::Json& object,
                       std::span<const std::string_view> also) {
  constexpr size_t kShown = 80;
  std::string out;
  object.EachMember([&](std::string_view name, const builder::Json& value) {
    const Key* const key = out.empty() ? FindKey(file, name) : nullptr;
    if (key == nullptr || key->rule != Rule::kRefused) return;
    const std::string json = value.Minified();
    const bool taken = key->taken != nullptr && (json == key->taken || std::find(also.begin(), also.end(), json) != also.end());
    if (IsEmpty(json) || taken) return;
    out = path + ": " + std::string(name) + " is " + json.substr(0, kShown) + " (" + key->note + "), which is not supported";
    if (key->taken != nullptr) out += std::string("; ") + key->taken + " is";
  });
  return out;
}

}  // namespace rankfeed::folder
