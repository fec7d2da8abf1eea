// SPDX-License-Identifier: MIT
// golden_models.h: the random models of tests/gpu_handoff/golden with the scores PyTorch gave them,
// and those of every kind that numpy_models.py made for this run with NumPy's.
#ifndef RANKFEED_TESTS_GPU_HANDOFF_FORWARD_GOLDEN_MODELS_H_
#define RANKFEED_TESTS_GPU_HANDOFF_FORWARD_GOLDEN_MODELS_H_

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "rankfeed/crossencoder.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::handoff {

struct GoldenModel {
  std::string name, path;
  std::vector<std::vector<int32_t>> rows, types;
  std::vector<std::vector<float>> logits;
};

inline std::string GoldenFolder() {
  const char* source = std::getenv("RANKFEED_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") + "/tests/gpu_handoff/golden/";
}

// Where numpy_models.py (or golden/make_golden.py, with PyTorch's scores) has put models; empty,
// with the words of a test that is not run for it, when it has not.
inline std::string MadeFolder() {
  const char* folder = std::getenv("RANKFEED_MADE_MODELS");
  const std::string path = folder != nullptr ? std::string(folder) + "/" : "";
  return !path.empty() && std::filesystem::exists(path + "golden.json") ? path : "";
}
inline constexpr const char* kNoModels =
    "no models of numpy_models.py in RANKFEED_MADE_MODELS (the test handoff_numpy_models makes "
    "them)";

inline std::vector<GoldenModel> LoadGolden(const std::string& folder = GoldenFolder(),
                                           const std::string& name = "golden.json") {
  std::vector<GoldenModel> models;
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const auto error = parser.load(folder + name).get(root);
  EXPECT_EQ(error, simdjson::SUCCESS) << folder;
  if (error) return models;
  const auto lists = [](simdjson::dom::element element, auto convert) {
    std::vector<std::vector<decltype(convert(element))>> out;
    const simdjson::dom::array outer = element.get_array().value();
    for (const auto row : outer) {
      out.emplace_back();
      const simdjson::dom::array inner = row.get_array().value();
      for (const auto value : inner) out.back().push_back(convert(value));
    }
    return out;
  };
  const auto integer = [](simdjson::dom::element e) {
    return static_cast<int32_t>(e.get_int64().value());
  };
  const auto number = [](simdjson::dom::element e) {
    return static_cast<float>(e.get_double().value());
  };
  for (const auto& [key, value] : root) {
    GoldenModel model;
    model.name = key;
    model.path = folder + model.name;
    model.rows = lists(value["rows"].value(), integer);
    model.types = lists(value["types"].value(), integer);
    model.logits = lists(value["logits"].value(), number);
    models.push_back(std::move(model));
  }
  return models;
}

// Rows one after the other, as rankfeed_packed_batch wants them.
struct PackedRows {
  std::vector<int32_t> ids, types, cu_seqlens{0};
  uint32_t longest = 0;

  PackedRows(const std::vector<std::vector<int32_t>>& rows,
             const std::vector<std::vector<int32_t>>& row_types) {
    for (size_t r = 0; r < rows.size(); ++r) {
      ids.insert(ids.end(), rows[r].begin(), rows[r].end());
      if (!row_types.empty()) types.insert(types.end(), row_types[r].begin(), row_types[r].end());
      cu_seqlens.push_back(static_cast<int32_t>(ids.size()));
      longest = std::max(longest, static_cast<uint32_t>(rows[r].size()));
    }
  }
  rankfeed_packed_batch batch() const {
    rankfeed_packed_batch b{};
    b.struct_size = sizeof b;
    b.rows = static_cast<uint32_t>(cu_seqlens.size() - 1);
    b.tokens = static_cast<uint32_t>(ids.size());
    b.max_seqlen = longest;
    b.input_ids = ids.data();
    b.cu_seqlens = cu_seqlens.data();
    b.token_type_ids = types.empty() ? nullptr : types.data();
    return b;
  }
};

// An opened model; fails the test when it cannot be opened.
class OpenModel {
 public:
  explicit OpenModel(const std::string& path, rankfeed_crossencoder_options options = {}) {
    options.struct_size = sizeof options;
    rankfeed_crossencoder_error error{};
    error.struct_size = sizeof error;
    EXPECT_EQ(rankfeed_crossencoder_open(path.c_str(), &options, &model_, &error), RANKFEED_OK)
        << error.message;
  }
  ~OpenModel() { rankfeed_crossencoder_close(model_); }
  OpenModel(const OpenModel&) = delete;
  OpenModel& operator=(const OpenModel&) = delete;
  const rankfeed_crossencoder* get() const { return model_; }
  rankfeed_crossencoder_info info() const {
    rankfeed_crossencoder_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(rankfeed_crossencoder_get_info(model_, &info), RANKFEED_OK);
    return info;
  }
  AlignedBytes Workspace(const rankfeed_packed_batch& b) const {
    rankfeed_mem_req need{};
    EXPECT_EQ(rankfeed_crossencoder_workspace(model_, b.rows, std::max(1u, b.tokens),
                                              std::max(1u, b.max_seqlen), &need),
              RANKFEED_OK);
    return AlignedBytes(need);
  }
  std::vector<float> Score(const PackedRows& rows) const {
    const rankfeed_packed_batch b = rows.batch();
    const AlignedBytes workspace = Workspace(b);
    std::vector<float> logits(size_t{b.rows} * info().labels, -1234.0f);
    EXPECT_EQ(
        rankfeed_crossencoder_score(model_, &b, workspace.data(), workspace.size(), logits.data()),
        RANKFEED_OK);
    return logits;
  }

 private:
  rankfeed_crossencoder* model_ = nullptr;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_GPU_HANDOFF_FORWARD_GOLDEN_MODELS_H_
