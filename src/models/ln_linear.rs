//! `ln_linear_<activation>`: layer norm, linear layer, activation; `[m, k]` → `[m, n]`.

use plan::{Activation, ModelKind, ModelSizes, Shape};
use tch::{TchError, Tensor};

use super::trained::exactly;
use super::{
    Architecture, MakeLayer, MakeTrained, ModelGradients, Network, Parameters, Passed,
    TrainedLayer, TrainedNetwork, built_in,
};
use crate::native::layer_norm;
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

    fn gradient_shift_db(&self) -> f64 {
        -3.0
    }

    fn gradients_jump(&self) -> bool {
        use Activation::{LeakyRelu, Relu, Relu6};
        matches!(self.activation, Relu | LeakyRelu | Relu6)
    }

    fn build(
        &self,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        let fc = make(FC, parameters.take_weight(FC)?)?;
        Ok(Box::new(LnLinear { fc, activation: self.activation }))
    }

    fn trained(
        &self,
        mut parameters: Parameters,
        make: &mut MakeTrained<'_>,
    ) -> Result<Box<dyn TrainedNetwork>, Refusal> {
        let fc = make(FC, parameters.take_weight(FC)?)?;
        Ok(Box::new(LnLinear { fc, activation: self.activation }))
    }
}

/// `LayerNorm(k)` without parameters, `Linear(k, n)` without bias, activation.
struct LnLinear<Layer: ?Sized> {
    fc: Box<Layer>,
    activation: Activation,
}

impl Network for LnLinear<dyn LinearLayer> {
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

impl TrainedNetwork for LnLinear<dyn TrainedLayer> {
    fn forward(&self, input: &Tensor) -> Result<Passed, TchError> {
        let features = input.size().last().copied().unwrap_or_default();
        let none = None::<&Tensor>;
        let (normed, mean, rstd) = input.f_native_layer_norm([features], none, none, EPS)?;
        let x = self.fc.forward(&normed)?;
        let output = activate(self.activation, &x, None)?;
        // Autograd has the slope from the output where that is enough.
        let kept = match self.activation {
            Activation::Relu | Activation::Sigmoid => output.shallow_clone(),
            _ => x,
        };
        Ok(Passed { output, saved: vec![normed, mean, rstd, kept] })
    }

    fn backward(
        &self,
        input: &Tensor,
        tensors: &[Tensor],
        grad_output: &Tensor,
    ) -> Result<ModelGradients, TchError> {
        let [normed, mean, rstd, kept] = exactly(tensors)?;
        let grad = activation_backward(self.activation, kept, grad_output)?;
        let gradients = self.fc.backward(normed, &grad)?;
        let grad_input = layer_norm::backward(&gradients.input, input, mean, rstd)?;
        Ok(ModelGradients { input: grad_input, parameters: vec![gradients.weight] })
    }

    fn layers(&self) -> Vec<&dyn TrainedLayer> {
        vec![&*self.fc]
    }
}

/// The gradient of an activation's input; `kept` is its output for ReLU and sigmoid, else its input.
fn activation_backward(
    activation: Activation,
    kept: &Tensor,
    grad_output: &Tensor,
) -> Result<Tensor, TchError> {
    /// The default slope of `leaky_relu`.
    const SLOPE: f64 = 0.01;
    match activation {
        Activation::Relu => kept.f_threshold_backward(grad_output, 0),
        Activation::Sigmoid => Tensor::f_sigmoid_backward(grad_output, kept),
        Activation::LeakyRelu => kept.f_leaky_relu_backward(grad_output, SLOPE, false),
        Activation::Relu6 => kept.f_hardtanh_backward(grad_output, 0, 6),
        Activation::Gelu => kept.f_gelu_backward(grad_output, "none"),
        Activation::Silu => kept.f_silu_backward(grad_output),
        Activation::Hardswish => kept.f_hardswish_backward(grad_output),
    }
}
