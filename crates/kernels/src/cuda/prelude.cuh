// In front of every kernel: NVRTC brings no headers of CUDA's own, so what kernels share is here.

namespace {

constexpr int kWarp = 32;

__device__ inline float to_float(float value) {
  return value;
}

__device__ inline void from_float(float value, float& out) {
  out = value;
}

__device__ inline float infinity() {
  return __uint_as_float(0x7F800000u);
}

// V values side by side, which are loaded and stored by one access: their address is a multiple of
// their size.
template <class T, int V>
struct alignas(sizeof(T) * V) Values {
  T at[V];
};

// As many of T as the widest access takes: 16 bytes.
template <class T>
constexpr int kVector = 16 / static_cast<int>(sizeof(T));

template <class T, int V>
__device__ inline Values<T, V> load(const T* from) {
  return *reinterpret_cast<const Values<T, V>*>(from);
}

template <class T, int V>
__device__ inline void store(T* to, const Values<T, V>& values) {
  *reinterpret_cast<Values<T, V>*>(to) = values;
}

// Two values as they lie in memory, the low one first.
template <class T>
__device__ inline unsigned pack(float low, float high) {
  T pair[2];
  from_float(low, pair[0]);
  from_float(high, pair[1]);
  return pair[0].bits | static_cast<unsigned>(pair[1].bits) << 16;
}

template <class T>
__device__ inline void unpack(unsigned pair, float& low, float& high) {
  low = to_float(T{static_cast<unsigned short>(pair & 0xFFFFu)});
  high = to_float(T{static_cast<unsigned short>(pair >> 16)});
}

// The sum over the warp, in every thread of it.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
  }
  return value;
}

__device__ inline float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, offset));
  }
  return value;
}

// The values of THREADS threads, a whole block, joined in pairs, in thread 0; once in a kernel. `join`
// takes its second operand into its first.
template <int THREADS, class T, class Join>
__device__ inline T block_joined(const T& value, Join join) {
  __shared__ T values[THREADS];
  values[threadIdx.x] = value;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      join(values[threadIdx.x], values[threadIdx.x + half]);
    }
  }
  return values[0];
}

template <int THREADS, class T>
__device__ inline T block_sum(T value) {
  return block_joined<THREADS>(value, [](T& sum, T other) { sum += other; });
}

// --- Rows ---------------------------------------------------------------------------------------
// A row belongs to a team of `lanes` threads: a warp, of which a block has several, or a block. All
// threads of a team have to come, and get the same.

constexpr int kMostThreads = 512;

// A warp's value in `value` becomes the team's: what each warp has, and `none` for those that are
// not there, in the order of the warps.
template <class Reduce>
__device__ inline float across_warps(float value, float none, int lanes, Reduce reduce) {
  if (lanes == kWarp) {
    return value;
  }
  __shared__ float of_warps[kMostThreads / kWarp];
  const int lane = threadIdx.x % kWarp;
  // The last call's have been read.
  __syncthreads();
  if (lane == 0) {
    of_warps[threadIdx.x / kWarp] = value;
  }
  __syncthreads();
  return reduce(lane < lanes / kWarp ? of_warps[lane] : none);
}

__device__ inline float team_sum(float value, int lanes) {
  const auto sum = [](float it) { return warp_sum(it); };
  return across_warps(warp_sum(value), 0.0f, lanes, sum);
}

// The largest but NaN.
__device__ inline float team_max(float value, int lanes) {
  const auto max = [](float it) { return warp_max(it); };
  return across_warps(warp_max(value), -infinity(), lanes, max);
}

// The row of this thread's team.
__device__ inline long long team_row(int lanes) {
  return static_cast<long long>(blockIdx.x) * (blockDim.x / lanes) + threadIdx.x / lanes;
}

} // namespace
