// SPDX-License-Identifier: MIT
// Arguments, files and failures of include/rankfeed/builder.h.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

#include "builder/builder_test_util.h"
#include "builder/hf_file.h"
#include "reference/sp_model_proto.h"
#include "support/faults.h"
#include "support/sanitizers.h"

namespace {

// Counts down allocations of this process; the one that reaches zero fails.
thread_local long allocations_left = -1;

}  // namespace

void* operator new(size_t size) {
  if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
  if (void* p = std::malloc(size != 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
// std::stable_sort asks for its buffer this way, and does without when there is none.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size != 0 ? size : 1);
}
// Not inlined: GCC would see free() on what operator new returned and take it for a mistake
// (-Wmismatched-new-delete).
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept {
  std::free(p);
}

namespace rankfeed::builder {
namespace {

using builder_test::Compiled;
using builder_test::FailsWith;
using builder_test::HfFile;
namespace fs = std::filesystem;

std::string SmallModel() {
  sp_test::ModelProto model;
  model.AddSpecials();
  model.Add("a", -1);
  return Serialize(model);
}

class BuilderFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rankfeed_builder_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    error_.struct_size = sizeof error_;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary)
        .write(bytes.data(), static_cast<long>(bytes.size()));
    return Path(name);
  }
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  std::string folder_;
  rankfeed_builder_error error_{};
};

TEST_F(BuilderFiles, Arguments) {
  const std::string model = SmallModel();
  rankfeed_image image{};
  EXPECT_EQ(rankfeed_compile(model.data(), model.size(), "m", nullptr, nullptr, &error_),
            RANKFEED_E_ARGUMENT);
  EXPECT_STREQ(error_.message, "out is null");
  EXPECT_EQ(rankfeed_compile(nullptr, 5, "m", nullptr, &image, &error_), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_compile(nullptr, 0, "m", nullptr, &image, &error_), RANKFEED_E_PARSE);
  rankfeed_compile_options options{};
  EXPECT_EQ(rankfeed_compile(model.data(), model.size(), "m", &options, &image, &error_),
            RANKFEED_E_STRUCT_SIZE);
  options.struct_size = sizeof options;
  options.parity = 7;
  EXPECT_EQ(rankfeed_compile(model.data(), model.size(), "m", &options, &image, &error_),
            RANKFEED_E_ARGUMENT);
  EXPECT_STREQ(error_.message, "parity 7 is not known");
  EXPECT_EQ(image.data, nullptr);
  // No error record, no name, no options.
  EXPECT_EQ(rankfeed_compile(model.data(), model.size(), nullptr, nullptr, &image, nullptr),
            RANKFEED_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(image.data) % 64, 0u);
  rankfeed_image_free(&image);
  EXPECT_EQ(image.data, nullptr);
  rankfeed_image_free(&image);
  rankfeed_image_free(nullptr);
  EXPECT_EQ(rankfeed_compile_file(nullptr, "x", nullptr, &error_), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_compile_file("x", nullptr, nullptr, &error_), RANKFEED_E_ARGUMENT);
  rankfeed_loaded* loaded = nullptr;
  EXPECT_EQ(rankfeed_load(nullptr, nullptr, &loaded, &error_), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_load("x", nullptr, nullptr, &error_), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_loaded_model(nullptr), nullptr);
  size_t size = 1;
  EXPECT_EQ(rankfeed_loaded_image(nullptr, &size), nullptr);
  EXPECT_EQ(size, 0u);
  rankfeed_loaded_free(nullptr);
}

TEST_F(BuilderFiles, ErrorRecordOfAnotherSizeIsLeftAlone) {
  error_.struct_size = sizeof error_ - 1;
  std::strcpy(error_.message, "mine");
  rankfeed_image image{};
  EXPECT_EQ(rankfeed_compile("x", 1, "m", nullptr, &image, &error_), RANKFEED_E_PARSE);
  EXPECT_STREQ(error_.message, "mine");
}

TEST_F(BuilderFiles, LongMessagesAreCut) {
  const std::string name(2000, 'n');
  rankfeed_image image{};
  EXPECT_EQ(rankfeed_compile("x", 1, name.c_str(), nullptr, &image, &error_), RANKFEED_E_PARSE);
  EXPECT_EQ(std::strlen(error_.message), sizeof error_.message - 1);
}

TEST_F(BuilderFiles, ParityOfTheOtherFormatIsRefusedWithAdvice) {
  EXPECT_TRUE(FailsWith(Compiled(SmallModel(), nullptr, RANKFEED_PARITY_HUGGINGFACE),
                        RANKFEED_E_PARITY,
                        "For HuggingFace parity compile the model's tokenizer.json"));
  EXPECT_TRUE(FailsWith(Compiled(HfFile().Text(), nullptr, RANKFEED_PARITY_SENTENCEPIECE),
                        RANKFEED_E_PARITY,
                        "For SentencePiece parity compile the model's .model file"));
  EXPECT_EQ(Compiled(SmallModel(), nullptr, RANKFEED_PARITY_SENTENCEPIECE).status, RANKFEED_OK);
  EXPECT_EQ(Compiled(SmallModel(), nullptr, RANKFEED_PARITY_SENTENCEPIECE_0_2_1).status,
            RANKFEED_OK);
  EXPECT_TRUE(FailsWith(Compiled(HfFile().Text(), nullptr, RANKFEED_PARITY_SENTENCEPIECE_0_2_1),
                        RANKFEED_E_PARITY,
                        "For SentencePiece parity compile the model's .model file"));
  EXPECT_EQ(Compiled(HfFile().Text(), nullptr, RANKFEED_PARITY_HUGGINGFACE).status, RANKFEED_OK);
  EXPECT_TRUE(
      FailsWith(Compiled(SmallModel(), nullptr, 3), RANKFEED_E_ARGUMENT, "parity 3 is not known"));
  EXPECT_TRUE(FailsWith(Compiled(SmallModel(), nullptr, -2), RANKFEED_E_ARGUMENT,
                        "parity -2 is not known"));
}

// The rule is part of the hash, so that a corpus store of one is refused by a model of the other.
TEST_F(BuilderFiles, ParityIsPartOfTheImageAndOfItsHash) {
  const auto info = [](const Compiled& compiled) {
    rankfeed_model_info i{};
    i.struct_size = sizeof i;
    EXPECT_EQ(rankfeed_model_get_info(compiled.model, &i), RANKFEED_OK);
    return i;
  };
  const Compiled by_default(SmallModel()),
      newest(SmallModel(), nullptr, RANKFEED_PARITY_SENTENCEPIECE),
      older(SmallModel(), nullptr, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  const rankfeed_model_info a = info(by_default), b = info(newest), c = info(older);
  EXPECT_EQ(a.parity, uint32_t{RANKFEED_PARITY_SENTENCEPIECE});
  EXPECT_EQ(c.parity, uint32_t{RANKFEED_PARITY_SENTENCEPIECE_0_2_1});
  EXPECT_EQ(std::memcmp(a.config_hash, b.config_hash, sizeof a.config_hash), 0);
  EXPECT_NE(std::memcmp(a.config_hash, c.config_hash, sizeof a.config_hash), 0);
}

TEST(ParityNames, GoBothWays) {
  for (const uint32_t parity : {RANKFEED_PARITY_HUGGINGFACE, RANKFEED_PARITY_SENTENCEPIECE_0_2_1,
                                RANKFEED_PARITY_SENTENCEPIECE}) {
    uint32_t back = 99;
    ASSERT_NE(rankfeed_parity_name(parity), nullptr);
    EXPECT_EQ(rankfeed_parity_from_name(rankfeed_parity_name(parity), &back), RANKFEED_OK);
    EXPECT_EQ(back, parity);
  }
  uint32_t untouched = 99;
  EXPECT_EQ(rankfeed_parity_name(3), nullptr);
  EXPECT_EQ(rankfeed_parity_from_name("sentencepiece-0.2", &untouched), RANKFEED_E_NOT_FOUND);
  EXPECT_EQ(rankfeed_parity_from_name(nullptr, &untouched), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(untouched, 99u);
}

TEST_F(BuilderFiles, FormatsAreToldApartByContent) {
  EXPECT_TRUE(FailsWith(Compiled(""), RANKFEED_E_PARSE, "no pieces"));
  EXPECT_TRUE(
      FailsWith(Compiled("hello, this is text"), RANKFEED_E_PARSE, "not a SentencePiece model"));
  EXPECT_TRUE(FailsWith(Compiled("{ }"), RANKFEED_E_PARSE, "has no \"model\""));
  EXPECT_TRUE(FailsWith(Compiled("{"), RANKFEED_E_PARSE, "not valid JSON"));
  const Compiled compiled(SmallModel());
  EXPECT_TRUE(
      FailsWith(Compiled(compiled.bytes()), RANKFEED_E_ARGUMENT, "is a compiled image already"));
  // A first piece of 13 bytes that starts with a brace: bytes 0a 0d 0a 0b 7b, all white space to
  // JSON but the brace.
  sp_test::ModelProto model;
  model.Add("{abcdefgh", -1);
  model.AddSpecials();
  EXPECT_EQ(Compiled(Serialize(model)).status, RANKFEED_OK);
}

TEST_F(BuilderFiles, CompileFileWritesWhatCompileMakes) {
  const std::string source = Write("m.model", SmallModel());
  const std::string out = Path("m.image");
  ASSERT_EQ(rankfeed_compile_file(source.c_str(), out.c_str(), nullptr, &error_), RANKFEED_OK)
      << error_.message;
  EXPECT_EQ(builder_test::ReadFile(out), Compiled(SmallModel()).bytes());
  EXPECT_EQ(FileCount(), 2u);
  struct stat info;
  ASSERT_EQ(stat(out.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0400, 0400u);
  // Over an existing file.
  EXPECT_EQ(rankfeed_compile_file(source.c_str(), out.c_str(), nullptr, &error_), RANKFEED_OK);
  EXPECT_EQ(FileCount(), 2u);
}

TEST_F(BuilderFiles, LoadTakesAllThreeFormats) {
  const std::string model = Write("m.model", SmallModel());
  const std::string json = Write("tokenizer.json", HfFile().Text());
  const std::string image = Path("m.image");
  ASSERT_EQ(rankfeed_compile_file(model.c_str(), image.c_str(), nullptr, &error_), RANKFEED_OK);
  for (const std::string& path : {model, json, image}) {
    rankfeed_loaded* loaded = nullptr;
    ASSERT_EQ(rankfeed_load(path.c_str(), nullptr, &loaded, &error_), RANKFEED_OK)
        << error_.message;
    ASSERT_NE(rankfeed_loaded_model(loaded), nullptr);
    size_t size = 0;
    const void* data = rankfeed_loaded_image(loaded, &size);
    EXPECT_EQ(rankfeed_image_verify(data, size, nullptr), RANKFEED_OK);
    EXPECT_EQ(std::memcmp(data, image::kMagic, sizeof image::kMagic), 0);
    EXPECT_EQ(rankfeed_model_piece_to_id(rankfeed_loaded_model(loaded), "</s>", 4), 2);
    rankfeed_loaded_free(loaded);
  }
}

TEST_F(BuilderFiles, MissingAndUnreadableFiles) {
  rankfeed_loaded* loaded = nullptr;
  EXPECT_EQ(rankfeed_load(Path("none").c_str(), nullptr, &loaded, &error_), RANKFEED_E_IO);
  EXPECT_EQ(std::string(error_.message),
            "cannot open " + Path("none") + ": No such file or directory");
  EXPECT_EQ(rankfeed_compile_file(Path("none").c_str(), Path("out").c_str(), nullptr, &error_),
            RANKFEED_E_IO);
  EXPECT_EQ(rankfeed_compile_file(folder_.c_str(), Path("out").c_str(), nullptr, &error_),
            RANKFEED_E_IO);
  EXPECT_NE(std::string(error_.message).find("is a folder"), std::string::npos);
  const std::string source = Write("m.model", SmallModel());
  EXPECT_EQ(rankfeed_compile_file(source.c_str(), Path("no/such/out").c_str(), nullptr, &error_),
            RANKFEED_E_IO);
  EXPECT_EQ(loaded, nullptr);
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(BuilderFiles, DamagedImagesAreNotLoaded) {
  const std::string source = Write("m.model", SmallModel());
  const std::string path = Path("m.image");
  ASSERT_EQ(rankfeed_compile_file(source.c_str(), path.c_str(), nullptr, &error_), RANKFEED_OK);
  const std::string good = builder_test::ReadFile(path);
  rankfeed_loaded* loaded = nullptr;
  std::string bad = good;
  bad[good.size() / 2] ^= 1;
  Write("bad.image", bad);
  EXPECT_EQ(rankfeed_load(Path("bad.image").c_str(), nullptr, &loaded, &error_),
            RANKFEED_E_IMAGE_CHECKSUM);
  Write("cut.image", good.substr(0, good.size() - 64));
  EXPECT_NE(rankfeed_load(Path("cut.image").c_str(), nullptr, &loaded, &error_), RANKFEED_OK);
  EXPECT_EQ(loaded, nullptr);
}

// A full disk, by way of the file size limit: the old image stays, no temporary is left.
TEST_F(BuilderFiles, FullDiskLeavesTheOldFileAndNoTemporary) {
  const std::string source = Write("m.model", SmallModel());
  const std::string out = Write("m.image", "old");
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const rankfeed_status status =
      rankfeed_compile_file(source.c_str(), out.c_str(), nullptr, &error_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, RANKFEED_E_IO);
  EXPECT_NE(std::string(error_.message).find("cannot write"), std::string::npos) << error_.message;
  EXPECT_EQ(builder_test::ReadFile(out), "old");
  EXPECT_EQ(FileCount(), 2u);
}

TEST_F(BuilderFiles, FailedCompileLeavesTheOldFile) {
  const std::string source = Write("m.model", "garbage");
  const std::string out = Write("m.image", "old");
  EXPECT_EQ(rankfeed_compile_file(source.c_str(), out.c_str(), nullptr, &error_), RANKFEED_E_PARSE);
  EXPECT_EQ(builder_test::ReadFile(out), "old");
  EXPECT_EQ(FileCount(), 2u);
}

// Every allocation fails once: always NO_MEMORY (or success), never a crash, a leak or a torn file.
TEST_F(BuilderFiles, EveryAllocationFailsOnce) {
  HfFile file;
  file.added_tokens = "[" + builder_test::Added(0, "<s>") + "]";
  file.post_processor = builder_test::kRobertaTemplate;
  uint64_t all_failures = 0;
  for (const std::string& source : {SmallModel(), file.Text()}) {
    int failures = 0;
    bool done = false;
    for (long k = 1; !done; k += kSanitized ? 1 + k / 16 : 1) {
      rankfeed_image image{};
      allocations_left = k;
      const rankfeed_status status =
          rankfeed_compile(source.data(), source.size(), "m", nullptr, &image, &error_);
      done = allocations_left > 0;
      allocations_left = -1;
      if (status == RANKFEED_OK) {
        EXPECT_EQ(rankfeed_image_verify(image.data, image.size, nullptr), RANKFEED_OK);
      } else {
        ++failures;
        EXPECT_EQ(status, RANKFEED_E_NO_MEMORY) << error_.message;
        EXPECT_EQ(image.data, nullptr);
      }
      rankfeed_image_free(&image);
    }
    EXPECT_GT(failures, 10);
    all_failures += static_cast<uint64_t>(failures);
  }
  test::ReportFaults("allocations of the builder", all_failures);
}

TEST_F(BuilderFiles, ManyThreadsCompileTheSame) {
  const std::string source = HfFile().Text();
  const std::string want(Compiled(source).bytes());
  std::vector<std::thread> threads;
  std::vector<std::string> got(4);
  for (std::string& bytes : got) {
    threads.emplace_back([&] { bytes = Compiled(source).bytes(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& bytes : got) EXPECT_EQ(bytes, want);
}

}  // namespace
}  // namespace rankfeed::builder
