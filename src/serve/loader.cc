// SPDX-License-Identifier: MIT
// serve/loader.cc: see loader.h.
#include "serve/loader.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "serve/service.h"
#include "serve/thread.h"

namespace rankfeed::serve {

Loader::Loader(State* state) : state_(state) {
  thread_ = StartThread("loads sets", [this] { Run(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Loader::Take(Request request, std::function<void(Response)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (loading_ || job_ || again_) return false;
    job_.emplace(Job{std::move(request), std::move(done)});
  }
  wake_.notify_all();
  return true;
}

void Loader::Repeat() noexcept {
  {
    const std::lock_guard lock(mutex_);
    again_ = true;
  }
  wake_.notify_all();
}

void Loader::Run() {
  for (;; Reserve::Refill()) {
    std::optional<Job> job;
    {
      std::unique_lock lock(mutex_);
      loading_ = false;
      wake_.wait(lock, [this] { return job_ || again_ || stopping_; });
      if (job_) {
        job.swap(job_);
      } else if (stopping_) {
        return;
      } else {
        again_ = false;
      }
      loading_ = true;
    }
    if (!job) {
      (void)Swap(state_->assets.Get()->paths, "SIGHUP");
      continue;
    }
    Response response;
    try {
      response = Reload(job->request);
    } catch (const std::bad_alloc&) {
      response = StarvedResponse(Dialect::kTei, Kind::kInvalid);
    }
    {
      const std::lock_guard lock(mutex_);
      loading_ = false;  // who has the answer may ask again
    }
    job->done(std::move(response));
  }
}

// Loads and swaps; the log and the service manager learn of it. by: who asked.
Error Loader::Swap(const AssetPaths& paths, const char* by) {
  const auto begin = Clock::now();
  if (!state_->draining) state_->manager.TellReloading();
  Error error = state_->assets.Swap(paths);
  if (!error) {
    state_->workers->Refresh();
    ++state_->metrics.swaps;
  }
  if (!state_->draining) state_->manager.Tell("READY=1");
  const auto assets = state_->assets.Get();
  if (const Level level = error ? Level::kError : Level::kInfo; state_->log->Has(level)) {
    Line line = state_->log->Begin(level, error ? "reload_failed" : "reload");
    line.Text("by", by).Number("generation", assets->generation).Milliseconds("ms", Clock::now() - begin).Text("error", error.message);
    state_->log->Put(line.Text("kept", error ? "the set loaded before" : ""));
  }
  if (!error) LogNote(*assets, state_->log);
  return error;
}

Response Loader::Reload(const Request& request) {
  try {
    AssetPaths paths = state_->assets.Get()->paths;
    const std::string_view bytes = request.body.bytes();
    const JsonTree body = ParseJson(bytes.empty() ? "{}" : bytes, state_->options);
    for (const auto& [name, value] : body.root.items()) {
      std::string* const place = name == "vocab"    ? &paths.vocab
                                 : name == "corpus" ? &paths.corpus
                                 : name == "model"  ? &paths.model
                                                    : nullptr;
      if (place == nullptr) throw Problem{Kind::kInvalid, fmt::format("`{}` is none of `vocab`, `corpus` and `model`", name)};
      if (value.is_null()) continue;
      if (!value.is_string() || (name == "model" && value == ""))
        throw Problem{Kind::kInvalid, fmt::format("`{}` must be a path", name)};
      *place = value.get<std::string>();
      if (place->find('\0') != place->npos)
        throw Problem{Kind::kInvalid, fmt::format("`{}` is {}; no path has the character U+0000", name, Quoted(*place))};
    }
    if (auto error = Swap(paths, "/admin/reload")) throw Problem{Kind::kInvalid, error.message};
    Response out;
    out.content_type = "application/json";
    out.body = fmt::format("{{\"generation\":{}}}", state_->assets.Get()->generation);
    return out;
  } catch (const Problem& problem) {
    return ProblemResponse(Dialect::kTei, problem);
  }
}

}  // namespace rankfeed::serve
