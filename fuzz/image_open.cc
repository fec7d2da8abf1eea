// SPDX-License-Identifier: MIT
// fuzz/image_open.cc: hostile images, a target for each kind of model. The input chooses an image, then changes
// to it: an opcode and a place, of which one byte chooses a section, so that small sections are hit as often as
// large ones. The checksum is repaired, so that the changes reach the rules behind it. An image is refused, or
// everything one can do with it stays within bounds, and every id is one of the model. An execution is one image.
//
// Images and scratch lie at an end or at the begin of their pages, with pages on both sides that nobody may
// touch; AddressSanitizer knows what lies between the sections too. Changes are undone after each input, so that
// an image costs no copy.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "image/sections.h"
#include "image_seeds.h"
#include "input.h"
#include "model_file.h"

#include <xxhash.h>  // of the system, not instrumented: it only seals what is tried

#if defined(__SANITIZE_ADDRESS__)
#define RANKFEED_FUZZ_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RANKFEED_FUZZ_ASAN 1
#endif
#endif
#ifdef RANKFEED_FUZZ_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, size) (static_cast<void>(from), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(from, size) (static_cast<void>(from), static_cast<void>(size))
#endif

namespace rankfeed::fuzz {
namespace {

using image::Header;
using image::Section;
using namespace std::string_view_literals;

constexpr size_t kAlignment = image::kSectionAlignment;

// Pages for up to so many bytes between two stretches that nobody may touch, as long as the places that a wrong
// 32-bit index of eight bytes can be at.
class Guarded {
 public:
  explicit Guarded(size_t most) {
    const auto page = static_cast<size_t>(getpagesize());
    size_ = (most + page - 1) / page * page;
    void* const base = mmap(nullptr, kGuard + size_ + kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    FUZZ_ASSERT(base != MAP_FAILED);
    data_ = static_cast<uint8_t*>(base) + kGuard;
    FUZZ_ASSERT(mprotect(data_, size_, PROT_READ | PROT_WRITE) == 0);
  }
  size_t size() const { return size_; }
  // The place of so many bytes: with the end at that of the pages, or else at their begin. Aligned.
  uint8_t* Place(size_t bytes, bool at_end) const {
    return at_end ? data_ + (size_ - bytes) / kAlignment * kAlignment : data_;
  }

 private:
  static constexpr size_t kGuard = size_t{8} << 32;
  uint8_t* data_;
  size_t size_;
};

// A seed in its pages, twice: at their end and at their begin.
struct Seed {
  std::array<uint8_t*, 2> data;
  size_t size;
};

const std::vector<Seed>& SeedsOf(image::ModelKind kind) {
  static std::vector<Seed> seeds[3];
  std::vector<Seed>& of = seeds[static_cast<size_t>(kind)];
  if (!of.empty()) return of;
  for (const Bytes& image : ImageSeeds(kind)) {
    Seed seed{{}, image.size()};
    for (const bool at_end : {false, true}) {
      seed.data[at_end] = Guarded(image.size()).Place(image.size(), at_end);
      std::memcpy(seed.data[at_end], image.data(), image.size());
    }
    of.push_back(seed);
  }
  return of;
}

constexpr size_t kChange = 8;  // bytes: opcode, section, element (2), place in it, value (3)

// An image that is changed in its place, and then as it was.
class Changed {
 public:
  Changed(uint8_t* data, size_t size) : data_(data), size_(size) {}
  ~Changed() {
    for (size_t i = writes_.size(); i-- > 0;) std::memcpy(data_ + writes_[i].at, writes_[i].old.data(), writes_[i].size);
  }
  Changed(const Changed&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  size_t end() const { return end_ != 0 ? end_ : size_; }  // of what is left

  void Change(Input& in);
  void RepairChecksum();

  template <class T>
  T At(size_t at) const {
    T is{};
    std::memcpy(&is, data_ + at, std::min(sizeof(T), size_ - std::min(at, size_)));
    return is;
  }
  std::span<const Section> Table() const {
    const auto count = std::min<uint64_t>(At<Header>(0).section_count, image::kMaxSections);
    return {reinterpret_cast<const Section*>(data_ + sizeof(Header)), static_cast<size_t>(count)};
  }

 private:
  struct Write {
    size_t at, size;
    std::array<uint8_t, 32> old;
  };
  void Put(size_t at, const void* from, size_t size) {
    size = std::min({size, size_ - std::min(at, size_), std::tuple_size_v<decltype(Write::old)>});
    Write& write = writes_.emplace_back(Write{at, size, {}});
    std::memcpy(write.old.data(), data_ + at, size);
    std::memcpy(data_ + at, from, size);
  }
  void Cut(size_t at, bool known);

  uint8_t* data_;
  size_t size_, end_ = 0;
  std::vector<Write> writes_;
};

// Ends the image at a place, which the header knows or does not.
void Changed::Cut(size_t at, bool known) {
  end_ = std::max(at, sizeof(Header));
  const uint64_t size = end_;
  if (known) Put(offsetof(Header, image_size), &size, sizeof(size));
}

void Changed::Change(Input& in) {
  const uint8_t opcode = in.U8(), which = in.U8();
  const uint32_t element = in.U16(), inner = in.U8(), value = in.U8() | in.U16() << 8;
  const std::span<const Section> table = Table();
  uint64_t begin = 0, size = sizeof(Header) + table.size_bytes();
  uint32_t unit = sizeof(Section);
  const size_t number = table.empty() ? 0 : which % table.size();
  if (which >= 8 && !table.empty()) {  // otherwise the header and the table
    const Section section = table[number];
    if (section.size > 0 && section.offset < size_ && section.size <= size_ - section.offset) {
      begin = section.offset;
      size = section.size;
      unit = std::max(section.element_size, 1u);
    }
  }
  // Words of elements more often than other places of them.
  const uint64_t elements = std::max<uint64_t>(size / unit, 1);
  const uint64_t first = begin + (element % elements) * unit;
  const uint64_t at = first + ((inner & 1) != 0 ? inner % unit : inner % unit / 4 * 4);
  const auto id_count = At<uint32_t>(std::min<uint64_t>(table.empty() ? 0 : table[0].offset, size_) + offsetof(image::Config, id_count));
  const uint32_t edges[] = {0xffffffff, 0, 1, id_count, id_count - 1, 0x7fffffff, 0x80000000, 0xffffff, 0xffff, 0x8000,
                            static_cast<uint32_t>(elements), 0x100000, 0x7ff00000, 0xff, 0x80, 0xc0};
  uint32_t word = At<uint32_t>(at);
  const size_t word_bytes = std::min<size_t>(unit, sizeof(word));
  switch (opcode % 16) {
    case 0:
    case 1:
      return Put(at, &value, 1);
    case 2:
    case 3:
    case 4:
      word ^= 1u << value % 32;
      break;
    case 5:
      word = value;
      break;
    case 6:
    case 7:
      word += value % 64 - 32;
      break;
    case 8:
    case 9:
    case 10:
    case 11:
      word = edges[value % std::size(edges)];
      break;
    case 12:
    case 13:  // another element of the section
      return Put(first, data_ + begin + value % elements * unit, unit);
    case 14: {  // a section that is not there, or in the place of another
      if (table.empty()) return;
      const uint32_t id = value % 4 != 0 ? image::kMaxSections - 1 : table[value / 4 % table.size()].id;
      return Put(sizeof(Header) + number * sizeof(Section), &id, sizeof(id));
    }
    default: {
      if (value % 8 == 0) return Cut(at, value % 32 != 0);
      if (table.empty()) return;
      // A section of more or fewer elements. The gap before the next one has room for a few.
      const uint64_t more = size + uint64_t{unit} * (value % 5) - 2 * uint64_t{unit};
      return Put(sizeof(Header) + number * sizeof(Section) + offsetof(Section, size), &more, sizeof(more));
    }
  }
  Put(at, &word, word_bytes);
}

void Changed::RepairChecksum() {
  const auto size = At<Header>(0).image_size;
  if (size < sizeof(Header) || size > end()) return;
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(data_ + image::kChecksumFrom, size - image::kChecksumFrom));
  Put(offsetof(Header, checksum), &sum, sizeof(sum));
}

// While it lives, AddressSanitizer knows what is between the sections of an image.
class Gaps {
 public:
  Gaps(const uint8_t* data, std::span<const Section> table, size_t size) : data_(data), size_(size) {
#ifdef RANKFEED_FUZZ_ASAN
    ASAN_POISON_MEMORY_REGION(data, size);
    ASAN_UNPOISON_MEMORY_REGION(data, sizeof(Header) + table.size_bytes());
    for (const Section& section : table) {
      const bool read = section.id < image::kMaxSections && image::ElementSize(section.id) != 0;
      if (read) ASAN_UNPOISON_MEMORY_REGION(data + section.offset, section.size);
    }
#else
    static_cast<void>(table);
#endif
  }
  ~Gaps() { ASAN_UNPOISON_MEMORY_REGION(data_, size_); }
  Gaps(const Gaps&) = delete;

