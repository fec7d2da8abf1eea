// SPDX-License-Identifier: MIT
// cli/oracle.h: a reference library at the end of a pipe, for `rankfeed parity`.
//
// The program does not link the references: it starts a Python interpreter that has the wheel of one,
// hands it a script of its own (oracle.cc) and exchanges batches of texts for lists of ids.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace rankfeed::cli {

class Oracle {
 public:
  // library: "huggingface" or "sentencepiece"; files: the tokenizer.json, .model or list of pieces it
  // loads, and those beside it that count; preset: of a list of pieces, or empty; special: with the
  // special tokens of the template. Throws Failure when the interpreter or the wheel is missing, or
  // does not take the file.
  Oracle(const std::string& python, const std::string& library, const std::vector<std::string>& files,
         const std::string& preset, bool special);
  ~Oracle();
  Oracle(const Oracle&) = delete;

  // Name and version, "tokenizers 0.23.3".
  const std::string& version() const { return version_; }

  // Ids of each text. A text that the reference has an error for gets one id, kError.
  std::vector<std::vector<int32_t>> Encode(const std::vector<std::string>& texts);
  static constexpr int32_t kError = -1;

 private:
  std::string ReadLine();
  void Read(void* out, size_t size);
  void Write(const void* data, size_t size);
  [[noreturn]] void Ended();

  std::string python_, version_;
  pid_t child_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
};

}  // namespace rankfeed::cli
