//! The pass-through limit: bytes that are moved and not computed with, which is what a machine's
//! memory allows an operator that reads and writes as much. McCalpin's STREAM is
//! [`stream`](super::stream). A pass runs on the same threads as the kernels of operators, split the
//! same way, by loads and stores of the same width. Records call it `copy`, `merge` or `read`, by
//! [`Capability::kernel`].
//!
//! Stores are plain ones: a line that is written is read before, unless the processor sees that all
//! of it will be written.

use std::array::from_fn;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use tch::{Device, TchError, Tensor};

use super::Capability;
use super::parallel::{for_each_part, share, threads};
use super::vector::{Kernel, MOST_LANES, Vector};
use crate::overlap::refuse_overlap;

/// Bytes at whose multiples a thread's part begins: a page.
const STEP: usize = 4096;
/// Vectors that are loaded before they are stored, as in `stream`.
const UNROLL: usize = 4;

/// Writes the bytes of `x` to `out`.
///
/// # Errors
/// Tensors that are not contiguous, not on the CPU, of different numbers of bytes, or that share
/// memory.
pub fn copy(x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    write(Capability::best(), [x], out)
}

/// Writes the bytes of `x` with those of `y` to `out`, each the exclusive or of two: of both inputs,
/// whatever the dtype, for an instruction beside each pair of loads.
///
/// # Errors
/// As [`copy`].
pub fn merge(x: &Tensor, y: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    write(Capability::best(), [x, y], out)
}

/// Reads the bytes of one or two inputs, as many of each, side by side, and returns the exclusive or
/// of all their groups of eight, with zeros behind the last. A caller that measures hands it to
/// [`black_box`].
///
/// # Errors
/// As [`copy`], but for shared memory; no input, or more than two.
pub fn read(inputs: &[&Tensor]) -> Result<u64, TchError> {
    match *inputs {
        [x] => fold(Capability::best(), [x]),
        [x, y] => fold(Capability::best(), [x, y]),
        _ => Err(TchError::Shape(format!("{} inputs, where 1 or 2 are read", inputs.len()))),
    }
}

fn write<const N: usize>(
    capability: Capability,
    inputs: [&Tensor; N],
    out: &mut Tensor,
) -> Result<(), TchError> {
    refuse_overlap(out, inputs)?;
    let out = Bytes::from_tensor(out)?;
    let inputs = all_of(inputs)?;
    for input in &inputs {
        out.expect_as_many(input)?;
    }
    for_each_part_of(capability, &out, |at, count| {
        let to = Some(out.pointer_at(at));
        let pass = Pass { inputs: inputs.map(|it| it.pointer_at(at).cast_const()), out: to, count };
        // SAFETY: available; so many bytes from there on of each, of which nobody else writes
        // those of `out`.
        unsafe { capability.run(pass) };
    })
}

fn fold<const N: usize>(capability: Capability, inputs: [&Tensor; N]) -> Result<u64, TchError> {
    let inputs = all_of(inputs)?;
    for input in &inputs {
        inputs[0].expect_as_many(input)?;
    }
    let folded = AtomicU64::new(0);
    for_each_part_of(capability, &inputs[0], |at, count| {
        let pass =
            Pass { inputs: inputs.map(|it| it.pointer_at(at).cast_const()), out: None, count };
        // SAFETY: available; so many bytes from there on of each.
        folded.fetch_xor(unsafe { capability.run(pass) }, Ordering::Relaxed);
    })?;
    Ok(folded.into_inner())
}

/// Calls `work` with the first byte and the number of bytes of each thread's part: of as many
/// elements as an operator's.
fn for_each_part_of(
    capability: Capability,
    bytes: &Bytes,
    work: impl Fn(usize, usize) + Sync,
) -> Result<(), TchError> {
    capability.demand()?;
    let share = share(bytes.count / bytes.element, threads()) * bytes.element;
    let step = share.max(1).next_multiple_of(STEP);
    for_each_part(bytes.count, step, |part| work(part.start, part.len()))
}

/// The memory of a contiguous tensor.
#[derive(Debug, Clone, Copy)]
struct Bytes {
    first: *mut u8,
    count: usize,
    /// Bytes of an element.
    element: usize,
}

