// The C++ headers of the runtime, in a project that names no version of C++.
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.hpp"

rankfeed::Error None() {
  return {};
}
