// SPDX-License-Identifier: MIT
// The trust boundary: for every rule of image/verify.cc images that this rule refuses and no other.
// Each case is opened as a caller opens it, and given to a copy of the verifier in which its rule
// does not count (rules.h). A rule without a case fails RulesHaveCases.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "image/char_info.h"
#include "image/fast_road.h"
#include "image/forged_image.h"
#include "image/reader.h"
#include "image/rules.h"
#include "image/sections.h"
#include "trie/double_array.h"

namespace rankfeed::image_test {

int rule_off = -1;

namespace {

using enum Original;
using image::AddedToken;
using image::Config;
using image::kNoId;
using image::Op;
using image::Step;
using Without = Case::Without;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The statements of image/verify.cc that hold a Require(), in order, with single spaces.
std::vector<std::string> Rules() {
  const char* root = std::getenv("RANKFEED_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/src/image/verify.cc");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    text += line.substr(0, line.find("//")) + ' ';
  }
  constexpr std::string_view kCall = "Require(";
  std::vector<std::string> rules;
  for (size_t at = text.find(kCall); at != std::string::npos; at = text.find(kCall, at + 1)) {
    if (text.substr(at - 5, 5) == "bool ") continue;  // the function itself
    const size_t begin = text.find_last_of(";{}", at) + 1, end = text.find(';', at);
    std::string rule;
    for (const char c : text.substr(begin, end - begin)) {
      if (c != ' ' || (!rule.empty() && rule.back() != ' ')) rule += c;
    }
    rules.push_back(rule);
  }
  return rules;
}

// The number of the one rule that holds the text; -1 if there is not exactly one.
int RuleOf(const std::vector<std::string>& rules, std::string_view text) {
  int found = -1;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].find(text) == std::string::npos) continue;
    if (found != -1) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

using Cases = std::vector<Case>;

void AddConfigCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, auto change) -> Case& {
    return cases.emplace_back(Case{rule, what, kSentencePiece, SectionId::kConfig, [=](Forged& f) {
                                     change(f.config());
                                     return 0u;
                                   }});
  };
  add("c.parity <=", "a parity that is none", [](Config& c) { c.parity = 3; });
  // So many ids take 16 GB of kIdPieces; in smaller images the size of that refuses them too.
  add("c.id_count <", "ids above int32_t", [](Config& c) { c.id_count = 0x7fffffff; }).without =
      Without::kRefusedElsewhere;
  add("c.max_piece_chars > 0", "no characters", [](Config& c) { c.max_piece_chars = 0; });
  add("c.max_piece_chars > 0", "more characters than bytes",
      [](Config& c) { c.max_piece_chars = c.max_piece_bytes + 1; });
  add("c.max_piece_bytes <=", "long pieces", [](Config& c) { c.max_piece_bytes = 8193; });
  for (const auto id : {&Config::unk_id, &Config::bos_id, &Config::eos_id, &Config::pad_id,
                        &Config::cls_id, &Config::sep_id, &Config::mask_id}) {
    add("(IdOrNone(id)", "a special id that is none", [id](Config& c) { c.*id = c.id_count; });
  }
  for (const double score : {kNan, HUGE_VAL, -HUGE_VAL}) {
    add("std::isfinite(c.unk_score)", "unknown score", [score](Config& c) { c.unk_score = score; });
  }
  for (const auto text :
       {&Config::unk_surface, &Config::unk_piece, &Config::source_name, &Config::family}) {
    add("(InStrings(t)", "a text that begins outside", [text](Config& c) {
      c.*text = {0xffffffffu, 0};
    });
    add("(InStrings(t)", "a text that ends outside", [text](Config& c) {
      c.*text = {0, 0xffffffffu};
    });
  }
  add("c.fast_road_reason <=", "a reason that is none", [](Config& c) {
    c.fast_road_reason = image::kLastFastRoadReason + 1;
  });
  for (const Original original : {kSentencePiece, kSegments}) {
    cases.push_back({"(c.fast_road_reason == 0)", "on the fast road and not", original,
                     SectionId::kSegmentConfig, [](Forged& f) {
                       uint32_t& reason = f.config().fast_road_reason;
                       reason = reason == 0 ? 6 : 0;
                       return 0u;
                     }});
  }
  for (const auto& [reason, op] :
       {std::pair(1u, Op{0}), std::pair(1u, Op::kDigits), std::pair(2u, Op::kNmt),
        std::pair(2u, Op::kFuse), std::pair(3u, Op::kNmt)}) {
    add("AboutAnElement(reason)", "another element", [reason = reason, op = op](Config& c) {
      c.fast_road_reason = reason;
      c.fast_road_op = static_cast<uint32_t>(op);
    });
  }
  cases.push_back({"c.code_count <=", "the empty label as a code", kSentencePiece,
                   SectionId::kConfig, [](Forged& f) {
                     f.config().code_count = trie::kMaxCodes + 1;
                     f.Add(SectionId::kTrieUnits,
                           trie::MakeUnit(trie::kEmptyLabel, 0, trie::kNoValue), 0x10000);
                     return 0u;
                   }});
}

