// SPDX-License-Identifier: MIT
// fuzz/encode_parity_sp.cc: ids and offsets of SentencePiece parity equal libsentencepiece's
// (0.1.97, the rule up to 0.2.1), for a vocabulary out of the input, and for the real XLM-RoBERTa
// one where the folder of real inputs is there; and those of the newest rule equal a plain
// reference's. On the general path, and on the fast road with offsets and without them. An execution
// is one text through one rule.
#include <sentencepiece_processor.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine.h"
#include "plain/sp_from_proto.h"
#include "support/stress.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

using sentencepiece::SentencePieceProcessor;

constexpr uint32_t kMaxText = 32 << 10;

// The engine's two roads over one vocabulary.
class Paths {
 public:
  Paths(const std::string& source, int32_t parity) {
    rankfeed_builder_error error;
    model_ = Compile(source, &error, parity);
    if (model_ == nullptr) return;
    plain_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 0);
    plain_->LeaveFastRoad();
    offsets_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 4096);
    fast_ = std::make_unique<Encoder>(model_->get(), kMaxText, false, 4096);
    parts_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 0);
    if (!parts_->CutEverywhere()) parts_ = nullptr;
  }
  bool usable() const { return model_ != nullptr; }

  void Check(std::string_view text, const Tokens& expected, const char* reference) {
    const ExactText exact(text);
    const Tokens plain = plain_->Encode(exact.view()), fast = fast_->Encode(exact.view());
    const Tokens offsets = offsets_->Encode(exact.view());
    if (plain != expected || offsets != expected || fast.status != RANKFEED_OK ||
        fast.ids != expected.ids) {
      FUZZ_FAIL("text " + Escape(text) + "\n  " + reference + " " + Show(expected) +
                "\n  general path     " + Show(plain) + "\n  fast road        " + Show(offsets) +
                "\n  without offsets  " + Show(fast));
    }
    if (parts_ != nullptr) {
      const Tokens parts = parts_->Encode(exact.view());
      if (parts != expected) {
        FUZZ_FAIL("text " + Escape(text) + "\n  " + reference + " " + Show(expected) +
                  "\n  in parts         " + Show(parts));
      }
    }
    const std::optional<Tokens> pieces = fast_->EncodeInPieces(exact.view());
    if (pieces && *pieces != fast) {
      FUZZ_FAIL("text " + Escape(text) + "\n  at once          " + Show(fast) +
                "\n  in pieces        " + Show(*pieces));
    }
    ++counters.executions;
  }

 private:
  std::unique_ptr<OpenModel> model_;
  std::unique_ptr<Encoder> plain_, offsets_, fast_, parts_;
};

class LibraryPair {
 public:
  // oracle and engine must agree on whether the file is good; an engine that refuses by name what
  // it does not implement is within its promise.
  explicit LibraryPair(const std::string& source)
      : engine_(source, RANKFEED_PARITY_SENTENCEPIECE_0_2_1) {
    const auto loaded = oracle_.LoadFromSerializedProto(source);
    usable_ = engine_.usable() && loaded.ok();
    if (engine_.usable() && !loaded.ok()) {
      FUZZ_FAIL("only the engine takes the file: " + loaded.ToString());
    }
  }
  bool usable() const { return usable_; }

  void Check(std::string_view text) {
    const auto proto = oracle_.EncodeAsImmutableProto({text.data(), text.size()});
    Tokens expected;
    for (int i = 0; i < static_cast<int>(proto.pieces_size()); ++i) {
      const auto piece = proto.pieces(i);
      expected.ids.push_back(static_cast<int32_t>(piece.id()));
      expected.begin.push_back(piece.begin());
      expected.end.push_back(piece.end());
    }
    engine_.Check(text, expected, "libsentencepiece");
  }

 private:
  SentencePieceProcessor oracle_;
  Paths engine_;
  bool usable_;
};

class NewestPair {
 public:
  NewestPair(const sp_test::ModelProto& proto, const std::string& source)
      : plain_(plain::FromProto(proto, plain::SpRelease::k0_2_2)),
        engine_(source, RANKFEED_PARITY_SENTENCEPIECE) {}
  bool usable() const { return engine_.usable(); }

  void Check(std::string_view text) {
    Tokens expected;
    for (const plain::SpToken& token : plain_.Encode(text)) {
      expected.ids.push_back(static_cast<int32_t>(token.id));
      expected.begin.push_back(token.begin);
      expected.end.push_back(token.end);
    }
    engine_.Check(text, expected, "plain reference ");
  }

 private:
  plain::SpUnigram plain_;
  Paths engine_;
};

LibraryPair* RealPair() {
  static const std::unique_ptr<LibraryPair> pair = [] {
    const std::string source = RealFile("xlmr.model");
    return source.empty() ? nullptr : std::make_unique<LibraryPair>(source);
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
  sp_test::ModelProto proto = DrawSpModel(in);
  // Scores so great that texts of these sizes pass the threshold of the newest rule.
  if (in.OneIn(3)) {
    const float scale = std::ldexp(1.0f, static_cast<int>(4 + in.Below(12)));
    for (sp_test::PieceProto& piece : proto.pieces) piece.score *= scale;
  }
  if (in.OneIn(2)) FitFastRoad(&proto);
  const std::string source = sp_test::Serialize(proto);
  LibraryPair pair(source);
  if (!pair.usable()) return;
  NewestPair newest(proto, source);
  FUZZ_ASSERT(newest.usable());
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
    newest.Check(text);
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 400 + (random.OneIn(4) ? random.Below(512) : random.Below(24 << 10)));
}

const Register registered({"encode_parity_sp", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
