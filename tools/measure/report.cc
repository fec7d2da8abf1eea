// SPDX-License-Identifier: MIT
// measure/report.cc: the page's template (report.html, compiled in) with the data put in its place.
#include "measure/report.h"

#include "rankfeed_report_template.h"  // written from report.html by CMake

namespace rankfeed::measure {

std::string ReportHtml(const nlohmann::ordered_json& audit) {
  std::string data = audit.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Inside <script> only "</" and "<!--" could end or change the element; both need a '<'.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;) data.replace(at, 1, "\\u003c");
  std::string page(kReportTemplate);
  constexpr std::string_view kPlace = "/*DATA*/";
  page.replace(page.find(kPlace), kPlace.size(), data);
  return page;
}

}  // namespace rankfeed::measure