// Adds those of the fast road of BPE, which reads bytes, and by a pattern.
void AddSplitCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, SectionId section, auto change) {
    cases.push_back({rule, what, kSplits, section, [=](Forged& f) {
                       change(f);
                       return 0u;
                     }});
  };
  const char* const kRules = "w.rules == splits &&";
  add(kRules, "rules of Unigram", SectionId::kSegmentConfig,
      [](Forged& f) { f.segment_config().rules = image::kTrailingSpaceIsWord; });
  add(kRules, "keys of parts without ignore_merges", SectionId::kSegmentConfig,
      [](Forged& f) { f.segment_config().rules |= image::kPartsHaveKeys; });
  add(kRules, "a BPE of SentencePiece", SectionId::kSegmentConfig, [](Forged& f) {
    f.config().parity = RANKFEED_PARITY_SENTENCEPIECE;
    f.config().unk_id = 0;
  });
  add("w.space_run != 1", "a run of one space", SectionId::kSegmentConfig, [](Forged& f) {
    f.segment_config().space_run = 1;
    f.Add(SectionId::kAddedTrieNormalized, trie::MakeUnit(trie::kEmptyLabel, 0, trie::kNoValue), 257);
  });
  add("m_.split_classes.present(), SectionId::kSplitClasses", "a pattern without classes", SectionId::kSplitClasses,
      [](Forged& f) {
        f.Drop(SectionId::kPreTokenizer);
        f.Drop(SectionId::kSplitBlocks);
      });
  add("m_.normalizer.empty() ||", "a normalizer without NFC's tables", SectionId::kNormalizer, [](Forged& f) {
    f.Add(SectionId::kNormalizer, Step{static_cast<uint32_t>(Op::kNmt), 0, 0, 0, {}, {}});
  });
  add("w.space_run == 0 ||", "runs of spaces that are no tokens", SectionId::kAddedTrieNormalized,
      [](Forged& f) { f.segment_config().space_run = 30; });
}

// Adds those of the fast road of BPE that reads characters, and words that spaces begin.
void AddSpaceWordCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, auto change) {
    cases.push_back({rule, what, kCharacters, SectionId::kSegmentConfig, [=](Forged& f) {
                       change(f);
                       return 0u;
                     }});
  };
  const char* const kRules = "(w.rules & ~kMore) == kSpaceWords";
  add(kRules, "rules of Unigram", [](Forged& f) { f.segment_config().rules |= image::kEverySpaceIsWord; });
  add(kRules, "rules of bytes", [](Forged& f) { f.segment_config().rules = image::kPatternSplits; });
  add(kRules, "runs of spaces that are tokens", [](Forged& f) { f.segment_config().space_run = 2; });
  add(kRules, "splits that are pieces whatever merges make", [](Forged& f) { f.config().flags |= image::kIgnoreMerges; });
  add("w.space_code == m_.codes[0x2581]", "another code of U+2581", [](Forged& f) { ++f.segment_config().space_code; });
}

void AddModelKindCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, Original original, auto change) {
    cases.push_back({rule, what, original, SectionId::kConfig, [=](Forged& f) {
                       change(f, f.config());
                       return 0u;
                     }});
  };
  add("c.model_kind <=", "a kind that is none", kSentencePiece,
      [](Forged&, Config& c) { c.model_kind = 3; });
  cases.back().without = Without::kRefusedElsewhere;  // no kind's sections are those of none
  add("!m_.wordpiece() || m_.huggingface()", "WordPiece of SentencePiece", kWordPiece,
      [](Forged&, Config& c) { c.parity = RANKFEED_PARITY_SENTENCEPIECE; });
  const char* const kPrefix = "ValidText(c.continuing_prefix)";
  add(kPrefix, "a prefix outside", kWordPiece,
      [](Forged&, Config& c) { c.continuing_prefix = {0xffffffffu, 1}; });
  add(kPrefix, "a prefix that is not UTF-8", kWordPiece,
      [](Forged& f, Config& c) { c.continuing_prefix = f.AddText("\xc3"); });
  add(kPrefix, "a long prefix", kWordPiece, [](Forged& f, Config& c) {
    c.continuing_prefix = f.AddText(std::string(image::kMaxStringBytes + 1, '#'));
  });
  const char* const kOthers = "m_.wordpiece() || (c.max_input_chars == 0";
  add(kOthers, "a longest word of Unigram", kSentencePiece,
      [](Forged&, Config& c) { c.max_input_chars = 1; });
  add(kOthers, "a prefix of Unigram", kSentencePiece,
      [](Forged&, Config& c) { c.continuing_prefix = {0, 1}; });
  cases.push_back({"!m_.has(kByteLevel)", "bytes of Unigram", kBytes, SectionId::kByteIds,
                   [](Forged& f) {
                     f.config().flags |= image::kByteLevel;
                     return 0u;
                   }});
  cases.push_back({"(m_.segment.config->rules & ~kNoOffsets) == kPunctuationIsWord", "rules of Unigram", kWordPiece,
                   SectionId::kSegmentConfig, [](Forged& f) {
                     f.segment_config().rules |= image::kTrailingSpaceIsWord;
                     return 0u;
                   }});
  cases.push_back({"!in_utf8(i) ||", "a byte without a piece", kSplits, SectionId::kByteIds,
                   [](Forged& f) {
                     f.Get<uint32_t>(SectionId::kByteIds)[97] = image::kNoId;
                     return 97u;
                   }});
  AddSplitCases(cases);
  AddSpaceWordCases(cases);
  add("m_.config->max_input_chars <= kMaxWordChars", "words without an end", kWordPiece,
      [](Forged&, Config& c) { c.max_input_chars = image::kMaxWordChars + 1; });
  cases.push_back({"m_.scores.size() ==", "scores of WordPiece", kWordPiece, SectionId::kScores,
                   [](Forged& f) {
                     f.Add(SectionId::kScores, -1.0, f.config().id_count);
                     return 0u;
                   }});
}

void AddMergeCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, SectionId section, auto change,
                       Original original = kBpe) {
    cases.push_back({rule, what, original, section, [=](Forged& f) -> uint32_t { return change(f); }});
  };
  for (const auto change : {+[](Forged& f) { f.Add(SectionId::kMerges, uint64_t{0}); },
                            +[](Forged& f) { f.Add(SectionId::kMergeSlots, uint32_t{0}); },
                            +[](Forged& f) { f.Add(SectionId::kMergeFactors, uint16_t{1}); }}) {
    add("m_.bpe() || (factors == 0", "merges of Unigram", SectionId::kMerges, [=](Forged& f) {
      change(f);
      return 0;
    }, kSentencePiece);
  }
  // Without these rules sizes would be shifted by 64 bits or places lie beyond.
  for (const uint32_t size : {0, 1, 3}) {
    add("std::has_single_bit(factors)", "factors of no table", SectionId::kMergeFactors, [=](Forged& f) {
      f.Drop(SectionId::kMergeFactors);
      f.Add(SectionId::kMergeFactors, uint16_t{1}, size);
      return 0;
    });
    add("std::has_single_bit(slots)", "slots of no table", SectionId::kMergeSlots, [=](Forged& f) {
      f.Drop(SectionId::kMergeSlots);
      f.Add(SectionId::kMergeSlots, image::kNoMerge, size);
      return 0;
    });
  }
  add("count <= kMaxMerges &&", "a rank of no merge", SectionId::kMergeRanks, [](Forged& f) {
    f.Add(SectionId::kMergeRanks, uint32_t{0});
    return 0;
  });
  add("ids <= kMaxMergeIds", "ids of more bits", SectionId::kConfig, [](Forged& f) {
    const uint32_t more = image::kMaxMergeIds + 1 - f.config().id_count;
    f.config().id_count += more;
    f.Add(SectionId::kIdPieces, uint32_t{f.Get<uint32_t>(SectionId::kIdPieces).back()}, more);
    f.Add(SectionId::kIdFlags, uint8_t{0}, more);
    return 0;
  });
  add("if (bad) Require(false, SectionId::kMergeSlots", "a slot of no merge", SectionId::kMergeSlots, [](Forged& f) {
    f.Get<uint32_t>(SectionId::kMergeSlots)[1] = 2;
    return 1;
  });
  for (const uint64_t merge : {image::PackMerge(258, 0, 0), image::PackMerge(0, 258, 0),
                               image::PackMerge(0, 0, 258), uint64_t{1} << 62}) {
    add("if (bad) Require(false, SectionId::kMerges", "an id that is none", SectionId::kMerges,
        [=](Forged& f) {
          f.Get<uint64_t>(SectionId::kMerges)[1] = merge;
          return 1;
        });
  }
  add("m_.quiet.present() == bytes", "bytes without characters", SectionId::kQuiet, [](Forged& f) {
    f.Drop(SectionId::kQuiet);
    return 0;
  });
  add("m_.crossings.size() ==", "a crossing of no bytes", SectionId::kCrossings, [](Forged& f) {
    f.Add(SectionId::kCrossings, uint32_t{0});
    return 0;
  });
  for (const auto id : {&image::QuietCharacter::id, &image::QuietCharacter::spaced_id}) {
    add("if (bad) Require(false, SectionId::kQuiet", "an id that is none", SectionId::kQuiet, [=](Forged& f) {
      f.Get<image::QuietCharacter>(SectionId::kQuiet)[3].*id = 258;
      return 3;
    });
  }
  add("t.ranks[i] > i", "a rank above its number", SectionId::kMergeRanks, [](Forged& f) {
    f.Get<uint32_t>(SectionId::kMergeRanks)[0] = 1;
    return 0;
  });
}

// A unit of a trie that leads nowhere and is not led to.
trie::Unit& FreeUnit(Forged& f, SectionId id) {
  for (trie::Unit& unit : f.Get<trie::Unit>(id).subspan(1)) {
    if (trie::Label(unit) == trie::kEmptyLabel) return unit;
  }
  ADD_FAILURE() << "no unit is free";
  return f.Get<trie::Unit>(id)[0];
}

void AddTrieCases(Cases& cases) {
  const auto bad_trie = [&](Original original, SectionId id, auto base, auto value) {
    cases.push_back({"!bad_base && !bad_value", "a base", original, id, [=](Forged& f) {
                       const auto units = static_cast<uint32_t>(f.Get<trie::Unit>(id).size());
                       FreeUnit(f, id) =
                           trie::MakeUnit(trie::kEmptyLabel, units - base(f) + 1, trie::kNoValue);
                       return 0u;
                     }});
    if (id == SectionId::kUserDefinedTrie) return;  // its values mean nothing
    cases.push_back({"!bad_base && !bad_value", "a value", original, id, [=](Forged& f) {
                       FreeUnit(f, id) = trie::MakeUnit(trie::kEmptyLabel, 0, value(f));
                       return 0u;
                     }});
  };
  const auto bytes = [](Forged&) { return 257u; };
  const auto tokens = [](Forged& f) {
    return static_cast<uint32_t>(f.Get<AddedToken>(SectionId::kAddedTokens).size());
  };
  bad_trie(
      kSentencePiece, SectionId::kTrieUnits, [](Forged& f) { return f.config().code_count; },
      [](Forged& f) { return f.config().id_count; });
  bad_trie(kHuggingFace, SectionId::kAddedTrieRaw, bytes, tokens);
  bad_trie(kHuggingFace, SectionId::kAddedTrieNormalized, bytes, tokens);
  bad_trie(kSentencePiece, SectionId::kUserDefinedTrie, bytes, bytes);
  for (const SectionId id : {SectionId::kAddedTrieRaw, SectionId::kAddedTrieNormalized}) {
    cases.push_back({"if (trie.Step(unit, byte + 1))", "a token from inside a character", kHuggingFace, id,
                     [id](Forged& f) {
                       const auto units = f.Get<trie::Unit>(id);
                       uint32_t byte = 0x80;  // the first whose place no other token has
                       trie::Unit* unit = nullptr;
                       do {
                         unit = &units[trie::Base(units[0]) + byte + 1];
                       } while (trie::Label(*unit) != trie::kEmptyLabel && ++byte < 0xbf);
                       *unit = trie::MakeUnit(byte + 1, 0, 0);
                       return byte;
                     }});
  }

  cases.push_back(
      {"!bad_code, SectionId::kCodes", "a code", kSentencePiece, SectionId::kCodes, [](Forged& f) {
         f.Get<uint16_t>(SectionId::kCodes)[5] = static_cast<uint16_t>(f.config().code_count);
         return 0u;
       }});
  cases.push_back({"m_.scores.size() ==", "a score too many", kSentencePiece, SectionId::kScores,
                   [](Forged& f) {
                     f.Add(SectionId::kScores, -1.0);
                     return 0u;
                   }});
  for (const double score : {kNan, HUGE_VAL, -HUGE_VAL}) {
    cases.push_back({"if (!std::isfinite(m_.scores[i]))", "a score", kSentencePiece,
                     SectionId::kScores, [score](Forged& f) {
                       f.Get<double>(SectionId::kScores)[1] = score;
                       return 1u;
                     }});
  }
}

