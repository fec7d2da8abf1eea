// SPDX-License-Identifier: MIT
// segment/decode.cc: see decode.h. The loops over characters that are one code each are in
// kernels/.
#include "segment/decode.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "unicode/properties.h"

namespace rankfeed::segment {

using Kind = Outcome::Kind;

// Whether a character of three bytes begins at text.
static bool BeginsThree(const char* text) {
  return (static_cast<unsigned char>(text[0]) & 0xf0) == 0xe0;
}

// Whether the character of three bytes at text is one of those from image::kFirstCjk on.
static bool IsCjk(const char* text) {
  static_assert(image::kFirstCjk == 0x2e80);  // E2 BA 80
  const auto lead = static_cast<unsigned char>(text[0]);
  return lead > 0xe2 || (lead == 0xe2 && static_cast<unsigned char>(text[1]) >= 0xba);
}

// Whether the character of three bytes at text stands for one code and can be read as kernels do.
bool SpanDecoder::IsDirect(const char* text) const {
  return text < run_.readable && run_.direct[utf8::CodePointOfThree(utf8::LoadThree(text))] != 0;
}

void SpanDecoder::Scratch::Carve(Layout& layout) {
  constexpr uint32_t kSpans = PathSearch::kCapacity + 1 + kVectorSlack;
  search.Carve(layout);
  codes = layout.Take<uint16_t>(kSpans);
  begins = layout.Take<uint16_t>(kSpans);
  found = layout.Take<Found>(kSpans);
  searches = layout.Take<uint16_t>(kSpans);
  searched = layout.Take<uint16_t>(kSpans);
  for (char*& text : texts) text = layout.Take<char>(kNormalizedBytes);
  for (uint32_t*& array : work) array = layout.Take<uint32_t>(kNormalizedBytes);
  elements = layout.Take<uint16_t>(kNormalizedBytes);
  groups = layout.Take<KnownGroups::Memory>(1);
}

SpanDecoder::SpanDecoder(const Model& model, const KernelTable& kernels,
                         const NormalizedTokens& normalized_tokens, Scratch& scratch)
    : model_(model),
      tables_(model.segment),
      kernels_(kernels),
      normalized_tokens_(normalized_tokens),
      groups_(model),
      symbols_(model),
      known_groups_(scratch.groups),
      scratch_(scratch),
      search_(scratch.search),
      metaspace_(static_cast<uint16_t>(model.segment.config->space_code)),
      not_kept_(Path::NotKept(model.has(image::kByteFallback), CountsUnknown(model))),
      every_space_((model.segment.config->rules & image::kEverySpaceIsWord) != 0),
      front_vanishes_(every_space_ && model.huggingface() &&
                      (model.segment.config->rules & image::kFrontSpaceIsWord) == 0),
      signs_(model),
      leaves_nothing_(every_space_ && !model.huggingface()),
      keeps_other_spaces_((model.segment.config->rules & image::kDropsOther) != 0 &&
                          !normalize::JoinsWhiteSpace(model)) {
  run_.basic = tables_.char_info.data;
  run_.direct = tables_.direct_codes.data();
  run_.pairs = tables_.spanned_pairs.data();
  run_.expansions = tables_.expansions.data();
  run_.codes = scratch.codes;
  run_.begins = scratch.begins;
}

uint32_t SpanDecoder::Decode(SegmentQueue& queue, uint32_t count, LookUp& look_up) {
  search_.Clear();
  run_.size = run_.count = 0;
  cjk_codes_ = 0;
  const bool resumed = resumes_;
  resumes_ = false;
  const Segments segments = queue.segments();
  Decoded* const decoded = look_up.decoded();
  uint32_t done = 0, run_number = 0, end = count;
  bool separated = false;
  for (uint32_t k = 0; k < look_up.miss_count(); ++k) {
    const uint32_t i = look_up.misses()[k];
    if (!resumed && segments.size(i) <= ShortDecode::kMaxBytes) {
      const uint32_t shorts = DecodeShort(segments, look_up, k, decoded + done);
      done += shorts;
      if (shorts != 0) {
        k += shorts - 1;
        continue;
      }
    }
    const SegmentRun& run = queue.RunOf(i, &run_number);
    const std::string_view bytes = segments.Bytes(run.stretch, i);
    const auto byte = [&](uint32_t at) { return int{static_cast<unsigned char>(run.stretch[at])}; };
    const uint32_t begin = segments.begin(i), bytes_end = segments.ends[i];
    stretch_ = run.stretch;
    before_ = begin != 0 ? byte(begin - 1) : kNoByte;
    after_ = bytes_end < run.stretch.size() ? byte(bytes_end) : kNoByte;
    if (!resumed) cursor_ = {.word_start = segments.word_start(i)};
    Outcome outcome = DecodeLong(bytes, &cursor_);
    const bool normalized = outcome.kind == Kind::kNormalize;
    if (normalized) outcome = DecodeNormalized(bytes, segments.word_start(i));
    if (outcome.kind == Kind::kGeneral) {
      // What comes before is encoded to the end.
      end = queue.Leave(run_number, i, outcome.reason, resumed);
      while (done != 0 && decoded[done - 1].segment >= end) --done;
      break;
    }
    if (depends_ && !separated) {
      look_up.ForgetRepeats(k);
      separated = true;
    }
    resumes_ = outcome.kind == Kind::kFull && run_.count != first_count_;
    if (outcome.kind == Kind::kFull) end = i;
    if (outcome.kind == Kind::kFull && !resumes_) break;
    const bool cacheable = !resumes_ && !resumed && run_.count - first_count_ == 1 && !spaces_ &&
                           !trailing_space_ && !depends_ &&
                           RunSpan(first_count_).size() <= kMaxSegmentCodes;
    decoded[done++] = {static_cast<uint16_t>(i),
                       static_cast<uint16_t>(kFirstOfRuns + first_count_),
                       static_cast<uint16_t>(kFirstOfRuns + run_.count),
                       cacheable,
                       trailing_space_,
                       word_first_};
    if (resumes_) break;
  }
  look_up.SetDecoded(done);
  return end;
}

uint32_t SpanDecoder::DecodeShort(const Segments& segments, const LookUp& look_up, uint32_t first,
                                  Decoded* out) {
  static_assert(ShortDecode::kMaxBytes < RunDecode::kCutFrom);
  // Groups of eight are written whole.
  constexpr uint32_t kRoom = ShortDecode::kMaxBytes + 1 + kCharRoom;
  ShortDecode to{
      .basic = run_.basic,
      .codes = search_.codes(),
      .spans = search_.spans(),
      .decoded = out,
      .size = search_.size(),
      .count = search_.count(),
      .size_limit = std::max(search_.room() - run_.size - run_.count, kRoom) - kRoom,
      .count_limit = PathSearch::kMaxSpans - 2,
      .metaspace = metaspace_};
  const uint32_t done = kernels_.decode_short(segments, look_up.keys(), look_up.misses() + first,
                                              look_up.miss_count() - first, &to);
  search_.Grow(to.size, to.count);
  return done;
}

void SpanDecoder::Open(bool word_start, const char* resume, uint32_t skip, uint32_t group_end) {
  run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
  run_.resume = skip_at_ = resume;
  skip_ = skip;
  group_end_ = group_end;
  if (word_start) Add(metaspace_);
}

// Whether the open span is one, if it ends there. Empty words vanish, and so do the separators
// around them, but where every space makes a word.
bool SpanDecoder::Closes(uint32_t size) const {
  const uint32_t count = size - run_.open();
  return count > 1 || (count == 1 && (KeepsEmpty() || run_.codes[run_.open()] != metaspace_));
}

// Whether the open span is a word where it is only a U+2581. HuggingFace puts none in front of a
// stretch that begins with a space, or of nothing.
bool SpanDecoder::KeepsEmpty() const {
  return every_space_ && !(at_front_ && run_.count == first_count_);
}

void SpanDecoder::Close() {
  depends_ |= every_space_ && run_.count == first_count_ && run_.size == run_.open() + 1 &&
              run_.codes[run_.open()] == metaspace_;
  if (Closes(run_.size)) {
    run_.Cut(nullptr);
  } else {
    run_.size = run_.open();
  }
  at_front_ = false;
}

// Appends codes, 0 for a space, without the first `skip`: what the character at text is replaced by,
// or the group that begins there and ends at group_end.
void SpanDecoder::AddElements(std::span<const uint16_t> elements, const char* text, uint32_t skip,
                              uint32_t group_end) {
  if (signs_.any()) [[unlikely]] {
    const auto begin = elements.begin() + skip;
    if (std::find(begin, elements.end(), image::kSign) != elements.end()) {
      return AddBesideSigns(elements, text, skip, group_end);
    }
  }
  const auto end = static_cast<uint32_t>(elements.size());
  uint16_t* const codes = run_.codes;
  uint32_t size = run_.size, after_space = 0;
  for (uint32_t i = skip; i < end; ++i) {
    const uint16_t code = elements[i];
    if (code == 0) {
      run_.size = size;
      Close();
      size = run_.size;
      run_.begins[run_.count] = static_cast<uint16_t>(size);
      after_space = i + 1;
    }
    codes[size++] = code != 0 ? code : metaspace_;
  }
  run_.size = size;
  const bool word = end != std::max(skip, after_space);
  if (after_space != 0) return EndElements(text, word, after_space, group_end);
  if (word) trailing_space_ = false;
}

// After elements of which a space was one. word: whether codes follow the last space, which is the
// last of the first `skip` elements.
void SpanDecoder::EndElements(const char* text, bool word, uint32_t skip, uint32_t group_end) {
  run_.resume = skip_at_ = text;
  skip_ = skip;
  group_end_ = group_end;
  spaces_ = true;
  trailing_space_ = !word && !every_space_;
}

// Why what is left of a segment sends its stretch to the general path, if it does.
rankfeed_reason SpanDecoder::NotNormalizable(std::string_view rest) const {
  for (size_t pos = 0; pos < rest.size();) {
    const utf8::Decoded c = utf8::DecodeInline(rest, pos);
    if ((tables_.char_info[c.code_point] & image::kCharGeneralPath) != 0) {
      return RANKFEED_REASON_CHARACTER;
    }
    pos += c.size;
  }
  return RANKFEED_REASON_NONE;
}

// Whether the open span may end before that character.
bool SpanDecoder::MayCut(uint32_t info) const {
  return run_.size - run_.open() >= RunDecode::kCutFrom && (info & image::kCharMarks) == 0 &&
         MayEndBetween(run_.pairs, run_.codes[run_.size - 1], run_.previous, info);
}

// The batch is full, before the character at `at`: what is open goes to the next one.
Outcome SpanDecoder::Full(std::string_view segment, size_t at, Cursor* cursor) {
  // In the middle of a group, before whose first character the span was cut, it is not known yet
  // whether that may be.
  if (before_cut_.text != nullptr && before_cut_.text == run_.resume && groups_.known() &&
      segment.data() + groups_.Begin(segment, at) == run_.resume) {
    at = static_cast<size_t>(run_.resume - segment.data());
    TakeBackTo(before_cut_);
  }
  if (run_.count == first_count_) {
    if (first_size_ + search_.size() == 0) return Outcome::General(RANKFEED_REASON_LENGTH);
    run_.size = first_size_;
    return {Kind::kFull};
  }
  const std::span<const uint16_t> open(run_.codes + run_.open(), run_.codes + run_.size);
  const bool inside = run_.resume == skip_at_;
  cursor->at = static_cast<uint32_t>(run_.resume - segment.data());
  cursor->skip = inside ? skip_ : 0;
  cursor->group_end = inside ? group_end_ : 0;
  cursor->last = run_.codes[run_.open() - 1];
  cursor->word_start = !open.empty() && BeginsWord(open);
  cursor->spaced = signs_.any() && trailing_space_;
  run_.size = run_.open();
  return {Kind::kFull};
}

// CharInfo of the character that ends at a place where the segment was cut.
uint32_t SpanDecoder::InfoBefore(std::string_view segment, size_t at) const {
  return tables_.char_info[utf8::CodePointAt(segment, CharacterGroups::Before(segment, at))];
}

// Appends the spans of the segment from *cursor on, which kFull moves on.
Outcome SpanDecoder::DecodeLong(std::string_view segment, Cursor* cursor) {
  const char* const text = segment.data();
  first_size_ = run_.size, first_count_ = run_.count;
  uint32_t& previous = run_.previous;
  previous = image::kCharUnknown;  // the U+2581 before it may be
  if (cursor->at != 0) previous |= InfoBefore(segment, cursor->at);
  trailing_space_ = cursor->spaced;
  after_sign_ = 0;
  spaces_ = word_first_ = depends_ = false;
  front_ = cursor->at == 0 && cursor->skip == 0;
  at_front_ = front_ && front_vanishes_ && before_ == kNoByte;
  if (room() < 2 * kCharRoom) return Full(segment, cursor->at, cursor);
  skipped_ = cursor->skip;
  ForgetSpaces();
  before_cut_ = {};
  at_space_ = nullptr;
  Open(cursor->word_start, text + cursor->at, cursor->skip, cursor->group_end);
  // A character of three bytes may be read with the byte after it.
  const size_t beyond = after_ != kNoByte ? 2 : 3;
  run_.end = text + segment.size();
  run_.readable = text + std::max(segment.size(), beyond) - beyond;
  size_t pos = cursor->at;
  if (cursor->group_end != 0) {
    const Outcome outcome = AppendTogether(
        segment, cursor->at, {.end = cursor->group_end, .leaves = false}, cursor);
    if (outcome.kind != Kind::kSearch) return outcome;
    pos = cursor->group_end;
  }
  const Outcome outcome =
      signs_.any() ? DecodeBesideSigns(segment, pos, cursor) : DecodeChars(segment, pos, cursor);
  if (outcome.kind != Kind::kSearch) return outcome;
  if (LeavesLineEndsTogether()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  Close();
  return {};
}

// Appends the characters of a segment from pos on, up to the open span.
Outcome SpanDecoder::DecodeChars(std::string_view segment, size_t pos, Cursor* cursor) {
  const char* const text = segment.data();
  uint32_t& previous = run_.previous;
  bool after_special = false;  // another such character may follow: no loop need be entered
  while (pos < segment.size()) {
    if (room() < 2 * kCharRoom) return Full(segment, pos, cursor);
    if (signs_.any() && run_.size == run_.open() + 1 && run_.codes[run_.open()] == metaspace_) {
      at_space_ = text + pos;
      at_space_trails_ = trailing_space_;
    }
    // Characters that stand for one code each, as most do, up to a place to cut.
    const size_t begin = pos;
    utf8::Decoded c = {};
    uint32_t info = 0;
    for (;; after_special = false) {
      if (!after_special && pos + 3 <= segment.size() && BeginsThree(text + pos)) {
        run_.size_limit = run_.size + (room() - kCharRoom) / 2;  // codes, and as many spans
        const bool cjk = IsCjk(text + pos);
        if (!cjk) {
          pos = static_cast<size_t>(kernels_.decode_run(text + pos, &run_) - text);
        } else if (IsDirect(text + pos)) {
          const auto end = static_cast<size_t>(kernels_.decode_cjk(text + pos, &run_) - text);
          cjk_codes_ += static_cast<uint32_t>(end - pos) / 3;
          pos = end;
        }
      }
      if (pos < segment.size() && static_cast<unsigned char>(text[pos]) < 0x80) {
        pos = AppendAscii(segment, pos);
      }
      if (pos == segment.size() || room() < 2 * kCharRoom) {
        c.size = info = 0;
        break;
      }
      c = utf8::DecodeInline(segment, pos);
      info = tables_.char_info[c.code_point];
      if (!c.valid) break;
      if (Follows(info, previous)) {
        if (MayCut(info)) break;
        Add(info);
        previous = info;
      } else if (!AppendExpansion(info, &run_)) {
        break;
      }
      pos += c.size;
    }
    if (pos != begin) {
      trailing_space_ = false;
      if (c.size == 0) continue;
    }
    const Outcome outcome = SpecialChar(segment, c, info, &pos, cursor);
    after_special = true;
    if (outcome.kind != Kind::kSearch) return outcome;
  }
  return {};
}

// Appends ASCII characters from `at` on that are one code each, as long as there is room, up to a
// place to cut; returns where it stopped.
inline size_t SpanDecoder::AppendAscii(std::string_view segment, size_t at) {
  const uint32_t* const basic = run_.basic;
  const uint64_t* const pairs = run_.pairs;
  uint16_t* const codes = run_.codes;
  const uint32_t left = room(), cut_from = run_.open() + RunDecode::kCutFrom;
  uint32_t size = run_.size, previous = run_.previous;
  const uint32_t limit = size + left - std::min(left, 2 * kCharRoom - 1);
  for (; at < segment.size() && size < limit; ++at) {
    const auto byte = static_cast<unsigned char>(segment[at]);
    if (byte >= 0x80) break;
    const uint32_t info = basic[byte];
    if (!Follows(info, previous)) break;
    if (size >= cut_from && (info & image::kCharMarks) == 0 &&
        MayEndBetween(pairs, codes[size - 1], previous, info)) {
      break;
    }
    codes[size++] = static_cast<uint16_t>(info);
    previous = info;
  }
  run_.size = size;
  run_.previous = previous;
  return at;
}

// Whether the character at `at` is read together with the one before it, of that info: what that
// becomes on its own would be taken back.
bool SpanDecoder::IsJoined(std::string_view segment, size_t at, uint32_t info) const {
  const uint32_t joining = image::JoiningMarks(info);
  if (joining == 0 || at == segment.size() || static_cast<unsigned char>(segment[at]) < 0x80) {
    return false;
  }
  return (tables_.char_info[utf8::CodePointAt(segment, at)] & joining) != 0;
}

// Appends the character c at *at, which is more or less than one code, or after which the open
// span ends; *at is moved on.
Outcome SpanDecoder::SpecialChar(std::string_view segment, utf8::Decoded c, uint32_t info,
                                 size_t* at, Cursor* cursor) {
  const char* const text = segment.data() + *at;
  uint32_t& previous = run_.previous;
  if ((info & image::kCharGeneralPath) != 0 && !StandsApart(segment, *at, info)) {
    return Outcome::General(RANKFEED_REASON_CHARACTER);
  }
  // A byte that is no character is U+FFFD; SentencePiece does not look that up in its charsmap.
  if ((!c.valid && !model_.huggingface()) ||
      (info & (image::kCharNormalizes | image::JoiningMarks(previous))) != 0 ||
      ((info & image::kCharExpands) != 0 && IsJoined(segment, *at + c.size, info))) {
    return Together(segment, at, cursor);
  }
  if ((info & image::kCharSpace) != 0) NoteSpace(text);
  const bool begins = *at == 0;
  *at += c.size;
  if ((info & image::kCharExpands) != 0) {
    const uint16_t* const list = run_.expansions + (info & image::kCharCodeMask);
    if (leaves_nothing_ && begins && ExpansionCount(list) == 0) {
      return Outcome::General(RANKFEED_REASON_CONTEXT);
    }
    // With room for the next character, which may be a mark that is read together with this one:
    // were the batch full between them, it could not be taken back.
    if (room() < 4 * kCharRoom) {
      *at -= c.size;
      return Full(segment, *at, cursor);
    }
    previous = info | image::kCharUnknown;  // the last code may be
    // With a U+2581 and a closing zero for each space.
    static_assert(2 * image::kMaxExpansionCodes + 2 <= 2 * kCharRoom);
    AddElements({list + 1, ExpansionCount(list)}, text, cursor->skip, 0);
    cursor->skip = 0;
  } else if ((info & image::kCharSpace) != 0) {
    previous = info | image::kCharUnknown;
    Close();
    Open(true, text + c.size);
    spaces_ = true;
    trailing_space_ = !every_space_;
  } else {
    trailing_space_ = false;
    if (MayCut(info)) {
      if (image::JoiningMarks(info) != 0) before_cut_ = OpenBefore(text);
      run_.Cut(text);
    }
    previous = info;
    Add(info);
  }
  return {};
}

}  // namespace rankfeed::segment
