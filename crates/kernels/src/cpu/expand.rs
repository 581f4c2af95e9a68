//! Expansion of 2:4 compressed weights into a dense matrix.

use tch::{TchError, Tensor};

use super::memory::{Number, slice, slice_mut};

/// The dense matrix `[n, k]` of a compressed one: `values [n, k / 2]`, of 8, 16 or 32 bits, and one
/// bit per weight in `mask`, uint8, the first weight in the lowest bit, that says whether it is the
/// next value or zero. Two of every four bits have to be set; where they are not, the elements from
/// there on are some or other values. On one thread.
///
/// # Errors
/// Sizes that do not belong together; a tensor that is not contiguous or not on the CPU.
pub fn expand_2_4(values: &Tensor, mask: &Tensor) -> Result<Tensor, TchError> {
    let (n, half) = values.size2()?;
    let size = [n, 2 * half];
    let mut dense = Tensor::f_empty(size, (values.f_kind()?, values.device()))?;
    let mask = slice::<u8>(mask)?;
    if half % 2 != 0 || mask.len() != dense.numel().div_ceil(8) {
        let bits = 8 * mask.len();
        return Err(TchError::Shape(format!("a mask of {bits} bits for a matrix of {size:?}")));
    }
    let path = Path::best();
    match values.f_kind()?.elt_size_in_bytes() {
        1 => expand::<u8>(path, slice(values)?, mask, slice_mut(&mut dense)?),
        2 => expand::<u16>(path, slice(values)?, mask, slice_mut(&mut dense)?),
        4 => expand::<u32>(path, slice(values)?, mask, slice_mut(&mut dense)?),
        other => return Err(TchError::Kind(format!("elements of {other} bytes"))),
    }
    Ok(dense)
}

/// The instructions that expand. No [`Capability`](super::Capability): those are in an order, in
/// which VBMI2 has no place, as CPUs have it with or without AVX-512 BF16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Instructions that every CPU has.
    Default,
    /// AVX-512 with VBMI2, whose `vpexpand` takes bytes and words.
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi2,
}

impl Path {
    /// The best that this machine has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2")
        {
            return Self::Avx512Vbmi2;
        }
        Self::Default
    }

    /// The name of what [`expand_2_4`] runs by it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "criterion_torch::expand_2_4_default",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vbmi2 => "criterion_torch::expand_2_4_avx512_vbmi2",
        }
    }
}

/// Elements that can be expanded.
trait Expand: Number + Default {
    /// Expands 512 bits at a time; how many elements were written.
    ///
    /// # Safety
    /// The machine must have AVX-512 F, BW and VBMI2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn expand_512(values: &[Self], mask: &[u8], out: &mut [Self]) -> usize;
}

fn expand<T: Expand>(path: Path, values: &[T], mask: &[u8], out: &mut [T]) {
    assert!(values.len() * 2 == out.len() && mask.len() == out.len().div_ceil(8));
    let done = match path {
        Path::Default => 0,
        // SAFETY: this path is chosen only where the instructions are.
        #[cfg(target_arch = "x86_64")]
        Path::Avx512Vbmi2 => unsafe { T::expand_512(values, mask, out) },
    };
    expand_default(&values[done / 2..], &mask[done / 8..], &mut out[done..]);
}

fn expand_default<T: Number + Default>(values: &[T], mask: &[u8], out: &mut [T]) {
    for (index, (pair, out)) in
        values.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<4>().0).enumerate()
    {
        let four = mask[index / 2] >> (index % 2 * 4) & 15;
        *out = [T::default(); 4];
        // The lowest and the highest bit of the four.
        out[four.trailing_zeros() as usize & 3] = pair[0];
        out[(four.leading_zeros() ^ 7) as usize & 3] = pair[1];
    }
}