Cases AllCases() {
  Cases cases;
  AddConfigCases(cases);
  AddModelKindCases(cases);
  AddMergeCases(cases);
  AddTrieCases(cases);
  for (const auto more : {CasesOfTexts, CasesOfSegments}) {
    for (Case& one : more()) cases.push_back(std::move(one));
  }
  return cases;
}

rankfeed_status Open(const Forged::Sealed& image, rankfeed_error_detail* detail, uint32_t flags = 0) {
  *detail = {};
  detail->struct_size = sizeof(*detail);
  alignas(64) static unsigned char storage[4096];
  const rankfeed_mem_req need = rankfeed_model_mem_req();
  EXPECT_LE(need.size, sizeof(storage));
  rankfeed_model* model = nullptr;
  return rankfeed_model_open(image.data.get(), image.size, flags, storage, need.size, &model, detail);
}

TEST(Verify, AcceptsTheOriginals) {
  for (const Original original : kOriginals) {
    rankfeed_error_detail detail;
    EXPECT_EQ(Open(Forged(ImageOf(original)).Seal(), &detail), RANKFEED_OK)
        << static_cast<int>(original) << " section " << detail.section << " item " << detail.item;
  }
  EXPECT_FALSE(Forged(ImageOf(kSegments)).Get<image::SegmentConfig>(SectionId::kSegmentConfig).empty());
}

// An image of a vocabulary with ignore_merges, as one was before parts of splits had keys, and as one is now.
TEST(Verify, RefuseAnImageWhosePartsHaveNoKeys) {
  Forged forged(ImageOf(kSplits));
  forged.config().flags |= image::kIgnoreMerges;
  rankfeed_error_detail detail;
  EXPECT_EQ(Open(forged.Seal(), &detail), RANKFEED_E_IMAGE_VERSION);
  EXPECT_EQ(Open(forged.Seal(), &detail, RANKFEED_OPEN_TRUSTED_IMAGE), RANKFEED_E_IMAGE_VERSION);
  EXPECT_EQ(detail.section, static_cast<uint32_t>(SectionId::kSegmentConfig));
  forged.segment_config().rules |= image::kPartsHaveKeys;
  EXPECT_EQ(Open(forged.Seal(), &detail), RANKFEED_OK);
}

// The greatest arguments that a row allows are accepted, in an image with all tables.
TEST(Verify, AcceptsEveryElement) {
  for (const image::OpInfo& row : image::kOps) {
    Forged forged(ImageOf(kHuggingFace));
    Step step{static_cast<uint32_t>(row.op), row.max_arg0, row.max_arg1, 0, {}, {}};
    if (row.needs_text) step.a = forged.AddText("x");
    forged.Drop(SectionOf(row.part));
    forged.Add(SectionOf(row.part), step);
    rankfeed_error_detail detail;
    EXPECT_EQ(Open(forged.Seal(), &detail), RANKFEED_OK) << static_cast<uint32_t>(row.op);
  }
}

