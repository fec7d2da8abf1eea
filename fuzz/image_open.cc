// SPDX-License-Identifier: MIT
// fuzz/image_open.cc: hostile images. The input is one byte that chooses an image, then changes to
// it: an opcode and a place, of which the low bits choose a section, so that small sections are hit
// as often as large ones. The checksum is repaired, so that the changes reach the rules behind it. An
// image is refused, or everything one can do with it stays within bounds. An execution is one image.
#include <cstring>

#include "builder/normalizers.h"
#include "image/format.h"
#include "model_file.h"
#include "vocabulary.h"

#include <xxhash.h>  // of the system, not instrumented: it only seals what is tried

namespace rankfeed::fuzz {
namespace {

using image::Header;
using image::Section;

constexpr size_t kImages = 8;
constexpr size_t kChange = 7;  // bytes: opcode, section, element (2), value (3)

// Images with every kind of section among them.
const std::vector<Bytes>& Originals() {
  static const std::vector<Bytes> images = [] {
    std::vector<Bytes> made;
    const auto add = [&](const std::string& source) {
      rankfeed_image image{};
      FUZZ_ASSERT(rankfeed_compile(source.data(), source.size(), "seed", nullptr, &image, nullptr) ==
                  RANKFEED_OK);
      const auto* bytes = static_cast<const uint8_t*>(image.data);
      made.emplace_back(bytes, bytes + image.size);
      rankfeed_image_free(&image);
    };
    // SentencePiece first: those are small.
    for (int k = 0; k < 4; ++k) {
      sp_test::ModelProto model;
      model.AddSpecials();
      if (k == 1) model.AddBytes();
      for (const char* piece : {"\u2581", "a", "aa", "e", "hel", "lo", "\u2581wor", "ld", "o"}) {
        model.Add(piece, -static_cast<float>(std::strlen(piece)));
      }
      if (k >= 2) model.Add("\u2581hello", -1, sp_test::kUserDefined);
      if (k >= 2) {
        model.normalizer.charsmap =
            sp_test::MakeCharsmap({{"A", "a"}, {"e\u0301", "\u00e9"}, {"\t", " "}, {"\x01", ""}});
      }
      if (k == 3) {
        model.denormalizer.emplace();
        model.denormalizer->charsmap = sp_test::MakeCharsmap({{"a", "A"}, {" h", "H"}});
      }
      add(sp_test::Serialize(model));
    }
    std::string every = R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[]})";
    for (const auto& [json, steps] : builder_test::Normalizers()) every += ',' + json;
    const std::string pipelines[] = {
        R"("normalizer":null,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true}]},"decoder":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true})",
        R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first","split":false},"decoder":null)",
        R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"Prepend","prepend":"\u2581"},{"type":"Replace","pattern":{"String":"``"},"content":"\""}]},"pre_tokenizer":{"type":"Punctuation","behavior":"Isolated"},"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
        every + R"(]},"pre_tokenizer":null,"decoder":null)"};
    for (const std::string& pipeline : pipelines) {
      add(std::string(
              R"({"added_tokens":[{"id":1,"content":"</s>","special":true,"normalized":false,"lstrip":true,"rstrip":false,"single_word":false},{"id":2,"content":"wor","special":false,"normalized":true,"lstrip":false,"rstrip":true,"single_word":true}],)") +
          pipeline +
          R"(,"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"</s>","type_id":1}}],"special_tokens":{"</s>":{"id":"</s>","ids":[1],"tokens":["</s>"]}}},)" +
          R"("model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0.0],["</s>",0.0],["\u2581",-2.0],["\u2581hello",-3.0],["\u2581world",-3.5],["a",-4.0],["aa",-5.0],["e",-4.5],["l",-4.5],["o",-4.5],["h",-5.5]]}})");
    }
    return made;
  }();
  return images;
}

