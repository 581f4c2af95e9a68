// Records what CUDA's caching allocator does during a step, as torch's own memory snapshot.
#include "border.h"
#include "cuda.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <dlfcn.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

extern "C" {
struct DevicePeaks {
  uint64_t allocated_bytes;
  uint64_t active_bytes;
  uint64_t reserved_bytes;
};
}

namespace memory_history {

// `torch::cuda::_record_memory_history` and `_memory_snapshot_pickled` of torch/csrc/cuda/memory_snapshot.h. They live
// in libtorch_cuda, which the shim must not name to the linker (see cuda.cpp).
using Record = void (*)(
    std::optional<std::string> enabled,
    std::optional<std::string> context,
    const std::string& stacks,
    size_t max_entries,
    bool clear_history,
    bool compile_context,
    bool global_record_allocations,
    const std::vector<std::string>& skip_actions);
using Snapshot = std::string (*)();

constexpr const char* kRecord =
    "_ZN5torch4cuda22_record_memory_historyESt8optionalINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEES8_RKS7_"
    "mbbbRKSt6vectorIS7_SaIS7_EE";
constexpr const char* kSnapshot = "_ZN5torch4cuda24_memory_snapshot_pickledB5cxx11Ev";

// torchao's benchmarks keep the same number of entries.
constexpr size_t kMaxEntries = 100000;

template <typename Function>
Function find(const char* name) {
  auto* found = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  TORCH_CHECK(found != nullptr, "this libtorch_cuda has no ", name, ", which records its memory");
  return found;
}

c10::DeviceAllocator& allocator() {
  return *c10::getDeviceAllocator(c10::DeviceType::CUDA);
}

} // namespace memory_history

struct MemoryHistory {
  explicit MemoryHistory(int32_t index) {
    cuda::require_linked();
    // Looked up before the device, so that a missing function is noticed on machines without a device, too.
    record = memory_history::find<memory_history::Record>(memory_history::kRecord);
    snapshot = memory_history::find<memory_history::Snapshot>(memory_history::kSnapshot);
    device = cuda::device(index).index();
    wait();
    memory_history::allocator().resetPeakStats(device);
    record("all", "all", "all", memory_history::kMaxEntries, true, false, false, {});
  }
  ~MemoryHistory() {
    try {
      record(std::nullopt, std::nullopt, "all", 1, true, false, false, {});
    } catch (...) {
      // A destructor cannot report the error. It is harmless: the allocator merely goes on recording.
    }
  }
  MemoryHistory(const MemoryHistory&) = delete;
  MemoryHistory& operator=(const MemoryHistory&) = delete;

  void wait() const {
    at::detail::getCUDAHooks().deviceSynchronize(device);
  }

  memory_history::Record record = nullptr;
  memory_history::Snapshot snapshot = nullptr;
  c10::DeviceIndex device = 0;
};

extern "C" Status ctn_memory_history_begin(int32_t index, Handle* out) noexcept {
  return border::guard([&] { *out = border::handle(std::make_unique<MemoryHistory>(index)); });
}

// Calls `show` with the pickle. It takes `context` and must not throw.
extern "C" Status ctn_memory_history_read(
    const MemoryHistory* history,
    DevicePeaks* peaks,
    void (*show)(void* context, Text pickle),
    void* context) noexcept {
  return border::guard([&] {
    history->wait();
    const auto stats = memory_history::allocator().getDeviceStats(history->device);
    // The first entry of each array is the statistic over all pools.
    const auto peak = [](const c10::CachingAllocator::StatArray& array) {
      return static_cast<uint64_t>(array[0].peak);
    };
    *peaks = {peak(stats.allocated_bytes), peak(stats.active_bytes), peak(stats.reserved_bytes)};
    const std::string pickle = history->snapshot();
    show(context, {pickle.data(), pickle.size()});
  });
}
