//! Inputs on which an implementation is tried before it is timed.

use plan::{Dtype, Implementation, Operator, OperatorShape, OperatorWork};
use tch::{Device, Kind, TchError, Tensor};

use super::float::Float;
use super::{Site, tolerance};
use crate::inputs::{self, Inputs};

/// Elements of x, unless the fewest rows have more.
const ELEMENTS: u64 = 20_000;
/// Fewest and most rows, an odd number.
const ROWS: (u64, u64) = (2, 5);
/// The longest row, one more apart: kernels go through rows in another way above some length, the
/// highest of which is 32 768.
const LONGEST: u64 = 65_536;
/// By as many elements of a row, up to this, a kernel may move: a dimension that is cut is as
/// divisible as before.
const WIDEST: u64 = 64;
/// Elements that threads share and that are several tiles of every kernel: twice the 32 768 for which
/// torch, and the kernels in Rust, wake another thread.
const SHARED: u64 = 65_536;
/// A dimension below the width of any vector register, in which an unbiased variance shows in every
/// dtype.
const SHORT: u64 = 7;

/// What is special about the values of x and of what has its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Normally distributed.
    Normal,
    /// The same, 2⁻⁹ as large: a variance near ε.
    Small,
    /// Subnormal numbers of the dtype, uniform.
    Denormal,
    /// Uniform, up to the largest that the formula's intermediate results hold.
    Huge,
    /// Normally distributed around a mean that is large and negative: −2¹², −2⁸ and −2⁵ in float32,
    /// float16 and bfloat16, or as large as [`Self::Huge`].
    Offset,
    /// One value to a row.
    Constant,
    /// Zeros of both signs.
    Zero,
    /// Normally distributed, with one NaN.
    Nan,
    /// Normally distributed, with one +∞.
    Infinity,
    /// Normally distributed, with one −∞.
    MinusInfinity,
}

impl Values {
    const ALL: [Self; 10] = [
        Self::Normal,
        Self::Small,
        Self::Denormal,
        Self::Huge,
        Self::Offset,
        Self::Constant,
        Self::Zero,
        Self::Nan,
        Self::Infinity,
        Self::MinusInfinity,
    ];

    /// The word in the record.
    const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Small => "small",
            Self::Denormal => "denormal",
            Self::Huge => "huge",
            Self::Offset => "offset",
            Self::Constant => "constant",
            Self::Zero => "zero",
            Self::Nan => "nan",
            Self::Infinity => "inf",
            Self::MinusInfinity => "-inf",
        }
    }

    /// The value that stands in one place of x alone.
    const fn single(self) -> Option<f64> {
        match self {
            Self::Nan => Some(f64::NAN),
            Self::Infinity => Some(f64::INFINITY),
            Self::MinusInfinity => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }
}

/// How the rows lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One after the other.
    Contiguous,
    /// With NaN between them, each at an address that no wider vector is aligned at.
    Padded,
}

/// Elements before and after a padded row.
const PADDING: (i64, i64) = (1, 2);

/// The operator on small inputs of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The same operator, implementation, dtype and device, at a small size.
    pub site: Site,
    values: Values,
    layout: Layout,
    /// Where in a row the single value stands.
    place: u64,
}

/// The inputs on which the site's implementation is tried: few rows of its own dimension, of those
/// beside it and of a short one. NaN and infinity, which a kernel may lose in what is left of a row
/// after its last whole vector, and normal values are tried in all of them; normal values also in so
/// many rows that several threads share them.
pub fn trials(site: &Site) -> Vec<Trial> {
    let own = dimension(site.work.size.tensor_dimension);
    let aligned = (own, Layout::Contiguous, own - 1);
    let longer = (own + 1, Layout::Padded, own);
    let short = (SHORT, Layout::Contiguous, SHORT - 1);
    let shared = Trial {
        site: site.with_rows(SHARED / own + 1, own),
        values: Values::Normal,
        layout: Layout::Contiguous,
        place: 0,
    };
    let mut trials = Vec::new();
    for values in Values::ALL {
        let mut layouts = vec![aligned, longer, short];
        if values == Values::Normal || values.single().is_some() {
            layouts.push((own, Layout::Padded, own / 2));
            layouts.push((own - 1, Layout::Contiguous, 0));
        }
        for (row, layout, place) in layouts.into_iter().filter(|(row, ..)| *row > 0) {
            let (fewest, most) = ROWS;
            let site = site.with_rows((ELEMENTS / row).clamp(fewest, most), row);
            trials.push(Trial { site, values, layout, place });
        }
    }
    trials.push(shared);
    trials
}

/// The case's own, or one below the longest that is as divisible.
fn dimension(own: u64) -> u64 {
    if own <= LONGEST { own.max(1) } else { LONGEST - WIDEST + own % WIDEST }
}

