// SPDX-License-Identifier: MIT
// bench/corpus.cc: see corpus.h.
#include "corpus.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace rankfeed::bench {
namespace {

// Objects with "text"; "kind" tells questions from passages where it is there.
void ReadLines(const std::string& path, Corpus* corpus) {
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  if (parser.load_many(path).get(lines)) return;
  for (const auto line : lines) {
    std::string_view kind = "passage", text;
    if (line["text"].get(text)) continue;
    if (line["kind"].get(kind)) kind = "passage";
    (kind == "passage" ? corpus->passages : corpus->questions).emplace_back(text);
  }
}

Corpus LoadStream(const char* name, const char* variable) {
  Corpus corpus;
  corpus.name = name;
  const char* path = std::getenv(variable);
  if (path == nullptr || *path == '\0') return corpus;
  ReadLines(path, &corpus);
  for (const std::string& text : corpus.passages) corpus.passage_bytes += text.size();
  return corpus;
}

}  // namespace

std::string SharedFile(const std::string& name) {
  const char* folder = std::getenv("RANKFEED_SHARED_DATA");
  return std::string(folder != nullptr ? folder : RANKFEED_SHARED_DATA_DEFAULT) + "/" + name;
}

Corpus LoadXquad(const std::string& language) {
  Corpus corpus;
  corpus.name = "xquad-" + language;
  if (language == "all") {
    std::vector<Corpus> parts;
    for (const char* part : {"ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"}) {
      parts.push_back(LoadXquad(part));
    }
    const auto interleave = [&](auto member) {
      std::vector<std::string> texts;
      for (size_t i = 0;; ++i) {
        bool any = false;
        for (const Corpus& part : parts) {
          if (i < (part.*member).size()) {
            texts.push_back((part.*member)[i]);
            any = true;
          }
        }
        if (!any) return texts;
      }
    };
    corpus.passages = interleave(&Corpus::passages);
    corpus.questions = interleave(&Corpus::questions);
  } else {
    ReadLines(SharedFile("xquad/" + language + ".jsonl"), &corpus);
  }
  for (const std::string& passage : corpus.passages) corpus.passage_bytes += passage.size();
  return corpus;
}

Corpus LoadCode() {
  constexpr size_t kBytes = 2000;
  Corpus corpus;
  corpus.name = "code";
  std::vector<std::filesystem::path> files;
  for (const char* const folder : {"src", "include", "python", "scripts", "docs"}) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(RANKFEED_SOURCE_DIR) / folder, ignored)) {
      const std::string kind = entry.path().extension().string();
      for (const char* const wanted : {".cc", ".h", ".hpp", ".py", ".sh", ".md"}) {
        if (kind == wanted) files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream in(path);
    std::string text;
    for (std::string line; std::getline(in, line);) {
      text += line + "\n";
      if (text.size() < kBytes && in.peek() != std::ifstream::traits_type::eof()) continue;
      corpus.passage_bytes += text.size();
      corpus.passages.push_back(std::move(text));
      text.clear();
    }
  }
  return corpus;
}

Corpus LoadOdd() {
  Corpus corpus = LoadXquad("en");
  corpus.name = "odd";
  constexpr size_t kEvery = 1000;
  static const char* const kOdd[] = {"\xff", "\xe2\x96\x81", "</s>"};
  size_t left = kEvery, next = 0;
  corpus.passage_bytes = 0;
  for (std::string& text : corpus.passages) {
    size_t at = 0;
    for (; text.size() - at > left; left = kEvery) {
      at += left;
      while (at > 1 && text[at - 1] != ' ') --at;  // in front of a word
      text.insert(at, kOdd[next++ % std::size(kOdd)]);
    }
    left -= text.size() - at;
    corpus.passage_bytes += text.size();
  }
  return corpus;
}

Corpus LoadManyLanguages() { return LoadStream("many-languages", "RANKFEED_MANY_LANGUAGES"); }

Corpus LoadEnglish() { return LoadStream("english", "RANKFEED_ENGLISH"); }

}  // namespace rankfeed::bench
