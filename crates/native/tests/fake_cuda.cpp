// A fake libtorch_cuda for tests: a device that does nothing, and an at::cuda::CUDAGraph that logs its calls.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <string>

namespace {

std::string noted;
std::string failure;
c10::StreamId current = 0;
int64_t reserved = 4096;

void note(const std::string& what) {
  noted += what + "; ";
}

struct Hooks final : at::CUDAHooksInterface {
  Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override {
    return true;
  }
  int getNumGPUs() const override {
    return 1;
  }
  void deviceSynchronize(c10::DeviceIndex) const override {
    note("wait");
  }
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return c10::DeviceType::CUDA;
  }
  c10::Device exchangeDevice(c10::Device) const override {
    return getDevice();
  }
  c10::Device getDevice() const override {
    return {c10::DeviceType::CUDA, 0};
  }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, current);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, 7);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const auto before = current;
    current = stream.id();
    note("stream " + std::to_string(current));
    return c10::Stream(c10::Stream::UNSAFE, stream.device(), before);
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return 1;
  }
};

struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t) override {
    TORCH_CHECK(false, "nothing is allocated here");
  }
  void copy_data(void*, const void*, size_t) const override {}
  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.reserved_bytes[0].current = reserved;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
};

Allocator allocator;
const bool registered = [] {
  c10::SetAllocator(c10::DeviceType::CUDA, &allocator);
  return true;
}();

} // namespace

C10_REGISTER_GUARD_IMPL(CUDA, Guard);

namespace at {
// libtorch looks the hooks up by this name.
using CUDAHooks = Hooks;
REGISTER_CUDA_HOOKS(CUDAHooks);
} // namespace at

enum cudaStreamCaptureMode : unsigned { Global, ThreadLocal, Relaxed };

namespace at::cuda {

// Its members have the signatures of libtorch's own.
struct CUDAGraph {
  __attribute__((used)) CUDAGraph(bool keep_graph);
  __attribute__((used)) ~CUDAGraph();
  void capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode);
  void capture_end();
  void replay();
  int64_t known;
};

CUDAGraph::CUDAGraph(bool keep_graph) : known(42) {
  note(keep_graph ? "new that keeps" : "new");
}

CUDAGraph::~CUDAGraph() {
  note(known == 42 ? "free" : "free of what was never made");
}

void CUDAGraph::capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode) {
  TORCH_CHECK(pool.first == 0 && pool.second == 0, "not a pool of its own");
  note("begin in mode " + std::to_string(mode) + " on " + std::to_string(current));
  reserved += 2048;
}

void CUDAGraph::capture_end() {
  note("end on " + std::to_string(current));
  TORCH_CHECK(failure.empty(), failure);
}

void CUDAGraph::replay() {
  note("replay on " + std::to_string(current));
}

} // namespace at::cuda

extern "C" void fake_note(const char* what) {
  note(what);
}

// What was noted since the last call.
extern "C" const char* fake_log() {
  static std::string taken;
  taken.clear();
  taken.swap(noted);
  return taken.c_str();
}

// Sets the error of ending a capture from now on; an empty text means no error.
extern "C" void fake_failure(const char* text) {
  failure = text;
}
