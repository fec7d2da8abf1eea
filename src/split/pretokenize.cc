// SPDX-License-Identifier: MIT
// split/pretokenize.cc: see pretokenize.h.
#include "split/pretokenize.h"

#include <algorithm>
#include <utility>

#include "base/narrow.h"
#include "base/utf8.h"
#include "split/pattern.h"
#include "unicode/properties.h"

namespace rankfeed::split {
namespace {

using image::SplitBehavior;
using normalize::NormalizedText;

// Turns a sequence of adjoining segments, each a match of the pattern or not, into splits.
class Folder {
 public:
  Folder(SplitBehavior behavior, SplitList* out) : behavior_(behavior), out_(*out) {}

  void Segment(uint32_t begin, uint32_t end, bool match) {
    if (open_ && Joins(match)) {
      end_ = end;
    } else {
      Close();
      open_ = !(behavior_ == image::kRemoved && match);
      begin_ = begin;
      end_ = end;
    }
    previous_match_ = match;
  }

  bool Finish() {
    Close();
    return ok_;
  }

 private:
  bool Joins(bool match) const {
    switch (behavior_) {
      case image::kContiguous:
        return match == previous_match_;
      case image::kMergedWithPrevious:
        return match && !previous_match_;
      case image::kMergedWithNext:
        return !match && previous_match_;
      default:
        return false;
    }
  }
  void Close() {
    if (open_) ok_ = out_.Add(begin_, end_) && ok_;
    open_ = false;
  }

