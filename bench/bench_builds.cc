// SPDX-License-Identifier: MIT
// bench/bench_builds.cc: two builds of librankfeed_runtime.so side by side in one process, over a long stream of texts. They take
// turns every 64 texts, a call each, in changing order, so that what neighbours of the machine do meets both alike: for the same
// build twice the median is 0.97 to 1.03, where whole processes in turns give 0.75 to 1.2. Prints B's speed over A's for the
// first three quarters of the stream, for the last quarter, new, for that quarter again, and for its first 20 kB over and over
// (hot): the median of stretches of 512 texts with its quartiles, and MB/s of CPU time. Ids and offsets are compared first.
//
// usage: bench_builds TEXTS.jsonl LIB_A IMAGE_A LIB_B IMAGE_B [ids|offsets [ISA [CACHE_BYTES]]]
// An image is made by `rankfeed compile` of its build. ISA: as rankfeed_force_isa takes it, or best. CACHE_BYTES: 4 MiB.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "measure.h"
#include "rankfeed/rankfeed.h"
#include "texts.h"

namespace rankfeed::bench {
namespace {

struct Settings {
  bool offsets = false;
  std::string isa = "best";
  uint32_t cache_bytes = 4u << 20;
};

// One build: its library, its image, one encoder. All stay to the end of the process.
class Build {
 public:
  Build(const char* library, const char* image, const Settings& settings) : offsets_(settings.offsets) {
    library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) Die(dlerror());
    Find(&encode_batch_, "rankfeed_encode_batch");
    if (settings.isa != "best" && Find<decltype(&rankfeed_force_isa)>("rankfeed_force_isa")(settings.isa.c_str()) != RANKFEED_OK) {
      Die(settings.isa + ": this CPU, or this build, has no such instruction set");
    }
    Open(image, settings);
  }

  // Encodes texts[from, to), 64 in a call; returns the count of ids and a sum over them and their places.
  std::pair<size_t, uint64_t> Encode(const std::vector<std::string>& texts, size_t from, size_t to) {
    constexpr size_t kCall = 64;
    size_t count = 0;
    uint64_t sum = 0;
    for (size_t i = from; i < to; i += kCall) {
      const size_t n = std::min(kCall, to - i);
      rankfeed_text batch[kCall];
      uint32_t cu_seqlens[kCall + 1];
      for (size_t j = 0; j < n; ++j) batch[j] = {texts[i + j].data(), texts[i + j].size()};
      rankfeed_encodings out{};
      out.struct_size = sizeof(out);
      out.capacity = ids_.size();
      out.input_ids = ids_.data();
      out.cu_seqlens = cu_seqlens;
      if (offsets_) out.offset_begin = begins_.data(), out.offset_end = ends_.data();
      const uint64_t begin = Clock(CLOCK_THREAD_CPUTIME_ID);
      const rankfeed_status status = encode_batch_(encoder_, batch, n, nullptr, &out);
      nanoseconds += Clock(CLOCK_THREAD_CPUTIME_ID) - begin;
      if (status != RANKFEED_OK) Die("a text is not encoded, status " + std::to_string(status));
      count += cu_seqlens[n];
      for (uint32_t k = 0; k < cu_seqlens[n]; ++k) {
        sum = sum * 31 + static_cast<uint32_t>(ids_[k]);
        if (offsets_) sum = sum * 31 + begins_[k] * 7ull + ends_[k];
      }
    }
    return {count, sum};
  }

  uint64_t nanoseconds = 0;  // of CPU, since somebody set it

 private:
  template <class Function>
  Function Find(const char* name) const {
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) Die(std::string("a library without ") + name);
    return function;
  }
  template <class Function>
  void Find(Function* function, const char* name) const {
    *function = Find<Function>(name);
  }

