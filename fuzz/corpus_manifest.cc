// SPDX-License-Identifier: MIT
// fuzz/corpus_manifest.cc: manifests of corpora. A hostile one is refused with an error that names
// the file, within the time and memory that SECURITY.md says, or what it says of its stores is in
// order: their files are below its folder, each is named once, and the sums are right. An execution
// is one manifest.
#include <array>
#include <set>

#include "builder/base/model_spec.h"
#include "corpus_builder/manifest.h"
#include "json_damage.h"
#include "load_cost.h"
#include "rankfeed/corpus.h"
#include "target.h"

namespace rankfeed::fuzz {
namespace {

const std::string kFolder = "/a folder/";

bool StaysBelow(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

void CheckAccepted(const corpus_builder::Manifest& manifest) {
  uint64_t documents = 0, tokens = 0;
  std::set<std::string> names;
  for (const corpus_builder::ShardEntry& shard : manifest.shards) {
    FUZZ_ASSERT(shard.path.starts_with(kFolder));
    FUZZ_ASSERT(StaysBelow(std::string_view(shard.path).substr(kFolder.size())));
    FUZZ_ASSERT(names.insert(shard.path).second);
    FUZZ_ASSERT(shard.sha256.size() == 64 && (shard.content.empty() || shard.content.size() == 64));
    documents += shard.documents;
    tokens += shard.tokens;
  }
  FUZZ_ASSERT(!names.empty() && names.size() <= RANKFEED_CORPUS_MAX_SHARDS);
  FUZZ_ASSERT(documents == manifest.documents && tokens == manifest.tokens);
  FUZZ_ASSERT(manifest.config_hash.size() == 32);
}

void Run(std::span<const uint8_t> file) {
  ++counters.executions;
  const std::string path = kFolder + "manifest.json";
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  LoadCost cost(file.size());
  try {
    const corpus_builder::Manifest manifest = corpus_builder::ParseManifest(text, path);
    cost.Done();
    ++counters.accepted;
    CheckAccepted(manifest);
  } catch (const builder::BuildError& error) {
    cost.Done();
    FUZZ_ASSERT(error.code != RANKFEED_OK);
    FUZZ_ASSERT(std::string_view(error.what()).find(path) != std::string_view::npos);
  }
}

const std::string kValues[] = {"null",
                               "true",
                               "0",
                               "1",
                               "-1",
                               "0.5",
                               "1e400",
                               "281474976710656",
                               "281474976710657",
                               "18446744073709551615",
                               "18446744073709551616",
                               "\"\"",
                               "\".\"",
                               "\"..\"",
                               "\"../a\"",
                               "\"/etc/passwd\"",
                               "\"a/../b\"",
                               "\"a//b\"",
                               "\"a/\"",
                               "\"a\\u0000b\"",
                               "\"\\u002e\\u002e/a\"",
                               "\"\\ud800\"",
                               "\"hash\"",
                               "\"probe\"",
                               "\"00\"",
                               "[]",
                               "{}",
                               "[[]]",
                               "[{}]",
                               "\"0123456789abcdef0123456789abcdef\"",
                               "\"0123456789ABCDEF0123456789abcdef\""};

std::string Digits(Random& random, size_t count) {
  std::string digits(count, '0');
  for (char& digit : digits) digit = "0123456789abcdef"[random.Below(16)];
  return digits;
}

// As rankfeed writes them.
std::string Good(Random& random) {
  uint64_t documents = 0, tokens = 0;
  std::string shards;
  for (size_t i = 0, count = 1 + random.Below(random.OneIn(64) ? 200 : 5); i < count; ++i) {
    const uint64_t some = random.Below(1000), more = random.Below(100'000);
    documents += some;
    tokens += more;
    shards += std::string(i == 0 ? "" : ",") + "{\"file\":\"" + (random.OneIn(4) ? "below/" : "") +
              "s" + std::to_string(i) +
              ".rfc\",\"bytes\":" + std::to_string(random.Below(1 << 20)) +
              ",\"documents\":" + std::to_string(some) + ",\"tokens\":" + std::to_string(more) +
              ",\"sha256\":\"" + Digits(random, 64) + "\"" +
              (random.OneIn(2) ? ",\"content\":\"" + Digits(random, 64) + "\"" : "") + "}";
  }
  return std::string("{\"format\":\"") + corpus_builder::kManifestFormat +
         "\",\"version\":1,\"config_hash\":\"" + Digits(random, 32) + "\",\"routing\":\"" +
         (random.OneIn(2) ? "hash" : "probe") + "\",\"documents\":" + std::to_string(documents) +
         ",\"tokens\":" + std::to_string(tokens) + ",\"shards\":[" + shards + "]}";
}

void Generate(Random& random, Bytes* input) {
  std::string json = Good(random);
  for (size_t n = random.Below(3); n > 0; --n) ReplaceValue(random, kValues, &json);
  input->assign(json.begin(), json.end());
  if (random.OneIn(3)) Mutate(random, input);
}

const Register registered({"corpus_manifest", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
