//! One pass over memory: every element is read once, and its result written once.

use std::marker::PhantomData;
use std::ops::Range;

use super::function::Function;
use crate::kernels::cpu::vector::{Element, Kernel, Vector};

/// Vectors that are computed side by side.
const TOGETHER: usize = 4;

/// Where rows of elements lie, how many there are in a row, and from the beginning of one row to
/// that of the next.
#[derive(Debug)]
pub struct Operands<E> {
    pub x: *const E,
    pub x_stride: usize,
    /// Read if the function has a bias: one row.
    pub bias: *const E,
    pub out: *mut E,
    pub out_stride: usize,
    pub width: usize,
}

// SAFETY: addresses; what may be done with them, `Pass` says.
unsafe impl<E: Sync> Sync for Operands<E> {}

/// A function of some of the elements, counted row by row.
///
/// # Safety
/// Of a run: these elements of `x` and the row of the bias can be read, those of `out` be written,
/// and nobody else writes to any of them meanwhile. `out` begins where `x` does and has its stride,
/// or shares no memory with it.
pub struct Pass<'a, F, E> {
    pub operands: &'a Operands<E>,
    pub elements: Range<usize>,
    pub function: PhantomData<F>,
}

impl<F: Function, E: Element> Kernel for Pass<'_, F, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Self { operands, elements: Range { start, end }, .. } = self;
        let (mut row, mut column) = (start / operands.width, start % operands.width);
        let mut rest = end - start;
        while rest > 0 {
            let count = rest.min(operands.width - column);
            let piece = Piece {
                x: operands.x.wrapping_add(row * operands.x_stride + column),
                bias: operands.bias.wrapping_add(column),
                out: operands.out.wrapping_add(row * operands.out_stride + column),
                count,
            };
            // SAFETY: the caller's promise; a part of one row.
            unsafe { piece.run::<V, F>() };
            (row, column, rest) = (row + 1, 0, rest - count);
        }
    }
}

/// Consecutive elements.
struct Piece<E> {
    x: *const E,
    bias: *const E,
    out: *mut E,
    count: usize,
}

impl<E: Element> Piece<E> {
    /// # Safety
    /// That of [`Pass`].
    #[inline(always)]
    unsafe fn run<V: Vector, F: Function>(self) {
        // SAFETY: the caller's promise, from the beginning.
        let done = unsafe { self.sweep_together::<V, F>() };
        // SAFETY: the caller's promise, from where the last one ended.
        let done = unsafe { self.sweep::<V, F>(done) };
        let count = self.count - done;
        if count == 0 {
            return;
        }
        // SAFETY: the elements that are left, fewer than a vector has.
        let mut x = unsafe { E::load_first::<V>(self.x.wrapping_add(done), count) };
        if F::HAS_BIAS {
            // SAFETY: as above.
            let bias = unsafe { E::load_first::<V>(self.bias.wrapping_add(done), count) };
            // SAFETY: the caller has the instructions.
            x = unsafe { x.add(bias) };
        }
        // SAFETY: the caller has the instructions.
        let result = unsafe { F::at::<V, E>(x) };
        // SAFETY: as above.
        unsafe { E::store_first(result, self.out.wrapping_add(done), count) };
    }

    /// Goes over the elements by several vectors at a time as long as there are so many; returns
    /// where it ended.
    ///
    /// # Safety
    /// That of [`Pass`].
    #[inline(always)]
    unsafe fn sweep_together<V: Vector, F: Function>(&self) -> usize {
        let mut done = 0;
        while self.count - done >= TOGETHER * V::LANES {
            // SAFETY: the vectors end within the elements.
            let mut x = unsafe { E::load_shuffled::<V, TOGETHER>(self.x.wrapping_add(done)) };
            if F::HAS_BIAS {
                // SAFETY: as above.
                let bias = unsafe { E::load_shuffled::<V, TOGETHER>(self.bias.wrapping_add(done)) };
                // SAFETY: the caller has the instructions.
                x = unsafe { x.add(bias) };
            }
            // SAFETY: the caller has the instructions.
            let result = unsafe { F::at::<_, E>(x) };
            // SAFETY: as above.
            unsafe { E::store_shuffled(result, self.out.wrapping_add(done)) };
            done += TOGETHER * V::LANES;
        }
        done
    }

    /// Goes over the elements from `done` on, by a vector at a time as long as there are so many;
    /// returns where it ended.
    ///
    /// # Safety
    /// That of [`Pass`]; `done` is at most the number of elements.
    #[inline(always)]
    unsafe fn sweep<V: Vector, F: Function>(&self, mut done: usize) -> usize {
        while self.count - done >= V::LANES {
            // SAFETY: the vector ends within the elements.
            let mut x = unsafe { E::load::<V>(self.x.wrapping_add(done)) };
            if F::HAS_BIAS {
                // SAFETY: as above.
                let bias = unsafe { E::load::<V>(self.bias.wrapping_add(done)) };
                // SAFETY: the caller has the instructions.
                x = unsafe { x.add(bias) };
            }
            // SAFETY: the caller has the instructions.
            let result = unsafe { F::at::<V, E>(x) };
            // SAFETY: as above.
            unsafe { E::store(result, self.out.wrapping_add(done)) };
            done += V::LANES;
        }
        done
    }
}
