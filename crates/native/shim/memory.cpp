// Counts what libtorch's allocators hand out and take back while a scope lives.
//
// libtorch reports every allocation and free to the object that the calling thread holds under
// DebugInfoKind::PROFILER_STATE. That slot is inherited by the threads of the autograd engine and of at::launch,
// not by the workers of at::parallel_for (whose bodies must not allocate tensors).
#include "border.h"
#include "memory_timeline.h"
#include "operations.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <streambuf>
#include <string_view>
#include <unordered_map>

extern "C" {
struct DeviceMemory {
  uint64_t peak_bytes;
  int64_t live_bytes;
  uint64_t total_bytes;
  uint64_t allocations;
};
struct MemoryReport {
  DeviceMemory cpu;
  DeviceMemory cuda;
};
}

namespace memory {

class Tally {
 public:
  Change count(void* block, int64_t bytes) {
    return bytes > 0 ? allocated(block, bytes) : Change{freed(block), 0};
  }

  DeviceMemory report() const {
    return memory_;
  }

 private:
  Change allocated(void* block, int64_t bytes) {
    int64_t released = 0;
    auto [entry, fresh] = blocks_.try_emplace(block, bytes);
    if (!fresh) {
      // The address is handed out again, so it was freed where this scope does not look (another thread).
      released = entry->second;
      memory_.live_bytes -= released;
      entry->second = bytes;
    }
    memory_.live_bytes += bytes;
    memory_.total_bytes += static_cast<uint64_t>(bytes);
    memory_.allocations += 1;
    memory_.peak_bytes = std::max(memory_.peak_bytes, static_cast<uint64_t>(memory_.live_bytes));
    return {released, bytes};
  }

  // A block that this scope did not see being allocated is not its own. CUDA reports the free of such a block; the CPU
  // reports it only when some earlier scope had seen an allocation at that address, and then with that block's size.
  int64_t freed(void* block) {
    auto entry = blocks_.find(block);
    if (entry == blocks_.end()) {
      return 0;
    }
    const int64_t released = entry->second;
    memory_.live_bytes -= released;
    blocks_.erase(entry);
    return released;
  }

  DeviceMemory memory_{};
  std::unordered_map<void*, int64_t> blocks_;
};

// Derived from the profiler's own base, not from MemoryReportingInfoBase alone: libtorch casts whatever it finds in the
// slot to ProfilerStateBase without asking (`profilerEnabled`). With state Disabled it takes this one for no profiler.
class Reporter final : public torch::profiler::impl::ProfilerStateBase,
                       public std::enable_shared_from_this<Reporter> {
 public:
  Reporter(std::shared_ptr<Reporter> outer, bool over_time)
      : ProfilerStateBase(torch::profiler::impl::ProfilerConfig(
            torch::profiler::impl::ProfilerState::Disabled)),
        outer_(std::move(outer)) {
    if (over_time) {
      TORCH_CHECK(
          outer_ == nullptr || !outer_->keeps_time(),
          "memory is being recorded over time on this thread already; record one step after the other");
      timeline_.emplace();
    }
  }

  torch::profiler::impl::ActiveProfilerType profilerType() override {
    return torch::profiler::impl::ActiveProfilerType::NONE;
  }

  bool memoryProfilingEnabled() const override {
    return true;
  }

  // Called from inside the allocators, on any thread that inherited the slot: must not throw.
  void reportMemoryUsage(
      void* block,
      int64_t bytes,
      size_t total_allocated,
      size_t total_reserved,
      c10::Device device) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      try {
        if (device.is_cpu() || device.is_cuda()) {
          const Change change = (device.is_cpu() ? cpu_ : cuda_).count(block, bytes);
          if (timeline_.has_value()) {
            timeline_->add(block, change, device);
          }
        }
      } catch (const std::bad_alloc&) {
        incomplete_ = true;
      }
    }
    // Only the innermost scope is told by libtorch; the outer ones hear it from here.
    if (outer_ != nullptr) {
      outer_->reportMemoryUsage(block, bytes, total_allocated, total_reserved, device);
    }
  }

  MemoryReport report() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (incomplete_) {
      throw std::bad_alloc();
    }
    return {cpu_.report(), cuda_.report()};
  }

  template <typename Show>
  void show_events(const Show& show) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (incomplete_) {
      throw std::bad_alloc();
    }
    if (timeline_.has_value()) {
      timeline_->each(show);
    }
  }

 private:
  bool keeps_time() const {
    return timeline_.has_value() || (outer_ != nullptr && outer_->keeps_time());
  }

  const std::shared_ptr<Reporter> outer_;
  std::mutex mutex_;
  Tally cpu_;
  Tally cuda_;
  std::optional<Timeline> timeline_;
  bool incomplete_ = false;
};

