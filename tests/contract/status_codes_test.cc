// SPDX-License-Identifier: MIT
// Status numbers are part of the ABI: this list only ever grows.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "rankfeed/status.h"

namespace {

constexpr std::pair<rankfeed_status, const char*> kCodes[] = {
    {0, "RANKFEED_OK"},
    {1, "RANKFEED_E_ARGUMENT"},
    {2, "RANKFEED_E_ALIGNMENT"},
    {3, "RANKFEED_E_WORKSPACE_SIZE"},
    {4, "RANKFEED_E_OUTPUT_SIZE"},
    {5, "RANKFEED_E_LIMIT"},
    {6, "RANKFEED_E_STRUCT_SIZE"},
    {20, "RANKFEED_E_IMAGE_MAGIC"},
    {21, "RANKFEED_E_IMAGE_VERSION"},
    {22, "RANKFEED_E_IMAGE_CHECKSUM"},
    {23, "RANKFEED_E_IMAGE_STRUCTURE"},
    {24, "RANKFEED_E_PARSE"},
    {25, "RANKFEED_E_UNSUPPORTED"},
    {26, "RANKFEED_E_PARITY"},
    {27, "RANKFEED_E_PLATFORM"},
    {28, "RANKFEED_E_VOCABULARY"},
    {40, "RANKFEED_E_BUSY"},
    {41, "RANKFEED_E_STATE"},
    {42, "RANKFEED_E_CANCELLED"},
    {43, "RANKFEED_E_DEADLINE"},
    {44, "RANKFEED_E_STALE"},
    {60, "RANKFEED_E_NO_MEMORY"},
    {61, "RANKFEED_E_IO"},
    {80, "RANKFEED_E_DEVICE"},
    {81, "RANKFEED_E_NO_DEVICE"},
    {100, "RANKFEED_E_UNK_ID"},
    {101, "RANKFEED_E_ID_RANGE"},
    {102, "RANKFEED_E_SPECIAL_IN_TEXT"},
    {103, "RANKFEED_E_TRUNCATION"},
    {104, "RANKFEED_E_TOO_LONG"},
    {105, "RANKFEED_E_NOT_FOUND"},
};

// The numbers as the header spells them; a renumbering does not compile.
static_assert(RANKFEED_OK == 0 && RANKFEED_E_ARGUMENT == 1 && RANKFEED_E_ALIGNMENT == 2 &&
              RANKFEED_E_WORKSPACE_SIZE == 3 && RANKFEED_E_OUTPUT_SIZE == 4 &&
              RANKFEED_E_LIMIT == 5 && RANKFEED_E_STRUCT_SIZE == 6);
static_assert(RANKFEED_E_IMAGE_MAGIC == 20 && RANKFEED_E_IMAGE_VERSION == 21 &&
              RANKFEED_E_IMAGE_CHECKSUM == 22 && RANKFEED_E_IMAGE_STRUCTURE == 23 &&
              RANKFEED_E_PARSE == 24 && RANKFEED_E_UNSUPPORTED == 25 && RANKFEED_E_PARITY == 26 &&
              RANKFEED_E_PLATFORM == 27 && RANKFEED_E_VOCABULARY == 28);
static_assert(RANKFEED_E_BUSY == 40 && RANKFEED_E_STATE == 41 && RANKFEED_E_CANCELLED == 42 &&
              RANKFEED_E_DEADLINE == 43 && RANKFEED_E_STALE == 44 && RANKFEED_E_NO_MEMORY == 60 && RANKFEED_E_IO == 61 &&
              RANKFEED_E_DEVICE == 80 && RANKFEED_E_NO_DEVICE == 81);
static_assert(RANKFEED_E_UNK_ID == 100 && RANKFEED_E_ID_RANGE == 101 &&
              RANKFEED_E_SPECIAL_IN_TEXT == 102 && RANKFEED_E_TRUNCATION == 103 &&
              RANKFEED_E_TOO_LONG == 104 && RANKFEED_E_NOT_FOUND == 105);
static_assert(sizeof(rankfeed_status) == 4);

TEST(StatusCodes, EveryCodeHasItsNameAndASentence) {
  for (const auto& [code, name] : kCodes) {
    EXPECT_STREQ(rankfeed_status_name(code), name);
    const std::string message = rankfeed_status_message(code);
    EXPECT_GT(message.size(), 1u) << name;
  }
  // Documents, presets, tokens and modes that are not there.
  EXPECT_STREQ(rankfeed_status_message(RANKFEED_E_NOT_FOUND), "no such document, name or token");
}

TEST(StatusCodes, AnyOtherNumberIsAnsweredToo) {
  const std::string unknown = rankfeed_status_name(-1);
  EXPECT_EQ(unknown, "RANKFEED_E_?");
  size_t known = 0;
  for (rankfeed_status code = -5; code < 300; ++code) {
    ASSERT_NE(rankfeed_status_name(code), nullptr);
    ASSERT_NE(rankfeed_status_message(code), nullptr);
    known += rankfeed_status_name(code) != unknown;
  }
  EXPECT_EQ(known, std::size(kCodes)) << "a code without a line in this test";
  EXPECT_NE(rankfeed_status_message(INT32_MIN), nullptr);
  EXPECT_NE(rankfeed_status_message(INT32_MAX), nullptr);
}

}  // namespace
