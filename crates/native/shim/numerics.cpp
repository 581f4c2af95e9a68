// Switches that trade exactness or repeatability for speed: pinned before measuring, and read back.
#include "border.h"

#include <ATen/Context.h>

extern "C" {
struct NumericsState {
  int32_t tf32_cublas;
  int32_t tf32_cudnn;
  int32_t cudnn_benchmark;
  int32_t cudnn_deterministic;
  int32_t deterministic_algorithms;
  // 0 highest, 1 high, 2 medium
  int32_t float32_matmul_precision;
};
}

extern "C" Status ctn_numerics_pin() noexcept {
  return border::guard([&] {
    auto& context = at::globalContext();
    // First, because it also decides TF32 for cuBLAS and the float32 mode of oneDNN.
    context.setFloat32MatmulPrecision("highest");
    context.setAllowTF32CuBLAS(false);
    context.setAllowTF32CuDNN(false);
    context.setBenchmarkCuDNN(false);
  });
}

extern "C" Status ctn_numerics_read(NumericsState* out) noexcept {
  return border::guard([&] {
    const auto& context = at::globalContext();
    *out = {
        context.allowTF32CuBLAS(),
        context.allowTF32CuDNN(),
        context.benchmarkCuDNN(),
        context.deterministicCuDNN(),
        context.deterministicAlgorithms(),
        static_cast<int32_t>(context.float32MatmulPrecision())};
  });
}
