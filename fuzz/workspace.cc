// SPDX-License-Identifier: MIT
// fuzz/workspace.cc: the memory contract of an encoder. Whatever the limits, the bytes that were in
// the scratch before, the texts it has seen and the errors it has answered: outputs are those of a
// fresh, roomy encoder; a scratch one byte smaller is refused; a too small output says what it needs
// and nothing past it is written; a text over the limit is refused and changes nothing; texts in one
// call get the ids they have alone. All blocks have exactly the size that was asked for. An execution
// is one text.
#include "engine.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

rankfeed_status EncodeInto(rankfeed_encoder* encoder, std::string_view text, uint32_t flags,
                           uint32_t capacity, bool offsets, Tokens* out, uint32_t* count) {
  const std::unique_ptr<int32_t[]> ids(new int32_t[capacity]);
  const std::unique_ptr<uint32_t[]> begin(new uint32_t[capacity]), end(new uint32_t[capacity]);
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  rankfeed_encoding io{};
  io.struct_size = sizeof(io);
  io.capacity = capacity;
  io.input_ids = ids.get();
  if (offsets) io.offset_begin = begin.get(), io.offset_end = end.get();
  const ExactText exact(text);
  const rankfeed_status status =
      rankfeed_encode(encoder, {exact.view().data(), text.size()}, &options, &io);
  *count = io.count;
  const uint32_t written = std::min(capacity, io.count);
  *out = {status, {ids.get(), ids.get() + written}, {}, {}};
  if (offsets) {
    out->begin.assign(begin.get(), begin.get() + written);
    out->end.assign(end.get(), end.get() + written);
  }
  return status;
}

bool IsPrefix(const Tokens& part, const Tokens& whole) {
  return part.ids.size() <= whole.ids.size() &&
         std::equal(part.ids.begin(), part.ids.end(), whole.ids.begin()) &&
         std::equal(part.begin.begin(), part.begin.end(), whole.begin.begin()) &&
         std::equal(part.end.begin(), part.end.end(), whole.end.begin());
}

