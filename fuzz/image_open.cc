// SPDX-License-Identifier: MIT
// fuzz/image_open.cc: hostile images. The input is a list of changes to the image of a small model:
// four bytes of position, one of value each; the checksum is repaired, so that the changes reach the
// rules behind it. An image is refused, or encodes within bounds.
#include <cstring>

#include "image/format.h"
#include "model_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

constexpr std::string_view kSource =
    R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["</s>", 0.0],
        ["\u2581", -2.0], ["\u2581hello", -3.0], ["\u2581world", -3.5], ["a", -4.0], ["aa", -5.0],
        ["e", -4.5], ["l", -4.5], ["o", -4.5], ["h", -5.5]]},
        "added_tokens": [{"id": 1, "content": "</s>", "special": true, "normalized": false,
        "lstrip": false, "rstrip": false, "single_word": false}],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true}]}})";

const rankfeed_image& Original() {
  static const rankfeed_image image = [] {
    rankfeed_image made{};
    FUZZ_ASSERT(rankfeed_compile(kSource.data(), kSource.size(), "seed", nullptr, &made, nullptr) ==
                RANKFEED_OK);
    return made;
  }();
  return image;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using rankfeed::image::Header;
  const rankfeed_image& original = Original();
  const rankfeed::fuzz::Aligned copy({original.size, 64});
  auto* bytes = static_cast<uint8_t*>(copy.data);
  std::memcpy(bytes, original.data, original.size);
  for (; size >= 5; data += 5, size -= 5) {
    uint32_t at;
    std::memcpy(&at, data, 4);
    bytes[at % original.size] = data[4];
  }
  Header header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.image_size >= sizeof(Header) && header.image_size <= original.size) {
    XXH128_canonical_t sum;
    XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes + rankfeed::image::kChecksumFrom,
                                                header.image_size - rankfeed::image::kChecksumFrom));
    std::memcpy(bytes + offsetof(Header, checksum), &sum, sizeof(sum));
  }
  const rankfeed::fuzz::Aligned storage(rankfeed_model_mem_req());
  rankfeed_model* model = nullptr;
  if (rankfeed_model_open(bytes, original.size, 0, storage.data, rankfeed_model_mem_req().size, &model,
                          nullptr) != RANKFEED_OK) {
    return 0;
  }
  // Ids need not make sense, and a growth bound that lies is an error, but nothing is out of bounds.
  for (const std::string_view text : {std::string_view("hello  aaaa</s>\xff\xe2\x96\x81"),
                                      std::string_view("e\xcc\x81 world")}) {
    for (const uint32_t offsets : {0u, 1u}) {
      const rankfeed_limits limits{sizeof(limits), 64, offsets, 256};
      rankfeed_mem_req need{};
      if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK || need.size > (64u << 20)) {
        continue;
      }
      const rankfeed::fuzz::Aligned scratch(need);
      rankfeed_encoder* encoder = nullptr;
      FUZZ_ASSERT(rankfeed_encoder_init(model, &limits, scratch.data, need.size, &encoder) ==
                  RANKFEED_OK);
      int32_t ids[64];
      uint32_t begin[64], end[64];
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = 64;
      io.input_ids = ids;
      if (offsets != 0) io.offset_begin = begin, io.offset_end = end;
      (void)rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io);
    }
  }
  return 0;
}
