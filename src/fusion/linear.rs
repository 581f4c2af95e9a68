//! What the patterns around a linear layer have in common.

use plan::FusionShape;
use tch::{TchError, Tensor};

use super::{Inputs, Site};

/// `x [m, k]`, `Wᵀ [k, n]` (a view of `W [n, k]`) and `b [n]`.
pub(super) struct Operands {
    pub(super) x: Tensor,
    pub(super) weight: Tensor,
    pub(super) weight_t: Tensor,
    pub(super) bias: Tensor,
}

/// `x` normal; weight and bias as `torch.nn.Linear` initializes them.
pub(super) fn draw(site: &Site) -> Result<Inputs, TchError> {
    let FusionShape::Linear { m, k, n } = site.work.size else {
        return Err(TchError::Shape(format!("{} is no size of a linear layer", site.work.size)));
    };
    Ok(Inputs {
        examples: vec![site.normal(&[m, k])?],
        parameters: vec![site.uniform(&[n, k], k)?, site.uniform(&[n], k)?],
    })
}

/// What [`draw`] has drawn.
pub(super) fn operands(inputs: Inputs) -> Result<Operands, TchError> {
    let Inputs { examples, parameters } = inputs;
    let wrong = |_| TchError::Shape("inputs of another pattern".to_owned());
    let [x] = <[Tensor; 1]>::try_from(examples).map_err(wrong)?;
    let [weight, bias] = <[Tensor; 2]>::try_from(parameters)
        .map_err(|_| TchError::Shape("inputs of another pattern".to_owned()))?;
    let weight_t = weight.f_tr()?;
    Ok(Operands { x, weight, weight_t, bias })
}
