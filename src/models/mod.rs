//! Models: what a benchmark runs, built from a shape (m, k, n) as `torchao.testing` builds it.
//!
//! A model is written once, over whatever makes its linear layers: a recipe for the measurement,
//! float64 for the reference. Everything else follows the dtype of what flows through.
//!
//! A file such as `benches/models/relu_linear.rs` adds a model to a package. Its spelling is its word in configs:
//!
//! ```
//! use criterion_torch::models::prelude::*;
//!
//! pub const SPELLING: &str = "relu_linear";
//!
//! pub struct Model;
//!
//! impl Architecture for Model {
//!     fn sizes(&self, Shape { m, k, n }: Shape) -> ModelSizes {
//!         ModelSizes {
//!             linears: vec![LinearShape { name: "fc", rows: m, k, n }],
//!             input: vec![m, k],
//!             output: vec![m, n],
//!             other_flops: m * n,
//!         }
//!     }
//!
//!     fn build(
//!         &self,
//!         mut parameters: Parameters,
//!         make: &mut MakeLayer<'_>,
//!     ) -> Result<Box<dyn Network>, Refusal> {
//!         Ok(Box::new(ReluLinear(make("fc", parameters.take_weight("fc")?)?)))
//!     }
//!
//!     // Only if it is to be trained, too.
//!     fn trained(
//!         &self,
//!         mut parameters: Parameters,
//!         make: &mut MakeTrained<'_>,
//!     ) -> Result<Box<dyn TrainedNetwork>, Refusal> {
//!         Ok(Box::new(Trained(make("fc", parameters.take_weight("fc")?)?)))
//!     }
//! }
//!
//! struct ReluLinear(Box<dyn LinearLayer>);
//!
//! impl Network for ReluLinear {
//!     fn forward(&self, input: &Tensor, _out: Option<&Tensor>) -> Result<Tensor, TchError> {
//!         self.0.forward(input, None)?.f_relu()
//!     }
//!
//!     fn layers(&self) -> Vec<&dyn LinearLayer> {
//!         vec![&*self.0]
//!     }
//! }
//!
//! struct Trained(Box<dyn TrainedLayer>);
//!
//! impl TrainedNetwork for Trained {
//!     fn forward(&self, input: &Tensor) -> Result<Passed, TchError> {
//!         let output = self.0.forward(input)?.f_relu()?;
//!         Ok(Passed { saved: vec![output.shallow_clone()], output })
//!     }
//!
//!     fn backward(
//!         &self,
//!         input: &Tensor,
//!         saved: &[Tensor],
//!         grad_output: &Tensor,
//!     ) -> Result<ModelGradients, TchError> {
//!         let grad = saved[0].f_threshold_backward(grad_output, 0)?;
//!         let Gradients { input, weight } = self.0.backward(input, &grad)?;
//!         Ok(ModelGradients { input, parameters: vec![weight] })
//!     }
//!
//!     fn layers(&self) -> Vec<&dyn TrainedLayer> {
//!         vec![&*self.0]
//!     }
//! }
//! ```

mod architecture;
mod decoder;
mod linear;
mod ln_linear;
mod parameters;
mod rms_norm;
mod trained;
mod transformer_block;
mod transformer_block_trained;

pub use architecture::{Architecture, MakeLayer, Network};
pub use parameters::Parameters;
#[doc(hidden)]
pub use trained::train;
pub use trained::{MakeTrained, ModelGradients, Passed, TrainedLayer, TrainedNetwork};

use plan::{LinearShape, ModelKind, ModelSizes, Shape, Weights};
use tch::{Kind, Tensor};

use crate::recipes::{Registry, UserDefinition};
use crate::refusal::Refusal;

/// The imports of a model's file, as in the [example](super).
pub mod prelude {
    pub use plan::{LinearShape, ModelSizes, Shape};

