// SPDX-License-Identifier: MIT
#include "builder/files/presets.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/narrow.h"
#include "rankfeed/model.h"

namespace rankfeed::builder {
namespace {

using image::PieceType;
using image::TemplateKind;

enum class Ids {
  kPieces,    // token id = piece id
  kFairseq,   // <s> 0, <pad> 1, </s> 2, <unk> 3, then piece id + 1 (tokenization_xlm_roberta.py)
  kCamembert  // <s>NOTUSED 0, <pad> 1, </s>NOTUSED 2, <unk> 3, then piece id + 4
};

// Templates and quirks of the transformers tokenizer classes (4.x): tokenization_xlm_roberta.py,
// tokenization_camembert.py, tokenization_deberta_v2.py, tokenization_t5.py,
// tokenization_albert.py, tokenization_xlnet.py.
struct Preset {
  const char* name;
  Ids ids;
  const char* single;  // tokens, A, B; ":n" sets the token type
  const char* pair;
  const char* pad;
  const char* mask;  // appended when the model lacks it; null if the family has none
  int extra_ids;     // <extra_id_n-1> .. <extra_id_0>, appended
  bool pad_left;
  uint32_t pad_type_id;
};

constexpr Preset kPresets[] = {
    {"albert", Ids::kPieces, "[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", "<pad>", "[MASK]", 0,
     false, 0},
    {"bert", Ids::kPieces, "[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", "[PAD]", "[MASK]", 0, false,
     0},
    {"bert-cased", Ids::kPieces, "[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", "[PAD]", "[MASK]", 0,
     false, 0},
    {"camembert", Ids::kCamembert, "<s> A </s>", "<s> A </s> </s> B </s>", "<pad>", "<mask>", 0,
     false, 0},
    {"deberta-v3", Ids::kPieces, "[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", "[PAD]", "[MASK]", 0,
     false, 0},
    {"mpnet", Ids::kPieces, "<s> A </s>", "<s> A </s> </s> B </s>", "<pad>", "<mask>", 0, false, 0},
    {"t5", Ids::kPieces, "A </s>", "A </s> B </s>", "<pad>", nullptr, 100, false, 0},
    {"xlm-roberta", Ids::kFairseq, "<s> A </s>", "<s> A </s> </s> B </s>", "<pad>", "<mask>", 0,
     false, 0},
    // Pads carry token type 3 in XLNet.
    {"xlnet", Ids::kPieces, "A <sep> <cls>:2", "A <sep> B:1 <sep>:1 <cls>:2", "<pad>", "<mask>", 0,
     true, 3},
};

const Preset* FindPreset(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return &preset;
  }
  return nullptr;
}

// Token strings to ids, added tokens included; built once the ids are final.
class Tokens {
 public:
  explicit Tokens(const ModelSpec& spec) : spec_(spec) {}

  uint32_t FindAdded(std::string_view text) const {
    for (const AddedTokenSpec& token : spec_.added_tokens) {
      if (token.content == text) return token.id;
    }
    return image::kNoId;
  }

  uint32_t Find(std::string_view text) const {
    if (const uint32_t added = FindAdded(text); added != image::kNoId) return added;
    // Reserved SentencePiece pieces are looked up first, and of equal HuggingFace pieces the last
    // one counts.
    uint32_t found = image::kNoId;
    for (size_t i = 0; i < spec_.pieces.size(); ++i) {
      if (spec_.pieces[i].text != text) continue;
      const PieceType type = spec_.pieces[i].type;
      found = spec_.id_map[i];
      if (spec_.sentencepiece() && (type == PieceType::kControl || type == PieceType::kUnknown ||
                                    type == PieceType::kByte)) {
        break;
      }
    }
    return found;
  }

  // Finds the first of these names that is a special token. In a tokenizer.json of BPE only added tokens are: a piece that
  // is spelled so ("<s>" of Qwen2) was learned from texts.
  uint32_t FirstOf(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const uint32_t id = spec_.bpe() && !spec_.sentencepiece() ? FindAdded(name) : Find(name);
      if (id != image::kNoId) return id;
    }
    return image::kNoId;
  }

 private:
  const ModelSpec& spec_;
};

