// SPDX-License-Identifier: MIT
// tests/support/hostile_files.h: well-formed model files of any size that cost a loader the most it
// can be made to spend, one for each thing that a loader does for an element of its input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "normalize/charsmap_builder.h"
#include "reference/sp_model_proto.h"
#include "support/base64.h"

namespace rankfeed::test {

struct HostileFile {
  const char* name;
  std::function<std::string(size_t)> make;  // of about so many bytes
};

namespace hostile {

inline std::string Repeat(const std::string& unit, size_t size) {
  std::string text;
  text.reserve(size + unit.size());
  while (text.size() < size) text += unit;
  return text;
}

// Units joined with commas; unit(i) is the i-th.
template <class Unit>
std::string List(size_t size, const Unit& unit) {
  std::string text;
  for (size_t i = 0; i == 0 || text.size() < size; ++i) text += (i == 0 ? "" : ",") + unit(i);
  return text;
}

// Numbers that are short and distinct, in the letters of base 64.
inline std::string Name(size_t i) {
  static constexpr char kDigits[] =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  std::string name(1, kDigits[i % 64]);
  for (; i >= 64; i /= 64) name += kDigits[i / 64 % 64];
  return name;
}

struct Json {
  std::string normalizer = "null", pre_tokenizer = "null", decoder = "null",
              post_processor = "null", added = "", vocab = R"(["<unk>",0],["a",-1],["▁",-2])",
              more = "";
  std::string Text() const {
    return R"({"version":"1.0","added_tokens":[)" + added + R"(],"normalizer":)" + normalizer +
           R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"decoder":)" + decoder +
           R"(,"post_processor":)" + post_processor + more +
           R"(,"model":{"type":"Unigram","unk_id":0,"vocab":[)" + vocab + "]}}";
  }
};

inline std::string Normalizers(const std::string& list) {
  return R"({"type":"Sequence","normalizers":[)" + list + "]}";
}

inline std::string Added(const std::string& content, bool normalized) {
  return R"({"id":1,"content":")" + content +
         R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":)" +
         (normalized ? "true" : "false") + R"(,"special":false})";
}

inline std::string Processor(const std::string& single, const std::string& specials) {
  return R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}})" + single +
         R"(],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{)" +
         specials + "}}";
}

// A blob whose few units stand for very many keys: each of depth levels has the same children, one
// for each letter, all of which lead to the next level. With values at the last level. The first
// levels of it may have a single letter.
inline std::string SharedCharsmap(size_t depth, size_t letters, size_t single = 0,
                                  const std::string& replacement = "b") {
  std::vector<uint32_t> units(256 * (depth + 2));
  for (size_t i = 0; i < units.size(); ++i) units[i] = ~i & 0xff;  // the child of no byte
  const auto block = [](size_t level) { return static_cast<uint32_t>(256 * (level + 1)); };
  units[0] = block(0) << 10;
  for (size_t level = 0; level < depth; ++level) {
    for (size_t i = 0; i < (level < single ? 1 : letters); ++i) {
      const auto label = static_cast<uint32_t>('A' + i);
      const uint32_t at = block(level) ^ label;
      const bool last = level + 1 == depth;
      units[at] = (at ^ block(level + 1)) << 10 | (last ? 0x100u : 0u) | label;
    }
  }
  units[block(depth)] = 0x80000000u;
  std::string blob;
  const auto put = [&](uint32_t word) {
    for (int k = 0; k < 4; ++k) blob += static_cast<char>(word >> (8 * k));
  };
  put(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) put(unit);
  return blob + replacement + '\0';
}

inline std::string WithNormalizer(const std::string& list) {
  Json json;
  json.normalizer = Normalizers(list);
  return json.Text();
}

inline std::string WithVocab(size_t size, const std::function<std::string(size_t)>& piece) {
  Json json;
  json.vocab += "," + List(size, [&](size_t i) { return "[\"" + piece(i) + "\",-1]"; });
  return json.Text();
}

