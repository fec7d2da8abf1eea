// SPDX-License-Identifier: MIT
// fuzz/encode_parity_sp.cc: ids and offsets of SentencePiece parity equal libsentencepiece's, for a
// vocabulary out of the input, and for the real XLM-RoBERTa one where the folder of real inputs is
// there. With offsets (plain path) and without them. An execution is one text.
#include <sentencepiece_processor.h>

#include "engine.h"
#include "support/stress.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

using sentencepiece::SentencePieceProcessor;

constexpr uint32_t kMaxText = 32 << 10;

class Pair {
 public:
  // oracle and engine must agree on whether the file is good; an engine that refuses by name what
  // it does not implement is within its promise.
  explicit Pair(const std::string& source) {
    rankfeed_builder_error error;
    model_ = Compile(source, &error);
    const auto loaded = oracle_.LoadFromSerializedProto(source);
    if (!loaded.ok() && model_ != nullptr) FUZZ_FAIL("only the engine takes the file: " + loaded.ToString());
    if (model_ == nullptr || !loaded.ok()) {
      model_.reset();
      return;
    }
    plain_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 0);
    fast_ = std::make_unique<Encoder>(model_->get(), kMaxText, false, 4096);
  }
  bool usable() const { return model_ != nullptr; }

  void Check(std::string_view text) {
    const ExactText exact(text);
    const auto proto = oracle_.EncodeAsImmutableProto({text.data(), text.size()});
    expected_.ids.clear();
    expected_.begin.clear();
    expected_.end.clear();
    for (int i = 0; i < static_cast<int>(proto.pieces_size()); ++i) {
      const auto piece = proto.pieces(i);
      expected_.ids.push_back(static_cast<int32_t>(piece.id()));
      expected_.begin.push_back(piece.begin());
      expected_.end.push_back(piece.end());
    }
    const Tokens plain = plain_->Encode(exact.view()), fast = fast_->Encode(exact.view());
    if (plain != expected_ || fast.status != RANKFEED_OK || fast.ids != expected_.ids) {
      FUZZ_FAIL("text " + Escape(text) + "\n  libsentencepiece " + Show(expected_) +
                "\n  engine           " + Show(plain) + "\n  without offsets  " + Show(fast));
    }
    ++counters.executions;
  }

 private:
  SentencePieceProcessor oracle_;
  std::unique_ptr<OpenModel> model_;
  std::unique_ptr<Encoder> plain_, fast_;
  Tokens expected_;
};

Pair* RealPair() {
  static const std::unique_ptr<Pair> pair = [] {
    const std::string source = RealFile("xlmr.model");
    return source.empty() ? nullptr : std::make_unique<Pair>(source);
  }();
  return pair.get();
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  if (in.OneIn(64) && RealPair() != nullptr) {
    test::StressTexts texts(in.U32(), {});
    for (size_t n = 1 + in.Below(1024); n > 0; --n) {
      const std::string text = texts.Next();
      if (text.size() <= kMaxText) RealPair()->Check(text);
    }
    return;
  }
  const sp_test::ModelProto proto = DrawSpModel(in);
  Pair pair(sp_test::Serialize(proto));
  if (!pair.usable()) return;
  ++counters.accepted;
  std::vector<std::string> fragments;
  for (const auto& piece : proto.pieces) {
    if (piece.kind != sp_test::kByte) fragments.push_back(piece.text);
    if (fragments.size() == 64) break;
  }
  const Texts texts(fragments, false);
  std::string text;
  while (!in.empty()) {
    texts.Next(in, &text);
    pair.Check(text);
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 400 + (random.OneIn(4) ? random.Below(512) : random.Below(24 << 10)));
}

const Register registered({"encode_parity_sp", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
