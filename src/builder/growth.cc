// SPDX-License-Identifier: MIT
// Cost: a few passes over kSpan costs, and one over the charsmap's rules; a few milliseconds. What
// ICU is asked for is the same for every file and is asked once in a process.
#include "builder/growth.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "builder/code_points.h"
#include "rankfeed/model.h"

namespace rankfeed::builder {
namespace {

constexpr uint32_t kReplacementCharacter = 0xfffd;
constexpr double kMaxFactor = 4096;
// No character above plane 2 has a decomposition or a lower case, so the ones from here on share one
// cost, the greatest that any of them has.
constexpr uint32_t kSpan = 0x30000;

bool IsSurrogate(uint32_t cp) {
  return cp >= 0xd800 && cp < 0xe000;
}

class Costs {
 public:
  Costs() : cost_(kSpan + 1) {
    for (uint32_t cp = 0; cp <= kSpan; ++cp) cost_[cp] = utf8::EncodedSize(cp);
  }

  double operator[](uint32_t cp) const { return cost_[std::min(cp, kSpan)]; }
  double Of(std::string_view text) const {
    double sum = 0;
    for (size_t at = 0; at < text.size();) {
      uint32_t cp;
      sum += NextCodePoint(text, &at, &cp) ? (*this)[cp] : cost_[kReplacementCharacter] + (++at, 0);
    }
    return sum;
  }
  void Raise(uint32_t cp, double cost) {
    double& mine = cost_[std::min(cp, kSpan)];
    mine = std::max(mine, cost);
  }
  void AddToAll(double bytes) {
    for (double& cost : cost_) cost += bytes;
  }
  void Scale(double factor) {
    if (factor <= 1) return;
    for (double& cost : cost_) cost *= factor;
  }
  // Costs before a stage that replaces each character by become(cp). A stage never makes a text
  // cheaper here than it is: its own input has to fit too.
  template <class Become>
  void Before(const Become& become) {
    std::vector<double> before(cost_.size());
    for (uint32_t cp = 0; cp <= kSpan; ++cp) {
      before[cp] = IsSurrogate(cp) ? 0 : std::max<double>(utf8::EncodedSize(cp), become(cp));
    }
    cost_ = std::move(before);
  }

  double WorstPerByte() const {
    // A byte that is not UTF-8 becomes U+FFFD before the first stage.
    double worst = cost_[kReplacementCharacter];
    for (uint32_t cp = 0; cp <= kSpan; ++cp) {
      if (!IsSurrogate(cp)) worst = std::max(worst, cost_[cp] / utf8::EncodedSize(cp));
    }
    return worst;
  }

