// In front of every kernel: NVRTC brings no headers of CUDA's own, so what kernels share is here.

namespace {

constexpr int kWarp = 32;

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

} // namespace
