//! Classifies the operations of a profile by name: products, conversions of weights, operations that move no data.

use plan::{ModelWork, OperationProfile, Recipe};
use serde::Serialize;

use crate::model::Row;

/// The library that an operation's product comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// ATen, with the BLAS library that libtorch was built with.
    Aten,
    /// oneDNN.
    Onednn,
}

/// The time that an operation takes in a step, over all its shapes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationTime {
    /// Its name in torch's profiler; null for the time outside every recorded operation.
    pub name: Option<String>,
    /// Calls in a step.
    pub calls: f64,
    /// Nanoseconds of it without its callees, scaled to the case's time.
    pub ns: f64,
    /// Share of the case's time.
    pub share: f64,
    /// Bytes of its arguments and allocations; null if they are not known, or if it moves none.
    pub bytes: Option<u64>,
    /// Its floating-point operations, if torch has a formula for them.
    pub flops: Option<u64>,
    /// The least time that these take on this machine, in nanoseconds.
    pub limit_ns: Option<f64>,
}

impl OperationTime {
    /// Adds the same operation with other shapes.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.calls += other.calls;
        self.ns += other.ns;
        self.share += other.share;
        self.bytes = sum(self.bytes, other.bytes);
        self.flops = sum(self.flops, other.flops);
        self.limit_ns = self.limit_ns.zip(other.limit_ns).map(|(a, b)| a + b);
    }
}

/// Words in the names of matrix products and convolutions.
const PRODUCTS: [&str; 13] = [
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "addbmm",
    "mv",
    "addmv",
    "gemm",
    "linear",
    "matmul",
    "convolution",
    "conv2d",
    "dot",
];

/// ATen products that differ only in a bias or a batch dimension.
const PLAIN_PRODUCTS: [&str; 10] = [
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::addbmm",
    "aten::mv",
    "aten::addmv",
    "aten::linear",
    "aten::matmul",
    "aten::_addmm_activation",
];

/// Operations that make a tensor without reading or writing its elements.
const MOVING_NOTHING: [&str; 30] = [
    "alias",
    "as_strided",
    "broadcast_to",
    "chunk",
    "detach",
    "detach_",
    "empty",
    "empty_like",
    "empty_strided",
    "expand",
    "expand_as",
    "flatten",
    "narrow",
    "permute",
    "_reshape_alias",
    "reshape",
    "resize_",
    "resolve_conj",
    "resolve_neg",
    "select",
    "slice",
    "split",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unflatten",
    "_unsafe_view",
    "unsqueeze",
    "view",
];

/// Words in the names of operations on activations.
const OF_ACTIVATIONS: [&str; 8] =
    ["relu", "gelu", "silu", "sigmoid", "tanh", "softmax", "dropout", "norm"];

/// The operation that ATen dispatches to one of several implementations of attention.
const ATTENTION: &str = "aten::scaled_dot_product_attention";

/// A name without its namespace.
fn base(name: &str) -> &str {
    name.rsplit_once("::").map_or(name, |(_, base)| base)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_ascii_alphanumeric())
}

pub(super) fn is_product(name: &str) -> bool {
    words(name).any(|word| PRODUCTS.contains(&word)) && !is_attention(name)
}

/// Whether it is one of the implementations of attention.
pub(super) fn is_attention(name: &str) -> bool {
    name.contains("scaled_dot_product") && name != ATTENTION
}

pub(super) fn moves_nothing(name: &str) -> bool {
    MOVING_NOTHING.contains(&base(name))
}

/// Whether two products are the same operation apart from a bias or a batch dimension.
pub(super) fn is_same_product(a: &str, b: &str) -> bool {
    a == b || [a, b].iter().all(|name| PLAIN_PRODUCTS.contains(name))
}

pub(super) fn library(name: &str) -> Library {
    let name = name.to_ascii_lowercase();
    match name.contains("mkldnn") || name.contains("onednn") {
        true => Library::Onednn,
        false => Library::Aten,
    }
}

