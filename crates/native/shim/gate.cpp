// A kernel that waits for the host, and the multiprocessors' clock between two points of the current stream.
#include "border.h"
#include "cuda.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

// Memory shared by host and device; `gate.ptx` says which side writes each word. The stamps follow it: nanoseconds of the
// device's timer and cycles of each multiprocessor, at the start and, behind all of these, at the stop.
struct GateWords {
  uint32_t open;
  uint32_t ended;
  uint64_t unused;
};
using Stamp = std::array<uint64_t, 2>;
static_assert(sizeof(GateWords) % sizeof(Stamp) == 0, "stamps are stored 16 bytes at a time");

class Gate {
 public:
  explicit Gate(int32_t index) : device_(cuda::device(index)) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Once, before all else. Whatever it got before it failed, the destructor gives back.
  void load(const char* ptx) {
    constexpr int kMultiprocessors = 16; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    constexpr unsigned kMapped = 2; // CU_MEMHOSTALLOC_DEVICEMAP
    const c10::DeviceGuard on(device_);
    make_current();
    driver_.call("cuDeviceGetAttribute", &multiprocessors_, kMultiprocessors, driver_.device(device_.index()));
    driver_.call("cuModuleLoadData", &module_, ptx);
    driver_.call("cuModuleGetFunction", &gate_, module_, "criterion_torch_gate");
    driver_.call("cuModuleGetFunction", &stamp_, module_, "criterion_torch_stamp");
    void* memory = nullptr;
    driver_.call("cuMemHostAlloc", &memory, sizeof(GateWords) + 2 * bytes_of_stamps(), kMapped);
    shared_ = new (memory) GateWords{};
    driver_.call("cuMemHostGetDevicePointer_v2", &seen_by_device_, memory, 0U);
  }

  // An error here means a broken context, which frees its memory by itself.
  ~Gate() {
    if (shared_ != nullptr) {
      open();
      driver_.result("cuCtxSynchronize");
      driver_.result("cuMemFreeHost", static_cast<void*>(shared_));
    }
    if (module_ != nullptr) {
      driver_.result("cuModuleUnload", module_);
    }
  }

  // The device has to be done with what was queued before.
  void hold(uint64_t limit_ns) {
    __atomic_store_n(&shared_->open, 0U, __ATOMIC_RELEASE);
    __atomic_store_n(&shared_->ended, 0U, __ATOMIC_RELEASE);
    std::fill_n(stamps(false), 2 * multiprocessors_, Stamp{});
    uint64_t words = seen_by_device_;
    std::array<void*, 2> arguments{&words, &limit_ns};
    launch(gate_, 1, arguments.data());
  }

  void open() noexcept {
    __atomic_store_n(&shared_->open, 1U, __ATOMIC_SEQ_CST);
  }

  // 0 while the device has not come by.
  uint32_t ended() const {
    return __atomic_load_n(&shared_->ended, __ATOMIC_ACQUIRE);
  }

  void stamp(bool stop) {
    uint64_t place = seen_by_device_ + sizeof(GateWords) + (stop ? bytes_of_stamps() : 0);
    unsigned count = static_cast<unsigned>(multiprocessors_);
    std::array<void*, 2> arguments{&place, &count};
    launch(stamp_, count, arguments.data());
  }

  int multiprocessors() const {
    return multiprocessors_;
  }

  // One for each multiprocessor.
  Stamp* stamps(bool stop) const {
    return reinterpret_cast<Stamp*>(shared_ + 1) + (stop ? multiprocessors_ : 0);
  }

 private:
  size_t bytes_of_stamps() const {
    return sizeof(Stamp) * static_cast<size_t>(multiprocessors_);
  }

  void launch(void* function, unsigned blocks, void** arguments) {
    const c10::DeviceGuard on(device_);
    void* stream = cuda::current_stream(device_);
    driver_.call(
        "cuLaunchKernel", function, blocks, 1U, 1U, 1U, 1U, 1U, 0U, stream, arguments,
        static_cast<void**>(nullptr));
  }

  // libtorch uses the device's primary context, which is current once it has called the runtime for the device.
  void make_current() {
    void* current = nullptr;
    driver_.call("cuCtxGetCurrent", &current);
    if (current == nullptr) {
      driver_.call("cuDevicePrimaryCtxRetain", &current, driver_.device(device_.index()));
      driver_.call("cuCtxSetCurrent", current);
    }
  }

  c10::Device device_;
  cuda::Driver driver_;
  int multiprocessors_ = 0;
  void* module_ = nullptr;
  void* gate_ = nullptr;
  void* stamp_ = nullptr;
  GateWords* shared_ = nullptr;
  uint64_t seen_by_device_ = 0;
};

extern "C" Status ctn_gate_new(int32_t device_index, const char* ptx, Handle* out) noexcept {
  return border::guard([&] {
    auto gate = std::make_unique<Gate>(device_index);
    gate->load(ptx);
    *out = border::handle(std::move(gate));
  });
}

extern "C" Status ctn_gate_hold(Gate* gate, uint64_t limit_ns) noexcept {
  return border::guard([&] { gate->hold(limit_ns); });
}

extern "C" void ctn_gate_open(Gate* gate) noexcept {
  gate->open();
}

extern "C" uint32_t ctn_gate_ended(const Gate* gate) noexcept {
  return gate->ended();
}

extern "C" Status ctn_gate_stamp(Gate* gate, bool stop) noexcept {
  return border::guard([&] { gate->stamp(stop); });
}

extern "C" int32_t ctn_gate_multiprocessors(const Gate* gate) noexcept {
  return gate->multiprocessors();
}

// Start and stop of each multiprocessor, each in nanoseconds and cycles.
extern "C" void ctn_gate_stamps(const Gate* gate, uint64_t* out) noexcept {
  for (int index = 0; index < gate->multiprocessors(); ++index) {
    for (const bool stop : {false, true}) {
      out = std::copy_n(gate->stamps(stop)[index].data(), std::tuple_size_v<Stamp>, out);
    }
  }
}