// A number from 0 up to below; the same for the same i.
inline uint32_t Spread(size_t i, uint32_t below) {
  i = (i ^ i >> 15) * 0x9e3779b97f4a7c15u;
  i = (i ^ i >> 29) * 0xbf58476d1ce4e5b9u;
  return static_cast<uint32_t>((i >> 32) * below >> 32);
}

inline std::string Utf8(char32_t code_point) {
  char bytes[4];
  return std::string(bytes, utf8::Encode(code_point, bytes));
}
// One of 30,000 characters of East Asia.
inline std::string Wide(size_t i) {
  constexpr size_t kIdeographs = 20000, kSyllables = 10000;
  i %= kIdeographs + kSyllables;
  return Utf8(static_cast<char32_t>(i < kIdeographs ? 0x4e00 + i : 0xac00 + i - kIdeographs));
}

// A pipeline of the fast road with a vocabulary: ASCII characters, then piece(i), "text",score, up to
// size.
inline Json OnFastRoad(size_t size, const std::function<std::string(size_t)>& piece) {
  Json json;
  json.pre_tokenizer = R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})";
  for (char c = '!'; c <= '~'; ++c) {
    if (c != '"' && c != '\\') json.vocab += std::string(",[\"") + c + "\",-3]";
  }
  for (size_t i = 0; json.vocab.size() < size; ++i) json.vocab += ",[\"" + piece(i) + "]";
  return json;
}

inline std::string WithAdded(size_t size, const std::string& normalizer, bool normalized,
                             const std::function<std::string(size_t)>& content) {
  Json json;
  json.normalizer = normalizer;
  json.added = List(size, [&](size_t i) { return Added(content(i), normalized); });
  return json.Text();
}

inline std::string WithMore(const std::string& value) {
  Json json;
  json.more = ",\"x\":" + value;
  return json.Text();
}

// Pieces one after the other, as the file has them: faster than a ModelProto of millions.
inline std::string Pieces(size_t size, const std::function<std::string(size_t)>& text,
                          sp_test::PieceKind kind = sp_test::kNormal) {
  sp_test::ModelProto head;
  head.AddSpecials();
  head.Add("a", -1);
  std::string file = sp_test::Serialize(head);
  for (size_t i = 0; file.size() < size; ++i) {
    std::string piece;
    protozero::pbf_writer out(piece);
    out.add_string(1, text(i));
    if (kind != sp_test::kNormal) out.add_enum(3, kind);
    protozero::pbf_writer(file).add_message(1, piece);
  }
  return file;
}

inline std::string WithModel(const std::function<void(sp_test::ModelProto&)>& change) {
  sp_test::ModelProto model;
  model.AddSpecials();
  model.Add("a", -1);
  change(model);
  return sp_test::Serialize(model);
}

}  // namespace hostile

