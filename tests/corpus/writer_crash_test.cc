// SPDX-License-Identifier: MIT
// Crashes of src/corpus_builder/writer.cc. Three kinds:
//   power:  every operation of a writer is recorded; for every moment, and for many choices of what
//           of the unsynced writes reached the disk, whole or torn, the file must open as the last
//           acknowledged state or the one under way, and take further commits;
//   kill:   a writing process is killed at random times;
//   errors: each write, sync and rename fails in turn; disk full; file size limit.
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "builder/base/model_spec.h"
#include "corpus_builder/rewrite.h"
#include "corpus_files.h"
#include "support/faults.h"
#include "support/sanitizers.h"

namespace rankfeed::corpus_test {
namespace {

using builder::BuildError;
using corpus_builder::FileObserver;
using corpus_builder::Writer;
using Operation = FileObserver::Operation;

struct Event {
  Operation operation;
  std::string path;
  std::vector<uint8_t> data;  // kWrite: bytes; kRename: target path
  uint64_t offset = 0;
};

class Recorder : public FileObserver {
 public:
  Recorder() { corpus_builder::SetFileObserver(this); }
  ~Recorder() override { corpus_builder::SetFileObserver(nullptr); }
  int Before(Operation operation, const std::string& path, const void* data, size_t size,
             uint64_t offset) override {
    if (events.size() == fail_at) return EIO;
    const auto* bytes = static_cast<const uint8_t*>(data);
    events.push_back({operation, path, {bytes, bytes + size}, offset});
    return 0;
  }
  std::vector<Event> events;
  size_t fail_at = SIZE_MAX;
};

using Bytes = std::vector<uint8_t>;
using Disk = std::map<std::string, Bytes>;

void Apply(const Event& event, size_t size, Disk* disk) {
  Bytes& file = (*disk)[event.path];
  if (event.operation == Operation::kTruncate) {
    file.resize(event.offset);
  } else if (size != 0) {
    file.resize(std::max<size_t>(file.size(), event.offset + size));
    std::copy_n(event.data.begin(), size, file.begin() + static_cast<long>(event.offset));
  }
}

// What may be on the disk after the first `count` events: of what was not synced, each piece whole,
// torn or not at all, as choose() says (0 to 2).
template <class Choose>
Disk Survivors(const std::vector<Event>& events, size_t count, Disk disk, Choose choose,
               std::mt19937_64* random) {
  std::vector<const Event*> pending;  // not known to be on the disk
  const auto settle = [&](const std::string& path) {
    std::vector<const Event*> rest;
    for (const Event* event : pending) {
      if (event->path == path) {
        Apply(*event, event->data.size(), &disk);
      } else {
        rest.push_back(event);
      }
    }
    pending = rest;
  };
  const auto rename = [&](const Event& event) {
    const std::string to(event.data.begin(), event.data.end());
    disk[to] = disk[event.path];
    disk.erase(event.path);
  };
  for (size_t i = 0; i < count; ++i) {
    const Event& event = events[i];
    switch (event.operation) {
      case Operation::kWrite:
      case Operation::kTruncate:
      case Operation::kRename:
        pending.push_back(&event);
        break;
      case Operation::kSync:
        settle(event.path);
        break;
      case Operation::kSyncDirectory: {
        std::vector<const Event*> rest;
        for (const Event* p : pending) {
          if (p->operation == Operation::kRename) {
            rename(*p);
          } else {
            rest.push_back(p);
          }
        }
        pending = rest;
      }
    }
  }
  for (const Event* event : pending) {
    const int choice = choose();
    if (choice == 0) continue;
    if (event->operation == Operation::kRename) {
      rename(*event);
      continue;
    }
    const size_t size = event->data.size();
    Apply(*event, choice == 1 || size == 0 ? size : (*random)() % size, &disk);
  }
  return disk;
}

// A history of commits, recorded.
struct History {
  std::vector<Event> events;
  std::vector<size_t> acknowledged;  // events before commit i returned
  std::vector<Contents> states;      // after commit i; states[0] is what was there before
  Disk before;
};

// Replays all crashes of a history whose store is at path.
void CheckAllCrashes(const History& history, const std::string& path, uint64_t seed, int variants) {
  std::mt19937_64 random(seed);
  TempDir scratch;
  for (size_t count = 0; count <= history.events.size(); ++count) {
    size_t state = 0;  // last acknowledged
    while (state < history.acknowledged.size() && history.acknowledged[state] <= count) ++state;
    for (int variant = 0; variant < variants; ++variant) {
      const auto choose = [&]() -> int {
        return variant < 2 ? variant : static_cast<int>(random() % 3);
      };
      Disk disk = Survivors(history.events, count, history.before, choose, &random);
      SCOPED_TRACE(testing::Message() << "after event " << count << ", variant " << variant);
      if (!disk.contains(path)) {
        ASSERT_TRUE(history.before.empty() && state == 0);
        continue;
      }
      const std::string copy = scratch / "crashed.rfc";
      WriteFile(copy, disk[path]);
      const Contents contents = DumpFile(copy);
      const bool under_way =
          state + 1 < history.states.size() && contents == history.states[state + 1];
      ASSERT_TRUE(contents == history.states[state] || under_way);
      if (variant % 4 == 2) {  // life goes on
        auto writer = Writer::Append(copy);
        Put(&writer, "after", {9});
        writer.Commit();
        Contents more = contents;
        more["after"] = {9};
        ASSERT_EQ(DumpFile(copy), more);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  test::ReportFaults("power cuts of the corpus writer",
                     (history.events.size() + 1) * static_cast<size_t>(variants));
}

TEST(CorpusCrash, PowerCutAtAnyMomentOfAnAppend) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  History history;
  Contents contents;
  for (int i = 0; i < 12; ++i) contents[std::to_string(i)] = SomeIds(i, 10);
  MakeStore(path, contents);
  history.before[path] = ReadFile(path);
  history.states.push_back(contents);
  {
    Recorder recorder;
    auto writer = Writer::Append(path);
    for (int commit = 0; commit < 6; ++commit) {
      for (int i = 0; i < 3; ++i) {
        const std::string id = std::to_string(5 * commit + 4 * i);
        contents[id] = SomeIds(100 * commit + i, 8);
        Put(&writer, id, contents[id]);
      }
      writer.Remove(std::to_string(5 * commit));
      contents.erase(std::to_string(5 * commit));
      writer.Commit();
      history.acknowledged.push_back(recorder.events.size());
      history.states.push_back(contents);
    }
    Put(&writer, "never committed", SomeIds(1, 300'000));
    history.events = recorder.events;
  }
  CheckAllCrashes(history, path, 1, kSanitized ? 4 : 10);
}

TEST(CorpusCrash, PowerCutAtAnyMomentOfABuildOrACompaction) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  History history;
  history.states.push_back({});
  Contents contents;
  {
    Recorder recorder;
    auto writer = Writer::Create(path, TestHeader());
    for (int i = 0; i < 20; ++i) {
      contents[std::to_string(i)] = SomeIds(i, 10);
      Put(&writer, std::to_string(i), contents[std::to_string(i)]);
    }
    writer.Commit();
    history.acknowledged.push_back(recorder.events.size());
    history.states.push_back(contents);
    history.events = recorder.events;
  }
  CheckAllCrashes(history, path, 2, 10);

  // Over a store that is there, and in place.
  {
    auto writer = Writer::Append(path);
    writer.Remove("3");
    writer.Commit();
    contents.erase("3");
  }
  History compaction;
  compaction.before[path] = ReadFile(path);
  compaction.states = {contents, contents};
  {
    Recorder recorder;
    corpus_builder::Compact(path);
    compaction.acknowledged.push_back(recorder.events.size());
    compaction.events = recorder.events;
  }
  CheckAllCrashes(compaction, path, 3, 10);
  EXPECT_EQ(DumpFile(path), contents);
}

TEST(CorpusCrash, EveryFailingOperationLeavesAWholeStore) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const Contents before = {{"x", {1}}, {"y", {2}}};
  Contents after = before;
  after["x"] = {3};
  after["z"] = SomeIds(1, 300'000);  // more than the buffer holds
  size_t failures = 0;
  for (size_t fail_at = 0;; ++fail_at) {
    MakeStore(path, before);
    bool failed = false;
    {
      Recorder recorder;
      recorder.fail_at = fail_at;
      try {
        auto writer = Writer::Append(path);
        try {
          Put(&writer, "x", {3});
          Put(&writer, "z", after["z"]);
          writer.Commit();
        } catch (const BuildError& error) {
          EXPECT_EQ(error.code, RANKFEED_E_IO);
          failed = true;
          // Nothing else is possible, and nothing gets worse.
          try {
            writer.Commit();
            ADD_FAILURE() << "commit after a failure";
          } catch (const BuildError& again) {
            EXPECT_EQ(again.code, RANKFEED_E_STATE);
          }
        }
      } catch (const BuildError& error) {
        EXPECT_EQ(error.code, RANKFEED_E_IO);
        failed = true;
      }
    }
    const Contents contents = DumpFile(path);
    EXPECT_TRUE(contents == before || contents == after) << "operation " << fail_at;
    auto writer = Writer::Append(path);
    Put(&writer, "later", {4});
    writer.Commit();
    EXPECT_EQ(DumpFile(path).size(), contents.size() + 1);
    if (!failed) break;
    ++failures;
  }
  test::ReportFaults("file operations of the corpus writer", failures);
  EXPECT_GE(failures, 7u);  // two blocks, padding, entries, slots, commits, syncs
}

TEST(CorpusCrash, EveryFailingOperationOfABuildLeavesTheOldStore) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const Contents before = {{"x", {1}}}, after = {{"y", {2}}};
  size_t failures = 0;
  for (size_t fail_at = 0;; ++fail_at) {
    MakeStore(path, before);
    bool failed = false;
    {
      Recorder recorder;
      recorder.fail_at = fail_at;
      try {
        MakeStore(path, after);
      } catch (const BuildError& error) {
        EXPECT_EQ(error.code, RANKFEED_E_IO);
        failed = true;
      }
    }
    const Contents contents = DumpFile(path);
    // Only the sync of the folder comes after the rename.
    EXPECT_TRUE(contents == (failed ? before : after) || contents == after);
    EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
    if (!failed) break;
    ++failures;
  }
  test::ReportFaults("file operations of the corpus writer", failures);
  EXPECT_GE(failures, 8u);
}

// Runs f in a child process; its exit code, or -signal.
template <class F>
int InChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = f();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(CorpusCrash, FileSizeLimitIsAnErrorAndTheStoreStays) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const Contents before = {{"x", SomeIds(1, 1000)}};
  MakeStore(path, before);
  const uint64_t size = std::filesystem::file_size(path);
  for (const uint64_t room : {0u, 1u, 100u, 4096u, 100'000u, 2'000'000u}) {
    const int code = InChild([&] {
      signal(SIGXFSZ, SIG_IGN);  // the write then fails with EFBIG, after a short one
      const rlimit limit{size + room, size + room};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
      try {
        auto writer = Writer::Append(path);
        for (int i = 0; i < 20; ++i) Put(&writer, std::to_string(i), SomeIds(i, 100'000));
        writer.Commit();
      } catch (const BuildError& error) {
        return error.code == RANKFEED_E_IO ? 7 : 97;
      }
      return 0;
    });
    EXPECT_EQ(code, 7) << room;
    EXPECT_EQ(std::filesystem::file_size(path), size) << room;
    EXPECT_EQ(DumpFile(path), before);
  }
}

TEST(CorpusCrash, FullDiskIsAnError) {
  auto full = corpus_builder::File::OpenExisting("/dev/full");
  try {
    full.Write("x", 1, 0);
    FAIL() << "not refused";
  } catch (const BuildError& error) {
    EXPECT_EQ(error.code, RANKFEED_E_IO);
    EXPECT_NE(std::string(error.what()).find(strerror(ENOSPC)), std::string::npos) << error.what();
  }
}

// Document i of a store that a killed child wrote holds SomeIds(i, ...): so any state of the store
// tells how many documents were committed.
Ids KillIds(uint64_t i) {
  return SomeIds(i, i % 50);
}

TEST(CorpusCrash, KilledWriterLeavesItsLastCommit) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {});
  std::mt19937_64 random(9);
  uint64_t most = 0;
  for (int round = 0; round < (kSanitized ? 15 : 60); ++round) {
    int acknowledge[2];
    ASSERT_EQ(pipe(acknowledge), 0);
    const pid_t child = fork();
    if (child == 0) {
      try {
        auto writer = Writer::Append(path);
        for (uint64_t i = most;; ++i) {
          Put(&writer, std::to_string(i), KillIds(i));
          if (i % 3 != 2) continue;
          writer.Commit();
          const uint64_t committed = i + 1;
          if (write(acknowledge[1], &committed, sizeof(committed)) != sizeof(committed)) _exit(1);
        }
      } catch (...) {
      }
      _exit(2);
    }
    close(acknowledge[1]);
    usleep(static_cast<useconds_t>(random() % 30'000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself: " << WEXITSTATUS(status);
    uint64_t acknowledged = most, next;
    while (read(acknowledge[0], &next, sizeof(next)) == sizeof(next)) acknowledged = next;
    close(acknowledge[0]);
    const Contents contents = DumpFile(path);
    ASSERT_GE(contents.size(), acknowledged);
    ASSERT_LE(contents.size(), acknowledged + 3);
    ASSERT_EQ(contents.size() % 3, 0u);
    for (uint64_t i = most; i < contents.size(); ++i) {
      const auto found = contents.find(std::to_string(i));
      ASSERT_TRUE(found != contents.end()) << i;
      ASSERT_EQ(found->second, KillIds(i));
    }
    most = contents.size();
  }
  EXPECT_GT(most, 10u) << "no child came to a commit";
}

TEST(CorpusCrash, KilledBuildLeavesThePreviousStore) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const Contents before = {{"old", {1, 2}}};
  MakeStore(path, before);
  std::mt19937_64 random(10);
  for (int round = 0; round < (kSanitized ? 5 : 20); ++round) {
    const pid_t child = fork();
    if (child == 0) {
      auto writer = Writer::Create(path, TestHeader());
      for (uint64_t i = 0;; ++i) Put(&writer, std::to_string(i % 100'000), KillIds(i));
    }
    usleep(static_cast<useconds_t>(random() % 40'000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    ASSERT_EQ(DumpFile(path), before);
  }
  MakeStore(path, {{"new", {3}}});
  EXPECT_EQ(DumpFile(path), (Contents{{"new", {3}}}));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

// The newest commit, torn at every byte, over the state before it.
TEST(CorpusCrash, CommitTornAtEveryByte) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const Contents before = {{"x", {1}}, {"y", {2}}};
  MakeStore(path, before);
  const Bytes old_bytes = ReadFile(path);
  Contents after = before;
  after["x"] = {5, 6};
  {
    auto writer = Writer::Append(path);
    Put(&writer, "x", {5, 6});
    writer.Commit();
  }
  const Bytes new_bytes = ReadFile(path);
  size_t torn_at_all = 0;
  for (int which = 0; which < 2; ++which) {
    for (size_t written = 0; written <= sizeof(corpus::Commit); ++written) {
      Bytes torn = new_bytes;
      std::copy_n(old_bytes.begin(), corpus::kDataOffset, torn.begin());
      const auto at = static_cast<long>(corpus::kCommitOffset[which]);
      std::copy_n(new_bytes.begin() + at, written, torn.begin() + at);
      OpenedBytes opened(torn);
      ASSERT_EQ(opened.status(), RANKFEED_OK);
      const Contents contents = Dump(opened.get());
      ASSERT_TRUE(contents == before || contents == after);
      ASSERT_EQ(contents == after, Info(opened.get()).sequence == 2);
      torn_at_all += contents == before;
      // And the tail cut anywhere while the commit is the old one.
      if (written == 0) {
        for (size_t size = old_bytes.size(); size < torn.size(); ++size) {
          OpenedBytes cut(torn.data(), size, 0);
          ASSERT_EQ(cut.status(), RANKFEED_OK);
          ASSERT_EQ(Dump(cut.get()), before);
        }
      }
    }
  }
  EXPECT_GT(torn_at_all, sizeof(corpus::Commit));
}

}  // namespace
}  // namespace rankfeed::corpus_test
