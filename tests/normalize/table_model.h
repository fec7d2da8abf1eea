// SPDX-License-Identifier: MIT
// tests/normalize/table_model.h: a model that has the Unicode tables of some normalizer steps and
// nothing else, and texts with ranges to run them on.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "builder/base/model_spec.h"
#include "builder/unicode/unicode_tables.h"
#include "image/model.h"
#include "normalize/normalize.h"
#include "rankfeed/model.h"

namespace rankfeed::normalize {

class TableModel {
 public:
  explicit TableModel(const std::vector<image::Op>& steps) {
    builder::ModelSpec spec;
    spec.parity = RANKFEED_PARITY_HUGGINGFACE;
    for (const image::Op op : steps) spec.normalizer.push_back({op});
    sections_ = builder::BuildUnicodeTables(spec);
    using image::SectionId;
    Table(SectionId::kPropBlocks, SectionId::kProps, &model_.props);
    Table(SectionId::kCccBlocks, SectionId::kCcc, &model_.ccc);
    Table(SectionId::kLowerBlocks, SectionId::kLower, &model_.lower);
    Table(SectionId::kDecompBlocks, SectionId::kDecomp, &model_.decomp);
    Table(SectionId::kDecompKBlocks, SectionId::kDecompK, &model_.decomp_k);
    model_.map_pool = Elements<uint32_t>(SectionId::kMapPool);
    model_.compose = Elements<image::ComposePair>(SectionId::kCompose);
  }
  const Model& model() const { return model_; }

 private:
  template <class T>
  std::span<const T> Elements(image::SectionId id) const {
    for (const builder::SectionData& s : sections_) {
      if (s.id() == id)
        return {reinterpret_cast<const T*>(s.bytes().data()), s.bytes().size() / sizeof(T)};
    }
    return {};
  }
  template <class T>
  void Table(image::SectionId blocks, image::SectionId data, CodePointTable<T>* table) {
    if (Elements<T>(data).empty()) return;
    table->blocks = Elements<uint16_t>(blocks).data();
    table->data = Elements<T>(data).data();
  }

  std::vector<builder::SectionData> sections_;
  Model model_ = {};
};

// A text with its own storage. The ranges are those of its characters.
struct OwnedText {
  explicit OwnedText(size_t capacity)
      : bytes(capacity), begin(capacity), end(capacity), work(3, std::vector<uint32_t>(capacity)) {
    text = {bytes.data(), begin.data(), end.data(), static_cast<uint32_t>(capacity), 0};
  }
  OwnedText(std::string_view s, size_t capacity) : OwnedText(capacity) {
    Buffers buffers;
    buffers.text[0] = text;
    Load(s, 0, static_cast<uint32_t>(s.size()), &buffers);
    text = buffers.text[0];
  }
  OwnedText(const OwnedText&) = delete;
  OwnedText& operator=(const OwnedText&) = delete;

  std::string string() const { return std::string(text.view()); }
  // "c:begin-end" of each character.
  std::string ranges() const {
    std::string shown;
    for (uint32_t pos = 0; pos < text.size;) {
      const uint32_t size = utf8::SizeFromLead(static_cast<unsigned char>(text.data[pos]));
      shown += (pos != 0 ? " " : "") + std::string(text.view(pos, pos + size)) + ":" +
               std::to_string(text.begin[pos]) + "-" + std::to_string(text.end[pos]);
      pos += size;
    }
    return shown;
  }

  std::vector<char> bytes;
  std::vector<uint32_t> begin, end;
  std::vector<std::vector<uint32_t>> work;
  NormalizedText text;
};

// Characters with ranges after run(in, out).
template <class F>
std::string Ranges(std::string_view input, F run) {
  OwnedText in(input, input.size() * 8 + 16), out(input.size() * 8 + 16);
  EXPECT_TRUE(run(in.text, &out.text));
  return out.ranges();
}

}  // namespace rankfeed::normalize