// Together the originals have every section, and some case is refused because of each.
TEST(Verify, SectionsHaveCases) {
  std::set<SectionId> refused;
  for (const Case& c : AllCases()) refused.insert(c.section);
  // Strings and lists are looked at where something points into them; any number is a combining class.
  const std::set<SectionId> free = {SectionId::kStrings, SectionId::kExpansions, SectionId::kCcc};
  for (const image::SectionInfo& section : image::kSections) {
    bool present = false;
    for (const Original original : kOriginals) {
      Forged forged(ImageOf(original));
      present = present || forged.Has(section.id);
    }
    EXPECT_TRUE(present) << "no original has " << section.name;
    EXPECT_NE(refused.contains(section.id), free.contains(section.id)) << section.name;
  }
}

TEST(Verify, RulesHaveCases) {
  const std::vector<std::string> rules = Rules();
  ASSERT_GT(rules.size(), 60u);
  std::vector<int> cases(rules.size());
  for (const Case& c : AllCases()) {
    const int rule = RuleOf(rules, c.rule);
    ASSERT_NE(rule, -1) << "not one rule: " << c.rule;
    ++cases[static_cast<size_t>(rule)];
  }
  for (size_t i = 0; i < rules.size(); ++i) EXPECT_GT(cases[i], 0) << "no case: " << rules[i];
  RecordProperty("rules", static_cast<int>(rules.size()));
  RecordProperty("cases", std::accumulate(cases.begin(), cases.end(), 0));
}

// A row of the list of indices in docs/image-format.md: sections, the kinds of models that read them so, and what
// checks that: parts of statements of image/verify.cc, or of the file of a reader.
struct IndexRow {
  std::set<std::string> sections, models;
  std::vector<std::string> checks;
};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}
std::vector<std::string> PartsOf(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream from(text);
  for (std::string part; std::getline(from, part, at);) parts.push_back(Trimmed(part));
  return parts;
}

std::string ReadSource(const std::string& path) {
  const char* root = std::getenv("RANKFEED_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<IndexRow> IndexRows() {
  std::vector<IndexRow> rows;
  const std::string text = ReadSource("docs/image-format.md");
  std::istringstream lines(text.substr(std::min(text.find("## Who checks each index"), text.size())));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = PartsOf(line, '|');
    if (cells.size() != 5 || cells[1] == "section" || cells[1].starts_with("-")) continue;
    IndexRow row;
    for (const std::string& section : PartsOf(cells[1], ',')) row.sections.insert(section);
    for (const std::string& model : PartsOf(cells[3], ',')) row.models.insert(model);
    const std::vector<std::string> quoted = PartsOf(cells[4], '`');
    for (size_t i = 1; i < quoted.size(); i += 2) row.checks.push_back(quoted[i]);
    rows.push_back(row);
  }
  return rows;
}

// kTrieUnits is trie_units there.
std::string NameInDocs(SectionId id) {
  for (const image::SectionInfo& section : image::kSections) {
    if (section.id != id) continue;
    std::string name;
    for (const char c : std::string_view(section.name + 1)) {
      if (c >= 'A' && c <= 'Z') name += name.empty() ? "" : "_";
      name += static_cast<char>(c | 0x20);
    }
    return name;
  }
  return "";
}

const char* ModelOf(Original original) {
  const bool bpe = original == kSplits || original == kBpe || original == kCharacters;
  return bpe ? "BPE" : original == kWordPiece ? "WordPiece" : "Unigram";
}

