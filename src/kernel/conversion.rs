//! From a tensor to values and back, and what a `run_benchmark` may return.

use tch::{Device, Tensor};

use super::Element;
use crate::inputs;
use crate::native::storage::numel;
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

/// The elements of a contiguous tensor on the host, in their order, without a copy. Nothing may write to the tensor
/// while the slice is in use.
///
/// ```
/// use criterion_torch::kernel::{Tensor, slice};
///
/// assert_eq!(slice::<f64>(&Tensor::from_slice(&[1.0, 2.0]))?, [1.0, 2.0]);
/// # Ok::<(), criterion_torch::kernel::Refusal>(())
/// ```
pub fn slice<T: Element>(tensor: &Tensor) -> Result<&[T], Refusal> {
    let (found, wanted) = (tensor.f_kind()?, inputs::kind(T::DTYPE));
    let place = tensor.device();
    if (found, place) != (wanted, Device::Cpu) || !tensor.is_contiguous() {
        return Err(Refusal::Failed(format!(
            "a tensor {:?} of {found:?} with strides {:?} on {place:?} asked for as a slice, which takes a contiguous \
             one of {wanted:?} on the host",
            tensor.size(),
            tensor.stride()
        )));
    }
    let count = numel(tensor);
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: so many elements of this kind lie there, aligned, and the tensor keeps them while it is borrowed.
    Ok(unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), count) })
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
    use crate::native::storage::meta;
    use half::{bf16, f16};

    fn there_and_back<T: Element>() {
        let written: Vec<T> = [1.5, -2.0, 0.0, 96.0, 0.125, 3.0].map(T::from_f64).to_vec();
        let there = tensor(&written, &[2, 3]).unwrap();
        assert_eq!((there.kind(), there.size()), (inputs::kind(T::DTYPE), vec![2, 3]));
        // As libtorch reads them.
        assert_eq!(there.double_value(&[1, 0]), 96.0);
        assert_eq!(slice::<T>(&there).unwrap(), written);
        assert_eq!(slice::<T>(&there.narrow(0, 1, 1)).unwrap(), &written[3..]);
    }

    #[test]
    fn every_precision_keeps_its_values() {
        there_and_back::<f64>();
        there_and_back::<f32>();
        there_and_back::<bf16>();
        there_and_back::<f16>();
    }

    #[test]
    fn another_dtype_layout_or_place_is_refused() {
        let floats = tensor(&[1.0_f32, 2.0], &[2]).unwrap();
        let refused = slice::<bf16>(&floats).unwrap_err().to_string();
        let expected = "a tensor [2] of Float with strides [1] on Cpu asked for as a slice";
        assert!(refused.starts_with(&format!("failed: {expected}")), "{refused}");
        assert!(refused.ends_with("one of BFloat16 on the host"), "{refused}");
        assert!(slice::<f32>(&floats.expand([2, 2], false).tr()).is_err());
        assert!(slice::<f32>(&meta(&floats).unwrap()).is_err());
        assert!(tensor(&[1.0_f32, 2.0], &[3]).is_err());
    }

    #[test]
    fn nothing_is_something() {
        assert!(slice::<f32>(&tensor::<f32>(&[], &[0]).unwrap()).unwrap().is_empty());
    }
}
