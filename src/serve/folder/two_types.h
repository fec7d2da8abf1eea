// SPDX-License-Identifier: MIT
// serve/folder/two_types.h: a pair template with the token types that a model's folder asks for (see
// pairing.h), in place of those of the vocabulary's own template.
#pragma once

#include "rankfeed/rerank.h"

namespace rankfeed::folder {

// Not movable: the template points into it.
struct TwoTypes {
  int32_t begin, middle[2], end;
  rankfeed_pair_template parts{};

  // Makes rows with as many separators between the texts as the vocabulary's template has: one
  // (BERT) or two (RoBERTa). They have the query's type, and the last one has the document's.
  TwoTypes(const rankfeed_model_info& info, uint32_t query, uint32_t document)
      : begin(info.cls_id >= 0 ? info.cls_id : info.bos_id),
        end(info.sep_id >= 0 ? info.sep_id : info.eos_id) {
    middle[0] = middle[1] = end;
    parts.struct_size = sizeof(parts);
    parts.query_type_id = query;
    parts.document_type_id = document;
    parts.prefix = {{}, &begin, 1, query};
    parts.middle = {{}, middle, info.specials_pair == 3 ? 1u : 2u, query};
    parts.suffix = {{}, &end, 1, document};
  }
  TwoTypes(const TwoTypes&) = delete;
  TwoTypes& operator=(const TwoTypes&) = delete;
  bool complete() const { return begin >= 0 && end >= 0; }
};

}  // namespace rankfeed::folder
