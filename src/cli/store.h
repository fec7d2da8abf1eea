// SPDX-License-Identifier: MIT
// cli/store.h: a corpus store as the commands open it.
#pragma once

#include <fmt/format.h>
#include <string.h>

#include <string>

#include "cli/cli.h"
#include "rankfeed/corpus.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::cli {

// A store open for reading.
class Store {
 public:
  Store(const std::string& path, const rankfeed_model* model, rankfeed_corpus_options options = {})
      : storage_(rankfeed_corpus_mem_req()) {
    options.struct_size = sizeof(options);
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    const rankfeed_status status =
        rankfeed_corpus_open_file(path.c_str(), model, &options, storage_.data(), storage_.size(),
                                  &mapping_, &corpus_, &detail);
    if (status == RANKFEED_E_IO) {
      throw Failure(fmt::format("{}: {}", path, strerror(static_cast<int>(detail.item))));
    }
    if (status != RANKFEED_OK) {
      throw Failure(fmt::format("{}: {} (at byte {})", path, rankfeed_status_message(status),
                                detail.byte_offset));
    }
    info_.struct_size = sizeof(info_);
    (void)rankfeed_corpus_get_info(corpus_, &info_);
  }
  Store(const Store&) = delete;
  ~Store() { rankfeed_image_unmap(&mapping_); }
  const rankfeed_corpus* get() const { return corpus_; }
  const rankfeed_corpus_info& info() const { return info_; }

 private:
  AlignedBytes storage_;
  rankfeed_mapping mapping_{};
  rankfeed_corpus* corpus_ = nullptr;
  rankfeed_corpus_info info_{};
};

}  // namespace rankfeed::cli
