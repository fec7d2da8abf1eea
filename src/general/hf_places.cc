// SPDX-License-Identifier: MIT
// general/hf_places.cc: see hf_places.h.
#include "general/hf_places.h"

#include <algorithm>

#include "base/utf8.h"

namespace rankfeed::general {

void HfPlaces::Scratch::Carve(Layout& layout, const Model& model) {
  count = 1;
  for (const auto& steps : {model.normalizer, model.pre_tokenizer}) {
    count +=
        static_cast<uint32_t>(std::count_if(steps.begin(), steps.end(), HfCharacters::Numbers));
  }
  chains = layout.Take<Chain>(size_t{2} * count);
}

HfPlaces::HfPlaces(const Model& model, const Scratch& scratch, std::string_view text,
                   uint32_t begin, uint32_t end)
    : scratch_(scratch), text_(text.substr(0, end)) {
  HfCharacters::Numbering numbering;
  const auto add = [&](uint32_t stages) {
    numbering.stages = stages;
    scratch.chains[last_] = {HfCharacters(model, nullptr, text, begin, end, numbering), 0, begin};
    numbering.numbered = stages;
  };
  uint32_t stage = 0;
  for (const auto& steps : {model.normalizer, model.pre_tokenizer}) {
    for (const image::Step& step : steps) {
      if (HfCharacters::Numbers(step) && last_ + 1 < scratch.count) {
        add(stage);
        ++last_;
      }
      ++stage;
    }
  }
  add(~uint32_t{0});
}

// Takes characters of a chain until there are so many.
void HfPlaces::Advance(uint32_t chain, uint64_t taken) {
  Chain& of = scratch_.chains[chain];
  while (of.taken < taken && of.characters.Next(&of.from)) ++of.taken;
}

// Where the last character of the last chain begins: from chain to chain.
uint32_t HfPlaces::Begin() {
  for (uint32_t chain = last_; chain > 0; --chain) {
    Advance(chain - 1, scratch_.chains[chain].from + 1);
  }
  return static_cast<uint32_t>(scratch_.chains[0].from);
}

// Every character of the text has a range of its own, also one that stands for bad bytes.
uint32_t HfPlaces::EndOf(uint32_t begin) const {
  return begin + utf8::Decode(text_, begin).size;
}

void HfPlaces::Copy(uint32_t from, uint32_t to) {
  std::copy_n(scratch_.chains + from, scratch_.count, scratch_.chains + to);
}

}  // namespace rankfeed::general
