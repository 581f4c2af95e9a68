//! What a kernel demands of its tensors.

use tch::{Device, Kind, TchError, Tensor};

use crate::overlap::refuse_overlap;

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
