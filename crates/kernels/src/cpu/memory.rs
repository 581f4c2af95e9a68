//! The memory of tensors on the CPU as slices.

use half::{bf16, f16};
use tch::{Device, Kind, TchError, Tensor};

/// A number in memory, or the bits of one. (The trait of that purpose in tch takes bfloat16 for
/// float16.)
pub trait Number: Copy {
    /// Whether elements of this dtype can be read as it.
    fn is(kind: Kind) -> bool;
}

/// Implements [`Number`] for numbers of one dtype.
macro_rules! numbers {
    ($($number:ty: $kind:ident),*) => {$(
        impl Number for $number {
            fn is(kind: Kind) -> bool {
                kind == Kind::$kind
            }
        }
    )*};
}
numbers!(f32: Float, bf16: BFloat16, f16: Half);

/// Implements [`Number`] for the bits of any dtype of their size.
macro_rules! bits {
    ($($bits:ty),*) => {$(
        impl Number for $bits {
            fn is(kind: Kind) -> bool {
                kind.elt_size_in_bytes() == size_of::<$bits>()
            }
        }
    )*};
}
bits!(u8, u16, u32);

/// Demands a tensor on the CPU of that dtype and size.
pub fn expect(name: &str, tensor: &Tensor, kind: Kind, size: &[i64]) -> Result<(), TchError> {
    let found = (tensor.device(), tensor.f_kind()?, tensor.size());
    if (found.0, found.1, found.2.as_slice()) != (Device::Cpu, kind, size) {
        let needed = (Device::Cpu, kind, size);
        return Err(TchError::Shape(format!("{name} is {found:?}, where {needed:?} is needed")));
    }
    Ok(())
}

/// The elements of a contiguous CPU tensor.
pub fn slice<T: Number>(tensor: &Tensor) -> Result<&[T], TchError> {
    let (pointer, length) = (pointer::<T>(tensor)?, tensor.numel());
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: a contiguous tensor of this dtype has that many elements there, aligned as they have
    // to be, and lives as long as the borrow. Torch's own operators do not run meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// The elements of a tensor that shares its memory with no other.
pub fn slice_mut<T: Number>(tensor: &mut Tensor) -> Result<&mut [T], TchError> {
    let (pointer, length) = (pointer::<T>(tensor)?, tensor.numel());
    if length == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `slice`, and the callers' tensors are new.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

/// The address of the first element of a contiguous CPU tensor.
pub fn pointer<T: Number>(tensor: &Tensor) -> Result<*mut T, TchError> {
    if !T::is(tensor.f_kind()?) || tensor.device() != Device::Cpu || !tensor.is_contiguous() {
        return Err(TchError::Kind(format!(
            "{tensor:?} with strides {:?} on {:?}, where a contiguous tensor of {} on the CPU is needed",
            tensor.stride(),
            tensor.device(),
            std::any::type_name::<T>()
        )));
    }
    Ok(tensor.data_ptr().cast())
}
