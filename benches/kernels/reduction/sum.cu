// The sum of `count` values, computed in float32, or in float64 where they are that:
//
//   sum_blocks    a share of the values in each block, read by accesses of 16 bytes
//   sum_partials  the sums of the blocks, in one block

namespace {

constexpr int kThreads = 256;

template <class T>
__device__ inline void sum_blocks(const T* x, long long count, Wide<T>* partial) {
  constexpr int V = kVector<T>;
  const long long whole = count / V;
  const long long stride = static_cast<long long>(gridDim.x) * kThreads;
  Wide<T> sum = 0;
  #pragma unroll 4
  for (long long at = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; at < whole;
       at += stride) {
    const Values<T, V> values = load<T, V>(x + at * V);
    #pragma unroll
    for (int i = 0; i < V; ++i) {
      sum += wide(values.at[i]);
    }
  }
  const long long tail = whole * V + threadIdx.x;
  if (blockIdx.x == 0 && tail < count) {
    sum += wide(x[tail]);
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
  }
}

template <class T>
__device__ inline void sum_partials(const Wide<T>* partial, int blocks, T* out) {
  Wide<T> sum = 0;
  for (int i = threadIdx.x; i < blocks; i += kThreads) {
    sum += partial[i];
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) {
    out[0] = narrow<T>(sum);
  }
}

} // namespace

#define SUM(name, T)                                                                      \
  extern "C" __global__ void sum_blocks_##name(                                           \
      const T* x, long long count, Wide<T>* partial) {                                    \
    sum_blocks(x, count, partial);                                                        \
  }                                                                                       \
  extern "C" __global__ void sum_partials_##name(                                         \
      const Wide<T>* partial, int blocks, T* out) {                                       \
    sum_partials(partial, blocks, out);                                                   \
  }

SUM(f64, double)
SUM(f32, float)
SUM(bf16, BFloat16)
SUM(f16, Half)
