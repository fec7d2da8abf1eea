// SPDX-License-Identifier: MIT
// tests/exhaustive/sp_encodings.h: what SentencePiece's library and its plain reference make of a
// text, in the terms of the engine's tests, and the engine held to that.
#pragma once

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <string>

#include "plain/sp_unigram.h"
#include "support/engine.h"

namespace rankfeed::exhaustive {

inline test::Encoding FromReference(const plain::SpUnigram& plain, const std::string& text) {
  test::Encoding encoding;
  for (const plain::SpToken& token : plain.Encode(text)) {
    encoding.ids.push_back(static_cast<int32_t>(token.id));
    encoding.begin.push_back(token.begin);
    encoding.end.push_back(token.end);
  }
  return encoding;
}

inline test::Encoding FromLibrary(const sentencepiece::SentencePieceProcessor& library,
                                  const std::string& text) {
  test::Encoding encoding;
  const auto result = library.EncodeAsImmutableProto(text);
  for (size_t i = 0; i < result.pieces_size(); ++i) {
    const auto piece = result.pieces(static_cast<int>(i));
    encoding.ids.push_back(static_cast<int32_t>(piece.id()));
    encoding.begin.push_back(piece.begin());
    encoding.end.push_back(piece.end());
  }
  return encoding;
}

inline void ExpectSame(test::TestEngine& engine, const std::string& text,
                       const test::Encoding& expected) {
  const test::Encoding actual = engine.Encode(text);
  ASSERT_EQ(actual, expected) << test::Escape(text) << "\n  engine    " << test::Show(actual)
                              << "\n  reference " << test::Show(expected);
  ASSERT_EQ(engine.Ids(text), expected.ids) << test::Escape(text);
}

}  // namespace rankfeed::exhaustive
