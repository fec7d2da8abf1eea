// SPDX-License-Identifier: MIT
// builder/fast/boundaries.h: where segments may end inside a word.
//
// Segments end between the common bytes (ASCII punctuation and digits) and characters that share no
// piece with them. Which bytes are common is read off the pieces: a byte that is next to an ASCII
// letter in some piece is not common, and no segment ends beside a character that is next to a
// common byte in some piece (CharInfo::ForbidsBoundary). Two unknown characters never meet at such an end,
// because common bytes are pieces themselves.
#pragma once

#include <optional>

#include "base/byte_set.h"
#include "builder/fast/characters.h"
#include "builder/fast/charsmap_keys.h"
#include "builder/fast/piece_neighbours.h"

namespace rankfeed::builder {

struct Boundaries {
  ByteSet common, letters;  // SegmentConfig::common and letters
};

// Returns the common bytes, those of ASCII, for vocabularies whose words end beside signs and whose
// segments end where words do. Nothing if one of them does not stay itself, whatever comes before
// it.
std::optional<ByteSet> AsciiSigns(const Model& model, const Characters& characters);

// Forbids boundaries beside characters. O(characters).
Boundaries FindBoundaries(const Model& model, const Pipeline& pipeline,
                          const PieceNeighbours& neighbours, const CharsmapKeys& keys,
                          const NormalizedCharacters& normalized, Characters* characters);

}  // namespace rankfeed::builder
