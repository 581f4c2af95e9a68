//! The parameters of a model before quantization.

use std::collections::BTreeMap;

use plan::{Dtype, ModelKind, Shape, Sparsity};
use tch::{Device, Kind, TchError, Tensor};

use crate::refusal::Refusal;
use crate::{inputs, recipes};

/// A model's parameters under upstream's names (`qkv.weight`), in its high-precision dtype. The [example](super) takes
/// one.
#[derive(Debug, Default)]
pub struct Parameters(BTreeMap<String, Tensor>);

impl Parameters {
    /// Fresh parameters as `torch.nn` makes them, in upstream's order of layers: linear weights
    /// `[n, k]` uniform in ±1/√k, norm weights one. Drawn on the host in float32 from torch's
    /// default generator, then converted to `dtype`, then moved, one at a time.
    #[doc(hidden)]
    pub fn random(
        model: ModelKind,
        shape: Shape,
        dtype: Dtype,
        device: Device,
    ) -> Result<Self, Refusal> {
        let architecture = super::architecture(model)?;
        let kind = inputs::kind(dtype);
        let mut parameters = Self::default();
        for linear in architecture.sizes(shape).linears {
            let size = [inputs::dimension(linear.n)?, inputs::dimension(linear.k)?];
            let mut weight = Tensor::f_empty(size, (Kind::Float, Device::Cpu))?;
            let bound = uniform_bound(linear.k);
            weight = weight.f_uniform_(-bound, bound)?;
            weight = weight.f_to_kind(kind)?;
            parameters.insert(&weight_of(linear.name), weight.f_to_device(device)?);
        }
        for (name, size) in architecture.norms(shape) {
            let weight = Tensor::f_ones([inputs::dimension(size)?], (kind, device))?;
            parameters.insert(&weight_of(name), weight);
        }
        Ok(parameters)
    }

    /// Prunes the weight of every linear layer for the sparse layout. Returns the effect of that alone:
    /// the signal-to-noise ratio, in dB, of all pruned weights against the dense ones.
    #[doc(hidden)]
    pub fn prune(
        &mut self,
        model: ModelKind,
        shape: Shape,
        sparsity: Sparsity,
    ) -> Result<f64, Refusal> {
        let square = |tensor: Tensor| -> Result<f64, TchError> {
            Ok(tensor.f_to_kind(Kind::Float)?.f_norm()?.f_double_value(&[])?.powi(2))
        };
        let (mut signal, mut noise) = (0.0, 0.0);
        for linear in super::sizes(model, shape)?.linears {
            let dense = self.take_weight(linear.name)?;
            let pruned = recipes::prune(sparsity, &dense)?;
            noise += square(dense.f_sub(&pruned)?)?;
            signal += square(dense)?;
            self.insert(&weight_of(linear.name), pruned);
        }
        Ok(10.0 * f64::log10(signal / noise))
    }

    /// Adds or replaces a parameter.
    pub fn insert(&mut self, name: &str, tensor: Tensor) {
        self.0.insert(name.to_owned(), tensor);
    }

    /// The parameters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// A copy that shares the tensors' storage.
    #[must_use]
    pub fn share(&self) -> Self {
        let shared = self.0.iter().map(|(name, tensor)| (name.clone(), tensor.shallow_clone()));
        Self(shared.collect())
    }

    /// [`Self::share`] for work in float64: copies on the host where their device does not support float64.
    pub(crate) fn for_float64(&self) -> Result<Self, TchError> {
        let shared = self.0.iter().map(|(name, tensor)| {
            let tensor = match tensor.device() {
                Device::Mps => tensor.f_to_device(Device::Cpu)?,
                _ => tensor.shallow_clone(),
            };
            Ok((name.clone(), tensor))
        });
        Ok(Self(shared.collect::<Result<_, TchError>>()?))
    }

    /// Takes out the weight of the module `name`: a linear layer's `[n, k]`, or a norm's.
    pub fn take_weight(&mut self, name: &str) -> Result<Tensor, TchError> {
        let name = weight_of(name);
        self.0.remove(&name).ok_or_else(|| {
            let present: Vec<&str> = self.0.keys().map(String::as_str).collect();
            TchError::TensorNameNotFound(name, format!("parameters [{}]", present.join(", ")))
        })
    }
}

fn weight_of(module: &str) -> String {
    format!("{module}.weight")
}

/// 1/√k by way of Kaiming's gain for a slope of √5, in the steps that `torch.nn.init` takes, so
/// that the same seed gives upstream's weights to the last bit.
fn uniform_bound(k: u64) -> f64 {
    let slope = 5f64.sqrt();
    let gain = (2.0 / (1.0 + slope * slope)).sqrt();
    3f64.sqrt() * (gain / (k as f64).sqrt())
}
