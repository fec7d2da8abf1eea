// SPDX-License-Identifier: MIT
// segment/decode.h: segments that were not found, to spans of character codes and their best paths.
//
// Short segments of characters that are one code each, as most are, become one span each. Others
// are cut into several: at characters that normalize to a space, and in long runs where no piece
// holds the two characters there; without that, text in scripts without spaces would be one search
// per paragraph. From image::kFirstCjk on, where most neighbours share no piece, runs are cut
// wherever they can be, and go on over direct codes of other scripts. Half of those spans are one
// character and most others two: they are looked up in a table of the image (image::SpanEntry), and
// only what it lacks is searched. A run that fills a batch without a place to cut takes the
// general path.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "image/model.h"
#include "normalize/normalize.h"
#include "rankfeed/encode.h"
#include "segment/groups.h"
#include "segment/known_groups.h"
#include "segment/look_up.h"
#include "segment/normalized_tokens.h"
#include "segment/queue.h"
#include "segment/search.h"
#include "segment/signs.h"
#include "segment/spans.h"
#include "segment/symbols.h"
#include "unicode/properties.h"

namespace rankfeed::segment {

// Where a segment goes on whose spans did not fit into one batch.
struct Cursor {
  uint32_t at = 0;          // byte
  uint32_t skip = 0;        // elements of what the character or group there is replaced by
  uint32_t group_end = 0;   // of a group that begins there; 0: none
  uint16_t last = 0;        // code before it; 0: none is known
  bool word_start = false;  // a U+2581 stands before it
  // And that for a space, where it makes a word in front of a sign.
  bool spaced = false;
  uint32_t no_sign_begin = 0, no_sign_end = 0;  // bytes of the segment that hold no sign of ASCII
};

// What becomes of a segment that was not found, or of a batch of them.
struct Outcome {
  enum class Kind : uint8_t {
    kSearch,     // it is spans now
    kFull,       // the batch is; what did not fit comes first in the next one
    kNormalize,  // it must go through the normalizer; nothing was appended
    kGeneral,    // its stretch takes the general path
  };
  Kind kind = Kind::kSearch;
  rankfeed_reason reason = RANKFEED_REASON_NONE;  // with kGeneral

  static Outcome General(rankfeed_reason reason) { return {Kind::kGeneral, reason}; }
};

class SpanDecoder {
 public:
  // A segment of a key has no more, the U+2581 included.
  static constexpr uint32_t kMaxSegmentCodes = image::kMaxExpansionCodes * sizeof(SegmentKey);
  static constexpr uint32_t kNormalizedBytes = 4 * 1024;
  static constexpr uint32_t kMaxNormalizable = kNormalizedBytes / 16;  // bytes of a segment

  struct Scratch {
    PathSearch search;
    // Of the spans that are not short ones:
    uint16_t* codes = nullptr;
    uint16_t* begins = nullptr;
    Found* found = nullptr;
    uint16_t* searches = nullptr;  // those that are not in the table
    uint16_t* searched = nullptr;  // by span, of those: the number in search
    // kNormalizedBytes each: a segment on its way through the normalizer.
    char* texts[2] = {};
    uint32_t* work[3] = {};
    uint16_t* elements = nullptr;  // what a group becomes
    KnownGroups::Memory* groups = nullptr;
    void Carve(Layout& layout);
  };

  SpanDecoder(const Model& model, const KernelTable& kernels,
              const NormalizedTokens& normalized_tokens, Scratch& scratch);

  // Decodes the misses of a batch of count segments to look_up.decoded(), as far as they fit.
  // Returns where the batch ends: before count when it is full, or where a stretch leaves, whose
  // run says why.
  uint32_t Decode(SegmentQueue& queue, uint32_t count, LookUp& look_up);

  // Whether the first segment of the next batch goes on after what was decoded of it.
  bool resumes() const { return resumes_; }
  // Nothing is left of that segment.
  void ForgetCursor() { resumes_ = false; }

  // Of search_room(), before Solve: every span may have to be searched, with its closing 0.
  uint32_t used() const { return search_.size() + run_.size + run_.count; }
  uint32_t search_room() const { return search_.room(); }

  // Finds the best paths of everything decoded.
  void Solve(const ExactnessRule& rule);

