// Everything that is PTX, and needs compute capability 8.0. Tests put a file of C++ in its place
// (`emulation.h`), so that kernels can be executed without a GPU.

namespace {

// A 16-bit float as it lies in memory.
struct BFloat16 {
  unsigned short bits;
};
struct Half {
  unsigned short bits;
};

__device__ inline float to_float(BFloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

// Rounds to nearest even, as libtorch does.
__device__ inline void from_float(float value, BFloat16& out) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
}

__device__ inline unsigned from_floats(float low, float high, BFloat16) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ inline float to_float(Half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

__device__ inline void from_float(float value, Half& out) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
}

__device__ inline unsigned from_floats(float low, float high, Half) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// To global memory by one access, where the compiler would store some structures word by word.
__device__ inline void store_16(void* to, uint4 words) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
}

// 2^value; less than 2⁻¹²⁶ is 0.
__device__ inline float power_of_two(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// 1 / value, off by one unit in the last place at most. Less than 2⁻¹²⁶ in or out is 0.
__device__ inline float reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// d[16, 8] += a[16, 16] · b[16, 8] by the 32 threads of a warp: products exact, sums in float32.
// With row = lane / 4 and pair = 2 · (lane % 4), a thread holds
//   a: [row, pair..], [row + 8, pair..], [row, pair + 8..], [row + 8, pair + 8..], two values each
//   b: [pair.., row], [pair + 8.., row], two values each
//   d: [row, pair], [row, pair + 1], [row + 8, pair], [row + 8, pair + 1]
__device__ inline void multiply_add(
    float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], BFloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void multiply_add(
    float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], Half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

} // namespace
