// SPDX-License-Identifier: MIT
// rankfeed_encoder_trim: how much of the scratch is resident after a text that normalization makes
// many times longer, within the bound of docs/memory.md; how little after the trim; that no output
// changes. rankfeed_encoder_warm: what the first text still has to wait for.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "contract_models.h"
#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "support/sanitizers.h"

namespace rankfeed::contract {
namespace {

// docs/memory.md: bytes of scratch touched for each normalized byte, and what every encoder has.
constexpr size_t kPerByte = 26, kPerByteWithOffsets = 42;
constexpr size_t kFixed = size_t{512} << 10;

// Private anonymous pages; nothing of them is resident before they are touched.
class Pages {
 public:
  explicit Pages(size_t size, int flags = MAP_PRIVATE) : size_(size) {
    data_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    madvise(data_, size, MADV_NOHUGEPAGE);  // where there are none, it does not matter
  }
  ~Pages() { munmap(data_, size_); }
  Pages(const Pages&) = delete;
  void* data() const { return data_; }
  size_t Resident() const {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> in((size_ + page - 1) / page);
    if (mincore(data_, size_, in.data()) != 0) return SIZE_MAX;
    size_t bytes = 0;
    for (const unsigned char one : in) bytes += (one & 1) * page;
    return bytes;
  }

 private:
  size_t size_;
  void* data_;
};

// For fuzz/run.py --scratch.
void Say(const char* text, bool with_offsets, size_t bytes, size_t normalized, size_t touched,
         size_t after_trim) {
  std::printf("{\"text\": \"%s\", \"offsets\": %s, \"bytes\": %zu, \"normalized\": %zu, "
              "\"touched\": %zu, \"after_trim\": %zu}\n",
              text, with_offsets ? "true" : "false", bytes, normalized, touched, after_trim);
}

class EncoderTrim : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint32_t kTextBytes = 300'000;

  explicit EncoderTrim(int map_flags = MAP_PRIVATE)
      : model_(SentencePieceSource()), limits_(Limits(kTextBytes, GetParam(), 4096)) {
    rankfeed_mem_req need{};
    EXPECT_EQ(rankfeed_encoder_mem_req(model_.get(), &limits_, &need), RANKFEED_OK);
    pages_ = std::make_unique<Pages>(need.size, map_flags);
    EXPECT_EQ(rankfeed_encoder_init(model_.get(), &limits_, pages_->data(), need.size, &encoder_),
              RANKFEED_OK);
  }

  std::vector<int32_t> Encode(const std::string& text) {
    std::vector<int32_t> ids(rankfeed_token_bound(model_.get(), text.size()));
    rankfeed_encoding io{};
    io.struct_size = sizeof io;
    io.capacity = static_cast<uint32_t>(ids.size());
    io.input_ids = ids.data();
    EXPECT_EQ(rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io), RANKFEED_OK);
    ids.resize(io.count);
    return ids;
  }

  OpenModel model_;
  rankfeed_limits limits_;
  std::unique_ptr<Pages> pages_;
  rankfeed_encoder* encoder_ = nullptr;
};

TEST_P(EncoderTrim, PagesThatAHostileTextTouchedAreHandedBack) {
  const std::string plain = "ab ba a b \xc3\xa9";
  const std::vector<int32_t> expected_plain = Encode(plain);
  Encode(std::string(4000, 'G'));  // fills the arrays of the fast road, which trim keeps
  const size_t fresh = pages_->Resident();
  // Each becomes "ab ab ab": 8 bytes, 12 with U+2581. The last character has no piece, so its bytes
  // take its place and all of the text is normalized in scratch.
  constexpr size_t kGrowing = 4000;
  const std::string growing = std::string(kGrowing, 'G') + "\xc3\xb1";
  const std::vector<int32_t> expected = Encode(growing);
  size_t touched = pages_->Resident();
  const size_t normalized = kGrowing * 12 + 5;
  EXPECT_GT(touched, fresh + 10 * normalized);  // there is something to hand back
  EXPECT_LE(touched, normalized * (GetParam() ? kPerByteWithOffsets : kPerByte) + kFixed);

  size_t dropped = 0;
  ASSERT_EQ(rankfeed_encoder_trim(encoder_, &dropped), RANKFEED_OK);
  EXPECT_GE(dropped, touched - kFixed);
  EXPECT_LE(pages_->Resident(), fresh + kFixed / 8);
  Say("a character that becomes 12 bytes", GetParam(), kTextBytes, normalized, touched,
      pages_->Resident());

  EXPECT_EQ(Encode(plain), expected_plain);
  EXPECT_EQ(Encode(growing), expected);
  EXPECT_EQ(rankfeed_encoder_trim(encoder_, nullptr), RANKFEED_OK);
  EXPECT_EQ(Encode(growing), expected);

  // The same in a text that nearly fills the arrays.
  constexpr size_t kMost = 43'000;
  const std::string longer = std::string(kMost, 'G') + "\xc3\xb1";
  const std::vector<int32_t> expected_longer = Encode(longer);
  touched = pages_->Resident();
  EXPECT_LE(touched, (kMost * 12 + 5) * (GetParam() ? kPerByteWithOffsets : kPerByte) + kFixed);
  EXPECT_EQ(expected_longer.back(), expected.back());
  EXPECT_EQ(rankfeed_encoder_trim(encoder_, nullptr), RANKFEED_OK);
  EXPECT_LE(pages_->Resident(), fresh + kFixed / 8);
  EXPECT_EQ(Encode(longer), expected_longer);
}

