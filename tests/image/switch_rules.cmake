# The verifier again, as VerifyWithout, with a switch for each rule: cmake -DFROM=... -DTO=... -P this
file(READ "${FROM}" text)
string(REPLACE "bool Require(" "bool Check(" text "${text}")
string(REPLACE "Require(" "REQUIRE(" text "${text}")
string(REPLACE "rankfeed_status Verify(" "rankfeed_status VerifyWithout(" text "${text}")
string(REPLACE "namespace rankfeed::image {\nnamespace {\n" [=[
#include "image/rules.h"
namespace rankfeed::image {
namespace {
enum : int { kRulesBegin = __COUNTER__ + 1 };
#define REQUIRE(rule, ...) \
  Check(image_test::rule_off == __COUNTER__ - kRulesBegin || (rule), __VA_ARGS__)
]=] text "${text}")
foreach(part "bool Check(" " VerifyWithout(" "kRulesBegin = ")
  string(FIND "${text}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${FROM} is not what this script expects: no ${part}")
  endif()
endforeach()
file(WRITE "${TO}" "${text}")
