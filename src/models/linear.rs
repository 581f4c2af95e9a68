//! `linear`: one linear layer `[m, k]` → `[m, n]`.

use tch::{TchError, Tensor};

use super::{MakeLayer, Model, Parameters};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

const LINEAR: &str = "linear1";

/// `Linear(k, n)` without bias.
pub(super) struct Linear {
    linear: Box<dyn LinearLayer>,
}

impl Linear {
    pub(super) fn build(
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Self, Refusal> {
        Ok(Self { linear: make(LINEAR, parameters.take_weight(LINEAR)?)? })
    }
}

impl Model for Linear {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        self.linear.forward(input, out)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.linear]
    }

    fn norms(&self) -> Vec<&Tensor> {
        vec![]
    }
}
