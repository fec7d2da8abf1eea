// SPDX-License-Identifier: MIT
// cli/statement.h: `rankfeed receipt statement` and `rankfeed receipt show`.
#pragma once

#include <CLI/CLI.hpp>

namespace rankfeed::cli {

void AddStatement(CLI::App& receipt);
void AddShow(CLI::App& receipt);

}  // namespace rankfeed::cli
