// SPDX-License-Identifier: MIT
// serve/folder/pairing.h: what a model's folder says to those who make its rows and read its logits, and
// whether a vocabulary and a model belong together. One place for all families of models.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rankfeed/crossencoder.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.h"

namespace rankfeed::folder {

// Of config.json, tokenizer_config.json, and rankfeed.json, which may stand beside them:
//   {"token_type_ids": {"query": 0, "document": 1}}
// says which types a model was trained with, where they are not those of the vocabulary's template.
struct ModelFacts {
  std::optional<int64_t> bos, eos, cls, sep;           // ids of special tokens
  std::vector<std::string> labels;                     // by number; empty where none are named
  std::string LabelName(uint32_t number) const;        // as transformers names one without a name
  std::optional<std::pair<uint32_t, uint32_t>> types;  // of query and document
  bool without_types = false;  // model_input_names has no token_type_ids: all types are 0
  bool multi_label = false;    // problem_type: a label's score is its sigmoid
  std::string activation;      // sentence-transformers' name of its class; empty: not said
};

// path: the model's folder, or a file in it. Errors: IO, PARSE.
Result<ModelFacts> ReadModelFacts(const std::string& path);

// The folder of a model that is given by a file in it.
std::string FolderOf(const std::string& path);

// A sentence about the first id to which a tokenizer.json, vocab.txt or vocab.json in the model's folder
// gives another piece than the vocabulary does; empty where there is none, or no such file. Pieces alone are
// compared, so that an image or a .model with the same ones is taken. O(size of the file).
std::string DifferentPiece(const rankfeed_model* vocabulary, const std::string& model);

// An error that names what disagrees: numbers of ids, ids of special tokens, token types, pieces. names: of
// the vocabulary, for the message, and the path of the model.
Error CheckPairing(const rankfeed_model* vocabulary, const rankfeed_crossencoder_info& model,
                   const ModelFacts& facts, const std::pair<std::string, std::string>& names);

// The label whose logit ranks: wanted (its name or number), or the only one. An error, with the
// labels there are, for several labels and none wanted, or for one that is not there.
Result<uint32_t> ChooseLabel(const rankfeed_crossencoder_info& model, const ModelFacts& facts,
                             const std::string& wanted, const std::string& name);

// The token types that the rows of a model want.
enum class Types {
  kNone,      // no tensor of them: all are 0
  kTemplate,  // those of the vocabulary's template
  kGiven      // facts.types, by a template of their own (two_types.h)
};
Types TypesOf(const rankfeed_crossencoder_info& model, const ModelFacts& facts);

// RANKFEED_SCORE_*, which makes a score of a row's logits. Of one label its sigmoid, of several the
// share of one of them (softmax), or its sigmoid where they exclude nothing. by_folder: as
// sentence-transformers' CrossEncoder does with the folder, which may say that a single logit stays
// as it is; UNSUPPORTED for a function that is neither. raw: the logit.
enum class ScoreBy { kRaw, kFolder, kShare };
Result<uint32_t> ActivationOf(const ModelFacts& facts, uint32_t labels, ScoreBy by);
const char* ActivationName(uint32_t activation);
rankfeed_score_options ScoreOptions(uint32_t labels, uint32_t label, uint32_t activation);

// An error, with the name of the model, for logits of which one is not a number.
Error CheckLogits(const float* logits, size_t count, const std::string& model);

}  // namespace rankfeed::folder
