// SPDX-License-Identifier: MIT
// fuzz/encode_parity_hf.cc: ids of HuggingFace parity, with offsets (general path) and without (word
// path), equal the plain reference of tests/reference, whose model and normalizers
// tests/oracle/pin_reference.py compares with the wheel. Vocabulary, kind of model and whole pipeline come from the input; the real XLM-RoBERTa file takes
// part where the folder of real inputs is there. Special tokens as tokens, split as the reference
// library can, escaped, and forbidden. An execution is one text.
#include "engine.h"
#include "plain/hf_pipeline.h"
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
    reference_ = std::make_unique<plain::HfPipeline>(source);
    escaped_ = std::make_unique<plain::HfPipeline>(source, /*without_specials=*/true);
    plain_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 0);
    plain_->LeaveFastRoad();
    placed_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 4096);
    fast_ = std::make_unique<Encoder>(model_->get(), kMaxText, false, 4096);
    parts_ = std::make_unique<Encoder>(model_->get(), kMaxText, true, 0);
    if (!parts_->CutEverywhere()) parts_ = nullptr;
    source_ = source;
  }
  bool usable() const { return model_ != nullptr; }

  enum Mode { kParse, kSplit, kEscape };
  void Check(std::string_view text, Mode mode) {
    const ExactText exact(text);
    const auto reference = mode == kEscape ? escaped_->Encode(text, true)
                                           : reference_->Encode(text, mode == kSplit);
    std::vector<int32_t> expected;
    if (reference) expected.assign(reference->begin(), reference->end());
    const rankfeed_status status = reference ? RANKFEED_OK : RANKFEED_E_UNK_ID;
    static constexpr uint32_t kFlags[] = {0, RANKFEED_SPLIT_SPECIAL_TOKENS, RANKFEED_SPECIALS_ESCAPE};
    const uint32_t flags = kFlags[mode];
    const Tokens plain = plain_->Encode(exact.view(), flags),
                 placed = placed_->Encode(exact.view(), flags),
                 fast = fast_->Encode(exact.view(), flags);
    if (placed.status != plain.status || placed.ids != plain.ids || placed.begin != plain.begin ||
        placed.end != plain.end) {
      FUZZ_FAIL("text " + Escape(text) + " mode " + std::to_string(mode) +
                "\n  general path     " + Show(plain) + "\n  fast road        " + Show(placed) +
                "\n" + source_);
    }
    for (const int32_t id : plain.ids) FUZZ_ASSERT(id >= 0);
    CheckParts(exact.view(), flags, plain);
    if (mode == kEscape && !reference) {
      // A model without an unknown id fails on any unknown edge that is the best to its end. The
      // engine escapes only where a special token is on the best path, so it may need none.
      FUZZ_ASSERT(plain.status == fast.status && plain.ids == fast.ids);
      return;
    }
    bool good = plain.status == status && fast.status == status && plain.ids == expected &&
                fast.ids == expected;
    for (size_t i = 0; i < plain.begin.size(); ++i) {
      good = good && plain.begin[i] <= plain.end[i] && plain.end[i] <= text.size();
    }
    if (!good) {
      Tokens wanted{status, expected, {}, {}};
      FUZZ_FAIL("text " + Escape(text) + " mode " + std::to_string(mode) +
                "\n  reference        " + Show(wanted) + "\n  engine           " + Show(plain) +
                "\n  without offsets  " + Show(fast) + "\n" + source_);
    }
    CheckPieces(exact.view(), flags, fast);
    ++counters.executions;
    if (mode == kEscape) CheckError(exact.view(), plain, fast);
  }

 private:
  // In as many parts as there are.
  void CheckParts(std::string_view text, uint32_t flags, const Tokens& plain) {
    if (parts_ == nullptr) return;
    const Tokens parts = parts_->Encode(text, flags);
    if (parts.status == plain.status && parts.ids == plain.ids &&
        parts.begin == plain.begin && parts.end == plain.end) {
      return;
    }
    FUZZ_FAIL("text " + Escape(text) + " flags " + std::to_string(flags) + "\n  general path     " +
              Show(plain) + "\n  in parts         " + Show(parts) + "\n" + source_);
  }

  void CheckPartsFind(std::string_view text, rankfeed_status found,
                        const rankfeed_special_match& match) {
    if (parts_ == nullptr) return;
    rankfeed_special_match other{};
    other.struct_size = sizeof(other);
    const rankfeed_status status =
        rankfeed_find_special(parts_->get(), {text.data(), text.size()}, &other);
    FUZZ_ASSERT(status == found && other.id == match.id && other.byte_begin == match.byte_begin &&
                other.byte_end == match.byte_end);
  }

  void CheckPieces(std::string_view text, uint32_t flags, const Tokens& whole) {
    const std::optional<Tokens> pieces = fast_->EncodeInPieces(text, flags);
    if (!pieces || *pieces == whole) return;
    FUZZ_FAIL("text " + Escape(text) + " flags " + std::to_string(flags) + "\n  at once          " +
              Show(whole) + "\n  in pieces        " + Show(*pieces) + "\n" + source_);
  }

  // What is not refused is what escaping gives; what is refused has a place.
  void CheckError(std::string_view text, const Tokens& escaped, const Tokens& fast_escaped) {
    const Tokens plain = plain_->Encode(text, RANKFEED_SPECIALS_ERROR),
                 fast = fast_->Encode(text, RANKFEED_SPECIALS_ERROR);
    rankfeed_special_match match{};
    match.struct_size = sizeof(match);
    const rankfeed_status found =
        rankfeed_find_special(plain_->get(), {text.data(), text.size()}, &match);
    FUZZ_ASSERT(plain.status == fast.status);
    CheckParts(text, RANKFEED_SPECIALS_ERROR, plain);
    CheckPartsFind(text, found, match);
    CheckPieces(text, RANKFEED_SPECIALS_ERROR, fast);
    if (plain.status == RANKFEED_E_SPECIAL_IN_TEXT) {
      FUZZ_ASSERT(found == RANKFEED_OK);
      FUZZ_ASSERT(match.byte_begin <= match.byte_end && match.byte_end <= text.size());
    } else if (plain.status == RANKFEED_OK) {
      FUZZ_ASSERT(found == RANKFEED_E_NOT_FOUND);
      FUZZ_ASSERT(plain == escaped && fast == fast_escaped);
    }
  }

  std::unique_ptr<plain::HfPipeline> reference_, escaped_;
  std::unique_ptr<OpenModel> model_;
  std::unique_ptr<Encoder> plain_, fast_, placed_, parts_;
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
      if (text.size() <= 256) RealPair()->Check(text, static_cast<Pair::Mode>(text.size() % 3));
    }
    return;
  }
  const HfVocabulary vocabulary = DrawHfVocabulary(in);
  const bool wordpiece = in.OneIn(3), bpe = !wordpiece && in.OneIn(3);
  Pair pair(wordpiece ? DrawWordPieceJson(in, vocabulary)
            : bpe     ? DrawBpeJson(in, vocabulary)
                      : DrawTokenizerJson(in, vocabulary));
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
    const size_t mode = in.Below(6);
    // Escaping undoes the merges that end as a special token, which the reference has no way to say.
    pair.Check(text, mode == 4 ? Pair::kSplit : mode == 5 && !bpe ? Pair::kEscape : Pair::kParse);
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 400 + (random.OneIn(4) ? random.Below(512) : random.Below(48 << 10)));
}

const Register registered({"encode_parity_hf", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
