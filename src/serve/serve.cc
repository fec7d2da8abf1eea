// SPDX-License-Identifier: MIT
// serve/serve.cc: the life of a service: listen, answer, drain. See service.h.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "parallel/cpus.h"
#include "serve/service.h"

namespace rankfeed::serve {
namespace {

// Descriptors that are no connections: files, the loops' own, the operators' connections.
constexpr uint64_t kOtherDescriptors = 512;
constexpr uint32_t kAdminConnections = 256;

// Raises the limit of descriptors to the system's; returns those left for connections.
uint32_t RaiseDescriptors(uint32_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  const uint64_t left = limit.rlim_cur > 2 * kOtherDescriptors ? limit.rlim_cur - kOtherDescriptors
                                                               : limit.rlim_cur / 2;
  return static_cast<uint32_t>(std::min<uint64_t>(wanted, left));
}

ListenerOptions AdminListener(const Options& o) {
  ListenerOptions out = o.listener;
  out.host = o.admin_host;
  out.port = static_cast<uint16_t>(o.admin_port);
  out.max_connections = kAdminConnections;
  out.max_body_bytes = 64 << 10;
  out.body_budget = 4 << 20;
  out.idle = std::chrono::milliseconds(600'000);
  return out;
}

// Ends the process when threads that compute do not come back in time: a drain takes less than 10 s
// whatever clients and models do.
class Watchdog {
 public:
  ~Watchdog() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  void Start(const State* state, std::chrono::milliseconds patience) {
    thread_ = std::thread([this, state, patience] {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, patience, [this] { return over_; })) return;
      std::printf("drained: %llu answered; a batch did not end in time\n",
                  static_cast<unsigned long long>(state->metrics.outcomes[0].load()));
      std::fflush(stdout);
      _exit(1);
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

int Serve(Options options) {
  signal(SIGPIPE, SIG_IGN);
  if (options.workers == 0) options.workers = UsableCpus();
  options.listener.max_connections = RaiseDescriptors(options.listener.max_connections);
  State state(options);
  Watchdog watchdog;
  state.process = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  if (auto error = state.assets.Swap(options.paths)) throw std::runtime_error(error.message);
  if (const auto assets = state.assets.Get(); !assets->note.empty())
    std::fprintf(stderr, "rankfeed: note: %s\n", assets->note.c_str());
  state.workers = std::make_unique<Workers>(options, &state.assets);

  Service requests(&state, /*admin=*/false), operators(&state, /*admin=*/true);
  Listener listener(options.listener, &requests);
  state.connections = &listener.counts();
  if (std::string error = listener.Open(); !error.empty()) throw std::runtime_error(error);
  std::optional<Listener> admin;
  std::thread admin_thread;
  if (options.admin_port >= 0) {
    admin.emplace(AdminListener(options), &operators);
    if (std::string error = admin->Open(); !error.empty()) throw std::runtime_error(error);
    admin_thread = std::thread([&] { admin->Run(); });
  }

  listener.OnSignals({SIGTERM, SIGINT}, [&](int) {
    if (state.draining.exchange(true)) return;
    listener.Drain();
    listener.After(options.listener.drain - std::chrono::milliseconds(500),
                   [&] { state.workers->Cancel(); });
    watchdog.Start(&state, options.listener.drain + std::chrono::milliseconds(1700));
  });
  std::printf("listening on %s:%u\n", options.listener.host.c_str(), unsigned{listener.port()});
  if (admin)
    std::printf("health, metrics and /admin/reload on %s:%u\n", options.admin_host.c_str(), unsigned{admin->port()});
  std::fflush(stdout);
  listener.Run();
  state.workers->Cancel();
  state.workers->Stop();
  operators.Join();
  if (admin) admin->Stop();
  if (admin_thread.joinable()) admin_thread.join();
  const uint64_t dropped = listener.counts().dropped;
  const std::string rest = dropped == 0 ? "" : fmt::format(", {} not taken by their clients", dropped);
  std::printf("drained: %llu answered%s\n", static_cast<unsigned long long>(state.metrics.outcomes[0].load()), rest.c_str());
  return 0;
}

}  // namespace rankfeed::serve
