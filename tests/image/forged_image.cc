// SPDX-License-Identifier: MIT
// tests/image/forged_image.cc: see forged_image.h.
#include "image/forged_image.h"

#include <cstdio>
#include <cstdlib>

#include "builder/byte_level.h"
#include "builder/hf_file.h"
#include "image/search_start.h"
#include "rankfeed/builder.h"
#include "reference/hf_tiny.h"
#include "reference/sp_model_proto.h"
#include "support/base64.h"
#include "support/compiled.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::image_test {
namespace {

using image::Header;
using image::Section;

std::string Compile(const std::string& source) { return std::string(test::Compiled(source).bytes()); }

std::string SentencePiece(bool bytes) {
  sp_test::ModelProto model;
  model.AddSpecials();
  if (bytes) model.AddBytes();
  // Off the fast road, with pieces that go on behind a U+2581: other images have its sections.
  model.treat_whitespace_as_suffix = true;
  for (const char* piece : {"\u2581", "a", "b", "ab", "\u2581ab"}) {
    model.Add(piece, -static_cast<float>(std::strlen(piece)));
  }
  if (!bytes) {
    model.Add("wor", -1, sp_test::kUserDefined);
    model.normalizer.charsmap = sp_test::MakeCharsmap({{"A", "a"}, {"\t", " "}});
    model.denormalizer.emplace();
    model.denormalizer->charsmap = sp_test::MakeCharsmap({{"a", "A"}, {"b", "B"}});
  }
  return Compile(Serialize(model));
}

std::string HuggingFace() {
  builder_test::HfFile file;
  file.added_tokens = "[" + builder_test::Added(0, "<s>") + "," + builder_test::Added(2, "</s>") +
                      "," + builder_test::Added(7, "Wor", "00010") + "]";
  file.normalizer =
      R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"NFD"},{"type":"NFKC"},)"
      R"({"type":"NFKD"},{"type":"Lowercase"}]})";
  file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{N}"},)"
                       R"("behavior":"Isolated","invert":false},)" + std::string(hf_test::kWords) + "]}";
  file.decoder = hf_test::kAlways;
  file.post_processor = builder_test::kRobertaTemplate;
  return Compile(file.Text());
}

std::string Segments() {
  hf_test::TinyFile file;
  file.normalizer = R"({"type":"Precompiled","precompiled_charsmap":")" +
                    test::Base64(sp_test::MakeCharsmap({{"\u00bd", "12"}})) + "\"}";
  file.pre_tokenizer = hf_test::kWords;
  return Compile(hf_test::Json(file));
}

std::string WordPiece() {
  return Compile(
      R"({"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":)"
      R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
      R"("max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1,"##b":2}}})");
}

std::string Splits() {
  return Compile(R"({"pre_tokenizer":)" + builder_test::ByteLevelSplit() + R"(,"model":)" +
                 builder_test::ByteLevelModel(R"(,"ab":256)", R"("a b")") + "}");
}

// The ranks are another's: no file that is HuggingFace's has merges that share one.
std::string Bpe() {
  Forged forged(Compile(R"({"pre_tokenizer":)" + builder_test::ByteLevelSplit("false") + R"(,"model":)" +
                        builder_test::ByteLevelModel(R"(,"ab":256,"ba":257)", R"("a b","b a")") + "}"));
  forged.Add(SectionId::kMergeRanks, uint32_t{0}, 2);
  const Forged::Sealed sealed = forged.Seal();
  return {reinterpret_cast<const char*>(sealed.data.get()), sealed.size};
}

std::string Characters() {
  std::string vocab = R"("<unk>":0,"a":1,"b":2,"ab":3,"\u2581":260)";
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    vocab += std::string(",\"") + name + "\":" + std::to_string(4 + byte);
  }
  return Compile(R"({"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"\u2581"},)"
                 R"("model":{"type":"BPE","unk_token":"<unk>","byte_fallback":true,"vocab":{)" + vocab +
                 R"(},"merges":["a b"]}})");
}

}  // namespace

Forged::Forged(std::string_view image) {
  std::memcpy(&header_, image.data(), sizeof(header_));
  for (uint32_t i = 0; i < header_.section_count; ++i) {
    Section section;
    std::memcpy(&section, image.data() + sizeof(Header) + i * sizeof(section), sizeof(section));
    const auto* begin = reinterpret_cast<const uint8_t*>(image.data()) + section.offset;
    sections_[static_cast<SectionId>(section.id)] = {section.element_size,
                                                     {begin, begin + section.size}};
  }
}

image::Text Forged::AddText(std::string_view text) {
  const auto offset = static_cast<uint32_t>(Get<char>(SectionId::kStrings).size());
  for (const char c : text) Add(SectionId::kStrings, c);
  return {offset, static_cast<uint32_t>(text.size())};
}

void Forged::RemakeStarts() {
  const image::Automaton automaton{
      Get<trie::Unit>(SectionId::kTrieUnits), Get<uint32_t>(SectionId::kAutomatonFails),
      Get<image::AutomatonState>(SectionId::kAutomatonStates),
      Get<uint64_t>(SectionId::kAutomatonEdges), segment_config().root_base};
  const auto starts = Get<image::SearchStart>(SectionId::kSearchStarts);
  ForEachSearchStart(automaton, config().code_count, segment_config().space_code,
                     [&](uint32_t i, const image::SearchStart& start) { starts[i] = start; });
}

Forged::Sealed Forged::Seal() const {
  const auto align = [](uint64_t at) {
    return (at + image::kSectionAlignment - 1) / image::kSectionAlignment *
           image::kSectionAlignment;
  };
  std::vector<Section> table;
  uint64_t end = align(sizeof(Header) + sections_.size() * sizeof(Section));
  for (const auto& [id, part] : sections_) {
    table.push_back({static_cast<uint32_t>(id), part.element_size, end, part.bytes.size()});
    end = align(end + part.bytes.size());
  }
  Header header = header_;
  header.section_count = static_cast<uint32_t>(table.size());
  header.image_size = end;
  Sealed sealed{std::unique_ptr<uint8_t, Free>(
                    static_cast<uint8_t*>(std::aligned_alloc(image::kSectionAlignment, end))),
                end};
  uint8_t* const data = sealed.data.get();
  std::memset(data, 0, end);
  std::memcpy(data + sizeof(Header), table.data(), table.size() * sizeof(Section));
  for (const Section& section : table) {
    const auto& bytes = sections_.at(static_cast<SectionId>(section.id)).bytes;
    if (!bytes.empty()) std::memcpy(data + section.offset, bytes.data(), bytes.size());
  }
  std::memcpy(data, &header, sizeof(header));
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum,
                           XXH3_128bits(data + image::kChecksumFrom, end - image::kChecksumFrom));
  std::memcpy(data + offsetof(Header, checksum), &sum, sizeof(sum));
  return sealed;
}

std::string_view ImageOf(Original original) {
  static const std::string images[] = {SentencePiece(false), SentencePiece(true), HuggingFace(),
                                       Segments(), WordPiece(), Splits(), Bpe(),
                                       Characters()};
  return images[static_cast<size_t>(original)];
}

}  // namespace rankfeed::image_test
