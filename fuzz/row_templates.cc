// SPDX-License-Identifier: MIT
// fuzz/row_templates.cc: row templates of LLM rerankers over byte-level BPE vocabularies with every kind of
// splitting pattern. The ids of a row are those of its texts, each put together and tokenized as a whole, for
// literals that are cut at places which hold for every text; what is refused is an error with words. An
// execution is one row.
#include <set>

#include "engine.h"
#include "input.h"
#include "rankfeed/template.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

// The alphabet that ByteLevel spells bytes in.
std::string Spelled(uint8_t byte) {
  uint32_t other = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool itself = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    const uint32_t code = itself ? b : other++;
    if (b != byte) continue;
    if (code < 0x80) return {static_cast<char>(code)};
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  }
  return {};
}

const std::string kPatterns[] = {
    "",  // ByteLevel's own
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};
// Templates and texts are made of these: at such characters the arms of a pattern meet.
const std::string kPieces[] = {"\n", "\n", " ", "  ", "\t", "\r\n", "a", "b", "A", "<", "?", ".", "/", "1", "'s", "x:",
                               "\u0301", "\u3000", "中", "é", "<|x|>", "<|y|>", "<|", "|>"};
const std::string kAdded[] = {"<|x|>", "<|y|>", "<z>", "  ", "a\n", "<|x|>b", ">"};

std::string DrawText(Input& in, size_t most) {
  std::string text;
  for (size_t n = in.Below(most + 1); n > 0; --n) text += in.Pick(kPieces);
  return text;
}

std::string DrawJson(Input& in) {
  std::vector<std::string> bytes, spelled;
  std::set<std::string> known;
  std::string vocab, merges;
  const auto add = [&](const std::string& text, const std::string& spelling) {
    if (!known.insert(text).second) return false;
    vocab += (bytes.empty() ? "" : ",") + JsonString(spelling) + ":" + std::to_string(bytes.size());
    bytes.push_back(text);
    spelled.push_back(spelling);
    return true;
  };
  for (uint32_t b = 0; b < 256; ++b) add({static_cast<char>(b)}, Spelled(static_cast<uint8_t>(b)));
  const std::string kCommon = "\n\n  \t\r aab<?./1:'sx|>";
  for (size_t n = in.Below(60); n > 0; --n) {
    const auto token = [&]() -> size_t {
      if (bytes.size() > 256 && in.OneIn(2)) return 256 + in.Below(bytes.size() - 256);
      return static_cast<uint8_t>(kCommon[in.Below(kCommon.size())]);
    };
    const size_t left = token(), right = token();
    const std::string a = spelled[left], b = spelled[right];
    if (!add(bytes[left] + bytes[right], a + b)) continue;
    merges += (merges.empty() ? "[" : ",[") + JsonString(a) + "," + JsonString(b) + "]";
  }
  std::string added;
  for (const std::string& token : kAdded) {
    const bool always = &token < kAdded + 2;
    if (!always && !in.OneIn(8)) continue;
    const auto flag = [&](size_t n) { return in.OneIn(n) ? "true" : "false"; };
    added += (added.empty() ? "" : ",") + std::string(R"({"id":)") + std::to_string(bytes.size() + (&token - kAdded)) +
             R"(,"content":)" + JsonString(token) + R"(,"single_word":)" + flag(32) + R"(,"lstrip":)" + flag(always ? 32 : 3) +
             R"(,"rstrip":)" + flag(always ? 32 : 3) + R"(,"normalized":)" + flag(4) + R"(,"special":)" + flag(2) + "}";
  }
  const std::string& pattern = in.Pick(kPatterns);
  const std::string byte_level = std::string(R"({"type":"ByteLevel","add_prefix_space":)") + (in.OneIn(8) ? "true" : "false") +
                                 R"(,"trim_offsets":false,"use_regex":)" + (pattern.empty() ? "true" : "false") + "}";
  const std::string split = pattern.empty() ? "" : R"({"type":"Split","pattern":{"Regex":)" + JsonString(pattern) +
                                                       R"(},"behavior":"Isolated","invert":false},)";
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added + R"(],"normalizer":)" +
         (in.OneIn(2) ? R"({"type":"NFC"})" : "null") + R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + split +
         byte_level + R"(]},"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false},"model":{"type":"BPE","vocab":{)" + vocab +
         R"(},"merges":[)" + merges + "]}}";
}

// A template's parts, with texts that stay where they are.
struct Drawn {
  std::vector<std::string> texts;
  std::vector<rankfeed_row_part> parts;
};

