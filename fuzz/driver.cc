// SPDX-License-Identifier: MIT
// fuzz/driver.cc: runs the targets without libFuzzer, with any compiler.
//
//   rankfeed_fuzz --list                                 the targets
//   rankfeed_fuzz --build                                the sanitizers it was built with
//   rankfeed_fuzz TARGET FILE|FOLDER ...                 replays inputs
//   rankfeed_fuzz TARGET --generate SECONDS [--seed S] [--inputs N] [--max-executions N]
//                                                        runs generated inputs
//   rankfeed_fuzz TARGET --write-seeds FOLDER [--inputs N]  writes generated inputs for libFuzzer
//
// The input at work when a property fails or a signal comes is saved as crash-TARGET-HASH. An input
// that takes longer than kSlowest seconds of processor time is a failure. The last line of a run, also
// of one ended by SIGTERM, is for run.py; "distinct" there is how many different inputs there were,
// estimated within 2% (HyperLogLog).
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "load_cost.h"
#include "target.h"

// Of a sanitizer's runtime, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace rankfeed::fuzz {
namespace {

constexpr unsigned kSlowest = 30;  // of processor time
constexpr unsigned kTick = 5;      // of processor time, between two looks of the watchdog

const Target* current_target = nullptr;
Bytes current;
volatile sig_atomic_t ticks = 0;  // of the input at work
volatile sig_atomic_t stop = 0;   // asked to end after it

uint64_t Hash(const Bytes& bytes) {  // FNV-1a over words, and a finalizer: every bit counts
  uint64_t h = 0xcbf29ce484222325u ^ bytes.size();
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
  return h ^ (h >> 32);
}

// How many different hashes were added (Flajolet, Fusy, Gandouet, Meunier 2007), in 4 KiB.
class Distinct {
 public:
  void Add(uint64_t hash) {
    uint8_t& most = most_[hash % kRegisters];
    most = std::max<uint8_t>(most, static_cast<uint8_t>(1 + std::countl_zero(hash | kRegisters)));
  }
  uint64_t Estimate() const {
    double sum = 0;
    size_t empty = 0;
    for (const uint8_t most : most_) {
      sum += std::ldexp(1.0, -most);
      empty += most == 0;
    }
    const double m = kRegisters;
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate < 2.5 * m && empty != 0) estimate = m * std::log(m / static_cast<double>(empty));
    return static_cast<uint64_t>(estimate);
  }

 private:
  static constexpr size_t kRegisters = 4096;
  std::array<uint8_t, kRegisters> most_ = {};
};

Distinct distinct;

uint64_t inputs = 0;
std::chrono::steady_clock::time_point start;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void PrintCounts() {
  if (current_target == nullptr) return;
  std::printf("%s: %llu inputs, %llu executions, %llu accepted, %llu distinct, %.1f s of processor "
              "time, %.1f s",
              current_target->name, static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(counters.executions),
              static_cast<unsigned long long>(counters.accepted),
              static_cast<unsigned long long>(std::min(distinct.Estimate(), inputs)),
              static_cast<double>(std::clock()) / CLOCKS_PER_SEC, Seconds());
  PrintWorstLoads();
  std::printf("\n");
  std::fflush(stdout);
}

void SaveCurrent() {
  if (current_target == nullptr) return;
  char name[128];
  std::snprintf(name, sizeof(name), "crash-%s-%016llx", current_target->name,
                static_cast<unsigned long long>(Hash(current)));
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(current.data()),
             static_cast<std::streamsize>(current.size()));
  std::fprintf(stderr, "input saved as %s\n", name);
  PrintCounts();
  current_target = nullptr;  // once
}

void OnSignal(int number) {
  if (number == SIGPROF) {
    ticks = ticks + 1;
    if (ticks <= static_cast<int>(kSlowest / kTick)) return;
    std::fprintf(stderr, "an input takes longer than %u s of processor time\n", kSlowest);
  }
  SaveCurrent();
  signal(number, SIG_DFL);
  if (number == SIGPROF) _exit(1);
  raise(number);
}