/// Implements [`Expand`] by the instruction that expands `$lanes` elements at a time.
macro_rules! expand_512 {
    ($element:ty, $lanes:literal, $mask:ty, $load:ident, $expand:ident) => {
        impl Expand for $element {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
            unsafe fn expand_512(values: &[Self], mask: &[u8], out: &mut [Self]) -> usize {
                use std::arch::x86_64::*;

                let masks = mask.as_chunks::<{ $lanes / 8 }>().0;
                let outs = out.as_chunks_mut::<$lanes>().0;
                // A load takes twice what an expansion uses, so the last one is left to others.
                let whole = (values.len() / ($lanes / 2)).saturating_sub(1).min(outs.len());
                for (index, (out, mask)) in outs[..whole].iter_mut().zip(masks).enumerate() {
                    let from = &values[index * ($lanes / 2)..][..$lanes];
                    // SAFETY: `from` holds one register's worth of elements.
                    let packed = unsafe { $load(from.as_ptr().cast()) };
                    let dense = $expand(<$mask>::from_le_bytes(*mask), packed);
                    // SAFETY: so does `out`.
                    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), dense) };
                }
                whole * $lanes
            }
        }
    };
}

expand_512!(u8, 64, u64, _mm512_loadu_si512, _mm512_maskz_expand_epi8);
expand_512!(u16, 32, u32, _mm512_loadu_si512, _mm512_maskz_expand_epi16);
expand_512!(u32, 16, u16, _mm512_loadu_si512, _mm512_maskz_expand_epi32);

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    const MASKS: [u8; 6] = [0b0011, 0b0101, 0b1001, 0b0110, 0b1010, 0b1100];

    /// `fours` fours of ones that differ, and what they expand to.
    fn example<T: Number + Default>(
        fours: usize,
        value: fn(usize) -> T,
    ) -> (Vec<T>, Vec<u8>, Vec<T>) {
        let (mut values, mut mask, mut dense) = (vec![], vec![0; fours.div_ceil(2)], vec![]);
        for four in 0..fours {
            let bits = MASKS[(four * 7 + four / 6) % 6];
            mask[four / 2] |= bits << (four % 2 * 4);
            for place in 0..4 {
                let kept = bits >> place & 1 == 1;
                if kept {
                    values.push(value(values.len()));
                }
                dense.push(if kept { values[values.len() - 1] } else { T::default() });
            }
        }
        (values, mask, dense)
    }

    fn every_path<T: Expand + PartialEq + std::fmt::Debug>(value: fn(usize) -> T) {
        // Around the sizes of registers, and the half byte at the end.
        for fours in (0..40).chain([63, 64, 65, 1000, 1001]) {
            let (values, mask, expected) = example(fours, value);
            for path in [Path::Default, Path::best()] {
                let mut out = vec![value(77); expected.len()];
                expand(path, &values, &mask, &mut out);
                assert_eq!(out, expected, "{path:?}, {fours} fours");
            }
        }
    }

    #[test]
    fn every_path_expands_every_width() {
        println!("best: {:?}", Path::best());
        every_path(|index| (index % 255) as u8 + 1);
        every_path(|index| index as u16 + 1);
        every_path(|index| index as u32 * 65_537 + 1);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let values = Tensor::from_slice(&[1_i16, 2, 3, 4]).reshape([1, 4]);
        let mask = |byte: u8| Tensor::from_slice(&[byte]);
        let dense = expand_2_4(&values, &mask(0b1010_0011)).unwrap();
        assert_eq!(dense.size(), [1, 8]);
        assert_eq!(Vec::<i16>::try_from(dense.view(-1)).unwrap(), [1, 2, 0, 0, 0, 3, 0, 4]);
        // Another pattern gives other values, but neither a panic nor a read beyond the end.
        for wrong in [0, 0xff, 0b0111_0011, 0b0011_0001] {
            assert_eq!(expand_2_4(&values, &mask(wrong)).unwrap().size(), [1, 8]);
        }
        assert!(expand_2_4(&values, &Tensor::from_slice(&[0x33_u8, 0x33])).is_err());
        let narrow = Tensor::from_slice(&[1_i16]).reshape([1, 1]);
        assert!(expand_2_4(&narrow, &mask(0b0011)).is_err());
        assert!(expand_2_4(&values.to_kind(Kind::Double), &mask(0x33)).is_err());
        assert!(expand_2_4(&values.repeat([2, 1]).tr(), &mask(0x33)).is_err());
    }
}
