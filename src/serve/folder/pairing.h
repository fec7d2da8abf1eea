// SPDX-License-Identifier: MIT
// serve/folder/pairing.h: what a model's folder says to those who make its rows and read its logits, and
// whether a vocabulary and a model belong together. One place for all families of models.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "folder/model_settings.h"
#include "rankfeed/crossencoder.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.h"
#include "serve/folder/two_types.h"

namespace rankfeed::folder {

// Facts of the files of a model's folder, and of rankfeed.json, which may stand beside them:
//   {"token_type_ids": {"query": 0, "document": 1}}
// says which types a model was trained with, where they are not those of the vocabulary's template.
struct ModelFacts {
  std::optional<int64_t> bos, eos, cls, sep;           // ids of special tokens
  ModelSettings settings;                              // labels, what makes scores, prompts
  std::string LabelName(uint32_t number) const;        // as transformers names one without a name
  std::optional<std::pair<uint32_t, uint32_t>> types;  // of query and document
  std::optional<int64_t> type_rows;                    // type_vocab_size
  bool without_types = false;  // model_input_names has no token_type_ids: all types are 0
};

// The folder of a model that is given by a file in it; a path where nothing lies as it is.
std::string FolderOf(const std::string& path);

// A sentence about the first id to which a tokenizer.json, vocab.txt or vocab.json in the model's folder
// gives another piece than the vocabulary does; empty where there is none, or no such file. Pieces alone are
// compared, so that an image or a .model with the same ones is taken. O(size of the file).
std::string DifferentPiece(const rankfeed_model* vocabulary, const std::string& model);

// A sentence about the first rule of normalization (lower case, accents, Chinese characters, prefix space) that the
// files of the model's folder state and the vocabulary does otherwise; empty where there is none. The tokenizer.json
// says them, or else what is named in tokenizer_config.json; the vocabulary is asked with texts, as an image has no
// names for what it does. Errors: IO, PARSE; NO_MEMORY. O(size of the file).
Result<std::string> DifferentNormalization(const rankfeed_model* vocabulary, const std::string& model);

// Way from a row's logits to its score. kShare: the sigmoid of one label, the share of one of several
// (softmax), or its sigmoid where they exclude nothing. kFolder: as sentence-transformers' CrossEncoder
// does with the folder, which may say that a single logit stays as it is. kRaw: the logit.
enum class ScoreBy { kRaw, kFolder, kShare };

// How rows of a vocabulary are made for a model, and how scores are made of its logits.
struct Pairing {
  ModelFacts facts;
  uint32_t labels = 1, label = 0;       // how many there are, and the one whose logit ranks
  bool with_types = false;              // rows have a tensor of token types; else all are 0
  std::unique_ptr<TwoTypes> two_types;  // facts.types; null: they are those of the vocabulary's template

  // The token types of rows; the options point into this then.
  void SetTypes(rankfeed_rerank_options* options) const;
  // RANKFEED_SCORE_*. UNSUPPORTED, with kFolder only, for a function that there is not.
  Result<uint32_t> Activation(ScoreBy by) const;
  rankfeed_score_options Score(uint32_t activation) const;
};

// Reads the folder of the model, which is given by it or by a file in it. label: its name or number; empty
// where there is only one. names: of the vocabulary, for messages, and the path of the model. An error
// names what disagrees: numbers of ids, ids of special tokens, token types, pieces, normalization; or the labels there
// are, for several and none given, or for one that is not there.
Result<Pairing> Pair(const rankfeed_model* vocabulary, const rankfeed_crossencoder_info& model,
                     const std::pair<std::string, std::string>& names, const std::string& label);

const char* ActivationName(uint32_t activation);

// An error, with the name of the model, for logits of which one is infinite or not a number.
Error CheckLogits(const float* logits, size_t count, const std::string& model);

}  // namespace rankfeed::folder
