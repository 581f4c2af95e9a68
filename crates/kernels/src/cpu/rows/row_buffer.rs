//! Rows as float32, near the processor.

use super::pass::{LaneRange, Map, Source, map};
use crate::cpu::vector::{Element, Vector};

/// Rows that are read before the first of them is written, at most.
pub const MOST: usize = 7;

/// Elements that are read before the first of them is written: what comes of a row takes a while to
/// be known when it is read, and is to be in the nearest cache still when it is written.
const AHEAD: usize = 1600;

/// How many rows of so many elements are read before the first of them is written.
pub fn lag(dim: usize) -> usize {
    (AHEAD / dim.max(1)).clamp(1, MOST)
}

/// Bytes from what is read to what is fetched from memory meanwhile, at least.
const FETCHED: usize = 2048;

/// How many rows there are from one that is read to that which is fetched meanwhile.
pub fn fetched<S: Source>(dim: usize) -> usize {
    FETCHED.div_ceil((dim * S::BYTES).max(1))
}

/// Float32 values in a cache line.
const LINE: usize = 16;

/// A cache line: a register of the widest kind that is in two takes twice as long.
#[repr(align(64))]
struct Line {
    _values: [f32; LINE],
}

/// Room for rows of float32 values, each of whole vectors; they are not values before they are
/// written.
pub struct RowBuffer {
    memory: Vec<Line>,
    dim: usize,
    stride: usize,
}

impl RowBuffer {
    /// Room for so many rows.
    pub fn new<V: Vector>(rows: usize, dim: usize) -> Self {
        let stride = dim.next_multiple_of(V::LANES.max(LINE));
        Self { memory: Vec::with_capacity(rows * stride / LINE), dim, stride }
    }

    pub fn row(&mut self, index: usize) -> *mut f32 {
        self.memory.as_mut_ptr().cast::<f32>().wrapping_add(index * self.stride)
    }

    /// The elements as float32: where they are if they are that, or else in a row.
    ///
    /// # Safety
    /// A whole row of elements can be read.
    #[inline(always)]
    pub unsafe fn hold<V: Vector, T: Element>(
        &mut self,
        from: *const T,
        index: usize,
    ) -> *const f32 {
        if let Some(floats) = from.float32() {
            return floats;
        }
        let row = self.row(index);
        // SAFETY: the caller's promise.
        unsafe { map::<V, f32>(Same(from), row, self.dim) };
        row.cast_const()
    }
}

/// Each element as it is.
#[derive(Debug, Clone, Copy)]
struct Same<S>(S);

impl<V: Vector, S: Source> Map<V> for Same<S> {
    #[inline(always)]
    unsafe fn value_at(self, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe { self.0.load(place) }
    }
}
