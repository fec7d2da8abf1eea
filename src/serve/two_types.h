// SPDX-License-Identifier: MIT
// serve/two_types.h: a pair template for a model that has two token types and a vocabulary whose
// own template gives none: query 0, passage 1, as BERT counts them.
#pragma once

#include "rankfeed/rerank.h"

namespace rankfeed::serve {

// parts points into the object, which therefore stays where it is.
struct TwoTypes {
  int32_t begin, middle[2], end;
  rankfeed_pair_template parts{};

  explicit TwoTypes(const rankfeed_model_info& info)
      : begin(info.cls_id >= 0 ? info.cls_id : info.bos_id),
        end(info.sep_id >= 0 ? info.sep_id : info.eos_id) {
    middle[0] = middle[1] = end;
    parts.struct_size = sizeof(parts);
    parts.document_type_id = 1;
    parts.prefix = {{}, &begin, 1, 0};
    parts.middle = {{}, middle, 2, 0};
    parts.suffix = {{}, &end, 1, 1};
  }
  TwoTypes(const TwoTypes&) = delete;
  TwoTypes& operator=(const TwoTypes&) = delete;
  // False: the vocabulary has no <s> and </s> to build pairs with.
  bool complete() const { return begin >= 0 && end >= 0; }
};

}  // namespace rankfeed::serve
