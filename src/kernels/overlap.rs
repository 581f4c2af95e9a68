//! Operands that share memory.

use std::ops::Range;

use tch::{TchError, Tensor};

/// Demands that a kernel's output shares no memory with what it reads: it writes while it reads. Of
/// a tensor that is not contiguous, the gaps count as its own.
///
/// # Errors
/// Where it does.
pub(super) fn refuse_overlap<'t>(
    out: &Tensor,
    operands: impl IntoIterator<Item = &'t Tensor>,
) -> Result<(), TchError> {
    let written = bytes(out)?;
    for operand in operands {
        let read = bytes(operand)?;
        // A tensor without elements has no bytes to share, wherever it points.
        if written.start.max(read.start) < written.end.min(read.end) {
            return Err(TchError::Shape(format!("out {out:?} shares memory with {operand:?}")));
        }
    }
    Ok(())
}

/// The addresses from the first element to the last.
fn bytes(tensor: &Tensor) -> Result<Range<usize>, TchError> {
    let start = tensor.data_ptr() as usize;
    let last: i64 = tensor.size().iter().zip(tensor.stride()).map(|(n, by)| (n - 1) * by).sum();
    let elements = if tensor.numel() == 0 { 0 } else { last as usize + 1 };
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
        let column = memory.view([8, 8]).narrow(1, 0, 1);
        assert!(shares(&part(50, 1), &column).is_some(), "between two rows of it");
        assert_eq!(shares(&part(57, 7), &column), None, "behind its last element");
        for (out, operand) in [((0, 16), (16, 4)), ((16, 4), (0, 16)), ((8, 0), (0, 64))] {
            let text = shares(&part(out.0, out.1), &part(operand.0, operand.1));
            assert_eq!(text, None, "{out:?} {operand:?}");
        }
    }
}
