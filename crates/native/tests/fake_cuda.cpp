// A fake libtorch_cuda and a fake CUDA driver for tests: a device that does nothing, and an at::cuda::CUDAGraph that logs
// its calls.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <string>
#include <utility>

namespace {

std::string noted;
// Error that breaks the next capture of at::cuda::CUDAGraph, which finds it at its end.
std::string broken;
// Error once the capture has ended.
std::string uninstantiable;
// The driver's answer when a capture begins.
int driver_code = 0;
enum class Capture { None, Fine, Broken } capture = Capture::None;
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
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(stream.id());
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

// Its members have the signatures of libtorch's own, and do what concerns a stream, pools of memory and the random
// generator in the order of libtorch 2.11.
struct CUDAGraph {
  __attribute__((used)) CUDAGraph(bool keep_graph);
  __attribute__((used)) ~CUDAGraph();
  void capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode);
  void capture_end();
  c10::MempoolId_t pool();
  void replay();
  int64_t known;
  bool ended;
};

CUDAGraph::CUDAGraph(bool keep_graph) : known(42), ended(false) {
  note(keep_graph ? "new that keeps" : "new");
}

CUDAGraph::~CUDAGraph() {
  note(known == 42 ? "free" : "free of what was never made");
  if (ended) {
    note("pools free");
  }
}

void CUDAGraph::capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode) {
  TORCH_CHECK(pool.first == 0 && pool.second == 0, "not a pool of its own");
  note("generator begins");
  note("pools begin");
  note("begin in mode " + std::to_string(mode) + " on " + std::to_string(current));
  capture = broken.empty() ? Capture::Fine : Capture::Broken;
  reserved += 2048;
}

void CUDAGraph::capture_end() {
  note("end on " + std::to_string(current));
  TORCH_CHECK(std::exchange(capture, Capture::None) == Capture::Fine, broken);
  note("pools end");
  note("generator ends");
  ended = true;
  TORCH_CHECK(uninstantiable.empty(), uninstantiable);
}

c10::MempoolId_t CUDAGraph::pool() {
  TORCH_CHECK(ended, "Called CUDAGraph::pool() without a preceding successful capture.");
  return {1, 0};
}

void CUDAGraph::replay() {
  note("replay on " + std::to_string(current));
}

} // namespace at::cuda

extern "C" int cuInit(unsigned) {
  return 0;
}

extern "C" int cuStreamBeginCapture_v2(void* stream, unsigned mode) {
  const auto id = reinterpret_cast<c10::StreamId>(stream);
  note("driver begins in mode " + std::to_string(mode) + " on " + std::to_string(id));
  if (driver_code == 0) {
    capture = Capture::Fine;
  }
  return driver_code;
}

// CUDA gives no graph of a broken capture.
extern "C" int cuStreamEndCapture(void* stream, void** graph) {
  note("driver ends on " + std::to_string(reinterpret_cast<c10::StreamId>(stream)));
  const bool is_fine = std::exchange(capture, Capture::None) == Capture::Fine;
  *graph = is_fine ? &capture : nullptr;
  return is_fine ? 0 : 901;
}

extern "C" int cuGraphDestroy(void* graph) {
  note(graph == &capture ? "driver destroys" : "driver destroys what was never made");
  return 0;
}

extern "C" void fake_note(const char* what) {
  note(what);
}

// Calls since the last call of this function.
extern "C" const char* fake_log() {
  static std::string taken;
  taken.clear();
  taken.swap(noted);
  return taken.c_str();
}

// Sets the error that breaks captures from now on; empty for none.
extern "C" void fake_broken(const char* text) {
  broken = text;
}

// Sets the error after captures from now on; empty for none.
extern "C" void fake_uninstantiable(const char* text) {
  uninstantiable = text;
}

// Sets the driver's answer when a capture begins, from now on.
extern "C" void fake_driver_code(int code) {
  driver_code = code;
}
