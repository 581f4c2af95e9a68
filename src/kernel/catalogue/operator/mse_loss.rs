//! `mse_loss`: mean((x − t)²).

use plan::{Implementation, OperatorWork};
use tch::{Kind, Reduction, TchError, Tensor};

use super::{Formula, Operand};
use crate::inputs::Inputs;
use crate::kernel::{Float, Site, Step};
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

    fn build(self, site: &Site<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x, target], []) = inputs.into_parts()?;
        if site.work.implementation != Implementation::Aten {
            return Err(site.no_such_implementation());
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
    fn largest(self, site: &Site<OperatorWork>, _: Float) -> f64 {
        super::root_of(Float::of(site.dtype).largest(), site.work.size.elements())
    }
}
