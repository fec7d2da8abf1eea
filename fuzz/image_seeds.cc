// SPDX-License-Identifier: MIT
// fuzz/image_seeds.cc: see image_seeds.h. Vocabularies are small, so that trying an image costs little; those of
// the fast road have at least the tables that it reads by code point.
#include "image_seeds.h"

#include <cstring>

#include "builder/byte_level.h"
#include "builder/hf_file.h"
#include "builder/normalizers.h"
#include "engine.h"

namespace rankfeed::fuzz {
namespace {

using builder_test::Added;
using builder_test::HfFile;
using image::Header;
using image::Section;

// Moves the sections apart. The checksum is repaired by whoever changes an image.
Bytes Spread(const uint8_t* image) {
  Header header;
  std::memcpy(&header, image, sizeof(header));
  std::vector<Section> table(header.section_count);
  std::memcpy(table.data(), image + sizeof(header), table.size() * sizeof(Section));
  const auto align = [](size_t at) {
    return (at + image::kSectionAlignment - 1) / image::kSectionAlignment * image::kSectionAlignment;
  };
  Bytes out(sizeof(header) + table.size() * sizeof(Section));
  for (Section& section : table) {
    const size_t at = align(out.size()) + kGap;
    out.resize(at + section.size);
    std::memcpy(out.data() + at, image + section.offset, section.size);
    section.offset = at;
  }
  out.resize(align(out.size()) + kGap);
  header.image_size = out.size();
  std::memcpy(out.data(), &header, sizeof(header));
  std::memcpy(out.data() + sizeof(header), table.data(), table.size() * sizeof(Section));
  return out;
}

Bytes Image(const std::string& source) {
  rankfeed_image image{};
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  if (rankfeed_compile(source.data(), source.size(), "seed", nullptr, &image, &error) != RANKFEED_OK) {
    FUZZ_FAIL(std::string("a seed is refused: ") + error.message);
  }
  Bytes bytes = Spread(static_cast<const uint8_t*>(image.data));
  rankfeed_image_free(&image);
  return bytes;
}

// model_type of trainer_spec.
constexpr int kSpBpe = 2;

// charsmap: for both normalizers; bytes: with a piece for each byte.
std::string SentencePiece(bool bytes, bool symbols, bool charsmap, std::optional<int> type = {}) {
  sp_test::ModelProto model;
  model.model_type = type;
  model.AddSpecials();
  if (bytes) model.AddBytes();
  float score = 0;  // BPE merges those of the greatest first
  for (const char* piece : {"\u2581", "a", "aa", "e", "l", "o", "h", "w", "r", "d", "he", "hel", "lo", "\u2581h", "wo", "wor", "\u2581wor"}) {
    model.Add(piece, score -= 1);
  }
  if (symbols) {
    model.Add("\u2581hello", -1, sp_test::kUserDefined);
    model.Add("\u4e2d\u56fd", -1, sp_test::kUserDefined);
  }
  if (charsmap) {
    model.normalizer.charsmap = sp_test::MakeCharsmap({{"A", "a"}, {"e\u0301", "\u00e9"}, {"\t", " "}, {"\x01", ""}});
    model.denormalizer.emplace();
    model.denormalizer->charsmap = sp_test::MakeCharsmap({{"a", "A"}, {" h", "H"}});
  }
  return sp_test::Serialize(model);
}

// A tokenizer.json with added tokens of both kinds. special, other: their ids, of the pieces "</s>" and "wor".
HfFile Frame(int special, int other) {
  HfFile file;
  file.added_tokens = "[" + Added(special, "</s>") + "," + Added(other, "wor", "10110") + "]";
  const std::string id = std::to_string(special);
  file.post_processor =
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"</s>","type_id":1}}],"special_tokens":{"</s>":{"id":"</s>","ids":[)" +
      id + R"(],"tokens":["</s>"]}}})";
  return file;
}

std::string Metaspace(const char* scheme, const char* split) {
  return std::string(R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":")") + scheme +
         R"(","split":)" + split + "}";
}

std::vector<Bytes> Unigram() {
  std::vector<Bytes> images = {Image(SentencePiece(false, false, false)), Image(SentencePiece(true, false, false)),
                               Image(SentencePiece(false, true, true)), Image(SentencePiece(true, true, false))};
  const auto add = [&](const std::string& normalizer, const std::string& pre_tokenizer, const std::string& decoder) {
    HfFile file = Frame(1, 2);
    file.normalizer = normalizer;
    file.pre_tokenizer = pre_tokenizer;
    file.decoder = decoder;
    file.model =
        R"({"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0.0],["</s>",0.0],["\u2581",-2.0],["\u2581hello",-3.0],["\u2581world",-3.5],["a",-4.0],["aa",-5.0],["e",-4.5],["l",-4.5],["o",-4.5],["h",-5.5],["<0xC4>",-6.0]]})";
    images.push_back(Image(file.Text()));
  };
  add("null", R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)" + Metaspace("always", "true") + "]}",
      Metaspace("always", "true"));
  add(R"({"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]})",
      Metaspace("first", "false"), "null");
  add(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"Prepend","prepend":"\u2581"},{"type":"Replace","pattern":{"String":"``"},"content":"\""}]})",
      R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Isolated"},{"type":"Digits","individual_digits":true},{"type":"Split","pattern":{"String":"lo"},"behavior":"MergedWithNext","invert":false}]})",
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})");
  std::string every = R"({"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[]})";
  for (const auto& [json, steps] : builder_test::Normalizers()) every += ',' + json;
  add(every + "]}", "null", "null");
  return images;
}

