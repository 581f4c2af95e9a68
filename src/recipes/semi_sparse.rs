//! 2:4 sparsity: of every four consecutive weights of a row two are zero.
//!
//! On CUDA the weight is compressed and multiplied by cuSPARSELt, as in
//! `torch.sparse.SparseSemiStructuredTensorCUSPARSELT`. libtorch has no such product on a CPU, so
//! there the compressed weight is expanded at each call by a kernel of ours, and multiplied dense:
//! that saves memory, and can save time only where reading the weight is what takes it.

use plan::{Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::{LinearLayer, Site, output_size};
use crate::kernels::cpu::{self, expand_2_4_and};
use crate::refusal::Refusal;

/// Whether a weight can be stored like this at the site. `multiple` is what cuSPARSELt demands of
/// both its sizes: 16 with elements of 16 bits, 32 with 8 bits.
pub(super) fn check(site: &Site, multiple: u64) -> Result<(), String> {
    let (k, n) = (site.linear.k, site.linear.n);
    if k % 4 != 0 {
        return Err(format!("k = {k}, but 2:4 sparsity needs a multiple of 4"));
    }
    if site.device != Device::Cuda {
        return Ok(());
    }
    for (dimension, size) in [("k", k), ("n", n)] {
        if size % multiple != 0 {
            return Err(format!(
                "{dimension} = {size}, but `_cslt_sparse_mm` on cuda needs a multiple of {multiple}"
            ));
        }
    }
    Ok(())
}

/// Whether a weight that is not quantized can be stored like this at the site.
pub(super) fn check_unquantized(site: &Site) -> Result<(), String> {
    if site.device == Device::Cuda && site.dtype == Dtype::Float32 {
        return Err(format!(
            "weights of {}, but `_cslt_sparse_mm` on cuda takes bfloat16 or float16",
            site.dtype
        ));
    }
    check(site, 16)
}

/// `weight [n, k]`, of each four the two of largest magnitude, of equals the earlier.
pub(super) fn prune(weight: &Tensor) -> Result<Tensor, Refusal> {
    let k = weight.size2()?.1;
    if k % 4 != 0 {
        let reason = format!("k = {k}, but 2:4 sparsity needs a multiple of 4");
        return Err(Refusal::Unsupported(reason));
    }
    let fours = weight.f_reshape([-1, 4])?;
    let pruned = fours.f_scatter_value(-1, &by_magnitude(&fours)?.f_narrow(-1, 2, 2)?, 0)?;
    Ok(pruned.f_view_as(weight)?)
}

/// The places of each four, largest magnitude first, of equals the earlier.
fn by_magnitude(fours: &Tensor) -> Result<Tensor, TchError> {
    fours.f_to_kind(Kind::Float)?.f_abs()?.f_argsort_stable(true, -1, true)
}

/// A 2:4 sparse matrix on a CPU: half of its elements, and a bit for each of all that says where
/// they belong.
#[derive(Debug)]
pub(super) struct Compressed {
    /// `[n, k / 2]`.
    values: Tensor,
    /// `[⌈n k / 8⌉]`, uint8, the first element in the lowest bit.
    mask: Tensor,
}

impl Compressed {
    /// `weight [n, k]`, of 8, 16 or 32 bits an element, of which [`prune`] has left two of each four.
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

    /// The dense matrix `[n, k]`.
    pub fn expand(&self) -> Result<Tensor, TchError> {
        cpu::expand_2_4(&self.values, &self.mask)
    }

    /// What is stored.
    pub fn tensors(&self) -> [&Tensor; 2] {
        [&self.values, &self.mask]
    }
}

fn nonzero(tensor: &Tensor) -> Result<i64, TchError> {
    tensor.f_to_kind(Kind::Float)?.f_count_nonzero(None::<i64>)?.f_int64_value(&[])
}

/// A 2:4 sparse matrix on CUDA, in cuSPARSELt's layout.
#[derive(Debug)]
pub(super) struct Cslt {
    /// Values and metadata.
    compressed: Tensor,
}

impl Cslt {
    /// `weight [n, k]`, of which [`prune`] has left two of each four.
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

/// The layer of a pruned weight that is not quantized.
pub(super) fn layer(weight: &Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    if weight.device().is_cuda() {
        let n = weight.size2()?.0;
        return Ok(Box::new(OnCuda { weight: Cslt::new(weight)?, n }));
    }
    Ok(Box::new(Expanded { weight: Compressed::new(weight)? }))
}

/// `y = x · expand(W)ᵀ`.
#[derive(Debug)]
struct Expanded {
    weight: Compressed,
}

impl LinearLayer for Expanded {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        x.f_linear(&self.weight.expand()?, None::<&Tensor>)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        x.f_linear_out(out, &self.weight.expand()?, None::<&Tensor>).map(drop)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors().to_vec()
    }

    fn kernels(&self) -> &'static [&'static str] {
        expand_2_4_and!["aten::mm"]
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        Some(DENSITY)
    }
}

/// Two of four.
pub(super) const DENSITY: f64 = 0.5;

/// `y = x · Wᵀ` by cuSPARSELt.
#[derive(Debug)]
struct OnCuda {
    weight: Cslt,
    n: i64,
}

impl LinearLayer for OnCuda {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let size = output_size(x, self.n);
        let k = x.size().last().copied().unwrap_or_default();
        let rows = x.f_reshape([-1, k])?;
        self.weight.product(&rows, 8, None, x.f_kind()?)?.f_reshape(size)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors().to_vec()
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["aten::_cslt_sparse_mm"]
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        Some(DENSITY)
    }
}

#[cfg(test)]
#[path = "semi_sparse_tests.rs"]
mod tests;
