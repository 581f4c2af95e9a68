//! A 2:4 sparse matrix on CUDA, and the layer of one that is not quantized.

use tch::{Kind, TchError, Tensor};

use crate::recipes::{LinearLayer, output_size, refuse_out};

/// A 2:4 sparse matrix in cuSPARSELt's layout.
#[derive(Debug)]
pub(in crate::recipes) struct Cslt {
    compressed: Tensor,
}

impl Cslt {
    /// `weight [n, k]`, of which [`prune`](super::prune) has left two of each four.
    pub fn new(weight: &Tensor) -> Result<Self, TchError> {
        Ok(Self { compressed: weight.f_contiguous()?.f_internal_cslt_compress()? })
    }

    /// `x [rows, k] · Wᵀ`, `[rows, n]`, each column times its `alpha [n]`, in the dtype of `x`, that of
    /// int8 in bfloat16; rows are padded to a multiple of `multiple`, 8 with elements of 16 bits, 16
    /// with 8 bits.
    pub fn product(
        &self,
        x: &Tensor,
        multiple: i64,
        alpha: Option<&Tensor>,
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
            out_dtype(x.f_kind()?),
            false,
            0,
            1,
            -1,
        )?;
        product.f_tr()?.f_narrow(0, 0, rows)
    }

    pub fn tensor(&self) -> &Tensor {
        &self.compressed
    }
}

/// `y = x · Wᵀ`, of a weight that is not quantized.
#[derive(Debug)]
pub(in crate::recipes) struct OnCuda {
    weight: Cslt,
    n: i64,
}

impl OnCuda {
    /// The layer of a pruned `weight [n, k]`.
    pub fn new(weight: &Tensor) -> Result<Self, TchError> {
        Ok(Self { weight: Cslt::new(weight)?, n: weight.size2()?.0 })
    }
}

impl LinearLayer for OnCuda {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        refuse_out(out)?;
        let k = x.size().last().copied().unwrap_or_default();
        let rows = x.f_reshape([-1, k])?;
        self.weight.product(&rows, 8, None)?.f_reshape(output_size(x, self.n))
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![self.weight.tensor()]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_cslt_sparse_mm"]
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        Some(super::DENSITY)
    }
}

/// The dtype that is asked for: `_cslt_sparse_mm` lets int8 choose, and refuses any other that names one.
fn out_dtype(kind: Kind) -> Option<Kind> {
    (kind == Kind::Int8).then_some(Kind::BFloat16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn int8_alone_names_the_dtype_of_its_product() {
        assert_eq!(out_dtype(Kind::Int8), Some(Kind::BFloat16));
        assert_eq!([Kind::BFloat16, Kind::Half].map(out_dtype), [None, None]);
    }

    #[test]
    fn the_product_on_a_device_is_that_of_the_dense_weight() {
        let Some(device) = tch::Cuda::is_available().then_some(tch::Device::Cuda(0)) else {
            crate::skip::hardware("no CUDA device");
            return;
        };
        // Small whole numbers, whose products and sums have no rounding.
        let drawn = |rows| Tensor::randint_low(-1, 2, [rows, 64], (Kind::Float, device));
        let (dense, x) = (drawn(32), drawn(5));
        let pruned = super::super::prune(&dense).unwrap();
        let expected = x.matmul(&pruned.tr());
        for (kind, multiple) in [(Kind::BFloat16, 8), (Kind::Half, 8), (Kind::Int8, 16)] {
            let weight = Cslt::new(&pruned.to_kind(kind)).unwrap();
            let alpha = Tensor::ones([32], (Kind::Float, device));
            let alpha = (kind == Kind::Int8).then_some(&alpha);
            let y = weight.product(&x.to_kind(kind), multiple, alpha).unwrap();
            assert_eq!(y.kind(), out_dtype(kind).unwrap_or(kind));
            assert!(y.to_kind(Kind::Float).equal(&expected), "{kind:?}");
        }
    }
}
