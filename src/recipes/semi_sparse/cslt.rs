//! A 2:4 sparse matrix on CUDA.

use tch::{Kind, TchError, Tensor};

/// A 2:4 sparse matrix in cuSPARSELt's layout.
#[derive(Debug)]
pub(in crate::recipes) struct Cslt {
    /// Values and metadata.
    compressed: Tensor,
}

impl Cslt {
    /// `weight [n, k]`, of which [`prune`](super::prune) has left two of each four.
    pub fn new(weight: &Tensor) -> Result<Self, TchError> {
        Ok(Self { compressed: weight.f_contiguous()?.f_internal_cslt_compress()? })
    }

    /// `x [rows, k] · Wᵀ`, `[rows, n]`, each column times its `alpha [n]`, in the dtype `kind`; rows
    /// are padded to a multiple of `multiple`, 8 with elements of 16 bits, 16 with 8 bits.
    pub fn product(
        &self,
        x: &Tensor,
        multiple: i64,
        alpha: Option<&Tensor>,
        kind: Kind,
    ) -> Result<Tensor, TchError> {
        let (rows, _) = x.size2()?;
        let padded = match (-rows).rem_euclid(multiple) {
            0 => x.shallow_clone(),
            missing => x.f_constant_pad_nd([0, 0, 0, missing])?,
        };
        let product = Tensor::f_internal_cslt_sparse_mm(
            &self.compressed,
            &padded.f_tr()?,
            None::<&Tensor>,
            alpha,
            kind,
            false,
            0,
            1,
            -1,
        )?;
        product.f_tr()?.f_narrow(0, 0, rows)
    }

    /// What is stored.
    pub fn tensors(&self) -> [&Tensor; 1] {
        [&self.compressed]
    }
}
