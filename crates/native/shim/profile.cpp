// Records one step, operators on the host and kernels on a device, by libtorch's Kineto profiler.
#include "border.h"
#include "cuda.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <tuple>

extern "C" {
struct ProfileEvent {
  // Not ended by NUL; lives during the call that shows it.
  const char* name;
  size_t name_length;
  // A `profile::Activity`.
  int32_t activity;
  // The CUDA device; negative for the host.
  int32_t device_index;
  uint64_t start_ns;
  uint64_t duration_ns;
};
}

namespace profile {

namespace profiler = torch::autograd::profiler;
using libkineto::ActivityType;

enum class Activity : int32_t {
  Operator = 0,
  Runtime = 1,
  Kernel = 2,
  Memcpy = 3,
  Memset = 4,
  Other = 5,
};

static Activity activity(const profiler::KinetoEvent& event) {
  if (event.scope() == static_cast<uint8_t>(at::RecordScope::TORCHSCRIPT_FUNCTION)) {
    // Kineto counts it among the operators, but it is what calls them.
    return Activity::Other;
  }
  switch (static_cast<ActivityType>(event.activityType())) {
    case ActivityType::CPU_OP:
      return Activity::Operator;
    case ActivityType::CUDA_RUNTIME:
    case ActivityType::CUDA_DRIVER:
      return Activity::Runtime;
    case ActivityType::CONCURRENT_KERNEL:
      return Activity::Kernel;
    case ActivityType::GPU_MEMCPY:
      return Activity::Memcpy;
    case ActivityType::GPU_MEMSET:
      return Activity::Memset;
    default:
      return Activity::Other;
  }
}

// Kineto has one session per process, and lets a second one discard the first in silence.
class Turn {
 public:
  Turn() {
    TORCH_CHECK(
        !taken.exchange(true),
        "a step is being profiled in this process already; profile one step after the other");
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    taken.store(false);
  }

 private:
  inline static std::atomic<bool> taken{false};
};

// Ends with the scope, whatever happens in it.
class Session {
 public:
  explicit Session(bool cuda) {
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    std::set<profiler::ActivityType> activities{profiler::ActivityType::CPU};
    if (cuda) {
      activities.insert(profiler::ActivityType::CUDA);
    }
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (!ended_) {
      try {
        profiler::disableProfiler();
      } catch (...) {
        // The exception that leaves the scope is the one to report.
      }
    }
  }

  std::unique_ptr<profiler::ProfilerResult> end() {
    ended_ = true;
    return profiler::disableProfiler();
  }

 private:
  Turn turn_;
  bool ended_ = false;
};

// By start; an operator comes before those that it calls.
static std::vector<const profiler::KinetoEvent*> in_order(
    const std::vector<profiler::KinetoEvent>& events) {
  std::vector<const profiler::KinetoEvent*> sorted;
  for (const auto& event : events) {
    sorted.push_back(&event);
  }
  const auto before = [](const auto* a, const auto* b) {
    return std::make_tuple(a->startNs(), b->endNs()) < std::make_tuple(b->startNs(), a->endNs());
  };
  std::stable_sort(sorted.begin(), sorted.end(), before);
  return sorted;
}

} // namespace profile

// Calls `step` once within a session, then `show` with each of its events. Both take `context` and must not throw.
// `device_index` is that of a CUDA device, negative for the host alone.
extern "C" Status ctn_profile_record(
    int32_t device_index,
    void (*step)(void* context),
    void (*show)(void* context, const ProfileEvent* event),
    void* context) noexcept {
  return border::guard([&] {
    // A kernel is in the session in which it ends, not in the one in which it was queued.
    const auto wait = [device_index] {
      if (device_index >= 0) {
        at::detail::getCUDAHooks().deviceSynchronize(cuda::device(device_index).index());
      }
    };
    wait();
    profile::Session session(device_index >= 0);
    step(context);
    wait();
    const auto result = session.end();
    for (const auto* event : profile::in_order(result->events())) {
      const std::string name = event->name();
      const bool on_device = event->deviceType() == c10::DeviceType::CUDA;
      const ProfileEvent shown{
          name.data(),
          name.size(),
          static_cast<int32_t>(profile::activity(*event)),
          on_device ? event->deviceIndex() : -1,
          event->startNs(),
          event->durationNs()};
      show(context, &shown);
    }
  });
}
