// SPDX-License-Identifier: MIT
// fault/rewritten_files_test.cc: files that are written to, or cut off, after they were opened and
// verified. What is opened as by default (a private copy) answers as before, whatever becomes of
// the file. What is mapped in place on request may answer anything or end the process, as
// SECURITY.md says, but never goes on without end.
//
// RANKFEED_REWRITES: how many changes of the random tests, in all, for each of the two ways to
// open.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "builder/hf_file.h"
#include "contract/contract_models.h"
#include "corpus/corpus_files.h"
#include "fast/word_forms.h"
#include "fault/rewritten_files.h"
#include "image/format.h"
#include "image/model.h"
#include "support/faults.h"
#include "support/sanitizers.h"

namespace rankfeed::fault_test {
namespace {

enum class How { kDefault, kMapFile };

// Every normalizer, pre-tokenizer and decoder that reads strings of the image, and added tokens of
// all kinds.
std::string GeneralSource() {
  builder_test::HfFile file;
  file.normalizer =
      R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"``"},"content":"\""},{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"},{"type":"NFC"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"Prepend","prepend":"a"}]})";
  file.pre_tokenizer =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":"ab"},"behavior":"Isolated","invert":false},{"type":"Punctuation","behavior":"Isolated"},{"type":"Digits","individual_digits":true},{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true}]})";
  file.decoder =
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})";
  file.added_tokens = "[" + builder_test::Added(0, "<s>") + "," + builder_test::Added(2, "</s>") +
                      "," + builder_test::Added(3, "<unk>") + "," +
                      builder_test::Added(7, "<mask>", "01001") + "," +
                      builder_test::Added(8, "Aaa B", "00110") + "]";
  file.post_processor = builder_test::kRobertaTemplate;
  return file.Text();
}

// A vocabulary of the segment engine with tables so small that most changes are seen.
std::string SmallSource() {
  fast_test::json file = fast_test::Form("B").tokenizer();
  fast_test::json& pieces = file["model"]["vocab"];
  pieces.erase(pieces.begin() + 1000, pieces.end());
  return file.dump();
}

// Encoders of a model with and without offsets, and what they answered when it was opened.
class Vocabulary : public Victim {
 public:
  Vocabulary(const std::string& path, How how) : out_(kCapacity * 12 + 256), texts_(kTextBytes) {
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    const auto load = how == How::kMapFile ? rankfeed_load_map_file : rankfeed_load;
    EXPECT_EQ(load(path.c_str(), nullptr, &loaded_, &error), RANKFEED_OK) << error.message;
    model_ = rankfeed_loaded_model(loaded_);
    PutTexts();
    for (const bool offsets : {false, true}) {
      limits_[offsets] = contract::Limits(4096, offsets, 4096);
      EXPECT_EQ(rankfeed_encoder_mem_req(model_, &limits_[offsets], &need_[offsets]), RANKFEED_OK);
      scratch_[offsets] = std::make_unique<Guarded>(need_[offsets].size);
    }
    expected_.resize(kRounds);
    for (uint64_t round = 0; round < kRounds; ++round) expected_[round] = Answer(round);
  }
  ~Vocabulary() override { rankfeed_loaded_free(loaded_); }

  bool Use(uint64_t round) override {
    return Answer(round % kRounds) == expected_[round % kRounds];
  }

 private:
  static constexpr uint32_t kCapacity = 1 << 16, kTextBytes = 1 << 16, kRounds = 64;

  void PutTexts() {
    std::vector<std::string> all = contract::Texts();
    for (std::string& text : all) text.resize(std::min<size_t>(text.size(), 400));
    std::mt19937_64 random(5);
    while (all.size() < kRounds)
      all.push_back(fast_test::Text(random) + " ab Aaa B<mask> ``12 words");
    char* to = texts_.as<char>();
    for (const std::string& text : all) {
      if (text.size() > 1000) continue;
      std::memcpy(to, text.data(), text.size());
      at_.push_back({to, text.size()});
      to += text.size();
    }
  }

  void Mix(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3;
  }
  template <class T>
  void Mix(const T& value) {
    Mix(&value, sizeof(value));
  }

