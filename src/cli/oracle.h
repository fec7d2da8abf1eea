// SPDX-License-Identifier: MIT
// cli/oracle.h: a reference library at the end of a pipe, for `rankfeed parity`, receipts and audits.
//
// The program does not link the references: it starts a Python interpreter that has the wheel of one,
// hands it a script of its own (oracle.cc) and exchanges batches of texts for lists of ids.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/cli.h"

namespace rankfeed::cli {

// The reference that a user names.
struct ReferenceOptions {
  std::string library;             // "huggingface" or "sentencepiece"
  std::string path;                // file or folder that the vocabulary was compiled from; "": the vocabulary's own path
  std::string python = "python3";  // interpreter that has its wheel
  bool special = false;            // ids with the special tokens of the template
  const char *library_option = "--against", *path_option = "--reference";  // names of the first two, for messages too
  // Adds the options of path and python.
  void Add(CLI::App& command);
};

class Oracle {
 public:
  // Starts the reference on the files that the vocabulary with these facts was made of. Throws Failure when it was made
  // for the other library, or of other files, or for other releases; when files are not named (an image), the
  // interpreter or the wheel is missing, or does not take them.
  Oracle(const ReferenceOptions& options, const VocabOptions& vocab, const rankfeed_model_info& info);
  ~Oracle();
  Oracle(const Oracle&) = delete;

  // Name and version, "tokenizers 0.23.3".
  const std::string& version() const { return version_; }

  // Ids of each text. A text that the reference has an error for gets one id, kError.
  std::vector<std::vector<int32_t>> Encode(const std::vector<std::string>& texts);
  static constexpr int32_t kError = -1;

 private:
  void Start(const ReferenceOptions& o, const std::vector<std::string>& files, const std::string& preset);
  std::string ReadLine();
  void Read(void* out, size_t size);
  void Write(const void* data, size_t size);
  [[noreturn]] void Ended();

  std::string python_, version_;
  pid_t child_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
};

}  // namespace rankfeed::cli
