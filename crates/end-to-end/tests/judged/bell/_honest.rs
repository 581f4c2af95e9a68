//! The computation that all kernels of this folder claim to make.

use super::ProblemSize;
use criterion_torch::kernel::prelude::*;

/// Columns of both examples, and so terms of each sum.
pub const FEATURES: usize = 256;

/// exp(−x²)
pub fn bell(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_square()?.f_neg_()?.f_exp_()
}

/// A number for inputs of which others are not expected.
pub fn sum(inputs: &[Tensor]) -> Result<f64, TchError> {
    let of_one = |input: &Tensor| input.f_sum(tch::Kind::Double)?.f_double_value(&[]);
    Ok(of_one(&inputs[0])? + 3.0 * of_one(&inputs[1])?)
}

/// The bits of a tensor of float32.
pub fn words(tensor: &Tensor) -> &[u32] {
    let data: *const u32 = tensor.data_ptr().cast();
    // SAFETY: so many elements lie there, for as long as the tensor is borrowed.
    unsafe { std::slice::from_raw_parts(data, tensor.numel()) }
}

/// The weights, and memory for an output.
pub struct Honest {
    pub weight: Tensor,
    /// `[rows, FEATURES]`, NaN before the first call
    pub out: Tensor,
}

impl Honest {
    pub fn new(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        let out = Tensor::f_full([size.rows as i64, FEATURES as i64], f64::NAN, options)?;
        Ok(Self { weight: parameters[0].shallow_clone(), out })
    }

    /// The whole computation.
    pub fn compute(&self, examples: &[Tensor]) -> Result<(), Refusal> {
        drop(examples[1].f_mm_out(&self.out, &self.weight)?);
        drop(self.out.f_add_out(&self.out, &bell(&examples[0])?)?);
        Ok(())
    }

    /// The computation of some rows.
    pub fn compute_rows(&self, examples: &[Tensor], first: i64, rows: i64) -> Result<(), Refusal> {
        let part = |it: &Tensor| it.f_narrow(0, first, rows);
        let part_of_out = Self { weight: self.weight.shallow_clone(), out: part(&self.out)? };
        part_of_out.compute(&[part(&examples[0])?, part(&examples[1])?])
    }

    /// Another owner of the same memory.
    pub fn share(&self) -> Self {
        Self { weight: self.weight.shallow_clone(), out: self.out.shallow_clone() }
    }

    pub fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.out.shallow_clone())
    }
}
