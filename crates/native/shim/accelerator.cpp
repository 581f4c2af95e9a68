// Accelerators other than CUDA (Metal and Intel's XPU), as libtorch's hooks report them.
#include "border.h"

#include <ATen/Context.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>

extern "C" {
struct Accelerator {
  // Whether libtorch was built for it.
  bool built;
  // How many devices can be used.
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
    // `hasXPU` only says that libtorch was built with XPU, even on a machine without such a device.
    const bool built = at::globalContext().hasXPU();
    *out = {built || hooks.isBuilt(), built ? static_cast<int32_t>(hooks.getNumGPUs()) : 0};
  });
}

// Commits the queued work and waits until it has ended.
extern "C" Status ctn_accelerator_mps_synchronize() noexcept {
  return border::guard([&] { accelerator::mps().deviceSynchronize(); });
}

extern "C" Status ctn_accelerator_mps_empty_cache() noexcept {
  return border::guard([&] { accelerator::mps().emptyCache(); });
}
