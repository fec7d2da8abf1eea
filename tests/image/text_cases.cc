// SPDX-License-Identifier: MIT
// The rules of strings, ids, steps, templates and tables of characters; see verify_test.cc.
#include "image/forged_image.h"
#include "image/sections.h"
#include "trie/double_array.h"

namespace rankfeed::image_test {

SectionId SectionOf(image::Part part) {
  return part == image::Part::kNormalizer     ? SectionId::kNormalizer
         : part == image::Part::kPreTokenizer ? SectionId::kPreTokenizer
                                              : SectionId::kDecoder;
}

namespace {

using enum Original;
using image::AddedToken;
using image::kNoId;
using image::Op;
using image::Step;
using image::TemplateItem;
using image::Text;
using Cases = std::vector<Case>;

// T: of the table's data, filler: an entry that means nothing.
template <class T>
void AddTableCases(Cases& cases, Original original, SectionId blocks, SectionId data, T filler) {
  cases.push_back({"table.size % 256 == 0", "part of a block", original, blocks, [=](Forged& f) {
                     f.Add(data, filler);
                     return 0u;
                   }});
  cases.push_back(
      {"if (table.blocks[i] >= blocks)", "a block that is none", original, blocks, [=](Forged& f) {
         const auto index = f.Get<uint16_t>(blocks);
         index.back() = static_cast<uint16_t>(f.Get<T>(data).size() / 256);
         return static_cast<uint32_t>(index.size() - 1);
       }});
}

void AddUnicodeCases(Cases& cases) {
  AddTableCases<uint16_t>(cases, kSentencePiece, SectionId::kCodeBlocks, SectionId::kCodes, 0);
  AddTableCases<uint16_t>(cases, kHuggingFace, SectionId::kPropBlocks, SectionId::kProps, 0);
  AddTableCases<uint8_t>(cases, kHuggingFace, SectionId::kCccBlocks, SectionId::kCcc, 0);
  AddTableCases<uint8_t>(cases, kHuggingFace, SectionId::kSplitBlocks, SectionId::kSplitClasses, 0);
  AddTableCases<image::QuietCharacter>(cases, kBpe, SectionId::kQuietBlocks, SectionId::kQuiet, {});
  AddTableCases<uint32_t>(cases, kHuggingFace, SectionId::kLowerBlocks, SectionId::kLower, 0);
  AddTableCases<uint32_t>(cases, kHuggingFace, SectionId::kDecompBlocks, SectionId::kDecomp, 0);
  AddTableCases<uint32_t>(cases, kHuggingFace, SectionId::kDecompKBlocks, SectionId::kDecompK, 0);
  AddTableCases<image::CharInfo>(cases, kSegments, SectionId::kCharInfoBlocks, SectionId::kCharInfo,
                                 image::CharInfo::OfGeneralPath());
  for (const SectionId id : {SectionId::kLower, SectionId::kDecomp, SectionId::kDecompK}) {
    cases.push_back({"if (end > m_.map_pool.size())", "a range beyond the pool", kHuggingFace, id,
                     [id](Forged& f) {
                       const auto pool = f.Get<uint32_t>(SectionId::kMapPool).size();
                       f.Get<uint32_t>(id)[3] = static_cast<uint32_t>((pool - 1) << 8 | 2);
                       return 3u;
                     }});
  }
  for (const uint32_t c : {0xd800u, 0xdfffu, 0x110000u}) {
    cases.push_back({"if (!scalar(m_.map_pool[i]))", "a code point", kHuggingFace,
                     SectionId::kMapPool, [c](Forged& f) {
                       f.Get<uint32_t>(SectionId::kMapPool)[1] = c;
                       return 1u;
                     }});
    cases.push_back({"if (!scalar(m_.compose[i].composed))", "a code point", kHuggingFace,
                     SectionId::kCompose, [c](Forged& f) {
                       f.Get<image::ComposePair>(SectionId::kCompose)[4].composed = c;
                       return 4u;
                     }});
  }
}

void AddStringCases(Cases& cases) {
  // Texts that cannot be walked: outside the pool, and not UTF-8.
  const std::function<Text(Forged&)> bad_texts[] = {
      [](Forged&) {
        return Text{0xffffffffu, 1};
      },
      [](Forged& f) {
        return Text{static_cast<uint32_t>(f.Get<char>(SectionId::kStrings).size()) - 1, 2};
      },
      [](Forged& f) { return f.AddText("a\xc3"); },
      [](Forged& f) { return f.AddText("12345678\xff"); }};
  const std::function<void(Forged&, uint32_t*)> bad_pieces[] = {
      [](Forged&, uint32_t* piece) { piece[1] = 0xffffffffu; },
      [](Forged& f, uint32_t* piece) {
        piece[1] = static_cast<uint32_t>(f.Get<char>(SectionId::kStrings).size()) + 1;
      },
      [](Forged&, uint32_t* piece) { piece[1] = piece[0] - 1; },
      [](Forged& f, uint32_t* piece) { f.Get<char>(SectionId::kStrings)[piece[0]] = '\xff'; }};
  for (const auto& bad : bad_pieces) {
    cases.push_back(
        {"if (begin > end ||", "a piece", kSentencePiece, SectionId::kIdPieces, [bad](Forged& f) {
           bad(f, &f.Get<uint32_t>(SectionId::kIdPieces)[4]);
           return 4u;
         }});
  }
  for (const auto& bad : bad_texts) {
    for (const auto member : {&AddedToken::content, &AddedToken::normalized}) {
      cases.push_back({"(ValidText(token.content)", "a text", kHuggingFace, SectionId::kAddedTokens,
                       [bad, member](Forged& f) {
                         const Text text = bad(f);
                         f.Get<AddedToken>(SectionId::kAddedTokens)[1].*member = text;
                         return 1u;
                       }});
    }
    for (const auto member : {&Step::a, &Step::b}) {
      for (const auto& [section, op] : {std::pair(SectionId::kNormalizer, Op::kReplace),
                                        std::pair(SectionId::kPreTokenizer, Op::kSplitString),
                                        std::pair(SectionId::kDecoder, Op::kReplaceDecode)}) {
        cases.push_back({"(ValidText(s.a)", "a text", kHuggingFace, section,
                         [=, section = section, op = op](Forged& f) {
                           const Text good = f.AddText("x");
                           Step step{static_cast<uint32_t>(op), 0, 0, 0, good, good};
                           step.*member = bad(f);
                           f.Add(section, step);
                           return static_cast<uint32_t>(f.Get<Step>(section).size() - 1);
                         }});
      }
    }
  }
  const auto token = [&](const char* rule, const char* what, auto change) {
    cases.push_back({rule, what, kHuggingFace, SectionId::kAddedTokens, [=](Forged& f) {
                       const Text longest = f.AddText(std::string(8193, 'x'));
                       change(f, longest, f.Get<AddedToken>(SectionId::kAddedTokens)[2]);
                       return 2u;
                     }});
  };
  token("token.content.size > 0", "empty",
        [](Forged&, Text, AddedToken& t) { t.content.size = 0; });
  token("token.content.size > 0", "long", [](Forged&, Text is, AddedToken& t) { t.content = is; });
  token("token.content.size > 0", "long when it is normalized",
        [](Forged&, Text is, AddedToken& t) { t.normalized = is; });
  token("token.id <", "an id that is none",
        [](Forged& f, Text, AddedToken& t) { t.id = f.config().id_count; });
}

void AddIdCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, Original original, SectionId section,
                       std::function<uint32_t(Forged&)> forge) {
    cases.push_back({rule, what, original, section, std::move(forge)});
  };
  add("m_.id_pieces.size() ==", "a piece too many", kSentencePiece, SectionId::kIdPieces,
      [](Forged& f) {
        f.Add(SectionId::kIdPieces, f.Get<uint32_t>(SectionId::kIdPieces).back());
        return 0u;
      });
  add("m_.id_flags.size() ==", "a type too many", kSentencePiece, SectionId::kIdFlags,
      [](Forged& f) {
        f.Add(SectionId::kIdFlags, uint8_t{1});
        return 0u;
      });
  add("if (m_.piece_index[i] >=", "an id that is none", kSentencePiece, SectionId::kPieceIndex,
      [](Forged& f) {
        f.Get<uint32_t>(SectionId::kPieceIndex)[1] = f.config().id_count;
        return 1u;
      });
  add("m_.byte_ids.empty() ||", "255 bytes", kHuggingFace, SectionId::kByteIds, [](Forged& f) {
    f.Drop(SectionId::kByteIds);
    f.Add(SectionId::kByteIds, kNoId, 255);
    return 0u;
  });
  add("!m_.has(kByteFallback) ||", "byte fallback without bytes", kHuggingFace, SectionId::kByteIds,
      [](Forged& f) {
        f.Drop(SectionId::kByteIds);
        f.config().flags |= image::kByteFallback;
        return 0u;
      });
  add("IdOrNone(m_.byte_ids[i])", "an id that is none", kHuggingFace, SectionId::kByteIds,
      [](Forged& f) {
        f.Drop(SectionId::kByteIds);
        f.Add(SectionId::kByteIds, kNoId, 256);
        f.Get<uint32_t>(SectionId::kByteIds)[200] = f.config().id_count;
        return 200u;
      });
  add("c.unk_id != kNoId ||", "no id for what is unknown", kSentencePiece, SectionId::kConfig,
      [](Forged& f) {
        f.config().unk_id = kNoId;
        return 0u;
      });
  for (const Original original : {kBytes, kCharacters}) {
    add("m_.byte_ids[i] != kNoId", "a byte without an id", original, SectionId::kByteIds, [](Forged& f) {
      f.Get<uint32_t>(SectionId::kByteIds)[65] = kNoId;
      return 65u;
    });
  }
}

