// SPDX-License-Identifier: MIT
// Cost: in proportion to the charsmap's rules and to what the normalizer's steps single out. What
// ICU is asked for is the same for every file and is asked once in a process.
#include "builder/normalize/growth.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "builder/unicode/unicode_tables.h"
#include "normalize/filters.h"
#include "rankfeed/model.h"

namespace rankfeed::builder {
namespace {

constexpr uint32_t kReplacementCharacter = 0xfffd;
constexpr double kMaxFactor = 4096;
// No character above plane 2 has a decomposition or a lower case.
constexpr uint32_t kSpan = 0x30000;

bool IsSurrogate(uint32_t cp) {
  return cp >= 0xd800 && cp < 0xe000;
}

// The cost of every character: one for each length in UTF-8, apart for ideographs, and those of the
// characters that some stage singles out. So the work follows the file and not the size of Unicode.
class Costs {
 public:
  double operator[](uint32_t cp) const {
    const auto found = single_.find(cp);
    if (found != single_.end()) return found->second;
    const uint32_t size = utf8::EncodedSize(cp);
    return normalize::IsBertCjk(cp) ? cjk_[size - 3] : by_size_[size - 1];
  }
  double Of(std::string_view text) const {
    double sum = 0;
    for (const utf8::Decoded c : utf8::Characters(text)) sum += (c.valid ? 1 : c.size) * (*this)[c.code_point];
    return sum;
  }
  void Raise(uint32_t cp, double cost) { single_[cp] = std::max((*this)[cp], cost); }
  void AddToAll(double bytes) {
    ForEach([&](double& cost, uint32_t) { cost += bytes; });
  }
  void AddToCjk(double bytes) {
    for (double& cost : cjk_) cost += bytes;
    for (auto& [cp, cost] : single_) cost += normalize::IsBertCjk(cp) ? bytes : 0;
  }
  void Scale(double factor) {
    if (factor <= 1) return;
    ForEach([&](double& cost, uint32_t) { cost *= factor; });
  }
  // Costs before a stage that turns some characters into something of another cost. A stage never
  // makes a text cheaper here than it is: its own input has to fit too.
  void Before(const std::unordered_map<uint32_t, double>& becomes) {
    for (const auto& [cp, cost] : becomes) single_[cp] = cost;
    ForEach([](double& cost, uint32_t size) { cost = std::max<double>(cost, size); });
  }
  double WorstPerByte() {
    // A byte that is not UTF-8 becomes U+FFFD before the first stage.
    double worst = (*this)[kReplacementCharacter];
    ForEach([&](double& cost, uint32_t size) { worst = std::max(worst, cost / size); });
    return worst;
  }

 private:
  template <class F>
  void ForEach(const F& f) {
    for (uint32_t size = 1; size <= 4; ++size) f(by_size_[size - 1], size);
    for (uint32_t size = 3; size <= 4; ++size) f(cjk_[size - 3], size);
    for (auto& [cp, cost] : single_) f(cost, utf8::EncodedSize(cp));
  }

