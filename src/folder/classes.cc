// SPDX-License-Identifier: MIT
// folder/classes.cc: see classes.h.
#include "folder/classes.h"

#include <algorithm>
#include <initializer_list>

namespace rankfeed::folder {
namespace {

struct ClassOfTypes {
  std::string_view name;
  std::initializer_list<std::string_view> types;
};

// models/auto/tokenization_auto.py, TOKENIZER_MAPPING_NAMES.
const ClassOfTypes kClassOfTypes[] = {
    {"AlbertTokenizer", {"albert", "yoso"}},
    {"BertTokenizer", {"align", "bark", "bert", "blip", "bros", "chinese_clip", "convbert", "distilbert", "electra", "ernie", "flava",
                       "git", "grounding-dino", "layoutlm", "megatron-bert", "mm-grounding-dino", "mobilebert", "nezha", "nomic_bert",
                       "qdqbert", "realm", "retribert", "squeezebert", "tvp", "vilt", "visual_bert"}},
    {"BigBirdTokenizer", {"big_bird"}},
    {"CamembertTokenizer", {"camembert"}},
    {"DebertaV2Tokenizer", {"deberta-v2"}},
    {"GPT2Tokenizer", {"blip-2", "codegen", "dbrx", "emu3", "gpt2", "gpt_neo", "gptj", "instructblip",
                       "instructblipvideo", "jais2", "opt", "phi", "starcoder2"}},
    {"GemmaTokenizer", {"diffusion_gemma", "gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "recurrent_gemma",
                        "shieldgemma2", "t5gemma", "zaya"}},
    {"LlamaTokenizer", {"idefics", "idefics2"}},
    {"MBartTokenizer", {"mbart"}},
    {"MPNetTokenizer", {"mpnet"}},
    {"PegasusTokenizer", {"pegasus"}},
    {"Qwen2Tokenizer", {"audioflamingo3", "colqwen2", "cosmos3_omni", "dots3_note", "fun_asr_nano", "hunyuan_vl", "internvl",
                        "moss_transcribe_diarize", "ovis2", "qianfan_ocr", "qwen2", "qwen2_5_omni", "qwen2_5_vl", "qwen2_audio",
                        "qwen2_moe", "qwen2_vl", "qwen3", "qwen3_asr", "qwen3_moe", "qwen3_next", "qwen3_omni_moe", "qwen3_vl",
                        "qwen3_vl_moe"}},
    {"RemBertTokenizer", {"rembert"}},
    {"RobertaTokenizer", {"bart", "bridgetower", "clap", "data2vec-text", "ibert", "lilt", "longformer", "mega", "mra", "roberta",
                          "roberta-prelayernorm"}},
    {"T5Tokenizer", {"mt5", "musicgen", "musicgen_melody", "switch_transformers", "t5"}},
    {"UdopTokenizer", {"udop"}},
    {"XGLMTokenizer", {"xglm"}},
    {"XLMRobertaTokenizer", {"gte", "jina_embeddings_v3", "metaclip_2", "trocr", "xlm-roberta", "xmod"}},
    {"XLNetTokenizer", {"xlnet"}},
};

}  // namespace

std::string_view ClassOfModelType(std::string_view model_type) {
  for (const ClassOfTypes& one : kClassOfTypes) {
    if (std::find(one.types.begin(), one.types.end(), model_type) != one.types.end()) return one.name;
  }
  return {};
}

}  // namespace rankfeed::folder
