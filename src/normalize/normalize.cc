// SPDX-License-Identifier: MIT
// normalize/normalize.cc: see normalize.h.
#include "normalize/normalize.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "normalize/filters.h"
#include "normalize/precompiled.h"
#include "normalize/replace.h"
#include "normalize/unicode_forms.h"

namespace rankfeed::normalize {
namespace {

bool RunStep(const Model& model, const image::Step& step, const Buffers& buffers,
             const NormalizedText& in, NormalizedText* out) {
  using Op = image::OtherNormalizerOp;
  if (image::IsFilter(step.op)) return RunFilter(model, image::FilterOp{step.op}, in, out);
  switch (Op{step.op}) {
    case Op::kPrecompiled: return RunPrecompiled(model, in, out);
    case Op::kNfc: return RunForm(model, {false, true}, buffers.work, in, out);
    case Op::kNfd: return RunForm(model, {false, false}, buffers.work, in, out);
    case Op::kNfkc: return RunForm(model, {true, true}, buffers.work, in, out);
    case Op::kNfkd: return RunForm(model, {true, false}, buffers.work, in, out);
  }
  return RunEdit(step, model.text(step.a), model.text(step.b), in, out);
}

}  // namespace

bool Load(std::string_view original, uint32_t begin, uint32_t end, Buffers* buffers) {
  NormalizedText& out = buffers->in();
  out.size = 0;
  buffers->text[0].shifted = buffers->text[1].shifted = false;
  original = original.substr(0, end);
  for (uint32_t pos = begin; pos < end;) {
    const uint32_t ascii = utf8::SkipAscii(original, pos) - pos;
    if (ascii > out.capacity - out.size) return false;
    std::memcpy(out.data + out.size, original.data() + pos, ascii);
    if (out.begin != nullptr) {
      std::iota(out.begin + out.size, out.begin + out.size + ascii, pos);
      std::iota(out.end + out.size, out.end + out.size + ascii, pos + 1);
    }
    out.size += ascii;
    pos += ascii;
    if (pos == end) break;
    const utf8::Decoded d = utf8::Decode(original, pos);
    const uint32_t size = utf8::EncodedSize(d.code_point);
    if (size > out.capacity - out.size) return false;
    utf8::Encode(d.code_point, out.data + out.size);
    if (out.begin != nullptr) {
      std::fill_n(out.begin + out.size, size, pos);
      std::fill_n(out.end + out.size, size, pos + d.size);
    }
    out.size += size;
    pos += d.size;
  }
  return true;
}

rankfeed_status RunNormalizerStep(const Model& model, const image::Step& step, Buffers* buffers) {
  if (buffers->in().size == 0) return RANKFEED_OK;  // no step makes something out of nothing
  if (!RunStep(model, step, *buffers, buffers->in(), &buffers->out())) return RANKFEED_E_LIMIT;
  buffers->Swap();
  return RANKFEED_OK;
}

rankfeed_status RunNormalizer(const Model& model, Buffers* buffers) {
  for (const image::Step& step : model.normalizer) {
    if (const rankfeed_status status = RunNormalizerStep(model, step, buffers)) return status;
  }
  return RANKFEED_OK;
}

bool MakesMetaspaces(const Model& model) {
  if (model.normalizer.empty()) return false;
  const image::Step& last = model.normalizer.back();
  return last.Is(image::Op::kReplace) && model.text(last.a) == " " &&
         model.text(last.b) == "\xe2\x96\x81";
}

bool JoinsWhiteSpace(const Model& model) {
  return std::any_of(model.normalizer.begin(), model.normalizer.end(), [](const image::Step& step) {
    return step.Is(image::Op::kReplaceSpaces);
  });
}

bool IsAboutSpaces(const Model& model, const image::Step& step) {
  return step.Is(image::Op::kStrip) ||
         (step.Is(image::Op::kReplaceRun) && model.text(step.a) == " ") ||
         (&step == &model.normalizer.back() && MakesMetaspaces(model));
}

rankfeed_status RunSegmentNormalizer(const Model& model, Buffers* buffers) {
  for (const image::Step& step : model.normalizer) {
    // A prefix of the stretch is no part of a segment.
    if (IsAboutSpaces(model, step) || step.Is(image::Op::kPrepend)) continue;
    if (const rankfeed_status status = RunNormalizerStep(model, step, buffers)) return status;
  }
  return RANKFEED_OK;
}

}  // namespace rankfeed::normalize
