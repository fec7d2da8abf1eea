// SPDX-License-Identifier: MIT
// tests/reference/hf_tiny.h: a vocabulary of forty pieces under any pipeline, for expectations that
// fit a line. Expected ids and offsets in the tests that use it are those of the tokenizers 0.23.2
// wheel for the same file (tests/oracle compares whole corpora with the wheel itself).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/format.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "support/compiled.h"

namespace rankfeed::hf_test {

// Pipeline elements that many tests use.
inline constexpr char kNone[] = "null";
inline constexpr char kAlways[] =
    R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true})";
inline constexpr char kFirst[] =
    R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first","split":true})";
inline constexpr char kNever[] =
    R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"never","split":true})";
inline constexpr char kWhole[] =
    R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":false})";
inline constexpr char kWords[] =
    R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true}]})";

struct Added {
  std::string content;
  uint32_t flags;  // image::AddedFlags
};

struct TinyFile {
  std::string normalizer = kNone, pre_tokenizer = kNone, decoder = kNone;
  std::vector<Added> added = {{"<s>", image::kSpecial},
                              {"</s>", image::kSpecial},
                              {"<mask>", image::kSpecial | image::kLstrip}};
  std::string unk_id = "0";
  bool byte_fallback = false;
  std::string post_processor = kNone;
};

inline const std::vector<std::string>& Pieces() {
  static const std::vector<std::string> pieces = {"<unk>",
                                                  "<s>",
                                                  "</s>",
                                                  "<pad>",
                                                  "\342\226\201",
                                                  "a",
                                                  "b",
                                                  "c",
                                                  "d",
                                                  "e",
                                                  "h",
                                                  "l",
                                                  "o",
                                                  "r",
                                                  "t",
                                                  "w",
                                                  "1",
                                                  "2",
                                                  ",",
                                                  ".",
                                                  "'",
                                                  "\314\201",
                                                  "\303\251",
                                                  "\342\226\201a",
                                                  "\342\226\201b",
                                                  "ab",
                                                  "abc",
                                                  "\342\226\201ab",
                                                  "he",
                                                  "the",
                                                  "\342\226\201the",
                                                  "lo",
                                                  "\342\226\201hel",
                                                  "\342\226\201hello",
                                                  "\342\226\201world",
                                                  "oo",
                                                  "ooo",
                                                  "\342\226\2011",
                                                  "\346\227\245",
                                                  "\346\227\245\346\234\254",
                                                  "<0x41>"};
  return pieces;
}

// As a tokenizer.json. Scores are -1 - ((7 i) mod 23) / 4, and 0 for the first four pieces.
inline std::string Json(const TinyFile& file) {
  const auto flag = [](bool on) { return on ? std::string("true") : std::string("false"); };
  std::string vocab, added;
  for (size_t i = 0; i < Pieces().size(); ++i) {
    const double score = i < 4 ? 0 : -1 - 0.25 * static_cast<double>(i * 7 % 23);
    vocab += (i != 0 ? ",[\"" : "[\"") + Pieces()[i] + "\"," + std::to_string(score) + "]";
  }
  size_t next = Pieces().size();
  for (const Added& token : file.added) {
    size_t id = 0;
    while (id < Pieces().size() && Pieces()[id] != token.content) ++id;
    if (id == Pieces().size()) id = next++;
    const auto has = [&](uint32_t f) { return flag((token.flags & f) != 0); };
    added += (added.empty() ? "{\"id\":" : ",{\"id\":") + std::to_string(id) + ",\"content\":\"" +
             token.content + "\",\"single_word\":" + has(image::kSingleWord) +
             ",\"lstrip\":" + has(image::kLstrip) + ",\"rstrip\":" + has(image::kRstrip) +
             ",\"normalized\":" + has(image::kNormalized) + ",\"special\":" + has(image::kSpecial) +
             "}";
  }
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added +
         R"(],"normalizer":)" + file.normalizer + R"(,"pre_tokenizer":)" + file.pre_tokenizer +
         R"(,"post_processor":)" + file.post_processor + R"(,"decoder":)" + file.decoder +
         R"(,"model":{"type":"Unigram","unk_id":)" + file.unk_id + R"(,"vocab":[)" + vocab +
         R"(],"byte_fallback":)" + flag(file.byte_fallback) + "}}";
}

