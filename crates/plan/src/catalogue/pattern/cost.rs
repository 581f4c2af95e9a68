//! The cost of a pattern at a size, run one way.
//!
//! Two accounts of memory traffic stand here side by side. *Upstream's*, of branes-ai/graphs, is
//! kept to the byte for comparability; what it counts differs from pattern to pattern (of full
//! attention, what is written between operations but not what is read). The *consistent* one is the
//! same for all: every operation reads each operand once and writes its result once, views cost
//! nothing, and an operation in place reads and writes what it changes. A row of a softmax is taken
//! to fit the cache: it, too, reads its input once. Beyond that, caches are not in it: a small
//! intermediate result is counted though it may never reach memory.

use serde::{Deserialize, Serialize};

use super::attention::Attention;
use super::conv::Conv;
use super::formulas::{Counts, Formulas, Operation};
use super::linear::Linear;
use super::{Body, FusionShape, FusionVariant, Pattern, Side};
use crate::catalogue::{COMPARED_BYTES, REFERENCE_BYTES, REFERENCE_ROWS, product, sum};
use crate::words::{CompileMode, Device, Dtype};

/// The work of a fusion case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FusionWork {
    /// The operations.
    pub pattern: Pattern,
    /// How they are run.
    pub variant: FusionVariant,
    /// `torch.compile` mode, if compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<CompileMode>,
    /// Their size; always of the pattern's family.
    pub size: FusionShape,
}

impl FusionWork {
    /// The operations one by one, eagerly: what every variant is compared with.
    #[must_use]
    pub const fn unfused(self) -> Self {
        Self { variant: FusionVariant::Unfused, compile: None, ..self }
    }
}

/// Formulas. They saturate at `u64::MAX`, beyond anything that can be run. If the pattern lacks the
/// variant, or the size is of another family, there is nothing to run: operations and bytes are
/// `None`, in the latter case every other count is 0 and every size empty. No formula tells which
/// operations a compiler makes of the pattern: operations and bytes of a compiled one are `None`,
/// too.
impl FusionWork {
    fn formulas(&self) -> Option<Box<dyn Formulas>> {
        match (self.pattern.facts().body, self.size) {
            (Body::Linear(activation), FusionShape::Linear { m, k, n }) => {
                Some(Box::new(Linear { m, k, n, activation }))
            }
            (Body::Conv { normalized, relu }, FusionShape::Conv { b, i, o, s, .. }) => {
                Some(Box::new(Conv { b, i, o, s, normalized, relu }))
            }
            (Body::Attention(end), FusionShape::Attention { b, s, d, heads, causal }) => {
                Some(Box::new(Attention { b, heads, s, d, causal, end }))
            }
            (Body::Linear(_) | Body::Conv { .. } | Body::Attention(_), _) => None,
        }
    }

    fn counts(&self) -> Counts {
        self.formulas().map(|formulas| formulas.counts()).unwrap_or_default()
    }

    /// Floating-point operations of one step, a multiply and an add counted as two; the same for
    /// all variants of a pattern. Upstream's formula: it counts 0 for an element of ReLU, 8 of
    /// GELU, 2 of batch normalization, 5 of softmax. A causal mask changes nothing: the whole
    /// square of scores is counted, whether a kernel computes the masked half or not.
    pub fn flops(&self) -> u64 {
        self.counts().flops
    }

    /// Bytes of one step by upstream's formulas, for the side of them that the variant may claim;
    /// upstream itself knows float32 alone. A variant that upstream calls fused need not be: TorchScript
    /// on the CPU runs the operations of `unfused`. [`Self::bytes`] tells. The fused side is
    /// [`Self::minimal_bytes`] in every pattern. A causal mask is in neither.
    pub fn upstream_bytes(&self, dtype: Dtype) -> Option<u64> {
        let elements = match self.variant.facts().upstream? {
            Side::Unfused => self.counts().upstream_unfused,
            Side::Fused => self.counts().minimal,
        };
        let has_operations = self.operations(Dtype::Float32, Device::Cpu).is_some();
        has_operations.then(|| product(&[dtype.bytes(), elements]))
    }

    /// Bytes of a perfect fusion: every input and every parameter, folded where it can be, read
    /// once and the output written once. No variant takes less.
    pub fn minimal_bytes(&self, dtype: Dtype) -> u64 {
        product(&[dtype.bytes(), self.counts().minimal])
    }

    /// The operations that libtorch 2.11 runs for one step, in order, each with its traffic in the
    /// consistent accounting. Preparation before the first step (folded or reordered filters, the
    /// unfused causal mask) is not an operation. The inside of one operation does not count, unless
    /// it is a composite of others. XPU and MPS, which offer less, run the same as the CPU.
    pub fn operations(&self, dtype: Dtype, device: Device) -> Option<Vec<Operation>> {
        if self.compile.is_some() {
            return None;
        }
        self.formulas()?.operations(self.variant, dtype, device)
    }

