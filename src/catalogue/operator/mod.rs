//! Operators: functions of x `[batch, sequence, dim]` that one would write a kernel for, each with its
//! formula from elementary operations beside every form that computes it at once.

mod losses;
mod normalization;
mod output;
mod pointwise;
mod softmax;
mod stream;
mod tolerance;
mod trial;

pub use stream::{bits, passed};

use losses::{CrossEntropy, MseLoss};
use normalization::Normalization;
use plan::{Device, Dtype, Implementation, Operator, OperatorShape, OperatorWork};
use pointwise::Pointwise;
use softmax::Softmax;
use tch::{Kind, TchError, Tensor};

use crate::inputs::{self, Inputs};
use crate::kernel::Gates;
use crate::kernel::{
    ByValue, Float, KernelContext, Named, Operation, Parts, Shipped, Step, Tolerance, Trial,
};
use crate::refusal::Refusal;
use kernels::{cuda, triton};

/// The part of an operator that differs from the others.
trait Formula: Copy + 'static {
    /// Its operands, in this order.
    fn operands(self) -> &'static [Operand];

    /// Whether an implementation can run here.
    ///
    /// # Errors
    /// The constraint and the value that broke it.
    fn check(self, context: &KernelContext<OperatorWork>) -> Result<(), String> {
        let _ = context;
        Ok(())
    }

    /// The formula, an elementary operation of ATen's for each of it, in the dtype of the inputs.
    fn compute(self, inputs: &Inputs) -> Result<Tensor, TchError>;

    /// ATen's operations that [`Self::compute`] runs.
    fn operations(self) -> &'static str;

    /// ATen's own implementations.
    fn build(self, context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal>;

    /// The inputs as our kernels take them.
    ///
    /// # Errors
    /// Errors of libtorch.
    fn arranged(self, inputs: Inputs) -> Result<Inputs, Refusal> {
        Ok(inputs)
    }

    /// Our own kernels.
    ///
    /// # Errors
    /// Errors of loading them.
    fn ours(self, context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
        output::ours(context, self.arranged(inputs)?)
    }

    /// Whether ATen's own form rounds the results of its operations to the case's dtype.
    fn aten_rounds_between(self) -> bool;

    /// The effect of relative errors of one in the intermediate results on each value of the output
    /// `y`.
    fn condition(self, inputs: &Inputs, y: &Tensor) -> Result<Tensor, TchError>;

    /// The error where an intermediate result falls below the normal numbers of `held`: none,
    /// unless an operator says so.
    fn underflow(self, inputs: &Inputs, y: &Tensor, held: Float) -> Result<Tensor, TchError> {
        let _ = (inputs, held);
        y.f_zeros_like()
    }

    /// The largest |x| for which no intermediate result, of the format `held`, overflows.
    fn largest(self, context: &KernelContext<OperatorWork>, held: Float) -> f64;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// x, or another tensor of its size.
    LikeX,
    /// A class for each row, int64.
    Classes,
    /// A factor for each place of a row, from ½ to 1½, so that leaving it out shows.
    Weight,
    /// A summand, likewise, in ±½.
    Bias,
}

/// The operands in their order, what has the size of x by `like_x`.
fn draw(
    operands: &[Operand],
    context: &KernelContext<OperatorWork>,
    like_x: &dyn Fn(&[u64]) -> Result<Tensor, Refusal>,
) -> Result<Inputs, Refusal> {
    let OperatorShape { batch_size, sequence_length, tensor_dimension } = context.work.size;
    let mut drawn = Inputs { examples: vec![], parameters: vec![] };
    for operand in operands {
        match operand {
            Operand::LikeX => {
                drawn.examples.push(like_x(&[batch_size, sequence_length, tensor_dimension])?);
            }
            Operand::Classes => {
                let size = [inputs::dimension(batch_size)?, inputs::dimension(sequence_length)?];
                let options = (Kind::Int64, tch::Device::Cpu);
                let classes =
                    Tensor::f_randint(inputs::dimension(tensor_dimension)?, size, options)?;
                drawn.examples.push(classes.f_to_device(context.torch_device)?);
            }
            Operand::Weight => {
                drawn.parameters.push(context.uniform(&[tensor_dimension], (0.5, 1.5))?);
            }
            Operand::Bias => {
                drawn.parameters.push(context.uniform(&[tensor_dimension], (-0.5, 0.5))?);
            }
        }
    }
    Ok(drawn)
}

impl Named for OperatorWork {
    fn name(context: &KernelContext<Self>) -> String {
        format!(
            "operator `{}`, implementation `{}`",
            context.work.operator, context.work.implementation
        )
    }
}

