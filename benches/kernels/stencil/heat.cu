// A thread for each point: next = u + α·(sum of neighbours − 2·D·u) inside, u on the boundary. With a
// single plane the grid has two dimensions. Neighbours that other threads read as well come out of
// the caches.

namespace {

// As in _heat.rs.
constexpr float kAlpha = 0.125f;

template <class T>
__device__ inline void heat(const T* u, T* next, int planes, int rows, int width) {
  const long long point = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (point >= static_cast<long long>(planes) * rows * width) {
    return;
  }
  const int at = static_cast<int>(point);
  const int x = at % width, y = at / width % rows, z = at / width / rows;
  const bool is_flat = planes == 1;
  if (x == 0 || x == width - 1 || y == 0 || y == rows - 1
      || (!is_flat && (z == 0 || z == planes - 1))) {
    next[at] = u[at];
    return;
  }
  Wide<T> sum = wide(u[at - 1]) + wide(u[at + 1]);
  sum += wide(u[at - width]) + wide(u[at + width]);
  if (!is_flat) {
    const int plane = rows * width;
    sum += wide(u[at - plane]) + wide(u[at + plane]);
  }
  const float center = 1.0f - (is_flat ? 4 : 6) * kAlpha;
  next[at] = narrow<T>(center * wide(u[at]) + kAlpha * sum);
}

} // namespace

#define HEAT(name, T)                                                                     \
  extern "C" __global__ void heat_##name(                                                 \
      const T* u, T* next, int planes, int rows, int width) {                             \
    heat(u, next, planes, rows, width);                                                   \
  }

HEAT(f64, double)
HEAT(f32, float)
HEAT(bf16, BFloat16)
HEAT(f16, Half)
