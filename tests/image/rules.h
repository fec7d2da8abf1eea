// SPDX-License-Identifier: MIT
// tests/image/rules.h: the verifier with a switch for each rule, made of image/verify.cc by
// switch_rules.cmake.
#pragma once

#include "image/model.h"
#include "rankfeed/model.h"

namespace rankfeed::image_test {
// The Require() of image/verify.cc that does not count, from 0 on in the order of the file; -1: all
// do.
extern int rule_off;
}  // namespace rankfeed::image_test

namespace rankfeed::image {
rankfeed_status VerifyWithout(const Model& model, rankfeed_error_detail* detail);
}  // namespace rankfeed::image
