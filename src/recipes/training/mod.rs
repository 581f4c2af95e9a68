//! A linear layer in training: three matrix products, each of two operands that the recipe casts before it.
//!
//! Forward and backward are written once, here, as ATen operations; the eager step, the tracer and the custom
//! autograd function call the same.

mod block_scaled;
mod float8;
mod scheme;
mod unquantized;

use std::sync::Arc;

use plan::{BlockFormat, Case, Recipe, TrainingSettings, Work};
use tch::{TchError, Tensor};

pub use self::scheme::{Operand, Product, Side, TrainingScheme};
use super::{LayerContext, named, output_size};
use crate::native::autograd::{self, LinearFunction};
use crate::refusal::Refusal;

/// The gradients of a linear layer.
#[derive(Debug)]
pub struct Gradients {
    /// `[.., k]`.
    pub input: Tensor,
    /// `[n, k]`.
    pub weight: Tensor,
}

/// The operands of a step's products, left and right.
#[derive(Debug)]
pub struct Casts {
    /// `input [m, k]`, `weightᵀ [k, n]`.
    pub output: [Operand; 2],
    /// `grad_output [m, n]`, `weight [n, k]`.
    pub grad_input: [Operand; 2],
    /// `grad_outputᵀ [n, m]`, `input [m, k]`.
    pub grad_weight: [Operand; 2],
}

/// The results of a step's products.
#[derive(Debug)]
pub struct Products {
    /// `[m, n]`.
    pub output: Tensor,
    /// Gradients of the input, `[m, k]`, and of the weight.
    pub gradients: Gradients,
}

/// A linear layer without bias in training.
pub struct TrainedLinear {
    function: Arc<Function>,
    /// `[n, k]`.
    weight: Tensor,
}

impl TrainedLinear {
    /// `x [.., k]` → `[.., n]`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        self.function.forward(x, &self.weight)
    }

    /// The gradients at the input `x` that [`Self::forward`] took.
    pub fn backward(&self, x: &Tensor, grad_output: &Tensor) -> Result<Gradients, TchError> {
        let (input, weight) = self.function.backward(grad_output, x, &self.weight)?;
        Ok(Gradients { input, weight })
    }

    /// [`Self::forward`] as torch's autograd records it, also while gradients are off: [`Self::backward`] is in its
    /// graph. The baseline is torch's own linear layer.
    pub fn forward_autograd(&self, x: &Tensor) -> Result<Tensor, TchError> {
        if self.function.0.is_torchs_own() {
            return tch::with_grad(|| x.f_linear(&self.weight, None::<&Tensor>));
        }
        let function: Arc<dyn LinearFunction> = Arc::clone(&self.function) as _;
        Ok(autograd::linear(x, &self.weight, &function)?)
    }

    /// The casts of a whole step, without its products. `x` and `grad_output` are flattened.
    pub fn casts(&self, x: &Tensor, grad_output: &Tensor) -> Result<Casts, TchError> {
        let function = &self.function;
        Ok(Casts {
            output: function.output_operands(x, &self.weight)?,
            grad_input: function.grad_input_operands(grad_output, &self.weight)?,
            grad_weight: function.grad_weight_operands(grad_output, x)?,
        })
    }

    /// The products of a whole step, without its casts.
    pub fn products(&self, casts: &Casts) -> Result<Products, TchError> {
        let kind = self.weight.f_kind()?;
        let multiply = |product, [left, right]: &[Operand; 2]| {
            self.function.0.multiply(product, left, right, kind)
        };
        Ok(Products {
            output: multiply(Product::Output, &casts.output)?,
            gradients: Gradients {
                input: multiply(Product::GradInput, &casts.grad_input)?,
                weight: multiply(Product::GradWeight, &casts.grad_weight)?,
            },
        })
    }

    /// The weight, `[n, k]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The ATen operations that compute the products, and where scales are applied by one of their own, that.
    pub fn kernels(&self) -> Vec<&'static str> {
        self.function.0.kernels()
    }
}

/// Forward and backward of a scheme.
struct Function(Box<dyn TrainingScheme>);

impl Function {
    fn output_operands(&self, x: &Tensor, weight: &Tensor) -> Result<[Operand; 2], TchError> {
        self.cast(Product::Output, &flat(x)?, &weight.f_tr()?)
    }

    fn grad_input_operands(
        &self,
        grad_output: &Tensor,
        weight: &Tensor,
    ) -> Result<[Operand; 2], TchError> {
        self.cast(Product::GradInput, &flat(grad_output)?, weight)
    }

    fn grad_weight_operands(
        &self,
        grad_output: &Tensor,
        x: &Tensor,
    ) -> Result<[Operand; 2], TchError> {
        self.cast(Product::GradWeight, &flat(grad_output)?.f_tr()?, &flat(x)?)
    }

