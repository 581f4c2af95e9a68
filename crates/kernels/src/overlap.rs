//! Operands that share memory.

use std::ops::Range;

use tch::{TchError, Tensor};

/// Demands that a kernel's output shares no memory with what it reads: it writes while it reads.
/// The gaps of a tensor count as its memory, too.
pub(super) fn refuse_overlap<'t>(
    out: &Tensor,
    operands: impl IntoIterator<Item = &'t Tensor>,
) -> Result<(), TchError> {
    let written = bytes(out)?;
    for operand in operands {
        let read = bytes(operand)?;
        // A tensor without elements has no bytes to share, wherever it points.
        if written.start.max(read.start) < written.end.min(read.end) {
            return Err(TchError::Shape(format!(
                "out {out:?} shares memory with {operand:?}, or lies in its gaps"
            )));
        }
    }
    Ok(())
}

/// The addresses from a tensor's first element to its last. libtorch has no negative strides.
fn bytes(tensor: &Tensor) -> Result<Range<usize>, TchError> {
    let start = tensor.data_ptr() as usize;
    let sizes = tensor.size();
    if sizes.contains(&0) {
        return Ok(start..start);
    }
    let last: i64 = sizes.iter().zip(tensor.stride()).map(|(size, by)| (size - 1) * by).sum();
    let elements = usize::try_from(last + 1).map_err(|it| TchError::Shape(it.to_string()))?;
    Ok(start..start + elements * tensor.f_kind()?.elt_size_in_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn one_common_byte_is_refused() {
        let memory = Tensor::zeros([64], (Kind::Float, Device::Cpu));
        let part = |start, length| memory.narrow(0, start, length);
        let other = memory.copy();
        let shares = |out: &Tensor, operand: &Tensor| {
            refuse_overlap(out, [&other, operand]).err().map(|it| it.to_string())
        };
        for (out, operand) in [((0, 64), (0, 64)), ((0, 17), (16, 4)), ((20, 8), (8, 13))] {
            let text = shares(&part(out.0, out.1), &part(operand.0, operand.1));
            assert!(text.is_some_and(|it| it.contains("shares memory")), "{out:?} {operand:?}");
        }
        let bytes = part(15, 1).view_dtype(Kind::Uint8).narrow(0, 3, 1);
        assert!(shares(&part(0, 16), &bytes).is_some(), "in bytes, whatever the dtypes");
        for (out, operand) in [((0, 16), (16, 4)), ((16, 4), (0, 16)), ((8, 0), (0, 64))] {
            let text = shares(&part(out.0, out.1), &part(operand.0, operand.1));
            assert_eq!(text, None, "{out:?} {operand:?}");
        }
    }

    #[test]
    fn gaps_count_and_what_follows_the_last_element_does_not() {
        let memory = Tensor::zeros([4, 16], (Kind::Float, Device::Cpu));
        let left = memory.narrow(1, 0, 8);
        let flat = memory.view(-1);
        for (start, length, shares) in [(0, 1, true), (8, 8, true), (55, 1, true), (56, 8, false)] {
            let part = flat.narrow(0, start, length);
            assert_eq!(refuse_overlap(&part, [&left]).is_err(), shares, "{start}");
            assert_eq!(refuse_overlap(&left, [&part]).is_err(), shares, "{start}");
        }
    }
}
