// Every row of x normalized, `dim` values each, rows a stride apart; w and b are [dim]. T is float,
// bfloat16 or float16; arithmetic is float32, rounded once. Variances are biased, ε = 1e-5.
//
//   layer_norm            (x − mean) / √(var + ε) · w + b
//   layer_norm_no_affine  (x − mean) / √(var + ε)
//   rms_norm              x / √(mean(x²) + ε) · w
//   add_layer_norm        layer_norm of x + r
//
// The mean is taken of differences from the row's first value, and the variance of differences from
// the mean: rows of equal values give zeros, however large they are.
//
// Three ways to have a row at hand: each thread keeps its part in registers, so that the row is read
// once; or reads it again, from the caches, 16 bytes or one value at a time.

namespace {

constexpr float kEpsilon = 1e-5f;
// Values of a row that a thread keeps.
constexpr int kKept = 16;

enum class Norm { Layer, LayerNoAffine, Rms, AddLayer };

template <class T>
struct Row {
  const T* x;
  const T* r;
  const T* w;
  const T* b;
  T* y;
  int dim;
  int lanes;
  int lane;

  // The value from which the mean is taken.
  template <Norm N>
  __device__ inline float origin() const {
    if constexpr (N == Norm::Rms) {
      return 0.0f;
    } else if constexpr (N == Norm::AddLayer) {
      return to_float(x[0]) + to_float(r[0]);
    } else {
      return to_float(x[0]);
    }
  }

  // V values from `at` on, less the origin.
  template <Norm N, int V>
  __device__ inline void read(int at, float origin, float (&to)[V]) const {
    load_floats<T, V>(x + at, to);
    if constexpr (N == Norm::AddLayer) {
      float others[V];
      load_floats<T, V>(r + at, others);
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        to[j] += others[j];
      }
    }
    if constexpr (N != Norm::Rms) {
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        to[j] -= origin;
      }
    }
  }

  template <Norm N, int V>
  __device__ inline void write(int at, const float (&from)[V], float mean, float scale) const {
    float out[V];
    #pragma unroll
    for (int j = 0; j < V; ++j) {
      out[j] = (from[j] - mean) * scale;
    }
    if constexpr (N != Norm::LayerNoAffine) {
      float weights[V];
      load_floats<T, V>(w + at, weights);
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        out[j] *= weights[j];
      }
    }
    if constexpr (N == Norm::Layer || N == Norm::AddLayer) {
      float biases[V];
      load_floats<T, V>(b + at, biases);
      #pragma unroll
      for (int j = 0; j < V; ++j) {
        out[j] += biases[j];
      }
    }
    store_floats<T, V>(y + at, out);
  }
};

template <int V>
__device__ inline float sum(const float (&values)[V]) {
  float total = 0.0f;
  #pragma unroll
  for (int j = 0; j < V; ++j) {
    total += values[j];
  }
  return total;
}

template <int V>
__device__ inline float sum_of_squares(const float (&values)[V], float mean) {
  float total = 0.0f;
  #pragma unroll
  for (int j = 0; j < V; ++j) {
    const float difference = values[j] - mean;
    total = fmaf(difference, difference, total);
  }
  return total;
}

template <class T>
__device__ inline float scale(const Row<T>& row, float squares) {
  return 1.0f / sqrtf(team_sum(squares, row.lanes) / row.dim + kEpsilon);
}

template <Norm N, class T>
__device__ inline float mean(const Row<T>& row, float total) {
  return N == Norm::Rms ? 0.0f : team_sum(total, row.lanes) / row.dim;
}

