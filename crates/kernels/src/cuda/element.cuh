// In front of kernels for any precision: `wide` is what a value is computed in, `narrow` rounds to
// what is stored, as `kernel::Element` does.

namespace {

template <class T>
struct Computed {
  using Type = float;
};
template <>
struct Computed<double> {
  using Type = double;
};
template <class T>
using Wide = typename Computed<T>::Type;

template <class T>
__device__ inline float wide(T value) {
  return to_float(value);
}
__device__ inline double wide(double value) {
  return value;
}

template <class T>
__device__ inline T narrow(Wide<T> value) {
  T narrowed;
  from_float(value, narrowed);
  return narrowed;
}
template <>
__device__ inline double narrow<double>(double value) {
  return value;
}

} // namespace
