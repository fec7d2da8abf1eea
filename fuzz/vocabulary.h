// SPDX-License-Identifier: MIT
// fuzz/vocabulary.h: vocabularies, pipelines and texts out of input bytes.
//
// Letters are few and pieces short, so that pieces overlap and nest and most texts are full of
// choices; scores are drawn so that sums tie exactly, tie but for rounding, or differ.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input.h"
#include "reference/sp_model_proto.h"

namespace rankfeed::fuzz {

// Letters of a vocabulary, with those that mean something to normalizers and segmentation.
std::vector<std::string> DrawLetters(Input& in);

// Rules of a charsmap, keys without NUL.
std::map<std::string, std::string> DrawRules(Input& in);

// A SentencePiece model that libsentencepiece loads.
sp_test::ModelProto DrawSpModel(Input& in);
// Makes it a model that mostly takes the fast road: U+2581 in front of pieces alone, scores below 0.
void FitFastRoad(sp_test::ModelProto* model);

// A tokenizer.json: vocabulary and whole pipeline.
struct HfVocabulary {
  std::vector<std::pair<std::string, double>> pieces;
  std::vector<std::string> letters;
};
HfVocabulary DrawHfVocabulary(Input& in);
std::string DrawTokenizerJson(Input& in, const HfVocabulary& vocabulary);
// The same with a WordPiece model, half of whose pieces go on in a word.
std::string DrawWordPieceJson(Input& in, const HfVocabulary& vocabulary);
// The same with a BPE model of characters, whose merges are splits of pieces in any order, some twice.
std::string DrawBpeJson(Input& in, const HfVocabulary& vocabulary);

std::string JsonString(std::string_view text);  // text is valid UTF-8

// Texts over letters and pieces, with stress fragments and broken bytes among them; valid_only
// leaves the broken ones out. Usually short: a long text finds no more than many short ones.
class Texts {
 public:
  Texts(std::vector<std::string> fragments, bool valid_only);
  void Next(Input& in, std::string* text) const;

 private:
  std::vector<std::string> fragments_;
  bool valid_only_;
};

// A folder of real inputs, or empty: the environment variable RANKFEED_SHARED_DATA.
std::string RealFile(const std::string& name);

}  // namespace rankfeed::fuzz
