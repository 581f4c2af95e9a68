//! `softmax`: exp(x − max)/Σ over rows.

use plan::{Implementation, OperatorWork};
use tch::{Kind, TchError, Tensor};

use super::output::unwritten_like;
use super::{Formula, Operand};
use crate::inputs::Inputs;
use crate::kernel::{Float, KernelContext, Step};
use crate::refusal::Refusal;

#[derive(Clone, Copy)]
pub(super) struct Softmax;

impl Formula for Softmax {
    fn operands(self) -> &'static [Operand] {
        &[Operand::LikeX]
    }

    fn compute(self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        let mut y = x.f_sub(&x.f_amax([-1_i64], true)?)?;
        y = y.f_exp()?;
        let sum = y.f_sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>)?;
        y.f_div(&sum)
    }

    fn operations(self) -> &'static str {
        "amax sub exp sum div"
    }

    fn build(self, context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], []) = inputs.into_parts()?;
        Ok(match context.work.implementation {
            Implementation::Aten => {
                Step::new(&["aten::softmax"], move || x.f_softmax(-1, None::<Kind>))
            }
            Implementation::AtenOut => {
                Step::writing_into([unwritten_like(&x)?], &["aten::_softmax.out"], move |[out]| {
                    x.f_internal_softmax_out(out, -1, false)
                })
            }
            _ => return Err(context.no_such_implementation()),
        })
    }

    fn aten_rounds_between(self) -> bool {
        false
    }

    /// y(1 + |x − max|): exp has the relative error of its argument times x − max.
    fn condition(self, inputs: &Inputs, y: &Tensor) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        let distance = x.f_sub(&x.f_amax([-1_i64], true)?)?.f_abs()?;
        distance.f_add_scalar(1.0)?.f_mul(y)
    }

    /// An exponential may be flushed.
    fn underflow(self, _: &Inputs, y: &Tensor, held: Float) -> Result<Tensor, TchError> {
        y.f_full_like(held.smallest_normal())
    }

    fn largest(self, context: &KernelContext<OperatorWork>, _: Float) -> f64 {
        Float::for_dtype(context.dtype).largest()
    }
}
