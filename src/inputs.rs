//! Inputs of a model, its output where that is allocated beforehand, and the pieces that weights and inputs are both made of.

use std::sync::{Mutex, MutexGuard, PoisonError};

use plan::{Dtype, ModelSizes};
use tch::{Device, Kind, TchError, Tensor};

/// The torch kind of a plan's dtype.
pub const fn kind(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Float64 => Kind::Double,
        Dtype::Float32 => Kind::Float,
        Dtype::BFloat16 => Kind::BFloat16,
        Dtype::Float16 => Kind::Half,
        Dtype::Float8E4M3Fn => Kind::Float8e4m3fn,
    }
}

/// Torch's default generator on the host belongs to the process: seeding it and drawing from it are one step.
static GENERATOR: Mutex<()> = Mutex::new(());

/// Seeds torch's default generator on the host, which is the caller's alone until the guard is dropped. Nothing is drawn on
/// a device.
pub fn seeded(seed: i64) -> MutexGuard<'static, ()> {
    let drawing = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    reseed(seed);
    drawing
}

/// Seeds the generator for a caller that has it.
pub(crate) fn reseed(seed: i64) {
    native::generator::seed(seed).expect("the host has a generator, which any seed fits");
}

/// Bytes of a tensor's elements.
pub fn bytes(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64
}

/// A dimension as torch takes it.
pub fn dimension(size: u64) -> Result<i64, TchError> {
    i64::try_from(size).map_err(|_| TchError::Shape(format!("{size} does not fit into 63 bits")))
}

/// Normally distributed values, drawn on the host from torch's default generator directly in the
/// dtype (as `torch.randn(…, dtype=…)` does), then moved: every device sees the same numbers.
pub fn normal(size: &[u64], dtype: Dtype, device: Device) -> Result<Tensor, TchError> {
    let size = dimensions(size)?;
    Tensor::f_randn(size, (kind(dtype), Device::Cpu))?.f_to_device(device)
}

/// Values uniform from `low` to `high`, drawn on the host in float32, then converted, then moved; but
/// float64 is drawn as such: values of float32 have so few bits that many of them add up exactly.
pub fn uniform(
    size: &[u64],
    (low, high): (f64, f64),
    dtype: Dtype,
    device: Device,
) -> Result<Tensor, TchError> {
    let drawn = if dtype == Dtype::Float64 { Kind::Double } else { Kind::Float };
    let mut values = Tensor::f_empty(dimensions(size)?, (drawn, Device::Cpu))?;
    values.f_uniform_(low, high)?.f_to_kind(kind(dtype))?.f_to_device(device)
}

/// The range of uniform values with which `torch.nn` initializes weights and biases: ±1/√`fan_in`.
pub fn initial_range(fan_in: u64) -> (f64, f64) {
    let bound = 1.0 / (fan_in as f64).sqrt();
    (-bound, bound)
}

/// A tensor of the model's output size for a step to write into. It holds NaN, so that an element
/// that is not written fails the check, and its pages are mapped before anything is timed.
pub fn unwritten_output(
    sizes: &ModelSizes,
    dtype: Dtype,
    device: Device,
) -> Result<Tensor, TchError> {
    let size = dimensions(&sizes.output)?;
    Tensor::f_full(&size, f64::NAN, (kind(dtype), device))
}

/// The tensors that a kernel computes with.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
///
/// fn layer(x: Tensor, weight: Tensor, bias: Tensor) -> Inputs {
///     Inputs { examples: vec![x], parameters: vec![weight, bias] }
/// }
/// ```
#[derive(Debug, Default)]
pub struct Inputs {
    /// The tensors that every call is given: x and its like, or Q, K and V. In the library's own kernels no place of
    /// the first dimension influences another, nor does a head of attention; in a loss, only by the mean.
    pub examples: Vec<Tensor>,
    /// The tensors that are known beforehand: weights, bias, statistics, in the kernel's own order.
    pub parameters: Vec<Tensor>,
}

#[doc(hidden)]
impl Inputs {
    /// Examples and parameters by name, for who knows how many there are.
    pub fn into_parts<const EXAMPLES: usize, const PARAMETERS: usize>(
        self,
    ) -> Result<([Tensor; EXAMPLES], [Tensor; PARAMETERS]), TchError> {
        let wrong = |found: Vec<Tensor>| {
            TchError::Shape(format!("inputs of something else: {} tensors", found.len()))
        };
        let examples = self.examples.try_into().map_err(wrong)?;
        let parameters = self.parameters.try_into().map_err(wrong)?;
        Ok((examples, parameters))
    }

    /// All tensors, examples first.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.examples.iter().chain(&self.parameters).map(Tensor::shallow_clone).collect()
    }

    /// A copy that shares the tensors' storage.
    #[must_use]
    pub fn share(&self) -> Self {
        let share = |tensors: &[Tensor]| tensors.iter().map(Tensor::shallow_clone).collect();
        Self { examples: share(&self.examples), parameters: share(&self.parameters) }
    }

    /// These examples alone, with all parameters, in float64 at `place`. Layouts may change.
    pub fn in_float64(&self, rows: &Tensor, place: Device) -> Result<Self, TchError> {
        let select = |tensor: &Tensor| {
            let rows = rows.f_to_device(tensor.device())?;
            double(&tensor.f_index_select(0, &rows)?, place)
        };
        let double = |tensor: &Tensor| double(tensor, place);
        Ok(Self {
            examples: self.examples.iter().map(select).collect::<Result<_, _>>()?,
            parameters: self.parameters.iter().map(double).collect::<Result<_, _>>()?,
        })
    }

    /// All of them in float64 on the host.
    pub fn all_in_float64(&self) -> Result<Self, TchError> {
        let double = |tensor: &Tensor| double(tensor, Device::Cpu);
        Ok(Self {
            examples: self.examples.iter().map(double).collect::<Result<_, _>>()?,
            parameters: self.parameters.iter().map(double).collect::<Result<_, _>>()?,
        })
    }

    /// Bytes of the examples.
    pub fn example_bytes(&self) -> u64 {
        self.examples.iter().map(bytes).sum()
    }

    /// Bytes of the parameters before anything is folded or reordered.
    pub fn parameter_bytes(&self) -> u64 {
        self.parameters.iter().map(bytes).sum()
    }
}

/// Converts to float64, on the tensor's device if it supports float64; Metal does not, so the copy is on the host.
pub fn float64(tensor: &Tensor) -> Result<Tensor, TchError> {
    match tensor.device() {
        Device::Mps => tensor.f_to_device(Device::Cpu)?.f_to_kind(Kind::Double),
        _ => tensor.f_to_kind(Kind::Double),
    }
}

/// The place for float64 work on tensors of `device`: a GPU's own units, slow as they are on some, still beat the host.
pub const fn float64_place(device: Device) -> Device {
    match device {
        Device::Cuda(_) => device,
        _ => Device::Cpu,
    }
}

/// In float64 at `place`; classes stay whole numbers.
fn double(tensor: &Tensor, place: Device) -> Result<Tensor, TchError> {
    let tensor = tensor.f_to_device(place)?;
    if tensor.f_is_floating_point()? { tensor.f_to_kind(Kind::Double) } else { Ok(tensor) }
}

fn dimensions(size: &[u64]) -> Result<Vec<i64>, TchError> {
    size.iter().map(|&size| dimension(size)).collect()
}
