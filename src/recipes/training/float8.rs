//! Float8 training, op by op as torchao 0.17's `Float8Linear` runs it in eager mode.
//!
//! `float8-tensorwise`, `float8-rowwise` and `float8-rowwise_with_gw_hp` are torchao's `Float8LinearRecipeName`.
//! `float8dq-tensor` and `float8dq-row` in training are its `Float8LinearConfig` with the config's keys. Upstream's
//! benchmark looks for a field that does not exist when it sets `use_fast_accum`; here the key sets what upstream
//! means to set, the product of the forward pass, whose default is true. The two others never accumulate fast.
//!
//! Every product casts its own operands, also those that another product has cast before: torchao saves input and
//! weight in high precision and casts them again. Inner dimensions are not padded.
//!
//! Lowest signal-to-noise ratios measured on a CPU, in dB, of output, grad_input and grad_weight: 60 seeds, shapes from
//! 32×32×32 to 512×64×64 and 32×512×64, float32, bfloat16 and float16, weights as the models start, input and
//! grad_output normal:
//!
//! | recipe                          | output | grad_input | grad_weight       | gates                  |
//! |---------------------------------|--------|------------|-------------------|------------------------|
//! | float8-tensorwise               | 27.7   | 23.7       | 24.1              | 26, 21, 21             |
//! | float8-rowwise                  | 27.5   | 27.3       | 27.8              | 26, 26, 26             |
//! | float8-rowwise_with_gw_hp       | 27.5   | 27.3       | as the baseline's | 26, 26, the baseline's |
//! | float8dq-tensor                 | 27.7   | 23.7       | 24.1              | 26, 21, 21             |
//! | float8dq-row                    | 28.3   | 24.4       | 24.3              | 26, 21, 21             |
//!
//! The baseline's lowest of all three are 131.9, 54.9 and 73.0 in the three dtypes.

#[path = "float8_product.rs"]
mod product;

use plan::{Device, Dtype, Float8Recipe, ScalingGranularity, ScalingType, TrainingSettings};
use tch::{Kind, TchError, Tensor};

use super::{Operand, Product, Side, TrainingScheme, unquantized};
use crate::native::cuda;
use crate::recipes::LayerContext;
use crate::recipes::float8::Granularity;
use crate::recipes::float8_speed;
use crate::refusal::Refusal;

/// The least amax: zeros have a scale, too.
const EPS: f64 = 1e-12;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// The values that share a scale: those that the product sums, or all.
    granularity: Granularity,
    /// The dtype of grad_output; the others are e4m3.
    grad_output: Kind,
    /// Whether scales are rounded down to powers of two.
    powers_of_two: bool,
    /// Whether grad_weight is computed without casts, and the weight has one scale for grad_input.
    grad_weight_hp: bool,
    /// Whether the forward pass accumulates fast, on CUDA.
    use_fast_accum: bool,
    /// Whether operands are dequantized, for a product in float32.
    emulated: bool,
}

impl Scheme {
    pub(super) fn of_recipe(recipe: Float8Recipe, emulated: bool) -> Self {
        let rowwise = Self {
            granularity: Granularity::Row,
            grad_output: Kind::Float8e4m3fn,
            powers_of_two: true,
            grad_weight_hp: false,
            use_fast_accum: true,
            emulated,
        };
        match recipe {
            Float8Recipe::Tensorwise => Self {
                granularity: Granularity::Tensor,
                grad_output: Kind::Float8e5m2,
                powers_of_two: false,
                ..rowwise
            },
            Float8Recipe::Rowwise => rowwise,
            Float8Recipe::RowwiseWithGwHp => Self { grad_weight_hp: true, ..rowwise },
        }
    }

    /// None where nothing is cast. A recipe whose name has `row` in it is row-wise whatever the settings say.
    pub(super) fn of_settings(
        is_row: bool,
        settings: &TrainingSettings,
        emulated: bool,
    ) -> Result<Option<Self>, Refusal> {
        let granularity = match settings.scaling_granularity {
            _ if is_row => Granularity::Row,
            ScalingGranularity::Tensorwise => Granularity::Tensor,
            ScalingGranularity::Rowwise | ScalingGranularity::Axiswise => Granularity::Row,
            ScalingGranularity::Columnwise => {
                return Err(Refusal::Unsupported(
                    "scaling_granularity columnwise: torchao has no such scales".to_owned(),
                ));
            }
        };
        let types = [
            settings.scaling_type_input,
            settings.scaling_type_weight,
            settings.scaling_type_grad_output,
        ];
        match (types, granularity) {
            ([ScalingType::Dynamic, ScalingType::Dynamic, ScalingType::Dynamic], _) => {}
            (
                [ScalingType::Disabled, ScalingType::Disabled, ScalingType::Disabled],
                Granularity::Tensor,
            ) => {
                return Ok(None);
            }
            ([input, weight, grad_output], _) => {
                return Err(Refusal::Unsupported(format!(
                    "scaling types {input}, {weight}, {grad_output} of input, weight, grad_output: a product \
                     takes both operands cast or neither, and row-wise scales are dynamic"
                )));
            }
        }
        Ok(Some(Self {
            granularity,
            grad_output: Kind::Float8e5m2,
            powers_of_two: false,
            grad_weight_hp: false,
            use_fast_accum: settings.use_fast_accum,
            emulated,
        }))
    }

