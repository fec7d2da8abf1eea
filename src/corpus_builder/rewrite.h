// SPDX-License-Identifier: MIT
// corpus_builder/rewrite.h: whole stores into new ones. Sources are verified first, so that damage
// is never given a fresh checksum.
#pragma once

#include <span>
#include <string>

namespace rankfeed::corpus_builder {

// The store at path without dead bytes, in place. Throws BuildError, std::bad_alloc.
void Compact(const std::string& path);

// The documents of all sources to a new store at path, later ones over earlier ones.
void MergeStores(std::span<const std::string> sources, const std::string& path);

}  // namespace rankfeed::corpus_builder
