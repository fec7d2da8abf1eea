// SPDX-License-Identifier: MIT
// bench/newest.h: the newest SentencePiece, which scripts/bench-sentencepiece.sh builds, beside Debian's 0.1.97, which is
// linked. It is loaded at run time, and finds its own libraries before those of the program: libsentencepiece brings a Protobuf
// of its own. Both allocate with the mimalloc of the program.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "measure.h"
#include "sentencepiece/c_interface.h"

namespace rankfeed::bench {

class NewestSentencePiece {
 public:
  // Null where the library has not been built; RANKFEED_SENTENCEPIECE names one elsewhere.
  static std::unique_ptr<NewestSentencePiece> Load(const std::string& model) {
    const char* const named = std::getenv("RANKFEED_SENTENCEPIECE");
    void* const library = dlopen(named != nullptr ? named : RANKFEED_SENTENCEPIECE_DEFAULT, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == nullptr) {
      if (named != nullptr) Die(std::string("RANKFEED_SENTENCEPIECE: ") + dlerror());
      return nullptr;
    }
    std::unique_ptr<NewestSentencePiece> made(new NewestSentencePiece(library));
    made->processor_ = made->Symbol<decltype(&bench_sentencepiece_load)>("bench_sentencepiece_load")(model.c_str());
    if (made->processor_ == nullptr) Die("the newest SentencePiece does not load " + model);
    return made;
  }
  static constexpr const char* kNotBuilt = "scripts/bench-sentencepiece.sh has not been run";

  const std::string& version() const { return version_; }
  size_t Encode(const std::string& text, int32_t* ids, size_t capacity) const {
    const size_t count = encode_(processor_, text.data(), text.size(), ids, capacity);
    if (count == SIZE_MAX) Die("the newest SentencePiece failed");
    return count;
  }

 private:
  explicit NewestSentencePiece(void* library) : library_(library) {
    version_ = Symbol<decltype(&bench_sentencepiece_version)>("bench_sentencepiece_version")();
    encode_ = Symbol<decltype(&bench_sentencepiece_encode)>("bench_sentencepiece_encode");
  }
  template <typename Function>
  Function Symbol(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) Die(dlerror());
    return reinterpret_cast<Function>(found);
  }

  void* library_;
  void* processor_ = nullptr;
  std::string version_;
  decltype(&bench_sentencepiece_encode) encode_ = nullptr;
};

}  // namespace rankfeed::bench