  // All calls that read the image, over texts that round chooses; a hash of what they answer.
  // Encoders are made anew, so that no cache answers for the image.
  uint64_t Answer(uint64_t round) {
    hash_ = 0xcbf29ce484222325;
    rankfeed_encoder* encoders[2];
    for (const bool offsets : {false, true}) {
      Mix(rankfeed_encoder_init(model_, &limits_[offsets], scratch_[offsets]->data(),
                                need_[offsets].size, &encoders[offsets]));
    }
    const rankfeed_text* const texts = at_.data() + round % (at_.size() - 4);
    const rankfeed_encode_options options = contract::Options(
        RANKFEED_ADD_SPECIAL_TOKENS | (round % 3 == 0 ? uint32_t{RANKFEED_SPECIALS_ESCAPE} : 0u));
    auto* const ids = out_.as<int32_t>();
    auto* const begin = reinterpret_cast<uint32_t*>(ids + kCapacity);
    Batch(encoders[0], texts, options);
    for (const bool offsets : {false, true}) {
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = kCapacity;
      io.input_ids = ids;
      if (offsets) io.offset_begin = begin, io.offset_end = begin + kCapacity;
      Mix(rankfeed_encode(encoders[offsets], texts[3], &options, &io));
      Mix(io.count);
      const size_t count = std::min(io.count, kCapacity);
      Mix(ids, count * sizeof(int32_t));
      if (offsets) Mix(begin, count * sizeof(uint32_t));
    }
    Decode(encoders[0], round);
    rankfeed_special_match match{};
    match.struct_size = sizeof(match);
    Mix(rankfeed_find_special(encoders[1], texts[0], &match));
    Mix(match.id);
    return hash_;
  }

  void Batch(rankfeed_encoder* encoder, const rankfeed_text* texts,
             const rankfeed_encode_options& options) {
    rankfeed_encodings io{};
    io.struct_size = sizeof(io);
    io.capacity = kCapacity;
    io.input_ids = out_.as<int32_t>();
    io.cu_seqlens = reinterpret_cast<uint32_t*>(io.input_ids + kCapacity);
    Mix(rankfeed_encode_batch(encoder, texts, 4, &options, &io));
    Mix(io.count);
    Mix(io.input_ids, std::min(io.count, kCapacity) * sizeof(int32_t));
  }

  void Decode(rankfeed_encoder* encoder, uint64_t round) {
    int32_t some[6];
    const uint32_t ids = IdCount();
    for (uint32_t i = 0; i < 6; ++i) some[i] = static_cast<int32_t>((round * 31 + i * 7) % ids);
    char* const out = out_.as<char>();
    size_t size = 0;
    Mix(rankfeed_decode(encoder, some, 6, 0, out, kCapacity, &size));
    Mix(out, std::min<size_t>(size, kCapacity));
    const char* piece = nullptr;
    Mix(rankfeed_model_id_to_piece(model_, static_cast<uint32_t>(some[0]), &piece, &size));
    Mix(piece, std::min<size_t>(size, 64));
    Mix(rankfeed_model_piece_to_id(model_, "\u2581a", 4));
  }
  uint32_t IdCount() const {
    rankfeed_model_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_model_get_info(model_, &info);
    return info.id_count;
  }

  rankfeed_loaded* loaded_ = nullptr;
  const rankfeed_model* model_ = nullptr;
  rankfeed_limits limits_[2];
  rankfeed_mem_req need_[2];
  std::unique_ptr<Guarded> scratch_[2];
  Guarded out_, texts_;
  std::vector<rankfeed_text> at_;
  std::vector<uint64_t> expected_;
  uint64_t hash_ = 0;
};

// A store of several levels, looked up and walked.
class Store : public Victim {
 public:
  Store(const std::string& path, const corpus_test::Contents& contents, How how) {
    rankfeed_corpus_options options{};
    options.struct_size = sizeof(options);
    if (how == How::kMapFile) options.flags = RANKFEED_CORPUS_MAP_FILE;
    EXPECT_EQ(rankfeed_corpus_open_file(path.c_str(), nullptr, &options, storage_, sizeof(storage_),
                                        &mapping_, &corpus_, nullptr),
              RANKFEED_OK);
    Know(contents);
  }
  // In memory of the caller.
  Store(const void* data, size_t size, const corpus_test::Contents& contents) {
    EXPECT_EQ(rankfeed_corpus_open(data, size, nullptr, nullptr, storage_, sizeof(storage_),
                                   &corpus_, nullptr),
              RANKFEED_OK);
    Know(contents);
  }
  ~Store() override { rankfeed_image_unmap(&mapping_); }

