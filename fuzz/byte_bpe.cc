// SPDX-License-Identifier: MIT
// fuzz/byte_bpe.cc: byte-level BPE over letters of one to four bytes, between some of which words are cut. Merges
// reach the drawn pieces or not, by way of any bytes, and ignore_merges is drawn too. Ids and offsets of both roads
// are those of plain code, split by split; also without offsets, and of a text in pieces. An execution is one text.
#include "engine.h"
#include "input.h"
#include "support/byte_bpe.h"
#include "target.h"

namespace rankfeed::fuzz {
namespace {

using test::ByteBpe;

const std::string kLetters[] = {"a", "é", "д", "α", "β", "ก", "ข", "中", "国", "人", "ア", "한", "𠀀", "𐐨"};

std::string DrawWord(Input& in, const std::vector<std::string>& letters, size_t most) {
  std::string word;
  for (size_t n = 1 + in.Below(most); n > 0; --n) word += letters[in.Below(letters.size())];
  return word;
}

Tokens Expected(const plain::HfBpe& plain, const std::vector<std::string>& splits) {
  Tokens all;
  uint32_t at = 0;
  for (const std::string& split : splits) {
    for (const plain::HfToken& token : ByteBpe::Encode(plain, split)) {
      all.ids.push_back(static_cast<int32_t>(token.id));
      all.begin.push_back(at + token.begin);
      all.end.push_back(at + token.end);
    }
    at += static_cast<uint32_t>(split.size());
  }
  return all;
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  std::vector<std::string> letters;
  for (size_t n = 2 + in.Below(5); n > 0; --n) letters.push_back(in.Pick(kLetters));
  ByteBpe vocabulary(in.OneIn(2));
  for (size_t n = in.Below(24); n > 0; --n) {
    const std::string piece = (in.OneIn(4) ? " " : "") + DrawWord(in, letters, 4);
    if (in.OneIn(2)) {
      vocabulary.Add(piece);
    } else {
      vocabulary.Make(piece, [&](const std::string& part) { return 1 + in.Below(part.size() - 1); });
    }
  }
  rankfeed_builder_error error;
  const std::unique_ptr<OpenModel> model = Compile(vocabulary.File(), &error);
  if (model == nullptr) FUZZ_FAIL(std::string(error.message) + "\n" + vocabulary.File());
  ++counters.accepted;
  constexpr uint32_t kMaxText = 1 << 16;
  Encoder general(model->get(), kMaxText, true, 0), placed(model->get(), kMaxText, true, 4096),
      fast(model->get(), kMaxText, false, 4096);
  general.LeaveFastRoad();
  FUZZ_ASSERT(placed.get()->has_fast_road());
  const plain::HfBpe plain = vocabulary.Plain();
  while (!in.empty()) {
    std::vector<std::string> splits = {DrawWord(in, letters, 6)};
    for (size_t n = in.Below(in.OneIn(8) ? 200 : 6); n > 0; --n) {
      splits.push_back(" " + DrawWord(in, letters, in.OneIn(16) ? 40 : 6));
    }
    std::string text;
    for (const std::string& split : splits) text += split;
    const ExactText exact(text);
    const Tokens expected = Expected(plain, splits);
    const Tokens ids = {RANKFEED_OK, expected.ids, {}, {}};
    for (const Tokens& got : {general.Encode(exact.view()), placed.Encode(exact.view())}) {
      if (got == expected) continue;
      FUZZ_FAIL("text " + Escape(text) + "\n  plain code  " + Show(expected) + "\n  engine      " + Show(got) + "\n" +
                vocabulary.File());
    }
    FUZZ_ASSERT(fast.Encode(exact.view()) == ids);
    const std::optional<Tokens> pieces = fast.EncodeInPieces(exact.view());
    FUZZ_ASSERT(!pieces || *pieces == ids);
    ++counters.executions;
  }
}

void Generate(Random& random, Bytes* input) { *input = RandomBytes(random, 40 + random.Below(3000)); }

const Register registered({"byte_bpe", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
