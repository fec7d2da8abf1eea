// SPDX-License-Identifier: MIT
// cli/corpus_shards.h: the stores of a manifest: their hashes, and making one.
#pragma once

#include "cli/cli.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::cli {

// That each shard's SHA-256 is the manifest's. Nothing to do for a store. Throws Failure.
void CheckHashes(const LoadedCorpus& corpus);

// `rankfeed corpus manifest`
void AddManifest(CLI::App* corpus);

}  // namespace rankfeed::cli