// tokenizer.json files.
inline const std::vector<HostileFile>& HostileJson() {
  using namespace hostile;
  static const std::string kNfkc = R"({"type":"NFKC"})";
  static const auto same = [](const std::string& unit) { return [unit](size_t) { return unit; }; };
  static const auto short_name = [](size_t i) { return Name(i); };
  static const auto long_name = [](size_t i) { return std::string(200, 'q') + Name(i); };
  static const auto few_steps = [](size_t count) {
    return Normalizers(List(count * 16 - 1, [](size_t) { return kNfkc; }));
  };
  static const std::vector<HostileFile> files = {
      {"normalization steps", [](size_t n) { return WithNormalizer(List(n, same(kNfkc))); }},
      {"as many steps as there may be",
       [](size_t) { return WithAdded(1, few_steps(32), true, short_name); }},
      {"pre-tokenizer steps",
       [](size_t n) {
         Json json;
         json.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" +
                              List(n, same(R"({"type":"WhitespaceSplit"})")) + "]}";
         return json.Text();
       }},
      {"decoder steps",
       [](size_t n) {
         Json json;
         json.decoder =
             R"({"type":"Sequence","decoders":[)" + List(n, same(R"({"type":"Fuse"})")) + "]}";
         return json.Text();
       }},
      {"sequences inside sequences",
       [](size_t n) {
         std::string inner = kNfkc;
         for (size_t i = 0; i < std::min<size_t>(n / 40, 400); ++i) inner = Normalizers(inner);
         return WithNormalizer(inner);
       }},
      {"empty sequences", [](size_t n) { return WithNormalizer(List(n, same(Normalizers("")))); }},
      {"a long literal to replace",
       [](size_t n) {
         return WithNormalizer(R"({"type":"Replace","pattern":{"String":")" + std::string(n, 'x') +
                               R"("},"content":""})");
       }},
      {"a long regular expression",
       [](size_t n) {
         return WithNormalizer(R"({"type":"Replace","pattern":{"Regex":")" + std::string(n, 'x') +
                               R"(+"},"content":""})");
       }},
      {"a long prefix",
       [](size_t n) {
         return WithNormalizer(R"({"type":"Prepend","prepend":")" + std::string(n, 'x') + R"("})");
       }},
      {"one long piece", [](size_t n) { return WithVocab(1, same(std::string(n, 'x'))); }},
      {"long pieces",
       [](size_t n) {
         return WithVocab(n, [](size_t i) { return Name(i) + std::string(8000, 'x'); });
       }},
      {"short pieces", [](size_t n) { return WithVocab(n, short_name); }},
      {"pieces that share a long beginning", [](size_t n) { return WithVocab(n, long_name); }},
      {"equal pieces", [](size_t n) { return WithVocab(n, same("x")); }},
      {"numbers of many digits",
       [](size_t n) {
         Json json;
         json.vocab += ",[\"x\",-1." + std::string(n, '7') + "]";
         return json.Text();
       }},
      {"deep nesting",
       [](size_t n) { return WithMore(std::string(n / 2, '[') + std::string(n / 2, ']')); }},
      {"small values", [](size_t n) { return WithMore("[" + List(n, same("0")) + "]"); }},
      {"empty lists", [](size_t n) { return WithMore("[" + List(n, same("[]")) + "]"); }},
      {"members",
       [](size_t n) {
         Json json;
         json.more = "," + List(n, [](size_t i) { return "\"" + Name(i) + "\":0"; });
         return json.Text();
       }},
      {"an end that is no JSON",
       [](size_t n) { return WithMore("[" + List(n, same("0")) + ",}"); }},
      {"an end that is not UTF-8",
       [](size_t n) { return WithMore("\"" + std::string(n, 'x') + "\xff\""); }},
      {"added tokens", [](size_t n) { return WithAdded(n, "null", false, short_name); }},
      {"added tokens that share a long beginning",
       [](size_t n) { return WithAdded(n, "null", false, long_name); }},
      {"equal added tokens", [](size_t n) { return WithAdded(n, "null", false, same("x")); }},
      {"one long added token",
       [](size_t n) { return WithAdded(1, "null", false, same(std::string(n, 'x'))); }},
      {"normalized added tokens", [](size_t n) { return WithAdded(n, kNfkc, true, long_name); }},
      {"normalized added tokens and steps",
       [](size_t n) { return WithAdded(n, few_steps(16), true, long_name); }},
      {"normalized added tokens that grow",
       [](size_t n) {
         return WithAdded(n,
                          Normalizers(R"({"type":"Replace","pattern":{"String":"q"},"content":")" +
                                      std::string(1000, 'r') + R"("})"),
                          true, long_name);
       }},
      {"one long added token that is normalized",
       [](size_t n) { return WithAdded(1, kNfkc, true, same(std::string(n, 'x'))); }},
      {"normalized added tokens that pieces spell, and a charsmap",
       [](size_t n) {
         Json json = OnFastRoad(0, short_name);
         json.normalizer = R"({"type":"Precompiled","precompiled_charsmap":")" +
                           Base64(SharedCharsmap(2, 16)) + R"("})";
         json.added = List(n, [](size_t i) { return Added("zz" + Name(i), true); });
         return json.Text();
       }},
      {"pieces of signs between other characters",
       [](size_t n) {
         return OnFastRoad(n, [](size_t i) {
                  std::string text;
                  for (size_t k = 7 * i; k < 7 * i + 7; ++k) {
                    text += "!#$%&()*+,-./:;<=>?@[]^_"[Spread(k, 24)];
                    text += Utf8(0x80 + Spread(3 * k + 1, 0x780));
                  }
                  return text + "\",-5";
                })
             .Text();
       }},
      {"pieces in which no two characters meet again",
       [](size_t n) {
         return OnFastRoad(n, [](size_t i) {
                  std::string text;
                  for (size_t k = 15 * i; k < 15 * i + 15; ++k) text += Wide(Spread(k, 3000));
                  return text + "\",-5";
                })
             .Text();
       }},
      {"pieces that end in many others",
       [](size_t n) {
         return OnFastRoad(n, [](size_t i) {
                  const std::string run(std::min<size_t>(i + 1, 14), 'a');
                  if (i < 14) return run + "\",-" + std::to_string(5 * (i + 1) + i % 3);
                  return Wide(i % 20000) + Wide(20000 + i / 20000) + run + "\",-90";
                })
             .Text();
       }},
      {"pieces that find no room in the trie",
       [](size_t n) {
         // The rarest character goes on from where frequent ones took all places before its own.
         const size_t chains = std::min<size_t>(n / 80 + 1, 30000);
         return OnFastRoad(n, [chains](size_t i) {
                  if (i < chains) return Wide(i) + "\",-1";
                  if (i < 2 * chains) return Wide(i - chains) + "A\",-1";
                  const size_t at = i - 2 * chains;
                  return Wide(at % chains) + "A" + Utf8(0x100 + static_cast<char32_t>(at / chains)) +
                         Repeat("ž", 26) + "\",1e-9";
                })
             .Text();
       }},
      {"template items",
       [](size_t n) {
         Json json;
         json.post_processor =
             Processor("," + List(n, same(R"({"SpecialToken":{"id":"s","type_id":0}})")),
                       R"("s":{"id":"s","ids":[1],"tokens":["s"]})");
         return json.Text();
       }},
      {"ids of a special token",
       [](size_t n) {
         Json json;
         json.post_processor =
             Processor(R"(,{"SpecialToken":{"id":"s","type_id":0}})",
                       R"("s":{"id":"s","ids":[)" + List(n, same("1")) + R"(],"tokens":["s"]})");
         return json.Text();
       }},
      {"special tokens of the template",
       [](size_t n) {
         Json json;
         json.post_processor = Processor(
             "", List(n, [](size_t i) { return "\"" + Name(i) + R"(":{"ids":[],"tokens":[]})"; }));
         return json.Text();
       }},
      {"a name that needs escapes",
       [](size_t n) {
         Json json;
         json.post_processor = Processor("", "\"" + Repeat("~/", n) + "\":{}");
         return json.Text();
       }},
      {"an unknown type of a long name",
       [](size_t n) { return WithNormalizer(R"({"type":")" + std::string(n, 'x') + R"("})"); }},
      {"a charsmap of shared units",
       [](size_t) {
         return WithNormalizer(R"({"type":"Precompiled","precompiled_charsmap":")" +
                               Base64(SharedCharsmap(5, 16)) + R"("})");
       }},
      {"a charsmap of long keys",
       [](size_t) {
         return WithNormalizer(R"({"type":"Precompiled","precompiled_charsmap":")" +
                               Base64(SharedCharsmap(60, 2, 40)) + R"("})");
       }},
      {"a charsmap of long replacements",
       [](size_t) {
         return WithNormalizer(R"({"type":"Precompiled","precompiled_charsmap":")" +
                               Base64(SharedCharsmap(5, 16, 0, std::string(1024, 'r'))) + R"("})");
       }},
      {"the same charsmap again and again",
       [](size_t n) {
         const std::string blob = Base64(SharedCharsmap(2, 16));
         return WithNormalizer(List(n, [&](size_t) {
           return R"({"type":"Precompiled","precompiled_charsmap":")" + blob + R"("})";
         }));
       }},
      {"charsmaps and steps",
       [](size_t) {
         const std::string blob = Base64(SharedCharsmap(5, 16));
         return WithNormalizer(List(16 * blob.size(), [&](size_t) {
           return R"({"type":"Precompiled","precompiled_charsmap":")" + blob + R"("},)" + kNfkc;
         }));
       }},
  };
  return files;
}