template <Norm N, class T, int V>
__device__ inline void kept(const Row<T>& row) {
  constexpr int kVectors = kKept / V;
  const int step = row.lanes * V;
  const float origin = row.template origin<N>();
  float values[kVectors][V];
  float total = 0.0f;
  #pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = row.lane * V + i * step;
    if (at < row.dim) {
      row.template read<N, V>(at, origin, values[i]);
      total += sum<V>(values[i]);
    }
  }
  const float center = mean<N>(row, total);
  float squares = 0.0f;
  #pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (row.lane * V + i * step < row.dim) {
      squares += sum_of_squares<V>(values[i], center);
    }
  }
  const float factor = scale(row, squares);
  #pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = row.lane * V + i * step;
    if (at < row.dim) {
      row.template write<N, V>(at, values[i], center, factor);
    }
  }
}

template <Norm N, class T, int V>
__device__ inline void reread(const Row<T>& row) {
  const int step = row.lanes * V;
  const int first = row.lane * V;
  const float origin = row.template origin<N>();
  float values[V];
  float total = 0.0f;
  if constexpr (N != Norm::Rms) {
    #pragma unroll 4
    for (int at = first; at < row.dim; at += step) {
      row.template read<N, V>(at, origin, values);
      total += sum<V>(values);
    }
  }
  const float center = mean<N>(row, total);
  float squares = 0.0f;
  #pragma unroll 4
  for (int at = first; at < row.dim; at += step) {
    row.template read<N, V>(at, origin, values);
    squares += sum_of_squares<V>(values, center);
  }
  const float factor = scale(row, squares);
  #pragma unroll 4
  for (int at = first; at < row.dim; at += step) {
    row.template read<N, V>(at, origin, values);
    row.template write<N, V>(at, values, center, factor);
  }
}

template <Norm N, class T, int V, bool KEPT>
__device__ inline void normalize(
    const T* x, const T* r, const T* w, const T* b, T* y, long long rows, int dim,
    long long x_stride, long long r_stride, long long y_stride, int lanes) {
  const long long row = min(team_row(lanes), rows - 1);
  // Teams beyond the last row take it once more, so that warps stay whole.
  const Row<T> it = {
      x + row * x_stride, N == Norm::AddLayer ? r + row * r_stride : r,  w, b, y + row * y_stride,
      dim, lanes, team_lane(lanes)};
  if constexpr (KEPT) {
    kept<N, T, V>(it);
  } else {
    reread<N, T, V>(it);
  }
}

} // namespace

// {layer_norm,layer_norm_no_affine,rms_norm,add_layer_norm}_{f32,bf16,f16}, …_short for rows that half
// a warp keeps, …_long for those that no block does, and …_scalar.

#define NORMALIZE(NAME, N, T, V, KEPT, LANES)                                                  \
  extern "C" __global__ void __launch_bounds__(KEPT ? kMostThreads : kMostThreads / 2) NAME(   \
      const T* x, const T* r, const T* w, const T* b, T* y, long long rows, int dim,           \
      long long x_stride, long long r_stride, long long y_stride, int lanes) {                 \
    normalize<N, T, V, KEPT>(x, r, w, b, y, rows, dim, x_stride, r_stride, y_stride, LANES);   \
  }

#define WAYS(NAME, N, T)                                                                       \
  NORMALIZE(NAME, N, T, kVector<T>, true, lanes)                                               \
  NORMALIZE(NAME##_short, N, T, kVector<T>, true, kHalf)                                       \
  NORMALIZE(NAME##_long, N, T, kVector<T>, false, lanes)                                       \
  NORMALIZE(NAME##_scalar, N, T, 1, false, lanes)

#define KERNELS(DTYPE, T)                                                                      \
  WAYS(layer_norm_##DTYPE, Norm::Layer, T)                                                     \
  WAYS(layer_norm_no_affine_##DTYPE, Norm::LayerNoAffine, T)                                   \
  WAYS(rms_norm_##DTYPE, Norm::Rms, T)                                                         \
  WAYS(add_layer_norm_##DTYPE, Norm::AddLayer, T)

KERNELS(f32, float)
KERNELS(bf16, BFloat16)
KERNELS(f16, Half)
