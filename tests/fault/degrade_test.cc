// SPDX-License-Identifier: MIT
// fault/degrade_test.cc: what the operating system takes away while the library works. An image
// mapped in place and cut short ends the process with SIGBUS, as SECURITY.md says, and never in an
// id; one opened as by default, or replaced by rename, goes on serving. Without huge pages and
// without the right to lock memory everything works and says what is missing. A device that is lost
// answers every call with an error, and lets go.
//
// Memory that cannot be had is in tests/builder, tests/corpus and tests/gpu_handoff (every k-th
// allocation); disks, signals and short reads in cli_fault_test.sh and tests/corpus.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gpu_handoff/support.h"
#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "measure/placed_image.h"
#include "reference/sp_model_proto.h"
#include "support/faults.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

std::string Model(int pieces) {
  sp_test::ModelProto model;
  model.AddSpecials();
  model.Add("a", -1);
  for (int i = 0; i < pieces; ++i) model.Add("\u2581word" + std::to_string(i), -2);
  return sp_test::Serialize(model);
}

// An image in a file of its own folder.
class ImageFile : public testing::Test {
 protected:
  ImageFile() {
    folder_ = std::filesystem::temp_directory_path() / ("rankfeed-degrade-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    Write("v.rfimg", Model(20000));
  }
  ~ImageFile() override {
    rankfeed_loaded_free(loaded_);
    std::filesystem::remove_all(folder_);
  }
  std::string Path(const char* name) const { return (folder_ / name).string(); }
  void Write(const char* name, const std::string& source) const {
    std::ofstream(Path("m.model"), std::ios::binary) << source;
    ASSERT_EQ(rankfeed_compile_file(Path("m.model").c_str(), Path(name).c_str(), nullptr, nullptr), RANKFEED_OK);
  }
  void Load(decltype(rankfeed_load)* load) {
    ASSERT_EQ(load(Path("v.rfimg").c_str(), nullptr, &loaded_, nullptr), RANKFEED_OK);
    const rankfeed_model* model = rankfeed_loaded_model(loaded_);
    rankfeed_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = 1 << 20;
    rankfeed_mem_req need{};
    ASSERT_EQ(rankfeed_encoder_mem_req(model, &limits, &need), RANKFEED_OK);
    scratch_.reset(static_cast<char*>(std::aligned_alloc(need.alignment, (need.size + 63) / 64 * 64)));
    ASSERT_EQ(rankfeed_encoder_init(model, &limits, scratch_.get(), need.size, &encoder_), RANKFEED_OK);
    ids_.resize(rankfeed_token_bound(model, limits.max_text_bytes));
  }
  std::vector<int32_t> Encode(const std::string& text) {
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(ids_.size());
    io.input_ids = ids_.data();
    EXPECT_EQ(rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io), RANKFEED_OK);
    return {ids_.begin(), ids_.begin() + io.count};
  }
  // Every piece, so that every page of the tables is asked for.
  static std::string AllWords() {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += "word" + std::to_string(i) + " ";
    return text;
  }

  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::filesystem::path folder_;
  rankfeed_loaded* loaded_ = nullptr;
  std::unique_ptr<char, Free> scratch_;
  rankfeed_encoder* encoder_ = nullptr;
  std::vector<int32_t> ids_;
};

TEST_F(ImageFile, CutShortUnderUsItEndsInSigbusAndNeverInAnId) {
  Load(rankfeed_load_map_file);
  const std::string text = AllWords();
  const std::vector<int32_t> expected = Encode(text);
  ASSERT_EQ(expected.size(), 20000u);
  const auto size = std::filesystem::file_size(Path("v.rfimg"));
  int cuts = 0;
  for (const uintmax_t left : {uintmax_t{0}, uintmax_t{4096}, size / 4, size / 2}) {
    // In a process of its own.
    const auto use = [&] {
      std::signal(SIGBUS, SIG_DFL);  // a sanitizer's handler would report it in its own way
      std::filesystem::resize_file(Path("v.rfimg"), left);
      _exit(Encode(text) == expected ? 1 : 2);
    };
    EXPECT_EXIT(use(), testing::KilledBySignal(SIGBUS), "") << left << " of " << size << " bytes left";
    rankfeed_loaded_free(loaded_);
    loaded_ = nullptr;
    Write("v.rfimg", Model(20000));
    Load(rankfeed_load_map_file);
    ++cuts;
  }
  test::ReportFaults("mapped files cut short", static_cast<uint64_t>(cuts));
}

TEST_F(ImageFile, CutShortUnderAPrivateCopyNothingHappens) {
  Load(rankfeed_load);
  const std::vector<int32_t> expected = Encode(AllWords());
  std::filesystem::resize_file(Path("v.rfimg"), 0);
  EXPECT_EQ(Encode(AllWords()), expected);
}

