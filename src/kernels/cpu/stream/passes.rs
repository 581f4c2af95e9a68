//! Passes over a part of the arrays, one function for each operation and instruction set.

use std::hint::black_box;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128 as Default, __m256, __m512};

use plan::Probe;

use super::vectors::Vector;
use crate::kernels::cpu::Capability;

/// STREAM's scalar.
pub const SCALAR: f32 = 3.0;

/// What every CPU of the architecture has.
#[cfg(not(target_arch = "x86_64"))]
type Default = [f32; 4];

/// Vectors that are loaded before they are stored: enough for the loop's own instructions not to
/// stand in the way of one store a cycle.
const UNROLL: usize = 4;

/// What one thread works on: `elements` float32 values in each array.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Read by every operation.
    pub x: *mut f32,
    /// Read by add and triad.
    pub y: *mut f32,
    /// Written.
    pub output: *mut f32,
    pub elements: usize,
}

// SAFETY: addresses; what may be done with them, `Passes` says.
unsafe impl Sync for Part {}

impl Part {
    /// Some of its elements.
    pub fn part(&self, range: &Range<usize>) -> Self {
        let at = |array: *mut f32| array.wrapping_add(range.start);
        Self { x: at(self.x), y: at(self.y), output: at(self.output), elements: range.len() }
    }
}

/// Makes so many passes over a part.
///
/// # Safety
/// The CPU has the capability that the function was found for. `x` and `y` can be read and `output`
/// be written as far as the part says, and nobody else writes there meanwhile.
pub type Passes = unsafe fn(Part, u64);

/// An operation with the instructions of a capability.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// What runs.
    pub passes: Passes,
    /// What a record calls it.
    pub names: &'static [&'static str],
    /// Its result on elements of the two arrays that can be read, in float64.
    pub float64: fn(f64, f64) -> f64,
}

/// The kernel for an operation; none for what is none of STREAM's.
pub fn kernel(operation: Probe, capability: Capability) -> Option<Kernel> {
    match operation {
        Probe::Copy => Some(with::<Copy>(capability)),
        Probe::Scale => Some(with::<Scale>(capability)),
        Probe::Add => Some(with::<Add>(capability)),
        Probe::Triad => Some(with::<Triad>(capability)),
        Probe::Matmul | Probe::MatmulOnednn | Probe::Launch => None,
    }
}

fn with<O: Operation>(capability: Capability) -> Kernel {
    let (passes, names): (Passes, _) = match capability {
        #[cfg(target_arch = "x86_64")]
        Capability::Avx2 => (avx2::<O>, O::NAMES[1]),
        #[cfg(target_arch = "x86_64")]
        Capability::Avx512 | Capability::Avx512Bf16 => (avx512::<O>, O::NAMES[2]),
        _ => (default::<O>, O::NAMES[0]),
    };
    Kernel { passes, names, float64: O::float64 }
}

