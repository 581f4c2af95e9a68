// A kernel that waits for the host, and the multiprocessors' clock between two points of the current stream.
#include "border.h"
#include "cuda.h"

#include <c10/core/DeviceGuard.h>

#include <array>
#include <cstddef>
#include <new>

// What host and device share: `gate.ptx` says who writes what.
struct GateWords {
  uint32_t open;
  uint32_t ended;
  uint64_t unused;
  // Nanoseconds of the device's timer and cycles of multiprocessor 0, at the start and at the stop.
  std::array<std::array<uint64_t, 2>, 2> stamps;
};
static_assert(offsetof(GateWords, stamps) % 16 == 0, "stamps are stored 16 bytes at a time");

class Gate {
 public:
  Gate(int32_t index, const char* ptx) : device_(cuda::device(index)) {
    constexpr int kMultiprocessors = 16; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    constexpr unsigned kMapped = 2; // CU_MEMHOSTALLOC_DEVICEMAP
    const c10::DeviceGuard on(device_);
    make_current();
    driver_.call("cuDeviceGetAttribute", &multiprocessors_, kMultiprocessors, driver_.device(index));
    driver_.call("cuModuleLoadData", &module_, ptx);
    driver_.call("cuModuleGetFunction", &gate_, module_, "criterion_torch_gate");
    driver_.call("cuModuleGetFunction", &stamp_, module_, "criterion_torch_stamp");
    void* memory = nullptr;
    driver_.call("cuMemHostAlloc", &memory, sizeof(GateWords), kMapped);
    shared_ = new (memory) GateWords{};
    driver_.call("cuMemHostGetDevicePointer_v2", &seen_by_device_, memory, 0U);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // What fails here fails for a context that is broken, and takes its memory with it.
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
    shared_->stamps = {};
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
    uint64_t place = seen_by_device_ + offsetof(GateWords, stamps) + (stop ? sizeof(shared_->stamps[0]) : 0);
    std::array<void*, 1> arguments{&place};
    launch(stamp_, static_cast<unsigned>(multiprocessors_), arguments.data());
  }

  std::array<std::array<uint64_t, 2>, 2> stamps() const {
    return shared_->stamps;
  }

 private:
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
  return border::guard([&] { *out = border::handle(std::make_unique<Gate>(device_index, ptx)); });
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

// Start and stop, each in nanoseconds and cycles.
extern "C" void ctn_gate_stamps(const Gate* gate, uint64_t* out) noexcept {
  for (const auto& stamp : gate->stamps()) {
    for (const uint64_t part : stamp) {
      *out++ = part;
    }
  }
}
