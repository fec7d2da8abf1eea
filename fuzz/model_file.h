// SPDX-License-Identifier: MIT
// fuzz/model_file.h: what every model file, however made, must keep to: it is refused with a status and
// a message, or its image verifies, and any text then encodes within bounds, the same with and without
// offsets (plain and fast path), and decodes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "rankfeed/builder.h"
#include "rankfeed/encode.h"

#define FUZZ_ASSERT(condition) \
  do {                         \
    if (!(condition)) __builtin_trap(); \
  } while (0)

namespace rankfeed::fuzz {

struct Aligned {
  explicit Aligned(rankfeed_mem_req need)
      : data(std::aligned_alloc(need.alignment, (need.size + need.alignment - 1) / need.alignment *
                                                    need.alignment)) {
    FUZZ_ASSERT(data != nullptr);
  }
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  void* data;
};

inline std::vector<int32_t> Encode(const rankfeed_model* model, std::string_view text, bool offsets,
                                   rankfeed_status* status) {
  const rankfeed_limits limits{sizeof(limits), 512, offsets ? 1u : 0u, 4096};
  rankfeed_mem_req need{};
  FUZZ_ASSERT(rankfeed_encoder_mem_req(model, &limits, &need) == RANKFEED_OK);
  const Aligned scratch(need);
  rankfeed_encoder* encoder = nullptr;
  FUZZ_ASSERT(rankfeed_encoder_init(model, &limits, scratch.data, need.size, &encoder) == RANKFEED_OK);
  const uint32_t bound = rankfeed_token_bound(model, text.size());
  std::vector<int32_t> ids(bound);
  std::vector<uint32_t> begin(offsets ? bound : 0), end(offsets ? bound : 0);
  rankfeed_encoding io{};
  io.struct_size = sizeof(io);
  io.capacity = bound;
  io.input_ids = ids.data();
  io.offset_begin = offsets ? begin.data() : nullptr;
  io.offset_end = offsets ? end.data() : nullptr;
  *status = rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io);
  FUZZ_ASSERT(*status == RANKFEED_OK || *status == RANKFEED_E_UNK_ID);
  ids.resize(*status == RANKFEED_OK ? io.count : 0);
  for (size_t i = 0; offsets && i < ids.size(); ++i) {
    FUZZ_ASSERT(begin[i] <= end[i] && end[i] <= text.size());
  }
  std::vector<char> decoded(1 << 16);
  size_t size = 0;
  if (ids.size() <= limits.max_text_bytes) {
    const rankfeed_status back = rankfeed_decode(encoder, ids.data(), ids.size(), 0, decoded.data(),
                                                 decoded.size(), &size);
    FUZZ_ASSERT(back == RANKFEED_OK || back == RANKFEED_E_OUTPUT_SIZE);
  }
  return ids;
}

inline void TryModel(const rankfeed_model* model) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("hello  world \t"), std::string_view("\xff\x00\xe2\x96", 4),
        std::string_view("e\xcc\x81\xef\xbc\xa1\xcc\x81 \xe2\x96\x81</s>aaaaaaaaaaaa")}) {
    rankfeed_status plain, fast;
    const auto a = Encode(model, text, true, &plain);
    const auto b = Encode(model, text, false, &fast);
    FUZZ_ASSERT(plain == fast && a == b);
  }
}

inline void TryModelFile(const uint8_t* data, size_t size) {
  rankfeed_image image{};
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  const rankfeed_status status = rankfeed_compile(data, size, "fuzz", nullptr, &image, &error);
  if (status != RANKFEED_OK) {
    FUZZ_ASSERT(error.code == status && error.message[0] != '\0' && image.data == nullptr);
    return;
  }
  const Aligned storage(rankfeed_model_mem_req());
  rankfeed_model* model = nullptr;
  FUZZ_ASSERT(rankfeed_model_open(image.data, image.size, 0, storage.data,
                                  rankfeed_model_mem_req().size, &model, nullptr) == RANKFEED_OK);
  TryModel(model);
  rankfeed_image_free(&image);
}

}  // namespace rankfeed::fuzz
