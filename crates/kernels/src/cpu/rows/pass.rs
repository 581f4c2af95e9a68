//! Passes over the vectors of a row.

use std::array::from_fn;
use std::ops::Range;

use crate::cpu::vector::{Element, Vector};

/// Folds that go on beside one another, so that none has to wait for its own last instruction.
pub const CHAINS: usize = 4;

/// Values of a chain's lane whose sum is kept in float32 before it goes to float64.
const CHUNK: usize = 64;
/// Lanes of all chains below which it is fewer: each lane's sum is the larger part of a row's then.
const FEW_LANES: usize = 16;

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// The place of a vector in a row.
#[derive(Debug, Clone, Copy)]
pub struct LaneRange {
    /// Its first element.
    pub at: usize,
    /// How many elements there are, where that is less than a vector has lanes.
    pub only: Option<usize>,
}

impl LaneRange {
    /// The elements of a row that lie here, and zeros. Whole vectors are in an order of their
    /// element's own, which [`Self::store`] undoes: what is done with several rows is done by places of
    /// the same vectors.
    ///
    /// # Safety
    /// The elements can be read.
    #[inline(always)]
    pub unsafe fn load<V: Vector, T: Element>(self, row: *const T) -> V {
        let from = row.wrapping_add(self.at);
        // SAFETY: the caller's promise.
        unsafe {
            match self.only {
                None => T::load_shuffled(from),
                Some(count) => T::load_first(from, count),
            }
        }
    }

    /// Writes the elements of a row that lie here.
    ///
    /// # Safety
    /// The elements can be written.
    #[inline(always)]
    pub unsafe fn store<V: Vector, T: Element>(self, values: V, row: *mut T) {
        let to = row.wrapping_add(self.at);
        // SAFETY: the caller's promise.
        unsafe {
            match self.only {
                None => T::store_shuffled(values, to),
                Some(count) => T::store_first(values, to, count),
            }
        }
    }
}

/// The source of a row's values.
pub trait Source: Copy {
    /// Bytes that are read for an element.
    const BYTES: usize;

    /// The address of the values, if they lie somewhere as float32.
    fn float32(self) -> Option<*const f32>;

    /// Has the processor fetch so many elements from a place on; where nothing lies, it does nothing.
    fn prefetch(self, at: usize, count: usize);

    /// The values at a place, and zeros.
    ///
    /// # Safety
    /// The elements at the place can be read.
    unsafe fn load<V: Vector>(self, place: LaneRange) -> V;
}

impl<T: Element> Source for *const T {
    const BYTES: usize = size_of::<T>();

    #[inline(always)]
    fn float32(self) -> Option<*const f32> {
        // The one element of so many bits of precision is float32.
        (T::PRECISION == f32::MANTISSA_DIGITS).then_some(self.cast())
    }