impl Site {
    /// The same with so many rows of this dimension.
    fn with_rows(&self, sequence_length: u64, tensor_dimension: u64) -> Self {
        let size = OperatorShape { batch_size: 1, sequence_length, tensor_dimension };
        let work = OperatorWork { size, ..self.work };
        Self { work, ..*self }
    }
}

impl Trial {
    /// As the record names it.
    pub fn name(&self) -> String {
        match self.layout {
            Layout::Contiguous => self.values.name().to_owned(),
            Layout::Padded => format!("{}, padded rows", self.values.name()),
        }
    }

    /// The inputs, drawn from torch's default generator.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn draw(&self) -> Result<Inputs, TchError> {
        let mut inputs = self.site.draw_with(|size| self.like_x(size))?;
        if let Some(value) = self.values.single() {
            let row = self.site.work.size.rows() / 2;
            let row = inputs.examples[0].f_select(1, inputs::dimension(row)?)?;
            drop(row.f_select(-1, inputs::dimension(self.place)?)?.f_fill_(value)?);
        }
        if self.layout == Layout::Padded {
            for tensor in inputs.examples.iter_mut().chain(&mut inputs.parameters) {
                if tensor.f_is_floating_point()? {
                    *tensor = padded(tensor)?;
                }
            }
        }
        Ok(inputs)
    }

    /// Drawn in float64, so that nothing is flushed on the way.
    fn like_x(&self, size: &[u64]) -> Result<Tensor, TchError> {
        let float = Float::of(self.site.dtype);
        let size: Vec<_> =
            size.iter().map(|&it| inputs::dimension(it)).collect::<Result<_, _>>()?;
        let options = (Kind::Double, Device::Cpu);
        let normal = || Tensor::f_randn(&size, options);
        let uniform = |largest: f64| Tensor::f_empty(&size, options)?.f_uniform_(-largest, largest);
        let values = match self.values {
            Values::Normal | Values::Nan | Values::Infinity | Values::MinusInfinity => normal()?,
            Values::Small => normal()?.f_mul_scalar(f64::exp2(-9.0))?,
            Values::Denormal => uniform(float.smallest_normal())?,
            Values::Huge => uniform(self.site.largest())?,
            Values::Offset => normal()?.f_sub_scalar(float.coarse().min(self.site.largest()))?,
            Values::Constant => normal()?.f_narrow(-1, 0, 1)?.f_expand(&size, false)?,
            Values::Zero => normal()?.f_mul_scalar(0.0)?,
        };
        values
            .f_to_kind(inputs::kind(self.site.dtype))?
            .f_contiguous()?
            .f_to_device(self.site.place)
    }
}

impl Site {
    /// The largest |x| for which no intermediate result overflows. Of GELU, x itself; ATen's forms
    /// hold 2x before they halve it. Of the others, what a difference, its square and the sums of
    /// them leave.
    fn largest(&self) -> f64 {
        let OperatorWork { operator, implementation, size, .. } = self.work;
        let largest = Float::of(self.dtype).largest();
        let sums = Float::of(Dtype::Float32).largest();
        let squares = |held: f64, count: u64| (held.min(sums / count as f64) / 32.0).sqrt();
        match operator {
            Operator::Softmax | Operator::Silu => largest,
            Operator::Gelu | Operator::GeluTanh | Operator::BiasGelu => match implementation {
                Implementation::Aten | Implementation::AtenOut | Implementation::AtenComposed => {
                    largest / 4.0
                }
                _ => largest,
            },
            Operator::LayerNorm
            | Operator::LayerNormNoAffine
            | Operator::RmsNorm
            | Operator::AddLayerNorm => {
                let held = Float::of(tolerance::intermediate(&self.work, self.dtype)).largest();
                squares(held, size.tensor_dimension).min(largest / 4.0)
            }
            // The output is as large as a square, or the sum of a difference of each row.
            Operator::MseLoss => squares(largest, size.elements()),
            Operator::CrossEntropy => largest / (4 * size.rows()) as f64,
        }
    }
}

/// A view of a wider tensor that holds NaN beside it.
fn padded(tensor: &Tensor) -> Result<Tensor, TchError> {
    let (before, after) = PADDING;
    let mut size = tensor.size();
    let Some(last) = size.last_mut() else { return Ok(tensor.shallow_clone()) };
    let row = *last;
    *last += before + after;
    let wider = Tensor::f_full(&size, f64::NAN, (tensor.f_kind()?, tensor.device()))?;
    let mut view = wider.f_narrow(-1, before, row)?;
    view.f_copy_(tensor)?;
    Ok(view)
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