  bool Use(uint64_t round) override {
    rankfeed_text names[kTogether];
    rankfeed_source found[kTogether];
    bool same = true;
    for (uint32_t i = 0; i < kTogether; ++i) {
      const auto& id = documents_[(round * 7 + i) % documents_.size()].first;
      names[i] = {id.data(), id.size()};
    }
    same &= rankfeed_corpus_find_all(corpus_, names, kTogether, found, nullptr) == RANKFEED_OK;
    for (uint32_t i = 0; i < kTogether; ++i) {
      same &= Same(found[i], documents_[(round * 7 + i) % documents_.size()].second);
    }
    for (uint32_t i = 0; i < kTogether; ++i) {
      rankfeed_text id{};
      rankfeed_source source{};
      const rankfeed_status status =
          rankfeed_corpus_get(corpus_, (round + i) % positions_, &id, &source);
      same &= status == RANKFEED_OK || status == RANKFEED_E_NOT_FOUND;
      sum_ += Sum(source);  // reads them
    }
    if (round % 64 == 0) same &= rankfeed_corpus_verify(corpus_, nullptr) == RANKFEED_OK;
    return same;
  }

 private:
  static constexpr uint32_t kTogether = 16;
  void Know(const corpus_test::Contents& contents) {
    for (const auto& [id, ids] : contents) documents_.push_back({id, ids});
    positions_ = corpus_test::Info(corpus_).positions;
  }
  static bool Same(const rankfeed_source& source, const corpus_test::Ids& ids) {
    return source.ids != nullptr && source.id_count == ids.size() &&
           std::equal(ids.begin(), ids.end(), source.ids);
  }
  static uint64_t Sum(const rankfeed_source& source) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < source.id_count; ++i) sum += static_cast<uint32_t>(source.ids[i]);
    return sum;
  }

  alignas(64) uint8_t storage_[sizeof(rankfeed_corpus)];
  rankfeed_mapping mapping_{};
  rankfeed_corpus* corpus_ = nullptr;
  std::vector<std::pair<std::string, corpus_test::Ids>> documents_;
  uint64_t positions_ = 0, sum_ = 0;
};

struct Named {
  const char* name;
  std::string (*source)();
};
void PrintTo(const Named& vocabulary, std::ostream* out) {
  *out << vocabulary.name;
}
const Named kVocabularies[] = {
    {"Segments_HuggingFace", [] { return fast_test::Form("B").File(); }},
    {"Segments_HuggingFace_1000Pieces", SmallSource},
    {"Segments_SentencePiece", fast_test::DefaultModel},
    {"General_HuggingFace", GeneralSource},
    {"General_SentencePiece", contract::SentencePieceSource},
};

class Rewritten : public testing::Test {
 protected:
  // An image in a file, and the regions of its header and sections.
  std::string MakeImage(const std::string& source, std::vector<Region>* regions) {
    const std::string from = dir_ / "source", path = dir_ / "v.rfimg";
    std::ofstream(from, std::ios::binary) << source;
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    EXPECT_EQ(rankfeed_compile_file(from.c_str(), path.c_str(), nullptr, &error), RANKFEED_OK)
        << error.message;
    const std::vector<uint8_t> bytes = corpus_test::ReadFile(path);
    image::Header header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    const uint64_t table = sizeof(header) + header.section_count * sizeof(image::Section);
    *regions = {{0, table}};
    for (uint32_t i = 0; i < header.section_count; ++i) {
      image::Section section;
      std::memcpy(&section, bytes.data() + sizeof(header) + i * sizeof(section), sizeof(section));
      if (section.size != 0) regions->push_back({section.offset, section.offset + section.size});
    }
    return path;
  }

  // Three commits, the later ones with documents that replace earlier ones.
  std::string MakeStore(corpus_test::Contents* contents) {
    const std::string path = dir_ / "s.rfc";
    auto writer = corpus_builder::Writer::Create(path, corpus_test::TestHeader());
    uint64_t seed = 1;
    for (const int count : {400, 60, 9}) {
      for (int i = 0; i < count; ++i) {
        const std::string id = "document " + std::to_string(i * 3 % 500);
        (*contents)[id] = corpus_test::SomeIds(seed, seed % 40);
        corpus_test::Put(&writer, id, (*contents)[id]);
        ++seed;
      }
      writer.Commit();
    }
    return path;
  }

  corpus_test::TempDir dir_;
};

std::string Show(const Outcome& o) {
  return std::to_string(o.rounds) + " changes: " + std::to_string(o.differing) +
         " differing answers, " + std::to_string(o.signals) + " signals, " +
         std::to_string(o.hangs) + " hangs, " + std::to_string(o.other_ends) +
         " other ends; first bad round " + std::to_string(o.first_bad);
}

