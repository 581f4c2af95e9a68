//! 4-bit weights into their [layout](super).

use super::format::BLOCK;
use super::lanes::QUARTER;

/// Packs rows of `k` values from 0 to 15.
pub fn pack(values: &[u8], k: usize, packed: &mut [u8]) {
    for (values, packed) in values.chunks_exact(k).zip(packed.chunks_exact_mut(k / 2)) {
        let (blocks, tail) = values.as_chunks::<BLOCK>();
        let (into, into_tail) = packed.split_at_mut(blocks.len() * BLOCK / 2);
        for (values, into) in blocks.iter().zip(into.as_chunks_mut::<2>().0.chunks_mut(QUARTER)) {
            for (word, into) in into.iter_mut().enumerate() {
                let bits =
                    |quarter: usize| u16::from(values[quarter * QUARTER + word]) << (4 * quarter);
                *into = (bits(0) | bits(1) | bits(2) | bits(3)).to_le_bytes();
            }
        }
        for (pair, into) in tail.as_chunks::<2>().0.iter().zip(into_tail) {
            *into = pair[0] | pair[1] << 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_the_picture_and_the_tail_as_the_text() {
        let k = BLOCK + QUARTER;
        let values: Vec<u8> = (0..k).map(|index| (index * 7 % 16) as u8).collect();
        let mut packed = vec![0; k / 2];
        pack(&values, k, &mut packed);
        let word = |index: usize| u16::from_le_bytes([packed[2 * index], packed[2 * index + 1]]);
        for (index, value) in values[..BLOCK].iter().enumerate() {
            let found = word(index % QUARTER) >> (4 * (index / QUARTER)) & 15;
            assert_eq!(found, u16::from(*value), "{index}");
        }
        for (index, value) in values[BLOCK..].iter().enumerate() {
            let found = packed[BLOCK / 2 + index / 2] >> (4 * (index % 2)) & 15;
            assert_eq!(found, *value, "{index} of the tail");
        }
    }
}