/// The weights that a recipe may convert in every step.
pub(super) struct Weights {
    /// Elements of each.
    elements: Vec<u64>,
    /// Elements of the activations that go into a layer or come out of it.
    activations: Vec<u64>,
    /// Whether a quantized tensor that is read outside of products is a weight, whatever its size.
    dtype_tells: bool,
    is_training: bool,
}

/// The dtypes of stored and of quantized tensors, as torch names them; a float8 has a suffix.
const QUANTIZED_DTYPES: [&str; 3] = ["int8", "uint8", "float8_"];

impl Weights {
    /// The weights of a quantized model; `None` for other cases.
    pub fn from_row(row: &Row) -> Option<Self> {
        let work: &ModelWork = row.record.case.work.model()?;
        let recipe = work.variant.recipe;
        if recipe == Recipe::Baseline {
            return None;
        }
        let linears = work.sizes()?.linears;
        let is_training = work.pass.is_some();
        Some(Self {
            elements: linears.iter().map(|it| it.k.saturating_mul(it.n)).collect(),
            activations: linears
                .iter()
                .flat_map(|it| [it.k, it.n].map(|n| it.rows.saturating_mul(n)))
                .collect(),
            dtype_tells: !recipe.quantizes_activations()
                || !is_training && multiplies_quantized(recipe),
            is_training,
        })
    }

    /// Whether an operation converts, copies or dequantizes a weight: an argument has as many elements, or half as many
    /// bytes with two elements each. If an activation is as large, the argument must be one that the operation reads in
    /// a quantized dtype.
    pub fn are_converted_by(&self, operation: &OperationProfile) -> bool {
        let name = &operation.name;
        let updates = self.is_training && name.ends_with('_') && base(name) != "copy_";
        let other = is_product(name)
            || is_attention(name)
            || moves_nothing(name)
            || updates
            || name.contains("backward")
            || words(name).any(|word| OF_ACTIVATIONS.contains(&word));
        // The first argument of a copy is written: an activation that is quantized is such a copy, too.
        let is_read = |place: usize| place > 0 || base(name) != "copy_";
        !other
            && operation
                .shapes
                .iter()
                .zip(dtypes(operation))
                .enumerate()
                .any(|(place, (shape, dtype))| self.has(shape, dtype, is_read(place)))
    }

    fn has(&self, shape: &[i64], dtype: &str, is_read: bool) -> bool {
        let Some(elements) = elements(shape) else { return false };
        let sizes = [Some(elements), elements.checked_mul(2).filter(|_| dtype == "uint8")];
        let is = |all: &[u64]| sizes.iter().flatten().any(|size| all.contains(size));
        let is_clear = !is(&self.activations) || self.dtype_tells && is_read && is_quantized(dtype);
        is(&self.elements) && is_clear
    }
}

/// Whether its activations, once quantized, are read by products alone. Others are dequantized before the product,
/// and of a package's recipe nothing is known.
const fn multiplies_quantized(recipe: Recipe) -> bool {
    matches!(
        recipe,
        Recipe::Int8dq { .. }
            | Recipe::Int8dqPrefillWoDecode
            | Recipe::Float8dqTensor
            | Recipe::Float8dqRow
    )
}

fn dtypes(operation: &OperationProfile) -> impl Iterator<Item = &str> {
    operation
        .dtypes
        .iter()
        .map(String::as_str)
        .chain(std::iter::repeat(""))
        .take(operation.shapes.len())
}

fn is_quantized(dtype: &str) -> bool {
    QUANTIZED_DTYPES.iter().any(|name| dtype.starts_with(name))
}

/// Number of elements of a tensor with two dimensions or more; `None` otherwise.
fn elements(shape: &[i64]) -> Option<u64> {
    let sizes = shape.iter().map(|&size| u64::try_from(size).ok());
    (shape.len() > 1).then(|| sizes.product::<Option<u64>>())?
}
