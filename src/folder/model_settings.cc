// SPDX-License-Identifier: MIT
#include "folder/model_settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "folder/document.h"
#include "folder/keys.h"
#include "rankfeed/rerank.h"

namespace rankfeed::folder {
namespace {

using builder::BuildError;
using builder::Json;

constexpr size_t kMostLabels = 4096;
// The values of sentence_bert_config.json for a Transformer without a head, which modules follow.
constexpr std::array<std::string_view, 2> kBareTransformer = {"\"feature-extraction\"", "\"token_embeddings\""};
// In the order in which sentence-transformers looks for them.
constexpr std::array kTransformerFiles = {"sentence_bert_config.json",      "sentence_roberta_config.json",
                                          "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                          "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                          "sentence_xlnet_config.json"};

class Reader {
 public:
  explicit Reader(const std::string& folder) : folder_(folder.empty() || folder.ends_with('/') ? folder : folder + "/") {}

  ModelSettings Read() {
    const Document model = Open("config.json"), tokenizer = Open("tokenizer_config.json");
    ReadTokenizer(tokenizer.root());
    ReadLabels(model.root());
    Refuse(RefusedKey("config.json", Path("config.json"), model.root()));
    RefuseTwoNames(model.root());
    ReadEncoder(HasHead(model.root()));
    ReadActivation(model.root());
    return std::move(out_);
  }

 private:
  std::string Path(const char* name) const { return folder_ + name; }
  Document Open(const char* name) const { return Document(ReadIfThere(Path(name)), Path(name)); }
  void Refuse(std::string why) {
    if (out_.refusal.empty()) out_.refusal = std::move(why);
  }
  void Note(const std::string& text) { out_.note += (out_.note.empty() ? "" : "; ") + text; }

  // A number of tokens; unset for one that means "no limit".
  static std::optional<uint32_t> Length(const Json& value) {
    const double number = value.Number();
    if (!(number >= 1)) value.Fail(RANKFEED_E_PARSE, "is " + value.Minified() + "; it must be a number of tokens");
    return number <= 4294967295.0 ? std::optional(static_cast<uint32_t>(number)) : std::nullopt;
  }

  void ReadTokenizer(const Json& config) {
    bool has_length = false;
    config.EachMember([&](std::string_view name, const Json&) { has_length |= name == "model_max_length"; });
    const auto length = config.Find(has_length ? "model_max_length" : "max_len");
    if (length) out_.max_length = Length(*length);
    out_.split_special_tokens = config.BoolOr("split_special_tokens", false);
    const std::string refused = RefusedKey("tokenizer_config.json", Path("tokenizer_config.json"), config);
    if (!refused.empty()) throw BuildError(RANKFEED_E_UNSUPPORTED, refused);
  }

  // Labels in the order of their numbers, named as transformers does where config.json skips one; it replaces names of another
  // number than num_labels.
  void ReadLabels(const Json& config) {
    config.EachMember([&](std::string_view, const Json&) { out_.has_config = true; });
    const auto names = config.Find("id2label");
    if (names && names->is_object()) {
      size_t count = 0;
      names->EachMember([&](std::string_view, const Json&) { ++count; });
      const auto size = config.Find("num_labels");
      if (size && size->Number() != static_cast<double>(count)) count = 0;
      for (size_t i = 0; i < std::min(count, kMostLabels); ++i) {
        const std::string number = std::to_string(i);
        const auto name = names->Find(number.c_str());
        out_.labels.push_back(name && name->is_string() ? name->String() : "LABEL_" + number);
      }
    }
    const auto problem = config.Find("problem_type");
    out_.multi_label = problem && problem->is_string() && problem->String() == "multi_label_classification";
  }

  // DistilBERT's sizes have names of their own, and transformers lets the usual names take their place.
  void RefuseTwoNames(const Json& config) {
    for (const auto& [own, usual] : {std::pair("dim", "hidden_size"), std::pair("n_layers", "num_hidden_layers"), std::pair("n_heads", "num_attention_heads")}) {
      const auto one = config.Find(own), other = config.Find(usual);
      if (!one || !other || one->Minified() == other->Minified()) continue;
      Refuse(Path("config.json") + ": " + usual + " is " + other->Minified() + " and " + own + ", which is the same, " + one->Minified());
    }
  }

  // Returns false for a class without a head of its own: modules.json has the head, which the forward pass reads.
  static bool HasHead(const Json& config) {
    const auto classes = config.Find("architectures");
    if (!classes || !classes->is_array()) return true;
    bool has_head = false;
    classes->Each([&](const Json& name) { has_head |= !name.String().ends_with("Model"); });
    return has_head;
  }