impl Shipped for OperatorWork {
    fn operation(&self) -> Box<dyn Operation<Self>> {
        match self.operator {
            Operator::LayerNorm => Box::new(Normalization::Layer),
            Operator::LayerNormNoAffine => Box::new(Normalization::LayerNoAffine),
            Operator::RmsNorm => Box::new(Normalization::Rms),
            Operator::Gelu => Box::new(Pointwise::Gelu),
            Operator::GeluTanh => Box::new(Pointwise::GeluTanh),
            Operator::Silu => Box::new(Pointwise::Silu),
            Operator::Softmax => Box::new(Softmax),
            Operator::MseLoss => Box::new(MseLoss),
            Operator::CrossEntropy => Box::new(CrossEntropy),
            Operator::BiasGelu => Box::new(Pointwise::BiasGelu),
            Operator::AddLayerNorm => Box::new(Normalization::AddLayer),
        }
    }

    fn check(context: &KernelContext<Self>) -> Result<(), Refusal> {
        let OperatorWork { operator, implementation, size, max_elements, .. } = context.work;
        let listed = |wanted: &dyn Fn(Implementation) -> bool| {
            let all = operator.implementations().iter().filter(|it| wanted(**it));
            all.map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
        };
        if !operator.implementations().contains(&implementation) {
            return Err(context.unsupported(&format!(
                "the operator has no such implementation; it has {}",
                listed(&|_| true)
            )));
        }
        if !implementation.is_usual(context.device) {
            return Err(context.unsupported(&format!(
                "it is not made for {}; made for it are {}",
                context.device,
                listed(&|it| it.is_usual(context.device))
            )));
        }
        context.constraint()?;
        let elements = size.elements();
        if elements > max_elements {
            return Err(Refusal::Skipped(format!(
                "{size} are {elements} elements, and max_elements is {max_elements}; raise it to \
                 measure them"
            )));
        }
        Ok(())
    }

    fn tools(context: &KernelContext<Self>) -> Result<(), Refusal> {
        match (context.work.implementation, context.device) {
            (Implementation::Cuda, _) | (Implementation::Stream, Device::Cuda) => cuda::available(),
            (Implementation::Triton, _) => triton::available(),
            _ => Ok(()),
        }
    }

    fn parts(context: &KernelContext<Self>) -> Parts {
        let (work, all) = (context.work, context.work.size.rows());
        Parts {
            all,
            flops: work.flops() / all.max(1),
            elements: work.size.tensor_dimension,
            are_averaged: work.operator.is_loss(),
        }
    }

    /// `[rows, dim]`; of classes, there is one to a row; of a loss, the one number.
    fn by_part(&self, tensor: &Tensor) -> Result<Tensor, TchError> {
        let is_whole = tensor.f_is_floating_point()? && tensor.dim() > 1;
        if is_whole { tensor.f_flatten(0, -2) } else { tensor.f_reshape([-1]) }
    }
}

impl<F: Formula> Operation<OperatorWork> for F {
    fn inputs(&self, context: &KernelContext<OperatorWork>) -> Result<Inputs, Refusal> {
        draw(self.operands(), context, &|size| context.normal(size))
    }

    fn check(&self, context: &KernelContext<OperatorWork>) -> Result<(), String> {
        Formula::check(*self, context)
    }

    fn reference(
        &self,
        _: &KernelContext<OperatorWork>,
        inputs: Inputs,
    ) -> Result<Tensor, Refusal> {
        Ok(self.compute(&inputs)?)
    }

    fn build(
        &self,
        context: &KernelContext<OperatorWork>,
        inputs: Inputs,
    ) -> Result<Step, Refusal> {
        let formula = *self;
        match context.work.implementation {
            Implementation::AtenComposed => {
                let operations = formula.operations().split(' ');
                let operations: Vec<_> = operations.map(|name| format!("aten::{name}")).collect();
                Ok(Step::new(&operations, move || formula.compute(&inputs)))
            }
            Implementation::Stream => stream::build(context, inputs),
            Implementation::Rust | Implementation::Cuda | Implementation::Triton => {
                formula.ours(context, inputs)
            }
            Implementation::Aten | Implementation::AtenOut => {
                Formula::build(formula, context, inputs)
            }
        }
    }

