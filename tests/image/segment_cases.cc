// SPDX-License-Identifier: MIT
// The rules of the segment engine's sections; see verify_test.cc.
#include <cmath>
#include <set>

#include "image/char_info.h"
#include "image/forged_image.h"
#include "trie/double_array.h"

namespace rankfeed::image_test {
namespace {

using image::AutomatonState;
using image::SegmentConfig;
using Without = Case::Without;
using Cases = std::vector<Case>;

Case& Add(Cases& cases, const char* rule, const char* what, SectionId section,
          std::function<uint32_t(Forged&)> forge) {
  return cases.emplace_back(Case{rule, what, Original::kSegments, section, std::move(forge)});
}

// Greater than every base of the automaton.
uint32_t NoBase(Forged& f) {
  return static_cast<uint32_t>(f.Get<AutomatonState>(SectionId::kAutomatonStates).size()) -
         f.config().code_count;
}

// A state that no step leads to.
size_t FreeState(Forged& f) {
  const auto units = f.Get<trie::Unit>(SectionId::kTrieUnits);
  for (size_t i = 1; i < units.size(); ++i) {
    if (trie::Label(units[i]) == trie::kEmptyLabel) return i;
  }
  ADD_FAILURE() << "no state is free";
  return 0;
}

// A place of kAutomatonFails that no fail leads to.
uint32_t FreeFail(Forged& f) {
  std::set<uint32_t> used = {f.segment_config().root_base};
  for (const trie::Unit unit : f.Get<trie::Unit>(SectionId::kTrieUnits)) {
    used.insert(trie::Base(unit));
  }
  for (const uint32_t fail : f.Get<uint32_t>(SectionId::kAutomatonFails)) {
    used.insert(fail & image::kFailBaseMask);
  }
  uint32_t base = 0;
  while (used.contains(base)) ++base;
  EXPECT_LT(base, NoBase(f));
  return base;
}

void AddSizeCases(Cases& cases) {
  const auto one_more = [&](const char* rule, SectionId section, auto element) {
    Add(cases, rule, "an element too many", section, [=](Forged& f) {
      f.Add(section, element);
      return 0u;
    });
  };
  one_more("w.table_bits < 28 &&", SectionId::kSegmentTable, image::SegmentEntry{});
  one_more("m_.segment.starts.size() ==", SectionId::kSearchStarts, image::SearchStart{});
  one_more("m_.segment.id_codes.size() ==", SectionId::kIdCodes, uint8_t{0});
  one_more("m_.segment.spanned_pairs.size() ==", SectionId::kSpannedPairs, uint64_t{0});
  one_more("w.span_bits > 0 &&", SectionId::kSpanTable, image::SpanEntry{});
  one_more("m_.segment.direct_codes.size() ==", SectionId::kDirectCodes, uint16_t{0});
  Add(cases, "m_.pieces.units().size() ==", "a unit without a state", SectionId::kAutomatonStates,
      [](Forged& f) {
        f.Add(SectionId::kTrieUnits, f.Get<trie::Unit>(SectionId::kTrieUnits)[1]);
        return 0u;
      });
  Add(cases, "m_.segment.fails.size() ==", "an element too many", SectionId::kAutomatonFails,
      [](Forged& f) {
        f.Add(SectionId::kAutomatonFails, f.Get<uint32_t>(SectionId::kAutomatonFails)[0]);
        return 0u;
      });
  const auto config = [&](const char* rule, const char* what, SectionId section, auto change) {
    Add(cases, rule, what, section, [=](Forged& f) {
      change(f.segment_config());
      return 0u;
    });
  };
  config("w.table_bits < 28 &&", "a larger table", SectionId::kSegmentTable,
         [](SegmentConfig& w) { ++w.table_bits; });
  config("w.table_bits < 28 &&", "a table without end", SectionId::kSegmentTable,
         [](SegmentConfig& w) { w.table_bits = 60; });
  config("w.span_bits > 0 &&", "larger buckets", SectionId::kSpanTable,
         [](SegmentConfig& w) { ++w.span_bits; });
  config("w.span_bits > 0 &&", "buckets without end", SectionId::kSpanTable,
         [](SegmentConfig& w) { w.span_bits = 60; });
  Add(cases, "w.span_bits > 0 &&", "a shift by 32", SectionId::kSpanTable, [](Forged& f) {
    f.segment_config().span_bits = 0;
    f.Drop(SectionId::kSpanTable);
    f.Add(SectionId::kSpanTable, image::SpanEntry{},
          image::SpanTableCount(f.config().code_count, 0));
    return 0u;
  });
  // What follows in the verifier reads by these: without the rule other rules refuse the image by
  // what they find, or there is nothing to read.
  for (const uint32_t room : {0u, 1u}) {
    Add(cases, "w.root_base < states &&", "no room for the states of all characters",
        SectionId::kAutomatonStates,
        [room](Forged& f) {
          f.segment_config().root_base = NoBase(f) + f.config().code_count * room;
          return 0u;
        })
        .without = Without::kRefusedElsewhere;
  }
  Add(cases, "m_.segment.char_info.present()", "no characters", SectionId::kCharInfo,
      [](Forged& f) {
        f.Drop(SectionId::kCharInfo);
        return 0u;
      })
      .without = Without::kNotTried;
  for (const bool none : {false, true}) {
    Add(cases, "w.space_code != 0 &&", "a code of U+2581 that is none", SectionId::kSegmentConfig,
        [none](Forged& f) {
          f.segment_config().space_code = none ? 0 : f.config().code_count;
          f.RemakeStarts();
          return 0u;
        });
  }
  for (const uint32_t rule : {image::kSegmentRules + 1, uint32_t{image::kPatternSplits}}) {
    Add(cases, "(w.rules & ~(kSegmentRules ^ kPatternSplits))", "a rule that there is not", SectionId::kSegmentConfig,
        [=](Forged& f) {
          f.segment_config().rules |= rule;
          return 0u;
        });
  }
  Add(cases, "!signs || may_have_signs", "rules that exclude each other", SectionId::kSegmentConfig,
      [](Forged& f) {
        f.segment_config().rules |= image::kEverySpaceIsWord | image::kPunctuationIsWord;
        return 0u;
      });
  Add(cases, "m_.config->unk_id <", "no id for what is unknown", SectionId::kConfig, [](Forged& f) {
    f.config().unk_id = image::kNoId;
    return 0u;
  });
  Add(cases, "if (m_.segment.char_info.blocks[block] != block)", "a block out of order",
      SectionId::kCharInfoBlocks, [](Forged& f) {
        f.Get<uint16_t>(SectionId::kCharInfoBlocks)[7] = 6;
        return 7u;
      });
}

void AddScoreCases(Cases& cases) {
  for (const double unit : {0x1p-31, 0x1p11, HUGE_VAL, 0x1.8p-10}) {
    Add(cases, "unit > 1e-9 &&", "a cost unit", SectionId::kSegmentConfig, [unit](Forged& f) {
      f.segment_config().cost_unit = unit;
      f.config().unk_score = -0x1p-20;
      for (double& score : f.Get<double>(SectionId::kScores)) score = 0;
      return 0u;
    });
  }
  for (const double score : {0.0, 1.0, -1e9}) {
    Add(cases, "m_.config->unk_score < 0", "a score of the unknown", SectionId::kConfig,
        [score](Forged& f) {
          f.config().unk_score = score;
          return 0u;
        });
  }
  for (const double score : {1e9, -1e9}) {
    Add(cases, "if (!(score <= -lowest", "a score", SectionId::kScores, [score](Forged& f) {
      f.Get<double>(SectionId::kScores)[9] = score;
      return 9u;
    });
  }
}

void AddTableCases(Cases& cases) {
  const auto entry = [&](const char* what, auto change) {
    Add(cases, "!bad_entry", what, SectionId::kSegmentTable, [=](Forged& f) {
      change(f, f.Get<image::SegmentEntry>(SectionId::kSegmentTable).back());
      return 0u;
    });
  };
  entry("two ids", [](Forged&, image::SegmentEntry& e) { e.info.count = 2; });
  entry("a shift by 64", [](Forged&, image::SegmentEntry& e) { e.info.exact_below = 64; });
  entry("an id that is none",
        [](Forged& f, image::SegmentEntry& e) { e.id = f.config().id_count; });
  const auto part = [&](const char* what, auto change) {
    Add(cases, "!bad_span", what, SectionId::kSpanTable, [=](Forged& f) {
      image::SpanEntry& of = f.Get<image::SpanEntry>(SectionId::kSpanTable).back();
      of = {1, {0, 0}, {1, 60, 1}};
      change(f, of);
      return 0u;
    });
  };
  part("no ids", [](Forged&, image::SpanEntry& p) { p.info.count = 0; });
  part("three ids", [](Forged&, image::SpanEntry& p) { p.info.count = 3; });
  part("a shift by 64", [](Forged&, image::SpanEntry& p) { p.info.exact_below = 64; });
  part("a code that is none",
       [](Forged& f, image::SpanEntry& p) { p.codes |= (f.config().code_count + 1) << 16; });
  part("an id that is none",
       [](Forged& f, image::SpanEntry& p) { p.ids[0] = f.config().id_count; });
  part("a second id that is none",
       [](Forged& f, image::SpanEntry& p) { p.ids[1] = f.config().id_count; });
  Add(cases, "!bad_code, SectionId::kDirectCodes", "a code that is none", SectionId::kDirectCodes,
      [](Forged& f) {
        f.Get<uint16_t>(SectionId::kDirectCodes)[65] =
            static_cast<uint16_t>(f.config().code_count + 1);
        return 0u;
      });
}

void AddUnitCases(Cases& cases) {
  const auto fail = [&](const char* what, auto make) {
    Add(cases, "!bad_fail", what, SectionId::kAutomatonFails, [=](Forged& f) {
      const uint32_t base = FreeFail(f);
      f.Get<uint32_t>(SectionId::kAutomatonFails)[base] = make(f, base);
      return 0u;
    });
  };
  fail("a fail that is none", [](Forged& f, uint32_t) { return image::MakeFail(2, NoBase(f)); });
  fail("more characters than a piece has",
       [](Forged& f, uint32_t) { return image::MakeFail(17, f.segment_config().root_base); });
  fail("no characters, but not the root",
       [](Forged&, uint32_t base) { return image::MakeFail(0, base); });
  fail("a circle", [](Forged&, uint32_t base) { return image::MakeFail(3, base); });

  Add(cases, "!bad_unit", "a character that leads nowhere from the root", SectionId::kTrieUnits,
      [](Forged& f) {
        const uint32_t root_base = f.segment_config().root_base;
        f.Get<trie::Unit>(SectionId::kTrieUnits)[root_base + 1] =
            trie::LeafUnit(2, root_base, trie::kNoValue);
        f.RemakeStarts();
        return 0u;
      });
  // A base of the trie, but not with the code of characters in no piece.
  Add(cases, "!bad_unit", "a base that is none", SectionId::kTrieUnits, [](Forged& f) {
    f.Get<trie::Unit>(SectionId::kTrieUnits)[FreeState(f)] =
        trie::MakeUnit(trie::kEmptyLabel, NoBase(f), trie::kNoValue);
    return 0u;
  });
}

void AddStateCases(Cases& cases) {
  for (const uint32_t count : {0u, 2u}) {
    Add(cases, "!bad_state", "a character without its one edge", SectionId::kAutomatonStates,
        [count](Forged& f) {
          f.Get<AutomatonState>(SectionId::kAutomatonStates)[f.segment_config().root_base + 1]
              .edge_count = count;
          return 0u;
        });
  }
  const auto state = [&](const char* what, auto change) {
    Add(cases, "!bad_state", what, SectionId::kAutomatonStates, [=](Forged& f) {
      const auto edges = static_cast<uint32_t>(f.Get<uint64_t>(SectionId::kAutomatonEdges).size());
      change(f.Get<AutomatonState>(SectionId::kAutomatonStates)[FreeState(f)], edges);
      return 0u;
    });
  };
  // As many as make room for seventeen.
  Add(cases, "!bad_state", "seventeen edges", SectionId::kAutomatonStates, [](Forged& f) {
    f.Add(SectionId::kAutomatonEdges, image::kNoEdge, 20);
    f.Get<AutomatonState>(SectionId::kAutomatonStates)[FreeState(f)].edge_count = 17;
    return 0u;
  });
  state("edges from outside on", [](AutomatonState& s, uint32_t edges) { s.more = edges; });
  // Two are read, and all of those that there are.
  state("one edge", [](AutomatonState& s, uint32_t edges) { s.more = edges - 1; });
  state("edges that end outside", [](AutomatonState& s, uint32_t edges) {
    s.more = edges - 3;
    s.edge_count = 5;
  });
  for (const uint64_t edge : {image::MakeEdge(1, 1, image::kEdgeLiteral - 1),
                              image::MakeEdge(image::kMaxCost + 1, 1, image::kEdgeUnknown)}) {
    Add(cases, "!bad_edge", "of a state", SectionId::kAutomatonEdges, [edge](Forged& f) {
      f.Get<AutomatonState>(SectionId::kAutomatonStates)[FreeState(f)].edge = edge;
      return 0u;
    });
    Add(cases, "!bad_edge", "of those beyond", SectionId::kAutomatonEdges, [edge](Forged& f) {
      f.Add(SectionId::kAutomatonEdges, edge);
      return 0u;
    });
  }
  const auto begin = [&](const char* what, auto change) {
    Add(cases, "is.base == start.base", what, SectionId::kSearchStarts, [=](Forged& f) {
      change(f.Get<image::SearchStart>(SectionId::kSearchStarts)[2]);
      return 2u;
    });
  };
  begin("another state", [](image::SearchStart& b) { ++b.base; });
  begin("another sum",
        [](image::SearchStart& b) { b.sum += uint64_t{1} << image::kEdgeCostShift; });
  begin("another edge", [](image::SearchStart& b) { ++b.sum; });
  begin("another margin", [](image::SearchStart& b) { ++b.margin; });
}

void AddCharacterCases(Cases& cases) {
  const auto character = [&](const char* what, auto change) {
    Add(cases, "if (!good)", what, SectionId::kCharInfo, [=](Forged& f) {
      const image::CharInfo is =
          change(f, static_cast<uint32_t>(f.Get<uint16_t>(SectionId::kExpansions).size()));
      f.Get<image::CharInfo>(SectionId::kCharInfo)[0x40] = is;
      return 0x40u;
    });
  };
  character("a code that is none", [](Forged& f, uint32_t) {
    return image::CharInfo::OfCode(f.config().code_count + 1);
  });
  character("no code and no reason", [](Forged&, uint32_t) { return image::CharInfo(); });
  character("a list outside", [](Forged&, uint32_t at) { return image::CharInfo::OfList(at); });
  character("a list where there are none", [](Forged& f, uint32_t) {
    f.Drop(SectionId::kExpansions);
    return image::CharInfo::OfList(0x3000);
  });
  character("a long list", [](Forged& f, uint32_t at) {
    f.Add(SectionId::kExpansions, uint16_t{25});
    f.Add(SectionId::kExpansions, uint16_t{1}, 25);
    return image::CharInfo::OfList(at);
  });
  character("a list that ends outside", [](Forged& f, uint32_t at) {
    f.Add(SectionId::kExpansions, uint16_t{2});
    f.Add(SectionId::kExpansions, uint16_t{1});
    return image::CharInfo::OfList(at);
  });
  character("a list with a code that is none", [](Forged& f, uint32_t at) {
    f.Add(SectionId::kExpansions, uint16_t{1});
    f.Add(SectionId::kExpansions, static_cast<uint16_t>(f.config().code_count + 1));
    return image::CharInfo::OfList(at);
  });
  character("a list that ends before a sign", [](Forged& f, uint32_t at) {
    f.segment_config().rules = image::kPunctuationIsWord;
    f.Add(SectionId::kExpansions, uint16_t{1});
    f.Add(SectionId::kExpansions, image::kSign);
    return image::CharInfo::OfList(at) | image::CharInfo::OfSpace();
  });
  character("a list with a space for a sign", [](Forged& f, uint32_t at) {
    f.segment_config().rules = image::kPunctuationIsWord;
    f.Add(SectionId::kExpansions, uint16_t{2});
    f.Add(SectionId::kExpansions, image::kSign);
    f.Add(SectionId::kExpansions, uint16_t{0});
    return image::CharInfo::OfList(at) | image::CharInfo::OfSpace();
  });
  character("a list with a sign without that rule", [](Forged& f, uint32_t at) {
    f.Add(SectionId::kExpansions, uint16_t{2});
    f.Add(SectionId::kExpansions, image::kSign);
    f.Add(SectionId::kExpansions, uint16_t{1});
    return image::CharInfo::OfList(at) | image::CharInfo::OfSpace();
  });
  character("a list with a space that is not said", [](Forged& f, uint32_t at) {
    f.Add(SectionId::kExpansions, uint16_t{1});
    f.Add(SectionId::kExpansions, uint16_t{0});
    return image::CharInfo::OfList(at);
  });
}

}  // namespace

std::vector<Case> CasesOfSegments() {
  Cases cases;
  AddSizeCases(cases);
  AddScoreCases(cases);
  AddTableCases(cases);
  AddUnitCases(cases);
  AddStateCases(cases);
  AddCharacterCases(cases);
  return cases;
}

}  // namespace rankfeed::image_test
