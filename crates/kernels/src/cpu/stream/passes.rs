//! Passes over a part of the arrays, one function for each operation and instruction set.

use std::hint::black_box;
use std::marker::PhantomData;
use std::ops::Range;

use plan::Probe;

use crate::cpu::Capability;
use crate::cpu::vector::{self, Names, Vector};

/// STREAM's scalar.
pub const SCALAR: f32 = 3.0;

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

// SAFETY: addresses; what may be done with them, `Run` says.
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
/// The CPU has the capability. `x` and `y` can be read and `output` be written as far as the part
/// says, and nobody else writes there meanwhile.
type Run = unsafe fn(Capability, Part, u64);

/// An operation with the instructions of a capability.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    capability: Capability,
    run: Run,
    /// What a record calls it.
    pub names: &'static [&'static str],
    /// Its result on elements of the two arrays that can be read, in float64.
    pub float64: fn(f64, f64) -> f64,
}

impl Kernel {
    /// Makes so many passes over a part.
    ///
    /// # Safety
    /// The CPU has the capability that the kernel was found for. `x` and `y` can be read and
    /// `output` be written as far as the part says, and nobody else writes there meanwhile.
    pub unsafe fn run(self, part: Part, passes: u64) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(self.capability, part, passes) }
    }
}

/// The kernel for an operation; none for what is none of STREAM's.
pub fn kernel(operation: Probe, capability: Capability) -> Option<Kernel> {
    match operation {
        Probe::Copy => Some(with::<Copy>(capability)),
        Probe::Scale => Some(with::<Scale>(capability)),
        Probe::Add => Some(with::<Add>(capability)),
        Probe::Triad => Some(with::<Triad>(capability)),
        Probe::Matmul | Probe::MatmulOnednn | Probe::Launch | Probe::Call | Probe::CompiledCall => {
            None
        }
    }
}

fn with<O: Operation>(capability: Capability) -> Kernel {
    let names = O::NAMES.of(capability);
    Kernel { capability, run: run::<O>, names, float64: O::float64 }
}

/// # Safety
/// That of [`Run`].
unsafe fn run<O: Operation>(capability: Capability, part: Part, passes: u64) {
    // SAFETY: the caller's promise.
    unsafe { capability.run(Repeated::<O> { part, passes, operation: PhantomData }) }
}

/// The passes of an operation over a part.
struct Repeated<O> {
    part: Part,
    passes: u64,
    operation: PhantomData<O>,
}

/// What the compiler knows of the arrays ends with each pass: it can neither drop one, nor make one
/// of several. And as the arrays could overlap for all it knows, no copy becomes a call of
/// `memcpy`, which writes large arrays past the cache.
impl<O: Operation> vector::Kernel for Repeated<O> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for _ in 0..self.passes {
            let part = black_box(self.part);
            // SAFETY: the caller's promise, and a part from its beginning.
            let done = unsafe { sweep::<V, O, UNROLL>(part, 0) };
            // SAFETY: the caller's promise, and from where the last one ended.
            let done = unsafe { sweep::<V, O, 1>(part, done) };
            // SAFETY: as above.
            unsafe { sweep::<[f32; 1], O, 1>(part, done) };
        }
        black_box(self.part);
    }
}

/// Goes over the part from the element `done` on, by `N` vectors at a time as long as there are so
/// many; returns where it ended.
///
/// # Safety
/// That of [`Run`]; `done` is at most the number of elements.
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
    const NAMES: Names = vector::names!("stream_copy");

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
    const NAMES: Names = vector::names!("stream_scale");

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
    const NAMES: Names = vector::names!("stream_add");

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
    const NAMES: Names = vector::names!("stream_triad");

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