    /// The dtype that an operand is cast to and the values that share a scale; none where the product has no casts.
    fn format(&self, product: Product, side: Side) -> Option<(Kind, Granularity)> {
        let e4m3 = Kind::Float8e4m3fn;
        let granularity = self.granularity;
        Some(match (product, side) {
            (Product::GradWeight, _) if self.grad_weight_hp => return None,
            (Product::GradInput, Side::Right) if self.grad_weight_hp => (e4m3, Granularity::Tensor),
            (Product::GradInput | Product::GradWeight, Side::Left) => {
                (self.grad_output, granularity)
            }
            _ => (e4m3, granularity),
        })
    }
}

impl TrainingScheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        if self.emulated {
            return Ok(());
        }
        let linear = context.linear;
        let mut sizes = vec![("k", linear.k), ("n", linear.n)];
        if !self.grad_weight_hp {
            sizes.push(("the number of rows", linear.rows));
        }
        for (name, size) in sizes {
            if size % 16 != 0 {
                return Err(format!(
                    "{name} is {size}, but `_scaled_mm` takes multiples of 16 (torchao's pad_inner_dim is false)"
                ));
            }
        }
        if context.device == Device::Cuda {
            // An absent device is not this recipe's to report.
            if let Ok(device) = cuda::device(0) {
                device.require((8, 9), "float8 products")?;
            }
        }
        float8_speed::check(context)
    }

    fn cast(&self, product: Product, side: Side, matrix: &Tensor) -> Result<Operand, TchError> {
        let Some((kind, granularity)) = self.format(product, side) else {
            return Ok(Operand::Uncast(matrix.shallow_clone()));
        };
        let scale = scale(matrix, kind, granularity, side, self.powers_of_two)?;
        Ok(Operand::Scaled { values: saturated(matrix, &scale, kind)?, scale })
    }

    fn multiply(
        &self,
        product: Product,
        left: &Operand,
        right: &Operand,
        kind: Kind,
    ) -> Result<Tensor, TchError> {
        let (
            Operand::Scaled { values: left, scale: left_scale },
            Operand::Scaled { values: right, scale: right_scale },
        ) = (left, right)
        else {
            return unquantized::product(left, right);
        };
        let (left, right) = ((left, left_scale), (right, right_scale));
        if self.emulated {
            return product::dequantized(left, right, kind);
        }
        let use_fast_accum = self.use_fast_accum && product == Product::Output;
        product::scaled_mm(left, right, kind, use_fast_accum)
    }

    fn kernels(&self) -> Vec<&'static str> {
        let mut kernels = match (self.emulated, self.granularity) {
            (true, _) => vec!["aten::mm"],
            (false, Granularity::Tensor) => vec!["aten::_scaled_mm"],
            (false, Granularity::Row) => vec!["aten::_scaled_mm", "aten::mul_"],
        };
        if self.grad_weight_hp && !self.emulated {
            kernels.push("aten::mm");
        }
        kernels
    }

    fn min_sqnr_db(&self, product: Product, dtype: Dtype) -> f64 {
        match self.format(product, Side::Left) {
            None => unquantized::min_sqnr_db(dtype),
            Some((Kind::Float8e5m2, _)) => 21.0,
            Some(_) => 26.0,
        }
    }
}

/// The largest finite number.
fn largest(kind: Kind) -> f64 {
    match kind {
        Kind::Float8e5m2 => 57344.0,
        _ => 448.0,
    }
}

/// The factor that takes amax to the largest number of `kind`, as float32: a scalar, or of size 1 where the product
/// sums.
fn scale(
    matrix: &Tensor,
    kind: Kind,
    granularity: Granularity,
    side: Side,
    powers_of_two: bool,
) -> Result<Tensor, TchError> {
    let absolute = matrix.f_abs()?;
    let amax = match granularity {
        Granularity::Tensor => absolute.f_max()?,
        Granularity::Row => absolute.f_amax([side.inner()].as_slice(), true)?,
    };
    drop(absolute);
    let amax = amax.f_to_kind(Kind::Double)?.f_clamp_min(EPS)?;
    // Python divides a number by a tensor in two operations.
    let scale = amax.f_reciprocal()?.f_mul_scalar(largest(kind))?.f_to_kind(Kind::Float)?;
    if powers_of_two { scale.f_log2()?.f_floor()?.f_exp2() } else { Ok(scale) }
}

/// `matrix · scale` in `kind`.
fn saturated(matrix: &Tensor, scale: &Tensor, kind: Kind) -> Result<Tensor, TchError> {
    let scaled = matrix.f_to_kind(Kind::Float)?.f_mul(scale)?;
    let largest = largest(kind);
    // Named, because upstream's function holds the scaled tensor to its end, and peak memory is compared too.
    let clamped = scaled.f_clamp(-largest, largest)?;
    clamped.f_to_kind(kind)
}
