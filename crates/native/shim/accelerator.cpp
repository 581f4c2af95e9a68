// Devices other than CUDA's, as libtorch's own hooks tell of them.
#include "border.h"

#include <ATen/Context.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>

extern "C" {
struct Accelerator {
  // Whether libtorch was built for it.
  bool built;
  // Those that can be used.
  int32_t devices;
};
}

namespace accelerator {

static const at::MPSHooksInterface& mps() {
  return at::detail::getMPSHooks();
}

} // namespace accelerator

extern "C" Status ctn_accelerator_mps(Accelerator* out) noexcept {
  return border::guard([&] {
    const bool available = at::globalContext().hasMPS();
    *out = {available || accelerator::mps().isBuilt(), available ? 1 : 0};
  });
}

extern "C" Status ctn_accelerator_xpu(Accelerator* out) noexcept {
  return border::guard([&] {
    const auto& hooks = at::detail::getXPUHooks();
    // `hasXPU` says that it was built in, whatever the machine has.
    const bool built = at::globalContext().hasXPU();
    *out = {built || hooks.isBuilt(), built ? static_cast<int32_t>(hooks.getNumGPUs()) : 0};
  });
}

// Commits what is queued and waits for it.
extern "C" Status ctn_accelerator_mps_synchronize() noexcept {
  return border::guard([&] { accelerator::mps().deviceSynchronize(); });
}

extern "C" Status ctn_accelerator_mps_empty_cache() noexcept {
  return border::guard([&] { accelerator::mps().emptyCache(); });
}
