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

    /// The input of the activation.
    fn preactivation(&self, input: &Tensor) -> Result<Tensor, TchError> {
        let features = input.size().last().copied().unwrap_or_default();
        let none = None::<&Tensor>;
        let x = input.f_layer_norm([features], none, none, EPS, true)?;
        self.fc.forward(&x)
    }
}

impl Model for LnLinear {
    fn forward(&self, input: &Tensor) -> Result<Tensor, TchError> {
        activate(self.activation, &self.preactivation(input)?)
    }

    fn forward_out(&self, input: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        activate_out(self.activation, &self.preactivation(input)?, out)
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

/// The out forms of [`activate`]. The two without one of their own (`relu.out` is generated: it
/// allocates a result and copies it) call what ATen implements them by.
fn activate_out(activation: Activation, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    match activation {
        Activation::Relu => x.f_clamp_min_out(out, 0),
        Activation::Sigmoid => x.f_sigmoid_out(out),
        Activation::LeakyRelu => x.f_leaky_relu_out(out),
        Activation::Relu6 => x.f_clamp_out(out, 0, 6),
        Activation::Gelu => x.f_gelu_out(out, "none"),
        Activation::Silu => x.f_silu_out(out),
        Activation::Hardswish => x.f_hardswish_out(out),
    }
    .map(drop)
}
