// SPDX-License-Identifier: MIT
// image/ops.h: the elements of a normalizer, pre-tokenizer or decoder, made of the lines of
// ops.def.
#pragma once

#include <cstdint>

namespace rankfeed::image {

enum PrependScheme : uint32_t { kPrependAlways = 0, kPrependFirst = 1, kPrependNever = 2 };
enum SplitBehavior : uint32_t {
  kRemoved = 0,
  kIsolated = 1,
  kMergedWithPrevious = 2,
  kMergedWithNext = 3,
  kContiguous = 4
};

// Any element, and those of one part of the pipeline. Numbers are the same, so that a loop over one
// part can switch over its own elements only.
enum class Op : uint32_t {
#define NORMALIZER(number, op, ...) op = number,
#define PRE_TOKENIZER(number, op, ...) op = number,
#define DECODER(number, op, ...) op = number,
#include "image/ops.def"
};
enum class NormalizerOp : uint32_t {
#define NORMALIZER(number, op, ...) op = number,
#include "image/ops.def"
};
// Elements of the families of normalize/filters.h and replace.h, and the others.
enum class FilterOp : uint32_t {
#define FILTER(number, op, ...) op = number,
#include "image/ops.def"
};
enum class EditOp : uint32_t {
#define EDIT(number, op, ...) op = number,
#include "image/ops.def"
};
enum class OtherNormalizerOp : uint32_t {
#define FILTER(...)
#define EDIT(...)
#define NORMALIZER(number, op, ...) op = number,
#include "image/ops.def"
};
constexpr bool IsFilter(uint32_t number) {
#define FILTER(row, ...) if (number == row) return true;
#include "image/ops.def"
  return false;
}
enum class PreTokenizerOp : uint32_t {
#define PRE_TOKENIZER(number, op, ...) op = number,
#include "image/ops.def"
};
enum class DecoderOp : uint32_t {
#define DECODER(number, op, ...) op = number,
#include "image/ops.def"
};

enum class Part : uint8_t { kNormalizer, kPreTokenizer, kDecoder };

// Tables that an element reads besides the text. kProps is there for all of them.
enum OpTables : uint8_t {
  kLowerTable = 1,       // kLower
  kCanonicalTable = 2,   // kDecomp, kCcc
  kCompatibleTable = 4,  // kDecompK, kCcc
  kComposeTable = 8,     // kCompose
  kSplitTable = 16,      // kSplitClasses
};

struct OpInfo {
  Op op;
  Part part;
  const char* type;  // in tokenizer.json
  uint32_t max_arg0, max_arg1;
  bool needs_text;  // a may not be empty
  bool alone;       // tokenizer.json has its type and nothing else
  uint8_t tables;   // OpTables
};

namespace op_columns {
inline constexpr uint32_t kFlag = 1, kAnyNumber = 0xffffffffu;
enum Text : uint8_t { kNoText, kAnyText, kText, kAlone };

inline constexpr OpInfo kRows[] = {
#define NORMALIZER(number, op, type, arg0, arg1, a, tables) \
  {Op::op, Part::kNormalizer, type, arg0, arg1, a == kText, a == kAlone, tables},
#define PRE_TOKENIZER(number, op, type, arg0, arg1, a) \
  {Op::op, Part::kPreTokenizer, type, arg0, arg1, a == kText, a == kAlone, 0},
#define DECODER(number, op, type, arg0, arg1, a) \
  {Op::op, Part::kDecoder, type, arg0, arg1, a == kText, a == kAlone, 0},
#include "image/ops.def"
};
}  // namespace op_columns

// Every element, in the order of ops.def.
inline constexpr auto& kOps = op_columns::kRows;

// The row of a number; null for one that is no element. O(elements).
constexpr const OpInfo* FindOp(uint32_t number) {
  for (const OpInfo& info : kOps) {
    if (static_cast<uint32_t>(info.op) == number) return &info;
  }
  return nullptr;
}

constexpr bool NumbersRise() {
  for (const OpInfo& info : kOps) {
    if (&info != kOps && info.op <= (&info - 1)->op) return false;
  }
  return true;
}
static_assert(NumbersRise(), "a number of image/ops.def is given twice, or out of order");

}  // namespace rankfeed::image
