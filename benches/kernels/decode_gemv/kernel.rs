//! A linear layer as a transformer runs it while it decodes: y = W·x for one token. Every weight is
//! read once and used once, so that memory decides how long it takes. By libtorch's `linear`.

#[path = "_layer.rs"]
pub mod layer;

use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    pub out_features: usize,
    pub in_features: usize,
}

impl Task for ProblemSize {
    /// One token, `[in]`, and the weight, `[out, in]`, as `torch.nn.Linear` has it: normally distributed, the weight such
    /// that outputs have the variance of the token.
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let &Self { out_features, in_features } = self;
        if out_features == 0 || in_features == 0 {
            return Err(context.unsupported(&format!(
                "a layer {out_features}×{in_features}, but out_features and in_features have to be \
                 1 or more"
            )));
        }
        if context.dtype == Dtype::Float8E4M3Fn {
            let text = "the output has the weights' precision, and in 8 bits it says nothing";
            return Err(context.unsupported(text));
        }
        let weight = context.normal(&[out_features, in_features])?;
        let weight = weight.f_mul_scalar((in_features as f64).powf(-0.5))?;
        Ok(Inputs { examples: vec![context.normal(&[in_features])?], parameters: vec![weight] })
    }

    /// By products first and sums after them, a few rows at a time.
    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        let (x, rows) = (&inputs.examples[0], inputs.parameters[0].f_split(64, 0)?);
        let sums =
            rows.iter().map(|rows| rows.f_mul(x)?.f_sum_dim_intlist(-1, false, tch::Kind::Double));
        Ok(Some(Tensor::f_cat(&sums.collect::<Result<Vec<_>, _>>()?, 0)?))
    }
}

pub struct Linear {
    weight: Tensor,
    y: Tensor,
}

impl Kernel for Linear {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        let y = Tensor::f_full([1, size.out_features as i64], f64::NAN, options)?;
        Ok(Self { weight: parameters[0].shallow_clone(), y })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        // A batch of one token, as models have it.
        let token = examples[0].f_unsqueeze(0)?;
        self.y = token.f_linear(&self.weight, None::<&Tensor>)?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.y.f_squeeze_dim(0)?)
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(layer::flops(size.out_features, size.in_features))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(layer::bytes(size.out_features, size.in_features, dtype))
    }
}
