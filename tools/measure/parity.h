// SPDX-License-Identifier: MIT
// measure/parity.h: do two engines give the same ids? Over the documents of a workload, over special
// tokens written in texts, and over generated Unicode that tells tokenizers apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/engine.h"

namespace rankfeed::measure {

struct ParityPart {
  uint64_t compared = 0, mismatches = 0;
  std::string first_text;                     // of the first mismatch, shortened
  std::vector<int32_t> first_ids, reference;  // around the first difference
};

struct Parity {
  bool valid = false;
  std::string reason;     // when not valid
  EngineInfo reference;
  ParityPart documents, specials, unicode;
  uint64_t mismatches() const {
    return documents.mismatches + specials.mismatches + unicode.mismatches;
  }
};

// Special tokens as they are written in tokenizer files, alone and inside text.
std::vector<std::string> SpecialTexts();
// count texts of valid UTF-8, the same for the same seed: combining marks, joiners, half- and
// full-width forms, jamo, spaces of all kinds, controls, long unspaced runs, ties.
std::vector<std::string> UnicodeTexts(uint64_t seed, size_t count);

Parity CompareParity(Engine& engine, Engine& reference,
                     const std::vector<std::string_view>& documents, size_t unicode_texts);

}  // namespace rankfeed::measure
