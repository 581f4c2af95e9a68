//! Tensors as rows.

use tch::{TchError, Tensor};

/// Rows of consecutive elements, at one distance from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    pub count: usize,
    /// Elements of a row.
    pub width: usize,
    /// Elements from the beginning of a row to that of the next.
    pub stride: usize,
}

impl Rows {
    /// The rows of a tensor: its last dimension.
    ///
    /// # Errors
    /// Where they are not at one distance, or their elements not consecutive.
    pub fn of(name: &str, tensor: &Tensor) -> Result<Self, TchError> {
        let (size, strides) = (tensor.size(), tensor.stride());
        let mut dimensions = size.iter().zip(&strides).map(|(size, stride)| (*size, *stride)).rev();
        let (width, step) = dimensions.next().unwrap_or((1, 1));
        let refuse = |what: &str| {
            Err(TchError::Shape(format!(
                "{name}, of size {size:?} and strides {strides:?}, has {what}; what `contiguous()` \
                 makes of it can be used"
            )))
        };
        if width > 1 && step != 1 {
            return refuse("rows whose elements are not consecutive");
        }
        if tensor.numel() == 0 {
            return Ok(Self { count: 0, width: width as usize, stride: 0 });
        }
        let (mut count, mut stride) = (1, width);
        for (size, step) in dimensions.filter(|it| it.0 != 1) {
            if count == 1 {
                stride = step;
            } else if step != count * stride {
                return refuse("rows that are not at one distance");
            }
            count *= size;
        }
        // libtorch has no negative sizes and strides.
        let [count, width, stride] = [count, width, stride].map(|it| it as usize);
        Ok(Self { count, width, stride })
    }

    /// A single row.
    pub const fn one(width: usize) -> Self {
        Self { count: 1, width, stride: width }
    }

    /// Both as one row, if between the rows of neither there is a gap.
    pub fn merged(x: Self, out: Self) -> (Self, Self) {
        let whole = |rows: Self| Self::one(rows.count * rows.width);
        let dense = |rows: Self| rows.count == 1 || rows.stride == rows.width;
        if dense(x) && dense(out) { (whole(x), whole(out)) } else { (x, out) }
    }
}