// The texts in one call give the same ids and offsets, in bytes, as far as there is room.
void CheckTogether(rankfeed_encoder* encoder, const std::vector<std::string>& texts,
                   const Tokens& expected, bool offsets, size_t capacity) {
  std::vector<std::unique_ptr<ExactText>> exact;
  std::vector<rankfeed_text> views;
  for (const std::string& text : texts) {
    exact.push_back(std::make_unique<ExactText>(text));
    views.push_back({exact.back()->view().data(), text.size()});
  }
  const std::unique_ptr<int32_t[]> ids(new int32_t[capacity]);
  const std::unique_ptr<uint32_t[]> cu_seqlens(new uint32_t[texts.size() + 1]);
  const std::unique_ptr<uint32_t[]> begin(new uint32_t[capacity]), end(new uint32_t[capacity]);
  rankfeed_encodings io{};
  io.struct_size = sizeof(io);
  io.capacity = static_cast<uint32_t>(capacity);
  io.input_ids = ids.get();
  io.cu_seqlens = cu_seqlens.get();
  if (offsets) io.offset_begin = begin.get(), io.offset_end = end.get();
  const rankfeed_status status =
      rankfeed_encode_batch(encoder, views.data(), views.size(), nullptr, &io);
  const size_t all = expected.ids.size();
  FUZZ_ASSERT(status == (capacity < all ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK));
  FUZZ_ASSERT(io.text_count == texts.size() && io.count == all);
  FUZZ_ASSERT(cu_seqlens[0] == 0 && cu_seqlens[texts.size()] == all);
  FUZZ_ASSERT(std::equal(ids.get(), ids.get() + capacity, expected.ids.begin()));
  if (!offsets) return;
  FUZZ_ASSERT(std::equal(begin.get(), begin.get() + capacity, expected.begin.begin()));
  FUZZ_ASSERT(std::equal(end.get(), end.get() + capacity, expected.end.begin()));
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  const bool huggingface = in.OneIn(2);
  std::string source;
  std::vector<std::string> fragments;
  if (huggingface) {
    const HfVocabulary vocabulary = DrawHfVocabulary(in);
    source = DrawTokenizerJson(in, vocabulary);
    for (const auto& [piece, score] : vocabulary.pieces) fragments.push_back(piece);
  } else {
    const sp_test::ModelProto proto = DrawSpModel(in);
    source = sp_test::Serialize(proto);
    for (const auto& piece : proto.pieces) fragments.push_back(piece.text);
  }
  rankfeed_builder_error error;
  const auto model = Compile(source, &error);
  if (model == nullptr) return;
  ++counters.accepted;
  const Texts texts(fragments, false);
  std::string text;
  Encoder roomy(model->get(), 16 << 10, true, 1 << 16);
  while (!in.empty()) {
    const bool offsets = in.OneIn(2);
    rankfeed_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = static_cast<uint32_t>(in.Below(200));
    limits.with_offsets = offsets;
    limits.cache_bytes = static_cast<uint32_t>(in.OneIn(2) ? in.Below(5000) : 0);
    rankfeed_mem_req need{};
    FUZZ_ASSERT(rankfeed_encoder_mem_req(model->get(), &limits, &need) == RANKFEED_OK);
    const Block scratch(need);
    std::memset(scratch.data(), in.U8(), need.size);
    rankfeed_encoder* encoder = nullptr;
    FUZZ_ASSERT(rankfeed_encoder_init(model->get(), &limits, scratch.data(), need.size - 1,
                                      &encoder) == RANKFEED_E_WORKSPACE_SIZE);
    FUZZ_ASSERT(encoder == nullptr);
    FUZZ_ASSERT(rankfeed_encoder_init(model->get(), &limits, scratch.data(), need.size, &encoder) ==
                RANKFEED_OK);
    std::vector<std::string> seen;  // and the tokens of them all
    Tokens all;
    for (size_t n = 1 + in.Below(12); n > 0; --n) {
      texts.Next(in, &text);
      ++counters.executions;
      Tokens got;
      uint32_t count = 0;
      if (text.size() > limits.max_text_bytes) {
        FUZZ_ASSERT(EncodeInto(encoder, text, 0, 8, offsets, &got, &count) == RANKFEED_E_LIMIT);
        FUZZ_ASSERT(count == 0);
        continue;
      }
      constexpr uint32_t kUnits[] = {0, RANKFEED_OFFSETS_CODE_POINTS, RANKFEED_OFFSETS_UTF16};
      const uint32_t flags = kUnits[in.Below(3)];
      Tokens expected = roomy.Encode(text, flags);
      if (!offsets) expected.begin.clear(), expected.end.clear();
      if (expected.status != RANKFEED_OK) {
        FUZZ_ASSERT(EncodeInto(encoder, text, flags, 64, offsets, &got, &count) == expected.status);
        continue;
      }
      const auto needed = static_cast<uint32_t>(expected.ids.size());
      if (needed > 0) {  // too small by any amount, the columns absent at zero
        const auto small = static_cast<uint32_t>(in.Below(needed));
        FUZZ_ASSERT(EncodeInto(encoder, text, flags, small, offsets, &got, &count) ==
                    RANKFEED_E_OUTPUT_SIZE);
        FUZZ_ASSERT(count == needed && IsPrefix(got, expected));
      }
      FUZZ_ASSERT(EncodeInto(encoder, text, flags, needed, offsets, &got, &count) == RANKFEED_OK);
      FUZZ_ASSERT(got == expected);
      FUZZ_ASSERT(needed <= rankfeed_token_bound(model->get(), text.size()));
      seen.push_back(text);
      const Tokens in_bytes = roomy.Encode(text);
      all.ids.insert(all.ids.end(), in_bytes.ids.begin(), in_bytes.ids.end());
      all.begin.insert(all.begin.end(), in_bytes.begin.begin(), in_bytes.begin.end());
      all.end.insert(all.end.end(), in_bytes.end.begin(), in_bytes.end.end());
    }
    const size_t count = all.ids.size();
    CheckTogether(encoder, seen, all, offsets,
                  in.OneIn(3) ? in.Below(static_cast<uint32_t>(count) + 1) : count);
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 400 + random.Below(4 << 10));
}

const Register registered({"workspace", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
