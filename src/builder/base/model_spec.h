// SPDX-License-Identifier: MIT
// builder/base/model_spec.h: a model as the readers understood it, before it becomes an image.
//
// read_spm.cc and read_hf_json.cc produce it, write_image.cc consumes it. Reading throws
// BuildError; the C boundary (capi/folders/capi_builder.cc) turns that into a status and a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "image/format.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"

namespace rankfeed::builder {

// Appends a text, or a number in digits.
template <class Part>
void AppendPart(const Part& part, std::string* message) {
  if constexpr (std::is_integral_v<Part>) *message += std::to_string(part);
  else *message += part;
}

// Fault of a source: message, place, and the status that it becomes.
struct BuildError : std::runtime_error {
  // The message is what its parts are one after another, of which the first is a text.
  template <class... Parts>
  explicit BuildError(rankfeed_status status, std::string message, const Parts&... parts)
      : std::runtime_error(((AppendPart(parts, &message), ...), message)), code(status) {}
  template <class... Parts>
  BuildError(rankfeed_status, std::nullptr_t, const Parts&...) = delete;  // a text from no pointer: 0 where the message belongs
  // Returns the same error of that byte of the source.
  BuildError At(uint64_t byte) const {
    BuildError error = *this;
    error.byte_offset = byte;
    return error;
  }
  rankfeed_status code;
  uint64_t byte_offset = 0;
};

struct PieceSpec {
  std::string text;
  double score = 0;  // HuggingFace: as parsed; SentencePiece: the float, widened
  image::PieceType type = image::PieceType::kNormal;
};

// A merge of BPE: the pieces left and right become product, all by id.
struct MergeSpec {
  uint32_t left, right, product;
  uint32_t rank;  // the lesser one merges first; several may share one
};

struct StepSpec {
  image::Op op;
  uint32_t arg0 = 0, arg1 = 0;
  std::string a, b;
};

struct AddedTokenSpec {
  std::string content;
  uint32_t id = 0;     // final id: the model's, else the next free one in list order
  uint32_t flags = 0;  // image::AddedFlags
};

struct TemplateItemSpec {
  image::TemplateKind kind;
  uint32_t id = 0, type_id = 0;
};

// Numbers of the image's Config that files give are those of the base; its texts are strings here.
struct ModelSpec : image::Config {
  ModelSpec() : Config{} { unk_id = bos_id = eos_id = pad_id = cls_id = sep_id = mask_id = image::kNoId; }

  bool sentencepiece() const { return parity != RANKFEED_PARITY_HUGGINGFACE; }
  bool sentencepiece_0_2_1() const { return parity == RANKFEED_PARITY_SENTENCEPIECE_0_2_1; }
  std::string source_name;
  image::ModelKind kind = image::ModelKind::kUnigram;
  bool unigram() const { return kind == image::ModelKind::kUnigram; }
  bool wordpiece() const { return kind == image::ModelKind::kWordPiece; }
  bool bpe() const { return kind == image::ModelKind::kBpe; }
  // Pieces by the model's own id; those of WordPiece and BPE in the order of the file, each text
  // once.
  std::vector<PieceSpec> pieces;
  // Token id of each model id (identity unless a preset renumbers, as fairseq does for XLM-R).
  std::vector<uint32_t> id_map;
  std::string unk_surface, unk_piece, family;
  std::string continuing_prefix;  // WordPiece: of pieces that go on in a word
  std::vector<MergeSpec> merges;  // BPE: ranks never fall
  std::string charsmap;  // precompiled blob as in the file, empty if none
  std::string denorm_charsmap;  // SentencePiece denormalizer_spec, empty if none
  std::vector<StepSpec> normalizer, pre_tokenizer, decoder;
  std::vector<AddedTokenSpec> added_tokens;
  std::string changes;  // names what files beside a tokenizer.json change in it; empty: nothing
  std::vector<std::string> user_defined;  // SentencePiece: bypass normalization (PrefixMatcher)
  std::vector<TemplateItemSpec> template_single, template_pair;
};

}  // namespace rankfeed::builder
