// SPDX-License-Identifier: MIT
// The safetensors reader: what it reads, and that every file which is not exactly right is refused.
#include "crossencoder/model/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "crossencoder/model/model_error.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"

namespace rankfeed::handoff {
namespace {

std::string File(const std::string& header, size_t data_bytes) {
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i)
    file[static_cast<size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
  file += header;
  for (size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i);
  return file;
}

// A copy of exactly the file's size, so that AddressSanitizer sees a read past its end.
Safetensors Read(const std::string& file) {
  const std::vector<char> exact(file.begin(), file.end());
  return Safetensors(std::as_bytes(std::span(exact)), "f");
}

std::string Refusal(const std::string& file) {
  try {
    Read(file);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(Safetensors, ReadsTensorsOfAllTypes) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[8,20]},)"
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"none":{"dtype":"BF16","shape":[0,4],"data_offsets":[20,20]},)"
      R"("one":{"dtype":"I64","shape":[],"data_offsets":[20,28]}}   )";
  const std::string file = File(header, 28);
  const Safetensors read(std::as_bytes(std::span(file)), "f");
  ASSERT_EQ(read.tensors().size(), 4u);
  const StoredTensor& b = read.tensors().find("b")->second;
  EXPECT_EQ(b.type, TensorType::kF16);
  EXPECT_EQ(b.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(b.data.size(), 12u);
  EXPECT_EQ(b.data[0], std::byte{8});
  EXPECT_EQ(read.tensors().find("none")->second.elements, 0u);
  EXPECT_EQ(read.tensors().find("one")->second.type, TensorType::kOther);
  float values[2], expected[2];
  CopyToFloat(read.tensors().find("a")->second, values);
  std::memcpy(expected, file.data() + 8 + header.size(), sizeof expected);
  EXPECT_EQ(0, std::memcmp(values, expected, sizeof values));
}

TEST(Safetensors, RefusesWhatDoesNotAddUp) {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"t":{"dtype":")") + dtype + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}}";
  };
  const struct {
    std::string file;
    const char* words;
  } cases[] = {
      {"", "shorter than"},
      {std::string(8, '\xff'), "header of"},
      {std::string(8, '\0'), "does not begin"},
      {File("[]", 0), "does not begin"},
      {File("{", 0), "not JSON"},
      {File(R"({"t":1})", 0), "not described by an object"},
      {File(R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4), "no dtype"},
      {File(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4), "no shape"},
      {File(R"({"t":{"dtype":"F32","shape":[1]}})", 4), "data_offsets"},
      {File(tensor("F4", "[1]", "[0,4]"), 4), "unknown dtype F4"},
      {File(tensor("F32", "[1]", "[0,8]"), 8), "has 8 bytes"},
      {File(tensor("F32", "[2]", "[0,4]"), 4), "need 8"},
      {File(tensor("F32", "[1]", "[4,0]"), 4), "lies at"},
      {File(tensor("F32", "[1]", "[0,5]"), 4), "lies at"},
      {File(tensor("F32", "[1]", "[18446744073709551612,4]"), 4), "lies at"},
      {File(tensor("F32", "[1]", "[-4,0]"), 4), "data_offsets"},
      {File(tensor("F32", "[-1]", "[0,4]"), 4), "whole numbers"},
      {File(tensor("F32", "[1.5]", "[0,4]"), 4), "whole numbers"},
      {File(tensor("F32", "[4294967296,4294967296]", "[0,4]"), 4), "overflows"},
      {File(tensor("F32", "[4611686018427387905]", "[0,4]"), 4), "overflows"},
      {File(tensor("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4), "8 dimensions"},
      {File(tensor("F32", "[1]", "[0,4]"), 5), "after the last"},
      {File(tensor("F32", "[1]", "[4,8]"), 8), "belong to no tensor"},
      {File(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4),
       "fields besides"},
      {File(
           R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           4),
       "stands twice"},
      {File(
           R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"u":{"dtype":"F16","shape":[2],"data_offsets":[2,6]}})",
           6),
       "overlap"},
  };
  for (const auto& c : cases) {
    const std::string why = Refusal(c.file);
    EXPECT_NE(why.find(c.words), std::string::npos)
        << "'" << why << "' for " << c.file.substr(8 <= c.file.size() ? 8 : 0);
  }
}

TEST(Safetensors, EveryTruncationAndManyFlipsEndCleanly) {
  std::ifstream in(GoldenFolder() + "roberta/model.safetensors", std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(file.size(), 10000u);
  EXPECT_EQ(Refusal(file), "");
  for (size_t size = 0; size < file.size(); size += size < 4096 ? 7 : 101) {
    EXPECT_NE(Refusal(file.substr(0, size)), "") << size;
  }
  EXPECT_NE(Refusal(file + "x"), "");
  std::mt19937_64 random(5);
  size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {  // in the length and the header
    std::string bad = file;
    bad[random() % 3000] = static_cast<char>(random());
    refused += !Refusal(bad).empty();
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace rankfeed::handoff