void DrawParts(Input& in, Drawn* drawn) {
  drawn->texts.reserve(32);
  const auto literal = [&](uint32_t flags) {
    drawn->texts.push_back(DrawText(in, 4));
    const std::string& text = drawn->texts.back();
    if (!text.empty()) drawn->parts.push_back({RANKFEED_PART_TEXT, flags, {text.data(), text.size()}});
  };
  const auto between = [&] {
    for (size_t n = in.Below(3); n > 0; --n) {
      if (in.OneIn(5)) drawn->parts.push_back({RANKFEED_PART_APART, 0, {}});
      if (in.OneIn(5)) drawn->parts.push_back({RANKFEED_PART_SPECIAL, 0, {"<|x|>", 5}});
      literal(0);
    }
  };
  between();
  if (in.OneIn(3)) {
    literal(RANKFEED_PART_WITH_INSTRUCTION);
    drawn->parts.push_back({RANKFEED_PART_INSTRUCTION, in.OneIn(2) ? uint32_t{RANKFEED_PART_WITH_INSTRUCTION} : 0u, {}});
    literal(0);
  }
  drawn->parts.push_back({RANKFEED_PART_QUERY, 0, {}});
  between();
  drawn->parts.push_back({RANKFEED_PART_DOCUMENT, 0, {}});
  between();
  if (in.OneIn(8)) literal(RANKFEED_PART_WITH_INSTRUCTION);
}

std::vector<int32_t> Ids(rankfeed_encoder* encoder, std::string_view text) {
  std::vector<int32_t> ids(4 * text.size() + 16);
  const rankfeed_encode_options options{sizeof(options), 0, {}};
  rankfeed_encoding io{};
  io.struct_size = sizeof(io);
  io.capacity = static_cast<uint32_t>(ids.size());
  io.input_ids = ids.data();
  FUZZ_ASSERT(rankfeed_encode(encoder, {text.data(), text.size()}, &options, &io) == RANKFEED_OK);
  ids.resize(io.count);
  return ids;
}

// The row as it is defined: the ids of each text, one after the other.
std::vector<int32_t> Expected(rankfeed_encoder* encoder, const Drawn& drawn, const std::string& query,
                              const std::string& instruction, const std::string& document) {
  std::vector<int32_t> ids;
  std::string text;
  const auto end = [&] {
    const std::vector<int32_t> more = Ids(encoder, text);
    ids.insert(ids.end(), more.begin(), more.end());
    text.clear();
  };
  for (const rankfeed_row_part& part : drawn.parts) {
    if (part.flags != 0 && instruction.empty()) continue;
    if (part.kind == RANKFEED_PART_APART) end();
    if (part.kind == RANKFEED_PART_QUERY) text += query;
    if (part.kind == RANKFEED_PART_INSTRUCTION) text += instruction;
    if (part.kind == RANKFEED_PART_DOCUMENT) text += document;
    text.append(part.text.data != nullptr ? part.text.data : "", part.text.size);
  }
  end();
  return ids;
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  rankfeed_builder_error error{};
  const auto model = Compile(DrawJson(in), &error);
  if (model == nullptr) return;
  Drawn drawn;
  DrawParts(in, &drawn);
  rankfeed_row_template row{};
  row.struct_size = sizeof(row);
  row.parts = drawn.parts.data();
  row.part_count = static_cast<uint32_t>(drawn.parts.size());
  row.truncation = RANKFEED_TRUNCATE_TEXT_END;
  Encoder encoder(model->get(), 1 << 14, false, 0);
  rankfeed_mem_req need{};
  FUZZ_ASSERT(rankfeed_template_mem_req(model->get(), &row, &need) == RANKFEED_OK);
  const Block storage(need);
  rankfeed_template* made = nullptr;
  const char* problem = nullptr;
  uint32_t part = 0;
  if (rankfeed_template_init(model->get(), &row, encoder.get(), storage.data(), need.size, &made, &problem, &part) !=
      RANKFEED_OK) {
    ++counters.executions;
    FUZZ_ASSERT(made == nullptr && problem != nullptr && part <= row.part_count);
    return;
  }
  ++counters.accepted;
  rankfeed_rerank_options options{};
  rankfeed_rerank_options_init(&options);
  FUZZ_ASSERT(rankfeed_template_options(made, 0, &options) == RANKFEED_OK);
  const rankfeed_pair_template& pair = *options.pair_template;
  for (size_t n = 1 + in.Below(4); n > 0; --n) {
    ++counters.executions;
    const std::string query = DrawText(in, 5), instruction = DrawText(in, 3), document = DrawText(in, 6);
    std::vector<int32_t> ids;
    const auto add_ids = [&](const rankfeed_template_part& of) { ids.insert(ids.end(), of.ids, of.ids + of.id_count); };
    const auto add_text = [&](const char* data, size_t size) {
      const std::vector<int32_t> more = Ids(encoder.get(), {data, size});
      ids.insert(ids.end(), more.begin(), more.end());
    };
    const auto view = [](const std::string& text) { return rankfeed_text{text.data(), text.size()}; };
    char text[4096];
    size_t size = 0;
    add_ids(pair.prefix);
    FUZZ_ASSERT(rankfeed_template_query(made, view(query), view(instruction), text, sizeof(text), &size) == RANKFEED_OK);
    add_text(text, size);
    add_ids(pair.middle);
    FUZZ_ASSERT(rankfeed_template_document(made, view(query), view(instruction), view(document), text, sizeof(text), &size,
                                           nullptr) == RANKFEED_OK);
    add_text(text, size);
    add_ids(pair.suffix);
    FUZZ_ASSERT(ids == Expected(encoder.get(), drawn, query, instruction, document));
  }
}

void Generate(Random& random, Bytes* input) { *input = RandomBytes(random, 100 + random.Below(500)); }

const Register registered({"row_templates", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
