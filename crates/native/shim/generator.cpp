// The host's generator of random numbers.
#include "border.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

#include <mutex>

extern "C" Status ctn_generator_seed(uint64_t seed) noexcept {
  return border::guard([&] {
    auto generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(seed);
  });
}
