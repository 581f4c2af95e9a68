//! A 2:4 sparse matrix on a CPU, and a weight that may be one.

use tch::{Kind, TchError, Tensor};

use super::by_magnitude;
use crate::refusal::Refusal;
use kernels::cpu;

/// A weight `[n, k]` as a layer stores it.
#[derive(Debug)]
pub(in crate::recipes) enum Stored {
    Dense(Tensor),
    Half(Compressed),
}

impl Stored {
    /// A weight that [`prune`](super::prune) has pruned, on a CPU.
    pub fn compress(weight: &Tensor) -> Result<Self, Refusal> {
        Compressed::new(weight).map(Self::Half)
    }

    /// All of it, expanded where half of it is stored.
    pub fn dense(&self) -> Result<Tensor, TchError> {
        match self {
            Self::Dense(weight) => Ok(weight.shallow_clone()),
            Self::Half(compressed) => compressed.expand(),
        }
    }

    pub fn tensors(&self) -> Vec<&Tensor> {
        match self {
            Self::Dense(weight) => vec![weight],
            Self::Half(Compressed { values, mask }) => vec![values, mask],
        }
    }

    /// The kernel that expands it, then `kernels`, which work on all of it.
    pub fn kernels(&self, kernels: &[&'static str]) -> Vec<&'static str> {
        let expand = matches!(self, Self::Half(_)).then(|| cpu::ExpandPath::best().name());
        expand.into_iter().chain(kernels.iter().copied()).collect()
    }

    /// As [`LinearLayer::density`](crate::recipes::LinearLayer::density).
    pub fn density(&self) -> Option<f64> {
        matches!(self, Self::Half(_)).then_some(super::DENSITY)
    }
}

/// Half of the elements of a 2:4 sparse matrix, and a bit for each of all that says where they
/// belong.
#[derive(Debug)]
pub(in crate::recipes) struct Compressed {
    /// `[n, k / 2]`.
    values: Tensor,
    /// `[⌈n k / 8⌉]`, uint8, the first element in the lowest bit.
    mask: Tensor,
}

impl Compressed {
    /// `weight [n, k]`, of 8, 16 or 32 bits an element, of which [`prune`](super::prune) has left two
    /// of each four.
    pub fn new(weight: &Tensor) -> Result<Self, Refusal> {
        let (n, k) = weight.size2()?;
        let kind = weight.f_kind()?;
        let fours = weight.f_reshape([-1, 4])?;
        let (places, _) = by_magnitude(&fours)?.f_narrow(-1, 0, 2)?.f_sort(-1, false)?;
        // As integers: not every kind of float8 can be gathered.
        let bits = match kind.elt_size_in_bytes() {
            1 => Kind::Int8,
            2 => Kind::Int16,
            _ => Kind::Int,
        };
        let values = fours.f_view_dtype(bits)?.f_gather(-1, &places, false)?;
        let values = values.f_view([n, k / 2])?.f_view_dtype(kind)?;
        let (kept, all) = (nonzero(&values)?, nonzero(weight)?);
        if kept != all {
            let reason = format!("{} weights beyond two of each four are not zero", all - kept);
            return Err(Refusal::Failed(reason));
        }
        let places = places.f_ones_like()?.f_bitwise_left_shift(&places)?;
        let four = places.f_sum_dim_intlist([-1].as_slice(), false, Kind::Int64)?;
        let pairs = four.f_constant_pad_nd([0, n * k / 4 % 2])?.f_view([-1, 2])?;
        let high = pairs.f_select(-1, 1)?.f_bitwise_left_shift_tensor_scalar(4)?;
        let mask = pairs.f_select(-1, 0)?.f_bitwise_or_tensor(&high)?.f_to_kind(Kind::Uint8)?;
        Ok(Self { values, mask })
    }

    pub fn expand(&self) -> Result<Tensor, TchError> {
        cpu::expand_2_4(&self.values, &self.mask)
    }
}

fn nonzero(tensor: &Tensor) -> Result<i64, TchError> {
    tensor.f_to_kind(Kind::Float)?.f_count_nonzero(None::<i64>)?.f_int64_value(&[])
}
