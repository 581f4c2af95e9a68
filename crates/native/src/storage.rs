//! The memory of tensors, moved.
//!
//! A case is as fast as its tensors happen to lie: in which pages, at which distance from each other. Built again, it
//! lies elsewhere. [`relocate`] gives it another place at the price of a copy.

use tch::Tensor;

use super::border::{self, Handle, In, Out, Status, Tensors, pointers};
use super::error::Error;

unsafe extern "C" {
    fn ctn_storage_relocate(tensors: Tensors, bytes: *mut u64, out: *mut Handle) -> Status;
    fn ctn_storage_meta(tensor: In, out: Out) -> Status;
}

/// The memory that tensors had before they were moved, freed when dropped. While it lives, nothing
/// else can come to lie there.
#[derive(Debug)]
pub struct Blocks {
    _held: Handle,
    bytes: u64,
}

impl Blocks {
    /// Bytes that were moved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Copies the storages of these tensors to new memory, in the given order. All views and handles of
/// a storage move with it; pointers taken before point to the old memory, which the result keeps. A
/// tensor without a storage (sparse, or in a layout of oneDNN's own) stays.
///
/// # Errors
/// When memory does not suffice; storages before that one have moved.
pub fn relocate(tensors: &[Tensor]) -> Result<Blocks, Error> {
    let pointers = pointers(tensors);
    let mut bytes = 0;
    // SAFETY: the tensors live during the call, and both results are writable.
    let held =
        Handle::new(|out| unsafe { ctn_storage_relocate((&pointers).into(), &mut bytes, out) })?;
    Ok(Blocks { _held: held, bytes })
}

/// Elements of a tensor, counted without the allocation that tch's `numel` makes for the size.
pub fn numel(tensor: &Tensor) -> usize {
    let mut size = [1; 8];
    if tensor.dim() > size.len() {
        return tensor.numel();
    }
    // SAFETY: the tensor lives, and there is room for all of its dimensions.
    unsafe { torch_sys::at_shape(tensor.as_ptr().cast_mut(), size.as_mut_ptr()) };
    size.iter().product::<i64>() as usize
}

/// A tensor of the same size and dtype on torch's `meta` device, which has no memory. What forgets to move an output to the
/// host fails with it on any machine, as it does on a GPU: libtorch has no numbers to copy, and says so.
#[doc(hidden)]
pub fn meta(tensor: &Tensor) -> Result<Tensor, Error> {
    // SAFETY: the tensor lives, and `out` is writable.
    border::tensor(|out| unsafe { ctn_storage_meta(tensor.as_ptr(), out) })
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::border::tests::wave;

    #[test]
    fn views_and_handles_move_together_and_keep_their_numbers() {
        let tensor = wave(&[64, 32], Kind::Float);
        let (expected, before) = (tensor.copy(), tensor.data_ptr() as usize);
        let view = tensor.tr();
        let part = tensor.narrow(0, 8, 8);
        let blocks = relocate(&[tensor.shallow_clone(), view.shallow_clone()]).expect("moved");
        assert_eq!(blocks.bytes(), 64 * 32 * 4, "a storage moves once");
        let after = tensor.data_ptr() as usize;
        assert_ne!(after, before);
        assert_eq!(view.data_ptr() as usize, after);
        assert_eq!(part.data_ptr() as usize, after + 8 * 32 * 4);
        assert_eq!((&tensor, &view.tr(), &part), (&expected, &expected, &expected.narrow(0, 8, 8)));
        drop(blocks);
        assert_eq!(tensor, expected);
    }

    #[test]
    fn elements_are_counted() {
        for size in [&[][..], &[0], &[3, 4], &[2, 1, 3, 1, 2, 1, 2, 1], &[2; 9]] {
            let tensor = Tensor::zeros(size, (Kind::Float, tch::Device::Cpu));
            assert_eq!(numel(&tensor), tensor.numel(), "{size:?}");
        }
    }

    #[test]
    fn places_are_distinct_while_the_old_blocks_live() {
        let tensor = wave(&[1 << 20], Kind::Float);
        let mut places = vec![tensor.data_ptr() as usize];
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(relocate(&[tensor.shallow_clone()]).expect("moved"));
            let place = tensor.data_ptr() as usize;
            assert!(!places.contains(&place));
            places.push(place);
        }
    }

    #[test]
    fn empty_and_opaque_tensors_stay() {
        let empty = Tensor::zeros([0], (Kind::Float, tch::Device::Cpu));
        let opaque = wave(&[16, 16], Kind::Float).to_mkldnn();
        let blocks = relocate(&[empty, opaque.shallow_clone()]).expect("nothing to move");
        assert_eq!(blocks.bytes(), 0);
        assert_eq!(opaque.to_dense(None, false), wave(&[16, 16], Kind::Float));
    }
}
