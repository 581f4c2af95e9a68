//! Few-bit integers, packed along the last dimension into bytes: the bits of a value go to shards
//! of 4, 2 and 1 bits, the lowest to the first, and a byte of a shard holds the values of its
//! lanes, `k / lanes` apart.
//!
//! Source: torchao 0.14.1, `dtypes/uintx/bitpacking.py`; the same in 0.17's prototypes.

use tch::{Kind, TchError, Tensor};

/// A packed k is a multiple of this: the lanes of a shard of one bit.
pub(super) const LANES: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shard {
    /// Bits of it: 4, 2 or 1.
    width: i64,
    /// Bits of a value below it.
    shift: i64,
}

impl Shard {
    fn lanes(self) -> i64 {
        8 / self.width
    }

    fn mask(self) -> i64 {
        (1 << self.width) - 1
    }
}

/// The shards of so many bits, 1 to 7.
fn shards(bits: u8) -> impl Iterator<Item = Shard> {
    let mut shift = 0;
    [4, 2, 1].into_iter().filter(move |width| i64::from(bits) & width != 0).map(move |width| {
        let shard = Shard { width, shift };
        shift += width;
        shard
    })
}

/// `values [n, k]`, uint8 below 2^bits, as one tensor for each shard, `[n, k · width / 8]`.
pub(super) fn pack(values: &Tensor, bits: u8) -> Result<Vec<Tensor>, TchError> {
    let (n, k) = values.size2()?;
    let pack = |shard: Shard| {
        let length = k / shard.lanes();
        let mut packed = Tensor::f_zeros([n, length], (Kind::Uint8, values.device()))?;
        for lane in 0..shard.lanes() {
            let part = values.f_narrow(-1, lane * length, length)?;
            let part = part
                .f_bitwise_right_shift_tensor_scalar(shard.shift)?
                .f_bitwise_and(shard.mask())?;
            let placed = part.f_bitwise_left_shift_tensor_scalar(lane * shard.width)?;
            packed = packed.f_bitwise_or_tensor_(&placed)?;
        }
        Ok(packed)
    };
    shards(bits).map(pack).collect()
}

/// The values that [`pack`] packed, by the ops that upstream's eager mode runs at every call.
pub(super) fn unpack(packed: &[Tensor], bits: u8) -> Result<Tensor, TchError> {
    let mut parts = Vec::new();
    for (packed, shard) in packed.iter().zip(shards(bits)) {
        parts.push(spread(packed, shard)?.f_bitwise_left_shift_tensor_scalar(shard.shift)?);
    }
    let (first, rest) = parts.split_first().ok_or_else(|| TchError::Kind("no shards".into()))?;
    let mut values = first.shallow_clone();
    for part in rest {
        values = values.f_bitwise_or_tensor(part)?;
    }
    Ok(values)
}

/// The lanes of a shard, one value to a byte.
fn spread(packed: &Tensor, shard: Shard) -> Result<Tensor, TchError> {
    let (n, length) = packed.size2()?;
    let values = Tensor::f_zeros([n, length * shard.lanes()], (Kind::Uint8, packed.device()))?;
    for lane in 0..shard.lanes() {
        let shifted = packed.f_bitwise_right_shift_tensor_scalar(lane * shard.width)?;
        let part = shifted.f_bitwise_and(shard.mask())?;
        drop(shifted);
        values.f_narrow(-1, lane * length, length)?.f_copy_(&part)?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;

    fn integers(tensor: &Tensor) -> Vec<i64> {
        Vec::try_from(tensor.to_kind(Kind::Int64).reshape([-1])).unwrap()
    }

    #[test]
    fn a_worked_example() {
        // Eight values of 6 bits: their low 4 bits in 4 bytes, their high 2 in 2.
        let values = Tensor::from_slice(&[0x30u8, 0x29, 0x17, 0x05, 0x20, 0x16, 0x09, 0x22]);
        let packed = pack(&values.reshape([1, 8]), 6).unwrap();
        let found: Vec<_> = packed.iter().map(integers).collect();
        let low = [0x00, 0x69, 0x97, 0x25];
        // Lanes are two apart: 3 | 1 << 2 | 2 << 4 | 0 << 6, then 2 | 0 << 2 | 1 << 4 | 2 << 6.
        let high = [0b0010_0111, 0b1001_0010];
        assert_eq!(found, [low.to_vec(), high.to_vec()]);
    }

    #[test]
    fn every_width_comes_back_from_as_many_bits() {
        for bits in 1..=7_u8 {
            for (n, k) in [(1, 8), (3, 40), (16, 64)] {
                let all = Tensor::arange(n * k, (Kind::Int64, Device::Cpu)) * 37;
                let values = all.remainder(1 << bits).to_kind(Kind::Uint8).reshape([n, k]);
                let packed = pack(&values, bits).unwrap();
                let bytes: usize = packed.iter().map(Tensor::numel).sum();
                assert_eq!(bytes * 8, values.numel() * usize::from(bits));
                assert!(unpack(&packed, bits).unwrap().equal(&values), "{bits} bits, {n}x{k}");
            }
        }
    }
}
