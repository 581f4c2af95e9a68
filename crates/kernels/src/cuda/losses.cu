// Means, in a fixed order: a first kernel leaves one sum per block in `partial`, in double, and
// `mean_…` adds those up, divides by `count` and rounds to T. T is float, bfloat16 or float16; terms
// are computed in float32.
//
//   mse            (x − t)², for x and t of `rows` rows of `dim` values, rows a stride apart
//   cross_entropy  log Σ exp(x_row) − x_row[target_row] for rows of `dim` logits. A target outside
//                  0..dim gives NaN; no target is ignored.

namespace {

constexpr int kThreads = 256;
// Accesses of a thread that are on their way at once.
constexpr int kUnroll = 4;

template <class T>
__device__ inline void mean(const double* partial, T* y, int partials, long long count) {
  double sum = 0.0;
  for (int i = threadIdx.x; i < partials; i += kThreads) {
    sum += partial[i];
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) {
    from_float(static_cast<float>(sum / static_cast<double>(count)), *y);
  }
}

template <class T>
__device__ inline float squared(const T& x, const T& t) {
  const float difference = to_float(x) - to_float(t);
  return difference * difference;
}

// A row is cut into tiles of kUnroll accesses of each thread; blocks take one after another.
template <class T, int V>
__device__ inline void mse(
    const T* x, const T* t, double* partial, long long rows, long long dim, long long x_stride,
    long long t_stride) {
  constexpr int kTile = kThreads * kUnroll;
  const long long whole = dim / V;
  // A row shorter than an access has one for its tail.
  const long long row_tiles = max((whole + kTile - 1) / kTile, 1LL);
  float sum = 0.0f;
  for (long long tile = blockIdx.x; tile < rows * row_tiles; tile += gridDim.x) {
    const long long row = tile / row_tiles;
    const long long first = tile % row_tiles * kTile + threadIdx.x;
    const T* a = x + row * x_stride;
    const T* b = t + row * t_stride;
    Values<T, V> of_x[kUnroll], of_t[kUnroll];
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < whole) {
        of_x[i] = load<T, V>(a + (first + i * kThreads) * V);
        of_t[i] = load<T, V>(b + (first + i * kThreads) * V);
      }
    }
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < whole) {
        #pragma unroll
        for (int j = 0; j < V; ++j) {
          sum += squared(of_x[i].at[j], of_t[i].at[j]);
        }
      }
    }
    // The first tile's threads take what is left of the row after whole accesses.
    const long long tail = whole * V + first;
    if (V > 1 && tile % row_tiles == 0 && tail < dim) {
      sum += squared(a[tail], b[tail]);
    }
  }
  const double total = block_sum<kThreads>(static_cast<double>(sum));
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = total;
  }
}

// Teams take one row after another. All threads of a team have the same sum.
template <class T, int V>
__device__ inline void cross_entropy(
    const T* x, const long long* target, double* partial, long long rows, int dim,
    long long x_stride, int lanes) {
  const long long team = team_row(lanes);
  const long long teams = static_cast<long long>(gridDim.x) * (blockDim.x / lanes);
  const int lane = team_lane(lanes);
  double sum = 0.0;
  for (long long row = team; row < rows; row += teams) {
    const T* logits = x + row * x_stride;
    const Exponentials all = exponentials<T, V>(logits, dim, lanes, lane);
    const long long at = target[row];
    // The difference first: large logits do not swallow the logarithm.
    const bool exists = 0 <= at && at < dim;
    sum += exists ? all.highest - to_float(logits[at]) + logf(all.sum)
                  : __uint_as_float(0x7FC00000u);
  }
  __shared__ double of_teams[kMostThreads / kWarp];
  if (lane == 0) {
    of_teams[threadIdx.x / lanes] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0.0;
    for (int i = 0; i < blockDim.x / lanes; ++i) {
      total += of_teams[i];
    }
    partial[blockIdx.x] = total;
  }
}

} // namespace

// mean_{f32,bf16,f16}; {mse_loss,cross_entropy}_{f32,bf16,f16} and …_scalar.

#define MSE(NAME, T, V)                                                                        \
  extern "C" __global__ void __launch_bounds__(kThreads) NAME(                                 \
      const T* x, const T* t, double* partial, long long rows, long long dim,                  \
      long long x_stride, long long t_stride) {                                                \
    mse<T, V>(x, t, partial, rows, dim, x_stride, t_stride);                                   \
  }

#define CROSS_ENTROPY(NAME, T, V)                                                              \
  extern "C" __global__ void __launch_bounds__(kMostThreads / 2, 2) NAME(                          \
      const T* x, const long long* target, double* partial, long long rows, int dim,           \
      long long x_stride, int lanes) {                                                         \
    cross_entropy<T, V>(x, target, partial, rows, dim, x_stride, lanes);                       \
  }

#define KERNELS(DTYPE, T)                                                                      \
  extern "C" __global__ void __launch_bounds__(kThreads) mean_##DTYPE(                         \
      const double* partial, T* y, int partials, long long count) {                            \
    mean<T>(partial, y, partials, count);                                                      \
  }                                                                                            \
  MSE(mse_loss_##DTYPE, T, kVector<T>)                                                         \
  MSE(mse_loss_##DTYPE##_scalar, T, 1)                                                         \
  CROSS_ENTROPY(cross_entropy_##DTYPE, T, kVector<T>)                                          \
  CROSS_ENTROPY(cross_entropy_##DTYPE##_scalar, T, 1)

KERNELS(f32, float)
KERNELS(bf16, BFloat16)
KERNELS(f16, Half)
