// SPDX-License-Identifier: MIT
// serve/folder/pieces.cc: the pieces of a vocabulary against those of a model's folder. See pairing.h.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "folder/document.h"
#include "serve/folder/pairing.h"

namespace rankfeed::folder {
namespace {

namespace fs = std::filesystem;
using simdjson::SUCCESS;
using simdjson::dom::element;

// White space at the end of a line of vocab.txt is no part of the piece, and may be any of Unicode.
bool IsTrimmed(std::string_view piece, std::string_view line) {
  return line.starts_with(piece) && std::none_of(line.begin() + static_cast<ptrdiff_t>(piece.size()), line.end(),
                                                 [](char c) { return c > ' ' && c < 0x7f; });
}

// Compares one piece after the other and keeps the first one that differs.
class Comparison {
 public:
  explicit Comparison(const rankfeed_model* vocabulary) : vocabulary_(vocabulary) {}

  // The vocabulary's piece of the id; empty where it has none.
  std::string_view Has(uint64_t id) const {
    const char* data = nullptr;
    size_t size = 0;
    if (id > UINT32_MAX || rankfeed_model_id_to_piece(vocabulary_, static_cast<uint32_t>(id), &data, &size) != RANKFEED_OK)
      return {};
    return {data, size};
  }

  // An id without a piece is passed over: CheckPairing compares how many ids there are.
  void Take(std::string_view piece, uint64_t id) {
    const std::string_view has = Has(id);
    if (has.empty() || has == piece || !different_.empty()) return;
    different_ = fmt::format("the id {} is \"{}\" in the vocabulary and \"{}\" beside the model", id, has, piece);
  }

  // model.vocab of a tokenizer.json, or a vocab.json: each piece with its id, or pairs whose places are the ids.
  void TakeAll(const element& vocab) {
    simdjson::dom::object members;
    simdjson::dom::array pairs;
    std::string_view piece;
    uint64_t id = 0;
    if (vocab.get(members) == SUCCESS) {
      for (const auto& [name, value] : members) {
        if (value.get(id) == SUCCESS) Take(name, id);
      }
    } else if (vocab.get(pairs) == SUCCESS) {
      for (const element pair : pairs) {
        if (pair.at(0).get(piece) == SUCCESS) Take(piece, id);
        ++id;
      }
    }
  }

  void TakeTokenizer(const element& file) {
    element vocab;
    simdjson::dom::array added;
    if (file["model"]["vocab"].get(vocab) == SUCCESS) TakeAll(vocab);
    if (file["added_tokens"].get(added) != SUCCESS) return;
    for (const element token : added) {
      std::string_view piece;
      uint64_t id = 0;
      // A token that the model knows as a piece keeps that piece's id, whatever the file says here.
      if (token["content"].get(piece) == SUCCESS && token["id"].get(id) == SUCCESS &&
          rankfeed_model_piece_to_id(vocabulary_, piece.data(), piece.size()) < 0)
        Take(piece, id);
    }
  }

  void TakeLines(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file && errno == ENOMEM) throw std::bad_alloc();
    std::string line;
    for (uint64_t id = 0; std::getline(file, line); ++id) {
      if (!IsTrimmed(Has(id), line)) Take(line, id);
    }
  }

  const std::string& different() const { return different_; }

 private:
  const rankfeed_model* const vocabulary_;
  std::string different_;  // empty: nothing is
};

}  // namespace

std::string DifferentPiece(const rankfeed_model* vocabulary, const std::string& model) {
  const fs::path folder = FolderOf(model);
  Comparison out(vocabulary);
  std::error_code ignored;
  if (!fs::is_regular_file(folder / "tokenizer.json", ignored) && fs::is_regular_file(folder / "vocab.txt", ignored)) {
    out.TakeLines((folder / "vocab.txt").string());
    return out.different();
  }
  simdjson::dom::parser parser;
  element root;
  if (WithMemory(parser.load((folder / "tokenizer.json").string()).get(root)) == SUCCESS) {
    out.TakeTokenizer(root);
  } else if (WithMemory(parser.load((folder / "vocab.json").string()).get(root)) == SUCCESS) {
    out.TakeAll(root);
  }
  return out.different();
}

}  // namespace rankfeed::folder
