#include "cuda.h"
#include "border.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include <array>

extern "C" {
struct CudaBuild {
  // Whether libtorch_cuda is in the program; the rest is 0 where it is not.
  bool linked;
  // As CUDA writes it: 1000 * major + 10 * minor.
  int64_t toolkit;
  // As cuDNN writes it; negative when libtorch was built without cuDNN.
  int64_t cudnn;
  int32_t devices;
};
struct CudaDevice {
  uint64_t free_bytes;
  uint64_t total_bytes;
  int32_t capability_major;
  int32_t capability_minor;
  // The newest CUDA that the driver supports, as CUDA writes it.
  int32_t driver;
  // Peak frequency of the multiprocessors.
  int32_t clock_khz;
  int32_t l2_bytes;
};
}

namespace cuda {

static const at::CUDAHooksInterface& hooks() {
  return at::detail::getCUDAHooks();
}

void require_linked() {
  TORCH_CHECK(
      hooks().isBuilt(),
      "CUDA is not linked: this program was built with a libtorch that has no libtorch_cuda");
}

c10::Device device(int32_t index) {
  require_linked();
  const int32_t count = hooks().getNumGPUs();
  TORCH_CHECK(count > 0, "libtorch has CUDA, but finds no usable CUDA device (is the driver installed and recent enough?)");
  TORCH_CHECK(
      index >= 0 && index < count, "there is no CUDA device ", index, ": libtorch sees ", count);
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
}

void* current_stream(c10::Device device) {
  const c10::impl::VirtualGuardImpl backend(c10::DeviceType::CUDA);
  return backend.getStream(device).native_handle();
}

namespace {

// The text that a function of the driver's writes for a device.
std::string text(const char* function, int32_t index) {
  cuda::device(index);
  const Driver driver;
  std::array<char, 256> text{};
  driver.call(function, text.data(), static_cast<int>(text.size() - 1), driver.device(index));
  return text.data();
}

constexpr int kClockRate = 13; // CU_DEVICE_ATTRIBUTE_CLOCK_RATE
constexpr int kL2CacheSize = 38; // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
constexpr int kCapabilityMajor = 75; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kCapabilityMinor = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR

// `at::cuda::sleep(int64_t)`, of ATen/cuda/Sleep.h. It lives in libtorch_cuda, which the shim must not name to the
// linker: a libtorch without CUDA has no such library, and the shim is the same for both. The type is not part of what
// dlsym can check; the mangled name holds it (`l` is int64_t where the shim runs, Linux on 64 bits).
using Sleep = void (*)(int64_t);
constexpr const char* kSleep = "_ZN2at4cuda5sleepEl";

Sleep sleep() {
  auto* found = reinterpret_cast<Sleep>(dlsym(RTLD_DEFAULT, kSleep));
  TORCH_CHECK(
      found != nullptr, "this libtorch_cuda has no at::cuda::sleep (", kSleep, ")");
  return found;
}

} // namespace
} // namespace cuda

extern "C" Status ctn_cuda_build(CudaBuild* out) noexcept {
  return border::guard([&] {
    const auto& hooks = cuda::hooks();
    *out = {};
    if (hooks.isBuilt()) {
      const int64_t cudnn = hooks.compiledWithCuDNN() ? hooks.versionCuDNN() : -1;
      *out = {true, hooks.versionCUDART(), cudnn, hooks.getNumGPUs()};
    }
  });
}

extern "C" Status ctn_cuda_device(int32_t index, CudaDevice* out) noexcept {
  return border::guard([&] {
    const c10::Device device = cuda::device(index);
    const auto [free, total] =
        c10::getDeviceAllocator(c10::DeviceType::CUDA)->getMemoryInfo(device.index());
    const cuda::Driver driver;
    const int handle = driver.device(index);
    CudaDevice found{free, total, 0, 0, 0, 0, 0};
    driver.call("cuDeviceGetAttribute", &found.capability_major, cuda::kCapabilityMajor, handle);
    driver.call("cuDeviceGetAttribute", &found.capability_minor, cuda::kCapabilityMinor, handle);
    driver.call("cuDeviceGetAttribute", &found.clock_khz, cuda::kClockRate, handle);
    driver.call("cuDeviceGetAttribute", &found.l2_bytes, cuda::kL2CacheSize, handle);
    driver.call("cuDriverGetVersion", &found.driver);
    *out = found;
  });
}

// The driver's name for a device.
extern "C" Status ctn_cuda_name(int32_t index, char** out) noexcept {
  return border::guard([&] { *out = border::copy(cuda::text("cuDeviceGetName", index)); });
}

// Where the device sits, as domain:bus:device.function; NVML knows it by the same place.
extern "C" Status ctn_cuda_pci_bus(int32_t index, char** out) noexcept {
  return border::guard([&] { *out = border::copy(cuda::text("cuDeviceGetPCIBusId", index)); });
}

extern "C" Status ctn_cuda_synchronize(int32_t index) noexcept {
  return border::guard([&] { cuda::hooks().deviceSynchronize(cuda::device(index).index()); });
}

// Queues a kernel that does nothing for so many clock cycles on the device's current stream, and returns at once.
extern "C" Status ctn_cuda_sleep(int32_t index, int64_t cycles) noexcept {
  return border::guard([&] {
    TORCH_CHECK(cycles >= 0, "a sleep of ", cycles, " cycles");
    cuda::require_linked();
    // Looked up before the device, so that a machine without one finds out too.
    const cuda::Sleep spin = cuda::sleep();
    const c10::DeviceGuard on(cuda::device(index));
    spin(cycles);
  });
}

// The CUstream that libtorch queues this thread's work on.
extern "C" Status ctn_cuda_current_stream(int32_t index, void** out) noexcept {
  return border::guard([&] {
    *out = cuda::current_stream(cuda::device(index));
  });
}

// Lines of the L2 that were set aside for data that persists are like all others again. A device that has none says that it
// does not support that.
extern "C" Status ctn_cuda_reset_persisting_l2(int32_t index) noexcept {
  return border::guard([&] {
    constexpr int kNotSupported = 801; // CUDA_ERROR_NOT_SUPPORTED
    const c10::DeviceGuard on(cuda::device(index));
    // Loaded once: this comes before each cold sample.
    static const cuda::Driver driver;
    const int code = driver.result("cuCtxResetPersistingL2Cache");
    TORCH_CHECK(
        code == 0 || code == kNotSupported,
        "cuCtxResetPersistingL2Cache of the CUDA driver failed with code ", code);
  });
}

// Gives cached device memory back to the driver. Nothing is cached before the first use of a device.
extern "C" Status ctn_cuda_empty_cache() noexcept {
  return border::guard([&] {
    cuda::device(0);
    auto* allocator = c10::getDeviceAllocator(c10::DeviceType::CUDA);
    if (allocator->initialized()) {
      allocator->emptyCache();
    }
  });
}