// A compiled and opened model with the calls that tests make.
class Engine {
 public:
  explicit Engine(const TinyFile& file) : Engine(Json(file)) {}
  explicit Engine(const std::string& json) : compiled_(json) {
    if (model() == nullptr) ADD_FAILURE() << compiled_.message();
  }

  // "id:begin-end ..." or the name of the error. flags: RANKFEED_*; offsets in code points unless
  // bytes.
  std::string Encode(std::string_view text, uint32_t flags = 0, bool bytes = false) {
    if (!Prepare(text.size())) return "no encoder";
    const uint32_t capacity = rankfeed_token_bound(model(), text.size());
    std::vector<int32_t> ids(capacity);
    std::vector<uint32_t> begin(capacity), end(capacity);
    rankfeed_encode_options options{};
    options.struct_size = sizeof options;
    options.flags = flags | (bytes ? 0u : uint32_t{RANKFEED_OFFSETS_CODE_POINTS});
    rankfeed_encoding io{};
    io.struct_size = sizeof io;
    io.capacity = capacity;
    io.input_ids = ids.data();
    io.offset_begin = begin.data();
    io.offset_end = end.data();
    const rankfeed_status status =
        rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io);
    if (status != RANKFEED_OK) return rankfeed_status_name(status);
    std::string shown;
    for (uint32_t i = 0; i < io.count; ++i) {
      shown += (i != 0 ? " " : "") + std::to_string(ids[i]) + ":" + std::to_string(begin[i]) + "-" +
               std::to_string(end[i]);
    }
    return shown;
  }

  // The ids of a call that asks for nothing else. Empty for errors.
  std::vector<int32_t> Ids(std::string_view text) {
    if (!Prepare(text.size())) return {};
    std::vector<int32_t> ids(rankfeed_token_bound(model(), text.size()));
    rankfeed_encode_options options{};
    options.struct_size = sizeof options;
    rankfeed_encoding io{};
    io.struct_size = sizeof io;
    io.capacity = static_cast<uint32_t>(ids.size());
    io.input_ids = ids.data();
    if (rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io)) return {};
    ids.resize(io.count);
    return ids;
  }

  std::string Decode(const std::vector<int32_t>& ids, bool skip_special) {
    if (!Prepare(ids.size())) return "no encoder";
    const uint32_t flags = skip_special ? uint32_t{RANKFEED_SKIP_SPECIAL_TOKENS} : 0;
    size_t size = 0;
    rankfeed_status status =
        rankfeed_decode(encoder_, ids.data(), ids.size(), flags, nullptr, 0, &size);
    if (status == RANKFEED_OK && size == 0) return "";
    if (status != RANKFEED_E_OUTPUT_SIZE) return rankfeed_status_name(status);
    std::string text(size, '?');
    status = rankfeed_decode(encoder_, ids.data(), ids.size(), flags, text.data(), size, &size);
    return status == RANKFEED_OK ? text.substr(0, size) : rankfeed_status_name(status);
  }

  // The token string of an id.
  std::string Piece(int32_t id) const {
    const char* data = nullptr;
    size_t size = 0;
    if (model() == nullptr ||
        rankfeed_model_id_to_piece(model(), static_cast<uint32_t>(id), &data, &size)) {
      return "no such id";
    }
    return {data, size};
  }

  uint32_t id_count() const {
    rankfeed_model_info info{};
    info.struct_size = sizeof info;
    return rankfeed_model_get_info(model(), &info) == RANKFEED_OK ? info.id_count : 0;
  }

  const rankfeed_model* model() const { return compiled_.model; }

 private:
  bool Prepare(size_t text_bytes) {
    if (model() == nullptr) return false;
    rankfeed_limits limits{};
    limits.struct_size = sizeof limits;
    limits.max_text_bytes = static_cast<uint32_t>(text_bytes);
    limits.with_offsets = 1;
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(model(), &limits, &need) != RANKFEED_OK) return false;
    scratch_ = test::Allocate(need);
    return rankfeed_encoder_init(model(), &limits, scratch_.get(), need.size, &encoder_) ==
           RANKFEED_OK;
  }

  const test::Compiled compiled_;
  test::Memory scratch_;
  rankfeed_encoder* encoder_ = nullptr;
};

}  // namespace rankfeed::hf_test
