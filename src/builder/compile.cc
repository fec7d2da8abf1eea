// SPDX-License-Identifier: MIT
#include "builder/compile.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/aligned_memory.h"
#include "base/other_kind.h"
#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "builder/files/presets.h"
#include "builder/files/read_hf_json.h"
#include "builder/files/read_spm.h"
#include "builder/write_image.h"
#include "image/format.h"
#include "image/model.h"
#include "normalize/normalize.h"

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
    throw BuildError(RANKFEED_E_ARGUMENT, 0, "parity " + std::to_string(asked) + " is not known");
  }
  if (!json && asked != RANKFEED_PARITY_HUGGINGFACE) return static_cast<uint32_t>(asked);
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

// An image opened from bytes in place of a file; they have to outlive it.
class OpenImage {
 public:
  explicit OpenImage(const ImageBytes& bytes)
      : storage_(Allocate(rankfeed_model_mem_req().alignment, rankfeed_model_mem_req().size)) {
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof detail;
    const rankfeed_status status =
        rankfeed_model_open(bytes.data(), bytes.size(), 0, storage_.get(),
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
    void operator()(void* p) const { AlignedFree(p); }
  };
  using Memory = std::unique_ptr<void, Free>;

  static Memory Allocate(size_t alignment, size_t size) {
    Memory memory(AlignedAlloc(alignment, (size + alignment - 1) / alignment * alignment));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }

  Memory storage_;
  rankfeed_model* model_ = nullptr;
};

// Runs the normalizer of a model over added tokens, one step at a time: what the steps read and
// write is counted.
class TokenNormalizer {
 public:
  explicit TokenNormalizer(const Model& model) {
    for (size_t i = 0; i < model.normalizer.size(); ++i) {
      steps_.push_back(model);
      steps_.back().normalizer = model.normalizer.subspan(i, 1);
    }
    for (int i = 0; i < 2; ++i) {
      bytes_[i].resize(kCapacity);
      buffers_.text[i].data = bytes_[i].data();
      buffers_.text[i].capacity = kCapacity;
    }
    for (int i = 0; i < 3; ++i) {
      work_[i].resize(kCapacity);
      buffers_.work[i] = work_[i].data();
    }
  }

  // id: of the token, for messages.
  std::string Normalize(uint32_t id, std::string_view text) {
    if (!normalize::Load(text, 0, static_cast<uint32_t>(text.size()), &buffers_)) TooLong(id);
    for (const Model& step : steps_) {
      done_ += buffers_.in().size;
      if (normalize::RunNormalizer(step, &buffers_) != RANKFEED_OK) TooLong(id);
      done_ += buffers_.in().size;
      if (done_ > kMaxAddedTokenWork) {
        throw BuildError(RANKFEED_E_LIMIT, 0,
                         Name(id) + " makes it more than " + std::to_string(kMaxAddedTokenWork) +
                             " bytes that the normalizer reads and writes for added tokens; that "
                             "is the limit");
      }
    }
    return std::string(buffers_.in().view());
  }

 private:
  static constexpr uint32_t kCapacity = kMaxStringBytes;

  static std::string Name(uint32_t id) { return "the added token of id " + std::to_string(id); }
  [[noreturn]] static void TooLong(uint32_t id) {
    throw BuildError(RANKFEED_E_LIMIT, 0,
                     Name(id) + " is longer than " + std::to_string(kCapacity) +
                         " bytes when it is normalized; that is the limit of an added token");
  }

  std::vector<Model> steps_;  // the model with one step each
  std::vector<char> bytes_[2];
  std::vector<uint32_t> work_[3];
  normalize::Buffers buffers_;
  uint64_t done_ = 0;
};

// Refuses a token that the normalizer makes nothing of. tokenizers looks for the empty text then: it finds
// the token between all characters, and panics on some texts.
[[noreturn]] void RefuseNothing(const std::string& source, const AddedTokenSpec& token) {
  std::string characters;  // by their numbers, because most of them cannot be seen
  uint32_t cp;
  for (size_t at = 0; NextCodePoint(token.content, &at, &cp);) {
    char number[16];
    std::snprintf(number, sizeof number, "%sU+%04X", characters.empty() ? "" : " ", cp);
    characters += number;
  }
  throw BuildError(RANKFEED_E_UNSUPPORTED, 0,
                   source + ": the added token of id " + std::to_string(token.id) + " (" + characters +
                       ") is looked for in normalized text, and normalizes to nothing; with "
                       "\"normalized\": false it is looked for as it is written");
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

ImageBytes Compile(std::string_view source, const std::string& name,
                   const rankfeed_compile_options* options, const FileChanges& changes) {
  if (const char* what = OtherKind(source))
    throw BuildError(RANKFEED_E_PARSE, 0, name + ": is " + what);
  const std::string preset =
      options != nullptr && options->preset != nullptr ? options->preset : "";
  const SourceFormat format = DetectFormat(source);
  if (format == SourceFormat::kImage) {
    throw BuildError(RANKFEED_E_ARGUMENT, 0, name + ": is a compiled image already");
  }
  const uint32_t parity = ParityOf(format, name, options);
  ModelSpec spec = format == SourceFormat::kHuggingFace ? ReadHuggingFace(source, name, changes)
                                                        : ReadSentencePiece(source, name, parity);
  ApplyPreset(preset, &spec);
  const ConfigHash hash = HashConfig(source, parity, preset + spec.changes);
  if (!AnyNormalized(spec)) return WriteImage(std::move(spec), hash, {});
  // Tokens that are looked for in normalized text are normalized themselves, by the normalizer the
  // encoder will run: that of a first image.
  std::vector<std::string> normalized;
  {
    const ImageBytes bytes = WriteImage(spec, hash, {});
    const OpenImage first(bytes);
    TokenNormalizer normalizer(first.model());
    for (const AddedTokenSpec& token : spec.added_tokens) {
      const bool wanted = (token.flags & image::kNormalized) != 0;
      normalized.push_back(wanted ? normalizer.Normalize(token.id, token.content) : std::string());
      if (wanted && normalized.back().empty()) RefuseNothing(name, token);
    }
  }
  return WriteImage(std::move(spec), hash, normalized);
}

}  // namespace rankfeed::builder
