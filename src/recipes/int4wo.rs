//! `int4wo-{group}`: 4-bit weights in groups, activations untouched.
//!
//! Sources: torchao 0.17, `Int4WeightOnlyOpaqueTensorConfig` on a CPU (which leaves out groups of
//! 256, though its kernel has them) and the tile-packed format of `Int4WeightOnlyConfig` on CUDA.
//! The smallest scale of the latter is that of `-tilepacked`; 1e-6 is that of version 1 of the
//! configuration, in torchao 0.14.1.

use plan::{Dtype, Int4Numerics};
use tch::{Kind, TchError, Tensor};

use super::groups::{self, Grouped};
use super::int4pack::{self, Int4Packed};
use super::{LayerContext, LinearLayer, Quantized, hqq};
use crate::refusal::Refusal;

const EPS: f64 = 1e-6;
const BFLOAT16_EPSILON: f64 = 0.0078125;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    pub group: i64,
    pub numerics: Int4Numerics,
}

impl Scheme {
    /// The quantized `weight [n, k]`, of the size that the kernel takes: padding comes first, and
    /// HQQ's solver, which stops by the error of the whole weight, sees it too.
    fn quantize_weight(&self, weight: &Tensor) -> Result<Grouped, TchError> {
        let (weight, group) = (&int4pack::padded(weight)?, self.group);
        match self.numerics {
            Int4Numerics::Affine => groups::tinygemm(weight, group, EPS),
            Int4Numerics::TilePacked => groups::tinygemm(weight, group, BFLOAT16_EPSILON),
            Int4Numerics::Hqq => solve(weight, group, hqq::solver_kind(weight.device())),
            Int4Numerics::HqqFp16Solver => solve(weight, group, Kind::Half),
        }
    }
}

fn solve(weight: &Tensor, group: i64, solver: Kind) -> Result<Grouped, TchError> {
    hqq::solve(weight, group, 4, solver)?.with_added_zero(4, weight.f_kind()?)
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        if self.numerics == Int4Numerics::TilePacked && context.dtype != Dtype::BFloat16 {
            return Err(format!(
                "high_precision_dtype {}, but the tile-packed format takes bfloat16 alone",
                context.dtype
            ));
        }
        int4pack::check(context, self.group)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        let (n, k) = weight.size2()?;
        let Grouped { values, scale, zero_point } = self.quantize_weight(weight)?;
        let cut = |tensor: Tensor, columns| tensor.f_narrow(0, 0, n)?.f_narrow(1, 0, columns);
        let groups = k / self.group;
        let unpadded = Grouped {
            values: cut(values, k)?,
            scale: cut(scale, groups)?,
            zero_point: cut(zero_point, groups)?,
        };
        Ok(Some(unpadded.with_added_zero(groups::middle(4))))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let (n, _) = weight.size2()?;
        let quantized = self.quantize_weight(&weight)?;
        drop(weight);
        Ok(Box::new(Int4Packed::new(quantized, self.group, n)?))
    }

    /// libtorch's products with 4-bit weights have no out form.
    fn writes_out(&self) -> bool {
        false
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        match self.numerics {
            // Steps of 2⁻⁷ are coarse for the weights of a wide layer.
            Int4Numerics::TilePacked => 8.0,
            Int4Numerics::Affine | Int4Numerics::Hqq | Int4Numerics::HqqFp16Solver => 18.0,
        }
    }
}
