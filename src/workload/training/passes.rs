//! The passes of a model's training step: written out, or run by torch's autograd.

use tch::{TchError, Tensor};

use crate::models::{ModelGradients, Passed, TrainedLayer, TrainedNetwork};
use crate::native::autograd;
use crate::recipes::TrainedLinear;
use crate::refusal::Refusal;

/// A model that is built, and who runs its backward pass.
pub(super) struct Passes {
    pub network: Box<dyn TrainedNetwork>,
    /// Whether autograd does: the linear layers are [`Recorded`], input and parameters require gradients.
    pub autograd: bool,
}

impl Passes {
    /// A forward pass; autograd keeps in its graph what backward needs.
    pub fn forward(&self, input: &Tensor) -> Result<Passed, TchError> {
        if !self.autograd {
            return self.network.forward(input);
        }
        let Passed { output, saved: _ } = tch::with_grad(|| self.network.forward(input))?;
        Ok(Passed { output, saved: Vec::new() })
    }

    /// The backward pass of `passed`, which is run again later if autograd is to `keep_graph`.
    pub fn backward(
        &self,
        input: &Tensor,
        passed: &Passed,
        grad_output: &Tensor,
        keep_graph: bool,
    ) -> Result<ModelGradients, Refusal> {
        if !self.autograd {
            return Ok(self.network.backward(input, &passed.saved, grad_output)?);
        }
        let parameters = parameters(&*self.network);
        let inputs: Vec<_> = [input].into_iter().chain(parameters).collect();
        let mut gradients =
            autograd::gradients(&passed.output, grad_output, &inputs, keep_graph)?.into_iter();
        let input = gradients.next().ok_or_else(|| Refusal::Failed("no gradient".to_owned()))?;
        Ok(ModelGradients { input, parameters: gradients.collect() })
    }
}

/// The parameters of a model in the order of their gradients.
pub(super) fn parameters(network: &dyn TrainedNetwork) -> Vec<&Tensor> {
    let weights = network.layers().into_iter().map(|layer| layer.linear().weight());
    weights.chain(network.norms()).collect()
}

/// A linear layer that is a function of autograd's.
pub(super) struct Recorded(pub TrainedLinear);

impl TrainedLayer for Recorded {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        self.0.forward_autograd(x)
    }

    fn linear(&self) -> &TrainedLinear {
        &self.0
    }
}
