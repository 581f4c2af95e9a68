// y = exp(x − max) / Σ exp(x − max) of every row of x, `dim` values each, rows a stride apart. T is
// float, bfloat16 or float16; arithmetic is float32, rounded once.
//
// Rows that fit are kept in registers, and so read once. Maximum and sum of others are found in one
// pass (`online.cuh`), and the row is read a second time, from the caches if it fits there: 16 bytes
// or one value at a time.

namespace {

// Values of a row that a thread keeps.
constexpr int kKept = 16;

template <class T, int V>
__device__ inline void kept(const T* x, T* y, int dim, int lanes, int lane) {
  constexpr int kVectors = kKept / V;
  const int step = lanes * V;
  float values[kVectors][V];
  float highest = -infinity();
  #pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = lane * V + i * step;
    if (at < dim) {
      load_floats<T, V>(x + at, values[i]);
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        highest = fmaxf(highest, values[i][j]);
      }
    }
  }
  highest = team_max(highest, lanes);
  float sum = 0.0f;
  #pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (lane * V + i * step < dim) {
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        values[i][j] = expf(values[i][j] - highest);
        sum += values[i][j];
      }
    }
  }
  const float factor = 1.0f / team_sum(sum, lanes);
  #pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = lane * V + i * step;
    if (at < dim) {
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        values[i][j] *= factor;
      }
      store_floats<T, V>(y + at, values[i]);
    }
  }
}

template <class T, int V>
__device__ inline void reread(const T* x, T* y, int dim, int lanes, int lane) {
  const Exponentials all = exponentials<T, V>(x, dim, lanes, lane);
  const float factor = 1.0f / all.sum;
  #pragma unroll 4
  for (int at = lane * V; at < dim; at += lanes * V) {
    float values[V];
    load_floats<T, V>(x + at, values);
    #pragma unroll
    for (int j = 0; j < V; ++j) {
      values[j] = expf(values[j] - all.highest) * factor;
    }
    store_floats<T, V>(y + at, values);
  }
}

template <class T, int V, bool KEPT>
__device__ inline void softmax(
    const T* x, T* y, long long rows, int dim, long long x_stride, long long y_stride, int lanes) {
  // Teams beyond the last row take it once more, so that warps stay whole.
  const long long row = min(team_row(lanes), rows - 1);
  const int lane = team_lane(lanes);
  if constexpr (KEPT) {
    kept<T, V>(x + row * x_stride, y + row * y_stride, dim, lanes, lane);
  } else {
    reread<T, V>(x + row * x_stride, y + row * y_stride, dim, lanes, lane);
  }
}

} // namespace

// softmax_{f32,bf16,f16}, …_short for rows that half a warp keeps, …_long for those that no block does,
// and …_scalar.

#define SOFTMAX(NAME, T, V, KEPT, LANES)                                                       \
  extern "C" __global__ void __launch_bounds__(KEPT ? kMostThreads : kMostThreads / 2) NAME(   \
      const T* x, T* y, long long rows, int dim, long long x_stride, long long y_stride,       \
      int lanes) {                                                                             \
    softmax<T, V, KEPT>(x, y, rows, dim, x_stride, y_stride, LANES);                           \
  }

#define KERNELS(DTYPE, T)                                                                      \
  SOFTMAX(softmax_##DTYPE, T, kVector<T>, true, lanes)                                         \
  SOFTMAX(softmax_##DTYPE##_short, T, kVector<T>, true, kHalf)                                 \
  SOFTMAX(softmax_##DTYPE##_long, T, kVector<T>, false, lanes)                                 \
  SOFTMAX(softmax_##DTYPE##_scalar, T, 1, false, lanes)

KERNELS(f32, float)
KERNELS(bf16, BFloat16)
KERNELS(f16, Half)
