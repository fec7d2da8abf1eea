// SPDX-License-Identifier: MIT
// crossencoder/model/model_error.h: how the readers of model files fail: one exception with a
// status and words, caught in forward/crossencoder.cc before the C ABI.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_ERROR_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_ERROR_H_

#include <stdexcept>
#include <string>

#include "rankfeed/status.h"

namespace rankfeed::handoff {

struct ModelError : std::runtime_error {
  ModelError(rankfeed_status s, const std::string& message)
      : std::runtime_error(message), status(s) {}
  rankfeed_status status;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODEL_ERROR_H_
