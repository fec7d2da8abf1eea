// SPDX-License-Identifier: MIT
// general/hf_pretokenize.cc: see hf_pretokenize.h.
#include "general/hf_pretokenize.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "unicode/properties.h"

namespace rankfeed::general {
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

// The same as Folder of kIsolated, or of kRemoved, where none joins another.
template <bool keeps_matches>
class Apart {
 public:
  explicit Apart(SplitList* out) : out_(*out) {}
  void Segment(uint32_t begin, uint32_t end, bool match) {
    if (keeps_matches || !match) ok_ = out_.Add(begin, end) && ok_;
  }
  bool Finish() const { return ok_; }

 private:
  SplitList& out_;
  bool ok_ = true;
};

// Splits [begin, end) at each character that is_match accepts.
template <class IsMatch, class To>
void SplitAtChars(const NormalizedText& in, uint32_t begin, uint32_t end, IsMatch is_match,
                  To* folder) {
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

// By byte: whether a white space may begin with it.
constexpr auto kMayBeWhiteSpace = [] {
  std::array<bool, 256> may{};
  for (const unsigned byte : {0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xc2, 0xe1, 0xe2, 0xe3}) {
    may[byte] = true;
  }
  return may;
}();

template <class To>
void SplitAtWhiteSpace(const NormalizedText& in, uint32_t begin, uint32_t end, To* folder) {
  uint32_t done = begin;
  for (uint32_t pos = begin; pos < end;) {
    if (!kMayBeWhiteSpace[static_cast<unsigned char>(in.data[pos])]) {
      ++pos;  // a byte of another character, whichever
      continue;
    }
    uint32_t size;
    const bool is = unicode::IsWhiteSpace(utf8::DecodeValid(in.data + pos, &size));
    if (is) {
      if (done < pos) folder->Segment(done, pos, false);
      done = pos + size;
      folder->Segment(pos, done, true);
    }
    pos += size;
  }
  if (done < end) folder->Segment(done, end, false);
}

// \w+|[^\w\s]+ with its matches and gaps swapped: gaps are removed, matches stay apart.
template <class To>
void SplitWords(const Model& model, const NormalizedText& in, uint32_t begin, uint32_t end,
                To* folder) {
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
template <class To>
void SplitAtString(std::string_view pattern, bool invert, const NormalizedText& in, uint32_t begin,
                   uint32_t end, To* folder) {
  const std::string_view part = in.view(begin, end);
  if (pattern.empty()) return folder->Segment(begin, end, invert);
  for (size_t done = 0; done < part.size();) {
    const size_t at = std::min(part.find(pattern, done), part.size());
    const auto from = static_cast<uint32_t>(begin + done), to = static_cast<uint32_t>(begin + at);
    if (from < to) folder->Segment(from, to, invert);
    if (at == part.size()) break;
    done = at + pattern.size();
    folder->Segment(to, to + static_cast<uint32_t>(pattern.size()), !invert);
  }
}

bool SplitOne(const Model& model, const image::Step& step, const NormalizedText& in, uint32_t begin,
              uint32_t end, SplitList* out) {
  using Op = image::PreTokenizerOp;
  const auto finish_to = [&](auto folder, auto split) {
    split(&folder);
    return folder.Finish();
  };
  const auto finish = [&](SplitBehavior behavior, auto split) {
    if (behavior == image::kRemoved) return finish_to(Apart<false>(out), split);
    if (behavior == image::kIsolated) return finish_to(Apart<true>(out), split);
    return finish_to(Folder(behavior, out), split);
  };
  const auto prop = [&](image::UnicodeProp p) {
    return [&model, p](char32_t c) { return unicode::HasProp(model, c, p); };
  };
  switch (Op{step.op}) {
    case Op::kMetaspace:
      return false;  // rewrites the text: PreTokenize
    case Op::kWhitespaceSplit:
      return finish(image::kRemoved,
                    [&](auto* folder) { SplitAtWhiteSpace(in, begin, end, folder); });
    case Op::kWhitespace:
      return finish(image::kRemoved,
                    [&](auto* folder) { SplitWords(model, in, begin, end, folder); });
    case Op::kPunctuation:
      return finish(static_cast<SplitBehavior>(step.arg0), [&](auto* folder) {
        SplitAtChars(in, begin, end, prop(image::kPunctuationProp), folder);
      });
    case Op::kDigits:
      return finish(step.arg0 != 0 ? image::kIsolated : image::kContiguous, [&](auto* folder) {
        SplitAtChars(in, begin, end, prop(image::kNumeric), folder);
      });
    case Op::kSplitString:
      return finish(static_cast<SplitBehavior>(step.arg0), [&](auto* folder) {
        SplitAtString(model.text(step.a), step.arg1 != 0, in, begin, end, folder);
      });
  }
  return false;  // image/verify.cc: StepList admits pre-tokenizers only
}

// Of eight bytes the highest bit of each that is a space or that byte; those after such a one may
// have it too.
uint64_t FindEither(uint64_t eight, char byte) {
  constexpr uint64_t kOnes = 0x0101010101010101, kLows = kOnes * 0x7f;
  // The highest bit of each byte that is not 0.
  const auto others = [](uint64_t of) { return ((of & kLows) + kLows) | of; };
  const uint64_t wanted = kOnes * static_cast<unsigned char>(byte);
  return ~(others(eight ^ kOnes * ' ') & others(eight ^ wanted)) & ~kLows;
}

// The first place from pos on of a space or of that byte, end if there is none.
uint32_t FindEither(const NormalizedText& in, uint32_t pos, uint32_t end, char byte) {
  for (uint64_t eight; end - pos >= sizeof(eight); pos += sizeof(eight)) {
    std::memcpy(&eight, in.data + pos, sizeof(eight));
    const uint64_t found = FindEither(eight, byte);
    if (found != 0) return pos + static_cast<uint32_t>(std::countr_zero(found)) / 8;
  }
  while (pos < end && in.data[pos] != ' ' && in.data[pos] != byte) ++pos;
  return pos;
}

// Metaspace where nobody asks for offsets: looks for spaces and copies what is between them in one
// pass, eight bytes at a time.
class MetaspaceWords {
 public:
  MetaspaceWords(const image::Step& step, std::string_view replacement, const NormalizedText& in,
                 NormalizedText* out)
      : in_(in),
        out_(*out),
        size_(static_cast<uint32_t>(replacement.size())),
        first_(replacement[0]),
        prepends_(step.arg0 == image::kPrependAlways),
        splits_(step.arg1 != 0),
        possible_(in.begin == nullptr && size_ <= sizeof(bytes_)) {
    if (!possible_) return;
    std::memcpy(&bytes_, replacement.data(), size_);
    std::memset(&mask_, 0xff, size_);
  }

  // Whether bytes [begin, end) can be read and written so, whatever they are.
  bool Fits(uint32_t begin, uint32_t end) const {
    const uint64_t most = uint64_t{end - begin + 1} * sizeof(bytes_) + sizeof(uint64_t);
    return possible_ && in_.capacity - end >= sizeof(uint64_t) && out_.capacity - out_.size >= most;
  }

  // False if there is no room for splits.
  bool Split(uint32_t begin, uint32_t end, SplitList* result) {
    const char* from = in_.data + begin;
    const char* const stop = in_.data + end;
    char* to = out_.data + out_.size;
    uint32_t open = out_.size;
    const auto put = [&] {
      std::memcpy(to, &bytes_, sizeof(bytes_));
      to += size_;
    };
    if (prepends_ && (from == stop || (*from != ' ' && !IsReplacement(from, stop)))) put();
    while (from != stop) {
      uint64_t eight;
      std::memcpy(&eight, from, sizeof(eight));
      std::memcpy(to, &eight, sizeof(eight));
      const uint64_t found = FindEither(eight, first_);
      const auto some = static_cast<size_t>(found != 0 ? std::countr_zero(found) / 8 : 8);
      const size_t left = static_cast<size_t>(stop - from), size = std::min(some, left);
      from += size;
      to += size;
      if (some >= left || found == 0) continue;
      const bool space = *from == ' ';
      if (!space && !IsReplacement(from, stop)) {
        *to++ = *from++;
        continue;
      }
      // The one in front, as most splits have, begins none.
      const auto at = static_cast<uint32_t>(to - out_.data);
      if (splits_ && !result->Add(open, at)) return false;
      if (splits_) open = at;
      put();
      from += space ? 1 : size_;
    }
    out_.size = static_cast<uint32_t>(to - out_.data);
    return result->Add(open, out_.size);
  }

 private:
  bool IsReplacement(const char* from, const char* stop) const {
    uint32_t four;
    std::memcpy(&four, from, sizeof(four));
    return ((four ^ bytes_) & mask_) == 0 && static_cast<size_t>(stop - from) >= size_;
  }

  const NormalizedText& in_;
  NormalizedText& out_;
  uint32_t bytes_ = 0, mask_ = 0;  // of the replacement
  const uint32_t size_;
  const char first_;
  const bool prepends_, splits_, possible_;
};

// Metaspace rewrites every split, U+0020 to the replacement and perhaps one in front, and then lets
// each replacement begin a new split (pre_tokenizers/metaspace.rs; MergedWithNext).
bool Metaspace(const Model& model, const image::Step& step, const NormalizedText& in,
               NormalizedText* out, const SplitList& splits, SplitList* result) {
  const std::string_view replacement = model.text(step.a);
  if (replacement.empty()) return false;  // as in SplitAtString
  normalize::Writer writer(in, out);
  MetaspaceWords words(step, replacement, in, out);
  for (uint32_t i = 0; i < splits.count; ++i) {
    const uint32_t begin = splits.begin[i] & ~kTokenSplit, start = out->size;
    if ((splits.begin[i] & kTokenSplit) != 0) {
      writer.Copy(begin, begin + (in.data[begin] == kMarkWithCount ? 2 : 1));
      if (!writer.ok() || !result->AddToken(start, splits.end[i])) return false;
      continue;
    }
    const uint32_t end = splits.end[i];
    if (words.Fits(begin, end)) {
      if (!words.Split(begin, end, result)) return false;
      continue;
    }
    const std::string_view part = in.view(begin, end);
    const bool prefixed = part.starts_with(replacement) || part.starts_with(' ');
    // "first" asks where the split begins in the original text, so two splits can both be first.
    const bool wanted =
        step.arg0 == image::kPrependAlways ||
        (step.arg0 == image::kPrependFirst && in.begin != nullptr && in.begin[begin] == 0);
    if (!prefixed && wanted) writer.Put(replacement, begin);
    uint32_t open = start, done = begin;
    for (uint32_t pos = begin; (pos = FindEither(in, pos, end, replacement[0])) < end;) {
      const bool space = in.data[pos] == ' ';
      if (!space && !in.view(pos, end).starts_with(replacement)) {
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
      pos += space ? 1 : static_cast<uint32_t>(replacement.size());
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
    if (step.op == static_cast<uint32_t>(image::Op::kMetaspace)) {
      if (!Metaspace(model, step, buffers->in(), &buffers->out(), *splits, spare)) {
        return RANKFEED_E_LIMIT;
      }
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

}  // namespace rankfeed::general
