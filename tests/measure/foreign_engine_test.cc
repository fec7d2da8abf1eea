// SPDX-License-Identifier: MIT
// foreign_engine_test.cc: the adapter protocol with a well-behaved program and with programs that break it.
#include "measure/foreign_engine.h"

#include <gtest/gtest.h>

#include "measure/json_schema.h"
#include "measure/receipt.h"
#include "measure/run_fixture.h"

namespace rankfeed::test {
namespace {

std::string Adapter(const std::string& mode) {
  return "python3 '" + SourceFile("tests/measure/adapter.py") + "' " + mode;
}

std::string Message(const std::string& command, std::string_view text = "ab") {
  try {
    ForeignEngine engine(command, 60);
    EncodedTexts out;
    engine.Encode({&text, 1}, &out);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(ForeignEngine, IdsTimesAndWhatItSaysOfItself) {
  ForeignEngine engine(Adapter("ok"));
  EXPECT_EQ(engine.info().implementation, "bytes");
  EXPECT_EQ(engine.info().version, "1.0");
  EXPECT_FALSE(engine.info().in_process);
  EncodedTexts out;
  const std::string_view texts[] = {"ab", "", "\xC3\xA9"};
  engine.Encode(texts, &out);
  ASSERT_EQ(out.begin.size(), 4u);
  EXPECT_EQ(std::vector<int32_t>(out.Of(0).begin(), out.Of(0).end()), (std::vector<int32_t>{97, 98}));
  EXPECT_TRUE(out.Of(1).empty());
  EXPECT_EQ(std::vector<int32_t>(out.Of(2).begin(), out.Of(2).end()), (std::vector<int32_t>{0xc3, 0xa9}));
  EXPECT_EQ(out.ns[0], 2000u);
  EXPECT_EQ(out.foreign_allocations, 9);
  engine.Encode({texts, 1}, &out);
  EXPECT_EQ(out.tokens(), 2u);
}

TEST(ForeignEngine, BreachesAreNamed) {
  EXPECT_EQ(Message(Adapter("ok")), "");
  EXPECT_NE(Message(Adapter("silent")).find("ended without an answer"), std::string::npos);
  EXPECT_NE(Message(Adapter("garbage")).find("greeting"), std::string::npos);
  EXPECT_NE(Message(Adapter("version")).find("version 2"), std::string::npos);
  EXPECT_NE(Message(Adapter("short")).find("1 texts were answered with 0 lists"), std::string::npos);
  EXPECT_NE(Message(Adapter("not_ids")).find("not an id"), std::string::npos);
  EXPECT_NE(Message(Adapter("dies")).find("ended without an answer"), std::string::npos);
  EXPECT_NE(Message(Adapter("error")).find("out of ideas"), std::string::npos);
  EXPECT_NE(Message("/no/such/program").find("ended without an answer"), std::string::npos);
}

TEST(ForeignEngine, CanBeReplayed) {
  Subject subject;  // builds the pairs; ids are the adapter's
  const EngineFactory engines = [] { return std::make_unique<ForeignEngine>(Adapter("slow")); };
  const measure::Run run = Measure(SmallWorkload(4, 3), subject.image, engines, nullptr, Quick());
  const nlohmann::ordered_json json = ReceiptJson(run);
  EXPECT_EQ(json["tokenizer"]["implementation"], "bytes");
  EXPECT_EQ(json["encode"]["allocations_per_encode"]["value"], 3.0);
  // Roads and instruction sets are rankfeed's.
  for (const char* field : {"fast_road", "off_fast_road", "isa"}) {
    EXPECT_TRUE(json["tokenizer"][field].is_null()) << field;
  }
  EXPECT_TRUE(json["encode"]["roads"]["value"].is_null());
  EXPECT_EQ(JsonSchema(nlohmann::ordered_json::parse(ReadFile(SourceFile("docs/receipt.schema.json"))))
                .Check(json),
            "");
  // Times are the adapter's: 1 us per character, and what it says of the later stages.
  EXPECT_NEAR(json["per_query"]["stages"]["documents"]["cpu_us"].get<double>(), 3 * 705, 60);
  EXPECT_GE(json["per_query"]["stages"]["assemble"]["cpu_us"].get<double>(), 5000.0);
  EXPECT_GE(json["per_query"]["stages"]["batch"]["cpu_us"].get<double>(), 7000.0);
  EXPECT_TRUE(json["counters"]["encode"]["task_clock_ns"]["value"].is_null());
}

}  // namespace
}  // namespace rankfeed::test
