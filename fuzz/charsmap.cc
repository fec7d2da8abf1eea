// SPDX-License-Identifier: MIT
// fuzz/charsmap.cc: precompiled charsmaps.
//   hostile  any blob: CheckCharsmap refuses it, or lists rules, and then the engine's look-ups agree
//            with a plain map of those rules. Look-ups over units that nobody checked stay inside the
//            array and end.
//   rules    a blob made of rules out of the input: those rules come back.
// An execution is one blob.
#include "builder/base/model_spec.h"
#include "builder/normalize/charsmap_check.h"
#include "model_file.h"
#include "normalize/charsmap.h"
#include "plain/charsmap_rules.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

// The units and pool of a blob in blocks of their own, as far as there are any.
struct Parts {
  explicit Parts(std::span<const uint8_t> blob) {
    if (blob.size() < 4) return;
    const size_t room = (blob.size() - 4) / 4;
    const uint32_t bytes = blob[0] | blob[1] << 8 | blob[2] << 16 | uint32_t{blob[3]} << 24;
    const size_t count = std::min<size_t>(bytes / 4, room);
    units = std::vector<uint32_t>(count);
    if (count != 0) std::memcpy(units.data(), blob.data() + 4, count * 4);
    pool.assign(blob.begin() + static_cast<ptrdiff_t>(4 + count * 4), blob.end());
  }
  std::vector<uint32_t> units;
  std::vector<char> pool;
};

void LookUp(const Charsmap& map, const plain::CharsmapRules* rules, std::string_view text) {
  const ExactText exact(text);
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = exact.view().substr(at);
    const CharsmapMatch shortest = map.Shortest(rest), longest = map.Longest(rest);
    FUZZ_ASSERT(shortest.key_size <= rest.size() && longest.key_size <= rest.size());
    if (rules == nullptr) continue;
    size_t size = 0;
    const std::string* expected = rules->Shortest(rest, &size);
    FUZZ_ASSERT(static_cast<bool>(shortest) == (expected != nullptr));
    if (shortest) FUZZ_ASSERT(shortest.key_size == size && shortest.replacement == *expected);
    // A NUL in the text can walk through units that belong to no key, see pin_reference.py.
    if (rest.find('\0') != rest.npos) continue;
    expected = rules->Longest(rest, &size);
    FUZZ_ASSERT(static_cast<bool>(longest) == (expected != nullptr));
    if (longest) FUZZ_ASSERT(longest.key_size == size && longest.replacement == *expected);
  }
}

void TryBlob(std::span<const uint8_t> blob, const std::map<std::string, std::string>* made_of,
             uint32_t parity) {
  using namespace std::string_view_literals;
  ++counters.executions;
  const Parts parts(blob);
  const Charsmap map(parts.units, parts.pool);
  static const std::string kLong(48, 'a');
  const std::string_view texts[] = {
      "ABA\t e\xcc\x81\xcc\xa3 oo  \xef\xbd\xb6\xef\xbe\x9e"sv, "\xef\xb7\xba\x7f\0A\xff\xe2\x96\x81"sv,
      kLong};
  for (const std::string_view text : texts) LookUp(map, nullptr, text);
  LoadCost cost(blob.size());
  try {
    const builder::CharsmapView view = builder::CheckCharsmap(
        {reinterpret_cast<const char*>(blob.data()), blob.size()}, parity, "fuzz");
    cost.Done();
    ++counters.accepted;
    std::map<std::string, std::string, std::less<>> rules;
    for (const builder::CharsmapRule& rule : view.rules) {
      rules[std::string(rule.key)] = std::string(rule.replacement);
    }
    if (made_of != nullptr) {
      FUZZ_ASSERT(rules.size() == made_of->size());
      FUZZ_ASSERT(std::equal(rules.begin(), rules.end(), made_of->begin()));
    }
    const plain::CharsmapRules reference(rules);
    for (const std::string_view text : texts) LookUp(map, &reference, text);
  } catch (const builder::BuildError& error) {
    cost.Done();
    FUZZ_ASSERT(error.what()[0] != '\0');
    FUZZ_ASSERT(made_of == nullptr);
  }
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  const uint8_t first = in.U8();
  const uint32_t parity = (first & 2) != 0 ? RANKFEED_PARITY_HUGGINGFACE : RANKFEED_PARITY_SENTENCEPIECE;
  if (first % 2 == 0) {
    TryBlob(bytes.subspan(std::min<size_t>(bytes.size(), 1)), nullptr, parity);
    return;
  }
  const auto rules = DrawRules(in);
  const std::string blob = sp_test::MakeCharsmap(rules);
  TryBlob({reinterpret_cast<const uint8_t*>(blob.data()), blob.size()}, &rules, parity);
}

void Generate(Random& random, Bytes* input) {
  static Pool pool;
  if (random.OneIn(64)) {
    *input = RandomBytes(random, 8 + random.Below(120));
    (*input)[0] |= 1;
    return;
  }
  *input = pool.Pick(random, [&] {
    const Bytes bytes = RandomBytes(random, 12);
    Input in(bytes);
    auto rules = DrawRules(in);
    while (rules.size() > 2) rules.erase(rules.begin());
    return ToBytes(sp_test::MakeCharsmap(rules));
  });
  // Units lie far apart; most damage should meet those that are used.
  for (size_t n = 1 + random.Below(4); n > 0; --n) {
    const size_t units = std::max<size_t>(input->size() / 4, 1);
    size_t at = random.Below(units);
    for (size_t tries = 0; tries < 64 && at * 4 + 4 <= input->size(); ++tries) {
      uint32_t unit;
      std::memcpy(&unit, input->data() + at * 4, 4);
      if (unit != 0 && unit != 0xff) break;
      at = random.Below(units);
    }
    if (at * 4 + 4 > input->size()) continue;
    uint32_t unit;
    std::memcpy(&unit, input->data() + at * 4, 4);
    switch (random.Below(4)) {
      case 0:
        unit ^= 1u << random.Below(32);
        break;
      case 1:  // to another used block, or in a circle
        unit = (unit & 0x3ff) | static_cast<uint32_t>(random.Below(16) * 256) << 10;
        break;
      case 2:
        unit = static_cast<uint32_t>(random.Next());
        break;
      default:
        unit |= random.OneIn(2) ? 0x100 : 0x80000000;
        break;
    }
    std::memcpy(input->data() + at * 4, &unit, 4);
  }
  if (random.OneIn(4)) Mutate(random, input);
  input->insert(input->begin(), static_cast<uint8_t>(random.Below(2) * 2));
}

const Register registered({"charsmap", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