void Append(ModelSpec* spec, const std::string& content, uint32_t flags) {
  spec->added_tokens.push_back({content, spec->id_count++, flags});
}

// A token id without a piece, such as <pad> of XLM-RoBERTa.
void Name(ModelSpec* spec, const std::string& content, uint32_t id) {
  spec->added_tokens.push_back({content, id, image::kSpecial});
}

void Renumber(ModelSpec* spec, const Preset& preset) {
  const auto need = [&](size_t piece, const char* text) {
    if (piece < spec->pieces.size() && spec->pieces[piece].text == text) return;
    throw BuildError(RANKFEED_E_UNSUPPORTED,
                     "preset ", preset.name, " needs piece ",
                     piece, " to be ", text);
  };
  if (preset.ids == Ids::kPieces) return;
  need(0, "<unk>");
  need(1, "<s>");
  need(2, "</s>");
  const uint32_t shift = preset.ids == Ids::kFairseq ? 1 : 4;
  for (size_t i = 0; i < spec->id_map.size(); ++i) {
    spec->id_map[i] = static_cast<uint32_t>(i) + shift;
  }
  spec->id_map[0] = 3;
  if (preset.ids == Ids::kFairseq) {
    spec->id_map[1] = 0;
    spec->id_map[2] = 2;
    Name(spec, "<pad>", 1);
  } else {
    Name(spec, "<s>NOTUSED", 0);
    Name(spec, "<pad>", 1);
    Name(spec, "</s>NOTUSED", 2);
    Name(spec, "<unk>NOTUSED", 4);
  }
  spec->id_count = Size32(spec->pieces) + shift;
  // The readers' ids were piece ids.
  for (uint32_t* id : {&spec->unk_id, &spec->bos_id, &spec->eos_id, &spec->pad_id, &spec->cls_id,
                       &spec->sep_id, &spec->mask_id}) {
    if (*id != image::kNoId) *id = spec->id_map[*id];
  }
}

std::vector<TemplateItemSpec> ParseTemplate(const char* text, const Tokens& tokens,
                                            const Preset& preset) {
  std::vector<TemplateItemSpec> items;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    TemplateItemSpec item{TemplateKind::kSpecial};
    if (word.size() > 2 && word[word.size() - 2] == ':') {
      item.type_id = static_cast<uint32_t>(word.back() - '0');
      word.resize(word.size() - 2);
    }
    if (word == "A") {
      item.kind = TemplateKind::kSequenceA;
    } else if (word == "B") {
      item.kind = TemplateKind::kSequenceB;
    } else {
      item.id = tokens.Find(word);
      if (item.id == image::kNoId) {
        throw BuildError(RANKFEED_E_UNSUPPORTED,
                         "preset ", preset.name, " needs the token ", word,
                         ", which the model does not have");
      }
    }
    items.push_back(item);
  }
  return items;
}

// bos A eos, bos A eos eos B eos, with what exists.
void DefaultTemplate(ModelSpec* spec) {
  const auto special = [](std::vector<TemplateItemSpec>* out, uint32_t id) {
    if (id != image::kNoId) out->push_back({TemplateKind::kSpecial, id, 0});
  };
  std::vector<TemplateItemSpec> single;
  special(&single, spec->bos_id);
  single.push_back({TemplateKind::kSequenceA, 0, 0});
  special(&single, spec->eos_id);
  std::vector<TemplateItemSpec> pair = single;
  special(&pair, spec->eos_id);
  pair.push_back({TemplateKind::kSequenceB, 0, 0});
  special(&pair, spec->eos_id);
  spec->template_single = std::move(single);
  spec->template_pair = std::move(pair);
}

uint32_t Special(const std::vector<TemplateItemSpec>& items, size_t i) {
  return i < items.size() && items[i].kind == TemplateKind::kSpecial ? items[i].id : image::kNoId;
}

