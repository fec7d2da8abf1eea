// SPDX-License-Identifier: MIT
// The field tables of docs/image-format.md and docs/corpus-format.md say what the structs are: each
// field's offset is asserted here at compile time, and its row is looked for in the document.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "corpus/format.h"
#include "image/format.h"
#include "image/ops.h"
#include "image/sections.h"

namespace {

struct Row {
  size_t offset;
  const char *type, *field;
};

#define FIELD(structure, offset, type, field) \
  static_assert(offsetof(structure, field) == offset);
#define ROW(structure, offset, type, field) Row{offset, type, #field},

#define IMAGE_HEADER(X)                                                                       \
  X(rankfeed::image::Header, 0, "char[8]", magic)                                             \
  X(rankfeed::image::Header, 8, "u16", version_major)                                         \
  X(rankfeed::image::Header, 10, "u16", version_minor)                                        \
  X(rankfeed::image::Header, 12, "u32", header_size)                                          \
  X(rankfeed::image::Header, 16, "u64", image_size)                                           \
  X(rankfeed::image::Header, 24, "u8[16]", checksum)                                          \
  X(rankfeed::image::Header, 40, "u8[16]", config_hash)                                       \
  X(rankfeed::image::Header, 56, "u32", section_count)                                        \
  X(rankfeed::image::Header, 60, "u32", reserved)
#define CORPUS_HEADER(X)                                                                      \
  X(rankfeed::corpus::Header, 0, "char[8]", magic)                                            \
  X(rankfeed::corpus::Header, 8, "u16", version_major)                                        \
  X(rankfeed::corpus::Header, 10, "u16", version_minor)                                       \
  X(rankfeed::corpus::Header, 12, "u32", header_size)                                         \
  X(rankfeed::corpus::Header, 16, "u32", parity)                                              \
  X(rankfeed::corpus::Header, 20, "u32", id_count)                                            \
  X(rankfeed::corpus::Header, 24, "u32", encode_flags)                                        \
  X(rankfeed::corpus::Header, 28, "u32", flags)                                               \
  X(rankfeed::corpus::Header, 32, "u8[16]", config_hash)                                      \
  X(rankfeed::corpus::Header, 48, "u64", template_hash)                                       \
  X(rankfeed::corpus::Header, 56, "u64", checksum)
#define CORPUS_COMMIT(X)                                                                      \
  X(rankfeed::corpus::Commit, 0, "u64", sequence)                                             \
  X(rankfeed::corpus::Commit, 8, "u64", file_size)                                            \
  X(rankfeed::corpus::Commit, 16, "u64", documents)                                           \
  X(rankfeed::corpus::Commit, 24, "u64", tokens)                                              \
  X(rankfeed::corpus::Commit, 32, "u64", live_bytes)                                          \
  X(rankfeed::corpus::Commit, 40, "u32", level_count)                                         \
  X(rankfeed::corpus::Commit, 44, "u32", reserved)                                            \
  X(rankfeed::corpus::Commit, 48, "Level[16]", levels)                                        \
  X(rankfeed::corpus::Commit, 432, "u64", checksum)
#define CORPUS_RECORD(X)                                                                      \
  X(rankfeed::corpus::Record, 0, "u64", checksum)                                             \
  X(rankfeed::corpus::Record, 8, "u32", token_count)                                          \
  X(rankfeed::corpus::Record, 12, "u16", id_bytes)                                            \
  X(rankfeed::corpus::Record, 14, "u16", flags)

IMAGE_HEADER(FIELD)
CORPUS_HEADER(FIELD)
CORPUS_COMMIT(FIELD)
CORPUS_RECORD(FIELD)

// Sizes that the documents name.
static_assert(sizeof(rankfeed::image::Header) == 64 && sizeof(rankfeed::image::Section) == 24);
static_assert(offsetof(rankfeed::image::Section, id) == 0 &&
              offsetof(rankfeed::image::Section, element_size) == 4 &&
              offsetof(rankfeed::image::Section, offset) == 8 &&
              offsetof(rankfeed::image::Section, size) == 16);
// What docs/image-format.md says of the two configurations.
static_assert(offsetof(rankfeed::image::Config, id_count) == 8 &&
              offsetof(rankfeed::image::Config, template_specials_single) == 28 &&
              offsetof(rankfeed::image::Config, unk_id) == 36 &&
              offsetof(rankfeed::image::Config, pad_type_id) == 64 &&
              offsetof(rankfeed::image::Config, growth_numerator) == 76 &&
              offsetof(rankfeed::image::Config, default_max_length) == 84 &&
              offsetof(rankfeed::image::Config, unk_score) == 104 &&
              offsetof(rankfeed::image::Config, unk_surface) == 112 &&
              offsetof(rankfeed::image::Config, fast_road_reason) == 144 &&
              offsetof(rankfeed::image::Config, model_kind) == 152 &&
              offsetof(rankfeed::image::Config, continuing_prefix) == 160);
static_assert(offsetof(rankfeed::image::SegmentConfig, cost_unit) == 16 &&
              offsetof(rankfeed::image::SegmentConfig, span_bits) == 24 &&
              offsetof(rankfeed::image::SegmentConfig, uncut_lasts) == 32 && offsetof(rankfeed::image::SegmentConfig, separators) == 48);
static_assert(rankfeed::image::kSectionAlignment == 64 && rankfeed::image::kMaxSections == 64);
static_assert(sizeof(rankfeed::corpus::Header) == 64 && sizeof(rankfeed::corpus::Commit) == 440);
static_assert(sizeof(rankfeed::corpus::Level) == 24 && sizeof(rankfeed::corpus::Entry) == 16 &&
              sizeof(rankfeed::corpus::Slot) == 8 && sizeof(rankfeed::corpus::Record) == 16);
static_assert(offsetof(rankfeed::corpus::Level, offset) == 0 &&
              offsetof(rankfeed::corpus::Level, count) == 8 &&
              offsetof(rankfeed::corpus::Level, max_probe) == 12 &&
              offsetof(rankfeed::corpus::Level, checksum) == 16);
static_assert(rankfeed::corpus::kCommitOffset[0] == 4096 && rankfeed::corpus::kCommitOffset[1] == 8192 &&
              rankfeed::corpus::kDataOffset == 12288);

std::string Read(const std::string& name) {
  const char* source = std::getenv("RANKFEED_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The table below `heading` begins with these rows and no others lie between.
void ExpectTable(const std::string& document, const std::string& heading, const std::vector<Row>& rows) {
  std::istringstream text(document.substr(std::min(document.find(heading), document.size())));
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("| offset |")) inside = true;
    else if (inside && !line.starts_with("|")) break;
    else if (inside && !line.starts_with("|---")) lines.push_back(line);
  }
  ASSERT_GE(lines.size(), rows.size()) << heading;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string expected =
        "| " + std::to_string(rows[i].offset) + " | " + rows[i].type + " | " + rows[i].field + " |";
    EXPECT_TRUE(lines[i].starts_with(expected)) << heading << ": '" << lines[i] << "', expected " << expected;
  }
}

