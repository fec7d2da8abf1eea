// SPDX-License-Identifier: MIT
// cli/text_source.h: the texts of a file or of standard input, one after the other.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace rankfeed::cli {

// Two formats. Lines: every line is a text, without its '\n' and nothing else removed; a last line
// without '\n' counts. JSONL: every line is an object whose string field `text` is the text (and
// whose `id`, if present, names it).
class TextSource {
 public:
  enum class Format { kByName, kLines, kJsonl };  // kByName: JSONL if the path ends in .jsonl

  // path "-" or "" is standard input. Throws Failure with path and reason.
  TextSource(const std::string& path, Format format);
  ~TextSource();

  // The next text; false at the end. Throws Failure with path and line number on bad JSON, and on a
  // line without `text`, unless may_lack_text says that its `id` is enough; has_text() then tells.
  bool Next(std::string* text, std::string* id = nullptr, bool may_lack_text = false);
  bool has_text() const { return has_text_; }

  uint64_t line() const { return line_; }

 private:
  void CheckKind();
  bool NextLine();
  void ShowProgress();

  struct JsonParser;
  std::string path_;
  std::FILE* file_ = nullptr;
  bool jsonl_ = false, has_text_ = true;
  std::unique_ptr<JsonParser> json_;
  char* buffer_ = nullptr;  // getline's
  size_t buffer_size_ = 0, line_size_ = 0;
  uint64_t line_ = 0, bytes_ = 0;
  uint64_t progress_total_ = 0, progress_next_ = 0;  // 0: no progress bar
};

}  // namespace rankfeed::cli
