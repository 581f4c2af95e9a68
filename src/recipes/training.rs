//! A linear layer in training: three matrix products, each of two operands that the recipe casts before it.
//!
//! Forward and backward are written once, here, as ATen operations; the eager step, the tracer and the custom
//! autograd function call the same.

use plan::{Case, Recipe};
use tch::{Kind, TchError, Tensor};

use super::output_size;
use crate::refusal::Refusal;

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

/// The operand of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `[rows, inner]`.
    Left,
    /// `[inner, columns]`.
    Right,
}

/// A matrix as a product takes it.
#[derive(Debug)]
pub struct Operand {
    /// In the size of the matrix; one that is not cast, as it came.
    pub values: Tensor,
    /// The scale, or none where the matrix is not cast.
    pub scale: Option<Tensor>,
}

/// The gradients of a linear layer.
#[derive(Debug)]
pub struct Gradients {
    /// `[.., k]`.
    pub input: Tensor,
    /// `[n, k]`.
    pub weight: Tensor,
}

/// A recipe in training: how it casts the operands of each product, and how it multiplies them.
pub trait TrainingScheme {
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
}

/// A linear layer without bias in training.
pub struct TrainedLinear {
    scheme: Box<dyn TrainingScheme>,
    /// `[n, k]`.
    weight: Tensor,
}

impl TrainedLinear {
    /// `x [.., k]` → `[.., n]`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (n, _) = self.weight.size2()?;
        let output = self.product(Product::Output, &flat(x)?, &self.weight.f_tr()?)?;
        output.f_reshape(output_size(x, n))
    }

    /// The gradients at the input `x` that [`Self::forward`] took.
    pub fn backward(&self, x: &Tensor, grad_output: &Tensor) -> Result<Gradients, TchError> {
        let rows = flat(grad_output)?;
        let input = self.product(Product::GradInput, &rows, &self.weight)?.f_reshape(x.size())?;
        let weight = self.product(Product::GradWeight, &rows.f_tr()?, &flat(x)?)?;
        Ok(Gradients { input, weight })
    }

    fn product(&self, product: Product, left: &Tensor, right: &Tensor) -> Result<Tensor, TchError> {
        let kind = left.f_kind()?;
        let left = self.scheme.cast(product, Side::Left, left)?;
        let right = self.scheme.cast(product, Side::Right, right)?;
        self.scheme.multiply(product, &left, &right, kind)
    }

    /// The weight, `[n, k]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }
}

/// `[.., k]` as `[rows, k]`.
fn flat(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_reshape([-1, x.size().last().copied().unwrap_or_default()])
}

/// The layer of a case's recipe in training.
pub fn trained(case: &Case, recipe: Recipe, weight: Tensor) -> Result<TrainedLinear, Refusal> {
    let _ = case;
    let scheme: Box<dyn TrainingScheme> = match recipe {
        Recipe::Baseline => Box::new(Unquantized),
        _ => return Err(Refusal::Unsupported(format!("`{recipe}`: no recipe of training"))),
    };
    Ok(TrainedLinear { scheme, weight })
}

/// Products in the dtype of the model.
struct Unquantized;

impl TrainingScheme for Unquantized {
    fn cast(&self, _: Product, _: Side, matrix: &Tensor) -> Result<Operand, TchError> {
        Ok(Operand { values: matrix.shallow_clone(), scale: None })
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
}