void AddStepCases(Cases& cases) {
  const auto add = [&](const char* rule, const char* what, SectionId section, Step step,
                       size_t count = 1) {
    cases.push_back({rule, what, kHuggingFace, section, [=](Forged& f) {
                       f.Drop(section);
                       f.Add(section, step, count);
                       return 0u;
                     }});
  };
  const auto step = [](Op op, uint32_t arg0 = 0, uint32_t arg1 = 0) {
    return Step{static_cast<uint32_t>(op), arg0, arg1, 0, {}, {}};
  };
  for (const auto& [part, harmless, other] : {std::tuple(image::Part::kNormalizer, Op::kNmt, Op::kFuse),
                                              std::tuple(image::Part::kPreTokenizer, Op::kDigits, Op::kNmt),
                                              std::tuple(image::Part::kDecoder, Op::kFuse, Op::kDigits)}) {
    const SectionId section = SectionOf(part);
    add("steps.size() <= 256", "257 steps", section, step(harmless), 257);
    uint32_t first = UINT32_MAX, last = 0;
    for (const image::OpInfo& info : image::kOps) {
      if (info.part != part) continue;
      first = std::min(first, static_cast<uint32_t>(info.op));
      last = std::max(last, static_cast<uint32_t>(info.op));
    }
    for (const Op bad : {Op{first - 1}, Op{last + 1}, other}) {
      add("op->part == part, section", "no element of this part", section, step(bad));
    }
  }
  constexpr uint32_t kAnyNumber = 0xffffffff;
  for (const image::OpInfo& row : image::kOps) {
    const auto with_text = [&](const char* what, Step bad) {
      cases.push_back({"s.arg0 <= op->max_arg0", what, kHuggingFace, SectionOf(row.part),
                       [bad, section = SectionOf(row.part)](Forged& f) {
                         Step changed = bad;
                         changed.a = f.AddText("x");
                         f.Drop(section);
                         f.Add(section, changed);
                         return 0u;
                       }});
    };
    if (row.max_arg0 != kAnyNumber) with_text("a first argument", step(row.op, row.max_arg0 + 1));
    if (row.max_arg1 != kAnyNumber) with_text("a second argument", step(row.op, 0, row.max_arg1 + 1));
    if (row.needs_text) add("!op->needs_text ||", "no text to look for", SectionOf(row.part), step(row.op));
  }
  cases.push_back(
      {"m_.props.present()", "no properties", kHuggingFace, SectionId::kProps, [](Forged& f) {
         f.Drop(SectionId::kPropBlocks);
         return 0u;
       }});
  const auto without = [&](Op op, std::initializer_list<SectionId> tables) {
    for (const SectionId table : tables) {
      cases.push_back(
          {"HasTables(op->tables)", "a step without its tables", kHuggingFace, SectionId::kNormalizer,
           [=](Forged& f) {
             f.Drop(SectionId::kNormalizer);
             f.Add(SectionId::kNormalizer, Step{static_cast<uint32_t>(Op::kNmt), 0, 0, 0, {}, {}});
             f.Add(SectionId::kNormalizer, Step{static_cast<uint32_t>(op), 0, 0, 0, {}, {}});
             f.Drop(table);
             return 1u;
           }});
    }
  };
  cases.push_back({"op->op != Op::kSplitPattern", "a pattern without classes", kHuggingFace,
                   SectionId::kPreTokenizer, [](Forged& f) {
                     f.Drop(SectionId::kSplitBlocks);
                     return 0u;
                   }});
  without(Op::kLowercase, {SectionId::kLowerBlocks, SectionId::kLower});
  without(Op::kNfd, {SectionId::kDecompBlocks, SectionId::kCccBlocks});
  without(Op::kNfkd, {SectionId::kDecompKBlocks, SectionId::kCccBlocks});
  without(Op::kNfc, {SectionId::kDecompBlocks, SectionId::kCccBlocks, SectionId::kCompose});
  without(Op::kNfkc, {SectionId::kDecompKBlocks, SectionId::kCccBlocks, SectionId::kCompose});
}