void ExpectUntouched(const Outcome& outcome) {
  EXPECT_EQ(outcome.differing + outcome.hangs + outcome.signals + outcome.other_ends, 0u)
      << Show(outcome);
}

class RewrittenImage : public Rewritten, public testing::WithParamInterface<Named> {};

// One pwrite over each section.
TEST_P(RewrittenImage, EverySectionInOnePwrite) {
  std::vector<Region> regions;
  const std::string path = MakeImage(GetParam().source(), &regions);
  const File file(path);
  Vocabulary victim(path, How::kDefault);
  constexpr int kFills[] = {0x00, 0x55, 0xff};
  for (size_t r = 0; r < regions.size(); ++r) {
    const Region& region = regions[r];
    for (const int fill : kFills) {
      // Forking costs much with sanitizers, so each section takes one of the three there, in turn.
      if (kSanitized && fill != kFills[r % std::size(kFills)]) continue;
      const std::vector<char> change(region.end - region.begin, static_cast<char>(fill));
      const auto use = [&] {
        for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
          std::signal(number, SIG_DFL);
        AllowSeconds(kRoundSeconds);
        file.Write(change.data(), change.size(), region.begin);
        bool same = true;
        for (uint64_t round = 0; round < 64; round += 5) same &= victim.Use(round);
        _exit(same ? 0 : 1);
      };
      EXPECT_EXIT(use(), testing::ExitedWithCode(0), "")
          << "bytes " << region.begin << " to " << region.end << " with " << fill;
      file.Restore(region);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, RewrittenImage, testing::ValuesIn(kVocabularies),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_F(Rewritten, AStoreInOnePwriteAndCutOff) {
  corpus_test::Contents contents;
  const std::string path = MakeStore(&contents);
  const File file(path);
  Store victim(path, contents, How::kDefault);
  const auto use = [&](bool cut) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    if (cut) {
      file.Cut(0);
    } else {
      const std::vector<char> change(file.bytes().size(), 0x7f);
      file.Write(change.data(), change.size(), 0);
    }
    bool same = true;
    for (uint64_t round = 0; round < 200; ++round) same &= victim.Use(round);
    _exit(same ? 0 : 1);
  };
  for (const bool cut : {false, true}) {
    EXPECT_EXIT(use(cut), testing::ExitedWithCode(0), "") << (cut ? "cut off" : "rewritten");
    file.Restore({0, file.bytes().size()});
  }
}

// A store in memory that another process writes to all the time: what is checked may be another
// thing a moment later. Where the store ends, memory ends that can be read.
TEST_F(Rewritten, NothingOutsideAStoreIsReadWhileOthersWriteToIt) {
  corpus_test::Contents contents;
  const std::vector<uint8_t> bytes = corpus_test::ReadFile(MakeStore(&contents));
  const Guarded memory(bytes.size(), MAP_SHARED);
  ASSERT_EQ(bytes.size() % 64, 0u);
  auto* const data = memory.last(bytes.size());
  std::memcpy(data, bytes.data(), bytes.size());
  Store victim(data, bytes.size(), contents);
  const pid_t writer = fork();
  if (writer == 0) {
    std::mt19937_64 random(1);
    for (;;) {
      // Heads, indexes and records alike; small numbers, large ones, and bytes of another place.
      for (int change = 0; change < 100; ++change) {
        const size_t size = size_t{1} << random() % 6;
        const size_t at = random() % (random() % 2 == 0 ? 12288 : bytes.size()) / size * size;
        const size_t from = random() % (bytes.size() - size + 1);
        const uint64_t kind = random() % 4;
        if (kind < 2) {
          std::memset(data + at, kind == 0 ? 0xff : 0, size);
        } else {
          std::memcpy(data + at, bytes.data() + from, size);
        }
      }
      random.discard(random() % 4096);  // takes time
      std::memcpy(data, bytes.data(), bytes.size());
    }
  }
  const pid_t user = fork();
  if (user == 0) {
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(number, SIG_DFL);
    uint64_t other = 0;
    for (uint64_t round = 0; round < Scaled(100000, 30000); ++round) {
      AllowSeconds(kRoundSeconds);
      other += !victim.Use(round);
    }
    _exit(other == 0 ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(user, &status, 0), user);
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "no change was seen: nothing was tested";
}

// Random changes, shared out evenly over the vocabularies and a store.
class RandomChanges : public Rewritten, public testing::WithParamInterface<How> {
 protected:
  void Check(const char* name, const Outcome& outcome) {
    std::printf("%s, %s: %s\n", name, GetParam() == How::kDefault ? "private" : "file",
                Show(outcome).c_str());
    if (GetParam() == How::kDefault) {
      ExpectUntouched(outcome);
    } else {
      EXPECT_EQ(outcome.hangs, 0u) << Show(outcome);
    }
    test::ReportFaults(GetParam() == How::kDefault ? "changes under a private copy"
                                                   : "changes under a mapped file",
                       outcome.rounds);
  }
};

TEST_P(RandomChanges, NoneHangsAndNoneIsSeenThroughAPrivateCopy) {
  const char* asked = std::getenv("RANKFEED_REWRITES");
  const uint64_t all = asked != nullptr ? std::strtoull(asked, nullptr, 10) : Scaled(10000, 4000);
  const uint64_t each = all / (std::size(kVocabularies) + 1) + 1;
  for (const Named& vocabulary : kVocabularies) {
    SCOPED_TRACE(vocabulary.name);
    std::vector<Region> regions;
    const std::string path = MakeImage(vocabulary.source(), &regions);
    const File file(path);
    Vocabulary victim(path, GetParam());
    Check(vocabulary.name, RunRounds(file, regions, &victim, 0, each));
  }
  corpus_test::Contents contents;
  const std::string path = MakeStore(&contents);
  const File file(path);
  Store victim(path, contents, GetParam());
  const Outcome outcome =
      RunRounds(file, {{0, 12288}, {0, file.bytes().size()}}, &victim, 0, each);
  Check("store", outcome);
  EXPECT_EQ(outcome.signals, outcome.cut_off) << "read outside the store";
}

INSTANTIATE_TEST_SUITE_P(Ways, RandomChanges, testing::Values(How::kDefault, How::kMapFile),
                         [](const auto& way) {
                           return way.param == How::kDefault ? "PrivateCopy" : "MappedFile";
                         });

// Opens an image again and again while another process writes to its file. In a private copy the
// bytes that are verified are those that are used: what opens answers as it should. In place,
// opening comes to an end.
class OpenedMeanwhile : public Rewritten, public testing::WithParamInterface<How> {};

TEST_P(OpenedMeanwhile, WhatIsVerifiedIsWhatIsUsed) {
  std::vector<Region> regions;
  const std::string path = MakeImage(contract::HuggingFaceSource(), &regions);
  const File file(path);
  const pid_t writer = fork();
  if (writer == 0) {
    for (uint64_t round = 0;; ++round) {
      // Of one byte each, so that most of what is read in between is whole.
      const uint64_t at = round * 0x9e3779b97f4a7c15u % file.bytes().size();
      const char other = static_cast<char>(file.bytes()[at] ^ 0x5a);
      file.Write(&other, 1, at);
      file.Restore({at, at + 1});
      if (round % 8 == 0) usleep(200);
    }
  }
  uint64_t opened = 0, refused = 0, ended = 0;
  for (int i = 0; i < static_cast<int>(Scaled(200, 100)); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
        std::signal(number, SIG_DFL);
      AllowSeconds(kRoundSeconds);
      rankfeed_loaded* loaded = nullptr;
      const auto load = GetParam() == How::kMapFile ? rankfeed_load_map_file : rankfeed_load;
      if (load(path.c_str(), nullptr, &loaded, nullptr) != RANKFEED_OK) _exit(1);
      contract::OwnedEncoder encoder(rankfeed_loaded_model(loaded), contract::Limits(4096, true));
      const contract::Columns columns =
          contract::Encode(encoder.get(), "ab ba  ab", RANKFEED_ADD_SPECIAL_TOKENS, true);
      _exit(columns.ids == std::vector<int32_t>{0, 9, 4, 10, 9, 2} ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) << "hangs";
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    opened += code == 0;
    refused += code == 1;
    ended += code != 0 && code != 1;
  }
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  std::printf("%llu opened, %llu refused, %llu wrong\n", static_cast<unsigned long long>(opened),
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(ended));
  if (GetParam() == How::kDefault) {
    EXPECT_EQ(ended, 0u);
    EXPECT_GT(opened, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenedMeanwhile, testing::Values(How::kDefault, How::kMapFile),
                         [](const auto& way) {
                           return way.param == How::kDefault ? "PrivateCopy" : "MappedFile";
                         });

}  // namespace
}  // namespace rankfeed::fault_test
