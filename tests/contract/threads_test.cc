// SPDX-License-Identifier: MIT
// One model, many threads, an encoder each: results equal those of one thread. Built with
// -fsanitize=thread this also shows that the model is only read.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "contract/contract_models.h"

namespace rankfeed::contract {
namespace {

class Threads : public ContractTest {};

TEST_P(Threads, ShareOneModel) {
  std::vector<Columns> expected;
  std::vector<std::string> decoded;
  OwnedEncoder single(model(), Limits(1000, true));
  const auto decode = [](rankfeed_encoder* encoder, const std::vector<int32_t>& ids) {
    std::string text(10000, '\0');
    size_t size = 0;
    if (rankfeed_decode(encoder, ids.data(), ids.size(), 0, text.data(), text.size(), &size) !=
        RANKFEED_OK) {
      return std::string("failed");
    }
    text.resize(size);
    return text;
  };
  for (const std::string& text : Texts()) {
    expected.push_back(Encode(single.get(), text, RANKFEED_ADD_SPECIAL_TOKENS, true));
    decoded.push_back(decode(single.get(), expected.back().ids));
  }

  constexpr size_t kThreads = 8, kRounds = 200;
  std::atomic<size_t> ready{0}, differences{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      OwnedEncoder encoder(model(), Limits(1000, true, t % 2 == 0 ? 4096 : 0));
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (size_t round = 0; round < kRounds; ++round) {
        const size_t i = (round * 7 + t) % Texts().size();
        const Columns columns =
            Encode(encoder.get(), Texts()[i], RANKFEED_ADD_SPECIAL_TOKENS, true);
        differences += columns != expected[i];
        differences += decode(encoder.get(), columns.ids) != decoded[i];
        rankfeed_model_info info{};
        info.struct_size = sizeof(info);
        differences += rankfeed_model_get_info(model(), &info) != RANKFEED_OK;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, 0u);
}

RANKFEED_CONTRACT_SUITE(Threads);

}  // namespace
}  // namespace rankfeed::contract
