//! One pass over memory: every element is read once, and its result written once.

use std::marker::PhantomData;
use std::ops::Range;

use super::function::Function;
use crate::cpu::vector::{
    Element, Kernel, MOST_LANES, REGISTERS, Together, Vector, run_out_of_line,
};

/// Elements of the registers of a block, at most.
const MOST: usize = REGISTERS * MOST_LANES;

/// Bytes ahead of which memory is asked for.
const AHEAD: usize = 4096;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The memory of rows of elements: where they begin, how many elements a row has, and the distance of
/// two rows.
#[derive(Debug)]
pub struct Addresses<E> {
    pub x: *const E,
    pub x_stride: usize,
    /// Read if the function has a bias: one row.
    pub bias: *const E,
    pub out: *mut E,
    pub out_stride: usize,
    pub width: usize,
}

// SAFETY: addresses; what may be done with them, `Pass` says.
unsafe impl<E: Sync> Sync for Addresses<E> {}

/// A function of some of the elements, counted row by row.
///
/// # Safety
/// These elements of `x` and the row of the bias can be read, those of `out` be written,
/// and nobody else writes to any of them meanwhile. `out` begins where `x` does and has its stride,
/// or shares no memory with it.
pub struct Pass<'a, F, E> {
    pub addresses: &'a Addresses<E>,
    pub elements: Range<usize>,
    pub function: PhantomData<F>,
}

impl<F: Function, E: Element> Kernel for Pass<'_, F, E> {
    type Output = ();
    const ROUNDS_TO_BF16: bool = E::IS_BF16;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Self { addresses, elements: Range { start, end }, .. } = self;
        let (mut row, mut column) = (start / addresses.width, start % addresses.width);
        let mut rest = end - start;
        while rest > 0 {
            let count = rest.min(addresses.width - column);
            let piece = Piece {
                x: addresses.x.wrapping_add(row * addresses.x_stride + column),
                bias: addresses.bias.wrapping_add(column),
                out: addresses.out.wrapping_add(row * addresses.out_stride + column),
                count,
            };
            // SAFETY: the caller's promise; a part of one row.
            unsafe { piece.run::<V, F>() };
            (row, column, rest) = (row + 1, 0, rest - count);
        }
    }
}

/// Consecutive elements.
#[derive(Debug, Clone, Copy)]
struct Piece<E> {
    x: *const E,
    bias: *const E,
    out: *mut E,
    count: usize,
}

impl<E: Element> Piece<E> {
    /// # Safety
    /// The contract of [`Pass`].
    #[inline(always)]
    unsafe fn run<V: Vector, F: Function>(self) {
        let block = REGISTERS * V::LANES;
        let mut done = 0;
        // SAFETY: the caller's promise; a block that is left, and then fewer elements than it has.
        unsafe {
            while self.count - done >= block {
                done = self.sweep::<V, F>(done);
                if self.count - done >= block {
                    let piece = self.part(done, block);
                    run_out_of_line::<V, _>(Everywhere { piece, function: PhantomData::<F> });
                    done += block;
                }
            }
            if done < self.count {
                self.part(done, self.count - done).run_in_block::<V, F>();
            }
        }
    }

    fn part(&self, from: usize, count: usize) -> Self {
        Self {
            x: self.x.wrapping_add(from),
            bias: self.bias.wrapping_add(from),
            out: self.out.wrapping_add(from),
            count,
        }
    }

    /// Goes over the elements from `done` on, by blocks, as long as all of one are near zero;
    /// returns where it ended.
    ///
    /// # Safety
    /// The contract of [`Pass`]; `done` is at most the number of elements.
    #[inline(always)]
    unsafe fn sweep<V: Vector, F: Function>(&self, mut done: usize) -> usize {
        let block = REGISTERS * V::LANES;
        while self.count - done >= block {
            let here = self.part(done, block);
            // SAFETY: the caller's promise; a block.
            unsafe {
                here.prefetch::<V>();
                let x = here.load::<V, F>();
                let Some(result) = F::near_zero::<_, E>(x) else { break };
                E::store_shuffled(result, here.out);
            }
            done += block;
        }
        done
    }

    /// Asks for what comes some time after these elements if they have 16 bits: they arrive an eighth
    /// faster so. For those of 32 bits, a block takes the memory longer than the registers: the processor
    /// looks ahead far enough, and prefetching costs some percent.
    #[inline(always)]
    unsafe fn prefetch<V: Vector>(&self) {
        if size_of::<E>() > 2 {
            return;
        }
        let bytes = self.x.cast::<u8>().wrapping_add(AHEAD);
        for line in 0..(self.count * size_of::<E>()).div_ceil(LINE) {
            // SAFETY: the caller's promise.
            unsafe { V::prefetch(bytes.wrapping_add(line * LINE)) };
        }
    }

    /// Loads the function's arguments in a block.
    ///
    /// # Safety
    /// As for [`Pass`]; the elements are a block.
    #[inline(always)]
    unsafe fn load<V: Vector, F: Function>(&self) -> Together<V> {
        // SAFETY: the caller's promise.
        unsafe {
            let x = E::load_shuffled(self.x);
            if F::HAS_BIAS { Together::add(x, E::load_shuffled(self.bias)) } else { x }
        }
    }

    /// Fewer elements than a block has: by way of one that has others behind them.
    ///
    /// # Safety
    /// The contract of [`Pass`]; there is an element.
    #[inline(always)]
    unsafe fn run_in_block<V: Vector, F: Function>(self) {
        // SAFETY: the first element can be read.
        let first = unsafe { *self.x };
        let (mut x, mut bias, mut out) = ([first; MOST], [first; MOST], [first; MOST]);
        // SAFETY: the caller's promise; arrays that have room for a block, of which the elements are
        // fewer.
        unsafe {
            x.as_mut_ptr().copy_from_nonoverlapping(self.x, self.count);
            if F::HAS_BIAS {
                bias.as_mut_ptr().copy_from_nonoverlapping(self.bias, self.count);
            }
            let count = REGISTERS * V::LANES;
            let piece = Piece { x: x.as_ptr(), bias: bias.as_ptr(), out: out.as_mut_ptr(), count };
            run_out_of_line::<V, _>(Everywhere { piece, function: PhantomData::<F> });
            self.out.copy_from_nonoverlapping(out.as_ptr(), self.count);
        }
    }
}

/// A function of a block, wherever its elements are.
struct Everywhere<E, F> {
    piece: Piece<E>,
    function: PhantomData<F>,
}

impl<F: Function, E: Element> Kernel for Everywhere<E, F> {
    type Output = ();
    const ROUNDS_TO_BF16: bool = E::IS_BF16;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise; a block.
        unsafe {
            let x = self.piece.load::<V, F>();
            E::store_shuffled(F::evaluate::<_, E>(x), self.piece.out);
        }
    }
}
