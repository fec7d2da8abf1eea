// SPDX-License-Identifier: MIT
// serve/log_test.cc: lines of the log from whatever bytes, and a reader that is slow or gone.
#include "serve/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace rankfeed::serve {
namespace {

using Json = nlohmann::json;

std::string JsonLine(std::string_view value) {
  Line line(true, Level::kWarn, "event");
  return std::string(line.Text("value", value).Number("n", 7).bytes());
}

TEST(Line, IsJsonWithTheTextThatWasGiven) {
  for (const std::string& text : {std::string("a b"), std::string("\"quoted\" \\ back"), std::string("ж 漢 😀"), std::string("\x7f\x01\n\t\0\x1b[2J", 9)}) {
    const Json line = Json::parse(JsonLine(text));
    EXPECT_EQ(line["value"], text);
    EXPECT_EQ(line["level"], "warn");
    EXPECT_EQ(line["event"], "event");
    EXPECT_EQ(line["n"], 7);
  }
}

TEST(Line, HasNoControlCharacterWhateverTheBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(round % 2 == 0 ? random() : "\xc2\xc3\x9b\xed\xa0\x80\xf4\x90\xe0\n\""[random() % 11]);
    for (const bool json : {true, false}) {
      Line line(json, Level::kInfo, "event");
      std::string got(line.Text("value", text).bytes());
      ASSERT_EQ(got.back(), '\n');
      got.pop_back();
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_FALSE(static_cast<unsigned char>(got[i]) < 0x20 || got[i] == 0x7f);
        ASSERT_FALSE(got[i] == '\xc2' && static_cast<unsigned char>(got[i + 1]) < 0xa0);  // U+0080 to U+009F
      }
      if (json) {
        ASSERT_TRUE(Json::accept(got)) << got;
      }
    }
  }
}

TEST(Line, ShowsBytesThatAreNoUtf8AsReplacementCharacters) {
  EXPECT_EQ(Json::parse(JsonLine("a\xff\xc0\xaf\xed\xa0\x80z"))["value"], "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz");
  EXPECT_EQ(Json::parse(JsonLine("\xe2\x82"))["value"], "\uFFFD");  // as base/utf8.h counts
}

TEST(Line, CutsLongValuesAndLeavesOutFieldsWithoutRoom) {
  for (const std::string unit : {"a", "\n", "\"", "漢", "😀"}) {
    std::string text;
    while (text.size() < 100'000) text += unit;
    Line line(true, Level::kInfo, "event");
    line.Text("a", text).Text("b", text).Text("short", text, 64).Number("n", 7);
    const std::string_view bytes = line.bytes();
    EXPECT_LE(bytes.size(), 4096u);
    const Json parsed = Json::parse(bytes);
    EXPECT_TRUE(parsed["a"].get<std::string>().ends_with("…"));
    EXPECT_GT(parsed["a"].get<std::string>().size(), Line::kMostValue / 7);
    EXPECT_EQ(parsed.count("b"), 0u);
    EXPECT_LE(parsed["short"].get<std::string>().size(), 64u);
    EXPECT_EQ(parsed["n"], 7);
  }
}

TEST(Line, ReadsAsWordsOnATerminal) {
  Line line(false, Level::kInfo, "request");
  const std::string got(line.Text("path", "/rerank").Text("none", "").Text("note", "two words").Milliseconds("ms", std::chrono::microseconds(1234)).bytes());
  EXPECT_TRUE(got.ends_with("Z info  request path=/rerank note=\"two words\" ms=1.234\n")) << got;
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~Pipe() {
    CloseReader();
    close(ends[1]);
  }
  void CloseReader() {
    if (ends[0] >= 0) close(ends[0]);
    ends[0] = -1;
  }
  // Returns lines until one of this event, that one included.
  std::vector<Json> ReadUntil(std::string_view event) {
    std::vector<Json> out;
    std::string text;
    char byte = 0;
    while (read(ends[0], &byte, 1) == 1) {
      if (byte != '\n') {
        text += byte;
        continue;
      }
      out.push_back(Json::parse(text));
      text.clear();
      if (out.back()["event"] == event) break;
    }
    return out;
  }
  std::array<int, 2> ends{};
};

void Put(Log* log, const char* event, uint64_t n) {
  Line line = log->Begin(Level::kInfo, event);
  log->Put(line.Number("n", n).Text("padding", std::string(200, '.')));
}

TEST(Log, DropsAndCountsWhatASlowReaderDoesNotTake) {
  Pipe pipe;
  Log log({Level::kInfo, true, pipe.ends[1]});
  constexpr uint64_t kLines = 20'000;  // some 6 MB: more than the pipe and both buffers hold
  for (uint64_t i = 0; i < kLines; ++i) Put(&log, "line", i);  // ends though nobody reads
  const uint64_t lost = log.lost();
  EXPECT_GT(lost, 0u);
  Json told;
  std::thread reader([&] { told = pipe.ReadUntil("log_lines_lost"); });
  reader.join();
  ASSERT_EQ(told.back()["event"], "log_lines_lost");
  EXPECT_EQ(told.back()["level"], "warn");
  // Every line is either there, in order, or counted.
  const uint64_t counted = told.back()["lines"];
  EXPECT_LE(counted, lost);
  for (size_t i = 1; i + 1 < told.size(); ++i) ASSERT_LT(told[i - 1]["n"], told[i]["n"]);
  Put(&log, "last", kLines);
  std::vector<Json> rest = pipe.ReadUntil("last");
  EXPECT_EQ(told.size() - 1 + rest.size() - 1 + lost, kLines);
}

TEST(Log, StopsThoughNobodyReads) {
  Pipe pipe;
  uint64_t lost = 0;
  {
    Log log({Level::kInfo, true, pipe.ends[1]});
    for (uint64_t i = 0; i < 20'000; ++i) Put(&log, "line", i);
    log.Stop();
    lost = log.lost();
    Put(&log, "late", 0);
    EXPECT_EQ(log.lost(), lost + 1);
  }
  EXPECT_GT(lost, 0u);
}

TEST(Log, CountsLinesOfAReaderThatIsGone) {
  signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.CloseReader();
  Log log({Level::kInfo, true, pipe.ends[1]});
  for (uint64_t i = 0; i < 100; ++i) Put(&log, "line", i);
  log.Stop();
  EXPECT_GE(log.lost(), 100u);
}

TEST(Log, WritesAllThatWasPutBeforeStop) {
  Pipe pipe;
  {
    Log log({Level::kWarn, true, pipe.ends[1]});
    EXPECT_FALSE(log.Has(Level::kInfo));
    EXPECT_TRUE(log.Has(Level::kError));
    for (uint64_t i = 0; i < 100; ++i) Put(&log, "line", i);
    EXPECT_EQ(log.lost(), 0u);
  }
  close(pipe.ends[1]);
  EXPECT_EQ(pipe.ReadUntil("none").size(), 100u);
  pipe.ends[1] = open("/dev/null", O_WRONLY);
}

TEST(Log, IsOffForADescriptorThatIsClosed) {
  Pipe pipe;
  const int closed = dup(pipe.ends[1]);
  close(closed);
  EXPECT_FALSE(Log({Level::kDebug, true, closed}).Has(Level::kError));
  EXPECT_FALSE(Log({Level::kOff, true, pipe.ends[1]}).Has(Level::kError));
}

}  // namespace
}  // namespace rankfeed::serve
