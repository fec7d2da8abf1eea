// SPDX-License-Identifier: MIT
// BPE models on the general path: tiny ones, with the ids, offsets and texts that the tokenizers 0.23.3
// wheel gives for the same files. Published vocabularies are compared by oracle/diff_bpe.py.
#include <gtest/gtest.h>

#include <cstdio>

#include "builder/byte_level.h"
#include "reference/hf_tiny.h"

namespace rankfeed::hf_test {
namespace {

struct TinyBpe {
  std::string vocab = R"({"a":0,"b":1,"c":2,"ab":3,"bc":4,"aa":5,"<unk>":6)", more;
  std::string merges, members = R"("unk_token":null)";
  std::string normalizer = kNone, pre_tokenizer = kNone, decoder = kNone, post_processor = kNone, added;

  std::string Json() const {
    return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added +
           R"(],"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"post_processor":)" +
           post_processor + R"(,"decoder":)" + decoder + R"(,"model":{"type":"BPE",)" + members +
           R"(,"vocab":)" + vocab + more + R"(},"merges":[)" + merges + "]}}";
  }
};

std::string Encoded(const std::string& merges, const std::string& members, const std::string& text,
                    const std::string& more = "") {
  TinyBpe file;
  file.merges = merges;
  file.more = more;
  if (!members.empty()) file.members = members;
  Engine engine(file.Json());
  return engine.Encode(text);
}

TEST(Bpe, MergesByRankAndFromTheLeft) {
  EXPECT_EQ(Encoded(R"("a b","b c")", "", "abc"), "3:0-2 2:2-3");
  EXPECT_EQ(Encoded(R"("a b","b c","a b")", "", "abc"), "0:0-1 4:1-3");  // the later rank counts
  EXPECT_EQ(Encoded(R"(["a","b"],["b","c"])", "", "abc"), "3:0-2 2:2-3");
  EXPECT_EQ(Encoded(R"("#version: 0.2","a a")", "", "aaaaa"), "5:0-2 5:2-4 0:4-5");
}

TEST(Bpe, UnknownCharacters) {
  const std::string unk = R"("unk_token":"<unk>")", fuses = unk + R"(,"fuse_unk":true)";
  EXPECT_EQ(Encoded(R"("a b")", "", "axb"), "3:0-2");  // left out, and neighbours merge over the gap
  EXPECT_EQ(Encoded(R"("a b")", "", "xab"), "3:0-2");
  EXPECT_EQ(Encoded(R"("a b")", unk, "xyaxxb"), "6:0-1 6:1-2 0:2-3 6:3-4 6:4-5 1:5-6");
  EXPECT_EQ(Encoded(R"("a b")", fuses, "xyaxxb"), "6:0-2 0:2-3 6:3-5 1:5-6");
  EXPECT_EQ(Encoded(R"("a b")", fuses, "xa中yb"), "6:0-1 0:1-2 6:2-4 1:4-5");
  EXPECT_EQ(Encoded("", R"("unk_token":"<zzz>")", "ab"), "0:0-1 1:1-2");
  EXPECT_EQ(Encoded("", R"("unk_token":"<zzz>")", "ax"), "RANKFEED_E_UNK_ID");
}

// Texts of the most bytes that an encoder admits, which a normalizer makes three times as long.
TEST(Bpe, SymbolsOfTextsThatGrow) {
  TinyBpe file;
  file.more = ",\"\u2581\":7";
  file.merges = R"("a b")";
  file.members = R"("unk_token":"<unk>")";
  file.normalizer = R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},)"
                    R"({"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]})";
  EXPECT_EQ(Engine(file.Json()).Encode("ab   a"), "7:0-1 3:0-2 7:2-3 7:3-4 7:4-5 0:5-6");
  file.normalizer = R"({"type":"NFC"})";
  EXPECT_EQ(Engine(file.Json()).Encode("a\U0001d160\U0001d160"),
            "0:0-1 6:1-2 6:1-2 6:1-2 6:2-3 6:2-3 6:2-3");
}

TEST(Bpe, WholeSplitsWithIgnoreMerges) {
  const std::string more = R"(,"abc":7)";
  EXPECT_EQ(Encoded(R"("a b")", "", "abc", more), "3:0-2 2:2-3");
  EXPECT_EQ(Encoded(R"("a b")", R"("ignore_merges":true)", "abc", more), "7:0-3");
  EXPECT_EQ(Encoded(R"("a b")", R"("ignore_merges":true)", "abcc", more), "3:0-2 2:2-3 2:3-4");
}

TEST(Bpe, BytesOfUnknownCharacters) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) {
    char entry[32];
    std::snprintf(entry, sizeof entry, R"(,"<0x%02X>":%d)", b, b + 7);
    bytes += entry;
  }
  const std::string members = R"("unk_token":"<unk>","byte_fallback":true)";
  EXPECT_EQ(Encoded(R"("a b")", members, "é中a", bytes),
            "202:0-1 176:0-1 235:1-2 191:1-2 180:1-2 0:2-3");
}

// The 256 bytes, and what merges make of them.
struct TinyBytes {
  std::string model, pre_tokenizer = builder_test::ByteLevelSplit("false"), post_processor = kNone;
  std::string Json() const {
    return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,)"
           R"("pre_tokenizer":)" + pre_tokenizer + R"(,"post_processor":)" + post_processor +
           R"(,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true},"model":)" +
           model + "}";
  }
};

TEST(Bpe, BytesAreSymbols) {
  TinyBytes file{builder_test::ByteLevelModel(R"(,"Ã©":256,"aÃ":257)", R"("Ã ©","a Ã")")};
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("é"), "256:0-1");
  EXPECT_EQ(engine.Encode("aéà"), "97:0-1 256:1-2 195:2-3 160:2-3");  // a part has all of the character
  EXPECT_EQ(engine.Decode({97, 256, 195, 160}, false), "aéà");
  EXPECT_EQ(engine.Decode({195, 97, 226, 130, 226, 130, 172, 160}, false), "\ufffda\ufffd€\ufffd");
  EXPECT_EQ(engine.Decode({32, 226, 130}, false), " \ufffd");
  file.pre_tokenizer = builder_test::ByteLevelSplit("false", "true");
  file.post_processor = R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";
  Engine prefixed(file.Json());
  EXPECT_EQ(prefixed.Encode("a b"), "32:0-0 97:0-1 32:2-2 98:2-3");
}

TEST(Bpe, SpecialTokensThatMergesMake) {
  TinyBpe file;
  file.merges = R"("a b")";
  file.added = R"({"id":3,"content":"ab","single_word":true,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("abc"), "3:0-2 2:2-3");
  EXPECT_EQ(engine.Encode("abc", RANKFEED_ERROR_ON_SPECIAL), "RANKFEED_E_SPECIAL_IN_TEXT");
  EXPECT_EQ(engine.Encode("abc", RANKFEED_ESCAPE_SPECIAL), "0:0-1 1:1-2 2:2-3");
}

}  // namespace
}  // namespace rankfeed::hf_test