  void Open(const char* image, const Settings& settings) {
    std::ifstream in(image, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    void* const data = Zeros({bytes.size() + 4096, 4096});
    std::memcpy(data, bytes.data(), bytes.size());
    rankfeed_mapping mapping{};
    rankfeed_placement placement{};
    placement.struct_size = sizeof(placement);
    if (Find<decltype(&rankfeed_image_place)>("rankfeed_image_place")(data, bytes.size(), 0, &mapping, &placement, nullptr) != RANKFEED_OK) {
      Die(std::string(image) + " is not placed");
    }
    const rankfeed_mem_req model_need = Find<decltype(&rankfeed_model_mem_req)>("rankfeed_model_mem_req")();
    rankfeed_model* model = nullptr;
    if (Find<decltype(&rankfeed_model_open)>("rankfeed_model_open")(mapping.data, mapping.size, 0, Zeros(model_need), model_need.size, &model,
                                                                    nullptr) != RANKFEED_OK) {
      Die(std::string(image) + " is not opened");
    }
    rankfeed_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = 1u << 20;
    limits.with_offsets = offsets_;
    limits.cache_bytes = settings.cache_bytes;
    rankfeed_mem_req need{};
    if (Find<decltype(&rankfeed_encoder_mem_req)>("rankfeed_encoder_mem_req")(model, &limits, &need) != RANKFEED_OK ||
        Find<decltype(&rankfeed_encoder_init)>("rankfeed_encoder_init")(model, &limits, Zeros(need), need.size, &encoder_) != RANKFEED_OK) {
      Die("no encoder");
    }
  }

  static void* Zeros(rankfeed_mem_req need) {
    const size_t alignment = std::max<size_t>(need.alignment, 64), size = (need.size + 4095) / 4096 * 4096;
    void* const block = std::aligned_alloc(alignment, size);
    std::memset(block, 0, size);
    return block;
  }

  const bool offsets_;
  void* library_;
  decltype(&rankfeed_encode_batch) encode_batch_ = nullptr;
  rankfeed_encoder* encoder_ = nullptr;
  std::vector<int32_t> ids_ = std::vector<int32_t>(1 << 22);
  std::vector<uint32_t> begins_ = std::vector<uint32_t>(1 << 22), ends_ = begins_;
};

// Times texts[from, to) so many times and prints B's speed over A's.
void Time(const char* name, Build& a, Build& b, const std::vector<std::string>& texts, size_t from, size_t to, int times = 1) {
  constexpr size_t kTurn = 64, kTurns = 8;  // texts, and turns of a ratio
  double total_a = 0, total_b = 0, part_a = 0, part_b = 0, bytes = 0;
  std::vector<double> ratios;
  size_t turn = 0;
  for (int time = 0; time < times; ++time) {
    for (size_t i = from; i < to; i += kTurn, ++turn) {
      const size_t end = std::min(to, i + kTurn);
      for (size_t j = i; j < end; ++j) bytes += static_cast<double>(texts[j].size());
      a.nanoseconds = b.nanoseconds = 0;
      Build *first = &a, *second = &b;
      if (turn % 2 != 0) std::swap(first, second);
      if (first->Encode(texts, i, end) != second->Encode(texts, i, end)) Die(std::string(name) + ": ids or offsets differ");
      part_a += static_cast<double>(a.nanoseconds), part_b += static_cast<double>(b.nanoseconds);
      if (turn % kTurns != kTurns - 1) continue;
      ratios.push_back(part_a / part_b);
      total_a += part_a, total_b += part_b;
      part_a = part_b = 0;
    }
  }
  total_a += part_a, total_b += part_b;
  if (ratios.empty()) ratios.push_back(total_a / total_b);
  std::sort(ratios.begin(), ratios.end());
  const auto quartile = [&](size_t q) { return ratios[std::min(ratios.size() - 1, ratios.size() * q / 4)]; };
  std::printf("%-6s %.3f (%.3f to %.3f)  MB/s %.0f, %.0f\n", name, quartile(2), quartile(1), quartile(3), 1e3 * bytes / total_a,
              1e3 * bytes / total_b);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  if (argc < 6 || argc > 9) Die("usage: bench_builds TEXTS.jsonl LIB_A IMAGE_A LIB_B IMAGE_B [ids|offsets [ISA [CACHE_BYTES]]]");
  Settings settings;
  if (argc > 6) settings.offsets = std::string(argv[6]) == "offsets";
  if (argc > 7) settings.isa = argv[7];
  if (argc > 8) settings.cache_bytes = static_cast<uint32_t>(std::atol(argv[8]));
  std::vector<std::string> texts = ReadTexts(argv[1]);
  size_t total = 0;
  for (std::string& text : texts) {
    total += text.size();
    for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
  }
  size_t cut = 0, few = 0;
  for (size_t bytes = 0; bytes < total / 4 * 3;) bytes += texts[cut++].size();
  for (size_t bytes = 0; few < texts.size() && bytes < 20'000;) bytes += texts[few++].size();
  Build a(argv[2], argv[3], settings), b(argv[4], argv[5], settings);
  Time("first", a, b, texts, 0, cut);
  Time("new", a, b, texts, cut, texts.size());
  Time("again", a, b, texts, cut, texts.size());
  Time("hot", a, b, texts, 0, few, 1000);
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
