// SPDX-License-Identifier: MIT
#include "builder/compile.h"

#include "base/other_kind.h"
#include "builder/files/presets.h"
#include "builder/files/read_hf_json.h"
#include "builder/files/read_spm.h"
#include "builder/write_image.h"
#include "image/format.h"

namespace rankfeed::builder {
namespace {

// The mode to compile for, after checking that options do not ask for another format's.
uint32_t ParityOf(SourceFormat format, const std::string& name,
                  const rankfeed_compile_options* options) {
  const bool json = format == SourceFormat::kHuggingFace;
  const uint32_t own = json ? RANKFEED_PARITY_HUGGINGFACE : RANKFEED_PARITY_SENTENCEPIECE;
  const int32_t asked = options == nullptr ? RANKFEED_PARITY_AUTO : options->parity;
  if (asked == RANKFEED_PARITY_AUTO || asked == static_cast<int32_t>(own)) return own;
  if (asked < 0 || rankfeed_parity_name(static_cast<uint32_t>(asked)) == nullptr) {
    throw BuildError(RANKFEED_E_ARGUMENT, "parity ", asked, " is not known");
  }
  if (!json && asked != RANKFEED_PARITY_HUGGINGFACE) return static_cast<uint32_t>(asked);
  throw BuildError(
      RANKFEED_E_PARITY,
      json ? name +
                 ": a tokenizer.json can only be compiled for HuggingFace parity: it holds the "
                 "HuggingFace pipeline and float64 scores. For SentencePiece parity compile the "
                 "model's .model file (sentencepiece.bpe.model, spiece.model, spm.model)"
           : name +
                 ": a SentencePiece .model can only be compiled for SentencePiece parity: it does "
                 "not say which normalizers, pre-tokenizers and added tokens HuggingFace runs. "
                 "For HuggingFace parity compile the model's tokenizer.json");
}

}  // namespace

SourceFormat DetectFormat(std::string_view source, std::string_view name) {
  if (source.substr(0, sizeof image::kMagic) ==
      std::string_view(image::kMagic, sizeof image::kMagic)) {
    return SourceFormat::kImage;
  }
  // First bytes of a .model: the fields 1 to 5 of sentencepiece_model.proto's ModelProto, each a message.
  constexpr std::string_view kModelTags = "\n\x12\x1a\"*";
  if (name.ends_with(".json") && !source.empty() && kModelTags.find(source[0]) == kModelTags.npos) return SourceFormat::kHuggingFace;
  // A .model begins with the byte 0x0a, which is JSON white space too; two structural characters
  // in a row tell them apart.
  if (source.substr(0, 3) == "\xef\xbb\xbf") source.remove_prefix(3);
  const auto next = [&] {
    const size_t at = source.find_first_not_of(" \t\r\n");
    if (at == std::string_view::npos) return '\0';
    const char c = source[at];
    source.remove_prefix(at + 1);
    return c;
  };
  if (next() != '{') return SourceFormat::kSentencePiece;
  const char second = next();
  return second == '"' || second == '}' || second == '\0' ? SourceFormat::kHuggingFace
                                                          : SourceFormat::kSentencePiece;
}

ImageBytes Compile(std::string_view source, const std::string& name,
                   const rankfeed_compile_options* options, const FileChanges& changes) {
  if (const char* what = OtherKind(source))
    throw BuildError(RANKFEED_E_PARSE, name, ": is ", what);
  const std::string preset =
      options != nullptr && options->preset != nullptr ? options->preset : "";
  const SourceFormat format = DetectFormat(source, name);
  if (format == SourceFormat::kImage) {
    throw BuildError(RANKFEED_E_ARGUMENT, name, ": is a compiled image already");
  }
  const uint32_t parity = ParityOf(format, name, options);
  ModelSpec spec = format == SourceFormat::kHuggingFace ? ReadHuggingFace(source, name, changes)
                                                        : ReadSentencePiece(source, name, parity);
  ApplyPreset(preset, &spec);
  const ConfigHash hash = HashConfig(source, parity, preset + spec.changes);
  return WriteImage(std::move(spec), hash, name);
}

}  // namespace rankfeed::builder