    /// Lowest values of ATen's forms on a CPU, in dB, over sizes from 1×3×7 to 2×8×20000, 6 seeds
    /// of the smaller ones, and of losses up to 65536×64 in float32 and bfloat16. Rounding between
    /// operations decides in half precision: `aten-composed`, and of cross entropy ATen's own,
    /// which sums the rows in the case's dtype; forms of one operation have 52 and 70.
    ///
    /// | operator             | float32 | bfloat16 | float16 |
    /// |----------------------|---------|----------|---------|
    /// | layer_norm           | 139.3   | 45.0     | 63.7    |
    /// | layer_norm_no_affine | 140.1   | 45.5     | 64.8    |
    /// | rms_norm             | 142.4   | 45.2     | 63.7    |
    /// | gelu                 | 141.1   | 51.3     | 69.1    |
    /// | gelu_tanh            | 146.6   | 50.9     | 67.1    |
    /// | silu                 | 143.7   | 49.5     | 68.8    |
    /// | softmax              | 137.1   | 47.5     | 64.5    |
    /// | bias_gelu            | 140.8   | 48.4     | 65.8    |
    /// | add_layer_norm       | 140.5   | 44.3     | 61.2    |
    /// | gate                 | 125     | 39       | 56      |
    /// | mse_loss             | 138.2   | 47.6     | 63.7    |
    /// | cross_entropy        | 137.9   | 37.4     | 58.6    |
    /// | gate of losses       | 115     | 32, 42   | 52, 60  |
    ///
    /// A loss is one number, whose ratio is that of chance, and a sum of millions. Where nothing but the
    /// loss itself is rounded to half precision, its relative error is at most the unit roundoff, 48.2 and
    /// 66.2 dB, and that of `rust`, which may round to either neighbour, twice that; the gate is 42 and
    /// 60.
    fn min_sqnr_db(&self, work: &OperatorWork, dtype: Dtype) -> f64 {
        let gates = match (work.operator.is_loss(), rounds_between(*self, work.implementation)) {
            (false, _) => Gates { float32: 125.0, bfloat16: 39.0, float16: 56.0 },
            (true, true) => Gates { float32: 115.0, bfloat16: 32.0, float16: 52.0 },
            (true, false) => Gates { float32: 115.0, bfloat16: 42.0, float16: 60.0 },
        };
        gates.for_dtype(dtype)
    }

    fn by_value(&self) -> Option<&dyn ByValue<OperatorWork>> {
        Some(self)
    }
}

impl<F: Formula> ByValue<OperatorWork> for F {
    fn tolerance(
        &self,
        context: &KernelContext<OperatorWork>,
        inputs: &Inputs,
        reference: &Tensor,
    ) -> Result<Tolerance, TchError> {
        tolerance::compute(*self, context, inputs, reference)
    }

    fn trials(&self, context: &KernelContext<OperatorWork>) -> Vec<Trial<OperatorWork>> {
        let formula = *self;
        let trial = |it: trial::Small| Trial {
            name: it.name(),
            is_special: it.is_special(),
            context: it.context,
            draw: Box::new(move || it.draw(formula)),
        };
        trial::trials(context).into_iter().map(trial).collect()
    }

    fn is_of_libtorch(&self, context: &KernelContext<OperatorWork>) -> bool {
        matches!(context.work.implementation, Implementation::Aten | Implementation::AtenOut)
    }
}

/// Whether the results of the operations inside an implementation are tensors of the case's dtype.
fn rounds_between(formula: impl Formula, implementation: Implementation) -> bool {
    match implementation {
        Implementation::AtenComposed => true,
        Implementation::Aten | Implementation::AtenOut => formula.aten_rounds_between(),
        Implementation::Rust
        | Implementation::Cuda
        | Implementation::Triton
        | Implementation::Stream => false,
    }
}

/// The dtype that those results are rounded to: float32, unless they are tensors of the case's.
fn held_in(formula: impl Formula, context: &KernelContext<OperatorWork>) -> Dtype {
    if rounds_between(formula, context.work.implementation) {
        context.dtype
    } else {
        Dtype::Float32
    }
}

/// The largest x whose squares, `count` of them, can be summed in float32 and each held in a format
/// whose largest number is `held`.
fn root_of(held: f64, count: u64) -> f64 {
    let sums = Float::for_dtype(Dtype::Float32).largest();
    (held.min(sums / count as f64) / 32.0).sqrt()
}

fn row(x: &Tensor) -> Result<i64, TchError> {
    x.size().last().copied().ok_or_else(|| TchError::Shape("x without dimensions".to_owned()))
}

impl KernelContext<OperatorWork> {
    fn cuda(&self) -> Result<usize, Refusal> {
        match self.torch_device {
            tch::Device::Cuda(device) => Ok(device),
            other => Err(self.unsupported(&format!("a CUDA kernel on {other:?}"))),
        }
    }
}