std::vector<Bytes> WordPiece() {
  std::vector<Bytes> images;
  const auto add = [&](const char* normalizer, const char* pre_tokenizer, const char* more) {
    HfFile file = Frame(1, 7);
    file.normalizer = normalizer;
    file.pre_tokenizer = pre_tokenizer;
    file.decoder = R"({"type":"WordPiece","prefix":"##","cleanup":true})";
    file.model =
        std::string(R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":12,"vocab":{"[UNK]":0,"</s>":1,"a":2,"##a":3,"h":4,"##e":5,"##ll":6,"wor":7,"##o":8,"\u4e2d":9,"!":10,"he":11)") +
        more + "}}";
    images.push_back(Image(file.Text()));
  };
  constexpr const char* kBert = R"({"type":"BertPreTokenizer"})";
  add("null", kBert, "");
  add(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})", kBert, "");
  add("null", R"({"type":"Whitespace"})", R"(,"\u00e9":12)");
  add(R"({"type":"Replace","pattern":{"String":"A"},"content":"aa"})", "null", "");
  return images;
}

// spaces: with added tokens that are runs of two and more of them.
std::string ByteLevel(const std::string& normalizer, const std::string& pre_tokenizer, bool spaces,
                      const char* members) {
  HfFile file = Frame(260, 261);
  if (spaces) {
    file.added_tokens = "[" + Added(260, "</s>");
    std::string run = " ";
    for (int id = 262; id < 262 + 29; ++id) file.added_tokens += "," + Added(id, run += ' ', "00010");
    file.added_tokens += "]";
  }
  file.normalizer = normalizer;
  file.pre_tokenizer = pre_tokenizer;
  file.decoder = builder_test::ByteLevelSplit();
  // One Chinese character merges whole, of another two bytes of three do.
  file.model = builder_test::ByteLevelModel(
      ",\"he\":256,\"ll\":257,\"hell\":258,\"\u0120h\":259,\"</s>\":260,\"wor\":261" + std::string(spaces ? "" : ",\"\u00e4\u00b8\":262,\"\u00e4\u00b8\u0143\":263,\"\u00e5\u013d\":264"),
      "\"h e\",\"l l\",\"he ll\",\"\u0120 h\"" + std::string(spaces ? "" : ",\"\u00e4 \u00b8\",\"\u00e4\u00b8 \u0143\",\"\u00e5 \u013d\""), members);
  return file.Text();
}

// A BPE of characters. bytes: with a piece for each byte, and byte_fallback.
std::string Characters(const char* normalizer, bool bytes, const char* members) {
  HfFile file = Frame(1, 2);
  file.normalizer = normalizer;
  file.decoder =
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})";
  std::string vocab = R"("<unk>":0,"</s>":1,"wor":2,"\u2581":3,"a":4,"h":5,"e":6,"l":7,"o":8,"he":9,"ll":10,"hell":11,"<":12,"/":13,"s":14,">":15,"</":16,"s>":17)";
  for (int byte = 0; bytes && byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    vocab += std::string(",\"") + name + "\":" + std::to_string(18 + byte);
  }
  file.model = std::string(R"({"type":"BPE","unk_token":"<unk>",)") + members + R"("byte_fallback":)" +
               (bytes ? "true" : "false") + R"(,"vocab":{)" + vocab +
               R"(},"merges":["h e","l l","he ll","< /","s >","</ s>"]})";
  return file.Text();
}

std::vector<Bytes> Bpe() {
  const std::string split = builder_test::ByteLevelSplit(), whole = builder_test::ByteLevelSplit("false");
  const std::string qwen =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},)" +
      whole + "]}";
  constexpr const char* kNfc = R"({"type":"NFC"})";
  constexpr const char* kMetaspaces =
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},{"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]})";
  return {Image(Characters(kMetaspaces, true, R"("fuse_unk":true,)")),
          Image(Characters("null", true, "")),
          Image(SentencePiece(true, false, false, kSpBpe)),
          Image(SentencePiece(false, true, true, kSpBpe)),
          Image(Characters("null", false, R"("fuse_unk":true,)")),
          Image(ByteLevel("null", whole, false, "")),
          Image(ByteLevel("null", split, false, R"("ignore_merges":true,)")),
          Image(ByteLevel(kNfc, qwen, false, "")),
          Image(ByteLevel("null", split, true, ""))};
}

}  // namespace

const std::vector<Bytes>& ImageSeeds(image::ModelKind kind) {
  static std::vector<Bytes> images[3];
  std::vector<Bytes>& of = images[static_cast<size_t>(kind)];
  if (of.empty()) {
    of = kind == image::ModelKind::kUnigram ? Unigram() : kind == image::ModelKind::kWordPiece ? WordPiece() : Bpe();
  }
  return of;
}

}  // namespace rankfeed::fuzz