  const SplitBehavior behavior_;
  SplitList& out_;
  bool open_ = false, previous_match_ = false, ok_ = true;
  uint32_t begin_ = 0, end_ = 0;
};

// Splits [begin, end) at each character that is_match accepts.
template <class IsMatch>
void SplitAtChars(const NormalizedText& in, uint32_t begin, uint32_t end, IsMatch is_match,
                  Folder* folder) {
  uint32_t done = begin;
  for (uint32_t pos = begin; pos < end;) {
    uint32_t size;
    const char32_t c = utf8::DecodeValid(in.data + pos, &size);
    if (is_match(c)) {
      if (done < pos) folder->Segment(done, pos, false);
      done = pos + size;
      folder->Segment(pos, done, true);
    }
    pos += size;
  }
  if (done < end) folder->Segment(done, end, false);
}

// \w+|[^\w\s]+ with its matches and gaps swapped: gaps are removed, matches stay apart.
void SplitWords(const Model& model, const NormalizedText& in, uint32_t begin, uint32_t end,
                Folder* folder) {
  enum class Kind { kWord, kSpace, kOther };
  uint32_t done = begin;
  Kind kind = Kind::kSpace;
  for (uint32_t pos = begin; pos < end;) {
    uint32_t size;
    const char32_t c = utf8::DecodeValid(in.data + pos, &size);
    const Kind now = unicode::HasProp(model, c, image::kWord) ? Kind::kWord
                     : unicode::IsWhiteSpace(c)               ? Kind::kSpace
                                                              : Kind::kOther;
    if (now != kind) {
      if (done < pos) folder->Segment(done, pos, kind == Kind::kSpace);
      done = pos;
      kind = now;
    }
    pos += size;
  }
  if (done < end) folder->Segment(done, end, kind == Kind::kSpace);
}

// Matches of a literal are the delimiters, or with invert the parts that stay. An empty one, which
// only an image has that was written to while it is mapped, has no matches.
void SplitAtString(std::string_view pattern, bool invert, const NormalizedText& in, uint32_t begin,
                   uint32_t end, Folder* folder) {
  const std::string_view part = in.view(begin, end);
  if (pattern.empty()) return folder->Segment(begin, end, invert);
  for (size_t done = 0; done < part.size();) {
    const size_t at = std::min(part.find(pattern, done), part.size());
    const auto from = static_cast<uint32_t>(begin + done), to = static_cast<uint32_t>(begin + at);
    if (from < to) folder->Segment(from, to, invert);
    if (at == part.size()) break;
    done = at + pattern.size();
    folder->Segment(to, to + Size32(pattern), !invert);
  }
}

bool SplitOne(const Model& model, const image::Step& step, const NormalizedText& in, uint32_t begin,
              uint32_t end, SplitList* out) {
  using Op = image::PreTokenizerOp;
  const auto finish = [&](SplitBehavior behavior, auto split) {
    Folder folder(behavior, out);
    split(&folder);
    return folder.Finish();
  };
  const auto prop = [&](image::UnicodeProp p) {
    return [&model, p](char32_t c) { return unicode::HasProp(model, c, p); };
  };
  switch (Op{step.op}) {
    case Op::kMetaspace:
    case Op::kByteLevel:
      return false;  // rewrite the text: PreTokenize
    case Op::kWhitespaceSplit:
      return finish(image::kRemoved,
                    [&](Folder* to) { SplitAtChars(in, begin, end, unicode::IsWhiteSpace, to); });
    case Op::kWhitespace:
      return finish(image::kRemoved,
                    [&](Folder* to) { SplitWords(model, in, begin, end, to); });
    case Op::kPunctuation:
      return finish(static_cast<SplitBehavior>(step.arg0), [&](Folder* to) {
        SplitAtChars(in, begin, end, prop(image::kPunctuationProp), to);
      });
    case Op::kDigits:
      return finish(step.arg0 != 0 ? image::kIsolated : image::kContiguous, [&](Folder* to) {
        SplitAtChars(in, begin, end, prop(image::kNumeric), to);
      });
    case Op::kSplitString:
      return finish(static_cast<SplitBehavior>(step.arg0), [&](Folder* to) {
        SplitAtString(model.text(step.a), step.arg1 != 0, in, begin, end, to);
      });
    case Op::kSplitPattern:
      return finish(image::kIsolated, [&](Folder* to) {
        const split::Pattern pattern(model, step.arg0);
        const std::string_view part = in.view(begin, end);
        for (size_t at = 0, next; at < part.size(); at = next) {
          next = pattern.End(part, at);
          to->Segment(begin + static_cast<uint32_t>(at), begin + static_cast<uint32_t>(next), true);
        }
      });
  }
  return false;  // image/verify.cc: StepList admits pre-tokenizers only
}

// Copies the mark of a token.
bool CopyToken(uint32_t at, uint32_t id, uint32_t to, normalize::Writer* writer,
               SplitList* result) {
  writer->Copy(at, at + 1);
  return writer->ok() && result->AddToken(to, id);
}

// ByteLevel puts a space in front of every split that begins with none (pre_tokenizers/byte_level.rs);
// the bytes stay what they are, as the model's symbols begin as bytes.
bool PrefixSpaces(const NormalizedText& in, NormalizedText* out, const SplitList& splits,
                  SplitList* result) {
  normalize::Writer writer(in, out);
  for (uint32_t i = 0; i < splits.count; ++i) {
    const uint32_t begin = splits.begin[i] & ~kTokenSplit, start = out->size, end = splits.end[i];
    if ((splits.begin[i] & kTokenSplit) != 0) {
      if (!CopyToken(begin, end, start, &writer, result)) return false;
      continue;
    }
    if (in.data[begin] != ' ') writer.Put(" ", begin);
    writer.Copy(begin, end);
    if (!writer.ok() || !result->Add(start, out->size)) return false;
  }
  return true;
}

// Metaspace rewrites every split, U+0020 to the replacement and perhaps one in front, and then lets
// each replacement begin a new split (pre_tokenizers/metaspace.rs; MergedWithNext).
bool Metaspace(const Model& model, const image::Step& step, const NormalizedText& in,
               NormalizedText* out, const SplitList& splits, SplitList* result) {
  const std::string_view replacement = model.text(step.a);
  if (replacement.empty()) return false;  // as in SplitAtString
  normalize::Writer writer(in, out);
  for (uint32_t i = 0; i < splits.count; ++i) {
    const uint32_t begin = splits.begin[i] & ~kTokenSplit, start = out->size;
    if ((splits.begin[i] & kTokenSplit) != 0) {
      if (!CopyToken(begin, splits.end[i], start, &writer, result)) return false;
      continue;
    }
    const uint32_t end = splits.end[i];
    const std::string_view part = in.view(begin, end);
    const bool prefixed = part.starts_with(replacement) || part.starts_with(' ');
    // "first" asks where the split begins in the original text, so two splits can both be first.
    const bool wanted =
        step.arg0 == image::kPrependAlways ||
        (step.arg0 == image::kPrependFirst && in.begin != nullptr && in.begin[begin] == 0);
    if (!prefixed && wanted) writer.Put(replacement, begin);
    uint32_t open = start, done = begin;
    for (uint32_t pos = begin; pos < end;) {
      const bool space = in.data[pos] == ' ';
      if (!space && (in.data[pos] != replacement[0] || !in.view(pos, end).starts_with(replacement))) {
        ++pos;
        continue;
      }
      writer.Copy(done, pos);
      done = pos;
      // The one in front, as most splits have, begins none.
      if (step.arg1 != 0) {
        if (!result->Add(open, out->size)) return false;
        open = out->size;
      }
      pos += space ? 1 : Size32(replacement);
      if (!space) continue;
      writer.Put(replacement, done);
      done = pos;
    }
    writer.Copy(done, end);
    if (!writer.ok()) return false;
    if (!result->Add(open, out->size)) return false;
  }
  return true;
}

}  // namespace

rankfeed_status PreTokenize(const Model& model, normalize::Buffers* buffers, SplitList* splits,
                            SplitList* spare) {
  for (const image::Step& step : model.pre_tokenizer) {
    spare->count = 0;
    if (step.Is(image::Op::kMetaspace)) {
      if (!Metaspace(model, step, buffers->in(), &buffers->out(), *splits, spare)) {
        return RANKFEED_E_LIMIT;
      }
      buffers->Swap();
    } else if (step.Is(image::Op::kByteLevel)) {
      if (step.arg0 == 0) continue;
      if (!PrefixSpaces(buffers->in(), &buffers->out(), *splits, spare)) return RANKFEED_E_LIMIT;
      buffers->Swap();
    } else {
      for (uint32_t i = 0; i < splits->count; ++i) {
        const uint32_t begin = splits->begin[i], end = splits->end[i];
        const bool ok = (begin & kTokenSplit) != 0
                            ? spare->AddToken(begin & ~kTokenSplit, end)
                            : SplitOne(model, step, buffers->in(), begin, end, spare);
        if (!ok) return RANKFEED_E_LIMIT;
      }
    }
    std::swap(*splits, *spare);
  }
  return RANKFEED_OK;
}

}  // namespace rankfeed::split
