// SPDX-License-Identifier: MIT
// normalize/unicode_forms.cc: UAX #15 as unicode-normalization-alignments 0.1.12 does it
// (Unicode 9.0).
//
// Characters are decomposed, combining marks sorted by class, and for NFC and NFKC composed again,
// in one pass. What is peculiar to the reference is the change that goes with each character (see
// Transform): the first character of a decomposition replaces, the others are added, and marks take
// their change along when they are sorted, even though the input is consumed in order; a
// composition adds up the changes of its two parts, less one.
//
// A run of combining marks has no bounded length, so it is held in the caller's arrays and sorted
// by counting: linear.
#include "normalize/unicode_forms.h"

#include <algorithm>
#include <array>

#include "unicode/properties.h"

namespace rankfeed::normalize {
namespace {

// Hangul, Unicode 9.0 section 3.12.
constexpr char32_t kSBase = 0xac00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11a7;
constexpr char32_t kLCount = 19, kVCount = 21, kTCount = 28, kSCount = kLCount * kVCount * kTCount;

// A character with its change and combining class, in one word: 21 + 1 + 8 bits. Changes of
// decomposed characters are 0 or 1.
constexpr uint32_t Pack(char32_t c, uint32_t change, uint32_t ccc) {
  return static_cast<uint32_t>(c) | change << 21 | ccc << 22;
}
constexpr char32_t CharOf(uint32_t packed) {
  return packed & 0x1fffff;
}
constexpr int32_t ChangeOf(uint32_t packed) {
  return packed >> 21 & 1;
}
constexpr uint32_t ClassOf(uint32_t packed) {
  return packed >> 22 & 0xff;
}

}  // namespace

char32_t Compose(const Model& model, char32_t a, char32_t b) {
  if (a - kLBase < kLCount && b - kVBase < kVCount) {
    return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
  }
  if (a - kSBase < kSCount && (a - kSBase) % kTCount == 0 && b - kTBase - 1 < kTCount - 1) {
    return a + (b - kTBase);
  }
  const auto less = [](const image::ComposePair& p, std::pair<uint32_t, uint32_t> key) {
    return p.first != key.first ? p.first < key.first : p.second < key.second;
  };
  const auto it = std::lower_bound(model.compose.begin(), model.compose.end(),
                                   std::pair<uint32_t, uint32_t>(a, b), less);
  return it != model.compose.end() && it->first == a && it->second == b ? it->composed : 0;
}

namespace {

// Shorter runs of ASCII are not worth passing on what comes before them.
constexpr uint32_t kLeastAscii = 4;

// Takes characters in canonical order, composes them if asked, and passes them on.
class Composer {
 public:
  Composer(const Model& model, bool compose, uint32_t* held, Transform* transform)
      : model_(model), compose_(compose), held_(held), transform_(*transform) {}

  void Add(uint32_t packed) {
    const char32_t c = CharOf(packed);
    const int32_t change = ChangeOf(packed);
    const auto ccc = static_cast<int32_t>(ClassOf(packed));
    if (!compose_) return transform_.Push(c, change);
    if (!has_starter_) {
      if (ccc != 0) return transform_.Push(c, change);
      return Start(c, change);
    }
    // Blocked when a held mark has at least the class of c; a starter is blocked by any mark.
    const bool blocked = last_class_ >= 0 && last_class_ >= ccc;
    if (!blocked && (ccc != 0 || c >= kFirstJoiningStarter)) {
      if (const char32_t composed = Compose(model_, starter_, c)) {
        starter_ = composed;
        starter_change_ += change - 1;
        return;
      }
    }
    if (ccc == 0) {
      Finish();
      return Start(c, change);
    }
    held_[held_count_++] = packed;
    last_class_ = ccc;
  }

  // Passes on the starter and the marks held after it.
  void Finish() {
    if (has_starter_) transform_.Push(starter_, starter_change_);
    for (uint32_t i = 0; i < held_count_; ++i) {
      transform_.Push(CharOf(held_[i]), ChangeOf(held_[i]));
    }
    has_starter_ = false;
    held_count_ = 0;
    last_class_ = -1;
  }

