// SPDX-License-Identifier: MIT
#include "builder/split/split_pattern.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "builder/base/code_points.h"
#include "split/pattern.h"

namespace rankfeed::builder {
namespace {

constexpr uint32_t kUnbounded = 0xffffffffu;
constexpr size_t kMaxAlternatives = 64, kMaxDepth = 4;

// Contents of brackets, or of one escape alone: characters and properties ("L"; "s" is \s).
struct Class {
  bool negated = false;
  std::vector<std::pair<uint32_t, uint32_t>> ranges;  // sorted, apart
  std::set<std::string> properties;
  bool operator==(const Class&) const = default;
};

struct Item;
using Alternative = std::vector<Item>;
struct Item {
  enum Kind { kClass, kGroup, kEnd, kNoneAhead, kContractions };  // x, (?:x), $, (?!x), contractions?
  Kind kind = kClass;
  Class chars;                     // of kClass
  std::vector<Alternative> group;  // of kGroup and kNoneAhead
  bool any_case = false;           // inside of (?i:)
  uint32_t min = 1, max = 1;
  bool possessive = false;
};

// Reads the part of Ruby's syntax that published patterns are written in. Groups that are there once are
// multiplied out; what is not read makes the whole nothing.
class Reader {
 public:
  explicit Reader(std::string_view regex) : regex_(regex) {}

  std::optional<std::vector<Alternative>> Read() {
    std::vector<Alternative> out;
    if (!Alternatives(false, 0, &out) || at_ != regex_.size()) return std::nullopt;
    return out;
  }

