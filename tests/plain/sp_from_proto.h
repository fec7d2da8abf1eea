// SPDX-License-Identifier: MIT
// plain/sp_from_proto.h: a generated .model (reference/sp_model_proto.h) as the plain reference
// takes it, so that both are given the same model.
#pragma once

#include "plain/sp_unigram.h"
#include "reference/sp_model_proto.h"

namespace rankfeed::plain {

inline SpModel FromProto(const sp_test::ModelProto& proto, SpRelease release) {
  SpModel model;
  model.release = release;
  for (const sp_test::PieceProto& piece : proto.pieces) {
    model.pieces.push_back({piece.text, piece.score, static_cast<SpKind>(piece.kind)});
  }
  if (!proto.normalizer.charsmap.empty()) {
    model.charsmap = CharsmapRules(proto.normalizer.charsmap);
  }
  model.add_dummy_prefix = proto.normalizer.add_dummy_prefix.value_or(true);
  model.remove_extra_whitespaces = proto.normalizer.remove_extra_whitespaces.value_or(true);
  model.escape_whitespaces = proto.normalizer.escape_whitespaces.value_or(true);
  model.treat_whitespace_as_suffix = proto.treat_whitespace_as_suffix;
  model.byte_fallback = proto.byte_fallback;
  return model;
}

}  // namespace rankfeed::plain