  double by_size_[4] = {1, 2, 3, 4};
  double cjk_[2] = {3, 4};  // of the characters that BertNormalizer puts spaces around
  std::unordered_map<uint32_t, double> single_;
};

using Becomes = std::unordered_map<uint32_t, double>;

struct Decomposition {
  uint32_t code_point;
  std::u32string parts;
};

// Everything that NFD or NFKD takes apart.
std::vector<Decomposition> ListDecompositions(bool compat) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form =
      compat ? icu::Normalizer2::getNFKDInstance(status) : icu::Normalizer2::getNFDInstance(status);
  if (U_FAILURE(status)) throw BuildError(RANKFEED_E_NO_MEMORY, "ICU has no normalization data");
  std::vector<Decomposition> list;
  icu::UnicodeString text;
  for (uint32_t cp = 0; cp < kSpan; ++cp) {
    if (IsSurrogate(cp) || IsUnassigned(cp)) continue;
    if (!form->getDecomposition(static_cast<UChar32>(cp), text)) continue;
    Decomposition entry{cp, {}};
    for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
      entry.parts.push_back(static_cast<char32_t>(text.char32At(i)));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

const std::vector<Decomposition>& Decompositions(bool compat) {
  const TablesLock lock;
  static std::vector<Decomposition> known[2];
  if (known[compat].empty()) known[compat] = ListDecompositions(compat);
  return known[compat];
}

// Characters that have another one as their lower case.
const std::vector<std::pair<uint32_t, uint32_t>>& LowerCase() {
  const TablesLock lock;
  static const std::vector<std::pair<uint32_t, uint32_t>> list = [] {
    std::vector<std::pair<uint32_t, uint32_t>> found;
    for (uint32_t cp = 0; cp < kSpan; ++cp) {
      if (IsUnassigned(cp)) continue;
      const auto lower = static_cast<uint32_t>(u_tolower(static_cast<UChar32>(cp)));
      if (lower != cp) found.emplace_back(cp, lower);
    }
    return found;
  }();
  return list;
}

double Sum(const Costs& costs, const std::u32string& parts) {
  double sum = 0;
  for (const char32_t cp : parts) sum += costs[cp];
  return sum;
}

// Normalization forms. A composed character stands for what it decomposes into, so its own cost is
// spread over them by one factor for the whole stage.
void BeforeNormalization(Costs& costs, bool compat, bool compose) {
  if (compose) {
    double factor = 1;
    for (const Decomposition& d : Decompositions(false)) {
      factor = std::max(factor, costs[d.code_point] / Sum(costs, d.parts));
    }
    costs.Scale(factor);
  }
  Becomes becomes;
  for (const Decomposition& d : Decompositions(compat)) {
    becomes[d.code_point] = Sum(costs, d.parts);
  }
  costs.Before(becomes);
}

// Rules of a charsmap: one-character keys set the cost of the character, longer ones scale all.
void BeforeCharsmap(Costs& costs, const CharsmapView& charsmap) {
  Becomes becomes;
  for (const CharsmapRule& rule : charsmap.rules) {
    const auto [cp, size, valid] = utf8::Decode(rule.key, 0);
    // A character inside a cluster that no rule covers stays as it is.
    if (valid && size == rule.key.size()) becomes[cp] = std::max(costs.Of(rule.replacement), costs[cp]);
  }
  const Costs after = costs;
  costs.Before(becomes);
  double factor = 1;
  for (const CharsmapRule& rule : charsmap.rules) {
    factor = std::max(factor, after.Of(rule.replacement) / costs.Of(rule.key));
  }
  costs.Scale(factor);
}

// Calls f(code point) for each character of White_Space.
template <class F>
void ForEachWhiteSpace(const F& f) {
  for (uint32_t cp = 0; cp <= 0x3000; ++cp) {
    if (u_hasBinaryProperty(static_cast<UChar32>(cp), UCHAR_WHITE_SPACE)) f(cp);
  }
}

void BeforeFilter(Costs& costs, image::FilterOp op) {
  using Op = image::FilterOp;
  const double space = costs[' '];
  Becomes becomes;
  switch (op) {
    case Op::kLowercase:
      // char::to_lowercase is the simple mapping except for U+0130 (i and a dot above).
      becomes = {{0x130, costs['i'] + costs[0x307]}};
      for (const auto& [cp, lower] : LowerCase()) becomes.emplace(cp, costs[lower]);
      break;
    case Op::kNmt: {
      // Maps some characters to a space; all of them is a safe superset.
      constexpr std::pair<uint32_t, uint32_t> kSome[] = {
          {0, 0x1f}, {0x1680, 0x1680}, {0x2000, 0x20ff}, {0x2581, 0x2581}, {0xfe00, 0xffff}};
      for (const auto& [first, last] : kSome) {
        for (uint32_t cp = first; cp <= last; ++cp) becomes[cp] = std::max(costs[cp], space);
      }
      break;
    }
    case Op::kBertClean:
      becomes = {{kReplacementCharacter, 0}};
      ForEachWhiteSpace([&](uint32_t cp) { becomes[cp] = space; });
      break;
    case Op::kBertSpaceCjk:
      return costs.AddToCjk(2 * space);
    case Op::kStripAccents:
    case Op::kBertStripMarks:
      return;  // only remove characters
  }
  costs.Before(becomes);
}

void BeforeEdit(Costs& costs, const StepSpec& step, double* constant) {
  using Op = image::EditOp;
  const double pattern = costs.Of(step.a), content = costs.Of(step.b);
  const uint32_t first = step.a.empty() ? 0 : utf8::CodePointAt(step.a, 0);
  switch (Op{static_cast<uint32_t>(step.op)}) {
    case Op::kPrepend:
      *constant += pattern;
      return;
    case Op::kReplace:
      if (content > pattern) costs.Raise(first, costs[first] + (content - pattern));
      return;
    case Op::kReplaceRun:
      return costs.Raise(first, content / std::max(1u, step.arg0));
    case Op::kReplaceSpaces:
      return ForEachWhiteSpace([&](uint32_t cp) {
        const bool alone = cp == '\n' || cp == '\r' || cp == '\t';
        costs.Raise(cp, alone ? content : content / 2);
      });
    case Op::kStrip:
      return;  // only removes characters
  }
}

void BeforeNormalizer(Costs& costs, const StepSpec& step, const CharsmapView* charsmap, double* constant) {
  using Op = image::OtherNormalizerOp;
  const auto op = static_cast<uint32_t>(step.op);
  if (image::IsFilter(op)) return BeforeFilter(costs, image::FilterOp{op});
  switch (Op{op}) {
    case Op::kPrecompiled:
      if (charsmap != nullptr) BeforeCharsmap(costs, *charsmap);
      return;
    case Op::kNfc:
      return BeforeNormalization(costs, false, true);
    case Op::kNfd:
      return BeforeNormalization(costs, false, false);
    case Op::kNfkc:
      return BeforeNormalization(costs, true, true);
    case Op::kNfkd:
      return BeforeNormalization(costs, true, false);
  }
  BeforeEdit(costs, step, constant);
}

// Adds the pre-tokenizer's growth: Metaspace turns a space into its replacement and puts one before
// each split it is given.
void BeforePreTokenizer(Costs& costs, const ModelSpec& spec, double* constant) {
  bool splits = false;  // a step before may start a split at any character
  bool words = false;   // ... or after each dropped White_Space character
  const auto metaspace = [&](const StepSpec& step) {
    const double replacement = static_cast<double>(step.a.size());
    const double prefix = step.arg0 == image::kPrependNever ? 0 : replacement;
    costs.Raise(' ', replacement);
    // The character goes, the next word's prefix comes.
    if (words) ForEachWhiteSpace([&](uint32_t cp) { costs.Raise(cp, prefix); });
    const bool again = *constant > 0;  // a second Metaspace can prefix what the first has split
    if ((splits || again) && prefix > 0) costs.AddToAll(prefix);
    *constant += prefix;
    splits = splits || step.arg1 != 0;
  };
  using Op = image::PreTokenizerOp;
  for (const StepSpec& step : spec.pre_tokenizer) {
    switch (Op{static_cast<uint32_t>(step.op)}) {
      case Op::kMetaspace:
        metaspace(step);
        break;
      case Op::kByteLevel: {
        const double prefix = step.arg0;  // a space in front of each split
        if (splits && prefix > 0) costs.AddToAll(prefix);
        *constant += prefix;
        break;
      }
      case Op::kWhitespaceSplit:
        words = true;
        break;
      case Op::kWhitespace:
      case Op::kPunctuation:
      case Op::kDigits:
      case Op::kSplitString:
      case Op::kSplitPattern:
        splits = true;
        break;
    }
  }
}

// Each step that runs the charsmap weighs all of its rules.
void CheckCharsmapSteps(const ModelSpec& spec, const CharsmapView& charsmap) {
  const auto steps = static_cast<size_t>(
      std::count_if(spec.normalizer.begin(), spec.normalizer.end(),
                    [](const StepSpec& step) { return step.op == image::Op::kPrecompiled; }));
  if (steps <= 1 || steps * charsmap.rules.size() <= kMaxCharsmapWork) return;
  throw BuildError(RANKFEED_E_LIMIT,
                   "the normalizer has ", steps, " Precompiled steps of ",
                   charsmap.rules.size(),
                   " rules; the limit of steps times rules is ",
                   kMaxCharsmapWork);
}

}  // namespace

Growth ComputeGrowth(const ModelSpec& spec, const CharsmapView* charsmap) {
  if (charsmap != nullptr) CheckCharsmapSteps(spec, *charsmap);
  Costs costs;
  double constant = 0;
  size_t shortest_raw = 0;
  if (spec.sentencepiece()) {
    constexpr double kMetaSize = 3;  // U+2581
    if ((spec.flags & image::kEscapeWhitespaces) != 0) costs.Raise(' ', kMetaSize);
    if ((spec.flags & image::kAddDummyPrefix) != 0) constant = kMetaSize;
    if (charsmap != nullptr) BeforeCharsmap(costs, *charsmap);
  } else {
    BeforePreTokenizer(costs, spec, &constant);
    bool in_normalized = false;
    for (const AddedTokenSpec& token : spec.added_tokens) {
      if ((token.flags & image::kNormalized) != 0) {
        in_normalized = true;
      } else if (shortest_raw == 0 || token.content.size() < shortest_raw) {
        shortest_raw = token.content.size();
      }
    }
    // Tokens found in normalized text may be one character long, and the pre-tokenizer starts anew
    // after each.
    if (in_normalized) costs.AddToAll(constant);
    for (size_t i = spec.normalizer.size(); i-- > 0;) {
      BeforeNormalizer(costs, spec.normalizer[i], charsmap, &constant);
    }
  }
  double factor = costs.WorstPerByte();
  // t raw tokens of at least m bytes leave n - tm bytes in t + 1 sections, each with the constant:
  // at most the larger of factor * n and (constant / m) * n, plus one constant.
  if (shortest_raw > 0) factor = std::max(factor, constant / static_cast<double>(shortest_raw));
  if (!(factor <= kMaxFactor) || !(constant <= 1 << 20)) {
    throw BuildError(RANKFEED_E_LIMIT,
                     "the normalizer can make a character more than 4096 times longer");
  }
  Growth growth;
  growth.numerator = static_cast<uint32_t>(std::ceil(factor * 256));
  growth.constant = static_cast<uint32_t>(std::ceil(constant));
  return growth;
}

}  // namespace rankfeed::builder
