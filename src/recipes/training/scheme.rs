//! The trait that every recipe of training implements.

use plan::Dtype;
use tch::{Kind, TchError, Tensor};

use crate::recipes::{Blocks, LayerContext};

/// One of the three products of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// `input [m, k]` × `weightᵀ [k, n]`.
    Output,
    /// `grad_output [m, n]` × `weight [n, k]`.
    GradInput,
    /// `grad_outputᵀ [n, m]` × `input [m, k]`.
    GradWeight,
}

impl Product {
    /// All three, in the order of a step.
    pub const ALL: [Self; 3] = [Self::Output, Self::GradInput, Self::GradWeight];
}

/// The operand of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `[rows, inner]`.
    Left,
    /// `[inner, columns]`.
    Right,
}

impl Side {
    /// The dimension over which the product sums.
    pub(super) fn inner(self) -> i64 {
        match self {
            Self::Left => -1,
            Self::Right => 0,
        }
    }
}

/// A matrix as a product takes it.
#[derive(Debug)]
pub enum Operand {
    /// As it came.
    Uncast(Tensor),
    /// Float8 values in the size of the matrix, and the factor that has been multiplied into them: a scalar, or of
    /// size 1 in the inner dimension.
    Scaled {
        /// float8.
        values: Tensor,
        /// float32.
        scale: Tensor,
    },
    /// A right operand is transposed, because blocks run along the last dimension.
    Blocks(Blocks),
}

impl Operand {
    /// Its tensors.
    pub fn tensors(&self) -> Vec<&Tensor> {
        match self {
            Self::Uncast(matrix) => vec![matrix],
            Self::Scaled { values, scale } => vec![values, scale],
            Self::Blocks(blocks) => blocks.tensors(),
        }
    }
}

/// A recipe in training: how it casts the operands of each product, and how it multiplies them.
///
/// Torch may run the backward pass on another thread, hence `Send` and `Sync`.
pub trait TrainingScheme: Send + Sync {
    /// Whether a layer can be trained in this context. The error is the constraint and the value that broke it.
    fn check(&self, context: &LayerContext) -> Result<(), String>;

    /// Casts a matrix that is the `side` operand of `product`.
    fn cast(&self, product: Product, side: Side, matrix: &Tensor) -> Result<Operand, TchError>;

    /// The product in the dtype `kind`.
    fn multiply(
        &self,
        product: Product,
        left: &Operand,
        right: &Operand,
        kind: Kind,
    ) -> Result<Tensor, TchError>;

    /// Whether torch's own linear layer is the same, so that its autograd needs no custom function.
    fn is_torchs_own(&self) -> bool {
        false
    }

    /// The ATen operations that compute the products, and where scales are applied by one of their own, that.
    fn kernels(&self) -> Vec<&'static str>;

    /// The smallest signal-to-noise ratio, in dB, that a product of a thousand and more numbers may have against
    /// float64, for a `linear` model: a few dB below the lowest that random weights were measured to give.
    fn min_sqnr_db(&self, product: Product, dtype: Dtype) -> f64;
}
