//! Tensors as the kernels see them: rows of unit stride.

use tch::{Device, Kind, TchError, Tensor};

use crate::overlap::refuse_overlap;

/// Rows of `columns` elements each, `stride` elements apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    pub rows: i64,
    pub columns: i64,
    pub stride: i64,
}

impl Rows {
    /// The last dimension are the columns, all others the rows.
    ///
    /// # Errors
    /// Where elements of a row do not follow each other, or rows are not equally far apart.
    pub fn of(tensor: &Tensor) -> Result<Self, TchError> {
        let (size, strides) = (tensor.size(), tensor.stride());
        let columns = size.last().copied().unwrap_or(1);
        let rows = size.iter().rev().skip(1).product();
        let mut stride = columns;
        // How far apart the next dimension's have to be, from the last that has several.
        let mut next = None;
        let mut is_even = columns <= 1 || strides.last() == Some(&1);
        for (size, by) in size.iter().zip(&strides).rev().skip(1).filter(|(size, _)| **size > 1) {
            stride = if next.is_none() { *by } else { stride };
            is_even &= next.is_none_or(|next| next == *by);
            next = Some(size * by);
        }
        if is_even || tensor.numel() == 0 {
            return Ok(Self { rows, columns, stride });
        }
        Err(TchError::Shape(format!(
            "size {size:?} with strides {strides:?}, but the kernel takes rows of unit stride that \
             are equally far apart"
        )))
    }

    /// The same elements as one row where they follow each other.
    pub fn flat(self) -> Self {
        let elements = self.rows * self.columns;
        match self.rows {
            0 => Self { rows: 0, ..self },
            rows if rows > 1 && self.stride != self.columns => self,
            _ => Self { rows: 1, columns: elements, stride: elements },
        }
    }
}

/// What a kernel was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operands {
    pub kind: Kind,
    pub device: Device,
}

impl Operands {
    /// Those of a tensor.
    pub fn of(tensor: &Tensor) -> Result<Self, TchError> {
        Ok(Self { kind: tensor.f_kind()?, device: tensor.device() })
    }

    /// Demands that inputs have the dtype and device and, the first's size being `x`'s, the same
    /// size; that `out` is like them, contiguous, and shares no memory with them.
    pub fn check(self, inputs: &[&Tensor], out: &Tensor) -> Result<(), TchError> {
        let size = inputs.first().map(|x| x.size()).unwrap_or_default();
        self.check_inputs(inputs)?;
        if Self::of(out)? != self || out.size() != size || !out.is_contiguous() {
            return Err(TchError::Shape(format!(
                "out is {out:?} with strides {:?}, but has to be contiguous {size:?} of {self:?}",
                out.stride()
            )));
        }
        refuse_overlap(out, inputs.iter().copied())
    }

    /// Demands the dtype, the device, and of all the size of the first.
    pub fn check_inputs(self, inputs: &[&Tensor]) -> Result<(), TchError> {
        let size = inputs.first().map(|x| x.size()).unwrap_or_default();
        for input in inputs {
            if Self::of(input)? != self || input.size() != size {
                return Err(TchError::Shape(format!(
                    "an input is {input:?}, but has to be {size:?} of {self:?}"
                )));
            }
        }
        Ok(())
    }

    /// Demands a vector of `columns` elements that follow each other.
    pub fn check_vector(self, what: &str, vector: &Tensor, columns: i64) -> Result<(), TchError> {
        if Self::of(vector)? == self && vector.size() == [columns] && vector.is_contiguous() {
            return Ok(());
        }
        Err(TchError::Shape(format!(
            "the {what} is {vector:?}, but has to be contiguous [{columns}] of {self:?}"
        )))
    }