TEST(FormatDocs, FieldTables) {
  const std::string image = Read("docs/image-format.md"), corpus = Read("docs/corpus-format.md");
  ASSERT_FALSE(image.empty() || corpus.empty());
  ExpectTable(image, "## Header (64 bytes)", {IMAGE_HEADER(ROW)});
  ExpectTable(corpus, "## Header (64 bytes at 0)", {CORPUS_HEADER(ROW)});
  ExpectTable(corpus, "## Commit (440 bytes at 4096", {CORPUS_COMMIT(ROW)});
  ExpectTable(corpus, "## Record (multiple of 8)", {CORPUS_RECORD(ROW)});
}

TEST(FormatDocs, ImageVersion) {
  using namespace rankfeed::image;
  const std::string image = Read("docs/image-format.md");
  const std::string version = "version " + std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor);
  EXPECT_NE(image.find(version), std::string::npos) << "docs/image-format.md does not name " << version;
  const std::string row = "| version_major | " + std::to_string(kVersionMajor) + ";";
  EXPECT_NE(image.find(row), std::string::npos) << "docs/image-format.md lacks '" << row << "'";
}

// A row of the sections' table for each section of image/sections.def: its number, its name, its element
// and its count of bytes, alone or with others in the order of the numbers.
TEST(FormatDocs, EverySectionIsDescribed) {
  const std::string image = Read("docs/image-format.md");
  std::map<int, std::pair<std::string, std::string>> described;  // name and element by number
  std::istringstream text(image.substr(std::min(image.find("## Sections"), image.size())));
  for (std::string line; std::getline(text, line) && line != "## Trie units";) {
    if (!line.starts_with("| ") || line.starts_with("| id")) continue;
    std::vector<std::string> cells[3];  // numbers, names, elements
    std::istringstream row(line.substr(2));
    for (auto& cell : cells) {
      std::string part;
      std::getline(row, part, '|');
      std::istringstream parts(part);
      for (std::string one; std::getline(parts, one, ',');) {
        const size_t begin = one.find_first_not_of(' '), end = one.find_last_not_of(' ');
        cell.push_back(one.substr(begin, end - begin + 1));
      }
    }
    ASSERT_EQ(cells[0].size(), cells[1].size()) << line;
    ASSERT_TRUE(cells[2].size() == 1 || cells[2].size() == cells[0].size()) << line;
    for (size_t i = 0; i < cells[0].size(); ++i) {
      described[std::atoi(cells[0][i].c_str())] = {cells[1][i],
                                                   cells[2][cells[2].size() == 1 ? 0 : i]};
    }
  }
  const std::map<std::string, std::string> sizes = {{"char", "1"}, {"u8", "1"}, {"u16", "2"},
                                                    {"u32", "4"}, {"u64", "8"}, {"f64", "8"}};
  for (const rankfeed::image::SectionInfo& section : rankfeed::image::kSections) {
    const auto found = described.find(static_cast<int>(section.id));
    ASSERT_NE(found, described.end()) << section.name << " is not in docs/image-format.md";
    std::string name;  // of kTrieUnits: trie_units
    for (const char* c = section.name + 1; *c != 0; ++c) {
      if (std::isupper(static_cast<unsigned char>(*c)) != 0 && !name.empty()) name += '_';
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    }
    EXPECT_EQ(found->second.first, name);
    const auto size = sizes.find(found->second.second);
    EXPECT_EQ(size == sizes.end() ? found->second.second : size->second,
              std::to_string(rankfeed::image::ElementSize(static_cast<uint32_t>(section.id))))
        << name;
    described.erase(found);
  }
  for (const auto& [id, row] : described) ADD_FAILURE() << "no section: " << id << ", " << row.first;
}

// The table of elements in docs/parity.md names the type of each of image/ops.def.
TEST(FormatDocs, EveryElementIsListed) {
  using rankfeed::image::Part;
  const std::string parity = Read("docs/parity.md");
  for (const rankfeed::image::OpInfo& info : rankfeed::image::kOps) {
    const std::string part = info.part == Part::kNormalizer     ? "\n| normalizer | "
                             : info.part == Part::kPreTokenizer ? "\n| pre-tokenizer | "
                                                                : "\n| decoder | ";
    const size_t begin = parity.find(part);
    ASSERT_NE(begin, std::string::npos) << part;
    const std::string row = parity.substr(begin, parity.find('\n', begin + 1) - begin);
    const std::string name = std::string(" ") + info.type;
    EXPECT_NE(std::min(row.find(name + ","), row.find(name + " ")), std::string::npos)
        << info.type << " is not in" << part << "of docs/parity.md";
  }
}

}  // namespace
