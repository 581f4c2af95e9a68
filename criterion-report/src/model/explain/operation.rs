//! Classifies the operations of a profile by name: products, conversions of weights, operations that move no data.

use plan::{ModelWork, OperationProfile, Recipe};
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::row::Row;

/// The library that an operation's product comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// ATen, with the BLAS library that libtorch was built with.
    Aten,
    /// oneDNN.
    Onednn,
}

/// The time that an operation takes in a step, over all its shapes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// Element counts that activations share with a weight.
    ambiguous: Vec<u64>,
    quantizes_activations: bool,
    is_training: bool,
}

/// Dtypes that only a stored or a quantized tensor has, as torch names them.
const QUANTIZED_DTYPES: [&str; 3] = ["signed char", "unsigned char", "c10::Float8"];

impl Weights {
    /// The weights of a quantized model; `None` for other cases.
    pub fn of(row: &Row) -> Option<Self> {
        let work: &ModelWork = row.record.case.work.model()?;
        let recipe = work.variant.recipe;
        if recipe == Recipe::Baseline {
            return None;
        }
        let linears = work.sizes()?.linears;
        let elements: Vec<u64> = linears.iter().map(|it| it.k.saturating_mul(it.n)).collect();
        let activations =
            linears.iter().flat_map(|it| [it.k, it.n].map(|n| it.rows.saturating_mul(n)));
        let ambiguous = activations.filter(|size| elements.contains(size)).collect();
        let quantizes_activations = recipe.quantizes_activations();
        Some(Self { elements, ambiguous, quantizes_activations, is_training: work.pass.is_some() })
    }

    /// Whether an operation converts, copies or dequantizes a weight: an argument has as many elements, or half as many
    /// bytes with two elements each. If activations are as large and also quantized, only an argument in a quantized
    /// dtype counts.
    pub fn are_converted_by(&self, operation: &OperationProfile) -> bool {
        let name = &operation.name;
        let updates = self.is_training && name.ends_with('_') && base(name) != "copy_";
        let other = is_product(name)
            || is_attention(name)
            || moves_nothing(name)
            || updates
            || name.contains("backward")
            || words(name).any(|word| OF_ACTIVATIONS.contains(&word));
        !other
            && operation
                .shapes
                .iter()
                .zip(dtypes(operation))
                .any(|(shape, dtype)| self.has(shape, dtype, operation))
    }

    fn has(&self, shape: &[i64], dtype: &str, operation: &OperationProfile) -> bool {
        let Some(elements) = elements(shape) else { return false };
        let halves = dtype == "unsigned char" && self.elements.contains(&(elements * 2));
        if halves {
            return true;
        }
        let is_unclear = self.quantizes_activations && self.ambiguous.contains(&elements);
        self.elements.contains(&elements) && (!is_unclear || dtypes(operation).any(is_quantized))
    }
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