 private:
  void Start(char32_t c, int32_t change) {
    has_starter_ = true;
    starter_ = c;
    starter_change_ = change;
  }

  const Model& model_;
  const bool compose_;
  uint32_t* const held_;
  Transform& transform_;
  bool has_starter_ = false;
  char32_t starter_ = 0;
  int32_t starter_change_ = 0;
  int32_t last_class_ = -1;  // of the last held mark
  uint32_t held_count_ = 0;
};

// Collects marks until the next starter and passes them on in canonical order.
class Sorter {
 public:
  Sorter(uint32_t* pending, uint32_t* sorted, uint32_t capacity, Composer* next)
      : pending_(pending), sorted_(sorted), capacity_(capacity), next_(*next) {}

  bool Add(uint32_t packed) {
    if (ClassOf(packed) == 0) {
      if (count_ != 0) Finish();
      next_.Add(packed);
      return true;
    }
    if (count_ == capacity_) return false;
    in_order_ &= ClassOf(packed) >= last_class_;
    last_class_ = ClassOf(packed);
    pending_[count_++] = packed;
    return true;
  }

  void Finish() {
    const uint32_t* const marks = in_order_ ? pending_ : Sorted();
    for (uint32_t i = 0; i < count_; ++i) next_.Add(marks[i]);
    count_ = last_class_ = 0;
    in_order_ = true;
  }

 private:
  const uint32_t* Sorted() {
    std::array<uint32_t, 257> start{};
    for (uint32_t i = 0; i < count_; ++i) ++start[ClassOf(pending_[i]) + 1];
    for (uint32_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
    for (uint32_t i = 0; i < count_; ++i) sorted_[start[ClassOf(pending_[i])]++] = pending_[i];
    return sorted_;
  }

  uint32_t* const pending_;
  uint32_t* const sorted_;
  const uint32_t capacity_;
  Composer& next_;
  uint32_t count_ = 0;
  uint32_t last_class_ = 0;  // of the last mark
  bool in_order_ = true;     // the marks are
};

}  // namespace

bool RunForm(const Model& model, Form form, uint32_t* const work[3], const NormalizedText& in,
             NormalizedText* out) {
  const CodePointTable<uint32_t>& table = form.compatible ? model.decomp_k : model.decomp;
  Transform transform(in, out);
  Composer composer(model, form.composed, work[2], &transform);
  Sorter sorter(work[0], work[1], out->capacity, &composer);
  for (uint32_t pos = 0; pos < in.size;) {
    // ASCII characters stay as they are; the last may be composed with what follows.
    if (const uint32_t end = utf8::SkipAscii(in.view(), pos); end > pos + kLeastAscii) {
      sorter.Finish();
      composer.Finish();
      if (transform.Keep(pos, end - 1)) pos = end - 1;
    }
    uint32_t size;
    const char32_t c = utf8::DecodeValid(in.data + pos, &size);
    pos += size;
    if (c - kSBase < kSCount) {
      const char32_t s = c - kSBase;
      bool ok = sorter.Add(Pack(kLBase + s / (kVCount * kTCount), 0, 0)) &&
                sorter.Add(Pack(kVBase + s % (kVCount * kTCount) / kTCount, 1, 0));
      if (ok && s % kTCount != 0) ok = sorter.Add(Pack(kTBase + s % kTCount, 1, 0));
      if (!ok) return false;
      continue;
    }
    const std::span<const uint32_t> parts = unicode::Mapping(model, table, c);
    if (parts.empty()) {
      if (!sorter.Add(Pack(c, 0, model.ccc[c]))) return false;
      continue;
    }
    uint32_t change = 0;
    for (const uint32_t part : parts) {
      if (!sorter.Add(Pack(part, change, model.ccc[part]))) return false;
      change = 1;
    }
  }
  sorter.Finish();
  composer.Finish();
  return transform.Finish();
}

}  // namespace rankfeed::normalize
