//! From a tensor to values and back, and what a `run_benchmark` may return.

use tch::{Device, Tensor, kind};

use super::Element;
use crate::inputs;
use crate::refusal::Refusal;

/// `values` as a tensor of this size on the host.
///
/// ```
/// let square = criterion_torch::kernel::tensor(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(square.size(), [2, 2]);
/// # Ok::<(), criterion_torch::kernel::Refusal>(())
/// ```
pub fn tensor<T: Element>(values: &[T], size: &[usize]) -> Result<Tensor, Refusal> {
    let size = size.iter().map(|&it| inputs::dimension(it as u64));
    let size = size.collect::<Result<Vec<i64>, _>>()?;
    // tch 0.24 labels bfloat16 as float16; the bits are right.
    let labelled = Tensor::f_from_slice(values)?.f_view_dtype(inputs::kind(T::DTYPE))?;
    Ok(labelled.f_reshape(size)?)
}

/// The elements of `tensor`, in their order, on the host.
///
/// ```
/// use criterion_torch::kernel::{Tensor, values};
///
/// assert_eq!(values::<f64>(&Tensor::from_slice(&[1.0, 2.0]))?, [1.0, 2.0]);
/// # Ok::<(), criterion_torch::kernel::Refusal>(())
/// ```
pub fn values<T: Element>(tensor: &Tensor) -> Result<Vec<T>, Refusal> {
    let (found, wanted) = (tensor.f_kind()?, inputs::kind(T::DTYPE));
    if found != wanted {
        return Err(Refusal::Failed(format!("values of {found:?} asked for as {wanted:?}")));
    }
    let flat = tensor.f_to_device(Device::Cpu)?.f_contiguous()?.f_view([-1])?;
    let flat = flat.f_view_dtype(<T as kind::Element>::KIND)?;
    let mut values = vec![T::default(); flat.numel()];
    flat.f_copy_data(&mut values, flat.numel())?;
    Ok(values)
}

/// An output: a tensor, the elements of one, or a number. A function `run_benchmark` returns one of them.
///
/// ```
/// use criterion_torch::kernel::IntoTensor;
///
/// assert_eq!(vec![1.0_f32, 2.0].into_tensor()?.size(), [2]);
/// assert_eq!(1.0_f64.into_tensor()?.size(), [1]);
/// # Ok::<(), criterion_torch::kernel::Refusal>(())
/// ```
pub trait IntoTensor {
    /// Whether it holds numbers of the host, so that what returns it has not run on another device.
    const IS_OF_HOST: bool = false;

    /// As a tensor of its own dtype.
    fn into_tensor(self) -> Result<Tensor, Refusal>;
}

impl IntoTensor for Tensor {
    fn into_tensor(self) -> Result<Tensor, Refusal> {
        Ok(self)
    }
}

impl<T: Element> IntoTensor for Vec<T> {
    const IS_OF_HOST: bool = true;

    fn into_tensor(self) -> Result<Tensor, Refusal> {
        tensor(&self, &[self.len()])
    }
}

impl<T: Element> IntoTensor for T {
    const IS_OF_HOST: bool = true;

    fn into_tensor(self) -> Result<Tensor, Refusal> {
        tensor(&[self], &[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    fn there_and_back<T: Element>() {
        let written: Vec<T> = [1.5, -2.0, 0.0, 96.0, 0.125, 3.0].map(T::from_f64).to_vec();
        let there = tensor(&written, &[2, 3]).unwrap();
        assert_eq!((there.kind(), there.size()), (inputs::kind(T::DTYPE), vec![2, 3]));
        // As libtorch reads them.
        assert_eq!(there.double_value(&[1, 0]), 96.0);
        assert_eq!(values::<T>(&there).unwrap(), written);
        let transposed: Vec<f64> =
            values::<T>(&there.tr()).unwrap().into_iter().map(T::to_f64).collect();
        assert_eq!(transposed, [1.5, 96.0, -2.0, 0.125, 0.0, 3.0]);
    }

    #[test]
    fn every_precision_keeps_its_values() {
        there_and_back::<f64>();
        there_and_back::<f32>();
        there_and_back::<bf16>();
        there_and_back::<f16>();
    }

    #[test]
    fn another_dtype_or_size_is_refused() {
        let floats = tensor(&[1.0_f32, 2.0], &[2]).unwrap();
        let refused = values::<bf16>(&floats).unwrap_err();
        assert_eq!(refused.to_string(), "failed: values of Float asked for as BFloat16");
        assert!(tensor(&[1.0_f32, 2.0], &[3]).is_err());
    }

    #[test]
    fn nothing_is_something() {
        assert!(values::<f32>(&tensor::<f32>(&[], &[0]).unwrap()).unwrap().is_empty());
    }
}
