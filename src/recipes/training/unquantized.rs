//! Training without casts: products in the dtype of the model.

use plan::Dtype;
use tch::{Kind, TchError, Tensor};

use super::{Operand, Product, Side, TrainingScheme};
use crate::recipes::{LayerContext, Scheme as _, baseline};

/// `baseline`, and float8 with every cast disabled.
pub(super) struct Scheme {
    /// Torch's own layer; else torchao's custom function, which casts nothing here.
    pub is_torchs_own: bool,
}

impl TrainingScheme for Scheme {
    fn check(&self, _context: &LayerContext) -> Result<(), String> {
        Ok(())
    }

    fn cast(&self, _: Product, _: Side, matrix: &Tensor) -> Result<Operand, TchError> {
        Ok(Operand::Uncast(matrix.shallow_clone()))
    }

    fn multiply(
        &self,
        _: Product,
        left: &Operand,
        right: &Operand,
        _: Kind,
    ) -> Result<Tensor, TchError> {
        product(left, right)
    }

    fn is_torchs_own(&self) -> bool {
        self.is_torchs_own
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::mm"]
    }

    fn min_sqnr_db(&self, _: Product, dtype: Dtype) -> f64 {
        min_sqnr_db(dtype)
    }
}

/// The product of operands that are not cast.
pub(super) fn product(left: &Operand, right: &Operand) -> Result<Tensor, TchError> {
    match (left, right) {
        (Operand::Uncast(left), Operand::Uncast(right)) => left.f_mm(right),
        _ => Err(TchError::Kind("a product takes both operands cast alike, or neither".to_owned())),
    }
}

/// The gate of a product of operands that are not cast.
pub(super) fn min_sqnr_db(dtype: Dtype) -> f64 {
    baseline::Scheme.min_sqnr_db(dtype)
}
