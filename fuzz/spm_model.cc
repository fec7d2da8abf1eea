// SPDX-License-Identifier: MIT
// fuzz/spm_model.cc: hostile SentencePiece .model files (the property is in model_file.h). Generated
// ones are damaged good files, and well-formed ones that say what no trainer would: scores that are
// no numbers, empty and very long pieces, duplicates, several unknown pieces, broken charsmaps. An
// execution is one file.
#include <cmath>
#include <limits>

#include "model_file.h"
#include "support/hostile_files.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

void Run(std::span<const uint8_t> file) {
  if (!file.empty() && file[0] == '{') return;  // hf_json's business
  TryModelFile(file);
}

// One hostile fact, which the builder must see.
void Poison(Random& random, sp_test::ModelProto* model) {
  auto& pieces = model->pieces;
  sp_test::PieceProto& piece = pieces[random.Below(pieces.size())];
  switch (random.Below(12)) {
    case 0:
      piece.score = std::numeric_limits<float>::quiet_NaN();
      break;
    case 1:
      piece.score = random.OneIn(2) ? INFINITY : -INFINITY;
      break;
    case 2:
      piece.score = random.OneIn(2) ? 3.4e38f : 1e-45f;
      break;
    case 3:
      piece.text.clear();
      break;
    case 4:
      piece.text = std::string(1 + random.Below(3000), 'a');
      break;
    case 5:
      piece.text = pieces[random.Below(pieces.size())].text;
      break;
    case 6:
      piece.text += random.OneIn(2) ? std::string(1, '\0') : "\xff\xfe";
      break;
    case 7:
      piece.kind = static_cast<sp_test::PieceKind>(random.Below(9));
      break;
    case 8:
      model->model_type = static_cast<int>(random.Below(6));
      break;
    case 9:
      model->byte_fallback = true;
      break;
    case 10: {
      Bytes charsmap = ToBytes(model->normalizer.charsmap);
      Mutate(random, &charsmap);
      model->normalizer.charsmap.assign(charsmap.begin(), charsmap.end());
      break;
    }
    default:
      model->unk_surface = std::string("x\0y", 3);
      break;
  }
}

void Generate(Random& random, Bytes* input) {
  static Pool good, poisoned;
  // Small: most have 100 to 400 bytes. Byte pieces (4 KB) and charsmaps (1 KB and more) are rarer
  // than in the models that the parity targets draw.
  const auto make = [&](bool poison) {
    const Bytes bytes = RandomBytes(random, 24 + random.Below(72));
    Input in(bytes);
    sp_test::ModelProto model = DrawSpModel(in);
    if (model.byte_fallback && !random.OneIn(8)) {
      std::erase_if(model.pieces, [](const auto& piece) { return piece.kind == sp_test::kByte; });
      model.byte_fallback = false;
    }
    if (model.normalizer.charsmap.size() > 8192 || !random.OneIn(4)) {
      model.normalizer.charsmap.clear();
    }
    if (poison) Poison(random, &model);
    return ToBytes(sp_test::Serialize(model));
  };
  if (random.OneIn(2048)) {  // as dear as its size can be
    const auto& files = test::HostileModels();
    *input = ToBytes(files[random.Below(files.size())].make(1 + random.Below(100'000)));
    return;
  }
  if (random.OneIn(512)) {  // as it is: many of these are accepted, which takes as long as fifty that are not
    *input = make(random.OneIn(2));
    if (random.OneIn(2)) return;
  } else {
    *input = random.OneIn(2) ? good.Pick(random, [&] { return make(false); })
                             : poisoned.Pick(random, [&] { return make(true); });
  }
  // Damage to the structure comes first in a file; later damage may only change a piece.
  Mutate(random, input);
  // Tags and lengths of the first pieces: 0a LL 0a LL.
  for (size_t n = random.OneIn(128) ? 0 : 1 + random.Below(2); n > 0 && !input->empty(); --n) {
    size_t at = random.Below(std::min<size_t>(input->size(), 200));
    while (at > 0 && (*input)[at] >= 0x20) --at;
    (*input)[at] ^= static_cast<uint8_t>(1 + random.Below(255));
  }
}

const Register registered({"spm_model", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
