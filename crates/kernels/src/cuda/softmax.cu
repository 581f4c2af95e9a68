// y = exp(x − max) / Σ exp(x − max) of every row of x, `dim` values each, rows a stride apart. T is
// float, bfloat16 or float16; arithmetic is float32, rounded once.
//
// Rows that fit are kept in registers. Maximum and sum of others are found in one pass
// (`online.cuh`), and the row is read a second time, from the caches if it fits there: 16 bytes or
// one value at a time.

namespace {

// Values of a row that a thread keeps.
constexpr int kKept = 32;

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
      const Values<T, V> loaded = load<T, V>(x + at);
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        values[i][j] = to_float(loaded.at[j]);
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
      Values<T, V> out;
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        from_float(values[i][j] * factor, out.at[j]);
      }
      store<T, V>(y + at, out);
    }
  }
}

template <class T, int V>
__device__ inline void reread(const T* x, T* y, int dim, int lanes, int lane) {
  const Exponentials all = exponentials<T, V>(x, dim, lanes, lane);
  const float factor = 1.0f / all.sum;
  #pragma unroll 4
  for (int at = lane * V; at < dim; at += lanes * V) {
    Values<T, V> values = load<T, V>(x + at);
    #pragma unroll
    for (int j = 0; j < V; ++j) {
      from_float(expf(to_float(values.at[j]) - all.highest) * factor, values.at[j]);
    }
    store<T, V>(y + at, values);
  }
}

template <class T, int V, bool KEPT>
__device__ inline void softmax(
    const T* x, T* y, long long rows, int dim, long long x_stride, long long y_stride, int lanes) {
  const long long row = team_row(lanes);
  if (row >= rows) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  if constexpr (KEPT) {
    kept<T, V>(x + row * x_stride, y + row * y_stride, dim, lanes, lane);
  } else {
    reread<T, V>(x + row * x_stride, y + row * y_stride, dim, lanes, lane);
  }
}

} // namespace

// softmax_{f32,bf16,f16}, …_long and …_scalar.

#define SOFTMAX(NAME, T, V, KEPT)                                                              \
  extern "C" __global__ void __launch_bounds__(kMostThreads) NAME(                             \
      const T* x, T* y, long long rows, int dim, long long x_stride, long long y_stride,       \
      int lanes) {                                                                             \
    softmax<T, V, KEPT>(x, y, rows, dim, x_stride, y_stride, lanes);                           \
  }

#define KERNELS(DTYPE, T)                                                                      \
  SOFTMAX(softmax_##DTYPE, T, kVector<T>, true)                                                \
  SOFTMAX(softmax_##DTYPE##_long, T, kVector<T>, false)                                        \
  SOFTMAX(softmax_##DTYPE##_scalar, T, 1, false)

KERNELS(f32, float)
KERNELS(bf16, BFloat16)
KERNELS(f16, Half)
