// SPDX-License-Identifier: MIT
// measure/foreign_engine.h: a tokenizer in another process, by the adapter protocol (docs/audit.md):
// the adapter writes one line that says what it is, then answers every line of texts with a line of
// ids. It times itself, so that pipe and JSON are not counted.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>

#include "measure/engine.h"

namespace rankfeed::measure {

class ForeignEngine final : public Engine {
 public:
  // command is run by /bin/sh. Throws std::runtime_error when it does not answer with a valid
  // greeting within timeout_s.
  explicit ForeignEngine(const std::string& command, int timeout_s = 120);
  ~ForeignEngine() override;
  const EngineInfo& info() const override { return info_; }
  void Encode(std::span<const std::string_view> texts, EncodedTexts* out) override;

 private:
  std::string ReadLine();
  [[noreturn]] void Fail(const std::string& what) const;

  struct Parser;
  std::string command_;
  int timeout_s_;
  EngineInfo info_;
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace rankfeed::measure
