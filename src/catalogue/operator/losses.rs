//! Losses, one number each: `mse_loss`, mean((x − t)²); and `cross_entropy`, the mean over rows of
//! log Σ exp(x) − x[t], from logits.

use plan::{Device, Dtype, Implementation, OperatorWork};
use tch::{Kind, Reduction, TchError, Tensor};

use super::output::{unwritten_like, unwritten_loss};
use super::{Formula, Operand, row};
use crate::inputs::Inputs;
use crate::kernel::{Float, KernelContext, Step};
use crate::refusal::Refusal;

#[derive(Clone, Copy)]
pub(super) struct MseLoss;

impl Formula for MseLoss {
    fn operands(self) -> &'static [Operand] {
        &[Operand::LikeX, Operand::LikeX]
    }

    fn compute(self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let (x, target) = (&inputs.examples[0], &inputs.examples[1]);
        let mut y = x.f_sub(target)?;
        y = y.f_square()?;
        y.f_mean(None::<Kind>)
    }

    fn operations(self) -> &'static str {
        "sub square mean"
    }

    fn build(self, context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x, target], []) = inputs.into_parts()?;
        if context.work.implementation != Implementation::Aten {
            return Err(context.no_such_implementation());
        }
        Ok(Step::new(&["aten::mse_loss"], move || x.f_mse_loss(&target, Reduction::Mean)))
    }

    fn aten_rounds_between(self) -> bool {
        true
    }

    /// Nothing cancels.
    fn condition(self, _: &Inputs, y: &Tensor) -> Result<Tensor, TchError> {
        y.f_abs()
    }

    /// The output is as large as a square.
    fn largest(self, context: &KernelContext<OperatorWork>, _: Float) -> f64 {
        super::root_of(Float::for_dtype(context.dtype).largest(), context.work.size.elements())
    }
}

/// torch's defaults: no class is left out, none is smoothed.
const IGNORE_INDEX: i64 = -100;
const SMOOTHING: f64 = 0.0;

#[derive(Clone, Copy)]
pub(super) struct CrossEntropy;

impl Formula for CrossEntropy {
    fn operands(self) -> &'static [Operand] {
        &[Operand::LikeX, Operand::Classes]
    }

    /// ATen sums the rows on a CPU in the dtype of x: in float16 so many rows may be more than its
    /// largest number. With normal logits a row's part is ln(dim) + ½ at most, on average, and no
    /// more than 0.02 below that from 64 classes on: E[ln Σ exp(x)] ≤ ln E[Σ exp(x)].
    fn check(self, context: &KernelContext<OperatorWork>) -> Result<(), String> {
        let OperatorWork { implementation, size, .. } = context.work;
        let sums = matches!(implementation, Implementation::Aten | Implementation::AtenOut);
        if !sums || context.device != Device::Cpu || context.dtype != Dtype::Float16 {
            return Ok(());
        }
        let sum = size.rows() as f64 * ((size.tensor_dimension as f64).ln() + 0.5);
        let largest = Float::for_dtype(context.dtype).largest();
        if sum <= largest {
            return Ok(());
        }
        Err(format!(
            "on a CPU it sums the rows in float16, up to {largest}; {} rows of {} classes come to about \
             {sum:.0}: use bfloat16, or fewer rows",
            size.rows(),
            size.tensor_dimension
        ))
    }

    /// With the maximum taken out, so that no exponential overflows.
    fn compute(self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let (x, classes) = rows(&inputs.examples[0], &inputs.examples[1])?;
        let centred = x.f_sub(&x.f_amax([-1_i64], true)?)?;
        let sum = centred.f_exp()?.f_sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>)?;
        let chosen = centred.f_gather(-1, &classes.f_unsqueeze(-1)?, false)?.f_squeeze_dim(-1)?;
        sum.f_log()?.f_sub(&chosen)?.f_mean(None::<Kind>)
    }

    fn operations(self) -> &'static str {
        "amax sub exp sum gather log sub mean"
    }

    fn build(self, context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x, classes], []) = inputs.into_parts()?;
        let (x, classes) = rows(&x, &classes)?;
        Ok(match context.work.implementation {
            Implementation::Aten => {
                let reads = vec![x.shallow_clone(), classes.shallow_clone()];
                Step::new(&["aten::cross_entropy_loss"], move || {
                    let none = None::<Tensor>;
                    x.f_cross_entropy_loss(&classes, none, Reduction::Mean, IGNORE_INDEX, SMOOTHING)
                })
                .reading(reads)
            }
            Implementation::AtenOut => {
                let outputs = [unwritten_like(&x)?, unwritten_loss(&x)?];
                let kernels = ["aten::_log_softmax.out", "aten::nll_loss.out"];
                Step::writing_into(outputs, &kernels, move |[logarithms, out]| {
                    let logarithms = x.f_internal_log_softmax_out(logarithms, -1, false)?;
                    logarithms.f_nll_loss_out(
                        out,
                        &classes,
                        None::<Tensor>,
                        Reduction::Mean,
                        IGNORE_INDEX,
                    )
                })
            }
            _ => return Err(context.no_such_implementation()),
        })
    }

    fn arranged(self, inputs: Inputs) -> Result<Inputs, Refusal> {
        let ([x, classes], []) = inputs.into_parts()?;
        let (x, classes) = rows(&x, &classes)?;
        Ok(Inputs { examples: vec![x, classes], parameters: vec![] })
    }

    fn aten_rounds_between(self) -> bool {
        true
    }

    /// The mean of |max| + |x[t]| + log Σ.
    fn condition(self, inputs: &Inputs, _: &Tensor) -> Result<Tensor, TchError> {
        let (x, classes) = rows(&inputs.examples[0], &inputs.examples[1])?;
        let largest = x.f_amax([-1_i64], true)?;
        let sum = x.f_sub(&largest)?.f_logsumexp([-1_i64].as_slice(), true)?;
        let chosen = x.f_gather(-1, &classes.f_unsqueeze(-1)?, false)?;
        largest.f_abs()?.f_add(&chosen.f_abs()?)?.f_add(&sum)?.f_mean(None::<Kind>)
    }

    /// The output is as large as the sum of a difference of each row.
    fn largest(self, context: &KernelContext<OperatorWork>, _: Float) -> f64 {
        Float::for_dtype(context.dtype).largest() / (4 * context.work.size.rows()) as f64
    }
}

/// `[rows, dim]` and `[rows]`: views.
fn rows(x: &Tensor, classes: &Tensor) -> Result<(Tensor, Tensor), TchError> {
    Ok((x.f_reshape([-1, row(x)?])?, classes.f_reshape([-1])?))
}
