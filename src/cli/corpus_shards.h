// SPDX-License-Identifier: MIT
// cli/corpus_shards.h: the stores of a manifest: their hashes, and making one.
#pragma once

#include "cli/cli.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::cli {

// Checks that each shard's SHA-256 is the manifest's; a store has none. Throws Failure.
void CheckHashes(const LoadedCorpus& corpus);

// `rankfeed corpus manifest`
void AddManifest(CLI::App* corpus);

}  // namespace rankfeed::cli
