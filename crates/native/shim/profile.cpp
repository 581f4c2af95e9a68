// Records operators on the host and kernels on a device, by libtorch's Kineto profiler.
#include "border.h"
#include "cuda.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/record_function.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <tuple>

extern "C" {
struct ProfileEvent {
  // All pointers of this struct are valid only during the callback.
  Text name;
  // A `profile::Activity`.
  int32_t activity;
  // The CUDA device; negative for the host.
  int32_t device_index;
  uint64_t start_ns;
  uint64_t duration_ns;
  uint64_t thread;
  // The operator's own number; 0 if it has none.
  uint64_t correlation;
  // The number of the operator that launched this work; 0 if there is none.
  uint64_t launched_by;
  // Floating-point operations by torch's formulas; 0 where torch has no formula.
  uint64_t flops;
  // Bytes of an allocation; negative for a release.
  int64_t bytes;
  // The arguments: the sizes of all of them one after the other, then for each argument its number of sizes and its
  // dtype as C++ names it.
  const int64_t* sizes;
  const size_t* dimensions;
  const Text* dtypes;
  size_t arguments;
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
  Range = 6,
  Memory = 7,
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
    case ActivityType::USER_ANNOTATION:
      return Activity::Range;
    case ActivityType::CPU_INSTANT_EVENT:
      // Failed allocations are instant events, too; only "[memory]" is an allocation or a release.
      return event.name() == "[memory]" ? Activity::Memory : Activity::Other;
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
  Session(bool cuda, bool details) {
    const profiler::ProfilerConfig config(
        profiler::ProfilerState::KINETO,
        /*report_input_shapes=*/details,
        /*profile_memory=*/details,
        /*with_stack=*/details,
        /*with_flops=*/details);
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

// The arguments of an event as flat arrays for C; valid only during the callback.
struct Arguments {
  explicit Arguments(const profiler::KinetoEvent& event) {
    if (!event.hasShapes() || !event.hasTypes()) {
      return;
    }
    const auto shapes = event.shapes();
    const auto types = event.dtypes();
    const size_t count = std::min(shapes.size(), types.size());
    for (size_t at = 0; at < count; ++at) {
      sizes.insert(sizes.end(), shapes[at].begin(), shapes[at].end());
      dimensions.push_back(shapes[at].size());
      dtypes.push_back(Text{types[at].data(), types[at].size()});
    }
  }

  std::vector<int64_t> sizes;
  std::vector<size_t> dimensions;
  std::vector<Text> dtypes;
};

static void show(
    const profiler::KinetoEvent& event,
    void (*shown)(void* context, const ProfileEvent* event),
    void* context) {
  const std::string name = event.name();
  const Arguments arguments(event);
  const bool on_device = event.deviceType() == c10::DeviceType::CUDA;
  const Activity kind = activity(event);
  const ProfileEvent raw{
      Text{name.data(), name.size()},
      static_cast<int32_t>(kind),
      on_device ? event.deviceIndex() : -1,
      event.startNs(),
      event.durationNs(),
      event.startThreadId(),
      event.correlationId(),
      event.linkedCorrelationId(),
      event.flops(),
      kind == Activity::Memory ? event.nBytes() : 0,
      arguments.sizes.data(),
      arguments.dimensions.data(),
      arguments.dtypes.data(),
      arguments.dtypes.size()};
  shown(context, &raw);
}

} // namespace profile

// Calls `step` once within a session, then `show` with each of its events. Both take `context` and must not throw.
// `device_index` is that of a CUDA device, negative for the host alone. With `details` events have arguments, flops and
// stacks, and allocations are among them. The trace goes to the file `trace`, unless that is empty; the caller has to
// check that it was written, because Kineto only logs its errors.
extern "C" Status ctn_profile_record(
    int32_t device_index,
    bool details,
    Text trace,
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
    profile::Session session(device_index >= 0, details);
    step(context);
    wait();
    const auto result = session.end();
    for (const auto* event : profile::in_order(result->events())) {
      profile::show(*event, show, context);
    }
    if (trace.length > 0) {
      result->save(trace.str());
    }
  });
}

// Opens a user range on this thread, which lasts until it is freed. Does nothing without a profiling session.
extern "C" Status ctn_profile_range(Text name, Handle* out) noexcept {
  return border::guard([&] {
    auto range = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    if (range->isActive()) {
      range->before(name.str());
    }
    *out = border::handle(std::move(range));
  });
}
