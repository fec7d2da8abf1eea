// SPDX-License-Identifier: MIT
// measure/receipt.h: one measurement of one tokenizer on one workload, and its JSON document, whose
// fields docs/receipts.md describes and docs/receipt.schema.json pins.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "measure/parity.h"
#include "measure/placed_image.h"
#include "measure/replay.h"
#include "measure/workload.h"

namespace rankfeed::measure {

inline constexpr int kSchemaVersion = 3;

struct RunOptions {
  ReplayOptions replay;
  double encode_seconds = 1;          // of the encode measurement
  std::vector<double> sweep;          // further loads to replay at, for latency over load
  double price_per_core_hour = 0;     // 0: no cost
  std::string currency = "USD";
  size_t unicode_texts = 2000;
  bool pointer_chase = true;
  std::string simulated_file;         // report of bench/callgrind.py; "": none
};

struct Run {
  RunOptions options;
  EngineInfo engine;
  std::string workload_name, workload_hash;
  size_t workload_requests = 0, distinct_texts = 0, repeated_candidates = 0, all_candidates = 0;
  uint64_t image_bytes = 0;
  PageLadder pages;
  EncodeCost encode;
  PointerChase chase;
  ReplayResult replay;
  std::vector<ReplayResult> sweep;
  Parity parity;
  nlohmann::ordered_json simulated;  // null: none

  // Seconds of CPU that one answered query takes on the host, and what of it is tokenization.
  double MeanStageSeconds(Stage stage, bool cpu) const;
  double MeanHostSeconds(bool cpu) const;
};

// Measures everything. reference (nullable) is what ids are compared with. image: what the model was
// opened over, for page facts. Throws std::runtime_error.
Run Measure(const Workload& workload, const PlacedImage& image, const EngineFactory& engines,
            Engine* reference, const RunOptions& options);

nlohmann::ordered_json ReceiptJson(const Run& run);

// A number, or null with the reason why there is none.
nlohmann::ordered_json Value(double value);
nlohmann::ordered_json NoValue(const std::string& reason);

}  // namespace rankfeed::measure