  // After Solve, by number of a span. Ids stay until the next. Without a count if only path() has
  // them: too many, or of a path that is not kept.
  Found found(uint32_t span) const {
    return span < kFirstOfRuns ? Kept(search_.path(span)) : scratch_.found[span - kFirstOfRuns];
  }
  bool IsShort(uint32_t span) const { return span < kFirstOfRuns; }
  // The same by address, of spans that are not short ones; they lie in a row.
  const Found* run_found(uint32_t span) const { return scratch_.found + (span - kFirstOfRuns); }
  // Of one whose found() has no count. Null: it was not searched.
  const Path* path(uint32_t span) const {
    const uint32_t number = span < kFirstOfRuns ? span : scratch_.searched[span - kFirstOfRuns];
    return number != kNotSearched ? &search_.path(number) : nullptr;
  }
  const int32_t* ids() const { return search_.ids(); }
  // Codes of a raw segment that was decoded to one span and is kept by its key; returns the count,
  // kMaxSegmentCodes at most, 0 if it is too long for that or to be normalized as a whole. What was
  // decoded of the batch stays.
  uint32_t CodesOf(std::string_view segment, bool word_start, uint16_t* codes) const;
  bool BeginsWord(uint32_t span) const { return BeginsWord(codes(span)); }
  // Those of spans of one segment lie one after the other.
  std::span<const uint16_t> codes(uint32_t span) const {
    if (span >= kFirstOfRuns) return RunSpan(span - kFirstOfRuns);
    const Span& of = search_.spans()[span];
    return {search_.codes() + of.begin, search_.codes() + of.end};
  }

 private:
  // Short segments' spans have their number in the search; those of runs count from here.
  static constexpr uint32_t kFirstOfRuns = PathSearch::kMaxSpans;
  static constexpr uint16_t kNotSearched = 0xffff;
  static_assert(kNotSearched >= PathSearch::kMaxSpans);
  // Half the room that one character may take, with the closing zeros of the spans it ends.
  static constexpr uint32_t kCharRoom = 32;
  // With a bound and exact_below 0 no loop that goes by infos writes the ids.
  static constexpr image::PathInfo kNotFound{0, 0, ExactnessRule::kMaxScoreBound};

  uint32_t DecodeShort(const Segments& segments, const LookUp& look_up, uint32_t first,
                       Decoded* out);
  Outcome DecodeLong(std::string_view segment, Cursor* cursor);
  Outcome DecodeChars(std::string_view segment, size_t pos, Cursor* cursor);
  size_t AppendAscii(std::string_view segment, size_t at);
  // Where words end beside signs (decode_signs.cc).
  Outcome DecodeBesideSigns(std::string_view segment, size_t pos, Cursor* cursor);
  Outcome DecodeSign(std::string_view segment, size_t* at, Cursor* cursor);
  // Whether a group ends after a character of that info, if one may begin with the next. What
  // vanishes is not known to end one.
  bool EndsGroup(uint32_t info) const {
    if ((info & image::kCharNormalizes) != 0) return false;
    return (info & image::kCharExpands) == 0 ||
           ExpansionCount(run_.expansions + (info & image::kCharCodeMask)) != 0;
  }
  size_t NextSign(std::string_view segment, size_t at, Cursor* cursor) const;
  Outcome JoinedSign(std::string_view segment, size_t* at, Cursor* cursor);
  void BeginSign() {
    if (!IsAfterWordOfSign()) BeginSignAfter();
  }
  // Whether the open span is the U+2581 after a sign that is a word.
  bool IsAfterWordOfSign() const {
    return run_.count != first_count_ && !trailing_space_ &&
           run_.size == run_.open() + 1 && run_.codes[run_.open()] == metaspace_;
  }
  void BeginSignAfter();
  void AddWordOfSign(uint32_t code);
  uint32_t InfoBefore(std::string_view segment, size_t at) const;
  bool StandsApart(std::string_view segment, size_t at, uint32_t info);
  bool EndsApart(int neighbour, uint32_t drops) const;
  bool LeavesLineEndsTogether();
  bool IsJoined(std::string_view segment, size_t at, uint32_t info) const;
  Outcome SpecialChar(std::string_view segment, utf8::Decoded c, uint32_t info, size_t* at,
                      Cursor* cursor);
  Outcome Full(std::string_view segment, size_t at, Cursor* cursor);
  Outcome Together(std::string_view segment, size_t* at, Cursor* cursor);
  bool BeginsWithMark(std::string_view segment, size_t begin) const;
  Outcome AsWhole(std::string_view segment, size_t begin);
  bool TakeBackTo(std::string_view segment, size_t begin, size_t at);
  bool MayBeginAfter(uint32_t last_in_batch_before, uint32_t at) const;
  bool MayEndBetweenCodes(uint32_t last, uint32_t first) const;
  Outcome AppendTogether(std::string_view segment, size_t begin, CharacterGroups::Extent extent,
                         Cursor* cursor);
  Outcome AppendElements(std::span<const uint16_t> elements, std::string_view segment, size_t begin,
                         size_t end, Cursor* cursor);
  Outcome ReadGroup(std::string_view group, bool leaves, std::span<const uint16_t>* elements);
  Outcome NormalizeGroup(std::string_view group, std::span<const uint16_t>* elements);
  bool IsOtherSpace(char32_t c, std::string_view raw) const {
    return (unicode::IsWhiteSpace(c) || c == 0x2581) && c != ' ' && IsOtherThan(c, raw);
  }
  bool IsOtherThan(char32_t space, std::string_view raw) const;
  void AppendNormalized(char32_t c, const char* text, uint32_t element, uint32_t group_end);
  Outcome DecodeNormalized(std::string_view segment, bool word_start);
  bool NormalizeWhole(std::string_view segment, std::string_view* normalized,
                      bool is_group = false) const;
  Outcome Normalize(std::string_view segment, std::string_view* normalized, bool is_group) const;
  uint32_t NormalizedCodes(std::string_view segment, std::span<uint16_t> codes) const;
  uint32_t CodeOf(char32_t c) const {
    const uint32_t code = model_.codes[c];
    return code != 0 ? code : model_.config->code_count;
  }
  rankfeed_reason NotNormalizable(std::string_view rest) const;

