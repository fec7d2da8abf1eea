// SPDX-License-Identifier: MIT
// fuzz/roundtrip.cc: ids back to text.
//   SentencePiece  decode equals libsentencepiece's, of encoded texts and of ids nobody encoded
//   HuggingFace    where the pipeline loses nothing (no normalizer, every byte a piece), decode of
//                  encode is the text, with the ByteFallback decoder and, for texts without its
//                  symbol at the front, with the Metaspace decoder; ids nobody encoded do no harm
// An execution is one list of ids.
#include <sentencepiece_processor.h>

#include "engine.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

constexpr uint32_t kMaxText = 8 << 10;

std::vector<int32_t> DrawIds(Input& in, uint32_t id_count) {
  std::vector<int32_t> ids;
  for (size_t n = in.Below(16); n > 0; --n) {
    ids.push_back(in.OneIn(64) ? static_cast<int32_t>(in.U32())
                               : static_cast<int32_t>(in.Below(std::min<size_t>(id_count, 256))));
  }
  return ids;
}

uint32_t IdCount(const rankfeed_model* model) {
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  FUZZ_ASSERT(rankfeed_model_get_info(model, &info) == RANKFEED_OK);
  return info.id_count;
}

void SentencePiece(Input& in) {
  const sp_test::ModelProto proto = DrawSpModel(in);
  const std::string source = sp_test::Serialize(proto);
  rankfeed_builder_error error;
  // The rule of the linked library.
  const auto model = Compile(source, &error, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  sentencepiece::SentencePieceProcessor oracle;
  if (model == nullptr || !oracle.LoadFromSerializedProto(source).ok()) return;
  ++counters.accepted;
  Encoder encoder(model->get(), kMaxText, false, 0);
  std::vector<std::string> fragments;
  for (const auto& piece : proto.pieces) fragments.push_back(piece.text);
  const Texts texts(fragments, false);
  std::string text, decoded, expected;
  while (!in.empty()) {
    std::vector<int32_t> ids;
    if (in.OneIn(2)) {
      texts.Next(in, &text);
      ids = encoder.Encode(text).ids;
    } else {
      ids = DrawIds(in, IdCount(model->get()));
    }
    ++counters.executions;
    const bool good = oracle.Decode(std::vector<int>(ids.begin(), ids.end()), &expected).ok();
    const rankfeed_status status = encoder.Decode(ids, 0, &decoded);
    if (status == RANKFEED_E_LIMIT) continue;  // a denormalizer's output beyond the scratch
    if (status != (good ? RANKFEED_OK : RANKFEED_E_ID_RANGE) || (good && decoded != expected)) {
      std::string shown;
      for (const int32_t id : ids) shown += " " + std::to_string(id);
      FUZZ_FAIL("ids" + shown + "\n  libsentencepiece " + Escape(expected) +
                "\n  engine           " + Escape(decoded) + " " + rankfeed_status_name(status));
    }
  }
}

std::string LosslessJson(Input& in, bool metaspace, std::vector<std::string>* fragments) {
  HfVocabulary vocabulary = DrawHfVocabulary(in);
  std::string vocab;
  const auto add = [&](std::string_view piece, double score) {
    char number[40];
    std::snprintf(number, sizeof(number), "%.17g", score);
    vocab += (vocab.empty() ? "[" : ",[") + JsonString(piece) + "," + number + "]";
  };
  for (const auto& [piece, score] : vocabulary.pieces) {
    if (piece.size() == 6 && piece.starts_with("<0x")) continue;
    add(piece, score);
    fragments->push_back(piece);
  }
  for (unsigned b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", b);
    add(name, -20);
  }
  const std::string meta =
      R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true})";
  const std::string bytes = R"({"type":"Sequence","decoders":[{"type":"ByteFallback"},)";
  return R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":)" + (metaspace ? meta : "null") +
         R"(,"decoder":)" + bytes + (metaspace ? meta : R"({"type":"Fuse"})") +
         R"(]},"model":{"type":"Unigram","unk_id":null,"byte_fallback":true,"vocab":[)" + vocab + "]}}";
}

void HuggingFace(Input& in) {
  const bool metaspace = in.OneIn(2);
  std::vector<std::string> fragments;
  rankfeed_builder_error error;
  const auto model = Compile(LosslessJson(in, metaspace, &fragments), &error);
  if (model == nullptr) return;
  ++counters.accepted;
  Encoder encoder(model->get(), kMaxText, false, 4096);
  const Texts texts(fragments, true);
  std::string text, decoded;
  while (!in.empty()) {
    ++counters.executions;
    if (in.OneIn(4)) {
      const auto ids = DrawIds(in, IdCount(model->get()));
      FUZZ_ASSERT(encoder.Decode(ids, 0, &decoded) == RANKFEED_OK);
      continue;
    }
    texts.Next(in, &text);
    if (metaspace && text.find("\u2581") != text.npos) continue;  // reads back as a space
    // With a byte piece spelled in the text the decoder cannot tell it from the byte.
    if (text.find("<0x") != text.npos) continue;
    const Tokens tokens = encoder.Encode(text);
    if (tokens.status == RANKFEED_E_UNK_ID) continue;  // an unknown edge was best somewhere
    FUZZ_ASSERT(tokens.status == RANKFEED_OK);
    FUZZ_ASSERT(encoder.Decode(tokens.ids, 0, &decoded) == RANKFEED_OK);
    // Metaspace puts no symbol before a text that begins with a space; decoding takes that off.
    const std::string_view expected = metaspace && text.starts_with(' ')
                                          ? std::string_view(text).substr(1)
                                          : std::string_view(text);
    if (decoded != expected) {
      FUZZ_FAIL("text " + Escape(text) + "\n  decoded " + Escape(decoded) + "\n  tokens " +
                Show(tokens));
    }
  }
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  if (in.OneIn(2)) {
    HuggingFace(in);
  } else {
    SentencePiece(in);
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 400 + random.Below(16 << 10));
}

const Register registered({"roundtrip", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