unsafe fn default<O: Operation>(part: Part, passes: u64) {
    // SAFETY: every CPU has it; the rest is the caller's promise.
    unsafe { repeat::<Default, O>(part, passes) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<O: Operation>(part: Part, passes: u64) {
    // SAFETY: the caller's promise.
    unsafe { repeat::<__m256, O>(part, passes) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<O: Operation>(part: Part, passes: u64) {
    // SAFETY: the caller's promise.
    unsafe { repeat::<__m512, O>(part, passes) }
}

/// The passes. What the compiler knows of the arrays ends with each: it can neither drop one, nor
/// make one of several. And as the arrays could overlap for all it knows, no copy becomes a call of
/// `memcpy`, which writes large arrays past the cache.
///
/// # Safety
/// That of [`Passes`].
#[inline(always)]
unsafe fn repeat<V: Vector, O: Operation>(part: Part, passes: u64) {
    for _ in 0..passes {
        let part = black_box(part);
        // SAFETY: the caller's promise, and a part from its beginning.
        let done = unsafe { sweep::<V, O, UNROLL>(part, 0) };
        // SAFETY: the caller's promise, and from where the last one ended.
        let done = unsafe { sweep::<V, O, 1>(part, done) };
        // SAFETY: as above.
        unsafe { sweep::<[f32; 1], O, 1>(part, done) };
    }
    black_box(part);
}

/// Goes over the part from the element `done` on, by `N` vectors at a time as long as there are so
/// many; returns where it ended.
///
/// # Safety
/// That of [`Passes`]; `done` is at most the number of elements.
#[inline(always)]
unsafe fn sweep<V: Vector, O: Operation, const N: usize>(part: Part, mut done: usize) -> usize {
    // SAFETY: the caller has the instructions.
    let scalar = unsafe { V::splat(SCALAR) };
    while part.elements - done >= N * V::LANES {
        let results: [V; N] = std::array::from_fn(|index| {
            let at = done + index * V::LANES;
            let (x, y) = (part.x.wrapping_add(at), part.y.wrapping_add(at));
            // SAFETY: the vector ends within the part.
            unsafe { O::at(x, y, scalar) }
        });
        for (index, result) in results.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { result.store(part.output.wrapping_add(done + index * V::LANES)) };
        }
        done += N * V::LANES;
    }
    done
}

/// Names of a kernel: default, AVX2, AVX-512.
type Names = [&'static [&'static str]; 3];

/// One of STREAM's operations.
trait Operation {
    const NAMES: Names;

    /// The result on what lies at `x` and `y`.
    ///
    /// # Safety
    /// The CPU has the instructions; [`Vector::LANES`] values can be read at `x` and at `y`.
    unsafe fn at<V: Vector>(x: *const f32, y: *const f32, scalar: V) -> V;

    /// The result on two elements.
    fn float64(x: f64, y: f64) -> f64;
}

struct Copy;

impl Operation for Copy {
    const NAMES: Names = [
        &["criterion_torch::stream_copy_default"],
        &["criterion_torch::stream_copy_avx2"],
        &["criterion_torch::stream_copy_avx512"],
    ];

    #[inline(always)]
    unsafe fn at<V: Vector>(x: *const f32, _: *const f32, _: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load(x) }
    }

    fn float64(x: f64, _: f64) -> f64 {
        x
    }
}

struct Scale;

impl Operation for Scale {
    const NAMES: Names = [
        &["criterion_torch::stream_scale_default"],
        &["criterion_torch::stream_scale_avx2"],
        &["criterion_torch::stream_scale_avx512"],
    ];

    #[inline(always)]
    unsafe fn at<V: Vector>(x: *const f32, _: *const f32, scalar: V) -> V {
        // SAFETY: the caller's promise.
        let x = unsafe { V::load(x) };
        // SAFETY: the caller's promise.
        unsafe { scalar.mul(x) }
    }

    fn float64(x: f64, _: f64) -> f64 {
        f64::from(SCALAR) * x
    }
}

struct Add;

impl Operation for Add {
    const NAMES: Names = [
        &["criterion_torch::stream_add_default"],
        &["criterion_torch::stream_add_avx2"],
        &["criterion_torch::stream_add_avx512"],
    ];

    #[inline(always)]
    unsafe fn at<V: Vector>(x: *const f32, y: *const f32, _: V) -> V {
        // SAFETY: the caller's promise.
        let (x, y) = unsafe { load_both::<V>(x, y) };
        // SAFETY: the caller's promise.
        unsafe { x.add(y) }
    }

    fn float64(x: f64, y: f64) -> f64 {
        x + y
    }
}

struct Triad;

impl Operation for Triad {
    const NAMES: Names = [
        &["criterion_torch::stream_triad_default"],
        &["criterion_torch::stream_triad_avx2"],
        &["criterion_torch::stream_triad_avx512"],
    ];

    #[inline(always)]
    unsafe fn at<V: Vector>(x: *const f32, y: *const f32, scalar: V) -> V {
        // SAFETY: the caller's promise.
        let (x, y) = unsafe { load_both::<V>(x, y) };
        // SAFETY: the caller's promise.
        unsafe { scalar.mul_add(y, x) }
    }

    fn float64(x: f64, y: f64) -> f64 {
        x + f64::from(SCALAR) * y
    }
}

/// # Safety
/// That of [`Operation::at`].
#[inline(always)]
unsafe fn load_both<V: Vector>(x: *const f32, y: *const f32) -> (V, V) {
    // SAFETY: the caller's promise.
    let x = unsafe { V::load(x) };
    // SAFETY: the caller's promise.
    (x, unsafe { V::load(y) })
}