// The character that published vocabularies make longest: 33 bytes of 3. The NUL after them takes all
// of them to the general path.
TEST_P(EncoderTrim, OfARealVocabularyAndItsLongestCharacter) {
  const char* const source = std::getenv("RANKFEED_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  rankfeed_loaded* loaded = nullptr;
  ASSERT_EQ(rankfeed_load((std::string(source) + "/data/default.model").c_str(), nullptr, &loaded,
                          nullptr),
            RANKFEED_OK);
  const rankfeed_model* model = rankfeed_loaded_model(loaded);
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_encoder_mem_req(model, &limits_, &need), RANKFEED_OK);
  const Pages pages(need.size);
  rankfeed_encoder* encoder = nullptr;
  ASSERT_EQ(rankfeed_encoder_init(model, &limits_, pages.data(), need.size, &encoder), RANKFEED_OK);
  for (const uint32_t bytes : {10'000, 39'000}) {
    std::string text;
    while (text.size() + 4 <= bytes) text += "\xef\xb7\xba";
    text += '\0';
    std::vector<int32_t> ids(rankfeed_token_bound(model, text.size()));
    rankfeed_encoding io{};
    io.struct_size = sizeof io;
    io.capacity = static_cast<uint32_t>(ids.size());
    io.input_ids = ids.data();
    ASSERT_EQ(rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io), RANKFEED_OK);
    EXPECT_GT(io.count, text.size() / 3);
    const size_t touched = pages.Resident(), normalized = text.size() / 3 * 33 + 3;
    EXPECT_GT(touched, normalized);
    EXPECT_LE(touched, normalized * (GetParam() ? kPerByteWithOffsets : kPerByte) + kFixed);
    ASSERT_EQ(rankfeed_encoder_trim(encoder, nullptr), RANKFEED_OK);
    EXPECT_LE(pages.Resident(), kFixed);
    Say("U+FDFA and a NUL, data/default.model", GetParam(), text.size(), normalized, touched, pages.Resident());
  }
  rankfeed_loaded_free(loaded);
}

TEST_P(EncoderTrim, LockedPagesAreRefusedAndTheEncoderStaysUsable) {
  if (kSanitized) GTEST_SKIP() << "mlock does nothing under a sanitizer";
  const std::string text(1000, 'G');
  const std::vector<int32_t> expected = Encode(text);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const middle = static_cast<char*>(pages_->data()) + 16 * page;
  if (mlock(middle, page) != 0) GTEST_SKIP() << "this process may not lock memory";
  size_t dropped = 1;
  EXPECT_EQ(rankfeed_encoder_trim(encoder_, &dropped), RANKFEED_E_IO);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(Encode(text), expected);
  munlock(middle, page);
}

TEST_P(EncoderTrim, ScratchSmallerThanAPageHasNothingToHandBack) {
  rankfeed_limits limits = Limits(8, GetParam());
  const OwnedEncoder small(model_.get(), limits);
  size_t dropped = 1;
  EXPECT_EQ(rankfeed_encoder_trim(small.get(), &dropped), RANKFEED_OK);
  EXPECT_LT(dropped, size_t{64} << 10);
}

