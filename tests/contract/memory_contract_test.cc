// SPDX-License-Identifier: MIT
// The memory contract of models and encoders: exact sizes suffice, one byte less is refused,
// nothing outside the caller's buffers is ever written, and neither size nor content of the scratch
// changes an output.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "contract/contract_models.h"

namespace rankfeed::contract {
namespace {

constexpr unsigned char kCanary = 0xc7;

// size bytes between two stretches of canaries, at a given distance from 64-byte alignment.
class Guarded {
 public:
  explicit Guarded(size_t size, size_t misalignment = 0)
      : size_(size), block_(Allocate(size + 2 * kMargin + misalignment)) {
    begin_ = static_cast<unsigned char*>(block_.get()) + kMargin + misalignment;
    std::memset(block_.get(), kCanary, size + 2 * kMargin + misalignment);
  }
  unsigned char* data() { return begin_; }
  bool OutsideIntact() const {
    return AllCanary(static_cast<unsigned char*>(block_.get()), begin_) && AllCanary(begin_ + size_, begin_ + size_ + kMargin);
  }
  bool Untouched() const { return OutsideIntact() && AllCanary(begin_, begin_ + size_); }

 private:
  static constexpr size_t kMargin = 256;
  static bool AllCanary(const unsigned char* begin, const unsigned char* end) {
    return std::all_of(begin, end, [](unsigned char c) { return c == kCanary; });
  }
  size_t size_;
  Block block_;
  unsigned char* begin_;
};

class MemoryContract : public ContractTest {};

rankfeed_mem_req Need(const rankfeed_model* model, const rankfeed_limits& limits) {
  rankfeed_mem_req need{};
  EXPECT_EQ(rankfeed_encoder_mem_req(model, &limits, &need), RANKFEED_OK);
  EXPECT_GT(need.size, 0u);
  EXPECT_EQ(need.alignment & (need.alignment - 1), 0u);
  return need;
}

TEST_P(MemoryContract, ExactScratchSufficesForTheLongestTexts) {
  for (const bool offsets : {false, true}) {
    for (const uint32_t limit : {0u, 1u, 2u, 7u, 64u, 301u, 1000u}) {
      for (const uint32_t cache : {0u, 4096u}) {
        const rankfeed_limits limits = Limits(limit, offsets, cache);
        const rankfeed_mem_req need = Need(model(), limits);
        Guarded scratch(need.size);
        rankfeed_encoder* encoder = nullptr;
        ASSERT_EQ(rankfeed_encoder_init(model(), &limits, scratch.data(), need.size, &encoder),
                  RANKFEED_OK);
        ASSERT_NE(encoder, nullptr);
        // Whole texts of the characters that grow most, and of those that make most tokens.
        for (const std::string unit :
             {"G", "\xff", " ", "a", "x", "a ", "\ufdfa", "\u4e2d", "<s>", "\u00e9", "\t"}) {
          std::string text;
          while (text.size() + unit.size() <= limit) text += unit;
          while (text.size() < limit) text += 'b';
          const Columns columns = Encode(encoder, text, RANKFEED_ADD_SPECIAL_TOKENS, offsets);
          EXPECT_LE(columns.ids.size(), rankfeed_token_bound(model(), text.size()));
          ASSERT_TRUE(scratch.OutsideIntact()) << "limit " << limit << " unit " << unit;
        }
      }
    }
  }
}

TEST_P(MemoryContract, OneByteLessIsRefusedAndNothingIsWritten) {
  const rankfeed_limits limits = Limits(100, true);
  const rankfeed_mem_req need = Need(model(), limits);
  for (const size_t size : {need.size - 1, need.size / 2, size_t{1}, size_t{0}}) {
    Guarded scratch(need.size);
    auto* encoder = reinterpret_cast<rankfeed_encoder*>(1);
    EXPECT_EQ(rankfeed_encoder_init(model(), &limits, scratch.data(), size, &encoder),
              RANKFEED_E_WORKSPACE_SIZE);
    EXPECT_EQ(encoder, nullptr);
    EXPECT_TRUE(scratch.Untouched());
  }
}

TEST_P(MemoryContract, EveryWrongAlignmentIsRefusedAndNothingIsWritten) {
  const rankfeed_limits limits = Limits(100, true);
  const rankfeed_mem_req need = Need(model(), limits);
  for (size_t offset = 1; offset < need.alignment; ++offset) {
    Guarded scratch(need.size, offset);
    auto* encoder = reinterpret_cast<rankfeed_encoder*>(1);
    EXPECT_EQ(rankfeed_encoder_init(model(), &limits, scratch.data(), need.size, &encoder),
              RANKFEED_E_ALIGNMENT)
        << offset;
    EXPECT_EQ(encoder, nullptr);
    EXPECT_TRUE(scratch.Untouched());
  }
}

TEST_P(MemoryContract, RequirementIsMonotonicAndOverflowChecked) {
  size_t last = 0;
  for (uint32_t bytes = 0; bytes < 5000; bytes += 37) {
    const size_t plain = Need(model(), Limits(bytes, false)).size;
    const size_t with_offsets = Need(model(), Limits(bytes, true)).size;
    EXPECT_GE(plain, last);
    EXPECT_GE(with_offsets, plain);
    EXPECT_GE(Need(model(), Limits(bytes, false, 1 << 16)).size, plain);
    last = plain;
  }
  for (const uint32_t bytes : {UINT32_MAX, UINT32_MAX - 1, 0x80000000u, 0x7fffffffu}) {
    const rankfeed_limits limits = Limits(bytes, true);
    rankfeed_mem_req need{1, 1};
    const rankfeed_status status = rankfeed_encoder_mem_req(model(), &limits, &need);
    EXPECT_EQ(status, RANKFEED_E_LIMIT) << bytes;
  }
}

TEST_P(MemoryContract, BadArgumentsOfInit) {
  rankfeed_limits limits = Limits(100, true);
  const rankfeed_mem_req need = Need(model(), limits);
  Guarded scratch(need.size);
  rankfeed_encoder* encoder = nullptr;
  rankfeed_mem_req out;
  EXPECT_EQ(rankfeed_encoder_mem_req(nullptr, &limits, &out), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_mem_req(model(), nullptr, &out), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_mem_req(model(), &limits, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_init(nullptr, &limits, scratch.data(), need.size, &encoder),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_init(model(), nullptr, scratch.data(), need.size, &encoder),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_init(model(), &limits, nullptr, need.size, &encoder),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_init(model(), &limits, scratch.data(), need.size, nullptr),
            RANKFEED_E_ARGUMENT);
  for (const uint32_t size : {0u, 4u, static_cast<uint32_t>(sizeof(limits)) - 1,
                              static_cast<uint32_t>(sizeof(limits)) + 1, UINT32_MAX}) {
    limits.struct_size = size;
    EXPECT_EQ(rankfeed_encoder_mem_req(model(), &limits, &out), RANKFEED_E_STRUCT_SIZE);
    EXPECT_EQ(rankfeed_encoder_init(model(), &limits, scratch.data(), need.size, &encoder),
              RANKFEED_E_STRUCT_SIZE);
  }
  limits = Limits(100, true);
  limits.with_offsets = 2;
  EXPECT_EQ(rankfeed_encoder_mem_req(model(), &limits, &out), RANKFEED_E_ARGUMENT);
  EXPECT_TRUE(scratch.Untouched());
}

TEST_P(MemoryContract, ZeroCapacityReportsTheNeed) {
  OwnedEncoder encoder(model(), Limits(1000, true));
  for (const std::string& text : Texts()) {
    for (const uint32_t flags : {0u, uint32_t{RANKFEED_ADD_SPECIAL_TOKENS}}) {
      const rankfeed_encode_options options = Options(flags);
      rankfeed_encoding ask{};
      ask.struct_size = sizeof(ask);
      ask.count = 12345;
      const rankfeed_status status = rankfeed_encode(encoder.get(), Text(text), &options, &ask);
      EXPECT_EQ(status, ask.count == 0 ? RANKFEED_OK : RANKFEED_E_OUTPUT_SIZE);
      EXPECT_EQ(Encode(encoder.get(), text, flags, true).ids.size(), ask.count);
    }
  }
}

TEST_P(MemoryContract, EveryShortOutputStaysInsideAndReportsTheNeed) {
  OwnedEncoder encoder(model(), Limits(1000, true));
  for (const std::string& text : Texts()) {
    for (const uint32_t flags : {0u, uint32_t{RANKFEED_ADD_SPECIAL_TOKENS}}) {
      const Columns full = Encode(encoder.get(), text, flags, true);
      const auto need = static_cast<uint32_t>(full.ids.size());
      const rankfeed_encode_options options = Options(flags);
      for (uint32_t capacity = 0; capacity <= need; ++capacity) {
        Columns columns;
        columns.Resize(need + 2);
        std::fill(columns.ids.begin(), columns.ids.end(), -77);
        std::fill(columns.begin.begin(), columns.begin.end(), 77777u);
        std::fill(columns.end.begin(), columns.end.end(), 77777u);
        std::fill(columns.types.begin(), columns.types.end(), 77777u);
        std::fill(columns.mask.begin(), columns.mask.end(), uint8_t{77});
        rankfeed_encoding io = columns.Io(true);
        io.capacity = capacity;
        ASSERT_EQ(rankfeed_encode(encoder.get(), Text(text), &options, &io),
                  capacity < need ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
        ASSERT_EQ(io.count, need);
        for (uint32_t i = 0; i < capacity; ++i) {
          ASSERT_EQ(columns.ids[i], full.ids[i]);
          ASSERT_EQ(columns.begin[i], full.begin[i]);
          ASSERT_EQ(columns.end[i], full.end[i]);
          ASSERT_EQ(columns.types[i], full.types[i]);
          ASSERT_EQ(columns.mask[i], full.mask[i]);
        }
        for (uint32_t i = capacity; i < need + 2; ++i) {
          ASSERT_EQ(columns.ids[i], -77);
          ASSERT_EQ(columns.begin[i], 77777u);
          ASSERT_EQ(columns.end[i], 77777u);
          ASSERT_EQ(columns.types[i], 77777u);
          ASSERT_EQ(columns.mask[i], 77);
        }
      }
    }
  }
}

TEST_P(MemoryContract, ScratchSizeAndContentNeverChangeAnOutput) {
  std::vector<Columns> expected;
  for (const std::string& text : Texts()) {
    OwnedEncoder fresh(model(), Limits(static_cast<uint32_t>(text.size()), true));
    expected.push_back(Encode(fresh.get(), text, RANKFEED_ADD_SPECIAL_TOKENS, true));
  }
  std::mt19937 random(5);
  for (const uint32_t cache : {0u, 1u, 100u, 1u << 16}) {
    for (const uint32_t limit : {400u, 100000u}) {
      for (const int fill : {0x00, 0xff, 0xa5}) {
        OwnedEncoder dirty(model(), Limits(limit, true, cache), fill);
        for (int round = 0; round < 3; ++round) {
          for (size_t n = 0; n < Texts().size(); ++n) {
            const size_t i = random() % Texts().size();
            ASSERT_EQ(Encode(dirty.get(), Texts()[i], RANKFEED_ADD_SPECIAL_TOKENS, true),
                      expected[i])
                << "text " << i << " limit " << limit << " cache " << cache;
          }
        }
      }
    }
  }
}

TEST_P(MemoryContract, OffsetColumnsDoNotChangeTheIds) {
  OwnedEncoder with(model(), Limits(1000, true)), without(model(), Limits(1000, false));
  for (const std::string& text : Texts()) {
    EXPECT_EQ(Encode(with.get(), text, 0, true).ids, Encode(without.get(), text, 0, false).ids);
    EXPECT_EQ(Encode(with.get(), text, 0, false).ids, Encode(without.get(), text, 0, false).ids);
  }
}

TEST_P(MemoryContract, ATextOverTheLimitIsRefusedAndTheEncoderGoesOn) {
  const std::string text = "ab ba ab";
  OwnedEncoder encoder(model(), Limits(static_cast<uint32_t>(text.size()), true));
  const Columns expected = Encode(encoder.get(), text, 0, true);
  for (const size_t over : {size_t{1}, size_t{1000}}) {
    const std::string longer = text + std::string(over, 'G');
    Columns columns;
    columns.Resize(4);
    std::fill(columns.ids.begin(), columns.ids.end(), -77);
    rankfeed_encoding io = columns.Io(true);
    EXPECT_EQ(rankfeed_encode(encoder.get(), Text(longer), nullptr, &io), RANKFEED_E_LIMIT);
    EXPECT_EQ(columns.ids, std::vector<int32_t>(4, -77));
    EXPECT_EQ(Encode(encoder.get(), text, 0, true), expected);
  }
}

TEST_P(MemoryContract, BadArgumentsOfEncode) {
  OwnedEncoder encoder(model(), Limits(100, false));
  Columns columns;
  columns.Resize(100);
  rankfeed_encoding io = columns.Io(false);
  const rankfeed_text text = {"ab", 2};
  EXPECT_EQ(rankfeed_encode(nullptr, text, nullptr, &io), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode(encoder.get(), text, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode(encoder.get(), {nullptr, 2}, nullptr, &io), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode(encoder.get(), {nullptr, 0}, nullptr, &io), RANKFEED_OK);
  io.input_ids = nullptr;
  EXPECT_EQ(rankfeed_encode(encoder.get(), text, nullptr, &io), RANKFEED_E_ARGUMENT);
  io = columns.Io(true);  // offsets, which this encoder was not made for
  EXPECT_EQ(rankfeed_encode(encoder.get(), text, nullptr, &io), RANKFEED_E_ARGUMENT);
  io = columns.Io(false);
  for (const uint32_t size : {0u, static_cast<uint32_t>(sizeof(io)) - 1, UINT32_MAX}) {
    io.struct_size = size;
    EXPECT_EQ(rankfeed_encode(encoder.get(), text, nullptr, &io), RANKFEED_E_STRUCT_SIZE);
  }
  io = columns.Io(false);
  rankfeed_encode_options options = Options(0);
  options.struct_size = 3;
  EXPECT_EQ(rankfeed_encode(encoder.get(), text, &options, &io), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(rankfeed_encode(encoder.get(), text, nullptr, &io), RANKFEED_OK);
}

TEST_P(MemoryContract, OneOffsetColumnAloneIsEnough) {
  OwnedEncoder encoder(model(), Limits(1000, true));
  for (const std::string& text : Texts()) {
    const Columns full = Encode(encoder.get(), text, 0, true);
    for (const bool begin : {true, false}) {
      Columns columns;
      columns.Resize(full.ids.size());
      rankfeed_encoding io = columns.Io(true);
      (begin ? io.offset_end : io.offset_begin) = nullptr;
      ASSERT_EQ(rankfeed_encode(encoder.get(), Text(text), nullptr, &io), RANKFEED_OK);
      EXPECT_EQ(columns.ids, full.ids);
      EXPECT_EQ(begin ? columns.begin : columns.end, begin ? full.begin : full.end);
    }
  }
}

// Counted one offset at a time; well-formed text only, where both modes count alike.
TEST_P(MemoryContract, CodePointOffsetsCountCharacters) {
  const bool sentencepiece = std::string(GetParam()) == "sentencepiece";
  std::string longest;
  while (longest.size() < 200000) longest += "ab \u00e9\u4e2dG x\U0001f600 ";
  OwnedEncoder encoder(model(), Limits(static_cast<uint32_t>(longest.size()), true));
  std::vector<std::string> texts = Texts();
  texts.push_back(longest);
  std::vector<std::vector<uint8_t>> extras = {{}};
  if (sentencepiece) {
    extras.push_back({RANKFEED_SP_BOS, RANKFEED_SP_EOS});
    extras.push_back({RANKFEED_SP_REVERSE, RANKFEED_SP_EOS});
    extras.push_back({RANKFEED_SP_EOS, RANKFEED_SP_REVERSE});
  }
  for (const std::string& text : texts) {
    if (text.find('\xff') != std::string::npos) continue;
    std::vector<uint32_t> characters(text.size() + 1);
    for (size_t i = 0, n = 0; i <= text.size(); ++i) {
      characters[i] = static_cast<uint32_t>(n);
      if (i < text.size()) n += (static_cast<unsigned char>(text[i + 1]) & 0xc0) != 0x80;
    }
    for (const std::vector<uint8_t>& extra : extras) {
      rankfeed_encode_options options = Options(0);
      std::copy(extra.begin(), extra.end(), options.sp_extra);
      Columns bytes, points;
      for (Columns* columns : {&bytes, &points}) {
        columns->Resize(rankfeed_token_bound(model(), text.size()) + extra.size());
        rankfeed_encoding io = columns->Io(true);
        options.flags = columns == &points ? RANKFEED_OFFSETS_CODE_POINTS : 0;
        ASSERT_EQ(rankfeed_encode(encoder.get(), Text(text), &options, &io), RANKFEED_OK);
        columns->Resize(io.count);
      }
      ASSERT_EQ(points.ids, bytes.ids);
      for (size_t i = 0; i < bytes.ids.size(); ++i) {
        ASSERT_EQ(points.begin[i], characters[bytes.begin[i]]) << "token " << i;
        ASSERT_EQ(points.end[i], characters[bytes.end[i]]) << "token " << i;
      }
    }
  }
}

TEST_P(MemoryContract, ScribbledMagicIsRefused) {
  OwnedEncoder encoder(model(), Limits(100, false));
  std::memset(encoder.scratch(), 0xee, 8);
  Columns columns;
  columns.Resize(10);
  rankfeed_encoding io = columns.Io(false);
  EXPECT_EQ(rankfeed_encode(encoder.get(), {"ab", 2}, nullptr, &io), RANKFEED_E_ARGUMENT);
  size_t size = 0;
  EXPECT_EQ(rankfeed_decode(encoder.get(), nullptr, 0, 0, nullptr, 0, &size), RANKFEED_E_ARGUMENT);

  const rankfeed_mem_req model_need = rankfeed_model_mem_req();
  const Block storage = Allocate(model_need.size, model_need.alignment);
  rankfeed_model* scribbled = nullptr;
  ASSERT_EQ(rankfeed_model_open(image().data, image().size, 0, storage.get(), model_need.size,
                                &scribbled, nullptr),
            RANKFEED_OK);
  std::memset(storage.get(), 0xee, 8);
  const rankfeed_limits limits = Limits(100, false);
  rankfeed_mem_req need;
  EXPECT_EQ(rankfeed_encoder_mem_req(scribbled, &limits, &need), RANKFEED_E_ARGUMENT);
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(rankfeed_model_get_info(scribbled, &info), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_token_bound(scribbled, 1), UINT32_MAX);
}

TEST_P(MemoryContract, DecodeStaysInsideAndReportsTheNeed) {
  OwnedEncoder encoder(model(), Limits(1000, false));
  for (const std::string& text : Texts()) {
    const std::vector<int32_t> ids = Encode(encoder.get(), text, 0, false).ids;
    size_t need = 0;
    const rankfeed_status asked =
        rankfeed_decode(encoder.get(), ids.data(), ids.size(), 0, nullptr, 0, &need);
    ASSERT_EQ(asked, need == 0 ? RANKFEED_OK : RANKFEED_E_OUTPUT_SIZE);
    std::string full(need, '\0');
    size_t size = 0;
    ASSERT_EQ(rankfeed_decode(encoder.get(), ids.data(), ids.size(), 0, full.data(), need, &size),
              RANKFEED_OK);
    ASSERT_EQ(size, need);
    for (size_t capacity = 0; capacity <= need; ++capacity) {
      std::string out(need + 8, '\x7f');
      const rankfeed_status status =
          rankfeed_decode(encoder.get(), ids.data(), ids.size(), 0, out.data(), capacity, &size);
      ASSERT_EQ(status, capacity < need ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
      ASSERT_EQ(size, need);
      ASSERT_EQ(out.substr(capacity), std::string(need + 8 - capacity, '\x7f'));
      if (status == RANKFEED_OK) {
        ASSERT_EQ(out.substr(0, need), full);
      }
    }
  }
}

TEST_P(MemoryContract, DecodeLimitsAndBadArguments) {
  OwnedEncoder encoder(model(), Limits(4, false));
  const std::vector<int32_t> ids(5, 5);
  size_t size = 0;
  char out[64];
  EXPECT_EQ(rankfeed_decode(encoder.get(), ids.data(), 5, 0, out, sizeof(out), &size),
            RANKFEED_E_LIMIT);
  EXPECT_EQ(rankfeed_decode(encoder.get(), ids.data(), 4, 0, out, sizeof(out), &size), RANKFEED_OK);
  EXPECT_EQ(rankfeed_decode(encoder.get(), nullptr, 1, 0, out, sizeof(out), &size),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_decode(encoder.get(), ids.data(), 1, 0, nullptr, 1, &size),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_decode(encoder.get(), ids.data(), 1, 0, out, sizeof(out), nullptr),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_decode(encoder.get(), ids.data(), 1, 0x80, out, sizeof(out), &size),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_decode(nullptr, ids.data(), 1, 0, out, sizeof(out), &size),
            RANKFEED_E_ARGUMENT);
}

TEST_P(MemoryContract, TokenBoundHoldsAndSaturates) {
  OwnedEncoder encoder(model(), Limits(1000, false));
  for (const std::string& text : Texts()) {
    EXPECT_LE(Encode(encoder.get(), text, RANKFEED_ADD_SPECIAL_TOKENS, false).ids.size(),
              rankfeed_token_bound(model(), text.size()));
  }
  EXPECT_EQ(rankfeed_token_bound(model(), size_t{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(rankfeed_token_bound(model(), SIZE_MAX), UINT32_MAX);
  EXPECT_EQ(rankfeed_token_bound(nullptr, 1), UINT32_MAX);
}

TEST_P(MemoryContract, ModelStorage) {
  const rankfeed_mem_req need = rankfeed_model_mem_req();
  rankfeed_model* opened_model = nullptr;
  const auto open = [&](const void* data, uint32_t flags, void* place, size_t place_size) {
    opened_model = reinterpret_cast<rankfeed_model*>(1);
    return rankfeed_model_open(data, image().size, flags, place, place_size, &opened_model, nullptr);
  };
  Guarded exact(need.size);
  EXPECT_EQ(open(image().data, 0, exact.data(), need.size), RANKFEED_OK);
  EXPECT_EQ(static_cast<void*>(opened_model), exact.data());
  EXPECT_TRUE(exact.OutsideIntact());

  Guarded storage(need.size);
  EXPECT_EQ(open(image().data, 0, storage.data(), need.size - 1), RANKFEED_E_WORKSPACE_SIZE);
  EXPECT_EQ(opened_model, nullptr);
  EXPECT_EQ(open(image().data, 0, nullptr, need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(opened_model, nullptr);
  EXPECT_EQ(open(image().data, 0x40, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(opened_model, nullptr);
  EXPECT_EQ(rankfeed_model_open(image().data, image().size, 0, storage.data(), need.size, nullptr,
                                nullptr),
            RANKFEED_E_ARGUMENT);
  EXPECT_TRUE(storage.Untouched());
  for (size_t offset = 1; offset < need.alignment; ++offset) {
    Guarded shifted(need.size, offset);
    EXPECT_EQ(open(image().data, 0, shifted.data(), need.size), RANKFEED_E_ALIGNMENT);
    EXPECT_EQ(opened_model, nullptr);
    EXPECT_TRUE(shifted.Untouched());
  }

  // Images at fault: the storage may hold anything, but nothing beside it is written.
  EXPECT_EQ(open(nullptr, 0, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(opened_model, nullptr);
  Guarded moved(image().size, 8);
  std::memcpy(moved.data(), image().data, image().size);
  EXPECT_EQ(open(moved.data(), 0, storage.data(), need.size), RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(opened_model, nullptr);
  EXPECT_TRUE(storage.OutsideIntact());
}

RANKFEED_CONTRACT_SUITE(MemoryContract);

}  // namespace
}  // namespace rankfeed::contract
