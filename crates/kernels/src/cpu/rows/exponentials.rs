//! The exponentials of one row, which softmax and cross entropy share.

use std::cell::Cell;
use std::marker::PhantomData;

use super::interleaved::Interleaved;
use super::pass::{CHAINS, Fold, LaneRange, Sink, Source, fold};
use crate::cpu::math::exp;
use crate::cpu::vector::{Element, Vector};

/// Whether so many elements are worked on in step, [`CHAINS`] registers at once: an exponential takes
/// a chain of instructions so long that the processor cannot hold enough of them to work on several
/// by itself, and bfloat16 elements are read and written in pairs of registers.
pub fn in_step<V: Vector>(elements: usize) -> bool {
    elements >= CHAINS * V::LANES
}

/// The greatest value of a row; any value if there is a NaN.
///
/// # Safety
/// The row's elements can be read.
#[inline(always)]
pub unsafe fn greatest<V: Vector>(source: impl Source, elements: usize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        let [lanes] = fold::<V, 1, CHAINS, _>(Greatest(source), 0..elements);
        lanes.greatest()
    }
}

#[derive(Debug, Clone, Copy)]
struct Greatest<S>(S);

impl<V: Vector, S: Source> Fold<V, 1> for Greatest<S> {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    unsafe fn add(self, [greatest]: [V; 1], place: LaneRange) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe { [greatest.max(self.0.load(place))] }
    }

    #[inline(always)]
    unsafe fn join(one: V, other: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { one.max(other) }
    }
}

/// The greatest value of a row, found beside what is done with another.
pub struct Maximum<V, S> {
    source: S,
    lanes: Cell<V>,
}

impl<V: Vector, S: Source> Maximum<V, S> {
    #[inline(always)]
    pub unsafe fn new(source: S) -> Self {
        // SAFETY: the caller's promise.
        Self { source, lanes: Cell::new(unsafe { V::splat(f32::NEG_INFINITY) }) }
    }

    #[inline(always)]
    pub unsafe fn found(self) -> f32 {
        // SAFETY: the caller's promise.
        unsafe { self.lanes.get().greatest() }
    }
}

impl<V: Vector, S: Source> Interleaved<V> for &Maximum<V, S> {
    #[inline(always)]
    unsafe fn step(self, place: LaneRange) {
        let before = self.lanes.get();
        // SAFETY: the caller's promise.
        let after = unsafe {
            let after = before.max(self.source.load(place));
            match place.only {
                None => after,
                Some(count) => V::select(V::first(count), after, before),
            }
        };
        self.lanes.set(after);
    }
}

/// Σ e^(v − greatest) of a row, as exact as results of the element `E` need it.
#[derive(Debug, Clone, Copy)]
pub struct Exponentials<V, S, B, O, E> {
    source: S,
    greatest: V,
    interleaved: B,
    sink: O,
    precision: PhantomData<E>,
}

impl<V: Vector, S, B, O, E> Exponentials<V, S, B, O, E> {
    #[inline(always)]
    pub unsafe fn new(source: S, greatest: f32, interleaved: B, sink: O) -> Self {
        // SAFETY: the caller's promise.
        let greatest = unsafe { V::splat(greatest) };
        Self { source, greatest, interleaved, sink, precision: PhantomData }
    }
}

impl<V, S, B, O, E> Fold<V, 1> for Exponentials<V, S, B, O, E>
where
    V: Vector,
    S: Source,
    B: Interleaved<V>,
    O: Sink,
    E: Element,
{
    #[inline(always)]
    unsafe fn add(self, [sum]: [V; 1], place: LaneRange) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe {
            let exponentials = exp::<V, E>(self.source.load::<V>(place).sub(self.greatest));
            self.sink.take(exponentials, place);
            self.interleaved.step(place);
            [sum.add(exponentials)]
        }
    }
}
