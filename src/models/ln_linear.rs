//! `ln_linear_<activation>`: layer norm, linear layer, activation; `[m, k]` → `[m, n]`.

use plan::Activation;
use tch::{TchError, Tensor};

use super::{MakeLayer, Model, Parameters};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

const FC: &str = "fc";
const EPS: f64 = 1e-5;

/// `LayerNorm(k)` without parameters, `Linear(k, n)` without bias, activation.
pub(super) struct LnLinear {
    fc: Box<dyn LinearLayer>,
    activation: Activation,
}

impl LnLinear {
    pub(super) fn build(
        activation: Activation,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Self, Refusal> {
        Ok(Self { fc: make(FC, parameters.take_weight(FC)?)?, activation })
    }
}

impl Model for LnLinear {
    fn forward(&self, input: &Tensor) -> Result<Tensor, TchError> {
        let features = input.size().last().copied().unwrap_or_default();
        let none = None::<&Tensor>;
        let mut x = input.f_layer_norm([features], none, none, EPS, true)?;
        x = self.fc.forward(&x)?;
        activate(self.activation, &x)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.fc]
    }

    fn norms(&self) -> Vec<&Tensor> {
        vec![]
    }
}

fn activate(activation: Activation, x: &Tensor) -> Result<Tensor, TchError> {
    match activation {
        Activation::Relu => x.f_relu(),
        Activation::Sigmoid => x.f_sigmoid(),
        Activation::LeakyRelu => x.f_leaky_relu(),
        Activation::Relu6 => x.f_relu6(),
        Activation::Gelu => x.f_gelu("none"),
        Activation::Silu => x.f_silu(),
        Activation::Hardswish => x.f_hardswish(),
    }
}