    /// Bytes of one step in the consistent accounting: what all operations read and write.
    pub fn bytes(&self, dtype: Dtype, device: Device) -> Option<u64> {
        let operations = self.operations(dtype, device)?;
        Some(operations.iter().fold(0, |bytes, it| sum(&[bytes, it.reads, it.writes])))
    }

    /// Elements of all inputs.
    pub fn input_elements(&self) -> u64 {
        sum(&self.counts().inputs)
    }

    /// Elements of what stays from step to step: weights, bias, the normalization's weight, bias,
    /// mean and variance, and the mask of causal attention.
    pub fn parameter_elements(&self) -> u64 {
        sum(&self.counts().parameters)
    }

    /// The size of the output: `[m, n]`; `[b, o, s, s]`; `[b, heads, s, s]` or, of full attention,
    /// `[b, heads, s, d]`.
    pub fn output_size(&self) -> Vec<u64> {
        self.counts().output_size
    }

    /// Upstream's `input_shape`: `[m, k, n]`; `[b, i, s, s]`; `[b, s, d]`, or `[b, heads, s, d]` of
    /// more heads than one, which upstream lacks.
    pub fn input_shape(&self) -> Vec<u64> {
        self.without_single_head(self.counts().input_shape)
    }

    /// Upstream's `output_shape`: the size of the output, without the axis of a single head.
    /// Upstream leaves it out of linear patterns.
    pub fn output_shape(&self) -> Vec<u64> {
        self.without_single_head(self.counts().output_size)
    }

    fn without_single_head(&self, mut size: Vec<u64>) -> Vec<u64> {
        if matches!(self.size, FusionShape::Attention { heads: 1, .. }) && size.len() > 1 {
            size.remove(1);
        }
        size
    }

    /// Examples, each computed without the others: rows of x, images, heads of sequences.
    pub fn parts(&self) -> u64 {
        self.counts().parts
    }

    /// An estimate, in bytes and rather high than low, of the memory that building, checking and
    /// running takes at once, without what a cold step is flushed with. The reference, the unfused
    /// operations in float64, is taken to be bounded as [`crate::cost::memory_bytes`]'s is, and to
    /// compute no fewer than [`REFERENCE_ROWS`] examples ([`Self::parts`]).
    pub fn memory_bytes(&self, dtype: Dtype) -> u64 {
        let Some(counts) = self.formulas().map(|it| it.counts()) else { return 0 };
        let element = dtype.bytes();
        let parameters = sum(&counts.parameters);
        let held = sum(&[sum(&counts.inputs), parameters]);
        let working = sum(&[held, counts.workspace]);
        // Folded in float64, then rounded; or reordered. The reference's own are gone by then.
        let prepared = product(&[8 + element, parameters]);
        // Every result at once, and what operations make of their operands.
        let results = self.written(self.variant, dtype);
        let running = sum(&[prepared, results, product(&[element, working])]);
        let drawing = product(&[4, counts.largest()]);
        sum(&[product(&[element, held]), drawing.max(running), self.referred(&counts)])
    }

    /// The bytes of the host's memory that a case on another device takes at once: one tensor at a
    /// time in the case's dtype, and beside it the same in float32, while it is drawn, or the
    /// reference, which is computed on the host whole.
    pub fn host_bytes(&self, dtype: Dtype) -> u64 {
        let Some(counts) = self.formulas().map(|it| it.counts()) else { return 0 };
        let parameters = product(&[8, sum(&counts.parameters)]);
        let reference = sum(&[parameters, self.referred(&counts)]);
        let drawing = product(&[4, counts.largest()]);
        sum(&[product(&[dtype.bytes(), counts.largest()]), drawing.max(reference)])
    }

    /// Bytes of all results of a variant on the CPU, where nothing is fused that is not elsewhere.
    fn written(&self, variant: FusionVariant, dtype: Dtype) -> u64 {
        let formulas = self.formulas();
        let operations = formulas.and_then(|it| it.operations(variant, dtype, Device::Cpu));
        operations.iter().flatten().fold(0, |bytes, it| sum(&[bytes, it.writes]))
    }

    /// Bytes of the examples that the reference computes, in float64, with all results at once; or
    /// while they are compared.
    fn referred(&self, counts: &Counts) -> u64 {
        let inputs = sum(&[sum(&counts.inputs), counts.workspace]);
        let results = self.written(FusionVariant::Unfused, Dtype::Float32);
        let computing = sum(&[product(&[8, inputs]), product(&[2, results])]);
        let comparing = product(&[COMPARED_BYTES, product(&counts.output_size)]);
        let all = computing.max(comparing);
        if all == u64::MAX {
            return all;
        }
        let fewest = product(&[REFERENCE_ROWS, all / counts.parts.max(1)]);
        all.min(REFERENCE_BYTES.max(fewest))
    }
}

impl Counts {
    fn largest(&self) -> u64 {
        self.inputs.iter().chain(&self.parameters).copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "published_tests.rs"]
mod published_tests;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;
