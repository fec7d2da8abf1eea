// SPDX-License-Identifier: MIT
#include "builder/files/hf_pipeline.h"

#include <algorithm>
#include <charconv>

#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "builder/split/split_pattern.h"
#include "split/pattern.h"

namespace rankfeed::builder {
namespace {

using image::Op;

[[noreturn]] void Unsupported(const Json& element, const std::string& type) {
  const Json at = element.At("type");
  at.Fail(RANKFEED_E_UNSUPPORTED, "\"" + type + "\" is not supported");
}

std::string TypeOf(const Json& element) {
  return element.At("type").ShortString("a type");
}

// Each item of a sequence, which are counted together with those of the sequences inside and
// outside of it: a list of sequences without steps costs time too.
template <class Read>
void ReadSequence(const Json& list, size_t* count, const Read& read) {
  list.Each([&](const Json& item) {
    if (++*count > kMaxSteps) {
      item.Fail(RANKFEED_E_LIMIT, "is one step too many; the limit of a pipeline's part is " +
                                      std::to_string(kMaxSteps) + " steps");
    }
    read(item);
  });
}

StepSpec Step(Op op, uint32_t arg0 = 0, uint32_t arg1 = 0) {
  StepSpec step;
  step.op = op;
  step.arg0 = arg0;
  step.arg1 = arg1;
  return step;
}

// Appends an element that has nothing but its type (image::OpInfo::alone). False if it is none of those.
bool AppendAlone(image::Part part, const std::string& type, std::vector<StepSpec>* steps) {
  for (const image::OpInfo& info : image::kOps) {
    if (!info.alone || info.part != part || info.type != type) continue;
    steps->push_back(Step(info.op));
    return true;
  }
  return false;
}

// {"String": s} or {"Regex": r}, as a kReplace, kReplaceRun or kReplaceSpaces step.
StepSpec ReadPattern(const Json& pattern) {
  if (const auto text = pattern.Find("String")) {
    StepSpec step = Step(Op::kReplace);
    step.a = text->ShortString("a pattern");
    if (step.a.empty()) {
      text->Fail(RANKFEED_E_UNSUPPORTED,
                 "is empty; a pattern that matches nothing is not supported");
    }
    return step;
  }
  if (const auto regex = pattern.Find("Regex")) {
    const std::string text = regex->ShortString("a pattern");
    if (const auto step = ReadRegex(text)) return *step;
    regex->Fail(RANKFEED_E_UNSUPPORTED,
                "\"" + text +
                    "\" is not a supported regular expression (literal text, c{n,}, c+ and "
                    "\\s{2,}|[\\n\\r\\t] are)");
  }
  pattern.Fail(RANKFEED_E_PARSE, "must have \"String\" or \"Regex\"");
}

uint32_t ReadBehavior(const Json& value) {
  static constexpr std::pair<const char*, image::SplitBehavior> kNames[] = {
      {"Removed", image::kRemoved},
      {"Isolated", image::kIsolated},
      {"MergedWithPrevious", image::kMergedWithPrevious},
      {"MergedWithNext", image::kMergedWithNext},
      {"Contiguous", image::kContiguous}};
  const std::string name = value.String();
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  value.Fail(RANKFEED_E_UNSUPPORTED, "\"" + name + "\" is not a known split behavior");
}

// Metaspace of pre-tokenizer and decoder (pre_tokenizers/metaspace.rs, MetaspaceHelper).
StepSpec ReadMetaspace(const Json& value, Op op) {
  StepSpec step = Step(op, image::kPrependAlways);
  step.a = value.At("replacement").Char();
  if (const auto scheme = value.Find("prepend_scheme")) {
    const std::string name = scheme->String();
    if (name == "always")
      step.arg0 = image::kPrependAlways;
    else if (name == "first")
      step.arg0 = image::kPrependFirst;
    else if (name == "never")
      step.arg0 = image::kPrependNever;
    else
      scheme->Fail(RANKFEED_E_UNSUPPORTED, "\"" + name + "\" is not a known scheme");
  }
  if (const auto add = value.Find("add_prefix_space")) {
    if (!add->Bool() && step.arg0 != image::kPrependNever) {
      add->Fail(RANKFEED_E_PARSE,
                "is false but prepend_scheme is not \"never\"; tokenizers refuses this file too");
    }
  }
  const bool split = value.BoolOr("split", true);
  if (op == Op::kMetaspace) step.arg1 = split;
  return step;
}

// A character of a regular expression, escapes resolved, or an operator ('s' is \s).
struct RegexToken {
  uint32_t cp;
  bool literal;
  bool Is(char op) const { return !literal && cp == static_cast<unsigned char>(op); }
};

// Returns the tokens of an expression; nothing for escapes that are not known.
std::optional<std::vector<RegexToken>> TokensOf(std::string_view regex) {
  constexpr std::string_view kOperators = ".^$*+?()[]{}|", kEscapes = "nrt", kEscaped = "\n\r\t";
  std::vector<RegexToken> tokens;
  bool escaped = false;
  for (const utf8::Decoded c : utf8::Characters(regex)) {
    if (!c.valid) return std::nullopt;
    const uint32_t cp = c.code_point;
    const char byte = cp < 0x80 ? static_cast<char>(cp) : '\0';
    if (!escaped) {
      escaped = cp == '\\';
      if (!escaped) tokens.push_back({cp, byte == '\0' || kOperators.find(byte) == kOperators.npos});
      continue;
    }
    escaped = false;
    if (const size_t at = kEscapes.find(byte); at != kEscapes.npos) {
      tokens.push_back({static_cast<unsigned char>(kEscaped[at]), true});
    } else if (byte == 's') {
      tokens.push_back({'s', false});  // White_Space
    } else if (byte > ' ' && !(byte >= '0' && byte <= '9') && !((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z')) {
      tokens.push_back({cp, true});
    } else {
      return std::nullopt;
    }
  }
  if (escaped || tokens.empty()) return std::nullopt;
  return tokens;
}

}  // namespace

std::optional<StepSpec> ReadRegex(std::string_view regex) {
  const std::optional<std::vector<RegexToken>> found = TokensOf(regex);
  if (!found) return std::nullopt;
  const std::vector<RegexToken>& tokens = *found;
  std::string literals, shape;  // shape: operators as written, characters as written between quotes
  for (const RegexToken& token : tokens) {
    if (token.literal) shape += '\'';
    AppendUtf8(token.cp, &literals);
    AppendUtf8(token.cp, &shape);
  }
  StepSpec step = Step(Op::kReplace);
  if (std::all_of(tokens.begin(), tokens.end(), [](const RegexToken& token) { return token.literal; })) {
    step.a = literals;
    return step;
  }
  if (shape == "s{'2',}|['\n'\r'\t]") return Step(Op::kReplaceSpaces);
  if (!tokens[0].literal) return std::nullopt;
  step.op = Op::kReplaceRun;
  AppendUtf8(tokens[0].cp, &step.a);
  if (tokens.size() == 2 && tokens[1].Is('+')) {
    step.arg0 = 1;
    return step;
  }
  // c { digits , }
  if (tokens.size() < 5 || !tokens[1].Is('{') || !tokens.back().Is('}') || tokens[tokens.size() - 2].cp != ',') {
    return std::nullopt;
  }
  for (size_t i = 2; i + 2 < tokens.size(); ++i) {
    if (tokens[i].cp < '0' || tokens[i].cp > '9' || step.arg0 > 9999) return std::nullopt;
    step.arg0 = step.arg0 * 10 + (tokens[i].cp - '0');
  }
  if (step.arg0 == 0) return std::nullopt;  // matches the empty string
  return step;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
    uint32_t bits = 0;
    for (int k = 0; k < 4; ++k) {
      const int value = k >= 4 - padding ? 0 : digit(text[i + static_cast<size_t>(k)]);
      if (value < 0) return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(value);
    }
    if (padding > 0 && (bits & (padding == 1 ? 0xffu : 0xffffu)) != 0) return std::nullopt;
    for (int k = 0; k < 3 - padding; ++k) out.push_back(static_cast<char>(bits >> (16 - 8 * k)));
  }
  return out;
}

namespace {

// normalizers/bert.rs.
void BertNormalizer(const Json& value, std::vector<StepSpec>* steps) {
  const bool clean = value.At("clean_text").Bool(),
             cjk = value.At("handle_chinese_chars").Bool(),
             lowercase = value.At("lowercase").Bool();
  if (clean) steps->push_back(Step(Op::kBertClean));
  if (cjk) steps->push_back(Step(Op::kBertSpaceCjk));
  if (value.BoolOr("strip_accents", lowercase)) {
    steps->push_back(Step(Op::kNfd));
    steps->push_back(Step(Op::kBertStripMarks));
  }
  if (lowercase) steps->push_back(Step(Op::kLowercase));
}

// decoders/wordpiece.rs: the prefix, then each replacement of its cleanup.
void WordPieceDecoder(const Json& value, std::vector<StepSpec>* steps) {
  StepSpec prefix = Step(Op::kWordPieceDecode);
  prefix.a = value.At("prefix").ShortString("a prefix");
  steps->push_back(std::move(prefix));
  if (!value.At("cleanup").Bool()) return;
  static constexpr std::pair<const char*, const char*> kCleanup[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},            {" ,", ","},
      {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"},        {" do not", " don't"},
      {" 's", "'s"},   {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kCleanup) {
    StepSpec step = Step(Op::kReplaceDecode);
    step.a = from;
    step.b = to;
    steps->push_back(std::move(step));
  }
}

void AppendNormalizer(const Json& value, size_t* count, std::vector<StepSpec>* steps,
                      std::string* charsmap) {
  const std::string type = TypeOf(value);
  if (type == "Sequence") {
    ReadSequence(value.At("normalizers"), count,
                 [&](const Json& item) { AppendNormalizer(item, count, steps, charsmap); });
  } else if (type == "Precompiled") {
    const Json blob = value.At("precompiled_charsmap");
    const std::optional<std::string> bytes = DecodeBase64(blob.String());
    if (!bytes) blob.Fail(RANKFEED_E_PARSE, "is not base64");
    if (!charsmap->empty() && *charsmap != *bytes) {
      blob.Fail(RANKFEED_E_UNSUPPORTED,
                "differs from an earlier one; one charsmap per file is supported");
    }
    if (bytes->empty()) blob.Fail(RANKFEED_E_PARSE, "is empty");
    *charsmap = *bytes;
    steps->push_back(Step(Op::kPrecompiled));
  } else if (type == "Strip") {
    const bool left = value.At("strip_left").Bool(), right = value.At("strip_right").Bool();
    steps->push_back(Step(Op::kStrip, left, right));
  } else if (type == "Replace") {
    StepSpec step = ReadPattern(value.At("pattern"));
    step.b = value.At("content").ShortString("a replacement");
    steps->push_back(std::move(step));
  } else if (type == "Prepend") {
    StepSpec step = Step(Op::kPrepend);
    step.a = value.At("prepend").ShortString("a prefix");
    steps->push_back(std::move(step));
  } else if (type == "BertNormalizer") {
    BertNormalizer(value, steps);
  } else if (!AppendAlone(image::Part::kNormalizer, type, steps)) {
    Unsupported(value, type);
  }
}

// pre_tokenizers/split.rs. A regular expression whose matches are parted from each other, and from what
// is between them: removing what is between is the same where nothing is.
StepSpec ReadSplit(const Json& value) {
  const Json pattern = value.At("pattern"), behavior = value.At("behavior");
  const uint32_t behaves = ReadBehavior(behavior);
  const bool invert = value.At("invert").Bool();
  if (const auto regex = pattern.Find("Regex")) {
    const std::string text = regex->ShortString("a pattern");
    if (const std::optional<uint32_t> knobs = ReadSplitPattern(text)) {
      const bool whole = behaves == image::kRemoved && invert && LeavesNoGaps(*knobs);
      if (behaves == image::kIsolated || whole) return Step(Op::kSplitPattern, *knobs);
      behavior.Fail(RANKFEED_E_UNSUPPORTED, "with \"" + text + "\" must be \"Isolated\"");
    }
    if (!ReadRegex(text) || ReadRegex(text)->op != Op::kReplace) {
      regex->Fail(RANKFEED_E_UNSUPPORTED, "\"" + text + "\" is not a supported pattern to split at");
    }
  }
  StepSpec step = ReadPattern(pattern);
  step.op = Op::kSplitString;
  step.arg0 = behaves;
  step.arg1 = invert;
  return step;
}

void AppendPreTokenizer(const Json& value, size_t* count, std::vector<StepSpec>* steps) {
  const std::string type = TypeOf(value);
  if (type == "Sequence") {
    ReadSequence(value.At("pretokenizers"), count,
                 [&](const Json& item) { AppendPreTokenizer(item, count, steps); });
  } else if (std::any_of(steps->begin(), steps->end(),
                         [](const StepSpec& step) { return step.op == Op::kByteLevel; })) {
    value.Fail(RANKFEED_E_UNSUPPORTED, "stands after ByteLevel, which must be the last");
  } else if (type == "Metaspace") {
    steps->push_back(ReadMetaspace(value, Op::kMetaspace));
  } else if (type == "BertPreTokenizer") {  // pre_tokenizers/bert.rs
    steps->push_back(Step(Op::kWhitespaceSplit));
    steps->push_back(Step(Op::kPunctuation, image::kIsolated));
  } else if (type == "Punctuation") {
    const auto behavior = value.Find("behavior");
    steps->push_back(Step(Op::kPunctuation, behavior ? ReadBehavior(*behavior) : image::kIsolated));
  } else if (type == "Digits") {
    steps->push_back(Step(Op::kDigits, value.At("individual_digits").Bool()));
  } else if (type == "CharDelimiterSplit") {
    // pre_tokenizers/delimiter.rs: a literal split that drops the delimiter.
    StepSpec step = Step(Op::kSplitString, image::kRemoved);
    step.a = value.At("delimiter").Char();
    steps->push_back(std::move(step));
  } else if (type == "ByteLevel") {  // pre_tokenizers/byte_level.rs
    steps->push_back(Step(Op::kByteLevel, value.At("add_prefix_space").Bool()));
    value.At("trim_offsets").Bool();
    if (value.BoolOr("use_regex", true)) steps->push_back(Step(Op::kSplitPattern, split::kGpt2Knobs));
  } else if (type == "Split") {
    steps->push_back(ReadSplit(value));
  } else if (!AppendAlone(image::Part::kPreTokenizer, type, steps)) {
    Unsupported(value, type);
  }
}

void AppendDecoder(const Json& value, size_t* count, std::vector<StepSpec>* steps) {
  const std::string type = TypeOf(value);
  if (type == "Sequence") {
    ReadSequence(value.At("decoders"), count,
                 [&](const Json& item) { AppendDecoder(item, count, steps); });
    // Joins the tokens with spaces where there is no step; a chain, even an empty one, joins with
    // nothing, which is what Fuse does.
    if (steps->empty()) steps->push_back(Step(Op::kFuse));
  } else if (type == "Metaspace") {
    steps->push_back(ReadMetaspace(value, Op::kMetaspaceDecode));
  } else if (type == "Replace") {
    const Json pattern = value.At("pattern");
    StepSpec step = ReadPattern(pattern);
    if (step.op != Op::kReplace) {
      pattern.Fail(RANKFEED_E_UNSUPPORTED,
                   "is a regular expression; a decoder that replaces literal text is supported");
    }
    step.op = Op::kReplaceDecode;
    step.b = value.At("content").ShortString("a replacement");
    steps->push_back(std::move(step));
  } else if (type == "ByteLevel") {
    if (!steps->empty()) {
      value.Fail(RANKFEED_E_UNSUPPORTED, "is supported as the first decoder of a sequence");
    }
    value.At("add_prefix_space").Bool();  // required there too, and not used
    value.At("trim_offsets").Bool();
    steps->push_back(Step(Op::kByteLevelDecode));
  } else if (type == "WordPiece") {
    WordPieceDecoder(value, steps);
  } else if (type == "Strip") {
    StepSpec step = Step(Op::kStripDecode, value.At("start").U32(), value.At("stop").U32());
    step.a = value.At("content").Char();
    steps->push_back(std::move(step));
  } else if (!AppendAlone(image::Part::kDecoder, type, steps)) {
    Unsupported(value, type);
  }
}

}  // namespace

void ReadNormalizer(const std::optional<Json>& value, std::vector<StepSpec>* steps,
                    std::string* charsmap) {
  size_t count = 0;
  if (value) AppendNormalizer(*value, &count, steps, charsmap);
}

void AppendLowercase(const std::optional<Json>& normalizer, std::vector<StepSpec>* steps) {
  bool has = false;
  if (normalizer) {
    const std::string type = TypeOf(*normalizer);
    if (type == "Sequence") {
      normalizer->At("normalizers").Each([&](const Json& item) { has |= TypeOf(item) == "Lowercase"; });
    } else {  // before a BertNormalizer that lowercases, another changes no text
      has = type == "Lowercase" || (type == "BertNormalizer" && normalizer->At("lowercase").Bool());
    }
  }
  if (!has) steps->push_back(Step(Op::kLowercase));
}

void ReadPreTokenizer(const std::optional<Json>& value, std::vector<StepSpec>* steps) {
  size_t count = 0;
  if (value) AppendPreTokenizer(*value, &count, steps);
}

void ReadDecoder(const std::optional<Json>& value, std::vector<StepSpec>* steps) {
  size_t count = 0;
  if (value) AppendDecoder(*value, &count, steps);
}

}  // namespace rankfeed::builder
