// SPDX-License-Identifier: MIT
// report_test.cc: the page holds its data, loads nothing, and cannot be broken out of by a text. With the path
// of a file as argument in RANKFEED_REPORT_OUT the page is left there (render_test.sh draws it).
#include "measure/report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "measure/findings.h"
#include "measure/run_fixture.h"

namespace rankfeed::test {
namespace {

TEST(Report, IsSelfContained) {
  Subject subject;
  RunOptions options = Quick();
  options.pointer_chase = true;
  options.replay.load = 1;
  options.replay.gpu_forward_ms = 5;
  options.sweep = {0.5, 2};
  options.price_per_core_hour = 0.05;
  Workload workload = SmallWorkload(40, 25, 80);
  workload.name = "</script><script>alert(1)</script>";
  const auto reference = subject.engines();
  const measure::Run run = Measure(workload, subject.image, subject.engines, reference.get(), options);
  nlohmann::ordered_json audit = {{"findings", FindingsJson(Judge(run))},
                                  {"receipt", ReceiptJson(run)}};
  const std::string page = ReportHtml(audit);
  for (const char* network : {"http://", "https://", "src=", "@import", "url(", "fetch(", "<link"}) {
    EXPECT_EQ(page.find(network), std::string::npos) << network;
  }
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("/*DATA*/"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  // The data can be taken out again.
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(open) + open.size();
  EXPECT_EQ(nlohmann::ordered_json::parse(page.substr(begin, page.find("</script>", begin) - begin)), audit);
  if (const char* out = std::getenv("RANKFEED_REPORT_OUT")) std::ofstream(out) << page;
}

}  // namespace
}  // namespace rankfeed::test