    /// Demands one element, for the mean of `inputs`.
    pub fn check_scalar(self, inputs: &[&Tensor], out: &Tensor) -> Result<(), TchError> {
        if Self::of(out)? != self || out.numel() != 1 {
            return Err(TchError::Shape(format!(
                "out is {out:?}, but has to be one element of {self:?}"
            )));
        }
        refuse_overlap(out, inputs.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Device = Device::Cpu;

    fn zeros(size: &[i64]) -> Tensor {
        Tensor::zeros(size, (Kind::Float, CPU))
    }

    #[test]
    fn tensors_are_rows_where_their_strides_allow() {
        let of = |tensor: &Tensor| {
            Rows::of(tensor).map(|Rows { rows, columns, stride }| [rows, columns, stride]).ok()
        };
        let wide = zeros(&[2, 3, 8]);
        assert_eq!(of(&wide), Some([6, 8, 8]));
        assert_eq!(of(&wide.narrow(2, 1, 5)), Some([6, 5, 8]));
        assert_eq!(of(&wide.narrow(1, 1, 2)), None, "a row is left out");
        assert_eq!(of(&wide.narrow(1, 1, 1)), Some([2, 8, 24]), "of one row each");
        assert_eq!(of(&wide.narrow(0, 1, 1)), Some([3, 8, 8]));
        assert_eq!(of(&wide.transpose(1, 2)), None);
        assert_eq!(of(&wide.transpose(0, 1)), None);
        assert_eq!(of(&wide.narrow(2, 3, 1)), Some([6, 1, 8]));
        assert_eq!(of(&zeros(&[5])), Some([1, 5, 5]));
        assert_eq!(of(&zeros(&[])), Some([1, 1, 1]));
        assert_eq!(of(&zeros(&[0, 4])), Some([0, 4, 4]));
        assert_eq!(of(&zeros(&[1, 4]).expand([3, 4], false)), Some([3, 4, 0]));
    }

    #[test]
    fn contiguous_rows_are_one() {
        let flat = |tensor: &Tensor| {
            let Rows { rows, columns, stride } = Rows::of(tensor).unwrap().flat();
            [rows, columns, stride]
        };
        let wide = zeros(&[2, 3, 8]);
        assert_eq!(flat(&wide), [1, 48, 48]);
        assert_eq!(flat(&wide.narrow(2, 0, 5)), [6, 5, 8]);
        assert_eq!(flat(&wide.view([-1, 8]).narrow(0, 2, 1).narrow(1, 0, 3)), [1, 3, 3]);
        assert_eq!(flat(&zeros(&[0, 4])), [0, 4, 4]);
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let operands = Operands { kind: Kind::Float, device: CPU };
        let (x, out) = (zeros(&[2, 8]), zeros(&[2, 8]));
        operands.check(&[&x, &x], &out).unwrap();
        let half = zeros(&[2, 8]).to_kind(Kind::Half);
        for (inputs, out, word) in [
            ([&x, &half], &out, "an input is"),
            ([&x, &zeros(&[2, 7])], &out, "an input is"),
            ([&x, &x], &half, "out is"),
            ([&x, &x], &zeros(&[2, 7]), "out is"),
            ([&x, &x], &zeros(&[8, 2]).tr(), "out is"),
            ([&x, &out], &out, "shares memory"),
        ] {
            let text = operands.check(&inputs, out).expect_err(word).to_string();
            assert!(text.contains(word), "{text}");
        }
        operands.check_vector("bias", &zeros(&[8]), 8).unwrap();
        let every_second = zeros(&[8, 2]).select(1, 0);
        for vector in [&zeros(&[7]), &zeros(&[1, 8]), &half.select(0, 0), &every_second] {
            let text = operands.check_vector("bias", vector, 8).expect_err("no").to_string();
            assert!(text.contains("the bias is"), "{text}");
        }
        operands.check_scalar(&[&x], &zeros(&[])).unwrap();
        for out in [&zeros(&[2]), &half.narrow(0, 0, 1), &x.narrow(0, 0, 1).narrow(1, 0, 1)] {
            drop(operands.check_scalar(&[&x], out).expect_err("no"));
        }
    }
}
