//! The elements of a tensor on the CPU as a slice.

use tch::{Device, TchError, Tensor};

/// An integer that stands for the bits of one element.
pub(super) trait Bits: Copy {}

impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}

/// The elements of `tensor` in order, as bits.
///
/// # Errors
/// A tensor elsewhere than on the CPU, not contiguous, or of elements of another size.
pub(super) fn elements<T: Bits>(tensor: &Tensor) -> Result<&[T], TchError> {
    check::<T>(tensor)?;
    if tensor.numel() == 0 {
        return Ok(&[]);
    }
    // SAFETY: a contiguous tensor on the CPU holds `numel` elements of this size from its pointer
    // on, aligned to that size by libtorch; every bit pattern is an integer. It lives as long as
    // the borrow.
    Ok(unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<T>(), tensor.numel()) })
}

/// The same, to be written: `tensor` must be a fresh one that shares its storage with no other.
///
/// # Errors
/// As of [`elements`].
pub(super) fn elements_mut<T: Bits>(tensor: &mut Tensor) -> Result<&mut [T], TchError> {
    check::<T>(tensor)?;
    if tensor.numel() == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `elements`; and nothing else refers to the storage while it is borrowed.
    Ok(unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast::<T>(), tensor.numel()) })
}

fn check<T>(tensor: &Tensor) -> Result<(), TchError> {
    let size = tensor.f_kind()?.elt_size_in_bytes();
    if tensor.device() != Device::Cpu || !tensor.is_contiguous() || size != size_of::<T>() {
        return Err(TchError::Kind(format!(
            "a contiguous tensor on the CPU with elements of {} bytes is needed, not {:?} on {:?}",
            size_of::<T>(),
            tensor.f_kind()?,
            tensor.device()
        )));
    }
    Ok(())
}