 private:
  std::vector<double> cost_;
};

struct Decomposition {
  uint32_t code_point;
  std::u32string parts;
};

// Everything that NFD or NFKD takes apart.
std::vector<Decomposition> ListDecompositions(bool compat) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form =
      compat ? icu::Normalizer2::getNFKDInstance(status) : icu::Normalizer2::getNFDInstance(status);
  if (U_FAILURE(status)) throw BuildError(RANKFEED_E_NO_MEMORY, 0, "ICU has no normalization data");
  std::vector<Decomposition> list;
  icu::UnicodeString text;
  for (uint32_t cp = 0; cp < kSpan; ++cp) {
    if (IsSurrogate(cp) || !form->getDecomposition(static_cast<UChar32>(cp), text)) continue;
    Decomposition entry{cp, {}};
    for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
      entry.parts.push_back(static_cast<char32_t>(text.char32At(i)));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

const std::vector<Decomposition>& Decompositions(bool compat) {
  static const std::vector<Decomposition> canonical = ListDecompositions(false);
  static const std::vector<Decomposition> compatible = ListDecompositions(true);
  return compat ? compatible : canonical;
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
  auto next = Decompositions(compat).begin();
  const auto end = Decompositions(compat).end();
  costs.Before([&](uint32_t cp) {  // asks in ascending order
    if (next == end || next->code_point != cp) return costs[cp];
    return Sum(costs, (next++)->parts);
  });
}

// Rules of a charsmap: one-character keys set the cost of the character, longer ones scale all.
void BeforeCharsmap(Costs& costs, const CharsmapView& charsmap) {
  std::vector<double> becomes(kSpan + 1, -1);
  for (const CharsmapRule& rule : charsmap.rules) {
    size_t at = 0;
    uint32_t cp = 0;
    NextCodePoint(rule.key, &at, &cp);
    if (at != rule.key.size()) continue;
    double& cost = becomes[std::min(cp, kSpan)];
    cost = std::max(cost, costs.Of(rule.replacement));
  }
  const Costs after = costs;
  // A character inside a cluster that no rule covers stays as it is.
  costs.Before([&](uint32_t cp) { return std::max(becomes[cp], after[cp]); });
  double factor = 1;
  for (const CharsmapRule& rule : charsmap.rules) {
    factor = std::max(factor, after.Of(rule.replacement) / costs.Of(rule.key));
  }
  costs.Scale(factor);
}

void BeforeNormalizer(Costs& costs, const StepSpec& step, const CharsmapView* charsmap,
                      double* constant) {
  const auto first = [&] {
    size_t at = 0;
    uint32_t cp = 0;
    NextCodePoint(step.a, &at, &cp);
    return cp;
  };
  switch (step.op) {
    case image::Op::kPrecompiled:
      if (charsmap != nullptr) BeforeCharsmap(costs, *charsmap);
      break;
    case image::Op::kLowercase:
      // char::to_lowercase is the simple mapping except for U+0130 (i and a dot above).
      costs.Before([&](uint32_t cp) {
        return cp == 0x130 ? costs['i'] + costs[0x307]
                           : costs[static_cast<uint32_t>(u_tolower(static_cast<UChar32>(cp)))];
      });
      break;
    case image::Op::kNfc:
      BeforeNormalization(costs, false, true);
      break;
    case image::Op::kNfd:
      BeforeNormalization(costs, false, false);
      break;
    case image::Op::kNfkc:
      BeforeNormalization(costs, true, true);
      break;
    case image::Op::kNfkd:
      BeforeNormalization(costs, true, false);
      break;
    case image::Op::kNmt: {
      // Maps some characters to a space; all of them is a safe superset.
      const double space = costs[' '];
      costs.Before([&](uint32_t cp) {
        const bool maybe = cp < 0x20 || cp == 0x1680 || (cp >= 0x2000 && cp < 0x2100) ||
                           cp == 0x2581 || cp >= 0xfe00;
        return maybe && cp < 0x10000 ? std::max(costs[cp], space) : costs[cp];
      });
      break;
    }
    case image::Op::kPrepend:
      *constant += costs.Of(step.a);
      break;
    case image::Op::kReplace: {
      const double missing = costs.Of(step.b) - costs.Of(step.a);
      if (missing > 0) costs.Raise(first(), costs[first()] + missing);
      break;
    }
    case image::Op::kReplaceRun:
      costs.Raise(first(), costs.Of(step.b) / std::max(1u, step.arg0));
      break;
    case image::Op::kReplaceSpaces: {
      const double becomes = costs.Of(step.b);
      for (uint32_t cp = 0; cp <= 0x3000; ++cp) {
        if (!u_hasBinaryProperty(static_cast<UChar32>(cp), UCHAR_WHITE_SPACE)) continue;
        const bool alone = cp == '\n' || cp == '\r' || cp == '\t';
        costs.Raise(cp, alone ? becomes : becomes / 2);
      }
      break;
    }
    default:
      break;  // only remove characters
  }
}

// What the pre-tokenizer may add: Metaspace turns a space into its replacement and puts one before
// each split it is given.
void BeforePreTokenizer(Costs& costs, const ModelSpec& spec, double* constant) {
  bool splits = false;  // a step before may start a split at any character
  bool words = false;   // ... or after each dropped White_Space character
  for (const StepSpec& step : spec.pre_tokenizer) {
    if (step.op == image::Op::kWhitespaceSplit) {
      words = true;
    } else if (step.op != image::Op::kMetaspace) {
      splits = true;
    } else {
      const double replacement = static_cast<double>(step.a.size());
      const double prefix = step.arg0 == image::kPrependNever ? 0 : replacement;
      costs.Raise(' ', replacement);
      if (words) {
        for (uint32_t cp = 0; cp <= 0x3000; ++cp) {
          if (u_hasBinaryProperty(static_cast<UChar32>(cp), UCHAR_WHITE_SPACE)) {
            costs.Raise(cp, prefix);  // the character goes, the next word's prefix comes
          }
        }
      }
      const bool again = *constant > 0;  // a second Metaspace can prefix what the first has split
      if ((splits || again) && prefix > 0) costs.AddToAll(prefix);
      *constant += prefix;
      splits = splits || step.arg1 != 0;
    }
  }
}

}  // namespace

Growth ComputeGrowth(const ModelSpec& spec, const CharsmapView* charsmap) {
  Costs costs;
  double constant = 0;
  size_t shortest_raw = 0;
  if (spec.parity == RANKFEED_PARITY_SENTENCEPIECE) {
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
    throw BuildError(RANKFEED_E_LIMIT, 0,
                     "the normalizer can make a character more than 4096 times longer");
  }
  Growth growth;
  growth.numerator = static_cast<uint32_t>(std::ceil(factor * 256));
  growth.constant = static_cast<uint32_t>(std::ceil(constant));
  return growth;
}

}  // namespace rankfeed::builder
