//! `linear`: one linear layer `[m, k]` → `[m, n]`.

use plan::{ModelKind, ModelSizes, Shape};
use tch::{TchError, Tensor};

use super::{
    Architecture, MakeLayer, MakeTrained, ModelGradients, Network, Parameters, Passed,
    TrainedLayer, TrainedNetwork, built_in,
};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

const LINEAR: &str = "linear1";

pub(super) struct Model;

impl Architecture for Model {
    fn sizes(&self, shape: Shape) -> ModelSizes {
        built_in(ModelKind::Linear, shape)
    }

    fn ends_with_linear(&self) -> bool {
        true
    }

    fn build(
        &self,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        Ok(Box::new(Linear { linear: make(LINEAR, parameters.take_weight(LINEAR)?)? }))
    }

    fn trained(
        &self,
        mut parameters: Parameters,
        make: &mut MakeTrained<'_>,
    ) -> Result<Box<dyn TrainedNetwork>, Refusal> {
        Ok(Box::new(Linear { linear: make(LINEAR, parameters.take_weight(LINEAR)?)? }))
    }
}

/// `Linear(k, n)` without bias.
struct Linear<Layer: ?Sized> {
    linear: Box<Layer>,
}

impl Network for Linear<dyn LinearLayer> {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        self.linear.forward(input, out)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.linear]
    }
}

impl TrainedNetwork for Linear<dyn TrainedLayer> {
    fn forward(&self, input: &Tensor) -> Result<Passed, TchError> {
        Ok(Passed { output: self.linear.forward(input)?, saved: Vec::new() })
    }

    fn backward(
        &self,
        input: &Tensor,
        _saved: &[Tensor],
        grad_output: &Tensor,
    ) -> Result<ModelGradients, TchError> {
        let gradients = self.linear.backward(input, grad_output)?;
        Ok(ModelGradients { input: gradients.input, parameters: vec![gradients.weight] })
    }

    fn layers(&self) -> Vec<&dyn TrainedLayer> {
        vec![&*self.linear]
    }
}
