// SPDX-License-Identifier: MIT
#include "builder/compile.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "builder/presets.h"
#include "builder/read_hf_json.h"
#include "builder/read_spm.h"
#include "builder/write_image.h"
#include "image/format.h"
#include "image/model.h"
#include "pipeline/encoder.h"
#include "text/normalize.h"

namespace rankfeed::builder {
namespace {

// Reference of a format, after checking that options do not ask for the other.
uint32_t ParityOf(SourceFormat format, const std::string& name,
                  const rankfeed_compile_options* options) {
  const bool json = format == SourceFormat::kHuggingFace;
  const uint32_t own = json ? RANKFEED_PARITY_HUGGINGFACE : RANKFEED_PARITY_SENTENCEPIECE;
  const int32_t asked = options == nullptr ? RANKFEED_PARITY_AUTO : options->parity;
  if (asked == RANKFEED_PARITY_AUTO || asked == static_cast<int32_t>(own)) return own;
  if (asked != RANKFEED_PARITY_HUGGINGFACE && asked != RANKFEED_PARITY_SENTENCEPIECE) {
    throw BuildError(RANKFEED_E_ARGUMENT, 0, "parity " + std::to_string(asked) + " is not known");
  }
  throw BuildError(
      RANKFEED_E_PARITY, 0,
      json ? name +
                 ": a tokenizer.json can only be compiled for HuggingFace parity: it holds the "
                 "HuggingFace pipeline and float64 scores. For SentencePiece parity compile the "
                 "model's .model file (sentencepiece.bpe.model, spiece.model, spm.model)"
           : name +
                 ": a SentencePiece .model can only be compiled for SentencePiece parity: it does "
                 "not say which normalizers, pre-tokenizers and added tokens HuggingFace runs. "
                 "For HuggingFace parity compile the model's tokenizer.json");
}

// An image opened from bytes in place of a file.
class OpenImage {
 public:
  explicit OpenImage(const std::vector<unsigned char>& bytes)
      : image_(Allocate(image::kSectionAlignment, bytes.size())),
        storage_(Allocate(rankfeed_model_mem_req().alignment, rankfeed_model_mem_req().size)) {
    std::memcpy(image_.get(), bytes.data(), bytes.size());
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof detail;
    const rankfeed_status status =
        rankfeed_model_open(image_.get(), bytes.size(), 0, storage_.get(),
                            rankfeed_model_mem_req().size, &model_, &detail);
    if (status == RANKFEED_OK) return;
    throw BuildError(status, detail.byte_offset,
                     "the compiled image does not pass verification (section " +
                         std::to_string(detail.section) + ", item " + std::to_string(detail.item) +
                         ")");
  }
  const Model& model() const { return *model_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  using Memory = std::unique_ptr<void, Free>;

  static Memory Allocate(size_t alignment, size_t size) {
    Memory memory(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }

  Memory image_, storage_;
  rankfeed_model* model_ = nullptr;
};

// text run through the model's normalizer.
std::string Normalize(const Model& model, std::string_view text) {
  uint32_t capacity = 0;
  if (!NormalizedBound(model, text.size(), &capacity)) {
    throw BuildError(RANKFEED_E_LIMIT, 0, "an added token is too long to normalize");
  }
  std::vector<char> bytes[2];
  std::vector<uint32_t> work[3];
  text::Buffers buffers;
  for (int i = 0; i < 2; ++i) {
    bytes[i].resize(capacity);
    buffers.text[i].data = bytes[i].data();
    buffers.text[i].capacity = capacity;
  }
  for (int i = 0; i < 3; ++i) {
    work[i].resize(capacity);
    buffers.work[i] = work[i].data();
  }
  if (!text::Load(text, 0, static_cast<uint32_t>(text.size()), &buffers) ||
      text::RunNormalizer(model, &buffers) != RANKFEED_OK) {
    throw BuildError(RANKFEED_E_LIMIT, 0, "an added token is too long to normalize");
  }
  return std::string(buffers.in().view());
}

bool AnyNormalized(const ModelSpec& spec) {
  for (const AddedTokenSpec& token : spec.added_tokens) {
    if ((token.flags & image::kNormalized) != 0 && !spec.normalizer.empty()) return true;
  }
  return false;
}

}  // namespace

SourceFormat DetectFormat(std::string_view source) {
  if (source.substr(0, sizeof image::kMagic) ==
      std::string_view(image::kMagic, sizeof image::kMagic)) {
    return SourceFormat::kImage;
  }
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

std::vector<unsigned char> Compile(std::string_view source, const std::string& name,
                                   const rankfeed_compile_options* options) {
  const SourceFormat format = DetectFormat(source);
  if (format == SourceFormat::kImage) {
    throw BuildError(RANKFEED_E_ARGUMENT, 0, name + ": is a compiled image already");
  }
  const uint32_t parity = ParityOf(format, name, options);
  const std::string preset =
      options != nullptr && options->preset != nullptr ? options->preset : "";
  ModelSpec spec = format == SourceFormat::kHuggingFace ? ReadHuggingFace(source, name)
                                                        : ReadSentencePiece(source, name);
  ApplyPreset(preset, &spec);
  const ConfigHash hash = HashConfig(source, parity, preset);
  std::vector<unsigned char> bytes = WriteImage(spec, hash, {});
  if (!AnyNormalized(spec)) return bytes;
  // Tokens that are looked for in normalized text are normalized themselves, by the normalizer the
  // encoder will run: that of a first image.
  const OpenImage first(bytes);
  std::vector<std::string> normalized;
  for (const AddedTokenSpec& token : spec.added_tokens) {
    const bool wanted = (token.flags & image::kNormalized) != 0;
    normalized.push_back(wanted ? Normalize(first.model(), token.content) : std::string());
  }
  return WriteImage(spec, hash, normalized);
}

}  // namespace rankfeed::builder