 private:
  const uint8_t* const data_;
  const size_t size_;
};

// Texts that meet every road and every element: words, runs of spaces, added tokens and what looks like them,
// characters of all sizes, marks, unknown ones, bytes that are no characters.
constexpr std::string_view kTexts[] = {
    "hello  aaaa</s>\xff\xe2\x96\x81 A\x01 hell\xc3\xa9llo\r\n"sv,
    "e\xcc\x81 wor\tworld!! \xe4\xb8\xad\xe5\x9b\xbd\xe4\xba\xba\xf0\x9f\x98\x80 \xce\xb1\xce\xb2 12345"sv,
    " wor \0wor h\xef\xbc\x9c/\xef\xbd\x93\xef\xbc\x9e \xed\x95\x9c\xea\xb8\x80 \xe0\xb8\xaa\xe0\xb8\xa7\xe0\xb8\xb1"sv,
    "hello                             he'll \xe2\x82\xac\xf4\x8f\xbf\xbf\xe2\x96"sv,
    "hehellohellhehellohellohelllohehellohellohehelhehehellohellohehelloheheloheeehellohellohehell"sv};
constexpr uint32_t kModes[] = {0, RANKFEED_SPLIT_SPECIAL_TOKENS, RANKFEED_ESCAPE_SPECIAL, RANKFEED_ERROR_ON_SPECIAL};
constexpr uint32_t kMostText = 128;

// A block of exactly so many elements, made once.
template <class T, size_t kCount>
T* Exact() {
  static T* const block = new T[kCount];
  return block;
}

// Encodes a text in one mode of all, and what comes of it back. place: of the text.
void UseText(const rankfeed_model* model, rankfeed_encoder* encoder, rankfeed_text text, bool offsets, uint32_t mode,
             uint32_t id_count) {
  constexpr uint32_t kFew = 24, kMany = 160;  // of the second there is room for most texts
  const bool few = mode == RANKFEED_SPLIT_SPECIAL_TOKENS;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = mode | (mode == RANKFEED_ESCAPE_SPECIAL ? 0u : uint32_t{RANKFEED_ADD_SPECIAL_TOKENS}) |
                  (offsets ? uint32_t{RANKFEED_OFFSETS_CODE_POINTS} : 0u);
  rankfeed_encoding io{};
  io.struct_size = sizeof(io);
  io.capacity = few ? kFew : kMany;
  io.input_ids = few ? Exact<int32_t, kFew>() : Exact<int32_t, kMany>();
  if (offsets) {
    io.offset_begin = few ? Exact<uint32_t, kFew>() : Exact<uint32_t, kMany>();
    static uint32_t* const ends[] = {new uint32_t[kFew], new uint32_t[kMany]};
    io.offset_end = ends[!few];
  }
  const rankfeed_status status = rankfeed_encode(encoder, text, &options, &io);
  if (status != RANKFEED_OK) return;
  for (uint32_t i = 0; i < io.count; ++i) FUZZ_ASSERT(static_cast<uint32_t>(io.input_ids[i]) < id_count);
  if (mode != 0 || offsets) return;
  char* const out = Exact<char, 64>();
  size_t size = 0;
  (void)rankfeed_decode(encoder, io.input_ids, io.count, 0, out, 64, &size);
  (void)rankfeed_decode(encoder, io.input_ids, io.count, RANKFEED_SKIP_SPECIAL_TOKENS, out, 64, &size);
  (void)rankfeed_token_bound(model, text.size);
}

// All texts in one call, and one in pieces.
void UseTexts(rankfeed_encoder* encoder, std::span<const rankfeed_text> texts) {
  rankfeed_encodings io{};
  io.struct_size = sizeof(io);
  io.capacity = 96;
  io.input_ids = Exact<int32_t, 96>();
  io.cu_seqlens = Exact<uint32_t, std::size(kTexts) + 1>();
  (void)rankfeed_encode_batch(encoder, texts.data(), texts.size(), nullptr, &io);
  if (rankfeed_encode_begin(encoder, nullptr, Exact<char, 24>(), 24) != RANKFEED_OK) return;
  rankfeed_stream_io piece{};
  piece.struct_size = sizeof(piece);
  piece.capacity = 96;
  piece.input_ids = io.input_ids;
  if (rankfeed_encode_feed(encoder, texts[1], &piece) != RANKFEED_OK) return;
  (void)rankfeed_encode_end(encoder, &piece);
}

// Ids need not make sense, and a growth bound that lies is an error, but nothing is out of bounds.
void UseAll(const rankfeed_model* model) {
  static const std::vector<rankfeed_text> texts = [] {
    std::vector<rankfeed_text> made;
    for (const std::string_view text : kTexts) {
      static std::vector<ExactText> kept;
      const std::string_view exact = kept.emplace_back(text).view();
      made.push_back({exact.data(), exact.size()});
    }
    return made;
  }();
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  FUZZ_ASSERT(rankfeed_model_get_info(model, &info) == RANKFEED_OK);
  FUZZ_ASSERT(rankfeed_model_piece_to_id(model, "hello", 5) < static_cast<int32_t>(info.id_count));
  for (const uint32_t id : {0u, 1u, 97u, info.id_count - 1, info.id_count}) {
    const char* data;
    size_t size;
    if (rankfeed_model_id_to_piece(model, id, &data, &size) == RANKFEED_OK && size != 0) {
      static volatile char sink;
      sink = data[size - 1];
      (void)sink;
    }
  }
  constexpr size_t kMostScratch = 4u << 20;
  static const Guarded scratch(kMostScratch);
  for (const bool offsets : {false, true}) {
    const rankfeed_limits limits{sizeof(limits), kMostText, offsets ? 1u : 0u, 256, 0};
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK || need.size > kMostScratch) continue;
    rankfeed_encoder* encoder = nullptr;
    FUZZ_ASSERT(rankfeed_encoder_init(model, &limits, scratch.Place(need.size, true), need.size, &encoder) == RANKFEED_OK);
    for (const rankfeed_text& text : texts) {
      for (const uint32_t mode : kModes) UseText(model, encoder, text, offsets, mode, info.id_count);
    }
    if (offsets) {
      rankfeed_special_match match{};
      match.struct_size = sizeof(match);
      (void)rankfeed_find_special(encoder, texts[0], &match);
    } else {
      UseTexts(encoder, texts);
    }
  }
}

// Two bytes choose the image, where it lies and the loops; then come changes.
template <image::ModelKind kKind>
void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  const std::vector<Seed>& seeds = SeedsOf(kKind);
  const Seed& seed = seeds[in.U8() % seeds.size()];
  const uint8_t how = in.U8();
  rankfeed_force_isa((how & 2) != 0 ? "scalar" : nullptr);
  Changed changed(seed.data[how & 1], seed.size);
  for (size_t n = 0; n < 16 && !in.empty(); ++n) changed.Change(in);
  changed.RepairChecksum();
  ++counters.executions;
  const uint8_t* image = changed.data();
  const size_t size = changed.end();
  if (size != changed.size()) {  // to the end of other pages
    static const Guarded pages(4u << 20);
    FUZZ_ASSERT(size <= pages.size());
    uint8_t* const place = pages.Place(size, true);
    std::memcpy(place, image, size);
    image = place;
  }
  static const Guarded storage(rankfeed_model_mem_req().size);
  const size_t need = rankfeed_model_mem_req().size;
  rankfeed_model* model = nullptr;
  LoadCost cost(size);
  const rankfeed_status status = rankfeed_model_open(image, size, 0, storage.Place(need, true), need, &model, nullptr);
  cost.Done();
  FUZZ_ASSERT((status == RANKFEED_OK) == (model != nullptr));
  if (model == nullptr) return;
  ++counters.accepted;
  const Gaps gaps(image, changed.Table(), size);
  UseAll(model);
}

template <image::ModelKind kKind>
void Generate(Random& random, Bytes* input) {
  // Most of the time of a large image is that of its checksum.
  constexpr size_t kLarge = 200 << 10;
  const std::vector<Seed>& seeds = SeedsOf(kKind);
  size_t which;
  do {
    which = random.Below(seeds.size());
  } while (seeds[which].size > kLarge && !random.OneIn(8));
  input->push_back(static_cast<uint8_t>(which));
  input->push_back(static_cast<uint8_t>(random.OneIn(4) ? 2 + random.Below(2) : random.Below(2)));
  const Bytes changes = RandomBytes(random, kChange * (1 + random.Below(3)));
  input->insert(input->end(), changes.begin(), changes.end());
}

template <image::ModelKind kKind>
constexpr Target TargetOf(const char* name) {
  return {name, Run<kKind>, Generate<kKind>};
}
const Register unigram(TargetOf<image::ModelKind::kUnigram>("image_open"));
const Register wordpiece(TargetOf<image::ModelKind::kWordPiece>("image_open_wordpiece"));
const Register bpe(TargetOf<image::ModelKind::kBpe>("image_open_bpe"));

}  // namespace
}  // namespace rankfeed::fuzz