void FillSpecials(ModelSpec* spec, const Tokens& tokens) {
  const auto fill = [](uint32_t* id, uint32_t value) {
    if (*id == image::kNoId) *id = value;
  };
  fill(&spec->bos_id, tokens.FirstOf({"<s>", "[BOS]", "<bos>"}));
  fill(&spec->eos_id, tokens.FirstOf({"</s>", "[EOS]", "<eos>"}));
  fill(&spec->pad_id, tokens.FirstOf({"<pad>", "[PAD]"}));
  fill(&spec->mask_id, tokens.FirstOf({"<mask>", "[MASK]"}));
  // Else what stands where the class and separator tokens stand.
  fill(&spec->cls_id, tokens.FirstOf({"[CLS]", "<cls>"}));
  fill(&spec->cls_id, Special(spec->template_single, 0));
  fill(&spec->sep_id, tokens.FirstOf({"[SEP]", "<sep>"}));
  for (size_t i = 0; i + 1 < spec->template_single.size(); ++i) {
    if (spec->template_single[i].kind == TemplateKind::kSequenceA) {
      fill(&spec->sep_id, Special(spec->template_single, i + 1));
    }
  }
}

bool RobertaLike(const ModelSpec& spec, const Tokens& tokens) {
  const uint32_t bos = tokens.Find("<s>"), eos = tokens.Find("</s>"), pad = tokens.Find("<pad>");
  if (bos == image::kNoId || eos == image::kNoId || pad == image::kNoId || spec.pad_id != pad) {
    return false;
  }
  const auto matches = [&](const std::vector<TemplateItemSpec>& items,
                           std::initializer_list<TemplateItemSpec> want) {
    return std::equal(items.begin(), items.end(), want.begin(), want.end(),
                      [](const TemplateItemSpec& a, const TemplateItemSpec& b) {
                        return a.kind == b.kind && a.id == b.id;
                      });
  };
  const TemplateItemSpec s{TemplateKind::kSpecial, bos}, e{TemplateKind::kSpecial, eos},
      a{TemplateKind::kSequenceA}, b{TemplateKind::kSequenceB};
  return matches(spec.template_single, {s, a, e}) &&
         matches(spec.template_pair, {s, a, e, e, b, e});
}

}  // namespace

std::string PresetNames() {
  std::string names;
  for (const Preset& preset : kPresets)
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

void ApplyPreset(const std::string& name, ModelSpec* spec) {
  const Preset* preset = name.empty() ? nullptr : FindPreset(name);
  if (!name.empty() && preset == nullptr) {
    throw BuildError(RANKFEED_E_ARGUMENT,
                     "unknown preset \"", name, "\"; there are: ", PresetNames());
  }
  const bool model_file = spec->sentencepiece();
  const Tokens tokens(*spec);
  if (preset != nullptr) {
    spec->family = preset->name;
    if (model_file) {
      Renumber(spec, *preset);
      for (int i = preset->extra_ids; i-- > 0;) {
        const std::string extra = "<extra_id_" + std::to_string(i) + ">";
        if (tokens.Find(extra) == image::kNoId) Append(spec, extra, image::kSpecial);
      }
      if (preset->mask != nullptr && tokens.Find(preset->mask) == image::kNoId) {
        Append(spec, preset->mask, image::kSpecial);
      }
      spec->pad_id = tokens.Find(preset->pad);
      if (preset->mask != nullptr) spec->mask_id = tokens.Find(preset->mask);
    }
    if ((spec->flags & image::kTemplateFromFile) == 0) {
      spec->template_single = ParseTemplate(preset->single, tokens, *preset);
      spec->template_pair = ParseTemplate(preset->pair, tokens, *preset);
    }
    if (preset->pad_left) spec->flags |= image::kPadLeft;
    if (spec->pad_type_id == 0) spec->pad_type_id = preset->pad_type_id;
  } else if (model_file) {
    DefaultTemplate(spec);
  }
  FillSpecials(spec, tokens);
  const bool known_template = preset != nullptr || (spec->flags & image::kTemplateFromFile) != 0;
  if (known_template && RobertaLike(*spec, tokens)) {
    spec->position_offset = spec->pad_id + 1;
    spec->position_pad = spec->pad_id;
  }
  for (const TemplateItemSpec& item : spec->template_pair) {
    if (item.type_id != 0) spec->flags |= image::kHasTokenTypeIds;
  }
}

}  // namespace rankfeed::builder
