// SPDX-License-Identifier: MIT
// tests/contract/contract_models.h: one small model of each parity mode, with everything that makes
// encoders use memory: growth, byte fallback or unknowns, templates, added tokens.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "reference/sp_model_proto.h"
#include "support/compiled.h"

namespace rankfeed::contract {

inline std::string SentencePieceSource() {
  sp_test::ModelProto model;
  model.AddSpecials();
  float score = -2;
  for (const char* text : {"\u2581", "a", "b", "ab", "\u2581a", "\u2581ab", "ba", "\u00e9", "x"}) {
    model.Add(text, score);
    score -= 0.37f;
  }
  model.Add("<sep>", 0, sp_test::kUserDefined);
  model.AddBytes();
  // One byte becomes twelve: a text of these is the normalizer's worst case.
  model.normalizer.charsmap = sp_test::MakeCharsmap({{"G", "ab ab ab"}, {"\t", " "}, {"\x01", ""}});
  return sp_test::Serialize(model);
}

inline std::string HuggingFaceSource() {
  return R"json({"version":"1.0","truncation":null,"padding":null,
"added_tokens":[
 {"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":1,"content":"<pad>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":2,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":3,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":12,"content":"<mask>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},
 {"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},
"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true},
"post_processor":{"type":"TemplateProcessing",
 "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
 "pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"</s>","type_id":1}}],
 "special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}},
"decoder":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true},
"model":{"type":"Unigram","unk_id":3,"byte_fallback":false,
 "vocab":[["<s>",0.0],["<pad>",0.0],["</s>",0.0],["<unk>",0.0],["\u2581",-2.0],["a",-2.3],["b",-2.5],["ab",-3.0],
  ["\u2581a",-3.1],["\u2581ab",-3.5],["ba",-3.75],["\u00e9",-4.0]]}})json";
}

using Block = test::Memory;
using OpenModel = test::Compiled;
inline Block Allocate(size_t size, size_t alignment = 64) { return test::Allocate({size, alignment}); }

inline rankfeed_limits Limits(uint32_t max_text_bytes, bool with_offsets,
                              uint32_t cache_bytes = 0) {
  rankfeed_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_text_bytes = max_text_bytes;
  limits.with_offsets = with_offsets ? 1 : 0;
  limits.cache_bytes = cache_bytes;
  return limits;
}

// An encoder in scratch of its own.
class OwnedEncoder {
 public:
  OwnedEncoder(const rankfeed_model* model, const rankfeed_limits& limits, int fill = 0) {
    rankfeed_mem_req need;
    if (const rankfeed_status status = rankfeed_encoder_mem_req(model, &limits, &need)) {
      throw std::runtime_error(rankfeed_status_name(status));
    }
    scratch_ = Allocate(need.size, need.alignment);
    std::memset(scratch_.get(), fill, need.size);
    if (const rankfeed_status status =
            rankfeed_encoder_init(model, &limits, scratch_.get(), need.size, &encoder_)) {
      throw std::runtime_error(rankfeed_status_name(status));
    }
  }
  rankfeed_encoder* get() const { return encoder_; }
  unsigned char* scratch() const { return static_cast<unsigned char*>(scratch_.get()); }

 private:
  Block scratch_;
  rankfeed_encoder* encoder_ = nullptr;
};

// All columns of an encoding.
struct Columns {
  std::vector<int32_t> ids;
  std::vector<uint32_t> begin, end, types;
  std::vector<uint8_t> mask;
  bool operator==(const Columns&) const = default;

  void Resize(size_t n) {
    ids.resize(n);
    begin.resize(n);
    end.resize(n);
    types.resize(n);
    mask.resize(n);
  }
  rankfeed_encoding Io(bool offsets) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(ids.size());
    io.input_ids = ids.data();
    if (offsets) {
      io.offset_begin = begin.data();
      io.offset_end = end.data();
    }
    io.special_tokens_mask = mask.data();
    io.token_type_ids = types.data();
    return io;
  }
};

inline rankfeed_text Text(const std::string& s) {
  return {s.data(), s.size()};
}

inline rankfeed_encode_options Options(uint32_t flags) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  return options;
}

// Encodes with as much room as it takes.
inline Columns Encode(rankfeed_encoder* encoder, const std::string& text, uint32_t flags,
                      bool offsets) {
  const rankfeed_encode_options options = Options(flags);
  rankfeed_encoding ask{};
  ask.struct_size = sizeof(ask);
  rankfeed_status status = rankfeed_encode(encoder, Text(text), &options, &ask);
  if (status != RANKFEED_OK && status != RANKFEED_E_OUTPUT_SIZE) {
    throw std::runtime_error(rankfeed_status_name(status));
  }
  Columns columns;
  columns.Resize(ask.count);
  rankfeed_encoding io = columns.Io(offsets);
  status = rankfeed_encode(encoder, Text(text), &options, &io);
  if (status != RANKFEED_OK || io.count != ask.count) {
    throw std::runtime_error("the count asked for is not the count needed");
  }
  return columns;
}

inline const std::vector<std::string>& Texts() {
  using namespace std::string_literals;
  static const std::vector<std::string> texts = {
      ""s,
      "a"s,
      " "s,
      "ab ba  ab"s,
      "a\u00e9\u4e2d b"s,
      "G\tG"s,
      "\xff\xfe"s,
      "a\0b"s,
      "xyzzy ab <sep> <mask> </s> abab"s,
      "\ufdfa ab \ufb01 \u212b"s,
      std::string(300, 'a'),
      "\u4e2d\u56fd\U0001f600 ab ab ab \u00e9\u00e9 \x01 ba"s};
  return texts;
}

// Parametrized over both modes. Models are compiled once, and only read.
class ContractTest : public ::testing::TestWithParam<const char*> {
 protected:
  const OpenModel& opened() const {
    static const OpenModel sentencepiece(SentencePieceSource()), huggingface(HuggingFaceSource());
    return std::string(GetParam()) == "sentencepiece" ? sentencepiece : huggingface;
  }
  const rankfeed_model* model() const { return opened().get(); }
  const rankfeed_image& image() const { return opened().image; }
};
#define RANKFEED_CONTRACT_SUITE(suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(Modes, suite, ::testing::Values("sentencepiece", "huggingface"), \
                           [](const auto& test) { return std::string(test.param); })

}  // namespace rankfeed::contract