std::shared_ptr<Reporter> current() {
  auto* info = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (info == nullptr) {
    return nullptr;
  }
  auto* reporter = dynamic_cast<Reporter*>(info);
  TORCH_CHECK(
      reporter != nullptr,
      "memory cannot be tracked while libtorch's profiler runs on this thread: both need the same slot");
  return reporter->shared_from_this();
}

// While a scope lives, std::cerr without one message. The CPU allocator logs it when a block that was allocated outside
// is freed inside, at the first of every thousand: it knows no such block, and says that a profiler would miss it. A
// scope does not count such blocks, so here it is no news. The allocator cannot be told which frees to report, and its
// only other switch is the log level, which would silence all warnings. A message is one write.
class WithoutUnknownBlocks final : public std::streambuf {
 public:
  void begin() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (scopes_++ == 0) {
      // Known before another thread's message can come through here.
      under_ = std::cerr.rdbuf();
      std::cerr.rdbuf(this);
    }
  }

  void end() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--scopes_ == 0) {
      std::cerr.rdbuf(under_);
    }
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize length) override {
    auto message = std::string_view(text, static_cast<size_t>(length));
    if (message.find("Memory block of unknown size was allocated before") != message.npos) {
      return length;
    }
    return under_.load()->sputn(text, length);
  }

  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) {
      return traits_type::not_eof(character);
    }
    return under_.load()->sputc(traits_type::to_char_type(character));
  }

  int sync() override {
    return under_.load()->pubsync();
  }

 private:
  std::mutex mutex_;
  size_t scopes_ = 0;
  // Stays when the last scope ends: another thread may be in the middle of a message.
  std::atomic<std::streambuf*> under_ = nullptr;
};

WithoutUnknownBlocks& without_unknown_blocks() {
  // Never destroyed: messages may come at the very end of the process.
  static auto* filter = new WithoutUnknownBlocks();
  return *filter;
}

struct Quiet {
  Quiet() {
    without_unknown_blocks().begin();
  }
  ~Quiet() {
    without_unknown_blocks().end();
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

} // namespace memory

struct MemoryScope {
  explicit MemoryScope(bool over_time)
      : reporter(std::make_shared<memory::Reporter>(memory::current(), over_time)),
        guard(c10::DebugInfoKind::PROFILER_STATE, reporter) {
    if (over_time) {
      listener.emplace();
    }
  }

  memory::Quiet quiet;
  std::shared_ptr<memory::Reporter> reporter;
  std::optional<operations::Listener> listener;
  // Declared last, so that the slot is given back before the reporter goes.
  c10::DebugInfoGuard guard;
};

// Begins a scope that counts allocations; with `over_time` it also keeps every event.
extern "C" Status ctn_memory_begin(bool over_time, Handle* out) noexcept {
  return border::guard([&] { *out = border::handle(std::make_unique<MemoryScope>(over_time)); });
}

extern "C" Status ctn_memory_read(const MemoryScope* scope, MemoryReport* out) noexcept {
  return border::guard([&] { *out = scope->reporter->report(); });
}

// Calls `show` with each event of the scope so far. It takes `context`, must not throw and must not use libtorch.
extern "C" Status ctn_memory_events(
    const MemoryScope* scope,
    void (*show)(void* context, const MemoryEvent* event),
    void* context) noexcept {
  return border::guard([&] {
    scope->reporter->show_events([&](const MemoryEvent& event) { show(context, &event); });
  });
}
