// SPDX-License-Identifier: MIT
// plain/hf_pipeline.h: a tokenizer.json run as HuggingFace tokenizers 0.23.2 runs it, from text
// to ids, said as plainly as possible: added tokens of the raw text, then for each stretch between
// them normalizer, added tokens of the normalized text, pre-tokenizers, and one model call for each
// split (tokenizer/added_vocabulary.rs, tokenizer/pre_tokenizer.rs, tokenizer/normalizer.rs split,
// pre_tokenizers/*.rs). Strings all the way: offsets are not followed, with one exception.
// Metaspace "first" asks where a split begins in the original text; that is known only while there
// is no normalizer, so such files are refused here.
//
// Reads the file by itself; throws std::runtime_error on what it does not know. Text is valid UTF-8.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plain/hf_unigram.h"

namespace rankfeed::plain {

class HfPipeline {
 public:
  // without_specials: pieces that are special tokens match nothing. With split_special below, that is
  // what RANKFEED_SPECIALS_ESCAPE promises; the reference library has no such mode.
  explicit HfPipeline(std::string_view tokenizer_json, bool without_specials = false);

  // Ids without template. nullopt: an unknown piece, and the model has no unknown id.
  // split_special: special tokens are text (encode_special_tokens).
  std::optional<std::vector<uint32_t>> Encode(std::string_view text, bool split_special) const;

 private:
  struct AddedToken {
    std::string content;
    uint32_t id = 0;
    bool special = false, single_word = false, lstrip = false, rstrip = false, normalized = false;
  };
  // A pattern to find, and the token it stands for.
  using Patterns = std::map<std::string, const AddedToken*, std::less<>>;
  struct Stretch {
    std::string_view text;
    size_t begin;             // in the text that was searched
    const AddedToken* token;  // null: text
  };
  struct Split {
    std::string text;
    size_t begin;  // in the original text, while there is no normalizer
    std::optional<uint32_t> token;
  };
  using PreTokenizer = std::function<void(std::vector<Split>*)>;

  std::vector<Stretch> FindAdded(std::string_view text, const Patterns& patterns,
                                 bool split_special) const;
  std::string Normalize(std::string text) const;

  std::vector<std::unique_ptr<AddedToken>> added_;
  Patterns raw_, normalized_;
  std::vector<std::function<std::string(const std::string&)>> normalizers_;
  std::vector<PreTokenizer> pre_tokenizers_;
  std::function<std::optional<std::vector<HfToken>>(std::string_view)> model_;
};

}  // namespace rankfeed::plain
