// SPDX-License-Identifier: MIT
// workload_test.cc: traces read and written, every refusal with its line, synthetic arrivals; and the recorder,
// whose files the reader takes.
#include "measure/workload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "rankfeed/recorder.h"
#include "measure/run_fixture.h"

namespace rankfeed::test {
namespace {

class TraceFile {
 public:
  explicit TraceFile(const std::string& content = "") {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("workload_test." + std::to_string(getpid()) + "." + std::to_string(number++))).string();
    if (!content.empty()) std::ofstream(path_, std::ios::binary) << content;
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Refusal(const std::string& content) {
  const TraceFile file(content);
  try {
    (void)ReadTrace(file.path());
  } catch (const std::runtime_error& e) {
    return std::string(e.what()).substr(file.path().size());
  }
  return "";
}

TEST(Workload, ReadsAllKindsOfCandidates) {
  const TraceFile file(
      "{\"rankfeed_trace\":1}\n{\"t\":5.0,\"query\":\"q\",\"candidates\":[\"a\",{\"text\":\"b\"},{\"ids\":[1,2]},{\"id\":7}]}\n\n"
      "{\"t\":5.5,\"query\":\"q\",\"candidates\":[\"a\"]}");
  const Workload w =
      ReadTrace(file.path(), [](const std::string& id, Workload* workload, Candidate* out) {
        *out = {workload->AddText("document " + id), false};
        return true;
      });
  ASSERT_EQ(w.requests.size(), 2u);
  EXPECT_EQ(w.requests[0].arrival_s, 0);
  EXPECT_EQ(w.requests[1].arrival_s, 0.5);
  EXPECT_EQ(w.texts, (std::vector<std::string>{"q", "a", "b", "document 7"}));
  EXPECT_TRUE(w.requests[0].candidates[2].tokenized);
  EXPECT_EQ(w.token_lists[0], (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(w.CandidateTexts(), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(w.MostCandidates(), 4u);
}

TEST(Workload, RefusesWithLineAndReason) {
  EXPECT_NE(Refusal("{}\n").find(":1: no string field \"query\""), std::string::npos);
  EXPECT_NE(Refusal("{\"rankfeed_trace\":2}\n").find("version"), std::string::npos);
  EXPECT_NE(Refusal("{\"t\":0,\"query\":\"q\",\"candidates\":[\"a\"]}\nnonsense\n").find(":2:"), std::string::npos);
  EXPECT_NE(Refusal("{\"t\":0,\"query\":\"q\",\"candidates\":[]}\n").find("empty"), std::string::npos);
  EXPECT_NE(Refusal("{\"t\":0,\"query\":\"q\",\"candidates\":[3]}\n").find("neither"), std::string::npos);
  EXPECT_NE(Refusal("{\"t\":0,\"query\":\"q\",\"candidates\":[{\"ids\":[-1]}]}\n").find("no ids"), std::string::npos);
  EXPECT_NE(Refusal("{\"t\":0,\"query\":\"q\",\"candidates\":[{\"id\":\"x\"}]}\n").find("\"x\" is not known"), std::string::npos);
  EXPECT_NE(Refusal("{\"query\":\"q\",\"candidates\":[\"a\"]}\n").find("\"t\""), std::string::npos);
  EXPECT_NE(Refusal("{\"t\":1,\"query\":\"q\",\"candidates\":[\"a\"]}\n{\"t\":0,\"query\":\"q\",\"candidates\":[\"a\"]}\n").find("backwards"),
            std::string::npos);
  EXPECT_NE(Refusal("{\"rankfeed_trace\":1}\n").find("no request"), std::string::npos);
  EXPECT_THROW((void)ReadTrace("/no/such/file"), std::runtime_error);
}

TEST(Workload, WrittenAndReadAgain) {
  const Workload made = SmallWorkload(10, 5, 50);
  const TraceFile file;
  std::ofstream(file.path()) << TraceText(made);
  const Workload read = ReadTrace(file.path());
  ASSERT_EQ(read.requests.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(read.requests[i].arrival_s, made.requests[i].arrival_s, 1e-6);
    EXPECT_EQ(read.texts[read.requests[i].query], made.texts[made.requests[i].query]);
    for (size_t c = 0; c < 5; ++c) {
      EXPECT_EQ(read.texts[read.requests[i].candidates[c].index], made.texts[made.requests[i].candidates[c].index]);
    }
  }
}

TEST(Workload, SyntheticIsRepeatableAndArrivesAtItsRate) {
  const Workload a = SmallWorkload(2000, 3, 100), b = SmallWorkload(2000, 3, 100);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_NEAR(a.DurationSeconds(), 20, 2);  // 4.5 standard deviations
  EXPECT_NE(a.hash, SmallWorkload(2000, 4, 100).hash);
  EXPECT_EQ(SmallWorkload(10, 3).DurationSeconds(), 0);
}

TEST(Recorder, WritesWhatTheReaderTakes) {
  const TraceFile file;
  rankfeed_recorder* recorder = nullptr;
  ASSERT_EQ(rankfeed_recorder_open(file.path().c_str(), nullptr, &recorder), RANKFEED_OK);
  const rankfeed_text candidates[] = {{"one", 3}, {"t\"wo\n", 5}, {"bad \xff byte", 10}};
  EXPECT_EQ(rankfeed_recorder_add(recorder, 1000000000, {"query", 5}, candidates, 3), RANKFEED_OK);
  EXPECT_EQ(rankfeed_recorder_add(recorder, 1500000000, {"", 0}, candidates, 1), RANKFEED_OK);
  EXPECT_EQ(rankfeed_recorder_add(recorder, 1200000000, {"late", 4}, candidates, 1), RANKFEED_OK);
  EXPECT_EQ(rankfeed_recorder_add(recorder, 1, {"q", 1}, candidates, 0), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_recorder_count(recorder), 3u);
  EXPECT_EQ(rankfeed_recorder_close(recorder), RANKFEED_OK);
  const Workload w = ReadTrace(file.path());
  ASSERT_EQ(w.requests.size(), 3u);
  EXPECT_EQ(w.texts[w.requests[0].candidates[1].index], "t\"wo\n");
  EXPECT_EQ(w.texts[w.requests[0].candidates[2].index], "bad \xef\xbf\xbd byte");
  EXPECT_EQ(w.requests[1].arrival_s, 0.5);
  EXPECT_EQ(w.requests[2].arrival_s, 0.5);
  // An existing file is not written over.
  EXPECT_EQ(rankfeed_recorder_open(file.path().c_str(), nullptr, &recorder), RANKFEED_E_IO);
  EXPECT_EQ(recorder, nullptr);
}

TEST(Recorder, SamplesLimitsAndThreads) {
  const TraceFile sampled, limited;
  rankfeed_recorder_options options{};
  options.struct_size = sizeof(options);
  options.one_in = 10;
  rankfeed_recorder* recorder = nullptr;
  ASSERT_EQ(rankfeed_recorder_open(sampled.path().c_str(), &options, &recorder), RANKFEED_OK);
  const rankfeed_text candidate{"text of a candidate", 19};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) EXPECT_EQ(rankfeed_recorder_add(recorder, 0, {"q", 1}, &candidate, 1), RANKFEED_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rankfeed_recorder_count(recorder), 400u);
  EXPECT_EQ(rankfeed_recorder_close(recorder), RANKFEED_OK);
  EXPECT_EQ(ReadTrace(sampled.path()).requests.size(), 400u);

  options = {};
  options.struct_size = sizeof(options);
  options.max_bytes = 500;
  ASSERT_EQ(rankfeed_recorder_open(limited.path().c_str(), &options, &recorder), RANKFEED_OK);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rankfeed_recorder_add(recorder, 0, {"q", 1}, &candidate, 1), RANKFEED_OK);
  EXPECT_EQ(rankfeed_recorder_close(recorder), RANKFEED_OK);
  EXPECT_LE(std::filesystem::file_size(limited.path()), 500u);
  EXPECT_GE(ReadTrace(limited.path()).requests.size(), 3u);
  EXPECT_EQ(rankfeed_recorder_open(nullptr, nullptr, &recorder), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_recorder_close(nullptr), RANKFEED_OK);
}

}  // namespace
}  // namespace rankfeed::test
