//! Passes over a part of the arrays.

use std::hint::black_box;
use std::marker::PhantomData;
use std::ops::Range;

use plan::Probe;

use crate::cpu::Capability;
use crate::cpu::vector::{Kernel, Vector};

/// STREAM's scalar.
pub const SCALAR: f32 = 3.0;

/// Vectors that are loaded before they are stored: enough for the loop's own instructions not to
/// stand in the way of one store a cycle.
const UNROLL: usize = 4;

/// A thread's part: `elements` float32 values in each array.
#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    /// Read by every operation.
    pub x: *mut f32,
    /// Read by add and triad.
    pub y: *mut f32,
    /// Written.
    pub output: *mut f32,
    pub elements: usize,
}

// SAFETY: addresses; what may be done with them, `run` says.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Some of its elements.
    pub fn part(&self, range: &Range<usize>) -> Self {
        let at = |array: *mut f32| array.wrapping_add(range.start);
        Self { x: at(self.x), y: at(self.y), output: at(self.output), elements: range.len() }
    }
}

/// The result of an operation on an element of each array that can be read; none for what is none of
/// STREAM's.
pub fn float64(operation: Probe) -> Option<fn(f64, f64) -> f64> {
    const SCALAR: f64 = self::SCALAR as f64;
    match operation {
        Probe::Copy => Some(|x, _| x),
        Probe::Scale => Some(|x, _| SCALAR * x),
        Probe::Add => Some(|x, y| x + y),
        Probe::Triad => Some(|x, y| x + SCALAR * y),
        Probe::Matmul | Probe::MatmulOnednn | Probe::Launch | Probe::Call | Probe::CompiledCall => {
            None
        }
    }
}

/// Makes so many passes over a part, with an operation that [`float64`] knows.
///
/// # Safety
/// The CPU has the capability. `x` and `y` can be read and `output` be written as far as the part
/// says, and nobody else writes there meanwhile.
pub unsafe fn run(operation: Probe, capability: Capability, part: Chunk, passes: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match operation {
            Probe::Copy => capability.run(Passes { part, passes, operation: PhantomData::<Copy> }),
            Probe::Scale => {
                capability.run(Passes { part, passes, operation: PhantomData::<Scale> })
            }
            Probe::Add => capability.run(Passes { part, passes, operation: PhantomData::<Add> }),
            Probe::Triad => {
                capability.run(Passes { part, passes, operation: PhantomData::<Triad> })
            }
            Probe::Matmul
            | Probe::MatmulOnednn
            | Probe::Launch
            | Probe::Call
            | Probe::CompiledCall => unreachable!("{operation} is not one of STREAM's"),
        }
    }
}

/// The passes of an operation over a part.
struct Passes<O> {
    part: Chunk,
    passes: u64,
    operation: PhantomData<O>,
}

/// The compiler's knowledge of the arrays ends with each pass: it can neither drop a pass nor merge
/// several. And as the arrays could overlap for all it knows, no copy becomes a call of `memcpy`,
/// which writes large arrays past the cache.
impl<O: Operation> Kernel for Passes<O> {
    type Output = ();
    const ROUNDS_TO_BF16: bool = false;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for _ in 0..self.passes {
            let part = black_box(self.part);
            // SAFETY: the caller's promise; each goes on where the one before ended.
            unsafe {
                let done = sweep::<V, O, UNROLL>(part, 0);
                let done = sweep::<V, O, 1>(part, done);
                sweep::<f32, O, 1>(part, done);
            }
        }
        black_box(self.part);
    }
}

/// Goes over the part from the element `done` on, by `N` vectors at a time as long as there are so
/// many; returns where it ended.
///
/// # Safety
/// The contract of [`run`]; `done` is at most the number of elements.
#[inline(always)]
unsafe fn sweep<V: Vector, O: Operation, const N: usize>(part: Chunk, mut done: usize) -> usize {
    // SAFETY: the caller has the instructions.
    let scalar = unsafe { V::splat(SCALAR) };
    while part.elements - done >= N * V::LANES {
        let results: [V; N] = std::array::from_fn(|index| {
            let at = done + index * V::LANES;
            let (x, y) = (part.x.wrapping_add(at), part.y.wrapping_add(at));
            // SAFETY: the vector ends within the part.
            unsafe { O::compute(x, y, scalar) }
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
    /// The result on what lies at `x` and `y`.
    ///
    /// # Safety
    /// [`Vector::LANES`] values can be read at `x` and at `y`.
    unsafe fn compute<V: Vector>(x: *const f32, y: *const f32, scalar: V) -> V;
}

macro_rules! operation {
    ($name:ident, |$x:ident, $y:ident, $scalar:ident| $value:expr) => {
        struct $name;

        impl Operation for $name {
            #[inline(always)]
            unsafe fn compute<V: Vector>($x: *const f32, $y: *const f32, $scalar: V) -> V {
                // SAFETY: the caller's promise.
                unsafe { $value }
            }
        }
    };
}

operation!(Copy, |x, _y, _scalar| V::load(x));
operation!(Scale, |x, _y, scalar| scalar.mul(V::load(x)));
operation!(Add, |x, y, _scalar| V::load(x).add(V::load(y)));
operation!(Triad, |x, y, scalar| scalar.mul_add(V::load(y), V::load(x)));
