//! Two linear layers without biases, with SiLU between them: `[m, k]` → `[m, n]` → `[m, k]`.

use criterion_torch::models::prelude::*;

/// The word in a config. A `<name>` in it would be a number, as in a recipe, and a field of `Model`.
pub const SPELLING: &str = "mlp";

pub struct Model;

impl Architecture for Model {
    fn sizes(&self, Shape { m, k, n }: Shape) -> ModelSizes {
        ModelSizes {
            linears: vec![
                LinearShape { name: "fc1", rows: m, k, n },
                LinearShape { name: "fc2", rows: m, k: n, n: k },
            ],
            input: vec![m, k],
            output: vec![m, k],
            other_flops: 0,
        }
    }

    fn ends_with_linear(&self) -> bool {
        true
    }

    /// The errors of two quantized layers in a row add up.
    fn gate_shift_db(&self) -> f64 {
        -3.0
    }

    fn build(
        &self,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        let mut layer = |name| make(name, parameters.take_weight(name)?);
        Ok(Box::new(Mlp { fc1: layer("fc1")?, fc2: layer("fc2")? }))
    }
}

struct Mlp {
    fc1: Box<dyn LinearLayer>,
    fc2: Box<dyn LinearLayer>,
}

impl Network for Mlp {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let hidden = self.fc1.forward(input, None)?.f_silu()?;
        self.fc2.forward(&hidden, out)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.fc1, &*self.fc2]
    }
}
