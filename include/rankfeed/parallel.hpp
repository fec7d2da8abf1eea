// SPDX-License-Identifier: MIT
// rankfeed/parallel.hpp: header-only C++20 wrapper over rankfeed/parallel.h: threads for requests of
// several rerankers.
#ifndef RANKFEED_PARALLEL_HPP_
#define RANKFEED_PARALLEL_HPP_

#include <cstdint>
#include <memory>

#include "rankfeed/parallel.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed {
inline namespace v1 {

class Parallel {
 public:
  // workers: the calling thread included; 0: as many as the process may run on.
  static Result<Parallel> Open(uint32_t workers) {
    rankfeed_parallel* parallel = nullptr;
    const rankfeed_status status = rankfeed_parallel_open(workers, &parallel);
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error::From(status, "threads"); });
    }
    return Parallel(parallel);
  }
  const rankfeed_executor* executor() const { return rankfeed_parallel_executor(parallel_.get()); }

 private:
  explicit Parallel(rankfeed_parallel* parallel) : parallel_(parallel, rankfeed_parallel_close) {}
  std::unique_ptr<rankfeed_parallel, void (*)(rankfeed_parallel*)> parallel_;
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_PARALLEL_HPP_