  // The files of sentence-transformers. Its CrossEncoder reads config_sentence_transformers.json where there is a modules.json
  // and the file is a cross-encoder's; of a folder of embeddings it takes the weights only. A file without a modules.json, which
  // it would set aside, comes from a folder that was copied in part, and is followed.
  void ReadEncoder(bool has_head) {
    const std::string list = ReadIfThere(Path("modules.json")), path = Path("config_sentence_transformers.json");
    const Document file(ReadIfThere(path), path);
    const Json& own = file.root();
    const auto type = own.Find("model_type"), activation = own.Find("activation_fn"), name = own.Find("default_prompt_name");
    const bool is_there = own.Minified() != "{}";
    const std::string kind = type ? type->String() : is_there && !list.empty() ? "SentenceTransformer" : "CrossEncoder";
    if (kind != "CrossEncoder") {
      if (!activation && !name) return;
      Note(path + " is a " + kind + "'s and not followed, nor what stands beside it for one, as by CrossEncoder of "
           "sentence-transformers 6.2");
      return;
    }
    if (list.empty() && (activation || name)) {
      Note(path + " is followed; CrossEncoder of sentence-transformers 6.2 sets it aside where there is no modules.json");
    }
    ReadPrompts(own);
    if (activation) TakeActivation(*activation, path);
    if (is_there && !list.empty()) ReadModules(list, has_head);
    ReadTransformer(has_head);
  }

  void ReadPrompts(const Json& own) {
    if (const auto prompts = own.Find("prompts")) {
      prompts->EachMember([&](std::string_view name, const Json& prompt) {
        out_.prompts.push_back({std::string(name), prompt.is_null() ? "" : prompt.String()});
      });
    }
    const auto name = own.Find("default_prompt_name");
    if (!name) return;
    const Prompt* const found = out_.FindPrompt(name->String());
    if (found == nullptr) name->Fail(RANKFEED_E_PARSE, "is " + name->Minified() + ", and prompts has none of that name");
    out_.default_prompt = static_cast<size_t>(found - out_.prompts.data());
  }

  void ReadModules(const std::string& text, bool has_head) {
    const std::string path = Path("modules.json");
    const Document modules(text, path, Document::Root::kList);
    if (!modules.root().is_array()) modules.root().Fail(RANKFEED_E_PARSE, "must be a list");
    bool is_first = true;
    modules.root().Each([&](const Json& module) {
      if (!std::exchange(is_first, false) && !has_head) return;
      const std::string type = module.At("type").String(), folder = module.At("path").String();
      if (!type.starts_with("sentence_transformers.") || !type.ends_with(".Transformer")) {
        Refuse(path + ": type is " + type + "; a cross-encoder whose class has a head is a Transformer and nothing else");
      }
      if (!folder.empty()) Refuse(path + ": path is \"" + folder + "\"; the Transformer stands in the model's own folder");
      Refuse(RefusedKey("modules.json", path, module));
    });
  }

  void ReadTransformer(bool has_head) {
    for (const char* const name : kTransformerFiles) {
      const std::string path = Path(name);
      const Document file(ReadIfThere(path), path);
      const Json& root = file.root();
      if (root.Minified() == "{}") continue;
      if (const auto length = root.Find("max_seq_length")) out_.max_length = Length(*length);
      out_.lower_case = root.BoolOr("do_lower_case", false);
      const std::span<const std::string_view> bare = kBareTransformer;
      Refuse(RefusedKey("sentence_bert_config.json", path, root, bare.first(has_head ? 0 : bare.size())));
      const auto modalities = root.Find("modality_config");
      if (modalities && modalities->Find("message")) Refuse(path + ": modality_config has message: rows are chats");
      return;
    }
  }

  // The function of one label's logit, from where CrossEncoder finds it first. It takes those of torch only.
  void TakeActivation(const Json& value, const std::string& file) {
    const std::string name = value.String();
    if (!out_.activation.empty()) return;
    if (!name.starts_with("torch.")) {
      Note(file + ": the activation " + name + " is none of torch's, so it is set aside, as by CrossEncoder of sentence-transformers");
      return;
    }
    out_.activation = name;
    out_.activation_file = file;
  }

  void ReadActivation(const Json& config) {
    const auto own = config.Find("sentence_transformers");
    bool has_own = false;
    if (own && own->is_object()) {
      own->EachMember([&](std::string_view name, const Json& value) {
        if (name != "activation_fn") return;
        has_own = true;
        if (!value.is_null()) TakeActivation(value, Path("config.json"));
      });
    }
    const auto older = config.Find("sbert_ce_default_activation_function");
    if (older && !has_own) TakeActivation(*older, Path("config.json"));
  }

  const std::string folder_;
  ModelSettings out_;
};

}  // namespace

std::optional<uint32_t> ModelSettings::Activation() const {
  if (activation.empty() || activation.ends_with(".Sigmoid")) return uint32_t{RANKFEED_SCORE_SIGMOID};
  if (activation.ends_with(".Identity")) return uint32_t{RANKFEED_SCORE_RAW};
  return std::nullopt;
}

const Prompt* ModelSettings::FindPrompt(std::string_view name) const {
  const auto found = std::find_if(prompts.begin(), prompts.end(), [&](const Prompt& one) { return one.name == name; });
  return found == prompts.end() ? nullptr : &*found;
}

ModelSettings ReadModelSettings(const std::string& folder) {
  return Reader(folder).Read();
}

}  // namespace rankfeed::folder
