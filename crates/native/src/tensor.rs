//! Tensors across the border of the shim.

use crate::sys as shim;
use tch::Tensor;

use super::error::{Error, check};

/// The tensor that a call of the shim hands over.
///
/// # Safety
/// When its status is fine, `call` has written a tensor that nobody else owns.
pub(super) unsafe fn returned(
    call: impl FnOnce(*mut *mut shim::C_tensor) -> shim::Status,
) -> Result<Tensor, Error> {
    let mut tensor = std::ptr::null_mut();
    check(call(&mut tensor))?;
    // SAFETY: just handed over, from the same `new` that tch's own come from.
    Ok(unsafe { Tensor::from_ptr(tensor) })
}

/// Null for none.
pub(super) fn as_ptr(tensor: Option<&Tensor>) -> *const shim::C_tensor {
    tensor.map_or(std::ptr::null(), Tensor::as_ptr)
}

/// Numbers between −1 and 1 without a visible period, the same in every run: tests share torch's generator with others.
#[cfg(test)]
pub(super) fn wave(size: &[i64], kind: tch::Kind) -> Tensor {
    let count = size.iter().product::<i64>();
    let steps = Tensor::arange(count, (tch::Kind::Double, tch::Device::Cpu));
    (steps * 1.7).sin().reshape(size).to_kind(kind)
}
