// SPDX-License-Identifier: MIT
#include "folder/keys.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace rankfeed::folder {
namespace {

constexpr auto kObeyed = Rule::kObeyed, kHarmless = Rule::kHarmless, kRefused = Rule::kRefused;
constexpr const char *kModel = "config.json", *kTokenizer = "tokenizer_config.json", *kSpecials = "special_tokens_map.json",
                     *kEncoder = "config_sentence_transformers.json", *kTransformer = "sentence_bert_config.json",
                     *kModules = "modules.json", *kGeneration = "generation_config.json";
constexpr const char *kWeights = "the forward pass", *kTraining = "training only", *kOutputs = "what a call returns beside logits",
                     *kDecoding = "decoded text only", *kChat = "chats only", *kWhere = "where files come from",
                     *kEmbeddings = "embeddings only", *kRow = "the token's id in rows", *kPairing = "compared with the vocabulary's";

constexpr Key kKeys[] = {
    // config.json: transformers' classes of settings of the served types, PretrainedConfig, and what people have from before.
    {kModel, "model_type", kObeyed, kWeights},
    {kModel, "architectures", kObeyed, kWeights},
    {kModel, "vocab_size", kObeyed, kWeights},
    {kModel, "hidden_size", kObeyed, kWeights},
    {kModel, "dim", kObeyed, kWeights},
    {kModel, "num_hidden_layers", kObeyed, kWeights},
    {kModel, "n_layers", kObeyed, kWeights},
    {kModel, "num_attention_heads", kObeyed, kWeights},
    {kModel, "n_heads", kObeyed, kWeights},
    {kModel, "intermediate_size", kObeyed, kWeights},
    {kModel, "hidden_dim", kObeyed, kWeights},
    {kModel, "embedding_size", kObeyed, kWeights},
    {kModel, "hidden_act", kObeyed, kWeights},
    {kModel, "activation", kObeyed, kWeights},
    {kModel, "layer_norm_eps", kObeyed, kWeights},
    {kModel, "max_position_embeddings", kObeyed, kWeights},
    {kModel, "type_vocab_size", kObeyed, kWeights},
    {kModel, "pad_token_id", kObeyed, kWeights},
    {kModel, "bos_token_id", kObeyed, kPairing},
    {kModel, "eos_token_id", kObeyed, kPairing},
    {kModel, "cls_token_id", kObeyed, kPairing},
    {kModel, "sep_token_id", kObeyed, kPairing},
    {kModel, "num_labels", kObeyed, kWeights},
    {kModel, "id2label", kObeyed, "names of labels"},
    {kModel, "problem_type", kObeyed, "what makes scores of several labels"},
    {kModel, "sentence_transformers", kObeyed, "activation_fn in it makes the score of one label"},
    {kModel, "sbert_ce_default_activation_function", kObeyed, "makes the score of one label where nothing newer does"},
    {kModel, "tokenizer_class", kObeyed, "where tokenizer_config.json names none"},
    {kModel, "position_embedding_type", kObeyed, kWeights},
    {kModel, "norm_eps", kObeyed, kWeights},
    {kModel, "norm_bias", kObeyed, kWeights},
    {kModel, "hidden_activation", kObeyed, kWeights},
    {kModel, "attention_bias", kObeyed, kWeights},
    {kModel, "mlp_bias", kObeyed, kWeights},
    {kModel, "layer_types", kObeyed, kWeights},
    {kModel, "global_attn_every_n_layers", kObeyed, kWeights},
    {kModel, "local_attention", kObeyed, kWeights},
    {kModel, "rope_parameters", kObeyed, kWeights},
    {kModel, "rope_scaling", kObeyed, kWeights},
    {kModel, "rope_theta", kObeyed, kWeights},
    {kModel, "global_rope_theta", kObeyed, kWeights},
    {kModel, "local_rope_theta", kObeyed, kWeights},
    {kModel, "classifier_pooling", kObeyed, kWeights},
    {kModel, "classifier_activation", kObeyed, kWeights},
    {kModel, "classifier_bias", kObeyed, kWeights},
    {kModel, "layer_norm_type", kObeyed, kWeights},
    {kModel, "logn_attention_scale", kObeyed, kWeights},
    {kModel, "num_experts", kObeyed, kWeights},
    {kModel, "relative_attention", kObeyed, kWeights},
    {kModel, "position_buckets", kObeyed, kWeights},
    {kModel, "max_relative_positions", kObeyed, kWeights},
    {kModel, "pos_att_type", kObeyed, kWeights},
    {kModel, "share_att_key", kObeyed, kWeights},
    {kModel, "norm_rel_ebd", kObeyed, kWeights},
    {kModel, "position_biased_input", kObeyed, kWeights},
    {kModel, "conv_kernel_size", kObeyed, kWeights},
    {kModel, "attention_head_size", kObeyed, kWeights},
    {kModel, "pooler_hidden_act", kObeyed, kWeights},
    {kModel, "pooler_hidden_size", kObeyed, kWeights},
    {kModel, "is_decoder", kRefused, "attention to what is before a token only"},
    {kModel, "add_cross_attention", kRefused, "layers that are not computed"},
    {kModel, "is_encoder_decoder", kRefused, "layers that are not computed"},
    {kModel, "pruned_heads", kRefused, "heads that are not there"},
    {kModel, "quantization_config", kRefused, "weights that are not read"},
    {kModel, "transformers_weights", kRefused, "weights of another file"},
    {kModel, "sliding_window", kRefused, "half of local_attention under another name"},
    {kModel, "label2id", kHarmless, "id2label the other way"},
    {kModel, "dtype", kHarmless, "that of the weights counts; see --dtype"},
    {kModel, "torch_dtype", kHarmless, "that of the weights counts; see --dtype"},
    {kModel, "tie_word_embeddings", kHarmless, "no output embeddings"},
    {kModel, "chunk_size_feed_forward", kHarmless, "the same numbers in parts"},
    {kModel, "use_cache", kHarmless, "decoders only"},
    {kModel, "head_dim", kHarmless, "transformers fails where it is not hidden_size by num_attention_heads"},
    {kModel, "attention_probs_dropout_prob", kHarmless, kTraining},
    {kModel, "hidden_dropout_prob", kHarmless, kTraining},
    {kModel, "classifier_dropout", kHarmless, kTraining},
    {kModel, "attention_dropout", kHarmless, kTraining},
    {kModel, "dropout", kHarmless, kTraining},
    {kModel, "qa_dropout", kHarmless, kTraining},
    {kModel, "seq_classif_dropout", kHarmless, kTraining},
    {kModel, "initializer_range", kHarmless, kTraining},
    {kModel, "sinusoidal_pos_embds", kHarmless, "the weights hold the positions"},
    {kModel, "summary_activation", kHarmless, "heads of other tasks"},
    {kModel, "summary_first_dropout", kHarmless, kTraining},
    {kModel, "summary_proj_to_labels", kHarmless, "heads of other tasks"},
    {kModel, "summary_last_dropout", kHarmless, kTraining},
    {kModel, "summary_type", kHarmless, "heads of other tasks"},
    {kModel, "summary_use_proj", kHarmless, "heads of other tasks"},
    {kModel, "embedding_dropout", kHarmless, kTraining},
    {kModel, "mlp_dropout", kHarmless, kTraining},
    {kModel, "pooler_dropout", kHarmless, kTraining},
    {kModel, "cls_dropout", kHarmless, kTraining},
    {kModel, "initializer_cutoff_factor", kHarmless, kTraining},
    {kModel, "decoder_bias", kHarmless, "heads of other tasks"},
    {kModel, "sparse_prediction", kHarmless, "heads of other tasks"},
    {kModel, "sparse_pred_ignore_index", kHarmless, "heads of other tasks"},
    {kModel, "legacy", kHarmless, "heads of other tasks"},
    {kModel, "reference_compile", kHarmless, "the same numbers another way"},
    {kModel, "repad_logits_with_grad", kHarmless, kTraining},
    {kModel, "deterministic_flash_attn", kHarmless, kTraining},
    {kModel, "pack_qkv", kHarmless, "the same numbers another way"},
    {kModel, "unpad_inputs", kHarmless, "the same numbers without padding"},
    {kModel, "use_memory_efficient_attention", kHarmless, "the same numbers another way"},
    {kModel, "logn_attention_clip1", kHarmless, "logn_attention_scale only"},
    {kModel, "conv_act", kHarmless, "conv_kernel_size only"},
    {kModel, "conv_groups", kHarmless, "conv_kernel_size only"},
    {kModel, "output_attentions", kHarmless, kOutputs},
    {kModel, "output_hidden_states", kHarmless, kOutputs},
    {kModel, "return_dict", kHarmless, kOutputs},
    {kModel, "transformers_version", kHarmless, kWhere},
    {kModel, "_name_or_path", kHarmless, kWhere},
    {kModel, "auto_map", kHarmless, "code of a folder is not run"},
    // tokenizer_config.json: PreTrainedTokenizerBase, and the classes that read the vocabularies.
    {kTokenizer, "tokenizer_class", kObeyed, "the class"},
    {kTokenizer, "model_max_length", kObeyed, "tokens of a row"},
    {kTokenizer, "max_len", kObeyed, "model_max_length by its older name"},
    {kTokenizer, "padding_side", kObeyed, "padded rows; scores are those of rows without pads"},
    {kTokenizer, "truncation_side", kObeyed, "rows that are cut"},
    {kTokenizer, "model_input_names", kObeyed, "whether rows have token types"},
    {kTokenizer, "split_special_tokens", kObeyed, "whether texts spell special tokens"},
    {kTokenizer, "added_tokens_decoder", kObeyed, "added tokens"},
    {kTokenizer, "bos_token", kObeyed, kRow},
    {kTokenizer, "eos_token", kObeyed, kRow},
    {kTokenizer, "unk_token", kObeyed, kRow},
    {kTokenizer, "sep_token", kObeyed, kRow},
    {kTokenizer, "pad_token", kObeyed, kRow},
    {kTokenizer, "cls_token", kObeyed, kRow},
    {kTokenizer, "mask_token", kObeyed, kRow},
    {kTokenizer, "additional_special_tokens", kObeyed, "added tokens"},
    {kTokenizer, "extra_special_tokens", kObeyed, "added tokens"},
    {kTokenizer, "model_specific_special_tokens", kObeyed, "added tokens"},
    {kTokenizer, "do_lower_case", kObeyed, "the normalizer of vocab.txt; of a tokenizer.json a note"},
    {kTokenizer, "strip_accents", kObeyed, "the normalizer of vocab.txt; of a tokenizer.json a note"},
    {kTokenizer, "tokenize_chinese_chars", kObeyed, "the normalizer of vocab.txt; of a tokenizer.json a note"},
    {kTokenizer, "add_prefix_space", kObeyed, "the pre-tokenizer of vocab.json; of a tokenizer.json a note"},
    {kTokenizer, "trim_offsets", kObeyed, "offsets of a vocab.json"},
    {kTokenizer, "keep_accents", kObeyed, "a note where it changes ids"},
    {kTokenizer, "split_by_punct", kObeyed, "a note where it changes ids"},
    {kTokenizer, "legacy", kObeyed, "a note where it changes ids"},
    {kTokenizer, "fix_mistral_regex", kRefused, "another pre-tokenizer"},
    {kTokenizer, "init_inputs", kRefused, "arguments of the class by their places"},
    {kTokenizer, "add_bos_token", kObeyed, "the template of a vocab.json; that of a tokenizer.json counts"},
    {kTokenizer, "add_eos_token", kObeyed, "the template of a vocab.json; that of a tokenizer.json counts"},
    {kTokenizer, "auto_map", kHarmless, "code of a folder is not run"},
    {kTokenizer, "backend", kHarmless, kWhere},
    {kTokenizer, "chat_control_tokens", kHarmless, kChat},
    {kTokenizer, "chat_template", kHarmless, kChat},
    {kTokenizer, "clean_up_tokenization_spaces", kHarmless, kDecoding},
    {kTokenizer, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", kHarmless, kDecoding},
    {kTokenizer, "do_basic_tokenize", kHarmless, "transformers 5 reads it no more"},
    {kTokenizer, "errors", kHarmless, kDecoding},
    {kTokenizer, "files_loaded", kHarmless, kWhere},
    {kTokenizer, "is_local", kHarmless, kWhere},
    {kTokenizer, "local_files_only", kHarmless, kWhere},
    {kTokenizer, "max_length", kHarmless, "calls give it"},
    {kTokenizer, "merges_file", kHarmless, kWhere},
    {kTokenizer, "name_or_path", kHarmless, kWhere},
    {kTokenizer, "never_split", kHarmless, "transformers 5 reads it no more"},
    {kTokenizer, "pad_to_multiple_of", kHarmless, "calls give it"},
    {kTokenizer, "pad_token_type_id", kHarmless, "transformers 5 pads with 0"},
    {kTokenizer, "processor_class", kHarmless, kWhere},
    {kTokenizer, "response_schema", kHarmless, kChat},
    {kTokenizer, "response_template", kHarmless, kChat},
    {kTokenizer, "sp_model_kwargs", kHarmless, "transformers 5 reads it no more"},
    {kTokenizer, "spaces_between_special_tokens", kHarmless, kDecoding},
    {kTokenizer, "special_tokens_map_file", kHarmless, kWhere},
    {kTokenizer, "stride", kHarmless, "calls give it"},
    {kTokenizer, "tokenizer_file", kHarmless, kWhere},
    {kTokenizer, "truncation_strategy", kHarmless, "calls give it"},
    {kTokenizer, "use_fast", kHarmless, kWhere},
    {kTokenizer, "verbose", kHarmless, "messages only"},
    {kTokenizer, "vocab_file", kHarmless, kWhere},
    // special_tokens_map.json: read where tokenizer_config.json lists no added tokens.
    {kSpecials, "bos_token", kObeyed, kRow},
    {kSpecials, "eos_token", kObeyed, kRow},
    {kSpecials, "unk_token", kObeyed, kRow},
    {kSpecials, "sep_token", kObeyed, kRow},
    {kSpecials, "pad_token", kObeyed, kRow},
    {kSpecials, "cls_token", kObeyed, kRow},
    {kSpecials, "mask_token", kObeyed, kRow},
    {kSpecials, "additional_special_tokens", kObeyed, "added tokens"},
    {kSpecials, "extra_special_tokens", kObeyed, "added tokens"},
    // config_sentence_transformers.json: BaseModel and CrossEncoder of sentence-transformers.
    {kEncoder, "model_type", kObeyed, "whether the file is a cross-encoder's"},
    {kEncoder, "activation_fn", kObeyed, "makes the score of one label"},
    {kEncoder, "prompts", kObeyed, "texts before a query"},
    {kEncoder, "default_prompt_name", kObeyed, "the prompt that is put there unasked"},
    {kEncoder, "keep_in_fp32_modules", kHarmless, "the head is computed in float32 anyway"},
    {kEncoder, "requirements", kHarmless, "versions of packages"},
    {kEncoder, "similarity_fn_name", kHarmless, kEmbeddings},
    {kEncoder, "__version__", kHarmless, kWhere},
    // sentence_bert_config.json: Transformer of sentence-transformers.
    {kTransformer, "max_seq_length", kObeyed, "tokens of a row"},
    {kTransformer, "do_lower_case", kObeyed, "texts in lower case"},
    {kTransformer, "transformer_task", kRefused, "another head", "\"sequence-classification\""},
    {kTransformer, "processing_kwargs", kRefused, "arguments of calls"},
    {kTransformer, "processor_kwargs", kRefused, "arguments of the tokenizer"},
    {kTransformer, "tokenizer_args", kRefused, "arguments of the tokenizer"},
    {kTransformer, "config_kwargs", kRefused, "other values of config.json"},
    {kTransformer, "config_args", kRefused, "other values of config.json"},
    {kTransformer, "model_kwargs", kRefused, "arguments of the model"},
    {kTransformer, "model_args", kRefused, "arguments of the model"},
    {kTransformer, "tokenizer_name_or_path", kRefused, "a vocabulary elsewhere"},
    {kTransformer, "modality_config", kObeyed, "whether rows are texts or chats"},
    {kTransformer, "module_output_name", kRefused, "another output", "\"scores\""},
    {kTransformer, "document_length", kHarmless, kEmbeddings},
    {kTransformer, "query_expansion", kHarmless, kEmbeddings},
    {kTransformer, "query_length", kHarmless, kEmbeddings},
    {kTransformer, "unpad_inputs", kHarmless, "the same numbers without padding"},
    // modules.json: each of its entries.
    {kModules, "type", kObeyed, "a Transformer, and its head where its class has none"},
    {kModules, "path", kObeyed, "a module's folder; a Transformer below the model's own is refused"},
    {kModules, "kwargs", kHarmless, "names of arguments that calls may give"},
    {kModules, "idx", kHarmless, "the order, which is that of the list"},
    {kModules, "name", kHarmless, "a name"},
    // generation_config.json is of models that write.
    {kGeneration, "*", kHarmless, "generated text only"},
};

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