  uint32_t room() const { return search_.room() - used(); }
  std::span<const uint16_t> RunSpan(uint32_t i) const {
    return {run_.codes + run_.begins[i], run_.codes + run_.begins[i + 1]};
  }
  bool BeginsWord(std::span<const uint16_t> codes) const { return codes[0] == metaspace_; }
  void Add(uint32_t code) { run_.codes[run_.size++] = static_cast<uint16_t>(code); }
  void Open(bool word_start, const char* resume, uint32_t skip = 0, uint32_t group_end = 0);
  bool Closes(uint32_t size) const;
  bool KeepsEmpty() const;
  void Close();
  void TakeBack() {
    run_.size = first_size_, run_.count = first_count_;
  }
  void AddElements(std::span<const uint16_t> elements, const char* text, uint32_t skip,
                   uint32_t group_end);
  void AddBesideSigns(std::span<const uint16_t> elements, const char* text, uint32_t skip,
                      uint32_t group_end);
  void EndElements(const char* text, bool word, uint32_t skip, uint32_t group_end);
  bool IsDirect(const char* text) const;
  bool MayCut(uint32_t info) const;
  Found Kept(const Path& path) const {
    const bool kept = (path.flags & not_kept_) == 0 && path.count <= CacheLine::kMaxIds;
    return {search_.ids() + path.first_id, 0, kept ? path.info : kNotFound};
  }

  const Model& model_;
  const SegmentTables& tables_;
  const KernelTable& kernels_;
  const NormalizedTokens& normalized_tokens_;
  const CharacterGroups groups_;
  const Symbols symbols_;
  KnownGroups known_groups_;
  Scratch& scratch_;
  PathSearch& search_;
  const uint16_t metaspace_;  // the code of U+2581
  const uint8_t not_kept_;    // Path::flags
  const bool every_space_;         // kEverySpaceIsWord
  const bool front_vanishes_;      // a U+2581 that is put in front of nothing or a space does
  const Signs signs_;
  const bool leaves_nothing_;      // what vanishes at the begin of a segment may not be known
  const bool keeps_other_spaces_;  // white space that is none is a character
  RunDecode run_ = {};
  // Of the segment that is decoded: the bytes before and after it in its stretch, kNoByte at an
  // end of that; where its spans begin, and what it held.
  static constexpr int kNoByte = -1;
  std::string_view stretch_;
  int before_ = kNoByte, after_ = kNoByte;
  uint32_t first_size_ = 0, first_count_ = 0;
  bool trailing_space_ = false, spaces_ = false;  // characters that normalize to a space
  // It is decoded from its begin on: nothing of it is in the batch before, not even of its first
  // character, and all of it can be taken back.
  bool front_ = false;
  bool word_first_ = false;    // it begins with a sign
  bool depends_ = false;       // what it became depends on what is next to it
  bool at_front_ = false;      // a U+2581 that is not kept alone stands before the open span
  size_t after_sign_ = 0;  // in it, after the last sign of ASCII, with which nothing is read
  // Of the batch:
  uint32_t cjk_codes_ = 0;  // of characters from image::kFirstCjk on
  // Elements to skip of the open span, and the end of the group, if it began at that text.
  const char* skip_at_ = nullptr;
  uint32_t skip_ = 0, group_end_ = 0;
  uint32_t skipped_ = 0;  // elements of the character that the batch began with
  // The open span before the last two characters that ended a word, and before the last that began
  // another span and may be read with a mark after it: they may have to be taken back.
  struct OpenSpan {
    const char* text = nullptr;  // of that character
    const char *resume = nullptr, *skip_at = nullptr;
    uint32_t skip = 0, group_end = 0, size = 0, count = 0;
    bool trailing_space = false, word_first = false, at_front = false;
  };
  OpenSpan before_space_, before_last_space_, before_cut_;
  OpenSpan OpenBefore(const char* text) const {
    return {text,       run_.resume,     skip_at_,    skip_,      group_end_, run_.size,
            run_.count, trailing_space_, word_first_, at_front_};
  }
  void TakeBackTo(const OpenSpan& open);
  // With signs, the character that came last after a U+2581 of the open span, and whether that
  // stands for a space.
  const char* at_space_ = nullptr;
  bool at_space_trails_ = false;
  void NoteSpace(const char* text) {
    before_last_space_ = before_space_;
    before_space_ = OpenBefore(text);
  }
  void ForgetSpaces() { before_space_.text = before_last_space_.text = nullptr; }

  bool resumes_ = false;
  Cursor cursor_;
};

}  // namespace rankfeed::segment
