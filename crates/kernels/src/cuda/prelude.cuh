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

// The number of T in the widest access: 16 bytes.
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
  return from_floats(low, high, T{});
}

template <class T>
__device__ inline void unpack(unsigned pair, float& low, float& high) {
  low = to_float(T{static_cast<unsigned short>(pair & 0xFFFFu)});
  high = to_float(T{static_cast<unsigned short>(pair >> 16)});
}

// load and store in float32, two values of 16 bits by one instruction. Stores are to global memory.
template <class T, int V>
__device__ inline void load_floats(const T* from, float (&to)[V]) {
  if constexpr (sizeof(T) == 2 && V > 1) {
    const auto pairs = load<unsigned, V / 2>(reinterpret_cast<const unsigned*>(from));
    #pragma unroll
    for (int j = 0; j < V / 2; ++j) {
      unpack<T>(pairs.at[j], to[2 * j], to[2 * j + 1]);
    }
  } else {
    const Values<T, V> values = load<T, V>(from);
    #pragma unroll
    for (int j = 0; j < V; ++j) {
      to[j] = to_float(values.at[j]);
    }
  }
}

template <class T, int V>
__device__ inline void store_access(void* to, const Values<T, V>& values) {
  if constexpr (sizeof(values) == sizeof(uint4)) {
    store_16(to, *reinterpret_cast<const uint4*>(&values));
  } else {
    *static_cast<Values<T, V>*>(to) = values;
  }
}

template <class T, int V>
__device__ inline void store_floats(T* to, const float (&from)[V]) {
  if constexpr (sizeof(T) == 2 && V > 1) {
    Values<unsigned, V / 2> pairs;
    #pragma unroll
    for (int j = 0; j < V / 2; ++j) {
      pairs.at[j] = pack<T>(from[2 * j], from[2 * j + 1]);
    }
    store_access(to, pairs);
  } else {
    Values<T, V> values;
    #pragma unroll
    for (int j = 0; j < V; ++j) {
      from_float(from[j], values.at[j]);
    }
    store_access(to, values);
  }
}

// The sum over the warp, or over each part of it of WIDTH threads, in every thread.
template <int WIDTH = kWarp>
__device__ inline float warp_sum(float value) {
  #pragma unroll
  for (int offset = WIDTH / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
  }
  return value;
}

template <int WIDTH = kWarp>
__device__ inline float warp_max(float value) {
  #pragma unroll
  for (int offset = WIDTH / 2; offset > 0; offset /= 2) {
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
// A row belongs to a team of `lanes` threads: half a warp or a warp, of which a block has several, or
// a block. All threads of a warp have to come, and those of a team get the same.

constexpr int kMostThreads = 1024;
constexpr int kHalf = kWarp / 2;

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
  if (lanes == kHalf) {
    return warp_sum<kHalf>(value);
  }
  const auto sum = [](float it) { return warp_sum(it); };
  return across_warps(warp_sum(value), 0.0f, lanes, sum);
}

// The largest but NaN.
__device__ inline float team_max(float value, int lanes) {
  if (lanes == kHalf) {
    return warp_max<kHalf>(value);
  }
  const auto max = [](float it) { return warp_max(it); };
  return across_warps(warp_max(value), -infinity(), lanes, max);
}

// This thread's place in its team, and the row of the team. A division would take as long as the rest.
__device__ inline int team_lane(int lanes) {
  return static_cast<int>(threadIdx.x) & (lanes <= kWarp ? lanes - 1 : kMostThreads - 1);
}

__device__ inline long long team_row(int lanes) {
  const unsigned first = blockIdx.x;
  if (lanes > kWarp) {
    return first;
  }
  const int shift = lanes == kHalf ? 4 : 5;
  return static_cast<long long>(first) * (blockDim.x >> shift) + (threadIdx.x >> shift);
}

} // namespace
