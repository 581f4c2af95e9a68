//! Patterns: sequences of operations that may be run as fewer.

mod attention;
mod batch_norm;
mod conv;
mod linear;
mod mkldnn;
pub mod promise;
mod sdpa;
mod torchscript;

use plan::{FusionShape, FusionWork, Pattern};
use tch::{TchError, Tensor};

use attention::Attention;
use conv::Conv;
use linear::Linear;

use crate::inputs::Inputs;
use crate::kernel::{KernelContext, Named, Operation, Parts, Shipped};
use crate::refusal::Refusal;

impl Named for FusionWork {
    fn name(context: &KernelContext<Self>) -> String {
        format!("pattern `{}`, variant `{}`", context.work.pattern, context.work.variant)
    }
}

impl Shipped for FusionWork {
    fn operation(&self) -> Box<dyn Operation<Self>> {
        match self.pattern {
            Pattern::LinearBias => Box::new(Linear::BIAS),
            Pattern::LinearBiasRelu => Box::new(Linear::BIAS_RELU),
            Pattern::LinearBiasGelu => Box::new(Linear::BIAS_GELU),
            Pattern::Conv2dRelu => Box::new(Conv::RELU),
            Pattern::Conv2dBn => Box::new(Conv::BN),
            Pattern::Conv2dBnRelu => Box::new(Conv::BN_RELU),
            Pattern::QkScores => Box::new(Attention::SCORES),
            Pattern::QkSoftmax => Box::new(Attention::SOFTMAX),
            Pattern::FullAttention => Box::new(Attention::FULL),
        }
    }

    fn check(context: &KernelContext<Self>) -> Result<(), Refusal> {
        if !context.work.pattern.variants().contains(&context.work.variant) {
            return Err(context.unsupported("the pattern has no such variant"));
        }
        context.constraint()
    }

    /// The unfused operations', whatever the variant.
    fn parts(context: &KernelContext<Self>) -> Parts {
        let unfused = context.work.unfused();
        let operations = unfused.operations(context.dtype, context.device).unwrap_or_default();
        let largest = operations.iter().map(|it| it.writes / context.dtype.bytes()).max();
        let all = unfused.parts();
        Parts {
            all,
            flops: unfused.flops() / all.max(1),
            elements: largest.unwrap_or(0) / all.max(1),
            are_averaged: false,
        }
    }

    /// Every head of a sequence is one: `[b·heads, 1, s, ·]` of `[b, heads, s, ·]`. A view, except of
    /// an output that lies in memory as `[b, s, heads, ·]`, which some kernels on CUDA leave. Rows and
    /// images are parts as they are.
    fn by_part(&self, tensor: &Tensor) -> Result<Tensor, TchError> {
        let FusionShape::Attention { .. } = self.size else { return Ok(tensor.shallow_clone()) };
        let (b, heads, s, last) = tensor.size4()?;
        tensor.f_reshape([b * heads, 1, s, last])
    }
}

/// The operations one by one, on these inputs.
pub(super) fn unfused(
    operation: &impl Operation<FusionWork>,
    context: &KernelContext<FusionWork>,
    inputs: Inputs,
) -> Result<Tensor, Refusal> {
    operation.build(&KernelContext { work: context.work.unfused(), ..*context }, inputs)?.run()
}

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;