// SAFETY: addresses; what may be done with them, the kernels that take them say.
unsafe impl Send for Bytes {}
// SAFETY: the same.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn from_tensor(tensor: &Tensor) -> Result<Self, TchError> {
        if tensor.device() != Device::Cpu || !tensor.is_contiguous() {
            return Err(TchError::Shape(format!(
                "{tensor:?} with strides {:?}: only contiguous tensors on the CPU are copied",
                tensor.stride()
            )));
        }
        let element = tensor.f_kind()?.elt_size_in_bytes();
        let count = tensor.numel() * element;
        Ok(Self { first: tensor.data_ptr().cast(), count, element })
    }

    fn pointer_at(&self, byte: usize) -> *mut u8 {
        self.first.wrapping_add(byte)
    }

    fn expect_as_many(&self, other: &Self) -> Result<(), TchError> {
        if self.count != other.count {
            let counts = format!("{} and {} bytes", self.count, other.count);
            return Err(TchError::Shape(format!("{counts}, which have to be equal")));
        }
        Ok(())
    }
}

fn all_of<const N: usize>(tensors: [&Tensor; N]) -> Result<[Bytes; N], TchError> {
    let mut all = [Bytes { first: std::ptr::null_mut(), count: 0, element: 1 }; N];
    for (bytes, tensor) in all.iter_mut().zip(tensors) {
        *bytes = Bytes::from_tensor(tensor)?;
    }
    Ok(all)
}

/// The exclusive or of the bytes of all inputs: written, or else folded to eight bytes.
struct Pass<const N: usize> {
    inputs: [*const u8; N],
    out: Option<*mut u8>,
    count: usize,
}

impl<const N: usize> Kernel for Pass<N> {
    type Output = u64;
    const ROUNDS_TO_BF16: bool = false;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> u64 {
        // The compiler's knowledge of the addresses ends here: they may overlap, so that this does
        // not become a call of `memcpy`, which writes large arrays past the cache.
        let Self { inputs, out, count } = black_box(self);
        // SAFETY: the caller's promise.
        unsafe {
            match out {
                Some(out) => write_all::<V, N>(inputs, out, count),
                None => fold_all::<V, N>(inputs, count),
            }
        }
    }
}

/// # Safety
/// The contract of [`Pass`].
#[inline(always)]
unsafe fn write_all<V: Vector, const N: usize>(
    inputs: [*const u8; N],
    out: *mut u8,
    count: usize,
) -> u64 {
    let mut at = 0;
    // SAFETY: the caller's promise; all that is touched ends within the bytes.
    unsafe {
        while count - at >= UNROLL * size_of::<V>() {
            let values: [V; UNROLL] = from_fn(|index| merged(inputs, at + index * size_of::<V>()));
            for (index, value) in values.into_iter().enumerate() {
                value.store(out.wrapping_add(at + index * size_of::<V>()).cast());
            }
            at += UNROLL * size_of::<V>();
        }
        while count - at >= size_of::<V>() {
            merged::<V, N>(inputs, at).store(out.wrapping_add(at).cast());
            at += size_of::<V>();
        }
        for at in at..count {
            out.wrapping_add(at).write(merged_byte(inputs, at));
        }
    }
    0
}

/// # Safety
/// The contract of [`Pass`].
#[inline(always)]
unsafe fn fold_all<V: Vector, const N: usize>(inputs: [*const u8; N], count: usize) -> u64 {
    let mut at = 0;
    let mut folded = [0; 8];
    // SAFETY: the caller's promise; all that is touched ends within the bytes.
    unsafe {
        let mut chains = [V::splat(0.0); UNROLL];
        while count - at >= UNROLL * size_of::<V>() {
            for (index, chain) in chains.iter_mut().enumerate() {
                *chain = chain.xor(merged(inputs, at + index * size_of::<V>()));
            }
            at += UNROLL * size_of::<V>();
        }
        for (position, chain) in chains.into_iter().enumerate() {
            let mut lanes = [0.0_f32; MOST_LANES];
            chain.store(lanes.as_mut_ptr());
            // A scalar is half of the eight bytes.
            let first = position * size_of::<V>();
            for (index, byte) in lanes.iter().flat_map(|lane| lane.to_ne_bytes()).enumerate() {
                folded[(first + index) % 8] ^= byte;
            }
        }
        for at in at..count {
            folded[at % 8] ^= merged_byte(inputs, at);
        }
    }
    u64::from_ne_bytes(folded)
}

