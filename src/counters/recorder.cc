// SPDX-License-Identifier: MIT
// counters/recorder.cc: rankfeed/recorder.h.
#include "rankfeed/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "counters/trace_line.h"

struct rankfeed_recorder {
  static constexpr size_t kFlushAt = 1 << 20;

  int fd = -1;
  uint64_t one_in = 1, max_bytes = 0;
  mutable std::mutex mutex;
  std::string buffer;
  uint64_t seen = 0, written = 0, bytes = 0, first_ns = 0, last_ns = 0;
  bool full = false, failed = false;

  bool Flush() {
    for (size_t done = 0; done < buffer.size();) {
      const ssize_t n = write(fd, buffer.data() + done, buffer.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return !(failed = true);
      done += static_cast<size_t>(n);
    }
    buffer.clear();
    return true;
  }
};

extern "C" {

rankfeed_status rankfeed_recorder_open(const char* path, const rankfeed_recorder_options* options,
                                       rankfeed_recorder** out) {
  if (path == nullptr || out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (options != nullptr && options->struct_size != sizeof(*options)) return RANKFEED_E_STRUCT_SIZE;
  try {
    auto* recorder = new rankfeed_recorder;
    recorder->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (recorder->fd < 0) {
      delete recorder;
      return RANKFEED_E_IO;
    }
    if (options != nullptr) {
      recorder->one_in = std::max<uint64_t>(1, options->one_in);
      recorder->max_bytes = options->max_bytes;
    }
    recorder->buffer = rankfeed::counters::TraceHeader();
    recorder->bytes = recorder->buffer.size();
    *out = recorder;
    return RANKFEED_OK;
  } catch (const std::bad_alloc&) {
    return RANKFEED_E_NO_MEMORY;
  }
}

rankfeed_status rankfeed_recorder_add(rankfeed_recorder* recorder, uint64_t arrival_ns,
                                      rankfeed_text query, const rankfeed_text* candidates,
                                      size_t count) {
  if (recorder == nullptr || candidates == nullptr || count == 0 ||
      (query.data == nullptr && query.size != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (arrival_ns == 0) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    arrival_ns =
        static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  }
  try {
    const std::lock_guard lock(recorder->mutex);
    if (recorder->failed) return RANKFEED_E_IO;
    if (recorder->full || recorder->seen++ % recorder->one_in != 0) return RANKFEED_OK;
    if (recorder->written == 0) recorder->first_ns = recorder->last_ns = arrival_ns;
    recorder->last_ns = std::max(recorder->last_ns, arrival_ns);
    std::vector<std::string_view> texts;
    for (size_t i = 0; i < count; ++i) texts.emplace_back(candidates[i].data, candidates[i].size);
    const std::string line = rankfeed::counters::TraceLine(
        static_cast<double>(recorder->last_ns - recorder->first_ns) / 1e9,
        std::string_view(query.data, query.size), texts);
    if (recorder->max_bytes != 0 && recorder->bytes + line.size() > recorder->max_bytes) {
      recorder->full = true;
      return RANKFEED_OK;
    }
    recorder->buffer += line;
    recorder->bytes += line.size();
    ++recorder->written;
    if (recorder->buffer.size() >= rankfeed_recorder::kFlushAt && !recorder->Flush()) {
      return RANKFEED_E_IO;
    }
    return RANKFEED_OK;
  } catch (const std::bad_alloc&) {
    return RANKFEED_E_NO_MEMORY;
  } catch (...) {
    return RANKFEED_E_ARGUMENT;
  }
}

uint64_t rankfeed_recorder_count(const rankfeed_recorder* recorder) {
  if (recorder == nullptr) return 0;
  const std::lock_guard lock(recorder->mutex);
  return recorder->written;
}

rankfeed_status rankfeed_recorder_close(rankfeed_recorder* recorder) {
  if (recorder == nullptr) return RANKFEED_OK;
  const bool flushed = !recorder->failed && recorder->Flush();
  const bool closed = close(recorder->fd) == 0;
  delete recorder;
  return flushed && closed ? RANKFEED_OK : RANKFEED_E_IO;
}

}  // extern "C"
