//! Patterns: sequences of operations that may be run as fewer. One file each, with its inputs, its
//! variants side by side, and the accuracy that they have to reach.
//!
//! A variant never falls back: what libtorch does not have on a device, in a dtype or at a size is
//! refused, by name and value.

mod attention;
mod batch_norm;
mod conv;
mod conv2d_bn;
mod conv2d_bn_relu;
mod conv2d_relu;
mod full_attention;
mod linear;
mod linear_bias;
mod linear_bias_gelu;
mod linear_bias_relu;
mod mkldnn;
pub mod promise;
mod qk_scores;
mod qk_softmax;
mod site;
mod torchscript;

pub use site::Site;

use plan::{Dtype, Pattern};
use tch::TchError;

use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;

/// A pattern's implementation.
pub trait Fusible {
    /// Inputs and parameters, drawn from torch's default generator, the same on every device and for
    /// every variant.
    ///
    /// # Errors
    /// What libtorch refuses.
    fn draw(&self, site: &Site) -> Result<Inputs, TchError>;

    /// Whether the variant can run here, before anything is built.
    ///
    /// # Errors
    /// The constraint and the value that broke it.
    fn check(&self, site: &Site) -> Result<(), String>;

    /// The variant on these inputs: weights folded and reordered beforehand where it has such.
    ///
    /// # Errors
    /// What libtorch refuses.
    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal>;

    /// The smallest signal-to-noise ratio, in dB, that every variant has to have against the unfused
    /// operations in float64: some dB below the lowest that was measured.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64;
}

/// The pattern's implementation: where a new one is entered.
fn fusible(pattern: Pattern) -> Box<dyn Fusible> {
    match pattern {
        Pattern::LinearBias => Box::new(linear_bias::LinearBias),
        Pattern::LinearBiasRelu => Box::new(linear_bias_relu::LinearBiasRelu),
        Pattern::LinearBiasGelu => Box::new(linear_bias_gelu::LinearBiasGelu),
        Pattern::Conv2dRelu => Box::new(conv2d_relu::Conv2dRelu),
        Pattern::Conv2dBn => Box::new(conv2d_bn::Conv2dBn),
        Pattern::Conv2dBnRelu => Box::new(conv2d_bn_relu::Conv2dBnRelu),
        Pattern::QkScores => Box::new(qk_scores::QkScores),
        Pattern::QkSoftmax => Box::new(qk_softmax::QkSoftmax),
        Pattern::FullAttention => Box::new(full_attention::FullAttention),
    }
}

/// Whether the variant can run at this site, before anything is built.
///
/// # Errors
/// Unsupported, with the constraint and the value that broke it.
pub fn check(site: &Site) -> Result<(), Refusal> {
    if !site.work.pattern.variants().contains(&site.work.variant) {
        return Err(site.no_such_variant());
    }
    fusible(site.work.pattern).check(site).map_err(|constraint| site.refuse(constraint))
}

/// Inputs and parameters of the site's pattern ([`Fusible::draw`]).
///
/// # Errors
/// What libtorch refuses.
pub fn draw(site: &Site) -> Result<Inputs, TchError> {
    fusible(site.work.pattern).draw(site)
}

/// The site's variant, ready to run ([`Fusible::build`]).
///
/// # Errors
/// What libtorch refuses.
pub fn build(site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
    fusible(site.work.pattern).build(site, inputs)
}

/// The operations one by one, on these inputs: in float64, the reference.
///
/// # Errors
/// What libtorch refuses.
pub fn build_unfused(site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
    build(&Site { work: site.work.unfused(), ..*site }, inputs)
}

/// The pattern's accuracy gate ([`Fusible::min_sqnr_db`]).
pub fn min_sqnr_db(pattern: Pattern, dtype: Dtype) -> f64 {
    fusible(pattern).min_sqnr_db(dtype)
}

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;
