// SPDX-License-Identifier: MIT
// serve/options.h: all that the operator of a service chooses.
#pragma once

#include <cstdint>
#include <string>

#include "serve/assets.h"
#include "serve/http.h"
#include "serve/log.h"

namespace rankfeed::serve {

struct Options {
  AssetPaths paths;
  ListenerOptions listener;  // of rerank requests
  LogOptions log;
  std::string admin_host = "127.0.0.1";
  int admin_port = -1;        // -1: no listener of its own
  std::string model_name;     // as /info and answers say it; empty: the model's path
  std::string api_key;        // empty: everybody may ask
  bool auto_truncate = true;  // of text-embeddings-inference requests that do not say
  uint32_t workers = 0;       // threads that tokenize and score; 0: one for each CPU it may use
  uint32_t queue = 64;        // requests that may wait for one
  uint32_t max_batch_tokens = 8192;
  uint32_t max_documents = 1000;          // of a request
  uint32_t max_stretch_bytes = 0;         // of a text; 0: as rankfeed_limits has it
  uint64_t max_request_tokens = 1 << 20;  // of all rows of a request
  uint32_t max_json_depth = 16;
  uint32_t max_json_elements = 100'000;
};

}  // namespace rankfeed::serve
