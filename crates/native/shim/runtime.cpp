// Facts about the libtorch that is loaded.
#include "border.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

extern "C" {
// Strings are given back to `ctn_string_free`.
struct RuntimeFacts {
  char* torch_version;
  char* cpu_capability;
  char* configuration;
  char* parallelism;
  int32_t threads;
  int32_t interop_threads;
};
}

// From the library itself: TORCH_VERSION would be that of the headers.
static std::string loaded_version() {
  const uint64_t version = aoti_torch_abi_version();
  const auto byte = [version](int index) { return std::to_string(version >> (8 * index) & 0xff); };
  return byte(7) + "." + byte(6) + "." + byte(5);
}

extern "C" Status ctn_runtime_facts(RuntimeFacts* out) noexcept {
  return border::guard([&] {
    auto version = border::copy(loaded_version());
    auto capability = border::copy(at::get_cpu_capability());
    auto configuration = border::copy(at::show_config());
    auto parallelism = border::copy(at::get_parallel_info());
    const auto threads = static_cast<int32_t>(at::get_num_threads());
    const auto interop = static_cast<int32_t>(at::get_num_interop_threads());
    *out = {
        version.release(),
        capability.release(),
        configuration.release(),
        parallelism.release(),
        threads,
        interop};
  });
}