 private:
  bool Take(std::string_view text) {
    if (!regex_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  bool Done() const { return at_ == regex_.size() || regex_[at_] == ')'; }

  bool Alternatives(bool any_case, size_t depth, std::vector<Alternative>* out) {
    if (depth > kMaxDepth) return false;
    do {
      std::vector<Alternative> some(1);
      while (!Done() && regex_[at_] != '|') {
        Item item;
        if (!ReadItem(any_case, depth, &item) || !Append(std::move(item), &some)) return false;
      }
      out->insert(out->end(), some.begin(), some.end());
      if (out->size() > kMaxAlternatives) return false;
    } while (Take("|"));
    return true;
  }

  static bool Append(Item item, std::vector<Alternative>* some) {
    if (item.kind != Item::kGroup || item.min != 1 || item.max != 1) {
      for (Alternative& one : *some) one.push_back(item);
      return true;
    }
    if (some->size() * item.group.size() > kMaxAlternatives) return false;
    std::vector<Alternative> product;
    for (const Alternative& one : *some) {
      for (const Alternative& more : item.group) {
        product.push_back(one);
        product.back().insert(product.back().end(), more.begin(), more.end());
      }
    }
    *some = std::move(product);
    return true;
  }

  bool ReadItem(bool any_case, size_t depth, Item* item) {
    item->any_case = any_case;
    if (Take("$")) {
      item->kind = Item::kEnd;
    } else if (Take("(?!")) {
      item->kind = Item::kNoneAhead;
      return Alternatives(any_case, depth + 1, &item->group) && Take(")");
    } else if (Take("(?:") || Take("(?i:")) {
      item->kind = Item::kGroup;
      const bool inside = any_case || regex_[at_ - 2] == 'i';
      if (!Alternatives(inside, depth + 1, &item->group) || !Take(")")) return false;
    } else if (Take("[")) {
      if (!ReadBrackets(&item->chars)) return false;
    } else if (std::string_view(".^*+?(){}]").find(regex_[at_]) != std::string_view::npos) {
      return false;
    } else if (!ReadOne(false, &item->chars)) {
      return false;
    }
    return ReadQuantifier(item);
  }

  bool ReadBrackets(Class* chars) {
    chars->negated = Take("^");
    do {
      if (Take("]") || Take("&&") || !ReadOne(true, chars)) return false;
    } while (!Take("]"));
    return true;
  }

  // A character, an escape, or in brackets a range.
  bool ReadOne(bool in_brackets, Class* chars) {
    if (Take("\\s")) return chars->properties.insert("s").second;
    if (Take("\\S")) return !in_brackets && (chars->negated = chars->properties.insert("s").second);
    if (Take("\\p{")) {
      const size_t end = regex_.find('}', at_);
      if (end == std::string_view::npos) return false;
      const std::string name(regex_.substr(at_, end - at_));
      at_ = end + 1;
      static const std::set<std::string> kNames = {"L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "P", "S"};
      chars->properties.insert(name);
      return kNames.contains(name);
    }
    uint32_t first, last;
    if (!ReadCharacter(in_brackets, &first)) return false;
    last = first;
    const bool range = in_brackets && regex_.substr(at_).starts_with("-") &&
                       !regex_.substr(at_).starts_with("-]");
    if (range && (!Take("-") || !ReadCharacter(true, &last) || last < first)) return false;
    auto& ranges = chars->ranges;
    ranges.insert(std::upper_bound(ranges.begin(), ranges.end(), std::pair(first, last)), {first, last});
    for (size_t i = 1; i < ranges.size();) {
      if (ranges[i].first > ranges[i - 1].second + 1) {
        ++i;
        continue;
      }
      ranges[i - 1].second = std::max(ranges[i - 1].second, ranges[i].second);
      ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return true;
  }

  bool ReadCharacter(bool in_brackets, uint32_t* c) {
    const bool escaped = Take("\\");
    if (!NextCodePoint(regex_, &at_, c)) return false;
    if (!escaped) return !in_brackets || *c != '[';
    if (*c == 'r' || *c == 'n' || *c == 't') {
      *c = *c == 'r' ? '\r' : *c == 'n' ? '\n' : '\t';
      return true;
    }
    const std::string_view plain = in_brackets ? "\\^-[]/'\"" : "\\^$.|?*+()[]{}/-";
    return *c < 0x80 && plain.find(static_cast<char>(*c)) != std::string_view::npos;
  }

  bool ReadQuantifier(Item* item) {
    bool interval = false;
    if (Take("?")) {
      item->min = 0;
    } else if (Take("*")) {
      item->min = 0, item->max = kUnbounded;
    } else if (Take("+")) {
      item->max = kUnbounded;
    } else if (Take("{")) {
      interval = true;
      const bool open = at_ + 1 < regex_.size() && regex_[at_ + 1] == ',';
      if (!ReadDigit(&item->min) || (open && !Take(","))) return false;
      item->max = open ? kUnbounded : item->min;
      if (!Take("}") && (!open || !ReadDigit(&item->max) || !Take("}"))) return false;
    } else {
      return true;
    }
    if (item->kind != Item::kClass && item->kind != Item::kGroup) return false;
    if (Take("+")) {
      // After {n,m} it is no possessive one, but takes the whole again.
      if (interval && item->min > 1) return false;
      if (interval) item->max = kUnbounded;
      item->possessive = !interval;
    }
    return at_ == regex_.size() || std::string_view("?*+{").find(regex_[at_]) == std::string_view::npos;
  }
  bool ReadDigit(uint32_t* n) {
    if (at_ == regex_.size() || regex_[at_] < '0' || regex_[at_] > '9') return false;
    *n = static_cast<uint32_t>(regex_[at_++] - '0');
    return true;
  }

  const std::string_view regex_;
  size_t at_ = 0;
};

// Whether alternatives [from, ...) of the pattern begin with those of an arm. The arm is possessive where
// that changes no match.
bool Same(const Alternative& pattern, const Alternative& arm);
bool BeginWith(const std::vector<Alternative>& pattern, size_t from, const std::vector<Alternative>& arm) {
  if (pattern.size() - from < arm.size()) return false;
  for (size_t i = 0; i < arm.size(); ++i) {
    if (!Same(pattern[from + i], arm[i])) return false;
  }
  return true;
}
bool Same(const Alternative& pattern, const Alternative& arm) {
  // Ruby's $ is before every line feed too, so \s+ in front of it gives white space back, and \s++ does not.
  if (!pattern.empty() && pattern.back().kind == Item::kEnd && !pattern.front().possessive) return false;
  return std::equal(pattern.begin(), pattern.end(), arm.begin(), arm.end(),
                    [](const Item& p, const Item& a) {
                      return p.kind == a.kind && p.chars == a.chars && p.any_case == a.any_case &&
                             p.min == a.min && p.max == a.max && (!p.possessive || a.possessive) &&
                             p.group.size() == a.group.size() && BeginWith(p.group, 0, a.group);
                    });
}

bool IsOnly(const Item& item, uint32_t c) {
  return item.kind == Item::kClass && item.min == 1 && item.max == 1 && !item.chars.negated &&
         item.chars.properties.empty() && item.chars.ranges.size() == 1 &&
         item.chars.ranges[0] == std::pair(c, c);
}
Item Suffix() {
  Item item;
  item.kind = Item::kContractions;
  return item;
}
bool IsContraction(const Alternative& one) { return one.size() > 1 && IsOnly(one[0], '\''); }

// Whether these are the contractions; adds which letters they take to *cases.
enum Cases : uint32_t { kInLowerCase = 1, kInAnyCase = 2 };
bool Contractions(const std::vector<Alternative>& all, uint32_t* cases) {
  std::multiset<std::string> texts;
  for (const Alternative& one : all) {
    if (!IsContraction(one)) return false;
    std::vector<std::string> some(1);
    for (auto item = one.begin() + 1; item != one.end(); ++item) {
      const Class& c = item->chars;
      if (item->kind != Item::kClass || item->min != 1 || item->max != 1 || c.negated || !c.properties.empty()) {
        return false;
      }
      *cases |= item->any_case ? kInAnyCase : kInLowerCase;
      std::vector<std::string> longer;
      for (const auto& [first, last] : c.ranges) {
        if (last >= 0x80) return false;
        for (uint32_t x = first; x <= last; ++x) {
          for (const std::string& text : some) longer.push_back(text + static_cast<char>(x));
        }
      }
      if (longer.size() > kMaxAlternatives) return false;
      some = std::move(longer);
    }
    texts.insert(some.begin(), some.end());
  }
  return texts == std::multiset<std::string>{"s", "t", "re", "ve", "m", "ll", "d"};
}

// The arms in their order: of those with one place a pattern has one at most.
constexpr int kContractionPlace = 1, kLettersPlace = 3;
struct Arm {
  int place;
  uint32_t knobs;
  std::vector<Alternative> alternatives;
};

std::vector<Arm> MakeArms() {
  std::vector<Arm> arms;
  const auto add = [&](int place, uint32_t knobs, const std::string& regex) {
    arms.push_back({place, knobs, *Reader(regex).Read()});
    if (place != kLettersPlace) return;
    arms.push_back({place, knobs | split::kContractionSuffix, arms.back().alternatives});
    for (Alternative& one : arms.back().alternatives) one.push_back(Suffix());
  };
  using namespace split;
  add(0, kKana, "[一-龥぀-ゟ゠-ヿ]++");
  add(2, kSignAndLatin, R"([!-/:-@\[-`{-~][A-Za-z]++)");
  // Before letters with marks a prefix gives a mark back, so it must not be possessive.
  const std::string sign = R"([^\r\n\p{L}\p{N}]?)", digit = R"([^\r\n\p{L}\p{P}\p{S}]?)",
                    with_marks = R"([\p{L}\p{M}]++)";
  add(kLettersPlace, kLetters | kBlankPrefix, R"( ?+\p{L}++)");
  add(kLettersPlace, kLetters | kSignPrefix, sign + R"(+\p{L}++)");
  add(kLettersPlace, kLetters | kDigitPrefix, digit + R"(+\p{L}++)");
  add(kLettersPlace, kLettersAndMarks | kBlankPrefix, " ?+" + with_marks);
  add(kLettersPlace, kLettersAndMarks | kSignPrefix, sign + with_marks);
  add(kLettersPlace, kLettersAndMarks | kDigitPrefix, digit + with_marks);
  const std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  add(kLettersPlace, kCasedLetters | kSignPrefix, sign + upper + "*" + lower + "++|" + sign + upper + "++" + lower + "*+");
  for (const auto& [blank, knob] : {std::pair{"", 0u}, {" ?+", uint32_t{kBlankBeforeDigits}}}) {
    for (const auto& [digits, count] : {std::pair{R"(\p{N})", kOneDigit}, {R"(\p{N}{1,2})", kTwoDigits},
                                        {R"(\p{N}{1,3})", kThreeDigits}, {R"(\p{N}++)", kAnyDigits}}) {
      add(4, knob | count, std::string(blank) + digits);
    }
  }
  for (const auto& [others, knob] :
       {std::pair{R"( ?+[^\s\p{L}\p{N}]++)", kOthersAndMarks},
        {R"( ?+[^\s\p{L}\p{M}\p{N}]++)", kOthers}, {R"( ?+[\p{P}\p{S}]++)", kSigns}}) {
    add(5, knob, others);
    add(5, knob | kNewlineTail, std::string(others) + R"([\r\n]*+)");
    add(5, knob | kSlashTail, std::string(others) + R"([\r\n/]*+)");
  }
  add(6, kWholeTail, R"(\s++$)");
  // One newline or all: the white space before takes what it can, up to the last.
  add(7, kNewlines, R"(\s*[\r\n]++)");
  add(7, kNewlines, R"(\s*[\r\n])");
  // The first leaves one character to the second.
  add(8, kSpaces, R"(\s+(?!\S)|\s++)");
  add(8, kSpaces, R"(\s+(?!\S)|\s)");
  return arms;
}

}  // namespace

std::optional<uint32_t> ReadSplitPattern(std::string_view regex) {
  if (regex.size() > kMaxPatternBytes) return std::nullopt;
  auto pattern = Reader(regex).Read();
  if (!pattern) return std::nullopt;
  // The contractions in front, and those that end an alternative.
  uint32_t knobs = 0, any_case = 0;
  const auto leading = std::find_if_not(pattern->begin(), pattern->end(), IsContraction);
  if (leading != pattern->begin()) {
    if (!Contractions({pattern->begin(), leading}, &any_case)) return std::nullopt;
    knobs |= split::kContraction;
  }
  for (auto one = leading; one != pattern->end(); ++one) {
    if (one->empty() || one->back().kind != Item::kGroup || one->back().min != 0 || one->back().max != 1) continue;
    if (!Contractions(one->back().group, &any_case)) return std::nullopt;
    one->back() = Suffix();
  }
  if ((any_case & (any_case - 1)) != 0) return std::nullopt;  // of both kinds
  if (any_case == kInAnyCase) knobs |= split::kAnyCase;
  static const std::vector<Arm> arms = MakeArms();
  int place = leading == pattern->begin() ? -1 : kContractionPlace;
  for (size_t at = static_cast<size_t>(leading - pattern->begin()); at < pattern->size();) {
    const auto arm = std::find_if(arms.begin(), arms.end(), [&](const Arm& a) {
      return a.place > place && BeginWith(*pattern, at, a.alternatives);
    });
    if (arm == arms.end()) return std::nullopt;
    knobs |= arm->knobs;
    place = arm->place;
    at += arm->alternatives.size();
  }
  const bool needs_spaces = (knobs & (split::kWholeTail | split::kNewlines)) != 0;
  if (needs_spaces && (knobs & split::kSpaces) == 0) return std::nullopt;
  return knobs;
}

bool LeavesNoGaps(uint32_t knobs) {
  const uint32_t letters = knobs & split::kLettersMask, others = knobs & split::kOthersMask;
  const bool marks = others == split::kOthersAndMarks || (others == split::kOthers && letters > split::kLetters);
  return letters != 0 && marks && (knobs & split::kDigitsMask) != 0 && (knobs & split::kSpaces) != 0;
}

}  // namespace rankfeed::builder