/// # Safety
/// A vector can be read from `at` on of each input.
#[inline(always)]
unsafe fn merged<V: Vector, const N: usize>(inputs: [*const u8; N], at: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut value = V::load(inputs[0].wrapping_add(at).cast());
        for input in &inputs[1..] {
            value = value.xor(V::load(input.wrapping_add(at).cast()));
        }
        value
    }
}

/// # Safety
/// The byte at `at` can be read of each input.
#[inline(always)]
unsafe fn merged_byte<const N: usize>(inputs: [*const u8; N], at: usize) -> u8 {
    // SAFETY: the caller's promise.
    inputs.iter().fold(0, |byte, input| byte ^ unsafe { input.wrapping_add(at).read() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    /// Sizes with a rest behind every width, and of several parts.
    const SIZES: [i64; 9] = [0, 1, 7, 15, 63, 64, 255, 1023, 300_001];

    fn bytes(count: i64, seed: i64) -> Tensor {
        let steps = Tensor::arange(count, (Kind::Int64, Device::Cpu));
        ((steps * (2 * seed + 7) + seed).remainder(251)).to_kind(Kind::Uint8)
    }

    fn values(tensor: &Tensor) -> Vec<u8> {
        Vec::try_from(tensor).unwrap()
    }

    #[test]
    fn every_byte_is_moved() {
        for capability in Capability::available() {
            for count in SIZES {
                let (x, y) = (bytes(count, 1), bytes(count, 2));
                let mut out = bytes(count, 3);
                write(capability, [&x], &mut out).unwrap();
                assert!(values(&out) == values(&x), "{capability:?} {count}");
                write(capability, [&x, &y], &mut out).unwrap();
                let merged: Vec<u8> =
                    values(&x).iter().zip(values(&y)).map(|(x, y)| x ^ y).collect();
                assert!(values(&out) == merged, "{capability:?} {count}");
            }
        }
    }

    #[test]
    fn every_byte_is_read() {
        for capability in Capability::available() {
            for count in SIZES {
                let (x, y) = (bytes(count, 1), bytes(count, 2));
                let mut expected = [0; 8];
                for (index, byte) in values(&x).into_iter().enumerate() {
                    expected[index % 8] ^= byte;
                }
                let found = fold(capability, [&x]).unwrap();
                assert_eq!(found.to_ne_bytes(), expected, "{capability:?} {count}");
                for (index, byte) in values(&y).into_iter().enumerate() {
                    expected[index % 8] ^= byte;
                }
                let found = fold(capability, [&x, &y]).unwrap();
                assert_eq!(found.to_ne_bytes(), expected, "{capability:?} {count}");
            }
        }
    }

    #[test]
    fn any_dtype_is_bytes_and_no_bit_is_lost() {
        // All 16-bit patterns, signalling NaN among them.
        let bits = Tensor::arange(1 << 16, (Kind::Int, Device::Cpu)).to_kind(Kind::Int16);
        for kind in [Kind::BFloat16, Kind::Half] {
            let x = bits.view_dtype(kind);
            let mut out = x.zeros_like();
            copy(&x, &mut out).unwrap();
            assert_eq!(out.view_dtype(Kind::Int16), bits);
        }
        let (x, target) =
            (bits.view_dtype(Kind::Float), Tensor::zeros([1 << 15], (Kind::Float, Device::Cpu)));
        let mut out = x.ones_like();
        merge(&x, &target, &mut out).unwrap();
        assert_eq!(out.view_dtype(Kind::Int16), bits);
        assert_eq!(read(&[&x, &target]).unwrap(), read(&[&bits]).unwrap());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let x = bytes(100, 1);
        let error = |result: Result<(), TchError>| result.unwrap_err().to_string();
        assert!(error(copy(&x, &mut bytes(99, 1))).contains("99 and 100 bytes"));
        assert!(
            error(copy(&x.narrow(0, 0, 50), &mut x.narrow(0, 49, 50))).contains("shares memory")
        );
        copy(&x.narrow(0, 0, 50), &mut x.narrow(0, 50, 50)).unwrap();
        let columns = x.view([10, 10]).tr();
        assert!(error(copy(&columns, &mut bytes(100, 2))).contains("contiguous"));
        assert!(error(merge(&x, &bytes(99, 1), &mut bytes(100, 2))).contains("100 and 99 bytes"));
        assert!(error(read(&[]).map(|_| ())).contains("0 inputs"));
        assert!(error(read(&[&x, &x, &x]).map(|_| ())).contains("3 inputs"));
    }
}
