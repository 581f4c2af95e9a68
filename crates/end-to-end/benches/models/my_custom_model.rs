//! The tutorial's `my_custom_model`: two linear layers with ReLU between them, `[m, k]` → `[m, 512]` → `[m, n]`.

use criterion_torch::models::prelude::*;

pub const SPELLING: &str = "my_custom_model";

const HIDDEN: u64 = 512;

pub struct Model;

impl Architecture for Model {
    fn sizes(&self, Shape { m, k, n }: Shape) -> ModelSizes {
        ModelSizes {
            linears: vec![
                LinearShape { name: "layer1", rows: m, k, n: HIDDEN },
                LinearShape { name: "layer2", rows: m, k: HIDDEN, n },
            ],
            input: vec![m, k],
            output: vec![m, n],
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
        Ok(Box::new(MyCustomModel { layer1: layer("layer1")?, layer2: layer("layer2")? }))
    }
}

struct MyCustomModel {
    layer1: Box<dyn LinearLayer>,
    layer2: Box<dyn LinearLayer>,
}

impl Network for MyCustomModel {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let hidden = self.layer1.forward(input, None)?.f_relu()?;
        self.layer2.forward(&hidden, out)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.layer1, &*self.layer2]
    }
}