// SentencePiece .model files.
inline const std::vector<HostileFile>& HostileModels() {
  using namespace hostile;
  static const auto short_name = [](size_t i) { return Name(i + 64); };
  static const auto long_name = [](size_t i) { return std::string(200, 'q') + Name(i); };
  static const auto longest = [](size_t i) { return Name(i) + std::string(7900, 'x'); };
  static const std::vector<HostileFile> files = {
      {"one long piece",
       [](size_t n) { return Pieces(n, [n](size_t) { return std::string(n, 'x'); }); }},
      {"long pieces", [](size_t n) { return Pieces(n, longest); }},
      {"short pieces", [](size_t n) { return Pieces(n, short_name); }},
      {"pieces that share a long beginning", [](size_t n) { return Pieces(n, long_name); }},
      {"equal pieces", [](size_t n) { return Pieces(n, [](size_t) { return std::string("x"); }); }},
      {"empty pieces", [](size_t n) { return Pieces(n, [](size_t) { return std::string(); }); }},
      {"control pieces", [](size_t n) { return Pieces(n, short_name, sp_test::kControl); }},
      {"unused pieces", [](size_t n) { return Pieces(n, short_name, sp_test::kUnused); }},
      {"user-defined pieces",
       [](size_t n) { return Pieces(n, short_name, sp_test::kUserDefined); }},
      {"long user-defined pieces",
       [](size_t n) { return Pieces(n, longest, sp_test::kUserDefined); }},
      {"user-defined pieces that share a long beginning",
       [](size_t n) { return Pieces(n, long_name, sp_test::kUserDefined); }},
      {"a long unk_surface",
       [](size_t n) {
         return WithModel(
             [n](sp_test::ModelProto& model) { model.unk_surface = std::string(n, 'x'); });
       }},
      {"a long unk_piece",
       [](size_t n) {
         return WithModel(
             [n](sp_test::ModelProto& model) { model.unk_piece = std::string(n, 'x'); });
       }},
      {"fields that nobody knows",
       [](size_t n) {
         std::string file = WithModel([](sp_test::ModelProto&) {});
         protozero::pbf_writer out(file);
         while (file.size() < n) out.add_uint32(1000, 1);
         return file;
       }},
      {"the trainer's specification again and again",
       [](size_t n) {
         std::string file = WithModel([](sp_test::ModelProto&) {});
         std::string trainer;
         protozero::pbf_writer(trainer).add_string(44, std::string(1000, 'x'));
         while (file.size() < n) protozero::pbf_writer(file).add_message(2, trainer);
         return file;
       }},
      {"a charsmap of shared units",
       [](size_t) {
         return WithModel(
             [](sp_test::ModelProto& model) { model.normalizer.charsmap = SharedCharsmap(5, 16); });
       }},
      {"a charsmap of long keys",
       [](size_t) {
         return WithModel([](sp_test::ModelProto& model) {
           model.normalizer.charsmap = SharedCharsmap(60, 2, 40);
         });
       }},
      {"a charsmap of long replacements",
       [](size_t) {
         return WithModel([](sp_test::ModelProto& model) {
           model.normalizer.charsmap = SharedCharsmap(5, 16, 0, std::string(1024, 'r'));
         });
       }},
      {"a large charsmap",
       [](size_t n) {
         return WithModel([n](sp_test::ModelProto& model) {
           model.normalizer.charsmap = SharedCharsmap(std::min<size_t>(n / 1024, 1000), 1);
         });
       }},
      {"a charsmap with a long pool",
       [](size_t n) {
         return WithModel([n](sp_test::ModelProto& model) {
           model.normalizer.charsmap = SharedCharsmap(3, 16) + Repeat(std::string("x\0", 2), n);
         });
       }},
      {"a denormalizer of shared units",
       [](size_t) {
         return WithModel([](sp_test::ModelProto& model) {
           model.denormalizer.emplace();
           model.denormalizer->charsmap = SharedCharsmap(5, 16);
         });
       }},
  };
  return files;
}

}  // namespace rankfeed::test
