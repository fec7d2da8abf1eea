// SPDX-License-Identifier: MIT
// fuzz/encode_parity_hf.cc: ids of HuggingFace parity, with offsets (plain path) and without (word
// path), equal the plain reference of tests/reference, which tests/oracle/pin_reference.py compares
// with the wheel. Vocabulary and whole pipeline come from the input; the real XLM-RoBERTa file takes
// part where the folder of real inputs is there. Special tokens as tokens, as text, and forbidden.
// An execution is one text.
#include "engine.h"
#include "reference/hf_pipeline.h"
#include "support/stress.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

constexpr uint32_t kMaxText = 32 << 10;

class Pair {
 public:
  explicit Pair(const std::string& source) {
    rankfeed_builder_error error;
    model_ = Compile(source, &error);
    if (model_ == nullptr) {
      // An engine may refuse by name; a good file is never a broken one to it.
      if (error.code != RANKFEED_E_UNSUPPORTED && error.code != RANKFEED_E_LIMIT) {
        FUZZ_FAIL(std::string(error.message) + "\n" + source);
      }
      return;
    }
    reference_ = std::make_unique<reference::HfPipeline>(source);
    plain_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 0);
    fast_ = std::make_unique<Encoder>(model_->get(), kMaxText, false, 4096);
    source_ = source;
  }
  bool usable() const { return model_ != nullptr; }

  void Check(std::string_view text, bool split_special) {
    const ExactText exact(text);
    const auto reference = reference_->Encode(text, split_special);
    std::vector<int32_t> expected;
    if (reference) expected.assign(reference->begin(), reference->end());
    const rankfeed_status status = reference ? RANKFEED_OK : RANKFEED_E_UNK_ID;
    const uint32_t flags = split_special ? uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS} : 0;
    const Tokens plain = plain_->Encode(exact.view(), flags),
                 fast = fast_->Encode(exact.view(), flags);
    bool good = plain.status == status && fast.status == status && plain.ids == expected &&
                fast.ids == expected;
    for (size_t i = 0; i < plain.begin.size(); ++i) {
      good = good && plain.begin[i] <= plain.end[i] && plain.end[i] <= text.size();
    }
    if (!good) {
      Tokens wanted{status, expected, {}, {}};
      FUZZ_FAIL("text " + Escape(text) + (split_special ? " (special tokens split)" : "") +
                "\n  reference        " + Show(wanted) + "\n  engine           " + Show(plain) +
                "\n  without offsets  " + Show(fast) + "\n" + source_);
    }
    ++counters.executions;
  }

 private:
  std::unique_ptr<reference::HfPipeline> reference_;
  std::unique_ptr<OpenModel> model_;
  std::unique_ptr<Encoder> plain_, fast_;
  std::string source_;
};

Pair* RealPair() {
  static const std::unique_ptr<Pair> pair = [] {
    const std::string source = RealFile("xlmr.tokenizer.json");
    return source.empty() ? nullptr : std::make_unique<Pair>(source);
  }();
  return pair.get();
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  if (in.OneIn(256) && RealPair() != nullptr) {
    test::StressTexts texts(in.U32(), {}, /*valid_only=*/true);
    for (size_t n = 1 + in.Below(256); n > 0; --n) {
      const std::string text = texts.Next();
      if (text.size() <= 256) RealPair()->Check(text, false);
    }
    return;
  }
  const HfVocabulary vocabulary = DrawHfVocabulary(in);
  Pair pair(DrawTokenizerJson(in, vocabulary));
  if (!pair.usable()) return;
  ++counters.accepted;
  std::vector<std::string> fragments = vocabulary.letters;
  fragments.insert(fragments.end(), {" ", " ", "</s>", "<s>", "<mask>", "ab"});
  for (const auto& [piece, score] : vocabulary.pieces) {
    if (fragments.size() == 64) break;
    fragments.push_back(piece);
  }
  const Texts texts(fragments, true);
  std::string text;
  while (!in.empty()) {
    texts.Next(in, &text);
    pair.Check(text, in.OneIn(4));
  }
}

void Generate(Random& random, Bytes* input) {
  const size_t size = 400 + (random.OneIn(4) ? random.Below(512) : random.Below(48 << 10));
  while (input->size() < size) {
    for (uint64_t word = random.Next(), i = 0; i < 8; ++i) {
      input->push_back(static_cast<uint8_t>(word >> (8 * i)));
    }
  }
}

const Register registered({"encode_parity_hf", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