// Each index that the encoder follows is in the list with its checks, of each check there is a case in each kind of
// model that is named, and no rule is missing in the list.
TEST(Verify, IndicesAreListedWithTheirChecks) {
  const std::vector<std::string> rules = Rules();
  const std::vector<IndexRow> rows = IndexRows();
  const Cases cases = AllCases();
  ASSERT_GT(rows.size(), 40u);
  std::set<std::string> listed;
  std::set<std::pair<std::string, int>> checked;
  for (const IndexRow& row : rows) {
    listed.insert(row.sections.begin(), row.sections.end());
    EXPECT_FALSE(row.checks.empty()) << *row.sections.begin();
    std::set<std::string> models;
    bool by_rules = false;
    for (const std::string& check : row.checks) {
      if (check.starts_with("src/")) {  // of a reader: file, colon, part of it
        const size_t colon = check.find(": ");
        ASSERT_NE(colon, std::string::npos) << check;
        EXPECT_NE(ReadSource(check.substr(0, colon)).find(check.substr(colon + 2)), std::string::npos) << check;
        continue;
      }
      by_rules = true;
      const int rule = RuleOf(rules, check);
      EXPECT_NE(rule, -1) << "not one rule: " << check;
      for (const std::string& section : row.sections) {
        checked.insert({section, rule});
        bool forged = false;
        for (const Case& c : cases) {
          if (NameInDocs(c.section) != section || RuleOf(rules, c.rule) != rule) continue;
          forged = true;
          models.insert(ModelOf(c.original));
        }
        EXPECT_TRUE(forged) << "no case: " << section << ", " << check;
      }
    }
    for (const std::string& model : row.models) {
      EXPECT_TRUE(model == "all" || !by_rules || models.contains(model)) << *row.sections.begin() << ": no case of " << model;
    }
  }
  for (const image::SectionInfo& section : image::kSections) {
    EXPECT_TRUE(listed.erase(NameInDocs(section.id))) << "not in the list: " << section.name;
  }
  EXPECT_TRUE(listed.empty()) << "no section: " << *listed.begin();
  for (const Case& c : cases) {
    EXPECT_TRUE(checked.contains({NameInDocs(c.section), RuleOf(rules, c.rule)}))
        << "not in the list: " << NameInDocs(c.section) << ", " << c.rule << ", " << ModelOf(c.original);
  }
}

TEST(Verify, EachRuleRefusesWhatNoOtherDoes) {
  const std::vector<std::string> rules = Rules();
  for (const Case& c : AllCases()) {
    SCOPED_TRACE(std::string(c.rule) + ": " + c.what + ", section " +
                 std::to_string(static_cast<uint32_t>(c.section)));
    Forged forged(ImageOf(c.original));
    const uint32_t item = c.forge(forged);
    const Forged::Sealed image = forged.Seal();
    rankfeed_error_detail detail;
    ASSERT_EQ(Open(image, &detail), RANKFEED_E_IMAGE_STRUCTURE);
    EXPECT_EQ(detail.section, static_cast<uint32_t>(c.section));
    EXPECT_EQ(detail.item, item);
    if (c.without == Without::kNotTried) continue;

    Model model;
    ASSERT_EQ(image::Bind(image.data.get(), image.size, &model, &detail), RANKFEED_OK);
    EXPECT_EQ(image::VerifyWithout(model, &detail), RANKFEED_E_IMAGE_STRUCTURE);
    rule_off = RuleOf(rules, c.rule);
    detail = {};
    detail.struct_size = sizeof(detail);
    const rankfeed_status status = image::VerifyWithout(model, &detail);
    rule_off = -1;
    if (c.without == Without::kAccepted) {
      EXPECT_EQ(status, RANKFEED_OK)
          << "refused also by section " << detail.section << " item " << detail.item;
    } else {
      EXPECT_TRUE(status == RANKFEED_E_IMAGE_STRUCTURE &&
                  detail.section != static_cast<uint32_t>(c.section));
    }
  }
}

TEST(Verify, RefusesAnyOtherChecksum) {
  const Forged::Sealed image = Forged(ImageOf(kSentencePiece)).Seal();
  rankfeed_error_detail detail;
  for (const size_t at :
       {offsetof(image::Header, checksum), offsetof(image::Header, config_hash), image.size - 1}) {
    image.data.get()[at] ^= 1;
    EXPECT_EQ(Open(image, &detail), RANKFEED_E_IMAGE_CHECKSUM);
    EXPECT_EQ(detail.byte_offset, offsetof(image::Header, checksum));
    image.data.get()[at] ^= 1;
  }
  EXPECT_EQ(Open(image, &detail), RANKFEED_OK);
}

}  // namespace
}  // namespace rankfeed::image_test