void Change(Input& in, Bytes* image) {
  const uint8_t opcode = in.U8(), which = in.U8();
  const uint32_t element = in.U16(), value = in.U8() | in.U16() << 8;
  Header header;
  std::memcpy(&header, image->data(), sizeof(header));
  const size_t table = sizeof(Header);
  uint64_t begin = 0, size = image->size();
  uint32_t unit = 1;
  const uint64_t sections = std::min<uint64_t>(header.section_count, 64);
  if (which < 8) {  // header and section table
    size = std::min<uint64_t>(size, table + sections * sizeof(Section));
  } else if (sections > 0 && table + sections * sizeof(Section) <= image->size()) {
    Section section;
    std::memcpy(&section, image->data() + table + (which % sections) * sizeof(Section),
                sizeof(section));
    if (section.size > 0 && section.offset < size && section.size <= size - section.offset) {
      begin = section.offset;
      size = section.size;
      unit = section.element_size;
    }
  }
  if (size == 0) return;
  // A whole element now and then, else a byte of one.
  const uint64_t elements = std::max<uint64_t>(size / std::max(unit, 1u), 1);
  uint64_t at = begin + (element % elements) * unit + (opcode >> 4) % std::max(unit, 1u);
  at = std::min<uint64_t>(at, image->size() - 1);
  const uint64_t room = image->size() - at;
  uint32_t word = 0;
  std::memcpy(&word, image->data() + at, std::min<uint64_t>(room, 4));
  switch (opcode % 6) {
    case 0:
      (*image)[at] = static_cast<uint8_t>(value);
      return;
    case 1:
      (*image)[at] ^= static_cast<uint8_t>(1u << value % 8);
      return;
    case 2:
      word = value;
      break;
    case 3:
      word += value % 64 - 32;
      break;
    case 4:
      word = value % 2 != 0 ? 0xffffffffu : 0x7ff00000u;
      break;
    default:  // cut: the size in the header stays, or follows
      image->resize(std::max<uint64_t>(at, sizeof(Header)));
      if (value % 4 != 0) {
        header.image_size = image->size();
        std::memcpy(image->data(), &header, sizeof(header));
      }
      return;
  }
  std::memcpy(image->data() + at, &word, std::min<uint64_t>(room, 4));
}

void RepairChecksum(Bytes* image) {
  Header header;
  std::memcpy(&header, image->data(), sizeof(header));
  if (header.image_size < sizeof(Header) || header.image_size > image->size()) return;
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(image->data() + image::kChecksumFrom,
                                              header.image_size - image::kChecksumFrom));
  std::memcpy(image->data() + offsetof(Header, checksum), &sum, sizeof(sum));
}

// Ids need not make sense, and a growth bound that lies is an error, but nothing is out of bounds.
void UseAll(const rankfeed_model* model) {
  using namespace std::string_view_literals;
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  FUZZ_ASSERT(rankfeed_model_get_info(model, &info) == RANKFEED_OK);
  (void)rankfeed_model_piece_to_id(model, "hello", 5);
  for (const uint32_t id : {0u, 1u, info.id_count - 1, info.id_count}) {
    const char* data;
    size_t size;
    if (rankfeed_model_id_to_piece(model, id, &data, &size) == RANKFEED_OK && size != 0) {
      static volatile char sink;
      sink = data[size - 1];
      (void)sink;
    }
  }
  for (const uint32_t offsets : {0u, 1u}) {
    const rankfeed_limits limits{sizeof(limits), 64, offsets, 256};
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK || need.size > (4u << 20)) {
      continue;
    }
    const Block scratch(need);
    rankfeed_encoder* encoder = nullptr;
    FUZZ_ASSERT(rankfeed_encoder_init(model, &limits, scratch.data(), need.size, &encoder) ==
                RANKFEED_OK);
    for (const std::string_view text : {"hello  aaaa</s>\xff\xe2\x96\x81 A\x01"sv, "e\xcc\x81 world"sv,
                                        " wor \0wor\t"sv}) {
      const ExactText exact(text);
      const std::unique_ptr<int32_t[]> ids(new int32_t[24]);
      const std::unique_ptr<uint32_t[]> begin(new uint32_t[24]), end(new uint32_t[24]);
      rankfeed_encode_options options{};
      options.struct_size = sizeof(options);
      options.flags = RANKFEED_ADD_SPECIAL_TOKENS | RANKFEED_OFFSETS_CODE_POINTS;
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = 24;
      io.input_ids = ids.get();
      if (offsets != 0) io.offset_begin = begin.get(), io.offset_end = end.get();
      const rankfeed_status status =
          rankfeed_encode(encoder, {exact.view().data(), text.size()}, &options, &io);
      if (status != RANKFEED_OK) continue;
      char out[64];
      size_t size = 0;
      (void)rankfeed_decode(encoder, ids.get(), io.count, 0, out, sizeof(out), &size);
    }
  }
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  const Bytes& original = Originals()[in.U8() % kImages];
  static Bytes image;  // its memory is used again
  image.resize(original.size());
  std::memcpy(image.data(), original.data(), original.size());
  for (size_t n = 0; n < 16 && !in.empty(); ++n) Change(in, &image);
  RepairChecksum(&image);
  ++counters.executions;
  LoadCost cost(image.size());
  const OpenModel model(image.data(), image.size());
  cost.Done();
  if (model.get() == nullptr) return;
  ++counters.accepted;
  UseAll(model.get());
}

void Generate(Random& random, Bytes* input) {
  // The small images most of the time: 15 KB each. The first one has word tables (91 KB), the last
  // four have Unicode tables too.
  const size_t which = random.OneIn(128)  ? random.Below(kImages)
                       : random.OneIn(16) ? 0
                                          : 1 + random.Below(3);
  input->push_back(static_cast<uint8_t>(which));
  const Bytes changes = RandomBytes(random, kChange * (1 + random.Below(3)));
  input->insert(input->end(), changes.begin(), changes.end());
}

const Register registered({"image_open", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