    fn cast(
        &self,
        product: Product,
        left: &Tensor,
        right: &Tensor,
    ) -> Result<[Operand; 2], TchError> {
        Ok([self.0.cast(product, Side::Left, left)?, self.0.cast(product, Side::Right, right)?])
    }
}

impl LinearFunction for Function {
    fn forward(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
        let (n, _) = weight.size2()?;
        let [left, right] = self.output_operands(x, weight)?;
        let output = self.0.multiply(Product::Output, &left, &right, x.f_kind()?)?;
        output.f_reshape(output_size(x, n))
    }

    fn backward(
        &self,
        grad_output: &Tensor,
        x: &Tensor,
        weight: &Tensor,
    ) -> Result<(Tensor, Tensor), TchError> {
        let kind = grad_output.f_kind()?;
        let [left, right] = self.grad_input_operands(grad_output, weight)?;
        let grad_input = self.0.multiply(Product::GradInput, &left, &right, kind)?;
        drop((left, right));
        let [left, right] = self.grad_weight_operands(grad_output, x)?;
        let grad_weight = self.0.multiply(Product::GradWeight, &left, &right, kind)?;
        Ok((grad_input.f_reshape(x.size())?, grad_weight))
    }
}

/// `[.., k]` as `[rows, k]`.
fn flat(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_reshape([-1, x.size().last().copied().unwrap_or_default()])
}

/// The layer of a case's recipe in training.
pub fn trained(case: &Case, recipe: Recipe, weight: Tensor) -> Result<TrainedLinear, Refusal> {
    let settings = case.settings.training.clone().unwrap_or_default();
    trained_with(recipe, &settings, is_emulated(case), weight)
}

/// [`trained`], with settings of its own; `emulated` dequantizes the operands of products that this device lacks.
pub fn trained_with(
    recipe: Recipe,
    settings: &TrainingSettings,
    emulated: bool,
    weight: Tensor,
) -> Result<TrainedLinear, Refusal> {
    let function = Arc::new(Function(scheme(recipe, settings, emulated)?));
    Ok(TrainedLinear { function, weight })
}

/// Whether the case's variant can train a linear layer in this context, before anything is built.
///
/// # Errors
/// Unsupported, with the constraint and the value that broke it.
pub fn check_trained(case: &Case, context: &LayerContext) -> Result<(), Refusal> {
    let recipe = context.variant.recipe;
    if let Some(sparsity) = context.variant.sparsity {
        return Err(named(
            recipe,
            context.linear.name,
            &format!("{sparsity}, but training is dense"),
        ));
    }
    let settings = case.settings.training.clone().unwrap_or_default();
    let scheme = scheme(recipe, &settings, context.variant.emulated)?;
    scheme.check(context).map_err(|constraint| named(recipe, context.linear.name, &constraint))
}

/// The accuracy gate of a product, of a case's recipe ([`TrainingScheme::min_sqnr_db`]).
pub fn trained_min_sqnr_db(case: &Case, recipe: Recipe, product: Product) -> Result<f64, Refusal> {
    let settings = case.settings.training.clone().unwrap_or_default();
    Ok(scheme(recipe, &settings, is_emulated(case))?.min_sqnr_db(product, case.dtype))
}

fn is_emulated(case: &Case) -> bool {
    matches!(&case.work, Work::Model(work) if work.variant.emulated)
}

/// The recipe's implementation in training: where a new one is entered.
fn scheme(
    recipe: Recipe,
    settings: &TrainingSettings,
    emulated: bool,
) -> Result<Box<dyn TrainingScheme>, Refusal> {
    Ok(match recipe {
        Recipe::Baseline => Box::new(unquantized::Scheme { is_torchs_own: true }),
        Recipe::Float8 { recipe } => Box::new(float8::Scheme::of_recipe(recipe, emulated)),
        Recipe::Float8dqTensor | Recipe::Float8dqRow => {
            let is_row = recipe == Recipe::Float8dqRow;
            match float8::Scheme::of_settings(is_row, settings, emulated)? {
                Some(scheme) => Box::new(scheme),
                None => Box::new(unquantized::Scheme { is_torchs_own: false }),
            }
        }
        Recipe::Mxfp8EmulatedRceil => {
            Box::new(block_scaled::Scheme { format: BlockFormat::Mxfp8, emulated: true })
        }
        // Upstream's name of an emulated mxfp8 is another.
        Recipe::BlockScaled { format: format @ BlockFormat::Mxfp8, weight_only: false } => {
            Box::new(block_scaled::Scheme { format, emulated: false })
        }
        Recipe::BlockScaled { format: format @ BlockFormat::Nvfp4, weight_only: false } => {
            Box::new(block_scaled::Scheme { format, emulated })
        }
        _ => return Err(Refusal::Unsupported(format!("`{recipe}` is no recipe of training"))),
    })
}

#[cfg(test)]
mod tests;
