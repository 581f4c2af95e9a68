//! Training without casts: products in the dtype of the model.

use plan::Dtype;
use tch::{Kind, TchError, Tensor};

use super::{Operand, Product, Side, TrainingScheme, unquantized_min_sqnr_db};
use crate::recipes::Site;

/// `baseline`, and float8 with every cast disabled.
pub(super) struct Scheme {
    /// Torch's own layer; else torchao's custom function, which casts nothing here.
    pub is_torchs_own: bool,
}

impl TrainingScheme for Scheme {
    fn check(&self, _site: &Site) -> Result<(), String> {
        Ok(())
    }

    fn cast(&self, _: Product, _: Side, matrix: &Tensor) -> Result<Operand, TchError> {
        Ok(Operand::uncast(matrix))
    }

    fn multiply(
        &self,
        _: Product,
        left: &Operand,
        right: &Operand,
        _: Kind,
    ) -> Result<Tensor, TchError> {
        left.values.f_mm(&right.values)
    }

    fn is_torchs_own(&self) -> bool {
        self.is_torchs_own
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::mm"]
    }

    fn min_sqnr_db(&self, _: Product, dtype: Dtype) -> f64 {
        unquantized_min_sqnr_db(dtype)
    }
}
