// y = f(x) or f(x + b), for x and y of `rows` rows of `dim` values, whose rows begin a stride apart,
// and b[dim]. T is float, bfloat16 or float16; arithmetic is float32, rounded once.
//
//   gelu       x · Φ(x)
//   gelu_tanh  x · σ(2u), u = √(2/π) · (x + 0.044715x³): ½ · (1 + tanh u) = σ(2u)
//   silu       x · σ(x)
//
// An access is V values: 16 bytes, where every row begins at a multiple of 16, or one. What is left
// of a row after whole accesses is read value by value.

namespace {

constexpr int kThreads = 256;
// Accesses of a thread that are on their way at once.
constexpr int kUnroll = 2;

// With 16-bit values there is time for about 25 instructions on each while memory moves, on an H200:
// an accurate quotient or erfc would be waited for. So quotients are products with an approximate
// reciprocal, and Φ has a formula of its own.

// x · σ(z) for z of the sign of x, also where exp(−z) would overflow.
__device__ inline float times_sigmoid(float x, float z) {
  const float small = expf(-fabsf(z));
  return (z < 0.0f ? x * small : x) * reciprocal(1.0f + small);
}

// Φ(x), of which the smaller tail is ½erfc(a / √2) = exp(−a² / 2) · p(t) with a = |x| and t = 1 /
// (1 + 0.3a). p was fitted to a of 0 to 14.5, beyond which the tail is 0 in float32; its relative
// error is below 1.7e-7. exp's error grows to 1e-5 where the tail becomes 1e-38. It is 2²⁴ times
// itself, and p a 2²⁴th of itself: a denormal power would be 0.
__device__ inline float normal_cdf(float x) {
  const float a = fabsf(x);
  constexpr float kSmall = 1.0f / (1 << 24);
  const float t = reciprocal(fmaf(0.3f, a, 1.0f));
  float p = 0.035423859f * kSmall;
  p = fmaf(p, t, -0.15615894f * kSmall);
  p = fmaf(p, t, 0.20455757f * kSmall);
  p = fmaf(p, t, -0.052034684f * kSmall);
  p = fmaf(p, t, 0.12769209f * kSmall);
  p = fmaf(p, t, 0.10017586f * kSmall);
  p = fmaf(p, t, 0.12071215f * kSmall);
  p = fmaf(p, t, 0.11963201f * kSmall);
  const float tail = power_of_two(fmaf(-0.72134752044448170f, a * a, 24.0f)) * (p * t);
  return x < 0.0f ? tail : 1.0f - tail;
}

struct Gelu {
  static __device__ inline float of(float x) {
    return x * normal_cdf(x);
  }
};

struct GeluTanh {
  static __device__ inline float of(float x) {
    // 2√(2/π) and its product with 0.044715.
    return times_sigmoid(x, x * (1.5957691216057308f + 0.071354816272600240f * (x * x)));
  }
};

struct Silu {
  static __device__ inline float of(float x) {
    return times_sigmoid(x, x);
  }
};

// Blocks lie side by side along a row, `lanes` threads and kUnroll accesses of each wide; the other
// threads of a block take further rows. `lanes` is a power of two up to kThreads.
template <class F, bool BIAS, class T, int V>
__device__ inline void pointwise(
    const T* x, const T* bias, T* y, long long rows, long long dim, long long x_stride,
    long long y_stride, int lanes) {
  const int lane = threadIdx.x & (lanes - 1);
  const int block_rows = kThreads / lanes;
  const long long first = static_cast<long long>(blockIdx.x) * lanes * kUnroll + lane;
  const long long whole = dim / V;
  float biases[kUnroll][V] = {};
  #pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    if (BIAS && first + i * lanes < whole) {
      load_floats<T, V>(bias + (first + i * lanes) * V, biases[i]);
    }
  }
  const long long step = static_cast<long long>(gridDim.y) * block_rows;
  for (long long row = static_cast<long long>(blockIdx.y) * block_rows + threadIdx.x / lanes;
       row < rows; row += step) {
    const T* from = x + row * x_stride;
    T* to = y + row * y_stride;
    float values[kUnroll][V];
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * lanes < whole) {
        load_floats<T, V>(from + (first + i * lanes) * V, values[i]);
      }
    }
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * lanes < whole) {
        #pragma unroll
        for (int j = 0; j < V; ++j) {
          values[i][j] = F::of(BIAS ? values[i][j] + biases[i][j] : values[i][j]);
        }
        store_floats<T, V>(to + (first + i * lanes) * V, values[i]);
      }
    }
    if (V > 1 && blockIdx.x == 0) {
      for (long long at = whole * V + lane; at < dim; at += lanes) {
        const float value = to_float(from[at]);
        from_float(F::of(BIAS ? value + to_float(bias[at]) : value), to[at]);
      }
    }
  }
}

} // namespace

// {gelu,gelu_tanh,silu,bias_gelu}_{f32,bf16,f16} and …_scalar.

#define POINTWISE(NAME, F, BIAS, T, V)                                                         \
  extern "C" __global__ void __launch_bounds__(kThreads) NAME(                                 \
      const T* x, const T* bias, T* y, long long rows, long long dim, long long x_stride,      \
      long long y_stride, int lanes) {                                                         \
    pointwise<F, BIAS, T, V>(x, bias, y, rows, dim, x_stride, y_stride, lanes);                \
  }

#define KERNELS(DTYPE, T)                                                                      \
  POINTWISE(gelu_##DTYPE, Gelu, false, T, kVector<T>)                                          \
  POINTWISE(gelu_##DTYPE##_scalar, Gelu, false, T, 1)                                          \
  POINTWISE(gelu_tanh_##DTYPE, GeluTanh, false, T, kVector<T>)                                 \
  POINTWISE(gelu_tanh_##DTYPE##_scalar, GeluTanh, false, T, 1)                                 \
  POINTWISE(silu_##DTYPE, Silu, false, T, kVector<T>)                                          \
  POINTWISE(silu_##DTYPE##_scalar, Silu, false, T, 1)                                          \
  POINTWISE(bias_gelu_##DTYPE, Gelu, true, T, kVector<T>)                                      \
  POINTWISE(bias_gelu_##DTYPE##_scalar, Gelu, true, T, 1)

KERNELS(f32, float)
KERNELS(bf16, BFloat16)
KERNELS(f16, Half)
