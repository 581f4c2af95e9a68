//! Unpacking of 6-bit weights, four in three bytes.

use tch::{TchError, Tensor};

use super::memory::{slice, slice_mut};

/// The dense matrix `[n, k]` of packed 6-bit codes, each replaced by what it stands for in its row:
/// `packed [n, 3k / 4]`, uint8, four codes in three bytes, the first in the highest bits;
/// `tables [n, 64]`, of 16-bit elements, whose kind the result has. On one thread, by
/// the same portable instructions on every CPU, so the name `fp6_unpack` says nothing of them.
///
/// # Errors
/// Sizes that do not belong together; a tensor that is not contiguous or not on the CPU.
pub fn fp6_unpack(packed: &Tensor, tables: &Tensor) -> Result<Tensor, TchError> {
    let (n, bytes) = packed.size2()?;
    if bytes % 3 != 0 || tables.size2()? != (n, 64) {
        return Err(TchError::Shape(format!(
            "codes {:?} with tables {:?}",
            packed.size(),
            tables.size()
        )));
    }
    let k = bytes / 3 * 4;
    let mut dense = Tensor::f_empty([n, k], (tables.f_kind()?, tables.device()))?;
    if n * k > 0 {
        let rows = slice::<u8>(packed)?.chunks_exact(bytes as usize);
        let tables = slice::<u16>(tables)?.as_chunks::<64>().0;
        let out = slice_mut::<u16>(&mut dense)?.chunks_exact_mut(k as usize);
        for ((codes, table), out) in rows.zip(tables).zip(out) {
            unpack_row(codes, table, out);
        }
    }
    Ok(dense)
}

fn unpack_row(codes: &[u8], table: &[u16; 64], out: &mut [u16]) {
    for (bytes, out) in codes.as_chunks::<3>().0.iter().zip(out.as_chunks_mut::<4>().0) {
        let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        *out = [18, 12, 6, 0].map(|shift| table[(bits >> shift & 63) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn every_code_in_every_place() {
        // Row r holds the codes r, r + 1, r + 2, …; its table maps code c to 100 r + c.
        let (n, k) = (64_usize, 20);
        let code = |row: usize, column: usize| (row + column) % 64;
        let packed: Vec<u8> = (0..n)
            .flat_map(|row| (0..k).map(move |column| code(row, column) as u8))
            .collect::<Vec<u8>>()
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|c| [c[0] << 2 | c[1] >> 4, c[1] << 4 | c[2] >> 2, c[2] << 6 | c[3]])
            .collect();
        let packed = Tensor::from_slice(&packed).reshape([n as i64, -1]);
        let rows = Tensor::arange(n as i64, (Kind::Int16, Device::Cpu)).unsqueeze(-1) * 100;
        let tables = rows + Tensor::arange(64, (Kind::Int16, Device::Cpu));
        let dense = fp6_unpack(&packed, &tables).unwrap();
        let found = Vec::<i16>::try_from(dense.reshape([-1])).unwrap();
        let expected: Vec<i16> = (0..n)
            .flat_map(|row| (0..k).map(move |column| (100 * row + code(row, column)) as i16))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(dense.size(), [64, 20]);
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        let bytes = |size: [i64; 2]| Tensor::zeros(size, (Kind::Uint8, Device::Cpu));
        let tables = |size: [i64; 2], kind| Tensor::zeros(size, (kind, Device::Cpu));
        assert!(fp6_unpack(&bytes([2, 4]), &tables([2, 64], Kind::Half)).is_err());
        assert!(fp6_unpack(&bytes([2, 6]), &tables([3, 64], Kind::Half)).is_err());
        assert!(fp6_unpack(&bytes([2, 6]), &tables([2, 64], Kind::Float)).is_err());
        assert!(fp6_unpack(&bytes([6, 2]).tr(), &tables([2, 64], Kind::Half)).is_err());
        assert_eq!(fp6_unpack(&bytes([2, 6]), &tables([2, 64], Kind::Half)).unwrap().numel(), 16);
    }
}
