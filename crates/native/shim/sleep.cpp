// A kernel that does nothing but take a known number of the device's clock cycles.
#include "border.h"
#include "cuda.h"

#include <c10/core/DeviceGuard.h>

#include <dlfcn.h>

namespace {

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

// Queues the kernel on the device's current stream, and returns at once.
extern "C" Status ctn_cuda_sleep(int32_t index, int64_t cycles) noexcept {
  return border::guard([&] {
    TORCH_CHECK(cycles >= 0, "a sleep of ", cycles, " cycles");
    cuda::require_linked();
    // Looked up before the device, so that a machine without one finds out too.
    const Sleep spin = sleep();
    const c10::DeviceGuard on(cuda::device(index));
    spin(cycles);
  });
}
