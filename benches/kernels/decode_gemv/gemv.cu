// y = weight · x for weight [rows, features]: a warp for each row, which reads it by accesses of 16
// bytes, side by side, and sums in float32. x stays in the caches, as all warps read it.

namespace {

template <class T>
__device__ inline void gemv(
    const T* weight, const T* x, T* y, long long rows, int features) {
  constexpr int V = kVector<T>;
  const long long row =
      (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  // The whole warp at once.
  if (row >= rows) {
    return;
  }
  const T* weights = weight + row * features;
  float sum = 0.0f;
  #pragma unroll 4
  for (int at = threadIdx.x % kWarp * V; at < features; at += kWarp * V) {
    const Values<T, V> w = load<T, V>(weights + at);
    const Values<T, V> v = load<T, V>(x + at);
    #pragma unroll
    for (int i = 0; i < V; ++i) {
      sum += wide(w.at[i]) * wide(v.at[i]);
    }
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) {
    y[row] = narrow<T>(sum);
  }
}

} // namespace

#define GEMV(name, T)                                                                     \
  extern "C" __global__ void gemv_##name(                                                 \
      const T* weight, const T* x, T* y, long long rows, int features) {                  \
    gemv(weight, x, y, rows, features);                                                   \
  }

GEMV(f32, float)
GEMV(bf16, BFloat16)
GEMV(f16, Half)
