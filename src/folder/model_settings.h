// SPDX-License-Identifier: MIT
// folder/model_settings.h: what the files of a cross-encoder's folder say of its texts, its rows and its scores, as
// CrossEncoder of sentence-transformers 6.2 and AutoTokenizer of transformers 5 read them. The one reading for the command
// line, the service, C and Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankfeed::folder {

struct Prompt {
  std::string name, text;
};

struct ModelSettings {
  bool has_config = false;          // there is a config.json
  std::vector<std::string> labels;  // by number; empty where none are named
  bool multi_label = false;         // problem_type: labels exclude nothing
  // The function that makes the score of one label's logit, as sentence-transformers names its class, and the file that says
  // so; empty: none does, and it is the sigmoid.
  std::string activation, activation_file;
  std::vector<Prompt> prompts;
  std::optional<size_t> default_prompt;  // a number of prompts
  std::optional<uint32_t> max_length;    // tokens of a row; unset where nothing says, or says "no limit"
  bool lower_case = false;               // texts are put in lower case first
  bool split_special_tokens = false;     // texts spell no special tokens
  std::string refusal;                   // why scores would be others than the author's; empty: they are not
  std::string note;                      // for the user; empty: nothing

  // RANKFEED_SCORE_RAW or RANKFEED_SCORE_SIGMOID for the logit of one label; unset for another function.
  std::optional<uint32_t> Activation() const;
  // The text that stands before every query: that of the default prompt, or empty.
  std::string_view prompt() const { return default_prompt ? std::string_view(prompts[*default_prompt].text) : std::string_view(); }
  // Null where there is no prompt of that name.
  const Prompt* FindPrompt(std::string_view name) const;
};

// Throws BuildError: IO; PARSE for files that are no JSON or have values of other types; UNSUPPORTED for a key of
// tokenizer_config.json that is refused (keys.h). O(bytes of the files).
ModelSettings ReadModelSettings(const std::string& folder);

}  // namespace rankfeed::folder