void RunOne(const Target& target) {
  current_target = &target;
  ticks = 0;
  // A block of its own, so that reads past the input are seen.
  const Bytes exact(current.begin(), current.end());
  target.run(exact);
  current_target = nullptr;
  distinct.Add(Hash(current));
  ++inputs;
}

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

int Usage() {
  std::fprintf(stderr,
               "usage: rankfeed_fuzz --list | --build\n"
               "       rankfeed_fuzz TARGET FILE|FOLDER ...\n"
               "       rankfeed_fuzz TARGET --generate SECONDS [--seed S] [--inputs N] "
               "[--max-executions N]\n"
               "       rankfeed_fuzz TARGET --write-seeds FOLDER [--inputs N]\n");
  return 2;
}

struct Options {
  double seconds = -1;
  uint64_t seed = 1, inputs = UINT64_MAX, max_executions = UINT64_MAX;
  std::string seeds;
  std::vector<std::string> files;
};

bool Parse(int argc, char** argv, Options* o) {
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : nullptr; };
    const char* text = nullptr;
    if (argument.substr(0, 2) != "--") {
      o->files.emplace_back(argument);
      continue;
    }
    if ((text = value()) == nullptr) return false;
    if (argument == "--generate") {
      o->seconds = std::strtod(text, nullptr);
    } else if (argument == "--seed") {
      o->seed = std::strtoull(text, nullptr, 10);
    } else if (argument == "--inputs") {
      o->inputs = std::strtoull(text, nullptr, 10);
    } else if (argument == "--max-executions") {
      o->max_executions = std::strtoull(text, nullptr, 10);
    } else if (argument == "--write-seeds") {
      o->seeds = text;
    } else {
      return false;
    }
  }
  return true;
}

int WriteSeeds(const Target& target, const Options& o) {
  std::filesystem::create_directories(o.seeds);
  Random random(o.seed);
  for (uint64_t i = 0; i < std::min<uint64_t>(o.inputs, 10000); ++i) {
    Bytes input;
    target.generate(random, &input);
    if (input.size() > 8192) input.resize(8192);  // small seeds, so that libFuzzer stays fast
    std::ofstream(o.seeds + "/seed" + std::to_string(i), std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
  }
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Target& target : AllTargets()) std::printf("%s\n", target.name);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--build") == 0) {
    std::printf("%s\n", RANKFEED_FUZZ_SANITIZE);
    return 0;
  }
  Options o;
  if (argc < 2 || !Parse(argc, argv, &o)) return Usage();
  const Target* target = FindTarget(argv[1]);
  if (target == nullptr) {
    std::fprintf(stderr, "no target \"%s\"\n", argv[1]);
    return 2;
  }
  if (!o.seeds.empty()) return WriteSeeds(*target, o);
  if (o.files.empty() && o.seconds < 0) return Usage();

  SetFailureHook(SaveCurrent);
  signal(SIGPROF, OnSignal);
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { stop = 1; });
  const itimerval watchdog = {{kTick, 0}, {kTick, 0}};
  setitimer(ITIMER_PROF, &watchdog, nullptr);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(SaveCurrent);
  } else {
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(number, OnSignal);
  }
  start = std::chrono::steady_clock::now();
  for (const std::string& file : o.files) {
    std::vector<std::filesystem::path> paths;
    if (std::filesystem::is_directory(file)) {
      for (const auto& entry : std::filesystem::directory_iterator(file)) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
      }
      std::sort(paths.begin(), paths.end());
    } else {
      paths.emplace_back(file);
    }
    for (const auto& path : paths) {
      current = ReadFile(path);
      RunOne(*target);
    }
  }
  if (o.seconds >= 0) {
    Random random(o.seed);
    for (uint64_t i = 0; i < o.inputs && counters.executions < o.max_executions; ++i) {
      if (stop != 0 || Seconds() >= o.seconds) break;
      current.clear();
      target->generate(random, &current);
      RunOne(*target);
    }
  }
  current_target = target;
  PrintCounts();
  return 0;
}

}  // namespace
}  // namespace rankfeed::fuzz

int main(int argc, char** argv) {
  return rankfeed::fuzz::Main(argc, argv);
}
