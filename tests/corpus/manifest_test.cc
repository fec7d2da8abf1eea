// SPDX-License-Identifier: MIT
// Tests of src/corpus_builder/manifest.cc and load.cc: manifests that are right open as one corpus,
// and no other text does, whatever it holds.
#include <functional>
#include <random>

#include "builder/base/model_spec.h"
#include "corpus_builder/manifest.h"
#include "corpus_files.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/corpus_manifest.h"

namespace rankfeed::corpus_test {
namespace {

const std::string kHash(64, 'a');

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Opened {
  rankfeed_status status;
  std::string message;
  rankfeed_loaded_corpus* loaded = nullptr;
  Opened(const std::string& path, uint32_t flags = 0) {
    rankfeed_corpus_options options{sizeof(options), flags, 0, nullptr};
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    status = rankfeed_corpus_load(path.c_str(), nullptr, &options, &loaded, &error);
    message = error.message;
    EXPECT_EQ(loaded == nullptr, status != RANKFEED_OK);
    EXPECT_EQ(message.empty(), status == RANKFEED_OK);
  }
  Opened(const Opened&) = delete;
  ~Opened() { rankfeed_loaded_corpus_free(loaded); }
};

// Two stores parted by hash, one of them in a folder below, and their manifest.
class Manifests : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(dir_ / "sub");
    std::vector<Contents> parts(2);
    for (int i = 0; i < 20; ++i) {
      const std::string id = "doc-" + std::to_string(i);
      all_[id] = parts[rankfeed_corpus_shard_of({id.data(), id.size()}, 2)][id] =
          SomeIds(static_cast<uint64_t>(i), 5);
    }
    MakeStore(dir_ / "a.rfc", parts[0]);
    MakeStore(dir_ / "sub/b.rfc", parts[1]);
    text_ =
        R"({"format": "rankfeed-corpus-manifest", "version": 1, "made_by": {"a later": ["version"]},
      "config_hash": "07070707070707070707070707070707", "routing": "hash", "documents": 20, "tokens": 100,
      "shards": [)" +
        Entry("a.rfc", parts[0].size()) + "," + Entry("sub/b.rfc", parts[1].size()) + "]}";
    Write(text_);
  }
  std::string Entry(const std::string& name, size_t documents) {
    return "{\"file\": \"" + name +
           "\", \"bytes\": " + std::to_string(std::filesystem::file_size(dir_ / name)) +
           ", \"documents\": " + std::to_string(documents) +
           ", \"tokens\": " + std::to_string(documents * 5) + ", \"sha256\": \"" + kHash +
           "\", \"content\": \"" + kHash + "\"}";
  }
  void Write(const std::string& text) {
    WriteFile(path_, std::vector<uint8_t>(text.begin(), text.end()));
  }
  // That a changed manifest is refused with that status, and a message that has `words`.
  void ExpectRefused(const std::string& from, const std::string& to, rankfeed_status status,
                     const std::string& words) {
    Write(Replaced(text_, from, to));
    const Opened opened(path_);
    EXPECT_EQ(opened.status, status) << to << ": " << opened.message;
    EXPECT_NE(opened.message.find(words), std::string::npos) << opened.message;
    Write(text_);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "m.json";
  std::string text_;
  Contents all_;
};

TEST_F(Manifests, OpensAsOneCorpus) {
  for (const uint32_t flags : {0u, uint32_t{RANKFEED_CORPUS_TRUSTED},
                               uint32_t{RANKFEED_CORPUS_TRUSTED | RANKFEED_CORPUS_MAP_FILE}}) {
    const Opened opened(path_, flags);
    ASSERT_EQ(opened.status, RANKFEED_OK) << opened.message;
    EXPECT_EQ(Dump(rankfeed_loaded_corpus_get(opened.loaded)), all_);
    ASSERT_EQ(rankfeed_loaded_corpus_shard_count(opened.loaded), 2u);
    rankfeed_corpus_shard shard{};
    shard.struct_size = sizeof(shard);
    ASSERT_EQ(rankfeed_loaded_corpus_shard(opened.loaded, 1, &shard), RANKFEED_OK);
    EXPECT_EQ(shard.path, dir_ / "sub/b.rfc");
    EXPECT_EQ(shard.sha256, kHash);
    EXPECT_EQ(shard.content, kHash);
    EXPECT_EQ(shard.by_hash, 1u);
    EXPECT_EQ(rankfeed_loaded_corpus_shard(opened.loaded, 2, &shard), RANKFEED_E_ARGUMENT);
    shard.struct_size = 8;
    EXPECT_EQ(rankfeed_loaded_corpus_shard(opened.loaded, 0, &shard), RANKFEED_E_STRUCT_SIZE);
  }
  const std::string padded = "\r\n\t " + text_;
  Write(padded);
  EXPECT_EQ(Opened(path_).status, RANKFEED_OK);
}

TEST_F(Manifests, StoreOpensAsItself) {
  const Opened opened(dir_ / "a.rfc");
  ASSERT_EQ(opened.status, RANKFEED_OK) << opened.message;
  EXPECT_EQ(rankfeed_loaded_corpus_shard_count(opened.loaded), 0u);
  EXPECT_EQ(Dump(rankfeed_loaded_corpus_get(opened.loaded)), DumpFile(dir_ / "a.rfc"));
  EXPECT_EQ(Opened(dir_ / "absent").status, RANKFEED_E_IO);
  EXPECT_EQ(rankfeed_corpus_load(nullptr, nullptr, nullptr, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_loaded_corpus_get(nullptr), nullptr);
  EXPECT_EQ(rankfeed_loaded_corpus_shard_count(nullptr), 0u);
  WriteFile(dir_ / "empty", {});
  EXPECT_EQ(Opened(dir_ / "empty").status, RANKFEED_E_IO);
}

TEST_F(Manifests, NamesDoNotLeaveTheFolder) {
  for (const char* name :
       {"/etc/passwd", "/", "..", "../a.rfc", "sub/../a.rfc", "sub/..", "./a.rfc", "sub//b.rfc",
        "sub/", ".", "", "a\\u0000.rfc", "\\u002e\\u002e/a.rfc", "\\u002fetc"}) {
    ExpectRefused("a.rfc", name, RANKFEED_E_PARSE, "shards[0].file must");
  }
  ExpectRefused("a.rfc", std::string(5000, 'a'), RANKFEED_E_PARSE, "must be a file name");
  ExpectRefused("sub/b.rfc", "a.rfc", RANKFEED_E_PARSE, "shards[1].file is named twice");
}

TEST_F(Manifests, EachMemberIsChecked) {
  ExpectRefused("rankfeed-corpus-manifest", "other", RANKFEED_E_PARSE, "format must be");
  ExpectRefused("\"version\": 1", "\"version\": 2", RANKFEED_E_IMAGE_VERSION, "version is not 1");
  ExpectRefused("\"version\": 1", "\"version\": \"1\"", RANKFEED_E_PARSE, "whole number");
  ExpectRefused("\"hash\"", "\"modulo\"", RANKFEED_E_UNSUPPORTED, "routing must be");
  ExpectRefused("\"0707", "\"07", RANKFEED_E_PARSE, "config_hash must be 32");
  ExpectRefused("\"0707", "\"070G", RANKFEED_E_PARSE, "config_hash must be 32");
  ExpectRefused("\"0707", "\"0708", RANKFEED_E_VOCABULARY, "another vocabulary");
  ExpectRefused("\"documents\": 20", "\"documents\": 21", RANKFEED_E_PARSE, "sums");
  ExpectRefused("\"tokens\": 100", "\"tokens\": -1", RANKFEED_E_PARSE, "whole number");
  ExpectRefused("\"tokens\": 100", "\"tokens\": 1.5", RANKFEED_E_PARSE, "whole number");
  ExpectRefused("\"tokens\": 100", "\"tokens\": 18446744073709551615", RANKFEED_E_LIMIT, "2^48");
  ExpectRefused("\"shards\": [", "\"shards\": [], \"x\": [", RANKFEED_E_PARSE, "must name a shard");
  ExpectRefused("\"shards\": [", "\"shards\": [7,", RANKFEED_E_PARSE,
                "shards[0] must be an object");
  ExpectRefused("\"routing\": ", "\"routing\": \"probe\", \"routing\": ", RANKFEED_E_PARSE,
                "twice");
  ExpectRefused("\"sha256\": \"a", "\"sha256\": \"", RANKFEED_E_PARSE, "64 digits");
  ExpectRefused("\"sha256\"", "\"sha\"", RANKFEED_E_PARSE, "no \"sha256\"");
  ExpectRefused("]}", "]", RANKFEED_E_PARSE, "not valid JSON");
  ExpectRefused("]}", "]} x", RANKFEED_E_PARSE, "not valid JSON");
}

TEST_F(Manifests, ShardsAreComparedWithIt) {
  const auto size = std::filesystem::file_size(dir_ / "a.rfc");
  ExpectRefused("\"bytes\": " + std::to_string(size), "\"bytes\": " + std::to_string(size + 1),
                RANKFEED_E_IMAGE_STRUCTURE, "a.rfc: has");
  ExpectRefused("a.rfc", "c.rfc", RANKFEED_E_IO, "c.rfc: No such file");
  // Counts of a shard, with the sums right.
  Write(text_);
  std::string text = text_;
  const std::string count = "\"tokens\": ";
  const size_t first = text.find(count, text.find("shards")) + count.size();
  const size_t second = text.find(count, first) + count.size();
  text[first] = static_cast<char>(text[first] + 1);
  text[second] = static_cast<char>(text[second] - 1);
  Write(text);
  const Opened opened(path_);
  EXPECT_EQ(opened.status, RANKFEED_E_IMAGE_STRUCTURE) << opened.message;
  EXPECT_NE(opened.message.find("tokens, and the manifest says"), std::string::npos)
      << opened.message;
}

TEST_F(Manifests, ShardsInAnotherOrderAreRefused) {
  // The same entries, the other way round.
  const size_t begin = text_.find('[', text_.find("shards")) + 1, middle = text_.find("},{") + 1;
  const size_t end = text_.rfind(']');
  Write(text_.substr(0, begin) + text_.substr(middle + 1, end - middle - 1) + "," +
        text_.substr(begin, middle - begin) + text_.substr(end));
  const Opened opened(path_);
  EXPECT_EQ(opened.status, RANKFEED_E_IMAGE_STRUCTURE) << opened.message;
  EXPECT_NE(opened.message.find("belongs into another shard"), std::string::npos) << opened.message;
}

TEST_F(Manifests, HostileSizesAreBounded) {
  std::string deep = "{\"format\": ";
  deep.append(1 << 20, '[');
  Write(deep);
  EXPECT_EQ(Opened(path_).status, RANKFEED_E_PARSE);
  Write(text_ + std::string(corpus_builder::kMaxManifestBytes, ' '));
  EXPECT_EQ(Opened(path_).status, RANKFEED_E_LIMIT);
  std::string many = text_.substr(0, text_.find('[', text_.find("shards")) + 1);
  for (int i = 0; i <= RANKFEED_CORPUS_MAX_SHARDS; ++i) {
    many += (i == 0 ? "" : ",") + ("{\"file\":\"" + std::to_string(i)) +
            "\",\"bytes\":0,\"documents\":0,\"tokens\":0,\"sha256\":\"" + kHash + "\"}";
  }
  try {
    (void)corpus_builder::ParseManifest(many + "]}", path_);
    FAIL();
  } catch (const builder::BuildError& error) {
    EXPECT_EQ(error.code, RANKFEED_E_LIMIT) << error.what();
  }
}

// Bytes changed, dropped and doubled at random: what opens is the same corpus, or part of the text
// that means nothing was hit; nothing else opens, and AddressSanitizer sees every access.
TEST_F(Manifests, RandomChangesAreRefusedOrChangeNothing) {
  std::mt19937 random(1);
  int opened_count = 0;
  for (int round = 0; round < 600; ++round) {
    std::string text = text_;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text[at] = "0123456789{}[]\",:./\\"[random() % 20];
      }
      if (text.empty()) text = "{";
    }
    Write(text);
    const Opened opened(path_);
    if (opened.status != RANKFEED_OK) continue;
    ++opened_count;
    EXPECT_EQ(Dump(rankfeed_loaded_corpus_get(opened.loaded)), all_) << text;
  }
  EXPECT_GT(opened_count, 0);
  EXPECT_LT(opened_count, 400);
}

TEST_F(Manifests, Wrapper) {
  auto corpus = LoadedCorpus::Load(path_, nullptr);
  ASSERT_TRUE(corpus) << corpus.error().message;
  EXPECT_EQ(corpus->info().documents, 20u);
  EXPECT_EQ(corpus->shard_count(), 2u);
  EXPECT_EQ(corpus->shard(0).sha256, kHash);
  rankfeed_source source;
  EXPECT_TRUE(corpus->Find("doc-3", &source));
  EXPECT_FALSE(corpus->Find("doc-33", &source));
  const auto absent = LoadedCorpus::Load(dir_ / "absent", nullptr);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().status, RANKFEED_E_IO);
}

}  // namespace
}  // namespace rankfeed::corpus_test
