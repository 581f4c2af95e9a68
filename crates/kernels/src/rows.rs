//! Tensors as rows: what every kernel over a last dimension takes.

use tch::{TchError, Tensor};

/// A tensor as `count` rows of `dim` neighbouring values; a row begins `stride` values after the one
/// before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub count: i64,
    pub dim: i64,
    pub stride: i64,
}

impl Rows {
    /// The last dimension holds a row's values, all others lead through the rows. `what` is for errors.
    pub fn new(what: &str, tensor: &Tensor) -> Result<Self, TchError> {
        let (sizes, strides) = (tensor.size(), tensor.stride());
        let Some((&dim, leading)) = sizes.split_last() else {
            return Ok(Self::single(1));
        };
        let count: i64 = leading.iter().product();
        let refused = || {
            Err(TchError::Shape(format!(
                "{what} is {sizes:?} with strides {strides:?}, but the kernel takes rows one stride \
                 apart, whose values follow one another, as in what `contiguous()` makes of it"
            )))
        };
        if count * dim == 0 {
            return Ok(Self { count, dim, stride: dim });
        }
        if dim > 1 && strides.last() != Some(&1) {
            return refused();
        }
        // From the last dimension but one outwards, what one more index is worth.
        let mut stride = None;
        let mut inside = 1;
        for (&size, &by) in leading.iter().zip(&strides).rev().filter(|(size, _)| **size > 1) {
            let base = *stride.get_or_insert(by);
            if by != base * inside {
                return refused();
            }
            inside *= size;
        }
        Ok(Self { count, dim, stride: stride.unwrap_or(dim) })
    }

    /// As [`new`](Self::new), for a tensor that is written.
    pub fn of_output(what: &str, tensor: &Tensor) -> Result<Self, TchError> {
        let rows = Self::new(what, tensor)?;
        if rows.count > 1 && rows.stride < rows.dim {
            let Self { dim, stride, .. } = rows;
            return Err(TchError::Shape(format!(
                "the rows of {what} overlap: they are {stride} values apart and {dim} long"
            )));
        }
        Ok(rows)
    }

    /// A single row.
    pub fn single(dim: i64) -> Self {
        Self { count: 1, dim, stride: dim }
    }

    /// Whether no memory lies between the rows.
    pub fn is_dense(self) -> bool {
        self.count <= 1 || self.stride == self.dim
    }

    /// All values as one row. Only where they are dense.
    pub fn joined(self) -> Self {
        Self::single(self.values())
    }

    /// The values of all rows.
    pub fn values(self) -> i64 {
        self.count * self.dim
    }

    pub fn is_empty(self) -> bool {
        self.values() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    fn zeros(size: &[i64]) -> Tensor {
        Tensor::zeros(size, (Kind::Float, Device::Cpu))
    }

    fn rows(tensor: &Tensor) -> (i64, i64, i64) {
        let Rows { count, dim, stride } = Rows::new("x", tensor).unwrap();
        (count, dim, stride)
    }

    #[test]
    fn one_stride_is_found_between_rows() {
        assert_eq!(rows(&zeros(&[2, 3, 5])), (6, 5, 5));
        assert_eq!(rows(&zeros(&[7])), (1, 7, 7));
        assert_eq!(rows(&zeros(&[])), (1, 1, 1));
        assert_eq!(rows(&zeros(&[4, 1])), (4, 1, 1));
        assert_eq!(rows(&zeros(&[2, 3, 8]).narrow(2, 1, 5)), (6, 5, 8));
        assert_eq!(rows(&zeros(&[2, 3, 8]).narrow(1, 1, 1)), (2, 8, 24), "of one row each");
        assert_eq!(rows(&zeros(&[6, 8]).slice(0, 0, 6, 2)), (3, 8, 16));
        assert_eq!(rows(&zeros(&[4, 8]).narrow(1, 3, 1)), (4, 1, 8));
        assert_eq!(rows(&zeros(&[1, 8]).expand([3, 8], false)), (3, 8, 0));
        // The stride of a dimension of one index says nothing.
        assert_eq!(rows(&zeros(&[3, 1, 2]).as_strided([3, 1, 2], [2, 99, 1], 0)), (3, 2, 2));
        assert_eq!(rows(&zeros(&[1, 5]).as_strided([1, 5], [99, 1], 0)), (1, 5, 5));
        assert_eq!(rows(&zeros(&[0, 5])), (0, 5, 5));
        assert_eq!(rows(&zeros(&[5, 0]).tr()), (0, 5, 5));
    }

    #[test]
    fn other_layouts_are_refused_by_name() {
        for (tensor, layout) in [
            (zeros(&[4, 6]).tr(), "x is [6, 4] with strides [1, 6], but the kernel takes rows one"),
            (zeros(&[4, 6]).slice(1, 0, 6, 2), "x is [4, 3] with strides [6, 2]"),
            (zeros(&[2, 3, 8]).narrow(1, 0, 2), "x is [2, 2, 8] with strides [24, 8, 1]"),
            (zeros(&[2, 3, 8]).transpose(0, 1), "x is [3, 2, 8] with strides [8, 24, 1]"),
            (zeros(&[2, 3, 8]).transpose(1, 2), "x is [2, 8, 3] with strides [24, 1, 8]"),
        ] {
            let text = Rows::new("x", &tensor).unwrap_err().to_string();
            assert!(text.contains(layout), "{text}");
        }
        let (spread, tight) = (zeros(&[1, 4]).expand([3, 4], false), zeros(&[12]));
        for written in [spread, tight.as_strided([3, 4], [3, 1], 0)] {
            let text = Rows::of_output("out", &written).unwrap_err().to_string();
            assert!(text.contains("the rows of out overlap"), "{text}");
        }
        Rows::of_output("out", &zeros(&[3, 9]).narrow(1, 2, 4)).unwrap();
    }

    #[test]
    fn rows_without_gaps_are_one() {
        let wide = zeros(&[2, 3, 8]);
        let of = |tensor: &Tensor| Rows::new("x", tensor).unwrap();
        assert!(of(&wide).is_dense() && !of(&wide.narrow(2, 0, 5)).is_dense());
        assert_eq!(of(&wide).joined(), Rows { count: 1, dim: 48, stride: 48 });
        assert!(of(&wide.view([-1, 8]).narrow(0, 2, 1).narrow(1, 0, 3)).is_dense());
    }
}
