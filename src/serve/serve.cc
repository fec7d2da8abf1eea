// SPDX-License-Identifier: MIT
// serve/serve.cc: the life of a service: listen, answer, drain. See service.h.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <random>
#include <stdexcept>

#include "parallel/cpus.h"
#include "rankfeed/version.h"
#include "serve/service.h"
#include "serve/thread.h"

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

// Signals that came and were not looked at yet. Lock-free, as what a handler touches has to be.
enum : uint32_t { kDrain = 1, kReload = 2 };
std::atomic<uint32_t> g_came{0};
static_assert(decltype(g_came)::is_always_lock_free);

void Note(int signal) {
  g_came |= signal == SIGHUP ? kReload : kDrain;
}

void Handle(std::initializer_list<int> signals, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : signals) sigaction(signal, &action, nullptr);
}

// Ends the process when threads that compute do not come back in time: a drain takes less than 10 s
// whatever clients and models do. The thread is there from the start, when there is memory for it.
class Watchdog {
 public:
  explicit Watchdog(const State* state) : state_(state) {
    thread_ = StartThread("ends a drain that takes too long", [this] { Run(); });
  }
  ~Watchdog() {
    Set(&over_);
    thread_.join();
  }
  void Begin(std::chrono::milliseconds patience) {
    patience_ = patience;
    Set(&begun_);
  }

 private:
  void Set(bool* flag) {
    {
      const std::lock_guard lock(mutex_);
      *flag = true;
    }
    wake_.notify_all();
  }
  void Run() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return begun_ || over_; });
    if (wake_.wait_for(lock, patience_, [this] { return over_; })) return;
    std::printf("drained: %llu answered; a batch did not end in time\n",
                static_cast<unsigned long long>(state_->metrics.outcomes[0].load()));
    std::fflush(stdout);
    state_->log->Stop();
    _exit(1);
  }

  const State* const state_;
  std::chrono::milliseconds patience_{};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool begun_ = false, over_ = false;
  std::thread thread_;
};

// A listener that is open. Throws std::runtime_error.
class Open : public Listener {
 public:
  Open(const ListenerOptions& options, Application* application) : Listener(options, application) {
    if (std::string error = Listener::Open(); !error.empty()) throw std::runtime_error(error);
  }
};

// The operators' listener, on a thread of its own.
class Operators {
 public:
  explicit Operators(State* state)
      : service_(state, /*admin=*/true), listener_(AdminListener(state->options), &service_) {
    thread_ = StartThread("answers operators", [this] { listener_.Run(); });
  }
  ~Operators() {
    listener_.Stop();
    thread_.join();
  }
  unsigned port() const { return listener_.port(); }

 private:
  Service service_;
  serve::Open listener_;
  std::thread thread_;
};

// Logs the begin or the end of a drain.
void LogDrain(const State& state, const char* event, uint64_t dropped) {
  if (!state.log->Has(Level::kInfo)) return;
  Line line = state.log->Begin(Level::kInfo, event);
  line.Number("answered", state.metrics.outcomes[0]).Number("waiting", state.workers->depth()).Number("running", state.metrics.running);
  state.log->Put(dropped == 0 ? line : line.Number("not_taken", dropped));
}

// Logs that the service begins to answer. operators: port of their listener; 0: there is none.
void LogStart(const State& state, unsigned port, unsigned operators) {
  if (!state.log->Has(Level::kInfo)) return;
  const auto assets = state.assets.Get();
  Line line = state.log->Begin(Level::kInfo, "start");
  line.Text("version", rankfeed_version_string()).Text("model", assets->paths.model).Text("vocab", assets->vocabulary_file);
  line.Text("corpus", assets->paths.corpus).Text("host", state.options.listener.host).Number("port", port);
  if (operators != 0) line.Text("admin_host", state.options.admin_host).Number("admin_port", operators);
  state.log->Put(line.Number("workers", state.options.workers).Number("generation", assets->generation));
}

}  // namespace

void LogNote(const Assets& assets, Log* log) noexcept {
  if (assets.note.empty() || !log->Has(Level::kWarn)) return;
  Line line = log->Begin(Level::kWarn, "note");
  log->Put(line.Text("message", assets.note));
}

int Serve(Options options) {
  Handle({SIGPIPE, SIGUSR1, SIGUSR2}, SIG_IGN);
  Handle({SIGHUP}, Note);  // one that comes while the first set is loaded is remembered, too
  if (options.workers == 0) options.workers = UsableCpus();
  options.listener.max_connections = RaiseDescriptors(options.listener.max_connections);
  const Reserve reserve;
  Log log(options.log);
  State state(options, &log);
  state.process = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  if (auto error = state.assets.Swap(options.paths)) throw std::runtime_error(error.message);
  LogNote(*state.assets.Get(), &log);
  (void)OpenApi();  // made once, with memory that a start may fail for and a request may not
  state.workers = std::make_unique<Workers>(options, &state.assets);
  state.loader = std::make_unique<Loader>(&state);
  Watchdog watchdog(&state);

  Service requests(&state, /*admin=*/false);
  Open listener(options.listener, &requests);
  state.connections = &listener.counts();
  Clock::time_point give_up = Clock::time_point::max();
  listener.OnTick([&] {
    const uint32_t came = g_came.exchange(0);
    if ((came & kDrain) != 0 && !state.draining.exchange(true)) {
      listener.Drain();
      give_up = Clock::now() + options.listener.drain - std::chrono::milliseconds(500);
      watchdog.Begin(options.listener.drain + std::chrono::milliseconds(1700));
      state.manager.Tell("STOPPING=1");
      LogDrain(state, "drain", 0);
    }
    if ((came & kReload) != 0 && !state.draining) state.loader->Repeat();
    if (Clock::now() >= give_up) state.workers->Cancel();
    state.manager.TellAlive();
  });
  std::optional<Operators> operators;
  if (options.admin_port >= 0) operators.emplace(&state);
  Handle({SIGTERM, SIGINT, SIGQUIT}, Note);
  std::printf("listening on %s:%u\n", options.listener.host.c_str(), unsigned{listener.port()});
  if (operators)
    std::printf("health, metrics and /admin/reload on %s:%u\n", options.admin_host.c_str(), operators->port());
  std::fflush(stdout);
  LogStart(state, listener.port(), operators ? operators->port() : 0);
  state.manager.Tell("READY=1");
  listener.Run();
  state.workers->Cancel();
  state.workers->Stop();
  state.loader.reset();  // waits for a swap that is under way
  operators.reset();
  const uint64_t dropped = listener.counts().dropped;
  const std::string rest = dropped == 0 ? "" : fmt::format(", {} not taken by their clients", dropped);
  LogDrain(state, "end", dropped);
  std::printf("drained: %llu answered%s\n", static_cast<unsigned long long>(state.metrics.outcomes[0].load()), rest.c_str());
  return 0;
}

}  // namespace rankfeed::serve
