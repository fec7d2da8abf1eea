// SPDX-License-Identifier: MIT
// bench/bench_open.cc: what it takes until a vocabulary can be used: compiling a model file,
// opening an image from a private copy, as by default, or mapped in place, with the verify pass and
// without, and making an encoder. Warm page cache.
//
//   compile/FILE   encoder/FILE
//   open/private/FILE  copied, then verified   open/mapped/FILE   mapped and verified
//   open/copy/FILE     copied, not verified    open/trusted/FILE  mapped, not verified
//   first_use/FILE     map in place, open, encode one sentence with an encoder that is there already:
//                      the pages that takes are faulted in; `resident_bytes` is what of the image is
//                      in memory then, `after_passages` after all XQuAD passages of 12 languages
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "corpus.h"
#include "counters/pages.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::bench {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Compile(benchmark::State& state, const std::string& source) {
  for (auto _ : state) {
    rankfeed_image image{};
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    if (rankfeed_compile(source.data(), source.size(), "bench", nullptr, &image, &error) != RANKFEED_OK) {
      state.SkipWithError(error.message);
      return;
    }
    state.counters["image_bytes"] = static_cast<double>(image.size);
    rankfeed_image_free(&image);
  }
}

void Open(benchmark::State& state, const std::string& path, decltype(rankfeed_image_map)* map,
          uint32_t flags) {
  const AlignedBytes storage(rankfeed_model_mem_req());
  for (auto _ : state) {
    rankfeed_mapping mapping{};
    rankfeed_model* model = nullptr;
    if (map(path.c_str(), &mapping, nullptr) != RANKFEED_OK ||
        rankfeed_model_open(mapping.data, mapping.size, flags, storage.data(), storage.size(),
                            &model, nullptr) != RANKFEED_OK) {
      state.SkipWithError("open failed");
      return;
    }
    benchmark::DoNotOptimize(model);
    rankfeed_image_unmap(&mapping);
  }
}

void MakeEncoder(benchmark::State& state, const std::string& path) {
  auto model = Model::Open(path.c_str());
  if (!model) return state.SkipWithError(model.error().message.c_str());
  const rankfeed_limits limits{sizeof(limits), 64 << 10, 0, 256 << 10};
  rankfeed_mem_req need{};
  if (rankfeed_encoder_mem_req(model->get(), &limits, &need) != RANKFEED_OK) {
    return state.SkipWithError("mem_req failed");
  }
  const AlignedBytes scratch(need);
  for (auto _ : state) {
    rankfeed_encoder* encoder = nullptr;
    benchmark::DoNotOptimize(
        rankfeed_encoder_init(model->get(), &limits, scratch.data(), need.size, &encoder));
  }
  state.counters["scratch_bytes"] = static_cast<double>(need.size);
}

void FirstUse(benchmark::State& state, const std::string& path, const Corpus& corpus) {
  const AlignedBytes storage(rankfeed_model_mem_req());
  const rankfeed_limits limits{sizeof(limits), 64 << 10, 0, 256 << 10};
  AlignedBytes scratch;
  std::vector<int32_t> ids(64 << 10);
  rankfeed_mapping mapping{};
  rankfeed_model* model = nullptr;
  rankfeed_encoder* encoder = nullptr;
  const auto encode = [&](std::string_view text) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(ids.size());
    io.input_ids = ids.data();
    return rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io) == RANKFEED_OK;
  };
  for (auto _ : state) {
    rankfeed_image_unmap(&mapping);
    if (rankfeed_image_map_file(path.c_str(), &mapping, nullptr) != RANKFEED_OK ||
        rankfeed_model_open(mapping.data, mapping.size, RANKFEED_OPEN_TRUSTED_IMAGE, storage.data(),
                            storage.size(), &model, nullptr) != RANKFEED_OK) {
      return state.SkipWithError("open failed");
    }
    if (scratch.data() == nullptr) {
      rankfeed_mem_req need{};
      if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK) return state.SkipWithError("mem_req failed");
      scratch = AlignedBytes(need);
    }
    if (rankfeed_encoder_init(model, &limits, scratch.data(), scratch.size(), &encoder) != RANKFEED_OK ||
        !encode("What do giant pandas eat, and where do they live?")) {
      return state.SkipWithError("encode failed");
    }
  }
  state.counters["resident_bytes"] = static_cast<double>(counters::PagesOf(mapping.data, mapping.size).resident_bytes);
  for (const std::string& text : corpus.passages) (void)encode(text);
  state.counters["after_passages"] = static_cast<double>(counters::PagesOf(mapping.data, mapping.size).resident_bytes);
  rankfeed_image_unmap(&mapping);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  namespace fs = std::filesystem;
  std::vector<fs::path> images;
  const Corpus corpus = LoadXquad("all");
  const struct {
    const char *name, *file;
  } vocabularies[] = {{"xlmr.tokenizer.json", "xlmr.tokenizer.json"},
                      {"xlmr.model", "xlmr.model"},
                      {"bert.tokenizer.json", "wordpiece/bert-base-uncased/tokenizer.json"}};
  for (const auto [name, file] : vocabularies) {
    const std::string source = SharedFile(file);
    if (!fs::exists(source)) {
      std::fprintf(stderr, "bench_open: not run: no %s in RANKFEED_SHARED_DATA\n", file);
      return 1;
    }
    const fs::path image = fs::temp_directory_path() /
                           ("bench_open." + std::to_string(getpid()) + "." + name + ".rfimg");
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    if (rankfeed_compile_file(source.c_str(), image.c_str(), nullptr, &error) != RANKFEED_OK) {
      std::fprintf(stderr, "bench_open: %s\n", error.message);
      return 1;
    }
    images.push_back(image);
    const std::string bytes = ReadFile(source), path = image.string(), at = std::string("/") + name;
    benchmark::RegisterBenchmark(("compile" + at).c_str(), [=](auto& s) { Compile(s, bytes); })
        ->Unit(benchmark::kMillisecond);
    const struct {
      const char* name;
      decltype(rankfeed_image_map)* map;
      uint32_t flags;
    } ways[] = {{"open/private", rankfeed_image_map, 0},
                {"open/mapped", rankfeed_image_map_file, 0},
                {"open/copy", rankfeed_image_map, RANKFEED_OPEN_TRUSTED_IMAGE},
                {"open/trusted", rankfeed_image_map_file, RANKFEED_OPEN_TRUSTED_IMAGE}};
    for (const auto way : ways) {
      benchmark::RegisterBenchmark((way.name + at).c_str(), [=](auto& s) {
        Open(s, path, way.map, way.flags);
      })->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark(("first_use" + at).c_str(), [=, &corpus](auto& s) { FirstUse(s, path, corpus); });
    benchmark::RegisterBenchmark(("encoder" + at).c_str(), [=](auto& s) { MakeEncoder(s, path); });
  }
  benchmark::RunSpecifiedBenchmarks();
  for (const fs::path& image : images) fs::remove(image);
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
