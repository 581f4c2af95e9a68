//! `ln_linear_<activation>`: layer norm, linear layer, activation; `[m, k]` → `[m, n]`.

use plan::{Activation, ModelKind, ModelSizes, Shape};
use tch::{TchError, Tensor};

use super::{Architecture, MakeLayer, Network, Parameters, built_in};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

const FC: &str = "fc";
const EPS: f64 = 1e-5;

pub(super) struct Model {
    pub activation: Activation,
}

impl Architecture for Model {
    fn sizes(&self, shape: Shape) -> ModelSizes {
        built_in(ModelKind::LnLinear(self.activation), shape)
    }

    /// The constant half of a sigmoid is exact.
    fn gate_shift_db(&self) -> f64 {
        if self.activation == Activation::Sigmoid { 8.0 } else { 0.0 }
    }

    fn build(
        &self,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        let fc = make(FC, parameters.take_weight(FC)?)?;
        Ok(Box::new(LnLinear { fc, activation: self.activation }))
    }
}

/// `LayerNorm(k)` without parameters, `Linear(k, n)` without bias, activation.
struct LnLinear {
    fc: Box<dyn LinearLayer>,
    activation: Activation,
}

impl Network for LnLinear {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let features = input.size().last().copied().unwrap_or_default();
        let none = None::<&Tensor>;
        let mut x = input.f_layer_norm([features], none, none, EPS, true)?;
        // Frees the layer's input before the activation.
        x = self.fc.forward(&x, None)?;
        activate(self.activation, &x, out)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.fc]
    }
}

/// The two without an out form of their own (`relu.out` is generated: it allocates a result and copies
/// it) call what ATen implements them by.
fn activate(activation: Activation, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
    match (activation, out) {
        (Activation::Relu, None) => x.f_relu(),
        (Activation::Relu, Some(out)) => x.f_clamp_min_out(out, 0),
        (Activation::Sigmoid, None) => x.f_sigmoid(),
        (Activation::Sigmoid, Some(out)) => x.f_sigmoid_out(out),
        (Activation::LeakyRelu, None) => x.f_leaky_relu(),
        (Activation::LeakyRelu, Some(out)) => x.f_leaky_relu_out(out),
        (Activation::Relu6, None) => x.f_relu6(),
        (Activation::Relu6, Some(out)) => x.f_clamp_out(out, 0, 6),
        (Activation::Gelu, None) => x.f_gelu("none"),
        (Activation::Gelu, Some(out)) => x.f_gelu_out(out, "none"),
        (Activation::Silu, None) => x.f_silu(),
        (Activation::Silu, Some(out)) => x.f_silu_out(out),
        (Activation::Hardswish, None) => x.f_hardswish(),
        (Activation::Hardswish, Some(out)) => x.f_hardswish_out(out),
    }
}