    #[inline(always)]
    fn prefetch(self, at: usize, count: usize) {
        prefetch(self.wrapping_add(at), count);
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(self, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe { place.load(self) }
    }
}

/// Has the processor fetch so many elements, if it can and there are any.
#[inline(always)]
fn prefetch<T>(from: *const T, count: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for line in 0..(count * size_of::<T>()).div_ceil(LINE) {
            let address = from.cast::<i8>().wrapping_add(line * LINE);
            // SAFETY: every CPU of this architecture has it, and it takes any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, count);
}

/// The sum of two rows, or else their difference.
#[derive(Debug, Clone, Copy)]
pub struct Pair<T, const IS_SUM: bool>(pub *const T, pub *const T);

impl<T: Element, const IS_SUM: bool> Source for Pair<T, IS_SUM> {
    const BYTES: usize = 2 * size_of::<T>();

    #[inline(always)]
    fn float32(self) -> Option<*const f32> {
        None
    }

    #[inline(always)]
    fn prefetch(self, at: usize, count: usize) {
        prefetch(self.0.wrapping_add(at), count);
        prefetch(self.1.wrapping_add(at), count);
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(self, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let (one, other): (V, V) = (place.load(self.0), place.load(self.1));
            if IS_SUM { one.add(other) } else { one.sub(other) }
        }
    }
}

/// A further way for values that a row is folded to.
pub trait Sink: Copy {
    /// Takes those of a place; behind the row's last ones, others follow.
    ///
    /// # Safety
    /// Whole vectors can be written at all places.
    unsafe fn take<V: Vector>(self, values: V, place: LaneRange);
}

/// Nowhere.
impl Sink for () {
    #[inline(always)]
    unsafe fn take<V: Vector>(self, _: V, _: LaneRange) {}
}

/// To memory.
impl Sink for *mut f32 {
    #[inline(always)]
    unsafe fn take<V: Vector>(self, values: V, place: LaneRange) {
        // SAFETY: the caller's promise.
        unsafe { values.store(self.wrapping_add(place.at)) };
    }
}

/// `K` numbers that a row is folded to: sums, unless it says otherwise. Methods are inlined into
/// functions that have the instructions.
pub trait Fold<V: Vector, const K: usize>: Copy {
    /// The value of an empty fold.
    const START: f32 = 0.0;

    /// Folds the elements at a place into what there is so far. Lanes where there is no element may
    /// become anything.
    ///
    /// # Safety
    /// The elements at the place can be read.
    unsafe fn add(self, so_far: [V; K], place: LaneRange) -> [V; K];

    /// Two folds as one.
    #[inline(always)]
    unsafe fn join(one: V, other: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { one.add(other) }
    }
}

/// Folds the elements of a row that lie in `range`, lane by lane, in `C` chains, a power of two.
///
/// # Safety
/// The contract of [`Fold::add`].
#[inline(always)]
pub unsafe fn fold<V: Vector, const K: usize, const C: usize, F: Fold<V, K>>(
    fold: F,
    range: Range<usize>,
) -> [V; K] {
    // SAFETY: the caller has the instructions, and all places are in the range.
    unsafe {
        let mut chains = [[V::splat(F::START); K]; C];
        let mut at = range.start;
        while range.end - at >= C * V::LANES {
            for (index, chain) in chains.iter_mut().enumerate() {
                *chain = fold.add(*chain, LaneRange { at: at + index * V::LANES, only: None });
            }
            at += C * V::LANES;
        }
        for chain in &mut chains[1..] {
            if range.end - at >= V::LANES {
                *chain = fold.add(*chain, LaneRange { at, only: None });
                at += V::LANES;
            }
        }
        if at < range.end {
            let count = range.end - at;
            let added = fold.add(chains[0], LaneRange { at, only: Some(count) });
            let some = V::first(count);
            chains[0] = from_fn(|k| V::select(some, added[k], chains[0][k]));
        }
        let mut count = C;
        while count > 1 {
            count /= 2;
            for index in 0..count {
                let other = chains[index + count];
                for (one, other) in chains[index].iter_mut().zip(other) {
                    *one = F::join(*one, other);
                }
            }
        }
        chains[0]
    }
}

/// The sums that a row is folded to: of [`CHUNK`] elements at a time in float32, in each lane of each
/// chain, and of those in float64.
///
/// # Safety
/// The contract of [`Fold::add`].
#[inline(always)]
pub unsafe fn sums<V: Vector, const K: usize, const C: usize, F: Fold<V, K>>(
    terms: F,
    elements: usize,
) -> [f64; K] {
    let mut totals = [0.0; K];
    let mut at = 0;
    while at < elements {
        let lanes = C * V::LANES;
        let end = elements.min(at + CHUNK * lanes * lanes.min(FEW_LANES) / FEW_LANES);
        // SAFETY: the caller's promise.
        let lanes = unsafe { fold::<V, K, C, F>(terms, at..end) };
        for (total, lanes) in totals.iter_mut().zip(lanes) {
            // SAFETY: the caller has the instructions.
            *total += f64::from(unsafe { lanes.sum() });
        }
        at = end;
    }
    totals
}

/// Σ v² of a row.
#[derive(Debug, Clone, Copy)]
pub struct Squares<S>(pub S);

impl<V: Vector, S: Source> Fold<V, 1> for Squares<S> {
    #[inline(always)]
    unsafe fn add(self, [squares]: [V; 1], place: LaneRange) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe {
            let value = self.0.load::<V>(place);
            [value.mul_add(value, squares)]
        }
    }
}

/// A function of each element of a row.
pub trait Map<V: Vector>: Copy {
    /// The results at a place.
    ///
    /// # Safety
    /// The elements at the place can be read.
    unsafe fn value_at(self, place: LaneRange) -> V;
}

/// Writes a function of the elements of a row.
///
/// # Safety
/// The contract of [`Map::value_at`]; the row's elements can be written.
#[inline(always)]
pub unsafe fn map<V: Vector, T: Element>(map: impl Map<V>, out: *mut T, elements: usize) {
    let mut at = 0;
    // SAFETY: the caller has the instructions, and all places are in the row.
    unsafe {
        while elements - at >= CHAINS * V::LANES {
            // No closure, which need not be inlined and so would be without the instructions.
            let mut results = [V::splat(0.0); CHAINS];
            for (index, result) in results.iter_mut().enumerate() {
                *result = map.value_at(LaneRange { at: at + index * V::LANES, only: None });
            }
            for (index, result) in results.into_iter().enumerate() {
                LaneRange { at: at + index * V::LANES, only: None }.store(result, out);
            }
            at += CHAINS * V::LANES;
        }
        while elements - at >= V::LANES {
            let place = LaneRange { at, only: None };
            place.store(map.value_at(place), out);
            at += V::LANES;
        }
        if at < elements {
            let place = LaneRange { at, only: Some(elements - at) };
            place.store(map.value_at(place), out);
        }
    }
}
