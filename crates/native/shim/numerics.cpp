// Switches that trade exactness or repeatability for speed: pinned before measuring, and read back.
#include "border.h"

#include <ATen/Context.h>

extern "C" {
struct Numerics {
  bool tf32_cublas;
  bool tf32_cudnn;
  bool cudnn_benchmark;
  // 0 highest, 1 high, 2 medium
  int32_t matmul_precision;
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

extern "C" Status ctn_numerics_read(Numerics* out) noexcept {
  return border::guard([&] {
    const auto& context = at::globalContext();
    *out = {
        context.allowTF32CuBLAS(),
        context.allowTF32CuDNN(),
        context.benchmarkCuDNN(),
        static_cast<int32_t>(context.float32MatmulPrecision())};
  });
}
