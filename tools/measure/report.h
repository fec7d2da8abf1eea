// SPDX-License-Identifier: MIT
// measure/report.h: findings and receipt as one self-contained HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rankfeed::measure {

// audit: what `rankfeed audit --json` prints, or a receipt alone as its "receipt", or several as its "receipts", each with
// "name" and "receipt", and "verdict" where it was compared with the first. The page holds its data and draws its own charts (inline
// SVG); it loads nothing, and follows the reader's light or dark preference.
std::string ReportHtml(const nlohmann::ordered_json& audit);

}  // namespace rankfeed::measure
