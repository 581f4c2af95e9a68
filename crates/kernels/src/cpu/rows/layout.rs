//! Tensors as rows.

use std::ops::Range;

use tch::{Device, Kind, TchError, Tensor};

/// A tensor on the CPU as rows of its last dimension, each `stride` elements after the one before.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    first: *mut u8,
    element: usize,
    stride: usize,
    /// Number of rows.
    pub count: usize,
    /// Elements in a row.
    pub dim: usize,
}

// SAFETY: addresses; what may be done with them, the kernels that take them say.
unsafe impl Send for Rows {}
// SAFETY: the same.
unsafe impl Sync for Rows {}

impl Rows {
    /// The rows of a tensor of any number of dimensions but none. `name` is for errors.
    ///
    /// # Errors
    /// A tensor elsewhere than on the CPU; a last dimension whose elements do not follow one
    /// another; other dimensions that one stride does not lead through.
    pub fn of(name: &str, tensor: &Tensor) -> Result<Self, TchError> {
        let (size, strides) = (tensor.size(), tensor.stride());
        let refuse = |why: &str| {
            let of = format!("size {size:?} and strides {strides:?} on {:?}", tensor.device());
            Err(TchError::Shape(format!("{name} of {of}: {why}")))
        };
        if tensor.device() != Device::Cpu {
            return refuse("it has to be on the CPU");
        }
        let Some((&dim, leading)) = size.split_last() else {
            return refuse("it has to have a dimension");
        };
        if dim > 1 && strides[leading.len()] != 1 {
            return refuse("elements of the last dimension have to follow one another");
        }
        // A dimension of one is never stepped through.
        let mut steps = leading.iter().zip(&strides).rev().filter(|(size, _)| **size != 1);
        let stride = steps.clone().next().map_or(dim, |(_, stride)| *stride);
        let mut next = stride;
        if steps.any(|(size, found)| *found != std::mem::replace(&mut next, found * size))
            && tensor.numel() > 0
        {
            return refuse("one stride has to lead from each row to the next");
        }
        Ok(Self {
            first: tensor.data_ptr().cast(),
            element: tensor.f_kind()?.elt_size_in_bytes(),
            stride: stride as usize,
            count: leading.iter().product::<i64>() as usize,
            dim: dim as usize,
        })
    }

    /// The same of a tensor that is written.
    ///
    /// # Errors
    /// As [`Self::of`]; another size or dtype than those of `like`; rows that overlap.
    pub fn of_output(name: &str, tensor: &Tensor, like: &Tensor) -> Result<Self, TchError> {
        same(name, tensor, like)?;
        let rows = Self::of(name, tensor)?;
        if rows.count > 1 && rows.stride < rows.dim {
            let stride = rows.stride;
            return Err(TchError::Shape(format!("{name} has rows {stride} apart that overlap")));
        }
        Ok(rows)
    }

    /// Where a row begins.
    pub fn row<T>(&self, index: usize) -> *mut T {
        self.first.wrapping_add(index * self.stride * self.element).cast()
    }

    /// Whether each row follows the one before without a gap.
    pub fn are_contiguous(&self) -> bool {
        self.count <= 1 || self.stride == self.dim
    }

    /// The elements of all rows, which have to be contiguous, as one.
    pub fn as_one(&self) -> Self {
        Self { count: 1, dim: self.elements(), stride: self.elements(), ..*self }
    }

    /// The elements of all rows.
    pub fn elements(&self) -> usize {
        self.count * self.dim
    }

    /// Demands that these, which are written, and `others`, which are read, lie apart, gaps between
    /// rows included.
    ///
    /// # Errors
    /// Where they do not.
    pub fn refuse_overlap(&self, others: &[Rows]) -> Result<(), TchError> {
        let written = self.bytes();
        for other in others {
            let read = other.bytes();
            if written.start.max(read.start) < written.end.min(read.end) {
                return Err(TchError::Shape(format!(
                    "out, at {written:x?}, shares memory with an input at {read:x?}"
                )));
            }
        }
        Ok(())
    }

    /// The addresses from the first element to the last.
    fn bytes(&self) -> Range<usize> {
        let start = self.first.addr();
        if self.elements() == 0 {
            return start..start;
        }
        start..start + ((self.count - 1) * self.stride + self.dim) * self.element
    }
}

/// Demands that two tensors agree in size and dtype.
///
/// # Errors
/// With both where they do not.
pub fn same(name: &str, tensor: &Tensor, like: &Tensor) -> Result<(), TchError> {
    let (found, wanted) = ((tensor.f_kind()?, tensor.size()), (like.f_kind()?, like.size()));
    if found != wanted {
        return Err(TchError::Shape(format!("{name} is {found:?}, where {wanted:?} is needed")));
    }
    Ok(())
}

/// The elements of a weight or bias, as many as a row of `x` has, of its dtype.
///
/// # Errors
/// With the name of what does not fit.
pub fn parameter(name: &str, tensor: &Tensor, x: &Tensor, dim: usize) -> Result<Rows, TchError> {
    let (found, wanted) = ((tensor.f_kind()?, tensor.size()), (x.f_kind()?, vec![dim as i64]));
    if found != wanted {
        return Err(TchError::Shape(format!("{name} is {found:?}, where {wanted:?} is needed")));
    }
    Rows::of(name, tensor)
}

/// The error for a dtype that no kernel takes.
pub fn unsupported(kind: Kind) -> TchError {
    TchError::Kind(format!("x is {kind:?}, which has to be Float, BFloat16 or Half"))
}
