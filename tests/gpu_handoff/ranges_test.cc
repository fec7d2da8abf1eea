// SPDX-License-Identifier: MIT
// The ring and the forward compiled with ranges for timeline tools, and tools that count: a slot's
// range lasts while the slot is FILLING, whichever way it leaves that state, and every range ends.
#include <dlfcn.h>

#include <thread>

#include "crossencoder/forward/golden_models.h"
#include "fake_ranges.h"
#include "support.h"

namespace rankfeed::handoff {
namespace {

// What each tool that this was compiled for has seen.
std::vector<SeenRanges> Seen() {
  std::vector<const char*> tools;
#ifdef RANKFEED_NVTX
  tools.push_back("librankfeed_fake_nvtx.so");
#endif
#ifdef RANKFEED_ROCTX
  tools.push_back("libroctx64.so.4");
#endif
  const char* folder = std::getenv("RANKFEED_RANGES");
  std::vector<SeenRanges> out;
  for (const char* tool : tools) {
    const std::string path = std::string(folder != nullptr ? folder : "") + "/" + tool;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    EXPECT_NE(library, nullptr) << path << " was not loaded by what was compiled for it";
    if (library == nullptr) continue;
    const auto seen = reinterpret_cast<SeenRangesFunction>(dlsym(library, "rankfeed_seen_ranges"));
    out.emplace_back();
    seen(&out.back());
  }
  EXPECT_FALSE(out.empty());
  return out;
}

// How many ranges of slots are open; the tools agree, and nothing was ended that was not begun.
uint32_t Open() {
  uint32_t open = 0;
  const std::vector<SeenRanges> all = Seen();
  for (const SeenRanges& seen : all) {
    EXPECT_EQ(seen.bad, 0u);
    EXPECT_EQ(seen.pushed, seen.popped);
    EXPECT_EQ(seen.started - seen.ended, all[0].started - all[0].ended);
    open = seen.started - seen.ended;
  }
  return open;
}

TEST(Ranges, SlotsAreInARangeWhileTheyAreFilled) {
  TestRing t(64, 3);
  EXPECT_EQ(Open(), 0u);
  const auto sent = t.Take(), dropped = t.Take(), read = t.Take();
  EXPECT_EQ(Open(), 3u);
  for (const SeenRanges& seen : Seen()) EXPECT_STREQ(seen.last, "rankfeed: fill a slot");
  std::thread([&] { EXPECT_EQ(t.Submit(sent, 64), RANKFEED_OK); }).join();
  EXPECT_EQ(Open(), 2u);
  EXPECT_EQ(t.Submit(sent, 64), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_abandon(t.ring, dropped), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_abandon(t.ring, dropped), RANKFEED_E_STATE);
  EXPECT_EQ(Open(), 1u);
  void* const streams[] = {t.copy_stream, t.consumer_stream};
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, read, streams, 2), RANKFEED_OK);
  EXPECT_EQ(Open(), 0u);
  t.Sync(t.copy_stream);
}

TEST(Ranges, FailingCallsAndCloseEndThemOnce) {
  TestRing t(64, 2, 0);
  const auto slot = t.Take();
  t.script.FailCopyCall(1, 70);
  EXPECT_EQ(t.Submit(slot, 64), RANKFEED_E_DEVICE);
  EXPECT_EQ(Open(), 1u) << "it is being filled still";
  t.script.FailRecordCall(1, 71);
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, slot, &t.copy_stream, 1), RANKFEED_E_DEVICE);
  EXPECT_EQ(Open(), 1u);
  t.script.FailRecordCall(2, 72);
  EXPECT_EQ(t.Submit(slot, 64), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_QUARANTINED});
  EXPECT_EQ(Open(), 0u);
  t.Sync(t.copy_stream);
  EXPECT_EQ(rankfeed_handoff_reset(t.ring, slot), RANKFEED_OK);
  (void)t.Take();
  (void)t.Take();
  EXPECT_EQ(Open(), 2u);
  rankfeed_handoff_stream_destroy(t.ring, t.copy_stream);
  rankfeed_handoff_stream_destroy(t.ring, t.consumer_stream);
  t.Close();
  EXPECT_EQ(Open(), 0u);
}

TEST(Ranges, ForwardIsInARangeWhileItIsQueued) {
  const std::vector<GoldenModel> golden = LoadGolden();
  const OpenModel model(golden[0].path);
  const PackedRows rows({golden[0].rows.begin(), golden[0].rows.begin() + 2},
                        {golden[0].types.begin(), golden[0].types.begin() + 2});
  const rankfeed_packed_batch batch = rows.batch();
  const AlignedBytes workspace = model.Workspace(batch);
  std::vector<float> logits(size_t{batch.rows} * model.info().labels);
  TestRing t;
  const std::vector<SeenRanges> before = Seen();
  const auto enqueue = [&](size_t size) {
    return rankfeed_crossencoder_enqueue(model.get(), &batch, t.copy_stream, workspace.data(), size,
                                         logits.data());
  };
  ASSERT_EQ(enqueue(workspace.size()), RANKFEED_OK);
  EXPECT_NE(enqueue(1), RANKFEED_OK);  // refused before anything is queued
  t.Sync(t.copy_stream);
  EXPECT_EQ(Open(), 0u);
  const std::vector<SeenRanges> after = Seen();
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].pushed, before[i].pushed + 1);
    EXPECT_STREQ(after[i].last, "rankfeed: forward");
  }
}

}  // namespace
}  // namespace rankfeed::handoff