    pub use super::{
        Architecture, MakeLayer, MakeTrained, ModelGradients, Network, Parameters, Passed,
        TrainedLayer, TrainedNetwork,
    };
    pub use crate::recipes::prelude::{Kind, Refusal, TchError, Tensor, tch};
    pub use crate::recipes::{Gradients, LinearLayer, TrainedLinear};
}

/// The models of the bench target's package.
static OWN: Registry<dyn Architecture> = Registry::new("model");

/// Has the models of a bench target's package known.
pub(crate) fn register(models: &'static [UserDefinition<dyn Architecture>]) {
    OWN.set(models);
}

/// The model's implementation: where a new one is entered.
#[doc(hidden)]
pub fn architecture(model: ModelKind) -> Result<Box<dyn Architecture>, Refusal> {
    Ok(match model {
        ModelKind::Linear => Box::new(linear::Model),
        ModelKind::LnLinear(activation) => Box::new(ln_linear::Model { activation }),
        ModelKind::TransformerBlock => Box::new(transformer_block::Model),
        ModelKind::Decoder(block) => Box::new(decoder::Model(block)),
        ModelKind::User(word) => OWN.make(word)?,
    })
}

/// The sizes of a model that is built in.
fn built_in(model: ModelKind, shape: Shape) -> ModelSizes {
    ModelSizes::new(model, shape).expect("the plan knows the sizes of built-in models")
}

/// The sizes of a model at a shape.
#[doc(hidden)]
pub fn sizes(model: ModelKind, shape: Shape) -> Result<ModelSizes, Refusal> {
    Ok(architecture(model)?.sizes(shape))
}

/// Builds a model from its parameters ([`Architecture::build`]).
#[doc(hidden)]
pub fn build(
    model: ModelKind,
    parameters: Parameters,
    make: &mut MakeLayer<'_>,
) -> Result<Box<dyn Network>, Refusal> {
    architecture(model)?.build(parameters, make)
}

/// Whether a model can be built for this shape.
#[doc(hidden)]
pub fn check(model: ModelKind, shape: Shape) -> Result<(), Refusal> {
    let unsupported = |constraint| Refusal::Unsupported(format!("model `{model}`: {constraint}"));
    architecture(model)?.check(shape).map_err(unsupported)
}

/// Bytes in storage of the model as it runs: weights, scales, zero points, norms. A storage that
/// two tensors share counts once; padding by the allocator does not count.
#[doc(hidden)]
pub fn stored_bytes(model: &dyn Network) -> u64 {
    let layers = model.layers();
    let tensors = layers.iter().flat_map(|layer| layer.tensors());
    distinct_bytes(model.norms().into_iter().chain(tensors))
}

/// The weights of the model's linear layers, which had the dtype `kind` before quantization and
/// whose sizes are `linears`.
#[doc(hidden)]
pub fn weights(model: &dyn Network, linears: &[LinearShape], kind: Kind) -> Weights {
    let layers = model.layers();
    let elements: u64 = linears.iter().map(|linear| linear.k * linear.n).sum();
    let packed_bytes = distinct_bytes(layers.iter().flat_map(|layer| layer.tensors()));
    let kept = layers.iter().zip(linears).try_fold(0.0, |sum, (layer, linear)| {
        Some(sum + layer.density()? * (linear.k * linear.n) as f64)
    });
    Weights {
        linears: layers.len() as u64,
        quantized: layers.iter().filter(|layer| layer.is_quantized()).count() as u64,
        packed_bytes,
        baseline_bytes: elements * kind.elt_size_in_bytes() as u64,
        bits_per_weight: 8.0 * packed_bytes as f64 / elements as f64,
        density: kept.map(|kept| kept / elements as f64),
    }
}

/// Bytes of these tensors; a storage that two share counts once.
pub(crate) fn distinct_bytes<'t>(tensors: impl IntoIterator<Item = &'t Tensor>) -> u64 {
    let mut seen = std::collections::HashSet::new();
    tensors
        .into_iter()
        .filter(|tensor| tensor.numel() > 0 && seen.insert(tensor.data_ptr()))
        .map(|tensor| (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64)
        .sum()
}