TEST_P(EncoderTrim, NoEncoder) {
  size_t dropped = 1;
  EXPECT_EQ(rankfeed_encoder_trim(nullptr, &dropped), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(dropped, 0u);
}

// Pages that the first text makes resident, in an encoder that was warmed and in one that was not.
TEST(EncoderWarm, TheFirstTextWaitsForLessMemory) {
  const OpenModel model(HuggingFaceSource());
  ASSERT_EQ(rankfeed_model_off_fast_road(model.get()), nullptr);
  const rankfeed_limits limits = Limits(1000, false, size_t{64} << 10);
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_encoder_mem_req(model.get(), &limits, &need), RANKFEED_OK);
  const std::string text = "ab ba a b ab ab ba";
  size_t touched[2];
  std::vector<int32_t> ids[2];
  for (const bool warm : {false, true}) {
    const Pages pages(need.size);
    rankfeed_encoder* encoder = nullptr;
    ASSERT_EQ(rankfeed_encoder_init(model.get(), &limits, pages.data(), need.size, &encoder), RANKFEED_OK);
    if (warm) {
      ASSERT_EQ(rankfeed_encoder_warm(encoder), RANKFEED_OK);
    }
    const size_t before = pages.Resident();
    ids[warm].resize(100);
    rankfeed_encoding io{};
    io.struct_size = sizeof io;
    io.capacity = 100;
    io.input_ids = ids[warm].data();
    ASSERT_EQ(rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io), RANKFEED_OK);
    touched[warm] = pages.Resident() - before;
  }
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_LT(touched[1], touched[0]);
  EXPECT_LE(touched[1], 8 * static_cast<size_t>(sysconf(_SC_PAGESIZE)));  // what grows with the text
  EXPECT_EQ(rankfeed_encoder_warm(nullptr), RANKFEED_E_ARGUMENT);
}

// The advice that the kernel keeps for the mapping that an address lies in: its "VmFlags" of
// /proc/self/smaps.
std::string FlagsOf(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= wanted && wanted < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

// An encoder whose cache holds whole huge pages asks for them there, and asks for none where it
// only works: pages that ordinary text leaves untouched would be made resident by the megabyte.
TEST(EncoderPages, TheCacheAsksForHugeOnes) {
  constexpr size_t kHuge = size_t{2} << 20;
  const OpenModel model(HuggingFaceSource());
  const rankfeed_limits limits = Limits(1000, false, size_t{8} << 20);
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_encoder_mem_req(model.get(), &limits, &need), RANKFEED_OK);
  ASSERT_GT(need.size, 2 * kHuge);
  void* memory =
      mmap(nullptr, need.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  if (madvise(memory, need.size, MADV_HUGEPAGE) != 0)
    GTEST_SKIP() << "SKIPPED: a kernel without transparent huge pages";
  madvise(memory, need.size, MADV_NOHUGEPAGE);
  rankfeed_encoder* encoder = nullptr;
  ASSERT_EQ(rankfeed_encoder_init(model.get(), &limits, memory, need.size, &encoder), RANKFEED_OK);
  char* const last =
      static_cast<char*>(memory) + need.size - kHuge - 1;  // in the cache, which comes last
  if (FlagsOf(last).empty()) GTEST_SKIP() << "SKIPPED: the kernel shows no smaps";
  EXPECT_NE(FlagsOf(last).find(" hg "), std::string::npos) << FlagsOf(last);
  EXPECT_EQ(FlagsOf(memory).find(" hg "), std::string::npos) << FlagsOf(memory);
  ASSERT_EQ(rankfeed_encoder_warm(encoder), RANKFEED_OK);
  munmap(memory, need.size);
}

INSTANTIATE_TEST_SUITE_P(Offsets, EncoderTrim, testing::Bool());

TEST(MaxTextBytes, IsTheLastThatAnEncoderCanHave) {
  for (const std::string& source : {SentencePieceSource(), HuggingFaceSource()}) {
    const OpenModel model(source);
    const uint32_t most = rankfeed_max_text_bytes(model.get());
    EXPECT_EQ(most, 0x7ffffffeu);  // scratch does not grow with the text
    rankfeed_mem_req need{};
    rankfeed_limits limits = Limits(most, false);
    EXPECT_EQ(rankfeed_encoder_mem_req(model.get(), &limits, &need), RANKFEED_OK) << most;
    limits = Limits(most + 1, false);
    EXPECT_EQ(rankfeed_encoder_mem_req(model.get(), &limits, &need), RANKFEED_E_LIMIT) << most;
    limits = Limits(most, true);  // nor with offsets
    EXPECT_EQ(rankfeed_encoder_mem_req(model.get(), &limits, &need), RANKFEED_OK);
    limits = Limits(most + 1, true);
    EXPECT_EQ(rankfeed_encoder_mem_req(model.get(), &limits, &need), RANKFEED_E_LIMIT);
  }
  EXPECT_EQ(rankfeed_max_text_bytes(nullptr), 0u);
}

}  // namespace
}  // namespace rankfeed::contract
