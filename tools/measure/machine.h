// SPDX-License-Identifier: MIT
// measure/machine.h: where a receipt was made: CPU, kernel, compiler, revision.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rankfeed::measure {

// The "machine" and "build" objects of a receipt. Facts that cannot be read are null.
nlohmann::ordered_json MachineJson();
nlohmann::ordered_json BuildJson();

// Returns the text, or null where it is empty.
nlohmann::ordered_json OrNull(const std::string& text);

}  // namespace rankfeed::measure
