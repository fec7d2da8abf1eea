// SPDX-License-Identifier: MIT
// rerank/templates/cuts.cc: the rules of cuts.h, each with its proof.
#include "rerank/templates/cuts.h"

#include <algorithm>

#include "image/ops.h"
#include "split/pattern.h"

namespace rankfeed::templates {
namespace {

using image::AddedToken;

bool Has(const AddedToken& token, uint32_t flag) {
  return (token.flags & flag) != 0;
}

bool Is(const image::Step& step, image::Op op) {
  return step.op == static_cast<uint32_t>(op);
}

// Whether one begins with the other.
bool Agree(std::string_view a, std::string_view b) {
  const auto common = static_cast<ptrdiff_t>(std::min(a.size(), b.size()));
  return std::equal(a.begin(), a.begin() + common, b.begin());
}

// Whether a match of `other` may begin where a match of `token` does, or before it and reach into it.
bool Overlaps(std::string_view token, std::string_view other) {
  for (size_t at = 0; at < other.size(); ++at) {
    if (Agree(token, {other.data() + at, other.size() - at})) return true;
  }
  return false;
}

// Whether a stretch between two added tokens is tokenized as a text of its own. Metaspace with
// prepend_scheme "first" looks whether it is the first one.
bool StretchesAreTexts(const Model& model) {
  return model.huggingface() &&
         std::none_of(model.pre_tokenizer.begin(), model.pre_tokenizer.end(), [](const image::Step& step) {
           return Is(step, image::Op::kMetaspace) && step.arg0 == image::kPrependFirst;
         });
}

}  // namespace

int32_t SpecialId(const Model& model, std::string_view name) {
  for (const AddedToken& token : model.added_tokens) {
    if (model.text(token.content) == name) return static_cast<int32_t>(token.id);
  }
  return model.huggingface() ? -1 : model.PieceToId(name);  // a control piece
}

bool SpecialIsSafe(const Model& model, uint32_t id) {
  if (!StretchesAreTexts(model)) return false;
  const auto found = std::find_if(model.added_tokens.begin(), model.added_tokens.end(),
                                  [id](const AddedToken& token) { return token.id == id; });
  if (found == model.added_tokens.end()) return false;
  constexpr uint32_t kDependent = image::kSingleWord | image::kLstrip | image::kRstrip;
  if (Has(*found, kDependent)) return false;
  if (Has(*found, image::kNormalized) && !model.normalizer.empty()) return false;
  const std::string_view name = model.text(found->content);
  // Tokens that take white space stop at this one as they would at the end of a text. Those that look
  // for words might take its name for one. Those of the raw text come before one of the normalized text.
  return std::none_of(model.added_tokens.begin(), model.added_tokens.end(), [&](const AddedToken& token) {
    if (token.id == id) return false;
    const std::string_view other = model.text(token.content);
    const bool before = Has(*found, image::kNormalized) && !Has(token, image::kNormalized);
    return Has(token, image::kSingleWord) || Overlaps(name, other) || (before && Overlaps(other, name));
  });
}

// A cut after a line feed, where literal white space without line feeds and a literal character follow.
//
// The splitting pattern: the split with the line feed in it ends at the cut, in the whole text and in the
// part before the cut. Of its arms only three take line feeds. The tail of an others run takes all that
// follow it, and ends here because neither white space nor the character, unless it is a slash in a tail
// with slashes, goes on. \s*[\r\n]+ ends after the last line feed of its white space, and that is here; where
// the pattern has this arm it comes before the others that take white space, but for \s++$, which takes
// the same in the part before the cut, and nothing in the whole text. Without it \s+(?!\S) takes white space
// up to the last character before a character that is none, and all of it at the end of a text: that is
// the same if one character of white space follows the cut. If none follows, the line feed is a split of
// its own in the whole text, which in the part before the cut it is only after a character of the literal
// that is no white space. No arm looks back, so the part after the cut has the splits of the whole text.
//
// NFC, the only normalizer allowed, joins no character with a line feed before or after it, nor an ASCII
// character with what is before it. Added tokens: none has a line feed in it, so none is on both sides;
// one that takes the white space before it may not begin at the character, and one that takes white space
// after it may be anywhere, so that white space after the cut must not be.
bool CutIsSafe(const Model& model, std::string_view literal, size_t at) {
  if (literal[at - 1] != '\n' || !StretchesAreTexts(model)) return false;
  size_t next = at;
  while (next < literal.size() && (literal[next] == ' ' || literal[next] == '\t')) ++next;
  if (next == literal.size() || literal[next] <= ' ' || literal[next] == 0x7f) return false;
  const size_t spaces = next - at;
  const auto composes = [](const image::Step& step) { return Is(step, image::Op::kNfc); };
  if (!std::all_of(model.normalizer.begin(), model.normalizer.end(), composes)) return false;
  const std::string_view after(literal.data() + next, literal.size() - next);
  for (const AddedToken& token : model.added_tokens) {
    for (const image::Text text : {token.content, token.normalized}) {
      const std::string_view name = model.text(text);
      if (name.find('\n') != std::string_view::npos) return false;
      if (Has(token, image::kLstrip) && !name.empty() && Agree(name, after)) return false;
    }
    if (Has(token, image::kRstrip) && spaces != 0) return false;
  }
  const std::span<const image::Step> steps = model.pre_tokenizer;
  const auto spells = [](const image::Step& other) { return Is(other, image::Op::kByteLevel); };
  // Such a step puts a space before each text.
  const auto spaced = [&](const image::Step& other) { return spells(other) && other.arg0 != 0; };
  const auto step = std::find_if_not(steps.begin(), steps.end(), spells);
  if (step == steps.end() || !Is(*step, image::Op::kSplitPattern)) return false;
  if (std::any_of(steps.begin(), steps.end(), spaced)) return false;
  const uint32_t knobs = step->arg0;
  if ((knobs & split::kSpaces) == 0) return false;
  if ((knobs & split::kSlashTail) != 0 && literal[at] == '/') return false;
  const bool alone = spaces == 0 && at > 1 && literal[at - 2] > ' ' && literal[at - 2] != 0x7f;
  return (knobs & split::kNewlines) != 0 || spaces == 1 || alone;
}

}  // namespace rankfeed::templates
