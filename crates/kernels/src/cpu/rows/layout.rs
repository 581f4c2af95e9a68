//! Tensors as rows.

use tch::{Device, Kind, TchError, Tensor};

use crate::rows;

/// A tensor on the CPU as rows of its last dimension, each `stride` elements after the one before.
#[derive(Debug, Clone, Copy)]
pub struct RowPointers {
    first: *mut u8,
    element: usize,
    stride: usize,
    /// Number of rows.
    pub count: usize,
    /// Elements in a row.
    pub dim: usize,
}

// SAFETY: addresses; what may be done with them, the kernels that take them say.
unsafe impl Send for RowPointers {}
// SAFETY: the same.
unsafe impl Sync for RowPointers {}

impl RowPointers {
    /// The rows of a tensor of any number of dimensions but none. `name` is for errors.
    pub fn new(name: &str, tensor: &Tensor) -> Result<Self, TchError> {
        let rows = rows::Rows::new(name, tensor)?;
        Self::from_rows(name, tensor, rows)
    }

    fn from_rows(name: &str, tensor: &Tensor, rows: rows::Rows) -> Result<Self, TchError> {
        if tensor.device() != Device::Cpu || tensor.dim() == 0 {
            return Err(TchError::Shape(format!(
                "{name} is {tensor:?}, which has to be on the CPU and to have a dimension"
            )));
        }
        // libtorch has no negative sizes and strides.
        let [count, dim, stride] = [rows.count, rows.dim, rows.stride].map(|it| it as usize);
        let element = tensor.f_kind()?.elt_size_in_bytes();
        Ok(Self { first: tensor.data_ptr().cast(), element, stride, count, dim })
    }

    /// Rows of a tensor that is written.
    pub fn of_output(name: &str, tensor: &Tensor, like: &Tensor) -> Result<Self, TchError> {
        same(name, tensor, like)?;
        Self::from_rows(name, tensor, rows::Rows::of_output(name, tensor)?)
    }

    /// The address of a row's first element.
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
}

/// Demands that two tensors agree in size and dtype.
pub fn same(name: &str, tensor: &Tensor, like: &Tensor) -> Result<(), TchError> {
    demand(name, tensor, (like.f_kind()?, like.size()))
}

/// The elements of a weight or bias, as many as a row of `x` has, of its dtype.
pub fn parameter(
    name: &str,
    tensor: &Tensor,
    x: &Tensor,
    dim: usize,
) -> Result<RowPointers, TchError> {
    demand(name, tensor, (x.f_kind()?, vec![dim as i64]))?;
    RowPointers::new(name, tensor)
}

fn demand(name: &str, tensor: &Tensor, needed: (Kind, Vec<i64>)) -> Result<(), TchError> {
    let found = (tensor.f_kind()?, tensor.size());
    if found != needed {
        return Err(TchError::Shape(format!("{name} is {found:?}, where {needed:?} is needed")));
    }
    Ok(())
}