void AddTemplateCases(Cases& cases) {
  for (const SectionId id : {SectionId::kTemplateSingle, SectionId::kTemplatePair}) {
    cases.push_back({"items[i].kind <=", "a kind that is none", kHuggingFace, id, [id](Forged& f) {
                       f.Get<TemplateItem>(id)[1].kind = 3;
                       return 1u;
                     }});
    cases.push_back(
        {"!special || items[i].id <", "an id that is none", kHuggingFace, id, [id](Forged& f) {
           f.Get<TemplateItem>(id)[2].id = f.config().id_count;
           return 2u;
         }});
    cases.push_back({"items.size() <= 4096 &&", "special tokens that are not counted", kHuggingFace,
                     id, [id](Forged& f) {
                       f.Add(id, TemplateItem{});
                       return 0u;
                     }});
    cases.push_back({"items.size() <= 4096 &&", "4,097 items", kHuggingFace, id, [id](Forged& f) {
                       const size_t more = 4097 - f.Get<TemplateItem>(id).size();
                       f.Add(id, TemplateItem{1, 0, 0, 0}, more);
                       return 0u;
                     }});
  }
}

void AddCharsmapCases(Cases& cases) {
  for (const auto& [units_id, pool_id] :
       {std::pair(SectionId::kCharsmapUnits, SectionId::kCharsmapPool),
        std::pair(SectionId::kDenormUnits, SectionId::kDenormPool)}) {
    const auto add = [&, units_id = units_id, pool_id = pool_id](const char* rule, const char* what,
                                                                 SectionId section, auto change) {
      cases.push_back({rule, what, kSentencePiece, section,
                       [=](Forged& f) { return change(f, units_id, pool_id); }});
    };
    add("if ((u & 0x7fffffffu) >= pool.size())", "a replacement outside", units_id,
        [](Forged& f, SectionId units, SectionId pool) {
          f.Get<uint32_t>(units)[200] =
              0x80000000u | static_cast<uint32_t>(f.Get<char>(pool).size());
          return 200u;
        });
    add("if (((pos ^ offset) | 0xff) >= units.size())", "a step outside", units_id,
        [](Forged& f, SectionId units, SectionId) {
          const auto all = f.Get<uint32_t>(units);
          all[200] = static_cast<uint32_t>(all.size()) << 10;
          return 200u;
        });
    add("if (((pos ^ offset) | 0xff) >= units.size())", "a step into a block that is cut off", units_id,
        [](Forged& f, SectionId units, SectionId) {
          const auto last = static_cast<uint32_t>(f.Get<uint32_t>(units).size());
          f.Add(units, 0x80000000u);
          f.Get<uint32_t>(units)[200] = (last ^ 200) << 10;
          return 200u;
        });
    add("!pool.empty() && pool.back()", "a replacement without an end", pool_id,
        [](Forged& f, SectionId, SectionId pool) {
          f.Add(pool, 'x');
          return 0u;
        });
    add("!pool.empty() && pool.back()", "not UTF-8", pool_id,
        [](Forged& f, SectionId, SectionId pool) {
          f.Add(pool, '\xff');
          f.Add(pool, '\0');
          return 0u;
        });
    add("!pool.empty() && pool.back()", "no replacements", pool_id,
        [](Forged& f, SectionId units, SectionId pool) {
          for (uint32_t& unit : f.Get<uint32_t>(units)) unit = 0;
          f.Drop(pool);
          return 0u;
        });
    add("& 0xc0) != 0x80", "a replacement from inside a character", units_id,
        [](Forged& f, SectionId units, SectionId pool) {
          for (const char c : {'\xc3', '\xa9', '\0'}) f.Add(pool, c);
          f.Get<uint32_t>(units)[200] =
              0x80000000u | static_cast<uint32_t>(f.Get<char>(pool).size() - 2);
          return 200u;
        });
  }
}

}  // namespace

std::vector<Case> CasesOfTexts() {
  Cases cases;
  AddStringCases(cases);
  AddIdCases(cases);
  AddStepCases(cases);
  AddTemplateCases(cases);
  AddCharsmapCases(cases);
  AddUnicodeCases(cases);
  return cases;
}

}  // namespace rankfeed::image_test
