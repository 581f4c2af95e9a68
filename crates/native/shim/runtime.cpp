// Facts about the libtorch that is loaded.
#include "border.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

// From the library itself: TORCH_VERSION would be that of the headers.
static std::string loaded_version() {
  const uint64_t version = aoti_torch_abi_version();
  const auto byte = [version](int index) { return std::to_string(version >> (8 * index) & 0xff); };
  return byte(7) + "." + byte(6) + "." + byte(5);
}

extern "C" Status ctn_runtime_version(char** out) noexcept {
  return border::guard([&] { *out = border::copy(loaded_version()); });
}

// A libtorch built for ROCm reports that it has CUDA, so the two are told apart here.
extern "C" Status ctn_runtime_has_hip(bool* out) noexcept {
  return border::guard([&] { *out = at::Context::hasROCM() || at::hasHIP(); });
}

extern "C" Status ctn_runtime_cpu_capability(char** out) noexcept {
  return border::guard([&] { *out = border::copy(at::get_cpu_capability()); });
}

extern "C" Status ctn_runtime_configuration(char** out) noexcept {
  return border::guard([&] { *out = border::copy(at::show_config()); });
}