TEST_F(ImageFile, ReplacedByRenameTheOldOneGoesOnServing) {
  Load(rankfeed_load_map_file);
  const std::vector<int32_t> before = Encode(AllWords());
  Write("v.rfimg", Model(10));  // by rename, as every compile
  EXPECT_EQ(Encode(AllWords()), before);
  std::filesystem::remove(Path("v.rfimg"));
  EXPECT_EQ(Encode(AllWords()), before);
}

TEST(HugePages, WithoutThemTheImageLiesOnBasePagesAndEveryStepSaysWhy) {
  const std::string source = Model(80000);
  rankfeed_image image{};
  ASSERT_EQ(rankfeed_compile(source.data(), source.size(), "m", nullptr, &image, nullptr), RANKFEED_OK);
  ASSERT_GT(image.size, size_t{2} << 20);  // more than one huge page
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  {
    const measure::PlacedImage placed(image.data, image.size, Pages::kAuto);
    const measure::PageLadder& ladder = placed.ladder();
    ASSERT_FALSE(ladder.steps.empty());
    if (ladder.steps.front().outcome != "used") {  // the machine has no hugetlb pages to spare
      ASSERT_EQ(ladder.steps.size(), 3u);
      EXPECT_NE(ladder.steps[0].outcome.find("free"), std::string::npos) << ladder.steps[0].outcome;
      EXPECT_NE(ladder.steps[1].outcome, "used");
      EXPECT_FALSE(ladder.steps[1].outcome.empty());
      EXPECT_EQ(ladder.steps[2].outcome, "used");
      EXPECT_EQ(ladder.obtained.kind, "base");
    }
    EXPECT_GE(rankfeed_model_piece_to_id(placed.model(), "\u2581word7", 8), 0);
  }
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  rankfeed_image_free(&image);
  test::ReportFaults("huge pages refused", 1);
}

// As an ordinary user, whatever the user of the test may do: the limit does not bind a privileged one.
TEST(LockedMemory, WithoutTheRightToItTheRingWorksAndSaysSo) {
#ifdef RANKFEED_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers replace mlock by a function that always succeeds";
#endif
  const auto use = [] {
    const rlimit none = {0, 0};
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) _exit(3);
    if (getuid() == 0 && setuid(65534) != 0) _exit(4);
    handoff::TestRing ring(1 << 20, 3);
    rankfeed_handoff_info info{};
    info.struct_size = sizeof(info);
    if (rankfeed_handoff_get_info(ring.ring, &info) != RANKFEED_OK) _exit(5);
    if (info.page_locked != 0 || info.page_lock_error == 0) _exit(6);
    std::fprintf(stderr, "note: %s\n", info.note);
    for (uint64_t i = 0; i < 10; ++i) {
      rankfeed_handoff_view view{};
      const auto slot = ring.Take(&view);
      handoff::FillPattern(view.host, 1 << 20, i);
      if (ring.Submit(slot, 1 << 20) != RANKFEED_OK) _exit(7);
      ring.Sync(ring.copy_stream);
      if (!handoff::HasPattern(ring.destination.data(), 1 << 20, i)) _exit(8);
    }
    _exit(0);
  };
  EXPECT_EXIT(use(), testing::ExitedWithCode(0), "note: .*RLIMIT_MEMLOCK");
  test::ReportFaults("locked memory refused", 1);
}

// As CUDA does after a sticky error: from one moment on every call and all queued work fails.
TEST(LostDevice, EveryCallSaysSoAndTheRingCloses) {
  constexpr int32_t kLost = 719;
  constexpr uint64_t kCalls = 64;
  handoff::TestRing ring(4096, 4);
  rankfeed_handoff_view view{};
  const auto queued = ring.Take(&view);
  ring.script.FailCopy(1, kLost);
  ASSERT_EQ(ring.Submit(queued, 4096), RANKFEED_OK);
  for (uint64_t n = 2; n < kCalls; ++n) {
    ring.script.FailCopyCall(n, kLost);
    ring.script.FailRecordCall(n, kLost);
    ring.script.FailWaitCall(n, kLost);
  }
  (void)rankfeed_handoff_stream_synchronize(ring.ring, ring.copy_stream);
  EXPECT_EQ(rankfeed_handoff_poll(ring.ring, queued), RANKFEED_E_DEVICE);
  uint64_t refused = 0;
  for (int i = 0; i < 3; ++i) {  // those that were free: refused at once, and still the caller's
    const auto slot = ring.Take(&view);
    EXPECT_EQ(ring.Submit(slot, 4096), RANKFEED_E_DEVICE);
    EXPECT_EQ(ring.State(slot), uint32_t{RANKFEED_SLOT_FILLING});
    ++refused;
  }
  rankfeed_handoff_slot none = 0;
  EXPECT_NE(ring.Acquire(&none), RANKFEED_OK);
  EXPECT_EQ(ring.Stats().last_device_error, kLost);
  EXPECT_GE(ring.Stats().device_errors, refused + 1);
  ring.Close();  // and ends
  test::ReportFaults("calls to a lost device", refused + 1);
}

}  // namespace
}  // namespace rankfeed
